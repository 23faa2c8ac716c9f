"""Public threads about kubelets that surprise, each put to cpuctl as one command: what it is told to say.

``k/k`` is kubernetes/kubernetes. The machines, files and flags are those of the threads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.audit.node_tree import NodeTree, clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl, Result

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SHARED_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "coredns"},
    "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}]},
}


def _exclusive(name: str, cpus: int, **more: int) -> dict[str, Any]:
    limits = {"cpu": cpus, "memory": "1Gi", **more}
    containers = [{"name": "c", "image": "x", "resources": {"limits": limits}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}}


def _hybrid() -> dict[str, Any]:
    """Make what cAdvisor tells of 8 cores of two CPUs and 12 of one."""
    whole = [[2 * core, 2 * core + 1] for core in range(8)]
    cores = [
        {"core_id": number, "thread_ids": cpus, "socket_id": 0}
        for number, cpus in enumerate([*whole, *([cpu] for cpu in range(16, 28))])
    ]
    node = {"node_id": 0, "memory": 1 << 35, "cores": cores}
    return {
        "num_cores": 28,
        "num_physical_cores": 20,
        "num_sockets": 1,
        "memory_capacity": 1 << 35,
        "topology": [node],
    }


FILES = {
    "log-files.yaml": f"{HEAD}containerLogMaxFiles: 1\n",
    "shutdown.yaml": f"{HEAD}shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 15s\n",
    "fraction.yaml": f"{HEAD}kubeReserved: {{memory: 500m}}\n",
    "socket.yaml": f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,32\n"
    "cpuManagerPolicyOptions: {align-by-socket: 'true'}\n"
    "featureGates: {CPUManagerPolicyAlphaOptions: true}\n",
    "aligned.yaml": f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
    "cpuManagerPolicyOptions: {align-by-socket: 'true'}\n"
    "featureGates: {CPUManagerPolicyAlphaOptions: true}\ntopologyManagerPolicy: best-effort\n",
    "k3s.yaml": "kubelet-arg:\n- cpu-manager-policy=static\n- reserved-cpus=0-1\n",
    "talos.yaml": "version: v1alpha1\nmachine:\n  kubelet:\n    extraConfig: {cpuManagerPolicy: static}\n"
    "    extraArgs: {reserved-cpus: 0-1}\n",
    "kubeadm.yaml": "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n---\n"
    f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n",
    "profile.yaml": "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nspec:\n"
    "  cpu: {isolated: 2-15, reserved: 0-1}\n",
    "nodeadm.yaml": "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:"
    " {cpuManagerPolicy: static, reservedSystemCPUs: 0-1, kubeReservedCgroup: '',"
    " systemReservedCgroup: ''}\n",
    "configz.json": json.dumps(
        {"kubeletconfig": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}}
    ),
    "devices.yaml": "apiVersion: cpuctl/v1alpha1\nkind: Devices\n"
    "resources: {nvidia.com/gpu: {'0': 1, '1': 1}}\n",
    "first.json": json.dumps(_exclusive("first", 14)),
    "job.json": json.dumps(_exclusive("job", 8, **{"nvidia.com/gpu": 2})),
    "hybrid.json": json.dumps(_hybrid()),
    "burstable.json": json.dumps(SHARED_POD),
    "psm/pod_status_manager_state": '{"data":"{\\"allocations\\":{}}","checksum":1}"x',
}
STATIC = "--cpu-manager-policy=static"

Ask = Callable[..., Result]


@pytest.fixture
def ask(tmp_path: Path, cpuctl: Cpuctl) -> Ask:
    """Return a function that runs one command beside the files."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def call(*words: str) -> Result:
        return cpuctl(*words, "-q", columns=400, cwd=tmp_path)

    return call


RESERVED_TOO = "Burstable and BestEffort containers run on CPUs 0-127, the reserved 0-4 among them; strict"
SHARING = ("-m", "synthetic:2s2n32c2t", "--kubelet-args", f"{STATIC} --reserved-cpus=0-4")


