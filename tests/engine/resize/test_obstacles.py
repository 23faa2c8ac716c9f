"""What a kubelet rejects as infeasible before it calls its resource managers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cpuctl.engine.resize.obstacles import KubeletResize
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import PodResize, RunningPod
from cpuctl.pods.model import Container, StoredPod
from tests.support.pods import app, init, resources, sidecar
from tests.support.resizing import guaranteed, request, verbatim, with_policies

NO_SWAP = "In-place resize of containers with swap is not supported."
CPU, MEMORY = (
    f"Resize is infeasible for Guaranteed Pods alongside {words}"
    for words in ('CPU Manager policy "static"', 'Memory Manager policy "Static"')
)
SYSTEM_CRITICAL = 2_000_000_000


def objection(old: StoredPod, new: StoredPod, capacity: Mapping[str, int] | None = None, **rules: Any) -> str:
    return KubeletResize(PodResize(RunningPod.settled(old), new), ResizeRules(**rules), capacity).objection()


def with_peer(container: Container) -> StoredPod:
    """Add a container that makes the pod Burstable."""
    return verbatim(container, app("cpu=1", "cpu=2", "other"))


ROOM = with_peer(app("memory=1Gi", "memory=2Gi", "c"))
MORE_ROOM = with_peer(app("memory=3Gi", "memory=4Gi", "c"))
FULL = with_peer(app("memory=2Gi", "memory=2Gi", "c"))
FULLER = with_peer(app("memory=3Gi", "memory=3Gi", "c"))


@pytest.mark.parametrize(
    ("name", "old", "new", "minor", "want"),
    [
        ("it may swap", ROOM, MORE_ROOM, 36, NO_SWAP),
        ("it may swap in 1.33", ROOM, MORE_ROOM, 33, NO_SWAP),
        ("1.32 does not check", ROOM, MORE_ROOM, 32, ""),
        ("it could swap before", ROOM, FULL, 36, NO_SWAP),
        ("it could swap afterwards", FULL, MORE_ROOM, 36, NO_SWAP),
        ("it never may", FULL, FULLER, 36, ""),
        ("it has no limit", with_peer(app("memory=1Gi", "", "c")), with_peer(app("memory=2Gi", "", "c")), 36,
         NO_SWAP),
        ("it gets some for the first time", with_peer(app(name="c")), ROOM, 36, NO_SWAP),
        ("a request equal to its limit is removed", FULL, with_peer(app("", "memory=2Gi", "c")), 36, NO_SWAP),
        ("request and limit are removed", FULL, with_peer(app("", "memory=0", "c")), 36, ""),
        ("its request becomes zero", FULL, with_peer(app("memory=0", "", "c")), 36, ""),
        ("its request is zero", with_peer(app("memory=0", "memory=1Gi", "c")),
         with_peer(app("", "memory=1Gi", "c")), 36, ""),
        ("it has no request", with_peer(app("", "memory=1Gi", "c")),
         with_peer(app("memory=0", "memory=1Gi", "c")), 36, ""),
        ("only the limit changes", ROOM, with_peer(app("memory=1Gi", "memory=4Gi", "c")), 36, ""),
        ("a Guaranteed pod", verbatim(guaranteed("1")), verbatim(guaranteed("1", memory="2Gi")), 36, ""),
        ("a static pod", ROOM._replace(static=True), MORE_ROOM._replace(static=True), 36, ""),
        ("a critical pod", ROOM._replace(priority=SYSTEM_CRITICAL),
         MORE_ROOM._replace(priority=SYSTEM_CRITICAL), 36, ""),
        ("an important pod", ROOM._replace(priority=SYSTEM_CRITICAL - 1),
         MORE_ROOM._replace(priority=SYSTEM_CRITICAL - 1), 36, NO_SWAP),
    ],
)  # fmt: skip
def test_a_changed_memory_request_of_a_container_that_may_swap(
    name: str, old: StoredPod, new: StoredPod, minor: int, want: str
) -> None:
    """It may swap in a Burstable pod that is not critical if its request is not its limit."""
    del name
    assert objection(old, new, minor=minor, swap=True) == want
    assert objection(old, new, minor=minor) == ""


def test_one_container_that_restarts_does_not_excuse_another() -> None:
    old = verbatim(*(app("memory=1Gi", "memory=2Gi", name) for name in "ab"))
    new = verbatim(*(app("memory=2Gi", "memory=3Gi", name) for name in "ab"))
    one, both = (with_policies(old, dict.fromkeys(names, frozenset({"memory"}))) for names in ("a", "ab"))
    assert objection(one, new, swap=True) == NO_SWAP
    assert objection(both, new, swap=True) == ""


def test_only_containers_that_run_are_compared() -> None:
    """Without an API server, others have not been rejected yet."""
    more = ROOM._replace(containers=(app("memory=1Gi", "memory=2Gi", "new"), *ROOM.containers))
    assert objection(ROOM, more, swap=True) == ""
    assert (
        objection(
            verbatim(guaranteed("1")),
            verbatim(guaranteed("1"), guaranteed("1", "d")),
            static_cpus=True,
        )
        == ""
    )


TWO, FOUR = verbatim(guaranteed("2")), verbatim(guaranteed("4"))
LARGER = verbatim(guaranteed("2", memory="2Gi"))
BY_LEVEL = verbatim(app("cpu=1", "", "c"))._replace(resources=resources(*["cpu=4 memory=4Gi"] * 2))
BY_LEVEL_MORE = BY_LEVEL._replace(containers=(app("cpu=2", "", "c"),))


@pytest.mark.parametrize(
    ("name", "old", "new", "rules", "want"),
    [
        ("CPUs", TWO, FOUR, {"static_cpus": True}, CPU),
        ("CPUs that may follow", TWO, FOUR, {"static_cpus": True, "exclusive_cpus": True}, ""),
        ("CPUs, but memory is static", TWO, FOUR, {"static_memory": True}, ""),
        ("memory", TWO, LARGER, {"static_memory": True}, MEMORY),
        ("memory that may follow", TWO, LARGER, {"static_memory": True, "exclusive_memory": True}, ""),
        ("memory, but CPUs are static", TWO, LARGER, {"static_cpus": True}, ""),
        ("both, CPUs come first", TWO, verbatim(guaranteed("4", memory="2Gi")),
         {"static_cpus": True, "static_memory": True}, CPU),
        ("both, CPUs may", TWO, verbatim(guaranteed("4", memory="2Gi")),
         {"static_cpus": True, "exclusive_cpus": True, "static_memory": True}, MEMORY),
        ("a Burstable pod", with_peer(guaranteed("2")), with_peer(guaranteed("4")),
         {"static_cpus": True}, ""),
        ("Guaranteed by its pod-level resources", BY_LEVEL, BY_LEVEL_MORE, {"static_cpus": True}, CPU),
        ("Guaranteed by those that this kubelet ignores", BY_LEVEL, BY_LEVEL_MORE,
         {"static_cpus": True, "pod_level_resources": False}, ""),
        ("up to 1.31 it is not checked", TWO, FOUR, {"static_cpus": True, "minor": 31}, ""),
        ("1.33 rejects any change", TWO, LARGER, {"static_cpus": True, "minor": 33},
         "Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy"),
    ],
)  # fmt: skip
def test_what_static_managers_cannot_follow(
    name: str, old: StoredPod, new: StoredPod, rules: Mapping[str, Any], want: str
) -> None:
    del name
    assert objection(old, new, **rules) == want


@pytest.mark.parametrize(("init_containers", "want"), [(True, CPU), (False, "")])
def test_an_init_container_that_is_not_resized_is_not_an_obstacle(
    *, init_containers: bool, want: str
) -> None:
    two, four = ("cpu=2 memory=1Gi",) * 2, ("cpu=4 memory=1Gi",) * 2
    old, new = (verbatim(init(*size), sidecar(*two), guaranteed("2")) for size in (two, four))
    assert objection(old, new, static_cpus=True, init_containers=init_containers) == want


def test_changed_pod_level_resources_need_a_gate() -> None:
    other = BY_LEVEL._replace(resources=resources(*["cpu=5 memory=4Gi"] * 2))
    reported = "InPlacePodLevelResourcesVerticalScaling is disabled"
    assert objection(BY_LEVEL, other, pod_level=False) == reported
    assert objection(BY_LEVEL, other) == ""
    assert objection(BY_LEVEL, BY_LEVEL_MORE, pod_level=False) == ""


def missing(text: str) -> str:
    return f"Node didn't have enough capacity: {text}"


@pytest.mark.parametrize(
    ("name", "new", "capacity", "rules", "want"),
    [
        ("all of it", FOUR, {"cpu": 4000, "memory": 1 << 30}, {}, ""),
        ("one too many", FOUR, {"cpu": 3999, "memory": 1 << 30}, {},
         missing("cpu, requested: 4000, capacity: 3999")),
        ("memory comes first", FOUR, {"cpu": 3999, "memory": (1 << 30) - 1}, {},
         missing("memory, requested: 1073741824, capacity: 1073741823")),
        ("the amount of memory is unknown", FOUR, {"cpu": 3999}, {},
         missing("cpu, requested: 4000, capacity: 3999")),
        ("the number of CPUs is unknown", FOUR, {"memory": 1}, {},
         missing("memory, requested: 1073741824, capacity: 1")),
        ("nothing is known", FOUR, None, {}, ""),
        ("1.36 does not compare", FOUR, {"cpu": 1}, {"minor": 36}, ""),
        ("nothing is requested", verbatim(app(name="c")), {"cpu": 0, "memory": 0}, {}, ""),
        ("pod-level resources", BY_LEVEL, {"cpu": 3000}, {}, missing("cpu, requested: 4000, capacity: 3000")),
        ("what containers request", BY_LEVEL, {"cpu": 3000}, {"pod_level_resources": False}, ""),
    ],
)  # fmt: skip
def test_more_than_the_whole_node_has(
    name: str, new: StoredPod, capacity: Mapping[str, int] | None, rules: Mapping[str, Any], want: str
) -> None:
    del name
    assert objection(TWO, new, capacity, **{"minor": 35, **rules}) == want


def test_the_first_obstacle_is_reported() -> None:
    reported = KubeletResize(
        request(TWO, c="cpu=4"), ResizeRules(minor=35, in_place=False), {"cpu": 1}
    ).objection()
    assert reported == "InPlacePodVerticalScaling is disabled"
