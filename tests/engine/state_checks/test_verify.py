"""Starts on state files: what fails, and which files and checks come first."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import MemoryBlock, MemoryStateFile, PodsStateFile, UnreadableState
from cpuctl.diagnostics import Severity
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.engine.outcome import FaultKind, KubeletFault, StartRefused
from cpuctl.engine.start import Started
from cpuctl.engine.state_checks.file_findings import FileFacts, FoundFile, FoundStates
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace, limited
from cpuctl.engine.state_checks.memory_findings import DriftKind
from cpuctl.engine.state_checks.memory_misfits import replayed
from cpuctl.engine.state_checks.verify import StateVerdict, verify_states
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.state_files import CPU_STATE, DB, GIB, GONE, MEMORY_STATE, block, cpus, drifted
from tests.support.verifying import CONFIG, INFO, RUNNING, state, verify


def codes(verdict: StateVerdict) -> set[tuple[str, str]]:
    return {(str(finding.severity), finding.code) for finding in verdict.findings}


def test_files_that_match_have_no_findings() -> None:
    verdict = verify(CPU_STATE, MEMORY_STATE, owners=RUNNING)
    assert isinstance(verdict.start, Started), verdict.start
    assert (verdict.refusals, verdict.findings, verdict.drift) == ({}, (), None)


def test_a_kubelet_starts_without_files() -> None:
    verdict = verify_states(INFO, Kubelet(version=KubeletVersion(36), config=CONFIG), FoundStates())
    assert isinstance(verdict.start, Started)
    assert (verdict.refusals, verdict.findings, verdict.drift) == ({}, (), None)


def test_findings_name_owners() -> None:
    shared = verify(state("0-4,6-12,14-15"), owners=RUNNING)
    assert [finding.message for finding in shared.findings] == [
        "CPUs 1-2,9-10 are held by shop/11111111-db/server and also in the shared pool"
    ]


def test_the_first_error_decides_and_the_second_is_reported() -> None:
    memory = replace(MEMORY_STATE, policy_name="None")
    verdict = verify(state("0-15"), memory)
    assert isinstance(verdict.start, StartRefused)
    assert (verdict.start.stage, verdict.reached) == ("cpuManagerStart", True)
    second = verdict.refusals["memory_manager_state"]
    assert isinstance(second, StartRefused)
    assert "[memorymanager] configured policy" in second.error


def test_files_are_not_opened_if_the_configuration_fails_first() -> None:
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


CORRUPT = UnreadableState("checkpoint is corrupted")
CPU_FILE, MEMORY_FILE = "cpu_manager_state", "memory_manager_state"
NO_POLICIES = replace(CONFIG, cpu_manager_policy="none", memory_manager_policy="None", reserved_memory=())


@pytest.mark.parametrize(
    ("config", "cpu", "memory", "found"),
    [
        (CONFIG, "static", "Static", []),
        (NO_POLICIES, "none", "None", []),
        (CONFIG, "none", "None", [f"{CPU_FILE} none static", f"{MEMORY_FILE} None Static"]),
        (
            NO_POLICIES,
            "static",
            "Static",
            [f"{CPU_FILE} static none", f"{MEMORY_FILE} Static None"],
        ),
        (
            replace(CONFIG, cpu_manager_policy="none"),
            "static",
            "Static",
            [f"{CPU_FILE} static none"],
        ),
    ],
    ids=["both", "neither", "switched on", "switched off", "one of both"],
)
def test_a_file_of_another_policy_is_rejected(
    config: KubeletConfiguration, cpu: str, memory: str, found: list[str]
) -> None:
    """Its contents do not matter to a policy that cannot use it."""
    verdict = verify(
        replace(CPU_STATE, policy_name=cpu), replace(MEMORY_STATE, policy_name=memory), config=config
    )
    assert verdict.starts == (not found)
    assert [
        f"{each.place.file_name} {each.detected} {each.expected}"
        for each in verdict.findings
        if each.code == "policy-differs"
    ] == found
    assert len(verdict.findings) == len(found)
    assert [*verdict.refusals] == [each.partition(" ")[0] for each in found]


def test_a_state_is_checked_even_if_no_kubelet_starts_on_it() -> None:
    """It is not compared with a machine and a configuration; gone owners and overlaps are reported."""
    entries = {**CPU_STATE.entries, GONE: {"c": cpus("1")}}
    memory = replace(MEMORY_STATE, machine_state={}, entries={GONE: {"c": (block(GIB),)}})
    found = [
        (CPU_FILE, "held-twice", GONE),
        (CPU_FILE, "owner-gone", GONE),
        (MEMORY_FILE, "owner-gone", GONE),
    ]
    wrong = replace(CONFIG, cpu_manager_policy="other")
    other = verify(state("0-15", entries=entries), memory, config=wrong, owners=RUNNING)
    assert [(each.place.file_name, each.code, each.place.pod_uid) for each in other.findings] == found
    none = verify(state("0-15", entries=entries), memory, config=NO_POLICIES, owners=RUNNING)
    assert [(each.place.file_name, each.code, each.place.pod_uid) for each in none.findings] == [
        (CPU_FILE, "policy-differs", ""),
        (MEMORY_FILE, "policy-differs", ""),
        *found,
    ]
    assert (other.drift, none.drift) == (None, None)


def test_a_file_that_the_kubelet_cannot_read_is_still_checked() -> None:
    verdict = verify(CORRUPT, whole=state("0,3-4,6-8,11-12"))
    assert [each.code for each in verdict.findings] == ["unreadable", "unaccounted-cpus"]
    assert not verdict.starts
    assert [each.code for each in verify(CORRUPT, CORRUPT).findings] == ["unreadable", "unreadable"]


@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, cpu_manager_policy="other")])
def test_a_file_of_another_release_is_migrated_to_this_one(
    config: KubeletConfiguration,
) -> None:
    facts = FileFacts(format="V3", readable_by=("1.36, gate",))
    (finding,) = verify(CORRUPT, config=config, minor=35, whole=CPU_STATE, facts=facts).findings
    assert finding.fix == "cpuctl checkpoint migrate --to 1.35"


def test_only_the_parsed_contents_of_a_file_may_be_known() -> None:
    found = FoundStates(cpu=FoundFile(read=state("0,3-4,6-8,11-12")))
    verdict = verify_states(INFO, Kubelet(version=KubeletVersion(36), config=CONFIG), found)
    assert [each.code for each in verdict.findings] == ["unaccounted-cpus"]


def test_the_kubelets_messages_contain_its_root_directory() -> None:
    verdict = verify(
        replace(CPU_STATE, policy_name="none"),
        replace(MEMORY_STATE, policy_name="None"),
        config=replace(CONFIG, root_dir="/data/kubelet"),
    )
    assert [
        isinstance(each, StartRefused) and f'checkpoint file "/data/kubelet/{name}" before' in each.error
        for name, each in verdict.refusals.items()
    ] == [True, True]


def test_a_kubelet_that_crashes_on_its_memory() -> None:
    """One of two nodes in a group lacks a table that the other has: a nil pointer in Go."""
    odd = replace(INFO, nodes=(replace(INFO.nodes[0], hugepages={2048: 4}), INFO.nodes[1]))
    both = MemoryBlock(numa_affinity=(0, 1), type="memory", size=6 * GIB)
    memory = replace(MEMORY_STATE, entries={DB: {"server": (both,)}})
    fresh = fresh_tables(odd, {0: {"memory": GIB}})
    verdict = verify(CPU_STATE, replace(memory, machine_state=replayed(memory, fresh).tables), info=odd)
    assert isinstance(verdict.start, KubeletFault)
    assert verdict.start.kind is FaultKind.CRASH


def test_drift_is_classified() -> None:
    """Only the machine's own figures are compared, and only for a policy that keeps tables."""
    verdict = verify(CPU_STATE, drifted(MEMORY_STATE, node=1, more=1 << 20))
    assert verdict.drift is not None
    assert verdict.drift.kind is DriftKind.BENIGN
    assert codes(verdict) == {("error", "memory-drift")}
    assert verify(UnreadableState("x"), drifted(MEMORY_STATE, node=1, more=1 << 20)).drift == verdict.drift


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
def test_unreadable_pod_checkpoints_are_a_panic(
    name: str, minor: int, gates: dict[str, bool], crashes: bool
) -> None:
    broken: FoundFile[PodsStateFile] = FoundFile(read=CORRUPT)
    config = replace(CONFIG, feature_gates=gates, root_dir="/data")
    verdict = verify(None, config=config, minor=minor, pods={name: broken})
    if name == "actuated_pods_state" and minor >= 35:
        assert isinstance(verdict.start, StartRefused)
        assert verdict.start.error.startswith(
            "failed to run Kubelet: failed to create kubelet: failed to initialize actuated state "
            "checkpoint: could not restore state from checkpoint: checkpoint is corrupted, please drain "
        )
        return
    assert isinstance(verdict.start, KubeletFault) == crashes
    assert [(each.code, each.severity) for each in verdict.findings] == [
        ("unreadable", Severity.ERROR) if crashes else ("unread", Severity.NOTE)
    ]
    if isinstance(verdict.start, KubeletFault):
        assert verdict.start.kind is FaultKind.CRASH
        assert verdict.start.where == f"reading {name}"
        assert verdict.start.why == (
            "could not restore state from checkpoint: checkpoint is corrupted, please drain this node and "
            f'delete pod resource information checkpoint file "/data/{name}" before restarting Kubelet'
        )


