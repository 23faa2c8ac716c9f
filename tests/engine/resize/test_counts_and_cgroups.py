"""What is counted and written for pods with several versions, or containers of several kinds."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.engine.resize.effects import cgroup_change, counted, most_requested
from cpuctl.engine.resize.outcome import CPUShare, DecidedBy, ResizeOutcome, ResizeResult
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import POD, PodResize, RunningPod
from cpuctl.pods.cgroups.values import CgroupSettings, CgroupValues
from cpuctl.pods.model import StoredPod
from cpuctl.pods.rules import NodeRules
from cpuctl.records import replace
from tests.support.pods import app, init, resources
from tests.support.resizing import guaranteed, pod_of


def sized(cpus: int) -> StoredPod:
    return pod_of(guaranteed(str(cpus)))


@pytest.mark.parametrize(
    ("result", "allocated", "actual", "desired", "takes"),
    [
        (ResizeResult.INFEASIBLE, 3, 2, 9, (5, 3, 3)),
        (ResizeResult.INFEASIBLE, 3, 4, 9, (5, 4, 4)),
        (ResizeResult.INFEASIBLE, 6, 4, 9, (6, 6, 6)),
        (ResizeResult.ADMITTED, 3, 2, 1, (5, 2, 1)),
        (ResizeResult.NO_EFFECT, 3, 7, 4, (7, 7, 4)),
        (ResizeResult.DEFERRED, 3, 2, 1, (5, 3, 3)),
        (ResizeResult.DEFERRED, 2, 3, 1, (5, 3, 3)),
        (ResizeResult.IGNORED, 3, 2, 4, (5, 4, 4)),
        *((result, 3, 2, 9, (5, 5, 5)) for result in (
            ResizeResult.FORBIDDEN, ResizeResult.UNCHANGED, ResizeResult.FAULT, ResizeResult.UNKNOWN)),
    ],
)  # fmt: skip
def test_the_versions_of_which_the_scheduler_counts_the_maximum(
    result: ResizeResult, allocated: int, actual: int, desired: int, takes: tuple[int, ...]
) -> None:
    """The pod's spec requests five CPUs since an earlier resize."""
    running = replace(
        RunningPod.settled(sized(5)), allocated=sized(allocated), actual=sized(actual), actuated=sized(8)
    )
    given = PodResize(running, sized(desired))
    reported = counted(
        ResizeOutcome(request=given, result=result, decided_by=DecidedBy.MANAGERS), ResizeRules()
    )
    found = tuple(each["cpu"].value for each in (reported.before, reported.meanwhile, reported.settled))
    assert found == takes


def test_the_maximum_is_taken_per_container_and_resource() -> None:
    """A container, an amount or pod-level resources count if any version has them."""
    first = pod_of(init("cpu=1", "", "i"), app("cpu=2 memory=3Gi", "cpu=9", "a"), app("", "", "b"))
    second = pod_of(init("cpu=3", "", "i"), app("cpu=1 memory=4Gi", "", "a"), app("cpu=1", "", "b"))
    third = second._replace(resources=resources("cpu=7", "cpu=8"))
    found = most_requested(first, second, third)
    requested = {each.name: each.resources for each in found.all_containers}
    assert requested == {"i": resources("cpu=3"), "a": resources("cpu=2 memory=4Gi"), "b": resources("cpu=1")}
    assert found.resources == resources("cpu=7")
    assert most_requested(third, first).resources == resources("cpu=7")
    assert most_requested(first, second).resources is None


def test_of_equal_amounts_the_first_keeps_its_notation() -> None:
    versions = (pod_of(app(f"memory={amount}", "", "a")) for amount in ("1Gi", "1073741824"))
    assert str(most_requested(*versions).containers[0].resources.requests["memory"]) == "1Gi"


OWN, OTHER = 0b11 << 6, 0b1111 << 6
KEEPS, LOSES, GETS = (CPUShare(OWN, OTHER, None), CPUShare(OWN, None, None), CPUShare(None, OTHER, None))
SETTINGS = CgroupSettings(minor=38)
A, HALF = guaranteed("2", "a"), guaranteed("1500m", "b")


