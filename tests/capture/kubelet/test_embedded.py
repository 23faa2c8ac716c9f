"""Kubelets inside k3s, RKE2, k0s and MicroK8s that are down: what the node's files would start them with."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NoReturn

import pytest

from cpuctl.capture.kubelet.live import FollowedFiles
from cpuctl.capture.kubelet.unit import UnitCommand, unit_command
from cpuctl.errors import unreadable
from cpuctl.machine.tree import DirectoryTree, MemoryTree
from tests.capture.node_texts import written

K3S = {
    "etc/systemd/system/k3s.service": """[Service]
Type=notify
EnvironmentFile=-/etc/default/%N
EnvironmentFile=-/etc/systemd/system/k3s.service.env
ExecStartPre=-/sbin/modprobe overlay
ExecStart=/usr/local/bin/k3s \\
    server \\
        '--node-name=a b' \\
        '--kubelet-arg=reserved-cpus=0,1' \\
        --kubelet-arg "feature-gates=A=true,B=false" $MORE

""",
    "etc/systemd/system/k3s.service.d/10-pods.conf": "[Service]\nEnvironment=MORE=--kubelet-arg=max-pods=9\n",
    "etc/systemd/system/k3s.service.env": "K3S_TOKEN=secret\n",
    "etc/rancher/k3s/config.yaml": "token: s\nkubelet-arg:\n- cpu-manager-policy=static\n- max-pods=40\n",
    "etc/rancher/k3s/config.yaml.d/10-add.yaml": "kubelet-arg+:\n- kube-reserved=cpu=1\n",
    "etc/rancher/k3s/config.yaml.d/20-one.YML": "kubelet-arg+: v=2\nnode-label: [a=b]\n",
    "etc/rancher/k3s/config.yaml.d/30-other.txt": "kubelet-arg: max-pods=1\n",
}
UNIT = "etc/systemd/system/k3s.service"
CONFIG = "etc/rancher/k3s/config.yaml"
DROP_INS = "var/lib/rancher/k3s/agent/etc/kubelet.conf.d"
RKE2 = {
    f"usr/local/lib/systemd/system/rke2-{role}.service": f"[Service]\nExecStart=/usr/local/bin/rke2 {role}\n"
    for role in ("server", "agent")
}


def found(files: dict[str, str]) -> UnitCommand:
    return unit_command(FollowedFiles(MemoryTree(files)))


def test_k3s() -> None:
    """The files first, then the command line; flags that k3s passes to every kubelet, without drop-ins."""
    assert found(K3S) == UnitCommand(
        (
            "--cpu-manager-policy=static",
            "--eviction-hard=imagefs.available<5%,nodefs.available<5%",
            "--eviction-minimum-reclaim=imagefs.available=10%,nodefs.available=10%",
            "--fail-swap-on=false",
            "--feature-gates=A=true,B=false",
            "--kube-reserved=cpu=1",
            "--max-pods=40",
            "--max-pods=9",
            "--reserved-cpus=0,1",
            "--v=2",
        ),
        tuple(path for path in K3S if not path.endswith(".txt")),
    )


@pytest.mark.parametrize(
    ("files", "arguments"),
    [
        ({f"{CONFIG}.d/a.yaml": "kubelet-arg: [v=1]"}, ("--v=1",)),
        ({f"{CONFIG}.d/a.yaml": "kubelet-arg+: [v=1]"}, ("--max-pods=9", "--v=1")),
        (
            {UNIT: "[Service]\nExecStart=/bin/k3s agent -c /c.yaml\n", "c.yaml": "kubelet-arg: v=3"},
            ("--v=3",),
        ),
        (
            {UNIT: "[Service]\nEnvironment=K3S_CONFIG_FILE=/c.yaml\nExecStart=/bin/k3s agent\n"},
            (),
        ),
        ({CONFIG: "data-dir: /opt/k3s\n", "opt/k3s/agent/etc/kubelet.conf.d/00.conf": ""}, ()),
        (
            {UNIT: "[Service]\nExecStart=/bin/k3s server --kubelet-arg=--max-pods=7 --kubelet-arg node-ip\n"},
            ("--max-pods=9", "--max-pods=7", "--node-ip=true"),
        ),
    ],
    ids=["replaced", "added", "a file that is named", "by the environment", "another directory", "hyphens"],
)
def test_where_k3s_takes_flags_from(files: dict[str, str], arguments: tuple[str, ...]) -> None:
    base = {UNIT: "[Service]\nExecStart=/bin/k3s server\n", CONFIG: "kubelet-arg: max-pods=9\n"}
    drop_ins = "opt/k3s" if "data-dir" in files.get(CONFIG, "") else "var/lib/rancher/k3s"
    reported = found({**base, f"{DROP_INS}/00-k3s-defaults.conf": "", **files}).arguments
    assert reported is not None
    assert set(reported) == {f"--config-dir=/{drop_ins}/agent/etc/kubelet.conf.d", *arguments}


def test_given_flags_replace_or_extend_those_of_k3s() -> None:
    given = (
        "fail-swap-on=true",
        "eviction-hard+=pid.available<9",
        "eviction-minimum-reclaim-=pid.available=1",
    )
    flags = " ".join(f"--kubelet-arg={flag}" for flag in given)
    reported = found({UNIT: f"[Service]\nExecStart=/bin/k3s agent {flags}\n"})
    assert reported.arguments == (
        "--eviction-hard=imagefs.available<5%,nodefs.available<5%",
        "--eviction-hard=pid.available<9",
        "--eviction-minimum-reclaim=pid.available=1",
        "--eviction-minimum-reclaim=imagefs.available=10%,nodefs.available=10%",
        "--fail-swap-on=true",
    )


@pytest.mark.parametrize("wanted", ["server", "agent", ""])
def test_the_enabled_unit_of_rke2_counts(wanted: str) -> None:
    config = {"etc/rancher/rke2/config.yaml": "server: https://one:9345\nkubelet-arg: [max-pods=50]\n"}
    link = {f"etc/systemd/system/multi-user.target.wants/rke2-{wanted}.service": ""} if wanted else {}
    server = "usr/local/lib/systemd/system/rke2-server.service"
    reported = found({**RKE2, **config, **link})
    assert reported.arguments is not None
    assert "--max-pods=50" in reported.arguments
    assert (server in reported.files) == (wanted != "agent")
    other = {**RKE2, server: RKE2[server].replace("rke2 server", "rke2 server --kubelet-arg=v=4")}
    reported = found({**other, **config, **link})
    if wanted:
        assert ("--v=4" in (reported.arguments or ())) == (wanted == "server")
    else:
        assert reported.gap == "rke2-server.service and rke2-agent.service start it differently"


def test_k0s() -> None:
    line = (
        '/usr/local/bin/k0s worker "--kubelet-extra-args=--max-pods=9 --reserved-cpus=0" --data-dir=/srv/k0s'
    )
    unit = {"etc/systemd/system/k0sworker.service": f"[Service]\nExecStart={line}\n"}
    reported = found({**unit, "srv/k0s/kubelet-config.yaml": ""})
    assert reported.arguments == (
        "--config=/srv/k0s/kubelet-config.yaml",
        "--root-dir=/srv/k0s/kubelet",
        "--max-pods=9",
        "--reserved-cpus=0",
    )
    assert found(unit).gap == "k0s has not written /srv/k0s/kubelet-config.yaml"


MICROK8S = """--root-dir=${SNAP_COMMON}/var/lib/kubelet
# --max-pods=1