@pytest.mark.parametrize(
    "command",
    [
        ("config", "check"),
        ("config", "show"),
        ("plan", "-f", "burstable.json"),
        ("explain", "default/coredns", "-f", "burstable.json"),
    ],
    ids=" ".join,
)
def test_b1_reserved_cpus_are_shared_too(command: tuple[str, ...], ask: Ask) -> None:
    """k/k 115994, 103910, 104147, 87862, and k8s-snap 1879."""
    assert RESERVED_TOO in ask(*command, *SHARING).out


def test_b1_of_a_node_that_runs(tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = str(written(with_kubelet_files(clean_node()).files, tmp_path / "node"))
    said = cpuctl("audit", "-q", "-m", node, columns=400).out
    assert "Burstable and BestEffort containers run on CPUs 0,2-4,6-7, the reserved 0,4 among them" in said


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("log-files.yaml", "containerLogMaxFiles must be greater than 1"),
        ("shutdown.yaml", "shutdownGracePeriodCriticalPods {15s} must be <= shutdownGracePeriod {10s}"),
    ],
)
def test_c16_what_validation_refuses(name: str, words: str, ask: Ask) -> None:
    """kubeone 3880, k/k 102818, kubeadm 2462."""
    result = ask("config", "check", "-m", "synthetic:8c", "--kubelet-config", name)
    assert result.code == 3
    assert f"would not start (configValidation): invalid configuration: {words}" in result.out
    assert "  fix: leave out " in result.out
    assert "\n1 error, 0 warnings\n" in result.out


@pytest.mark.parametrize("version", ["1.27", "1.32"])
def test_c1_a_broken_file_of_resizes_crashes_kubelets_up_to_1_32(version: str, ask: Ask) -> None:
    """k/k 135711, 117589."""
    gate = "--feature-gates=InPlacePodVerticalScaling=true"
    result = ask(
        "checkpoint",
        "verify",
        "psm",
        "-m",
        "synthetic:8c",
        "--kubelet-args",
        gate,
        "--kubelet-version",
        version,
    )
    assert result.code == 3
    assert "crash in reading pod_status_manager_state" in result.out
    assert "fix: drain the node and delete the file" in result.out
    assert "\n1 error, 0 warnings\n" in result.out


def test_b3_hybrid_cores(ask: Ask) -> None:
    """k/k 124066, 140495."""
    kubelet = ("--kubelet-args", f"{STATIC} --reserved-cpus=0")
    checked = ask("config", "check", "-m", "hybrid.json", *kubelet).out
    assert "is given reserved CPUs 0, because cores differ in size; after that the kubelet refuses" in checked
    assert "fix: reserve whole cores: reservedSystemCPUs: 0-1" in checked
    planned = ask("plan", "-m", "hybrid.json", *kubelet, "-T", "a=4/4,1Gi").out
    assert "the kubelet refuses its own cpu_manager_state when it restarts" in planned
    mended = ("--kubelet-args", f"{STATIC} --reserved-cpus=0-1")
    assert ask("config", "check", "-m", "hybrid.json", *mended, "--strict").code == 0


def test_b4_isolated_cpus(ask: Ask) -> None:
    """k/k 96091, 79603, cri-o 2213."""
    machine = "synthetic:1s1n8c2t,isolated=2-7"
    said = ask("config", "check", "-m", machine, "--kubelet-args", f"{STATIC} --reserved-cpus=0,8").out
    assert "CPUs 2-7 are isolated (isolcpus), and the kernel spreads no threads over them" in said
    assert "a container that is given several of them has all its threads on one" in said


def test_b5_half_a_byte(ask: Ask) -> None:
    """k/k 118657."""
    said = ask("config", "check", "-m", "synthetic:8c", "--kubelet-config", "fraction.yaml").out
    assert "fraction.yaml:3: kubeReserved.memory: 500m is a fraction of a byte, and counts as 1 byte" in said
    assert "fix: write 500Mi, if that was meant" in said


@pytest.mark.parametrize(
    "name", ["k3s.yaml", "talos.yaml", "kubeadm.yaml", "profile.yaml", "nodeadm.yaml", "configz.json"]
)
def test_b6_the_file_of_a_distribution(name: str, ask: Ask) -> None:
    """k3s 10420, talos 7504, kubeadm 1614, PAO 236, karpenter 2271 and others."""
    words = ("-m", "synthetic:1s1n8c2t", "--kubelet-config", name, "--kubelet-args=--max-pods=99")
    said = ask("config", "check", *words).out
    assert "CPU Manager policy static, topology policy" in said
    assert "reserved CPUs 0-1, exclusive CPUs out of 2-15" in said


