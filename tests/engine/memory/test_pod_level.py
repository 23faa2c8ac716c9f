"""A pod's memory as a whole: what is requested, charged, and assigned to its containers (KEP-5526)."""

from __future__ import annotations

import pytest

from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.pod_level import allocate_bubble, pod_level_request
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import MemoryRequest, container_request
from cpuctl.engine.outcome import Rejected
from cpuctl.engine.pod_level import guaranteed_equivalent
from cpuctl.pods.model import Container, StoredPod
from cpuctl.pods.rules import ServerRules
from tests.support.memory import HUGE, fresh_state, memory_machine
from tests.support.pods import app, init, manifest, pod, resources, sidecar, stored

GI, MI = 1 << 30, 1 << 20
NEAR_ONE = Hint(NodeMask(0b10), preferred=True)


@pytest.mark.parametrize(
    ("own", "requested"),
    [
        ("cpu=2 memory=1Gi", {"memory": GI}),
        (f"cpu=2 memory=1Gi {HUGE}=4Mi", {"memory": GI, HUGE: 4 * MI}),
        (f"memory=0 {HUGE}=2Mi", {HUGE: 2 * MI}),
        ("memory=1", {"memory": 1}),
        ("cpu=2", {}),
        ("memory=1.5Gi", None),
        (f"memory=1Gi {HUGE}=2.5Mi", None),
        (None, {}),
    ],
)
def test_what_a_pod_requests_as_a_whole(own: str | None, requested: dict[str, int] | None) -> None:
    """Only static pods can have amounts that are not whole numbers."""
    given = pod(app(), pod_level=None if own is None else resources(own, own), static=True)
    assert pod_level_request(given) == requested


def claims(container: Container) -> MemoryRequest:
    return (container_request(container) or {}) if guaranteed_equivalent(container) else {}


def two_nodes() -> MemoryManagerState:
    return fresh_state(memory_machine([10 * GI, 10 * GI], [512, 512]))


