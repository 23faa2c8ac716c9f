"""The command with which systemd would start a kubelet, on nodes as kubeadm, OpenShift and others set up."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.capture.kubelet.live import FollowedFiles
from cpuctl.capture.kubelet.unit import UnitCommand, unit_command
from cpuctl.machine.tree import DirectoryTree, MemoryTree

UNIT = "usr/lib/systemd/system/kubelet.service"
KUBEADM_DROP_IN = "usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"
KUBEADM = {
    UNIT: "[Unit]\nDescription=kubelet\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n",
    KUBEADM_DROP_IN: """# Note: This dropin only works with kubeadm and kubelet v1.11+
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
# This is a file that "kubeadm init" and "kubeadm join" generate at runtime
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS \\
  $KUBELET_EXTRA_ARGS
""",
    "var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS="
    '"--node-ip=10.0.0.7 --pod-infra-container-image=p"\n',
    "etc/default/kubelet": "KUBELET_EXTRA_ARGS=--reserved-cpus=0,1 --max-pods=50\n",
}
OPENSHIFT = {
    "etc/systemd/system/kubelet.service": """[Service]
Type=notify
EnvironmentFile=/etc/os-release
EnvironmentFile=-/etc/kubernetes/kubelet-env
EnvironmentFile=/etc/node-sizing.env
ExecStart=/usr/local/bin/kubenswrapper \\
    /usr/bin/kubelet \\
      --config=/etc/kubernetes/kubelet.conf \\
      --node-ip=${KUBELET_NODE_IP} \\
      --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID} \\
      --system-reserved=cpu=${SYSTEM_RESERVED_CPU},memory=${SYSTEM_RESERVED_MEMORY} \\
      --v=${KUBELET_LOG_LEVEL}
