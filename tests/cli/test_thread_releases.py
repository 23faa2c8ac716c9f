"""Public threads about older kubelets, each tested with its reporter's release and with a fixed one.

C1 to C15 are the names from the list of collected threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from cpuctl.checkpoints.memory_state import write_memory_state
from cpuctl.checkpoints.model import MemoryBlock, MemoryNode, MemoryStateFile, MemoryTable
from tests.cli.conftest import Cpuctl
from tests.cli.test_differences import EXACT, HEAD, SIDECAR, pod

GIB = 1 << 30
STATIC = "--cpu-manager-policy=static --reserved-cpus=0"
MEMORY = "--memory-manager-policy=Static --system-reserved=memory=1Gi --reserved-memory=0:memory=1Gi"
GROUPS = f"""{HEAD}cpuManagerPolicy: static
reservedSystemCPUs: '0'
topologyManagerPolicy: best-effort
memoryManagerPolicy: Static
systemReserved: {{memory: 924Mi}}
reservedMemory:
- {{numaNode: 0, limits: {{memory: 1Gi}}}}
"""
UNCORE = f"""{HEAD}cpuManagerPolicy: static
reservedSystemCPUs: 0-1
cpuManagerPolicyOptions: {{prefer-align-cpus-by-uncorecache: "true"}}
featureGates: {{CPUManagerPolicyAlphaOptions: true}}
"""
CLOSEST = f"""{HEAD}topologyManagerPolicy: restricted
topologyManagerPolicyOptions: {{max-allowable-numa-nodes: "9"}}
featureGates: {{TopologyManagerPolicyBetaOptions: false}}
"""
MANY = "--cpu-manager-policy=static --reserved-cpus=0-3 --topology-manager-policy=restricted"
MANY = f"{MANY} --topology-manager-policy-options=max-allowable-numa-nodes=34"
DEVICES = 'apiVersion: cpuctl/v1alpha1\nkind: Devices\nresources:\n  nvidia.com/gpu: {"0": {healthy: 2}}\n'


def timeline(version: str, *events: str, policy: str = "") -> str:
    """Write a timeline with the given events on four CPUs, where each pod requests three."""
    body = "".join(f"- {{{each}}}\n" for each in events)
    return (
        "apiVersion: cpuctl/v1alpha1\nkind: Timeline\nmachine: synthetic:1s1n4c1t\nkubelet:\n"
        f"  version: '{version}'\n  config: {{cpuManagerPolicy: static, reservedSystemCPUs: '0'}}\n"
        f"pods:\n- metadata: {{name: a}}\n  spec:\n    {policy}containers:\n"
        "    - {name: a, resources: {limits: {cpu: 3, memory: 1Gi}}}\n"
        f"- metadata: {{name: b}}\n  spec:\n    {policy}containers:\n"
        "    - {name: b, resources: {limits: {cpu: 3, memory: 1Gi}}}\n"
        f"events:\n{body}"
    )


def whole_cores(version: str) -> str:
    """Write a timeline of a kubelet that assigns whole cores and restarts while pod a has most of them."""
    options = 'cpuManagerPolicyOptions: {full-pcpus-only: "true"}, cpuManagerPolicy'
    return (
        timeline(version, "at: 0s, admit: a", "at: 5s, kubelet: restart")
        .replace("1s1n4c1t", "1s1n4c2t")
        .replace("cpuManagerPolicy", options)
        .replace("reservedSystemCPUs: '0'", "reservedSystemCPUs: '0,4'")
        .replace("cpu: 3", "cpu: 4")
    )


def memory_state(*amounts: tuple[int, int]) -> str:
    """Write a state of pods that share two nodes, given each node's reserved and total memory."""
    nodes = {
        number: MemoryNode(
            number_of_assignments=2,
            memory_map={
                "memory": MemoryTable(
                    total=total + (GIB if number == 0 else 0),
                    system_reserved=GIB if number == 0 else 0,
                    allocatable=total,
                    reserved=reserved,
                    free=total - reserved,
                )
            },
            cells=(0, 1),
        )
        for number, (reserved, total) in enumerate(amounts)
    }
    held = [("big", 240), ("small", 10)]
    entries = {
        name: {name: (MemoryBlock(numa_affinity=(0, 1), type="memory", size=size * GIB),)}
        for name, size in held
    }
    return write_memory_state(MemoryStateFile(policy_name="Static", machine_state=nodes, entries=entries))


class Thread(NamedTuple):
    """A command, the reporter's release, what the answer says, and what it must not say."""

    words: tuple[str, ...]
    version: str
    says: str
    never: str = ""
    files: Mapping[str, str] = {}