--eviction-hard="memory.available<100Mi,nodefs.available<1Gi"
--cpu-manager-policy 'static'
--client-ca-file=$SNAP_DATA/certs/ca.crt
"""


def test_microk8s(tmp_path: Path) -> None:
    """The current revision is a link."""
    written({"var/snap/microk8s/9072/args/kubelet": MICROK8S}, tmp_path)
    (tmp_path / "var/snap/microk8s/current").symlink_to("9072")
    reported = unit_command(FollowedFiles(DirectoryTree(tmp_path)))
    assert reported.places["cpu-manager-policy"] == "/var/snap/microk8s/current/args/kubelet:5"
    assert reported._replace(places={}) == UnitCommand(
        (
            "--root-dir=/var/snap/microk8s/common/var/lib/kubelet",
            "--eviction-hard=memory.available<100Mi,nodefs.available<1Gi",
            "--cpu-manager-policy",
            "static",
            "--client-ca-file=/var/snap/microk8s/current/certs/ca.crt",
        ),
        ("var/snap/microk8s/current/args/kubelet",),
    )
    gap = "/var/snap/microk8s/current/args/kubelet has $HOME, whose value only MicroK8s knows"
    assert found({"var/snap/microk8s/current/args/kubelet": "--cert-dir=$HOME"}).gap == gap


GAPS = [
    ({CONFIG: "kubelet-arg: ["}, f"/{CONFIG} is not YAML"),
    ({CONFIG: "- a"}, f"/{CONFIG} contains no settings"),
    ({CONFIG: "kubelet-arg: [max-pods: 5]"}, f"/{CONFIG}: kubelet-arg is not a string"),
    ({CONFIG: "disable-agent: true"}, "k3s server runs without an agent, and so without a kubelet"),
    (
        {UNIT: "[Service]\nExecStart=/opt/start"},
        "k3s.service starts /opt/start, which is not known to contain a kubelet",
    ),
    (
        {UNIT: "[Service]\nExecStart=/k3s agent --config=https://me:secret@a/b"},
        "its configuration is on another host",
    ),
    (
        {CONFIG: "kubelet-arg: config=/etc/k.yaml", f"{DROP_INS}/00.conf": ""},
        "k3s converts --config=/etc/k.yaml to drop-ins when it starts",
    ),
]


@pytest.mark.parametrize(("files", "gap"), GAPS)
def test_what_files_do_not_show(files: dict[str, str], gap: str) -> None:
    reported = found({UNIT: "[Service]\nExecStart=/bin/k3s server\n", **files})
    assert reported.arguments is None
    assert reported.gap.startswith(gap)
    assert "secret" not in reported.gap


@pytest.mark.parametrize(
    "closed", [CONFIG, f"{CONFIG}.d", "etc/rancher/k3s", DROP_INS, "var/lib/rancher/k3s/agent"]
)
def test_unreadable_files_may_hold_flags(closed: str) -> None:
    class Closed(MemoryTree):
        def _refuse(self) -> NoReturn:
            raise unreadable(PermissionError(errno.EACCES, "denied"), closed)

        def read(self, path: str) -> str | None:
            return self._refuse() if path == closed or path.startswith(f"{closed}/") else super().read(path)

        def names(self, path: str) -> list[str]:
            return (
                self._refuse() if path == closed or path.startswith(f"{closed}/") else [*super().names(path)]
            )

    files = {**K3S, f"{DROP_INS}/00-k3s-defaults.conf": ""}
    reported = unit_command(FollowedFiles(Closed(files)))
    if closed == DROP_INS:  # the kubelet's own drop-ins are read together with its configuration
        assert f"--config-dir=/{DROP_INS}" in (reported.arguments or ())
    else:
        assert (reported.arguments, reported.gap.startswith(f"/{closed}")) == (None, True)