def given(
    state: MemoryManagerState, reported: StoredPod, hint: Hint = NEAR_ONE
) -> dict[str, list[tuple[str, int]]]:
    """Return each container's resources in MiB, and check that they are on the nodes of the hint."""
    total = pod_level_request(reported)
    assert total is not None
    parts = allocate_bubble(state, reported, claims, total, hint)
    assert isinstance(parts, dict), parts
    nodes = {block.numa_affinity for blocks in (*parts.values(), state.pod_blocks[""]) for block in blocks}
    assert nodes == {tuple(node for node in (0, 1) if (hint.nodes or 0) >> node & 1)}
    assert state.blocks == {"": parts}
    return {name: [(block.type, block.size // MI) for block in blocks] for name, blocks in parts.items()}


def exact(text: str, name: str) -> tuple[str, str, str]:
    return text, text, name


WHOLE = resources(f"cpu=8 memory=8Gi {HUGE}=16Mi", f"cpu=8 memory=8Gi {HUGE}=16Mi")


def test_shared_containers_get_what_sidecars_and_apps_leave() -> None:
    """Ordinary init containers get what is left when they run; this takes nothing from other containers."""
    reported = pod(
        init(name="all"),
        sidecar(*exact("cpu=1 memory=1Gi", "first")),
        init(name="less"),
        init(*exact(f"cpu=1 memory=2Gi {HUGE}=2Mi", "own")),
        sidecar(*exact(f"cpu=1 memory=1Gi {HUGE}=4Mi", "second")),
        sidecar(name="shares"),
        app(*exact(f"cpu=1 memory=3Gi {HUGE}=8Mi", "a")),
        app(name="b"),
        pod_level=WHOLE,
    )
    state = two_nodes()
    left = [(HUGE, 4), ("memory", 3072)]
    assert given(state, reported) == {
        "all": [(HUGE, 16), ("memory", 8192)],
        "first": [("memory", 1024)],
        "less": [(HUGE, 16), ("memory", 7168)],
        "own": [(HUGE, 2), ("memory", 2048)],
        "second": [(HUGE, 4), ("memory", 1024)],
        "shares": left,
        "a": [(HUGE, 8), ("memory", 3072)],
        "b": left,
    }
    assert [(block.type, block.size // MI) for block in state.pod_blocks[""]] == [
        (HUGE, 16),
        ("memory", 8192),
    ]


def test_the_tables_are_charged_with_the_whole() -> None:
    state = two_nodes()
    given(state, pod(app(*exact("cpu=1 memory=1Gi", "a")), app(name="b"), pod_level=WHOLE))
    reserved = {
        node: {name: table.reserved // MI for name, table in found.memory_map.items()}
        for node, found in state.tables.items()
    }
    assert reserved == {0: {"memory": 0, HUGE: 0}, 1: {"memory": 8192, HUGE: 16}}
    assert [found.number_of_assignments for found in state.tables.values()] == [0, 2]


def test_a_pod_may_span_nodes() -> None:
    whole = resources("cpu=8 memory=15Gi", "cpu=8 memory=15Gi")
    reported = pod(app(*exact("cpu=1 memory=1Gi", "a")), app(name="b"), pod_level=whole)
    assert given(two_nodes(), reported, Hint(NodeMask(0b11), preferred=True)) == {
        "a": [("memory", 1024)],
        "b": [("memory", 14 * 1024)],
    }


def test_resources_outside_the_total_wrap_around_for_shared_containers() -> None:
    """Only the requests of app containers are subtracted, not those of sidecars."""
    whole = resources("cpu=8 memory=8Gi", "cpu=8 memory=8Gi")
    written = manifest(
        init(name="early"),
        sidecar(*exact(f"cpu=1 memory=1Gi {HUGE}=2Mi", "kept")),
        app(*exact(f"cpu=1 memory=1Gi {HUGE}=4Mi", "a")),
        app(*exact(f"cpu=1 memory=1Gi {HUGE}=0", "none")),
        app(name="b"),
        pod_level=whole,
    )
    reported = stored(written, ServerRules(minor=33))  # later ones add huge pages up
    assert given(two_nodes(), reported) == {
        "early": [("memory", 8192)],
        "kept": [(HUGE, 2), ("memory", 1024)],
        "a": [(HUGE, 4), ("memory", 1024)],
        "none": [("memory", 1024)],
        "b": [(HUGE, (1 << 64) // MI - 4), ("memory", 5 * 1024)],
    }


def test_exhausted_resources_are_not_listed() -> None:
    """Without a shared container, all of the budget may be assigned."""
    whole = resources(f"cpu=2 memory=1Gi {HUGE}=2Mi", f"cpu=2 memory=1Gi {HUGE}=2Mi")
    reported = pod(app(*exact(f"cpu=1 memory=1Gi {HUGE}=0", "a")), pod_level=whole)
    assert given(two_nodes(), reported) == {"a": [("memory", 1024)]}


@pytest.mark.parametrize(
    ("requested", "reason", "message"),
    [
        (
            "cpu=1 memory=8Gi",
            "EmptyPodSharedPoolError",
            (
                "pod rejected, sum of exclusive container memory requests equals pod budget, "
                "leaving no memory for shared containers"
            ),
        ),
        (
            "cpu=1 memory=1Gi",
            "UnexpectedAdmissionError",
            (
                "Allocate failed due to [memorymanager] failed to find NUMA nodes to extend the current "
                "topology hint, which is unexpected"
            ),
        ),
    ],
)
def test_a_rejected_pod_takes_nothing(requested: str, reason: str, message: str) -> None:
    state, reported = two_nodes(), pod(app(*exact(requested, "a")), app(name="b"), pod_level=WHOLE)
    given(state, pod(app(name="early"), pod_level=WHOLE))
    before = state.copy()
    total = pod_level_request(reported)
    assert total is not None
    rejection = allocate_bubble(state, reported, claims, total, NEAR_ONE)
    assert isinstance(rejection, Rejected)
    assert (rejection.reason, rejection.message, rejection.container) == (reason, message, "")
    assert state == before
