"""Where a node's kubelet gets its flags from, live and recorded, and what is said if they are unknown."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import tarfile
from pathlib import Path

import pytest

from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.cli.test_recorded_kubelet import HEAD, captured, document, settings
from tests.machine.sysfs_writer import CPU_DIR, small_machine
from tests.support.schemas import follow_schema


def test_unknown_flags_are_mentioned_if_the_kubelet_would_start(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """The configuration is there, but nothing shows which flags the kubelet is started with."""
    config = f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
    own = {"var/lib/kubelet/config.yaml": config, "var/lib/kubelet/pki/kubelet.crt": ""}
    node = str(written(small_machine() | own, tmp_path / "node"))
    pods = ("-T", "web=1/1,1Gi")
    why = "no kubelet process or unit was found (set them with --kubelet-args)"
    for words in (
        ("config", "check"),
        ("config", "versions", "--from", "1.35"),
        ("plan", *pods),
        ("explain", "web", *pods),
        ("checkpoint", "verify", "--kubelet-version", "1.36"),
    ):
        answer = document(cpuctl(*words, "-m", node, "-o", "json"))
        unknown = answer["sources"]["unknownFlags"]
        assert unknown == {"value": f"assumed to be none, because {why}", "from": "default"}
        assert f"the kubelet's flags are unknown and {unknown['value']}" in cpuctl(*words, "-m", node).err
        for flags in ("--max-pods=9", ""):
            named = document(cpuctl(*words, "-m", node, "--kubelet-args", flags, "-o", "json"))
            assert "unknownFlags" not in named["sources"]
            assert named["sources"]["kubeletArguments"] == {"value": flags, "from": "given"}
    reported = f"Not checked: the kubelet's flags: assumed to be none, because {why}"
    for words in (("config", "check"), ("config", "versions")):
        assert reported in " ".join(cpuctl(*words, "-m", node).out.split())


@pytest.mark.parametrize(
    "setting", ["reservedSystemCPUs: '0'", "reservedSystemCPUs: '99'", "cpuManagerPolicy: x"]
)
def test_a_check_without_flags_ends_with_the_command_for_one_with_flags(
    setting: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Whatever the verdict: with the flags it may be another."""
    config = f"{HEAD}maxPods: 9\n{setting}\n"
    node = str(written(small_machine() | {"var/lib/kubelet/config.yaml": config}, tmp_path / "node"))
    words = ("config", "check", "-m", node, "--kubelet-version", "1.36")
    shown = cpuctl(*words, columns=300).out.splitlines()
    [command] = [
        line.partition(": ")[2] for line in shown if line.startswith(("Next, with", "  fix: cpuctl"))
    ]
    assert command == shlex.join(["cpuctl", *words, "--kubelet-args", "FLAGS"])
    (meaning,) = [line for line in shown if line.startswith("FLAGS: ")]
    assert meaning == (
        "FLAGS: the kubelet's flags in quotes ('' for none), unknown here (ps -ww -o args= -C kubelet prints "
        "them; if it does not run, see systemctl cat kubelet and the environment files named there)"
    )
    given = shlex.split(command.replace("FLAGS", "--max-pods=9"))[1:]
    answer = json.loads(cpuctl(*given, "-o", "json").out)
    follow_schema(answer, "configcheck")
    assert "next" not in answer
    follow_schema(json.loads(cpuctl(*words, "-o", "json").out), "configcheck")