def test_pod_checkpoints_are_read_before_state_files() -> None:
    """Each file is reported with its error, in the order in which the kubelet opens them."""
    broken: FoundFile[PodsStateFile] = FoundFile(read=CORRUPT)
    names = ["allocated_pods_state", "actuated_pods_state"]
    verdict = verify(state("0-15"), pods=dict.fromkeys(reversed(names), broken))
    assert [*verdict.refusals] == [*names, CPU_FILE]
    assert verdict.start == verdict.refusals["allocated_pods_state"]
    assert [each.place.file_name for each in verdict.findings if each.code == "unreadable"] == names[::-1]
    assert verify(pods={names[0]: FoundFile(read=PodsStateFile())}).starts


def test_a_checksum_that_is_not_verified_is_reported() -> None:
    verdict = verify(facts=FileFacts(format="V2", wrong_checksums=("checksum",), embedded_differs=True))
    assert codes(verdict) == {("warning", "checksum-unseen"), ("warning", "embedded-differs")}
    assert verdict.starts


def test_memory_of_a_gone_owner_is_found() -> None:
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
        "the totals of NUMA node 1 do not match the entries: assignments 2 (entries: 1)"
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


ONE = StateFinding(Severity.WARNING, "held-twice", StatePlace("a"), "text", fix="fix it")
REST = StateFinding(Severity.WARNING, "held-twice", StatePlace("a"), "")


@pytest.mark.parametrize(
    ("count", "rest"),
    [
        (50, []),
        (51, [replace(REST, message="1 more of the same kind")]),
        (199, [replace(REST, message="149 more of the same kind")]),
    ],
)
def test_one_kind_of_finding_does_not_bury_the_others(count: int, rest: list[StateFinding]) -> None:
    """Findings are of the same kind if file, code and severity are the same."""
    others = [replace(ONE, severity=Severity.ERROR), ONE.at(StatePlace("b")), replace(ONE, code="other")]
    assert [*limited([*[ONE] * count, *others])] == [*[ONE] * 50, *others, *rest]


def test_findings_stay_in_their_order() -> None:
    mixed = [replace(ONE, code=str(number % 3), message=str(number)) for number in range(12)]
    assert [*limited(mixed)] == mixed