def change(
    old: StoredPod, new: StoredPod, shares: Mapping[str, CPUShare], view: NodeRules
) -> tuple[Mapping[str, CgroupValues], Mapping[str, CgroupValues]]:
    outcome = ResizeOutcome(
        request=PodResize(RunningPod.settled(old), new),
        result=ResizeResult.ADMITTED,
        decided_by=DecidedBy.MANAGERS,
        shares=shares,
    )
    found = cgroup_change(outcome, SETTINGS, view)
    return found.before, found.after


def quotas(values: Mapping[str, CgroupValues]) -> dict[str, int | None]:
    return {name: each.quota for name, each in values.items()}


@pytest.mark.parametrize(
    ("share", "before", "after"),
    [
        (KEEPS, {POD: -1, "a": -1, "b": 150_000}, {POD: -1, "a": -1, "b": 150_000}),
        (LOSES, {POD: -1, "a": -1, "b": 150_000}, {POD: 550_000, "a": 400_000, "b": 150_000}),
        (GETS, {POD: 350_000, "a": 200_000, "b": 150_000}, {POD: -1, "a": -1, "b": 150_000}),
    ],
)
def test_quotas_depend_on_exclusive_cpus_before_and_after(
    share: CPUShare, before: dict[str, int], after: dict[str, int]
) -> None:
    """One container with exclusive CPUs removes the quota of its pod."""
    old, new = pod_of(A, HALF), pod_of(guaranteed("4", "a"), HALF)
    found = change(old, new, {"a": share}, NodeRules())
    assert tuple(map(quotas, found)) == (before, after)


LEVEL = resources(*["cpu=4 memory=4Gi"] * 2)
MANAGERS = NodeRules(managers=True)


@pytest.mark.parametrize(
    ("name", "given", "view", "want"),
    [
        ("one shares with its pod", pod_of(A, HALF)._replace(resources=LEVEL), MANAGERS,
         {POD: 400_000, "a": -1, "b": 150_000}),
        ("all have their own", pod_of(A, guaranteed("1", "b"))._replace(resources=LEVEL), MANAGERS,
         {POD: -1, "a": -1, "b": -1}),
        ("not divided", pod_of(A, HALF)._replace(resources=LEVEL), NodeRules(),
         {POD: -1, "a": -1, "b": -1}),
        ("nothing to divide", pod_of(A, HALF), MANAGERS, {POD: -1, "a": -1, "b": -1}),
    ],
)  # fmt: skip
def test_quotas_of_divided_pods(name: str, given: StoredPod, view: NodeRules, want: dict[str, int]) -> None:
    """KEP-5526: the pod has no quota if none of its containers has one."""
    del name
    found = change(given, given, {"a": KEEPS, "b": KEEPS}, view)
    assert tuple(map(quotas, found)) == (want, want)


@pytest.mark.parametrize(
    ("given", "reserved"),
    [(pod_of(A), (1 << 30, None)), (pod_of(app("memory=1Gi", "memory=2Gi", "a")), (None, 1 << 30))],
)
def test_memory_is_reserved_by_the_qos_class_of_the_pod(
    given: StoredPod, reserved: tuple[int | None, ...]
) -> None:
    """With memoryReservationPolicy TieredReservation: memory.min only for Guaranteed pods."""
    settings = replace(SETTINGS, memory_qos=True, tiered=True)
    outcome = ResizeOutcome(
        request=PodResize(RunningPod.settled(given), given),
        result=ResizeResult.ADMITTED,
        decided_by=DecidedBy.MANAGERS,
    )
    after = cgroup_change(outcome, settings, NodeRules()).after
    assert {(each.memory_min, each.memory_low) for each in after.values()} == {reserved}


def test_a_kubelet_without_pod_level_resources_uses_containers() -> None:
    shared = pod_of(app("cpu=1", "cpu=2", "a"))._replace(resources=LEVEL)
    known, unknown = (
        change(shared, shared, {}, NodeRules(pod_level=level))[1][POD] for level in (True, False)
    )
    assert (known.shares, known.quota, known.memory) == (4096, 400_000, 4 << 30)
    assert (unknown.shares, unknown.quota, unknown.memory) == (1024, 200_000, None)