""",
    "etc/systemd/system/kubelet.service.d/20-logging.conf": '[Service]\nEnvironment="KUBELET_LOG_LEVEL=2"\n',
    "etc/systemd/system/kubelet.service.d/30-ip.conf": '[Service]\nEnvironment="KUBELET_NODE_IP=10.0.0.9"\n',
    "etc/os-release": 'NAME="Red Hat Enterprise Linux CoreOS"\nID="rhcos"\n',
    "etc/node-sizing.env": "SYSTEM_RESERVED_MEMORY=3Gi\nSYSTEM_RESERVED_CPU=0.5\n",
}


def found(files: dict[str, str]) -> UnitCommand:
    return unit_command(FollowedFiles(MemoryTree(files)))


def test_kubeadm() -> None:
    reported = found(KUBEADM)
    assert reported.places == {
        "kubeconfig": "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf:3",
        "config": "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf:4",
        "node-ip": "/var/lib/kubelet/kubeadm-flags.env:1",
        "pod-infra-container-image": "/var/lib/kubelet/kubeadm-flags.env:1",
        "reserved-cpus": "/etc/default/kubelet:1",
        "max-pods": "/etc/default/kubelet:1",
    }
    assert reported._replace(places={}) == UnitCommand(
        (
            "--kubeconfig=/etc/kubernetes/kubelet.conf",
            "--config=/var/lib/kubelet/config.yaml",
            "--node-ip=10.0.0.7",
            "--pod-infra-container-image=p",
            "--reserved-cpus=0,1",
            "--max-pods=50",
        ),
        (UNIT, KUBEADM_DROP_IN, "var/lib/kubelet/kubeadm-flags.env", "etc/default/kubelet"),
    )


def test_openshift() -> None:
    assert found(OPENSHIFT).arguments == (
        "--config=/etc/kubernetes/kubelet.conf",
        "--node-ip=10.0.0.9",
        "--node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=rhcos",
        "--system-reserved=cpu=0.5,memory=3Gi",
        "--v=2",
    )


def with_start(line: str, **files: str) -> UnitCommand:
    return found(
        {UNIT: f"[Service]\n{line}\n", **{name.replace("__", "/"): text for name, text in files.items()}}
    )


def test_drop_ins_are_merged_by_name_and_the_higher_directory_hides() -> None:
    names = {
        "usr/lib/systemd/system/kubelet.service.d/10-a.conf": "a",
        "etc/systemd/system/kubelet.service.d/10-a.conf": "b",
        "run/systemd/system/kubelet.service.d/10-a.conf": "c",
        "usr/lib/systemd/system/kubelet.service.d/20-z.conf": "d",
        "etc/systemd/system/service.d/15-all.conf": "e",
        "etc/systemd/system/kubelet.service.d/30-not.txt": "f",
    }
    files = {path: f"[Service]\nEnvironment=ALL=${{ALL}}{name} {name}=1\n" for path, name in names.items()}
    command = found({UNIT: "[Service]\nExecStart=/usr/bin/kubelet $a $b $c $d $e $f ${ALL}\n", **files})
    assert command.arguments == ("1", "1", "1", "${ALL}d")
    assert command.files[1:] == (
        "etc/systemd/system/kubelet.service.d/10-a.conf",
        "etc/systemd/system/service.d/15-all.conf",
        "usr/lib/systemd/system/kubelet.service.d/20-z.conf",
    )


def test_files_override_the_unit_and_later_files_earlier_ones() -> None:
    lines = (
        "EnvironmentFile=/etc/a.env\nEnvironmentFile=-/etc/none.env\nEnvironmentFile=/etc/k*.env\n"
        "Environment=A=0 B=0 C=0 D=0\nUnsetEnvironment=D\nExecStart=-/usr/bin/kubelet ${A} ${B} ${C} [${D}]"
    )
    command = with_start(lines, **{"etc/a.env": "A=1\nB=1\n", "etc/k1.env": "B=2\n", "etc/k2.env": "B=3\n"})
    assert command.arguments == ("1", "3", "0", "[]")


def test_empty_values_reset_earlier_ones() -> None:
    lines = (
        "Environment=A=1\nEnvironment=\nEnvironmentFile=/etc/gone\nEnvironmentFile=\nExecStart=/x\nExecStart="
    )
    assert with_start(f"{lines}\nExecStart=/usr/bin/kubelet --a=${{A}}").arguments == ("--a=",)


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("ExecStart=:/usr/bin/kubelet $A", ("$A",)),
        ("ExecStart=@/usr/bin/kubelet kubelet --a", ("--a",)),
        (
            "ExecStart=!-/opt/bin/kubelet --name=%N --dir=%S/kubelet",
            ("--name=kubelet", "--dir=/var/lib/kubelet"),
        ),
        ("ExecStart=/usr/bin/hyperkube kubelet --a", ("--a",)),
        ("ExecStart=/usr/bin/kubelet --hostname-override=%H", ("--hostname-override=node7.example",)),
    ],
)
def test_prefixes_and_specifiers(line: str, arguments: tuple[str, ...]) -> None:
    assert with_start(line, etc__hostname="node7.example\n").arguments == arguments


GAPS = [
    ("ExecStart=/bin/sh -c 'exec kubelet --a'", "kubelet.service starts /bin/sh, which is not a kubelet"),
    (
        "EnvironmentFile=/etc/x\nExecStart=/usr/bin/kubelet",
        "/etc/x is missing (environment file of kubelet.service)",
    ),
    (
        "EnvironmentFile=/etc/x*\nExecStart=/usr/bin/kubelet",
        "no file matches /etc/x* (environment file of kubelet.service)",
    ),
    ("ExecStart=/usr/bin/kubelet --x=%b", "only systemd knows the value of %b"),
    ("Type=simple", "kubelet.service has 0 ExecStart lines, expected one"),
    ("", "kubelet.service is masked, empty or cannot be read"),
]


@pytest.mark.parametrize(("line", "gap"), GAPS)
def test_what_files_do_not_show(line: str, gap: str) -> None:
    command = found({UNIT: f"[Service]\n{line}" if line else ""})
    assert command.arguments is None
    assert command.gap.startswith(gap)


def test_a_masked_unit_hides_the_one_below(tmp_path: Path) -> None:
    for directory in ("etc", "usr/lib"):
        (tmp_path / directory / "systemd/system").mkdir(parents=True)
    (tmp_path / UNIT).write_text(KUBEADM[UNIT])
    (tmp_path / "etc/systemd/system/kubelet.service").symlink_to("/dev/null")
    command = unit_command(FollowedFiles(DirectoryTree(tmp_path)))
    assert (command.arguments, command.gap) == (None, "kubelet.service is masked, empty or cannot be read")


def test_a_linked_unit_is_followed(tmp_path: Path) -> None:
    for directory in ("etc", "usr/lib"):
        (tmp_path / directory / "systemd/system").mkdir(parents=True)
    (tmp_path / UNIT).write_text(KUBEADM[UNIT])
    (tmp_path / "etc/systemd/system/kubelet.service").symlink_to(
        "../../../usr/lib/systemd/system/kubelet.service"
    )
    assert unit_command(FollowedFiles(DirectoryTree(tmp_path))).arguments == ()


def test_without_a_unit_its_files_are_read_and_something_may_be_missing() -> None:
    command = found({path: text for path, text in KUBEADM.items() if "systemd" not in path})
    assert command.arguments == (
        "--node-ip=10.0.0.7",
        "--pod-infra-container-image=p",
        "--reserved-cpus=0,1",
        "--max-pods=50",
    )
    assert command.gap == (
        "no kubelet.service was found: only /var/lib/kubelet/kubeadm-flags.env, /etc/default/kubelet contains"
        " flags"
    )
    assert found({}) == UnitCommand(gap="no kubelet process or unit was found")


START = "ExecStart=/usr/bin/kubelet"


def test_files_beyond_the_limit_are_not_skipped_silently() -> None:
    many = {f"etc/many/{number}": "A=b" for number in range(201)}
    drop_ins = {f"etc/systemd/system/kubelet.service.d/{number}.conf": "" for number in range(201)}
    for line, files, gap in (
        (f"EnvironmentFile=/etc/many/*\n{START}", many, "more than 200 files or directories match"),
        ("EnvironmentFile=-/etc/x\n" * 201 + START, {}, "kubelet.service has more than 200 environment"),
        (START, drop_ins, "kubelet.service has 201 drop-in files; at most 200 are read"),
    ):
        command = found({UNIT: f"[Service]\n{line}", **files})
        assert command.arguments is None
        assert command.gap.startswith(gap)


def test_an_invalid_host_name_expands_to_nothing() -> None:
    command = found({UNIT: f"[Service]\n{START} %H", "etc/hostname": "a" * 65})
    assert command.gap == "only systemd knows the value of %H"
