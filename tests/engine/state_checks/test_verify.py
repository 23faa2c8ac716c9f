"""Starts on state files: what refuses them, and what is found beside that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile, PodsStateFile, UnreadableState
from cpuctl.engine.config_lints.lint import Severity
from cpuctl.engine.outcome import FaultKind, KubeletFault, StartRefused
from cpuctl.engine.start import Kubelet, Started
from cpuctl.engine.state_checks.findings import MOST_ALIKE
from cpuctl.engine.state_checks.found import FileFacts, FoundFile, FoundStates
from cpuctl.engine.state_checks.owners import NOBODY_SAYS, Owners
from cpuctl.engine.state_checks.verify import StateVerdict, verify_states
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine
from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements
from cpuctl.quantity import Quantity
from tests.support.pods import amounts
from tests.support.state_files import CPU_STATE, DB, GIB, GONE, MACHINE, MEMORY_STATE, WEB, block, cpus

INFO = read_machine(MACHINE).info
CONFIG = KubeletConfiguration(
    cpu_manager_policy="static",
    reserved_system_cpus="0,8",
    memory_manager_policy="Static",
    kube_reserved={"memory": "1Gi"},
    eviction_hard={"memory.available": "0%"},
    reserved_memory=(ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")}),),
)
STRICT = replace(CONFIG, cpu_manager_policy_options={"strict-cpu-reservation": "true"})
PODS = replace(
    CONFIG,
    feature_gates={"PodLevelResourceManagers": True},
    topology_manager_policy="restricted",
    topology_manager_scope="pod",
)


def pod(uid: str, *containers: Container, inits: tuple[Container, ...] = ()) -> Pod:
    return Pod(
        name=uid, namespace="shop", uid=uid, containers=containers, init_containers=inits, phase="Running"
    )


def container(name: str, count: int, kind: ContainerKind = ContainerKind.APP) -> Container:
    both = amounts(f"cpu={count} memory=1Gi")
    return Container(name=name, kind=kind, resources=ResourceRequirements(requests=both, limits=both))


RUNNING = Owners.of([pod(DB, container("server", 4)), pod(WEB, container("app", 2))])


def verify(
    cpu: CPUStateFile | UnreadableState | None = CPU_STATE,
    memory: MemoryStateFile | None = None,
    *,
    config: KubeletConfiguration = CONFIG,
    minor: int = 36,
    owners: Owners = NOBODY_SAYS,
    whole: CPUStateFile | None = None,
    facts: FileFacts | None = None,
    pods: Mapping[str, FoundFile[PodsStateFile]] | None = None,
) -> StateVerdict:
    cpu_file = None
    if cpu is not None:
        said = whole or (cpu if isinstance(cpu, CPUStateFile) else None)
        cpu_file = FoundFile(read=cpu, whole=said, facts=facts or FileFacts())
    found = FoundStates(
        cpu=cpu_file,
        memory=None if memory is None else FoundFile(read=memory, whole=memory),
        pods=pods or {},
    )
    return verify_states(INFO, Kubelet(version=KubeletVersion(minor), config=config), found, owners)


def codes(verdict: StateVerdict) -> set[tuple[str, str]]:
    return {(str(finding.severity), finding.code) for finding in verdict.findings}


def test_files_that_fit_are_fine() -> None:
    verdict = verify(CPU_STATE, MEMORY_STATE, owners=RUNNING)
    assert isinstance(verdict.start, Started), verdict.start
    assert (verdict.refusals, verdict.findings, verdict.drift) == ({}, (), None)


def test_no_files_are_no_obstacle() -> None:
    assert verify(None).starts


POOL = CPU_STATE.default_cpu_set
ENTRIES = CPU_STATE.entries


@dataclass(frozen=True)
class Case:
    """A state, and what is found in it."""

    name: str
    state: CPUStateFile
    found: set[tuple[str, str]]
    starts: bool
    config: KubeletConfiguration = CONFIG
    owners: Owners = NOBODY_SAYS
    whole: CPUStateFile | None = field(default=None)


def state(pool: str = str(POOL), **changes: object) -> CPUStateFile:
    return replace(CPU_STATE, default_cpu_set=cpus(pool), **changes)  # type: ignore[arg-type]


BUBBLE = state("0,4,6-8,12,14-15", pod_entries={DB: cpus("1-3,9-11")})
CASES = [
    Case("no reserved CPUs", state("3-4,6-7,11-12,14-15"), {("error", "reserved-not-in-pool")}, False),
    Case("strictly reserved CPUs are shared", CPU_STATE, {("error", "reserved-in-pool")}, False, STRICT),
    Case(
        "strictly reserved CPUs are held",
        state("3-4,6-7,11-12,14-15", entries={**ENTRIES, GONE: {"c": cpus("8")}}),
        {("error", "reserved-held")},
        False,
        STRICT,
    ),
    Case("an empty pool", state(""), {("error", "pool-empty"), ("error", "unaccounted-cpus")}, False),
    Case("an empty pool that holds nothing", state("", entries={}), set(), True),
    Case(
        "a pool of reserved CPUs only",
        state("0,8", entries={DB: {"server": cpus("1-7,9-15")}}),
        {("warning", "pool-only-reserved")},
        True,
    ),
    Case("held and shared", state("0-4,6-12,14-15"), {("error", "held-and-shared")}, False),
    Case("CPUs that are not there", state(f"{POOL},20"), {("error", "no-such-cpus")}, False),
    Case("CPUs that nobody has", state("0,3-4,6-8,11-12"), {("error", "unaccounted-cpus")}, False),
    Case(
        "two pods with the same CPUs",
        state(entries={**ENTRIES, GONE: {"c": cpus("2,10")}}),
        {("warning", "held-twice")},
        True,
    ),
    Case(
        "the gone",
        state("0,4,6-8,12,14-15", entries={**ENTRIES, GONE: {"c": cpus("3,11")}}),
        {("warning", "owner-gone")},
        True,
        owners=RUNNING,
    ),
    Case(
        "a container that is gone",
        state("0,4,6-8,12,14-15", entries={**ENTRIES, DB: {**ENTRIES[DB], "old": cpus("3,11")}}),
        {("warning", "container-gone")},
        True,
        owners=RUNNING,
    ),
    Case(
        "another size",
        state("0,3-4,6-8,11-15", entries={**ENTRIES, WEB: {"app": cpus("5")}}),
        {("warning", "other-size")},
        True,
        owners=RUNNING,
    ),
    Case(
        "a pod without its CPUs",
        state("0-4,6-12,14-15", entries={WEB: ENTRIES[WEB]}),
        {("warning", "not-recorded")},
        True,
        owners=RUNNING,
    ),
    Case(
        "a leftover that is read",
        BUBBLE,
        {("info", "pod-leftover"), ("warning", "pod-allocated-again")},
        True,
        PODS,
    ),
    Case(
        "a leftover that is not read",
        replace(BUBBLE, pod_entries={}),
        {("warning", "part-unread"), ("error", "pod-cpus-unread")},
        False,
        whole=BUBBLE,
    ),
    Case(
        "a pod that no container shares",
        state(pod_entries={GONE: cpus("3")}),
        {("warning", each) for each in ("pod-without-containers", "held-and-shared", "pod-allocated-again")},
        True,
        PODS,
    ),
    Case(
        "a container outside of its pod",
        state(pod_entries={DB: cpus("1-2")}),
        {("warning", "outside-pod"), ("warning", "pod-allocated-again")},
        True,
        PODS,
    ),
    Case(
        "a promise that is not kept",
        state(baselines={WEB: {"app": cpus("4-5")}, DB: {"old": cpus("1")}}),
        {("warning", "baseline-outside")},
        True,
    ),
    Case("another policy", replace(CPU_STATE, policy_name="none"), {("error", "policy-differs")}, False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_found(case: Case) -> None:
    verdict = verify(case.state, config=case.config, owners=case.owners, whole=case.whole)
    assert codes(verdict) == case.found
    assert verdict.starts == case.starts
    errors = [finding for finding in verdict.findings if finding.severity is Severity.ERROR]
    assert bool(errors) == (not case.starts)


def test_owners_have_names() -> None:
    shared = verify(state("0-4,6-12,14-15"), owners=RUNNING)
    assert [finding.message for finding in shared.findings] == [
        "CPUs 1-2,9-10 are held by shop/11111111-db/server and are in the shared pool, too"
    ]


@pytest.mark.parametrize(
    ("kind", "twice"),
    [(ContainerKind.INIT, []), (ContainerKind.SIDECAR, ["server"]), (ContainerKind.APP, ["server"])],
)
def test_overlaps_in_a_pod_count_where_containers_run_together(kind: ContainerKind, twice: list[str]) -> None:
    """Those of an ordinary init container go to later ones."""
    entries = {DB: {"first": cpus("1-2"), "server": cpus("1-2,9-10")}}
    owners = Owners.of([pod(DB, container("server", 4), inits=(container("first", 2, kind),))])
    verdict = verify(state("0,3-8,11-15", entries=entries), owners=owners)
    assert [found.container for found in verdict.findings if found.code == "held-twice"] == twice


def test_one_kind_of_finding_does_not_bury_the_others() -> None:
    many = {f"{number:03}": {"c": cpus("1")} for number in range(200)}
    verdict = verify(state("0,2-15", entries=many))
    twice = [finding for finding in verdict.findings if finding.code == "held-twice"]
    assert len(twice) == MOST_ALIKE + 1
    assert twice[-1].message == f"{199 - MOST_ALIKE} more of the same kind"


def test_the_first_refusal_decides_and_the_second_is_told() -> None:
    memory = replace(MEMORY_STATE, policy_name="None")
    verdict = verify(state("0-15"), memory)
    assert isinstance(verdict.start, StartRefused)
    assert verdict.start.stage == "cpuManagerStart"
    second = verdict.refusals["memory_manager_state"]
    assert isinstance(second, StartRefused)
    assert "[memorymanager] configured policy" in second.error


def test_files_are_not_opened_where_the_configuration_fails_before() -> None:
    verdict = verify(state("0-15"), config=replace(CONFIG, cpu_manager_policy="other"))
    assert isinstance(verdict.start, StartRefused)
    assert (verdict.start.stage, verdict.reached, verdict.refusals) == ("cpuManager", False, {})


def test_the_last_check_comes_after_the_files() -> None:
    """A node that reserves more than it has fails only once its managers run."""
    config = replace(CONFIG, system_reserved={"memory": "100Gi"})
    reserved = ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("101Gi")})
    config = replace(config, reserved_memory=(reserved,))
    without, broken = verify(None, config=config), verify(state("0-15"), config=config)
    assert [getattr(verdict.start, "stage", "") for verdict in (without, broken)] == [
        "nodeAllocatable",
        "cpuManagerStart",
    ]


@pytest.mark.parametrize(
    ("minor", "gates", "crashes"),
    [
        (36, {}, True),
        (33, {}, True),
        (32, {"InPlacePodVerticalScaling": True}, False),
        (34, {"InPlacePodVerticalScaling": False}, False),
    ],
)
@pytest.mark.parametrize("name", ["allocated_pods_state", "actuated_pods_state"])
def test_promises_that_cannot_be_read_are_a_panic(
    name: str, minor: int, gates: dict[str, bool], crashes: bool
) -> None:
    broken: FoundFile[PodsStateFile] = FoundFile(read=UnreadableState("checkpoint is corrupted"))
    config = replace(CONFIG, feature_gates=gates, root_dir="/data")
    verdict = verify(None, config=config, minor=minor, pods={name: broken})
    assert isinstance(verdict.start, KubeletFault) == crashes
    if isinstance(verdict.start, KubeletFault):
        assert verdict.start.kind is FaultKind.CRASH
        assert f'checkpoint file "/data/{name}" before' in verdict.start.why


def test_a_checksum_that_nobody_looks_at_is_told() -> None:
    verdict = verify(facts=FileFacts(format="V2", wrong_checksums=("checksum",), embedded_differs=True))
    assert codes(verdict) == {("warning", "checksum-unseen"), ("warning", "embedded-differs")}
    assert verdict.starts


@pytest.mark.parametrize(
    ("facts", "whole", "fix"),
    [
        (FileFacts(), None, "drain the node and delete the file: cpuctl cannot read it either"),
        (FileFacts(wrong_checksums=("checksum",)), CPU_STATE, "cpuctl checkpoint repair"),
        (
            FileFacts(format="V3", readable_by=("1.37 and later",)),
            CPU_STATE,
            "cpuctl checkpoint migrate --to-kubelet 1.36",
        ),
    ],
)
def test_an_unreadable_file_says_what_to_do(facts: FileFacts, whole: CPUStateFile | None, fix: str) -> None:
    verdict = verify(UnreadableState("checkpoint is corrupted"), facts=facts, whole=whole)
    (finding,) = verdict.findings
    assert (finding.code, finding.fix) == ("unreadable", fix)


def test_memory_of_the_gone_is_found() -> None:
    held = {**MEMORY_STATE.entries, GONE: {"c": (block(0),)}}
    nodes = {**MEMORY_STATE.machine_state}
    nodes[0] = replace(nodes[0], number_of_assignments=2)
    memory = replace(MEMORY_STATE, entries=held, machine_state=nodes)
    verdict = verify(CPU_STATE, memory, owners=RUNNING)
    assert verdict.starts
    assert codes(verdict) == {("warning", "owner-gone")}


def test_memory_that_does_not_add_up() -> None:
    nodes = {**MEMORY_STATE.machine_state}
    nodes[1] = replace(nodes[1], number_of_assignments=2)
    verdict = verify(CPU_STATE, replace(MEMORY_STATE, machine_state=nodes))
    assert isinstance(verdict.start, StartRefused)
    assert [finding.message for finding in verdict.findings] == [
        "NUMA node 1 counts 2, and the entries of the file come to 1"
    ]


def test_memory_without_tables() -> None:
    verdict = verify(CPU_STATE, replace(MEMORY_STATE, machine_state={}))
    assert isinstance(verdict.start, StartRefused)
    assert codes(verdict) == {("error", "no-tables")}
    assert verify(CPU_STATE, MemoryStateFile(policy_name="Static")).starts


def test_memory_of_a_node_that_is_gone() -> None:
    nodes = {**MEMORY_STATE.machine_state, 2: MEMORY_STATE.machine_state[1]}
    held = {**MEMORY_STATE.entries, GONE: {"c": (block(GIB, 2),)}}
    verdict = verify(CPU_STATE, replace(MEMORY_STATE, machine_state=nodes, entries=held))
    assert codes(verdict) == {("error", "memory-changed"), ("error", "memory-misfit")}
    assert "NUMA node 2 is gone" in {finding.message for finding in verdict.findings}