REFUSES = "preferred hint violates NUMA node allocation"
P120733 = (
    *("plan", "-m", "synthetic:2s2n4c1t,mem=11Gi", "--kubelet-config", "k.yaml"),
    *("-T", "p1=1/1,4Gi", "-T", "p2=5/5,12Gi"),
)
P131610 = ("plan", "-m", "synthetic:1s1n16c2t,l3=4,near", "--kubelet-config", "k.yaml", "-T", "a=7/7,1Gi")
SIDECARS = (
    *("plan", "-m", "synthetic:1s1n4c2t", "-f", "p.yaml", "--kubelet-args"),
    f"{STATIC} --feature-gates=SidecarContainers=true",
)
FULL = (
    *("plan", "-m", "synthetic:1s1n2c2t", "-T", "a=2/2,1Gi x2", "--kubelet-args"),
    "--cpu-manager-policy=static --reserved-cpus=0,2 --cpu-manager-policy-options=full-pcpus-only=true",
)
SHORT = ("plan", "-m", "synthetic:1s1n4c2t", "--kubelet-args", STATIC, "-T", "a=6/6,1Gi x2")
LEVEL = (
    *("plan", "-m", "synthetic:1s1n4c2t", "-f", "p.yaml", "--kubelet-args"),
    f"{STATIC} --feature-gates=PodLevelResources=true",
)
RESIZED = (
    *("resize", "-m", "synthetic:1s1n8c1t,mem=16Gi", "-T", "db=2/2,2Gi", "--set", "db:memory=3Gi"),
    *("--kubelet-args", f"{MEMORY} --feature-gates=InPlacePodVerticalScaling=true"),
)
TWO = f", resources: {EXACT.replace('1', '2')}"
TOTAL = "  resources: {requests: {cpu: '4', memory: 2Gi}, limits: {cpu: '4', memory: 2Gi}}\n"
SIDE = {"p.yaml": pod(SIDECAR.replace('"1"', '"2"'), TWO)}
WHOLE = {"p.yaml": pod(TOTAL, TWO.replace("2Gi", "1Gi"), "")}
BROKEN = {"s/pod_status_manager_state": '{"data":"{\\"allocations\\":{}}","checksum":1}"x'}
STATUS = (
    *("checkpoint", "verify", "s", "-m", "synthetic:1s1n8c2t"),
    *("--feature-gates", "InPlacePodVerticalScaling=true"),
)
HELD = (
    *("checkpoint", "verify", "s", "-m", "synthetic:2s2n16c2t,mem=221Gi", "--kubelet-args"),
    "--memory-manager-policy=Static --system-reserved=memory=1Gi --reserved-memory=0:memory=1Gi",
)
MANY_NODES = (
    *("plan", "-m", "synthetic:2s34n34c1t", "--kubelet-args", MANY, "--devices", "d.yaml", "-f", "p.yaml"),
)
GPU = ", resources: {limits: {cpu: '2', memory: 1Gi, nvidia.com/gpu: '1'}}"
GPUS = {"d.yaml": DEVICES, "p.yaml": pod("", GPU)}
GONE = ("at: 0s, admit: a", "at: 5s, remove: a", "at: 40s, admit: b")
ENDS = ("at: 0s, admit: a", "at: 5s, exit: a/a", "at: 60s, admit: b")
STRICT = (
    *("plan", "-m", "synthetic:1s1n32c1t", "-f", "p.yaml", "--compare", ".", "strict-cpu-reservation"),
    *("--kubelet-args", "--reserved-cpus=0-4 --cpu-manager-policy=static"),
    *("--feature-gates", "CPUManagerPolicyAlphaOptions=true"),
)
BURSTABLE = {"p.yaml": pod("", ", resources: {requests: {cpu: 100m}}")}
POOLS = "Shared pool of A: 0-31 Shared pool of B: 5-31 Only the shared pool differs"
SMT_AT_RESTART = "is rejected: SMTAlignmentError: SMT Alignment Error: not enough free physical CPUs"
BETA = ("config", "check", "-m", "synthetic:1s1n8c1t", "--kubelet-config", "k.yaml")

