"""Which moves between sizes KEP-5554 forbids, and the message of every rejection of a resize."""

from __future__ import annotations

import pytest

from cpuctl.engine.cpu.resizing.request import (
    ResizeReason,
    ResizeRequest,
    cannot_allocate,
    divided_pod,
    infeasible,
    not_a_subset,
    status_while_waiting,
)
from cpuctl.engine.outcome import Rejected
from cpuctl.pods.model import Container
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.pods import amounts, app, init, sidecar
from tests.support.resizing import Setting, admitted, guaranteed, pod_of
from tests.support.topologies import mask

PROHIBITED = (
    "prohibitedCPUAllocation Error: Skip resize, Not allowed to reduce container exclusively allocated pool "
    "below promised, (requested CPUs = {}, allocated CPUs = {}, promised CPUs = {}, guaranteed CPUs = {})"
)
TO_SHARED = (
    "inconsistentCPUAllocation Error: Not allowed to move a container from exclusively allocated pool to "
    "shared pool, not allowed (requested CPUs = {}, allocated CPUs = {})"
)
TO_EXCLUSIVE = (
    "inconsistentCPUAllocation Error: Not allowed to move a container from shared pool to exclusively "
    "allocated pool, (requested CPUs = {}, allocated CPUs = {})"
)
SAME = (
    "inconsistentCPUAllocation Error: Skip resize, nothing to be done, "
    "(requested CPUs = {} equal to allocated CPUs = {})"
)
NO_BASELINE = (
    "getOriginalCPUSet Error: Skip resize, unable to get PromisedCPUSet, nothing to be done, "
    "(podUID = p, containerName c)"
)


def request_for(allocated: str, requested: str) -> ResizeRequest:
    """Request a size when the status has another; a dash means no value."""
    wanted = app("" if requested == "-" else f"cpu={requested}", name="c")
    status = None if allocated == "-" else Quantity.parse(allocated)
    return ResizeRequest.of(pod_of(wanted), pod_of(app(name="c")), {"c": status})


MOVES = {
    ("2", "3", "0-1"): None,
    ("2", "2", "0-1"): None,
    ("4", "2", "0-1"): None,
    ("2000m", "1", "0-1"): Rejected(
        reason="prohibitedCPUAllocationError",
        message=PROHIBITED.format("1", "2", "2", "1"),
        container="c",
        details={"requested": 1, "guaranteed": 2},
    ),
    ("2", "2500m", "0-1"): Rejected(
        reason="inconsistentCPUAllocationError", message=TO_SHARED.format("2500m", "2"), container="c"
    ),
    ("2", "3", None): Rejected(reason="getOriginalCPUSetError", message=NO_BASELINE, container="c"),
    ("1500m", "2", None): Rejected(
        reason="inconsistentCPUAllocationError", message=TO_EXCLUSIVE.format("2", "1500m"), container="c"
    ),
    ("1500m", "1700m", None): None,
    ("0", "2", None): Rejected(
        reason="inconsistentCPUAllocationError", message=TO_EXCLUSIVE.format("2", "0"), container="c"
    ),
    ("-", "2", None): Rejected(
        reason="inconsistentCPUAllocationError", message=TO_EXCLUSIVE.format("2", "0"), container="c"
    ),
    ("-", "-", None): Rejected(
        reason="inconsistentCPUAllocationError", message=SAME.format("0", "0"), container="c"
    ),
    ("-1", "2", None): Rejected(
        reason="inconsistentCPUAllocationError", message=TO_EXCLUSIVE.format("2", "-1"), container="c"
    ),
}
"""The CPUs in the status, the CPUs requested, and the CPUs promised; and the rejection."""


@pytest.mark.parametrize("move", MOVES)
def test_which_moves_are_forbidden(move: tuple[str, str, str | None]) -> None:
    allocated, requested, guaranteed = move
    request = request_for(allocated, requested)
    baseline = None if guaranteed is None else mask(guaranteed)
    assert infeasible(request, request.pod.containers[0], baseline) == MOVES[move]


def test_a_container_without_a_status_may_move() -> None:
    """This is the case of init containers and sidecars in the reference implementation."""
    request = replace(request_for("2", "500m"), allocated={})
    assert infeasible(request, request.pod.containers[0], None) is None
    request = replace(request, allocated={"c": None})
    assert request.allocated_cpus(request.pod.containers[0]) == 0


def test_an_allocator_that_finds_no_cpus_gives_the_reason() -> None:
    why = not_a_subset("reusable CPUs", mask("0-3"), "available CPUs", mask("0,9"))
    assert why == "reusable CPUs 0-3 are not a subset of available CPUs 0,9"
    assert cannot_allocate("p", "c", why) == Rejected(
        reason=ResizeReason.ALLOCATION,
        message=(
            "ResizeAllocateCPUs Error: Skip resize, unable to resize container exclusively allocated pool, "
            f"(podUID = p, containerName = c, topologyError = {why})"
        ),
        container="c",
    )


def test_a_pod_that_holds_cpus_as_a_whole_cannot_be_resized() -> None:
    assert divided_pod() == Rejected(
        reason="UnsupportedLifecycleOperationError",
        message="Unsupported Lifecycle Operation Error: resize is neither AddOperation nor ResizeOperation",
    )


def test_reasons_have_the_names_of_the_kep() -> None:
    assert sorted(ResizeReason) == [
        "ResizeAllocateCPUsError",
        "UnsupportedLifecycleOperationError",
        "getOriginalCPUSetError",
        "inconsistentCPUAllocationError",
        "prohibitedCPUAllocationError",
    ]


KINDS: tuple[Container, ...] = (
    init("cpu=3", name="i"),
    sidecar("cpu=1500m", name="s"),
    app("cpu=2", name="a"),
    app(name="b"),
)


def test_a_status_reports_what_app_containers_run_with() -> None:
    running = pod_of(*KINDS)
    request = ResizeRequest.of(pod_of(app("cpu=4", name="a")), running)
    assert request.allocated == {"a": Quantity.parse("2"), "b": None}
    assert [request.allocated_cpus(each) for each in running.all_containers] == [0, 0, 2, 0]
    assert ResizeRequest.of(running, running, {}).allocated == {}
    complete = request.with_all_allocated()
    assert complete.allocated == {**amounts("i=3 s=1500m a=2"), "b": None}
    assert [complete.allocated_cpus(each) for each in running.all_containers] == [3, 2, 2, 0]
    assert replace(complete, allocated=request.allocated) == request


def test_during_a_delay_the_status_reports_what_a_container_still_has() -> None:
    node = Setting().node()
    running = admitted(node, pod_of(guaranteed("4", "a"), guaranteed("2", "b")))
    assert status_while_waiting(running, node.state) is None
    node.state.postpone("p", "a", node.state.assignments["p"]["a"] & mask("0-1"))
    smaller = pod_of(guaranteed("2", "a"), guaranteed("2", "b"))
    assert status_while_waiting(smaller, node.state) == amounts("a=4 b=2")