GROUPS: dict[str, tuple[Callable[[NodeTree], None], str]] = {
    "a container of LXC": (
        lambda node: node.cpuset("", effective="0-5"),
        "the control group /, above all pods, ends at CPUs 0-5, and the kubelet counts 6-7 as well",
    ),
    "another agent": (
        lambda node: node.cpuset("/kubepods.slice/kubepods-burstable.slice", cpus="0-1", effective="0-1"),
        "kubepods-burstable.slice, above Burstable pods, ends at CPUs 0-1, and the kubelet counts 2-7 as",
    ),
}


@pytest.mark.parametrize("name", GROUPS)
def test_b7_groups_that_end_before_the_machine(name: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """k/k 87522, 104147, 97066, koordinator 546 and 395, lxcfs 301."""
    limit, words = GROUPS[name]
    node = clean_node()
    limit(node)
    if name == "a container of LXC":
        node.files = {path: text for path, text in node.files.items() if "/kubepods.slice/" not in path}
    machine = str(written(with_kubelet_files(node).files, tmp_path / "node"))
    said = cpuctl("config", "check", "-q", "-m", machine, columns=400).out
    assert words in said
    assert "fix: give the group these CPUs (LXC: lxc.cgroup2.cpuset.cpus; systemd: AllowedCPUs=)" in said


@pytest.mark.parametrize(("limit", "code"), [("0-1", "effective-differs"), ("", "")])
def test_b7_of_a_node_that_runs(limit: str, code: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = clean_node()
    if limit:
        node.cpuset("/kubepods.slice/kubepods-burstable.slice", cpus=limit, effective=limit)
        node.cpuset(node.front, cpus="0,2-4,6-7", effective="0")
    machine = str(written(with_kubelet_files(node).files, tmp_path / "node"))
    said = cpuctl("audit", "-q", "-m", machine, "--check", "cpusets", columns=400).out
    assert (f"{code}: " in said and "kubepods-burstable.slice has 0-1" in said) == bool(code)


def test_b9_no_cpus_reserved(ask: Ask) -> None:
    """k/k 70161, lokomotive 1337: the three ways, and the command that proposes CPUs."""
    result = ask("config", "check", "-m", "synthetic:1s1n4c2t", "--kubelet-args", STATIC)
    assert result.code == 3
    (fix,) = (line for line in result.out.splitlines() if line.startswith("  fix: "))
    for way in (
        "reservedSystemCPUs: ",
        "kubeReserved: {cpu",
        "systemReserved: {cpu",
        "cpuctl config reserve",
    ):
        assert way in fix
    assert "\n1 error, 0 warnings\n" in result.out


def test_b10_an_option_without_effect(ask: Ask) -> None:
    """k/k 122473."""
    said = ask("config", "check", "-m", "synthetic:2s4n16c2t", "--kubelet-config", "socket.yaml").out
    assert (
        "socket.yaml:5: cpuManagerPolicyOptions.align-by-socket: option align-by-socket changes hints" in said
    )
    assert "topologyManagerPolicy none asks for none" in said


def test_b10_devices_of_another_node(ask: Ask) -> None:
    """k/k 122295, 136431: why they are far, and what would bring them near."""
    pods = ("-f", "first.json", "-f", "job.json", "--devices", "devices.yaml")
    words = ("-m", "synthetic:2s4n8c2t", "--kubelet-config", "aligned.yaml")
    said = ask("explain", "default/job", *words, *pods).out
    assert "UNALIGNED  mask inequality (container c)" in said
    assert (
        "FAR        c: its devices are on NUMA nodes 0-1, its CPUs on 0,2: the Topology Manager settled"
        in said
    )
    assert "remove default/first               CPUs 4-7,20-23 (node 1)" in said
    assert "any other policy, scope or option  never aligned" in said
    without = ask("explain", "default/job", *words, *pods[2:]).out
    assert "FAR     c: its devices are on NUMA nodes 0-1, its CPUs on 1" in without
    assert "CHANGE" not in without