THREADS: Mapping[str, Thread] = {
    "C1 135711, 117589": Thread(STATUS, "1.32", "would fail (crash while reading pod_status", "", BROKEN),
    "C1, fixed": Thread(STATUS, "1.33", "Kubelet 1.33 would start", "", BROKEN),
    "C2 135541": Thread(MANY_NODES, "1.35.3", "would take longer", "1 admitted", GPUS),
    "C4 131610": Thread(P131610, "1.32", "default/a a 2-8 ", "", {"k.yaml": UNCORE}),
    "C4, a patch": Thread(P131610, "1.33.4", "default/a a 2-8 ", "", {"k.yaml": UNCORE}),
    "C4, fixed": Thread(P131610, "1.33.13", "default/a a 8-14 ", "", {"k.yaml": UNCORE}),
    "C5 PR 127959": Thread(
        FULL, "1.31", "requested 2 cpus not multiple cpus per core = 2", "not enough free"
    ),
    "C5, later": Thread(FULL, "1.32", "not enough free physical CPUs: available physical CPUs = 0"),
    "C6 115994": Thread(STRICT, "1.32", POOLS, "No pods differ", BURSTABLE),
    "C7 129078": Thread(("replay", "t.yaml"), "1.32", SMT_AT_RESTART, "", {"t.yaml": whole_cores("1.32")}),
    "C7, not fixed": Thread(
        ("replay", "t.yaml"), "1.38", SMT_AT_RESTART, "", {"t.yaml": whole_cores("1.38")}
    ),
    "C8 120733": Thread(P120733, "1.31", "12Gi (nodes 0,1)", REFUSES, {"k.yaml": GROUPS}),
    "C8, later": Thread(P120733, "1.32", REFUSES, "12Gi (nodes 0,1)", {"k.yaml": GROUPS}),
    "C8, compared": Thread(
        (*P120733, "--compare", "1.31", "1.32"),
        "1.31",
        "; B: the Memory Manager rejects the pod: preferred hint violates NUMA node allocation",
        "No pods differ",
        {"k.yaml": GROUPS},
    ),
    "C9 119442": Thread(SIDECARS, "1.28", "s 1,5 yes yes yes yes a 1,5 ", "", SIDE),
    "C9, fixed": Thread(SIDECARS, "1.29", "s 1,5 yes yes yes yes a 2,6 ", "", SIDE),
    "C10 92436": Thread(SHORT, "1.28", "to satisfy request, which is unexpected", "requested=6"),
    "C10, later": Thread(SHORT, "1.29", "requested=6, available=1"),
    "C11 KEP-2837": Thread(LEVEL, "1.33", "default/p a 1,5 ", "shared, because the pod sets", WHOLE),
    "C11, later": Thread(LEVEL, "1.34", "default/p a shared", "", WHOLE),
    "C12 92436": Thread(
        ("replay", "t.yaml"),
        "1.32",
        "b - is admitted",
        "",
        {"t.yaml": timeline("1.32", *ENDS, policy="restartPolicy: Never\n    ")},
    ),
    "C13 107074": Thread(
        ("replay", "t.yaml"), "1.28", "keeps CPUs 1-3 until another", "", {"t.yaml": timeline("1.28", *GONE)}
    ),
    "C13, later": Thread(
        ("replay", "t.yaml"),
        "1.32",
        "returned to the shared pool",
        "until another",
        {"t.yaml": timeline("1.32", *GONE)},
    ),
    "C14": Thread(BETA, "1.31", "Topology Manager Policy Beta-level Options not", "", {"k.yaml": CLOSEST}),
    "C14, later": Thread(BETA, "1.33", "topology manager policy beta-level options", "", {"k.yaml": CLOSEST}),
    "C15 127262": Thread(RESIZED, "1.32", "default/db: accepted", "infeasible"),
    "C15, later": Thread(RESIZED, "1.33", "alongside Memory Manager static policy"),
    "C3 113130": Thread(
        HELD,
        "1.28",
        "the expected machine state is different from the real one",
        "",
        {"s/memory_manager_state": memory_state((225485783040, 220 * GIB), (42949672960, 221 * GIB))},
    ),
    "C3, later": Thread(
        HELD,
        "1.32",
        "would start.",
        "",
        {"s/memory_manager_state": memory_state((225485783040, 220 * GIB), (42949672960, 221 * GIB))},
    ),
}


@pytest.mark.parametrize("name", THREADS)
def test_the_answer_is_that_of_the_threads_release(name: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    thread = THREADS[name]
    for file, text in thread.files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    release = () if thread.words[0] == "replay" else ("--kubelet-version", thread.version)
    result = cpuctl(*thread.words, "-q", *release, cwd=tmp_path, columns=300)
    reported = " ".join(result.out.split())
    assert thread.says in reported, result
    assert not thread.never or thread.never not in reported, result