def test_a_start_that_depends_on_unknown_flags_proposes_to_specify_them(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    config = f"{HEAD}cpuManagerPolicy: static\n"
    node = str(written(small_machine() | {"var/lib/kubelet/config.yaml": config}, tmp_path / "node"))
    unknown = cpuctl("config", "check", "-m", node)
    assert (unknown.code, "is unknown: its flags" in unknown.out) == (3, True), unknown.out
    pattern = r"^  fix: cpuctl (.*) --kubelet-args FLAGS\nFLAGS: the kubelet's flags in quotes"
    found = re.search(pattern, unknown.out, re.MULTILINE)
    assert found, unknown.out
    known = cpuctl(*shlex.split(found[1]), "--kubelet-args=--reserved-cpus=0")
    assert (known.code, "would start" in known.out) == (0, True), known.out


@pytest.fixture
def lacking_a_cpu(tmp_path: Path) -> str:
    """Write a node without a kubelet process: of its reserved CPUs 0-1, CPU 1 is offline."""
    config = f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
    offline = {f"{CPU_DIR}/online": "0,2-7\n", f"{CPU_DIR}/offline": "1\n"}
    own = {"var/lib/kubelet/config.yaml": config}
    return str(written(small_machine() | offline | own, tmp_path / "node"))


ONLINE = 'bring CPU 1 online (chcpu --enable 1), or set reservedSystemCPUs: "0"'


def test_what_would_help_a_kubelet_without_flags_is_reported_as_well(
    lacking_a_cpu: str, cpuctl: Cpuctl
) -> None:
    """The flags of a kubelet that does not run may be impossible to find out."""
    words = ("config", "check", "-m", lacking_a_cpu, "--kubelet-version", "1.34")
    answer = json.loads(cpuctl(*words, "-o", "json").out)
    follow_schema(answer, "configcheck")
    found = {each["code"]: each for each in answer["findings"]}
    note = found["not-started-without-flags"]
    assert (note["severity"], note["setting"], note["fix"]) == ("note", "reservedSystemCPUs", ONLINE)
    assert found["undetermined"]["fix"].endswith(" --kubelet-args FLAGS")
    assert f"  fix: {ONLINE}" in cpuctl(*words, columns=300).out.splitlines()


def test_a_kubelet_without_flags_certainly_does_not_start(lacking_a_cpu: str, cpuctl: Cpuctl) -> None:
    words = ("-m", lacking_a_cpu, "--kubelet-version", "1.34", "--kubelet-args", "")
    shown = cpuctl("config", "check", *words, columns=300).out
    assert shown.startswith("Kubelet 1.34 would not start: reserved-cpus: 0-1 is not a subset")
    assert f"  fix: {ONLINE}" in shown.splitlines()
    assert "FLAGS" not in shown
    following = cpuctl("plan", *words, "-T", "web=1/1,1Gi", columns=300).out
    assert (
        shlex.join(["cpuctl", "config", "check", *words[:2], "--kubelet-args", "", *words[2:4]]) in following
    )


def test_a_gate_that_no_kubelet_of_the_release_has_is_an_error_whatever_the_flags(
    lacking_a_cpu: str, cpuctl: Cpuctl
) -> None:
    words = ("config", "check", "-m", lacking_a_cpu, "--kubelet-version", "1.34")
    shown = cpuctl(*words, "--feature-gates", "Foo=true", columns=300).out
    assert shown.startswith("Kubelet 1.34 would not start: unrecognized feature gate: Foo\n")


K3S = {
    "etc/systemd/system/k3s.service": "[Service]\nEnvironmentFile=/etc/default/%N\nExecStart=/k3s server\n",
    "etc/default/k3s": "K3S_TOKEN=a-secret\n",
    "etc/rancher/k3s/config.yaml": "token: a-secret\nkubelet-arg: [cpu-manager-policy=static]\n",
    "etc/rancher/k3s/config.yaml.d/10.yaml": "agent-token: a-secret\nkubelet-arg+: [reserved-cpus=0]\n",
    "var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf": f"{HEAD}maxPods: 77\n",
}


def test_the_kubelet_of_k3s_is_configured_by_its_files_live_or_recorded(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    archive = captured(tmp_path, cpuctl, small_machine() | K3S)
    assert b"secret" not in gzip.decompress(Path(archive).read_bytes())
    with tarfile.open(tmp_path / "root.tar", "w") as root:
        root.add(tmp_path / "node", ".")
    for machine, directory in (
        (tmp_path / "node", "var/lib/rancher/k3s/agent/etc/kubelet.conf.d"),
        (tmp_path / "root.tar", "var/lib/rancher/k3s/agent/etc/kubelet.conf.d"),
        (archive, "etc/kubernetes/kubelet.conf.d"),
    ):
        result = cpuctl("config", "show", "-m", str(machine), "-o", "json")
        found, sources = settings(result), document(result)["sources"]
        assert found["reservedSystemCPUs"] == ("0", "--reserved-cpus")
        pods, where = found["maxPods"]
        assert (pods, (where or "").rpartition(":")[0]) == (
            77,
            f"{machine}: {directory}/00-k3s-defaults.conf",
        )
        assert sources["unitFiles"]["value"].split() == [
            f"/{path}" for path in K3S if "/var/" not in f"/{path}"
        ]
        assert sources["kubeletConfiguration"]["value"] == "the kubelet's defaults"
        assert "unknownFlags" not in sources
        assert (
            document(cpuctl("config", "check", "-m", str(machine), "-o", "json"))["node"]["reservedCPUs"]
            == "0"
        )


SYSCONFIG = {
    "usr/lib/systemd/system/kubelet.service": "[Service]\nExecStart=/usr/bin/kubelet\n",
    "usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": "[Service]\n"
    'Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml" NODE=%H\n'
    "EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n"
    "EnvironmentFile=-/etc/sysconfig/%N\n"
    "ExecStart=\n"
    "ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS \\\n"
    "    $KUBELET_EXTRA_ARGS --node-labels=of=${NODE} --system-reserved=${RESERVED}\n",
    "var/lib/kubelet/kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.7 --max-pods=50"\n',
    "var/lib/kubelet/config.yaml": f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: '1'\n",
    "etc/hostname": "node7\n",
    "etc/sysconfig/kubelet": "; the RPM's file\n# KUBELET_EXTRA_ARGS=--max-pods=9\n"
    "KUBELET_EXTRA_ARGS=\"--reserved-cpus=0,2 --cpu-manager-policy-options='full-pcpus-only=true' \\\n"
    '  --max-pods=77"\n'
    "RESERVED='cpu=1, memory=2Gi'\n",
}
"""A node with kubeadm's RPM: its administrator's flags are in /etc/sysconfig."""


FLAGS_IN_EFFECT = {
    "maxPods": (77, "--max-pods"),
    "reservedSystemCPUs": ("0,2", "--reserved-cpus"),
    "cpuManagerPolicyOptions.full-pcpus-only": ("true", "--cpu-manager-policy-options"),
    "systemReserved.cpu": ("1", "--system-reserved"),
    "systemReserved.memory": ("2Gi", "--system-reserved"),
}


@pytest.mark.parametrize("kind", ["directory", "root.tar", "capture"])
def test_flags_of_an_rpm_are_read_from_etc_sysconfig(kind: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Quotes, escaped line ends, split and whole variables are handled as systemd does."""
    node = small_machine() | SYSCONFIG
    machine = captured(tmp_path, cpuctl, node) if kind == "capture" else str(written(node, tmp_path / "node"))
    if kind == "root.tar":
        with tarfile.open(tmp_path / kind, "w") as root:
            root.add(machine, ".")
        machine = str(tmp_path / kind)
    result = cpuctl("config", "show", "-m", machine, "-o", "json")
    found = settings(result)
    assert {name: found[name] for name in FLAGS_IN_EFFECT} == FLAGS_IN_EFFECT
    assert "unknownFlags" not in document(result)["sources"]


def test_flags_of_etc_sysconfig_are_used_below_a_root(tmp_path: Path, cpuctl: Cpuctl) -> None:
    state = {"var/lib/kubelet/cpu_manager_state": '{"policyName":"none","defaultCpuSet":"","checksum":1}'}
    root = str(written(small_machine() | SYSCONFIG | state, tmp_path / "node"))
    for words in (("audit",), ("checkpoint", "repair", "--kubelet-version", "1.36")):
        sources = json.loads(cpuctl(*words, "--root", root, "-o", "json", "-q").out)["sources"]
        flags = shlex.split(sources["unitArguments"]["value"])
        assert (flags[1], flags[-1]) == ("--reserved-cpus=0,2", "--system-reserved=cpu=1, memory=2Gi")
        assert sources["unitFiles"]["value"].endswith("/etc/sysconfig/kubelet")


def test_a_warning_about_unknown_flags_is_not_repeated_as_a_note(tmp_path: Path, cpuctl: Cpuctl) -> None:
    state = {"var/lib/kubelet/cpu_manager_state": '{"policyName":"none","defaultCpuSet":"","checksum":1}'}
    config = {"var/lib/kubelet/config.yaml": f"{HEAD}maxPods: 9\n"}
    root = str(written(small_machine() | config | state, tmp_path / "node"))
    result = cpuctl("checkpoint", "repair", "--kubelet-version", "1.36", "--root", root, "--yes")
    assert result.err.count("the kubelet's flags are unknown") == 1, result.err
    assert "warning: the kubelet's flags are unknown" in result.err


@pytest.mark.parametrize("kind", ["directory", "capture"])
def test_the_file_with_an_invalid_flag_is_named(kind: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """With its line, and with both places if the flag is set twice; flags in comments do not count."""
    extra = "# ARGS=--keep-terminated-pod-volumes\nRESERVED=cpu=1\nKUBELET_EXTRA_ARGS=--max-pods=many\n"
    kubeadm = 'KUBELET_KUBEADM_ARGS="--keep-terminated-pod-volumes=true --max-pods=5"\n'
    node = small_machine() | SYSCONFIG
    node |= {"etc/sysconfig/kubelet": extra, "var/lib/kubelet/kubeadm-flags.env": kubeadm}
    machine = captured(tmp_path, cpuctl, node) if kind == "capture" else str(written(node, tmp_path / "node"))
    result = cpuctl("config", "check", "-m", machine, "--kubelet-version", "1.36", "-o", "json")
    env, sysconfig = "/var/lib/kubelet/kubeadm-flags.env:1", "/etc/sysconfig/kubelet:3"
    findings = json.loads(result.out)["findings"]
    places = {each["message"].partition(" (checked once")[0]: each["where"] for each in findings}
    invalid = (
        'invalid argument "many" for "--max-pods" flag: strconv.ParseInt: parsing "many": invalid syntax'
    )
    assert places[invalid] == f"{machine}: {env} and {sysconfig}"
    (gone,) = (where for message, where in places.items() if "keep-terminated-pod-volumes" in message)
    assert gone == f"{machine}: {env}"
