"""State files compared with the answers of the running kubelet."""

from __future__ import annotations

from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS, Owners
from cpuctl.machine.pod_resources.model import ContainerAllocation, MemoryHeld, PodAllocation, PodResources
from tests.support.state_files import CPU_STATE, DB, MEMORY_STATE, WEB
from tests.support.verifying import RUNNING, container, pod, verify

ALLOCATABLE = CPUSet.parse("1-7,9-15")


def blocks(uid: str, name: str) -> tuple[MemoryHeld, ...]:
    return tuple(
        MemoryHeld(each.type, each.size, CPUSet.of(each.numa_affinity))
        for each in MEMORY_STATE.entries.get(uid, {}).get(name, ())
    )


def holdings(uid: str, **cpus: str) -> PodAllocation:
    containers = {name: str(held) for name, held in CPU_STATE.entries[uid].items()} | cpus
    return PodAllocation(
        "shop",
        uid,
        tuple(
            ContainerAllocation(name, CPUSet.parse(held), blocks(uid, name))
            for name, held in containers.items()
        ),
    )


def answered(*pods: PodAllocation, **more: PodAllocation | str) -> PodResources:
    return PodResources(pods, ALLOCATABLE, alone={f"shop/{name}": each for name, each in more.items()})


FINE = answered(holdings(DB), holdings(WEB))


def found(
    answers: PodResources,
    owners: Owners = RUNNING,
    cpu: CPUStateFile = CPU_STATE,
    memory: MemoryStateFile | None = MEMORY_STATE,
) -> list[tuple[str, str, str, str, str]]:
    verdict = verify(cpu, memory, owners=owners, answers=answers)
    return [
        (each.code, each.place.file_name, each.place.pod_uid, each.expected, each.detected)
        for each in verdict.findings
        if each.code.startswith(("answer", "alloc", "pod-not-listed"))
    ]


def test_a_kubelet_whose_answers_match_its_files() -> None:
    assert found(FINE) == []
    assert found(FINE, memory=None) == []


def test_assignments_that_differ_from_the_files() -> None:
    saved = str(CPU_STATE.entries[WEB]["app"])
    assert found(answered(holdings(DB), holdings(WEB, app="4,12"))) == [
        ("answer-differs", "cpu_manager_state", WEB, saved, "4,12")
    ]
    without = holdings(DB)
    none = without._replace(containers=tuple(each._replace(memory=()) for each in without.containers))
    codes = found(answered(none, holdings(WEB)))
    assert {each[:2] for each in codes} == {("answer-differs", "memory_manager_state")}
    assert {each[4] for each in codes} == {"none"}


def test_a_pod_that_is_not_listed_and_its_individual_answer() -> None:
    saved = str(CPU_STATE.entries[WEB]["app"])
    missing = ("pod-not-listed", "cpu_manager_state", WEB, saved, "not listed")
    assert found(answered(holdings(DB))) == [missing]
    verdict = verify(owners=RUNNING, answers=answered(holdings(DB), **{WEB: "refused: not found"}))
    (finding,) = [each for each in verdict.findings if each.code == "pod-not-listed"]
    assert finding.message == (
        f"shop/{WEB} has CPUs {saved} in cpu_manager_state, but the kubelet does not list it; queried "
        "individually (Get), the answer is: refused: not found"
    )
    alone = found(answered(holdings(DB), **{WEB: holdings(WEB, app="4")}))
    assert alone == [("answer-differs", "cpu_manager_state", WEB, saved, "4"), missing]


def test_a_pod_that_has_ended_need_not_be_listed() -> None:
    ended = pod(WEB, container("app", 2), phase="Succeeded")
    running = Owners.of([*[each for uid, each in (RUNNING.pods or {}).items() if uid == DB], ended])
    assert found(answered(holdings(DB)), running) == []


def test_without_names_only_cpus_without_an_owner_are_reported() -> None:
    assert found(FINE, UNKNOWN_OWNERS) == []
    assert found(answered(holdings(DB), holdings(WEB, app="4,12")), UNKNOWN_OWNERS) == [
        ("answer-differs", "cpu_manager_state", "", "none", "4,12")
    ]


def test_a_pod_that_is_in_no_file() -> None:
    new = PodAllocation("shop", "new", (ContainerAllocation("main", CPUSet.parse("4,12")),))
    assert found(answered(holdings(DB), holdings(WEB), new)) == [
        ("answer-differs", "cpu_manager_state", "", "none", "4,12")
    ]


def test_other_allocatable_cpus() -> None:
    assert found(FINE._replace(allocatable=CPUSet.parse("1-15"))) == [
        ("allocatable-differs", "cpu_manager_state", "", "1-7,9-15", "1-15")
    ]
    assert found(FINE._replace(allocatable=None)) == []


def test_without_a_list_no_pod_is_missing() -> None:
    assert found(PodResources(alone={f"shop/{DB}": holdings(DB)})) == []
