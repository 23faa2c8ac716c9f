"""Which rules an API server applies, and how it handles resizes in edge cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cpuctl.engine.pod_server import PodServer
from cpuctl.engine.resize.rules import IN_PLACE, INIT_CONTAINERS, POD_LEVEL
from cpuctl.engine.resize.running import PodResize, RunningPod
from cpuctl.engine.resize.server_side import ResizeServer
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.limit_ranges import LimitRange, LimitRangeItem
from cpuctl.pods.model import QosClass, StoredPod
from cpuctl.pods.rules import ServerRules
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.pods import app, init, resources, sidecar
from tests.support.resizing import guaranteed, verbatim, with_policies

OFF = "InPlacePodVerticalScaling is off"
MUTABLE = "only cpu and memory resources are mutable"
ABOVE = "must be less than or equal to"
TWO = verbatim(guaranteed("2"))
SHARES = verbatim(app("cpu=1 memory=1Gi", "cpu=2 memory=2Gi", "c"))


def server(minor: int = 36, gates: Mapping[str, bool] | None = None, **more: Any) -> ResizeServer:
    known = {"node_resizes": True, "allocatable": None, **more}
    return ResizeServer.of(FeatureGates(minor, gates or {}), **known)


def stated(old: StoredPod, new: StoredPod, **rules: Any) -> tuple[str, ...]:
    return ResizeServer(**rules).refusals(PodResize(RunningPod.settled(old), new))


def sized(given: StoredPod, requests: str, limits: str) -> StoredPod:
    """Give the only app container other resources; its resize policy stays the same."""
    (container,) = given.containers
    return given._replace(containers=(replace(container, resources=resources(requests, limits)),))


def whole(given: StoredPod, requests: str, limits: str) -> StoredPod:
    return given._replace(resources=resources(requests, limits))


@pytest.mark.parametrize(
    ("gates", "more", "changes"),
    [
        ({}, {}, {}),
        ({IN_PLACE: False}, {}, {"in_place": False}),
        ({POD_LEVEL: False}, {}, {"pod_level": False}),
        ({"PodLevelResources": False}, {}, {"pod_level_resources": False}),
        ({INIT_CONTAINERS: False}, {}, {"init_containers": False}),
        ({}, {"node_resizes": False}, {"node_resizes": False}),
        ({}, {"allocatable": {"cpu": 1}}, {"allocatable": {"cpu": 1}}),
    ],
)
def test_every_gate_changes_its_own_rule(
    gates: Mapping[str, bool], more: Mapping[str, Any], changes: Mapping[str, Any]
) -> None:
    """Default rules are those of 1.36 with default gates."""
    assert server(36, gates, **more) == replace(ResizeServer(), **changes)


@pytest.mark.parametrize(
    ("minor", "words"),
    [
        (31, f"the API server does not allow changing resources of pods: {OFF}"),
        (32, f"the API server does not serve pods/resize: {OFF}"),
    ],
)
def test_an_api_server_with_resizes_off(minor: int, words: str) -> None:
    """The subresource exists since 1.32."""
    assert stated(TWO, TWO, minor=minor, in_place=False) == (words,)


NO_LIMIT = "limits: Required value: Limit must be set for non overcommitable resources"
NO_NODE = "spec: Forbidden: Pod running on node without support for resize"


@pytest.mark.parametrize(("minor", "words"), [(31, ()), (32, (NO_NODE,)), (36, (NO_NODE,))])
def test_a_node_that_does_not_resize(minor: int, words: tuple[str, ...]) -> None:
    more = sized(TWO, "cpu=3 memory=1Gi", "cpu=3 memory=1Gi")
    assert stated(TWO, more, minor=minor, node_resizes=False) == words


BY_LEVEL = whole(SHARES, "cpu=4 memory=4Gi", "cpu=4 memory=4Gi")
MORE_BY_LEVEL = whole(SHARES, "cpu=5 memory=4Gi", "cpu=5 memory=4Gi")
LEVEL_GATE = (
    "[]: Forbidden: resize of pods with pod-level resources is forbidden when "
    "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
)


@pytest.mark.parametrize(
    ("name", "old", "new", "rules", "words"),
    [
        ("1.34", BY_LEVEL, MORE_BY_LEVEL, {"minor": 34},
         ("[]: Forbidden: pods with pod-level resources cannot be resized",)),
        ("1.35", BY_LEVEL, MORE_BY_LEVEL, {"minor": 35}, (LEVEL_GATE,)),
        ("it gets them only now", SHARES, whole(SHARES, "cpu=4", ""), {}, (LEVEL_GATE,)),
        ("it loses them", BY_LEVEL, SHARES, {}, (LEVEL_GATE,)),
        ("it has none", SHARES, sized(SHARES, "cpu=1 memory=1Gi", "cpu=2 memory=3Gi"), {}, ()),
        ("they are names only", whole(SHARES, "", ""), whole(SHARES, "", ""), {}, ()),
        ("they are unknown", BY_LEVEL, MORE_BY_LEVEL, {"pod_level_resources": False}, ()),
    ],
)  # fmt: skip
def test_pod_level_resources_that_cannot_be_resized(
    name: str, old: StoredPod, new: StoredPod, rules: Mapping[str, Any], words: tuple[str, ...]
) -> None:
    del name
    assert stated(old, new, pod_level=False, **rules) == words


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("they are new", SHARES, whole(SHARES, "cpu=4", ""), ()),
        ("new ones of another kind", SHARES, whole(SHARES, "cpu=4 hugepages-2Mi=2Mi", ""),
         (f"spec.resources.{NO_LIMIT}", f"spec: Forbidden: {MUTABLE} at pod-level")),
        ("a request above its limit", SHARES, whole(SHARES, "memory=5Gi", "memory=4Gi"),
         (f'spec.resources.requests: Invalid value: "5Gi": {ABOVE} memory limit of 4Gi',)),
        ("only a limit is removed", BY_LEVEL, whole(SHARES, "cpu=4 memory=4Gi", "cpu=4"),
         ('spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
          "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed")),
    ],
)  # fmt: skip
def test_changed_pod_level_resources(
    name: str, old: StoredPod, new: StoredPod, words: tuple[str, ...]
) -> None:
    del name
    assert stated(old, new) == words


def test_a_qos_class_from_pod_level_resources_is_unknown_to_older_servers() -> None:
    less = whole(SHARES, "cpu=3 memory=4Gi", "cpu=4 memory=4Gi")
    other = 'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing'
    assert stated(BY_LEVEL, less) == (other,)
    assert stated(BY_LEVEL, less, pod_level_resources=False) == ()


def test_containers_are_compared_kind_by_kind() -> None:
    """If the number of a kind changes, names are not compared."""
    old = verbatim(init(name="i"), sidecar(name="s"), app(name="a"))
    new = verbatim(sidecar(name="s"), init(name="i"), app(name="b"), app(name="a"))
    forbidden = "Forbidden: initContainers may not be renamed or reordered on resize"
    assert stated(old, new) == (
        "spec.containers: Forbidden: containers may not be added or removed on resize",
        f"spec.initContainers[0].name: {forbidden}",
        f"spec.initContainers[1].name: {forbidden}",
    )


def test_every_container_is_validated() -> None:
    """Unchanged ones too: the whole spec is validated first, then the change."""
    odd, pages = ("cpu=3", "cpu=2"), ("cpu=3 hugepages-2Mi=2Mi", "cpu=3")
    names = ("a", "b", "c")
    old = verbatim(
        *(app(*size, name) for size, name in zip((odd, odd, ("cpu=3", "cpu=3")), names, strict=True))
    )
    new = verbatim(
        *(app(*size, name) for size, name in zip((odd, ("cpu=4", "cpu=2"), pages), names, strict=True))
    )
    assert stated(old, new) == (
        f'spec.containers[0].resources.requests: Invalid value: "3": {ABOVE} cpu limit of 2',
        f'spec.containers[1].resources.requests: Invalid value: "4": {ABOVE} cpu limit of 2',
        f"spec.containers[2].resources.{NO_LIMIT}",
        f"spec: Forbidden: {MUTABLE}",
    )


def test_requests_must_not_be_removed_either() -> None:
    words = "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"
    assert stated(SHARES, sized(SHARES, "cpu=1", "cpu=2 memory=2Gi")) == (words,)


def test_other_changes_of_a_container_that_cannot_be_resized_are_not_reported() -> None:
    old = verbatim(init("cpu=1 memory=1Gi", "cpu=2", "i"), app(name="a"))
    new = verbatim(init("cpu=3 hugepages-2Mi=2Mi", "cpu=2", "i"), app(name="a"))
    why = "resources for non-sidecar init containers are immutable"
    assert stated(old, new, init_containers=False) == (
        f'spec.initContainers[0].resources.requests: Invalid value: "3": {ABOVE} cpu limit of 2',
        f"spec.initContainers[0].resources.{NO_LIMIT}",
        f"spec.initContainers[0]: Forbidden: {why}",
    )


def test_the_qos_class_is_computed_again_even_if_the_status_has_one() -> None:
    status = TWO._replace(qos_class=QosClass.GUARANTEED)
    other = 'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing'
    assert stated(status, sized(status, "cpu=1 memory=1Gi", "cpu=2 memory=1Gi")) == (other,)


def test_sidecars_do_not_need_the_gate_of_init_containers() -> None:
    old, new = (verbatim(sidecar(f"cpu={n}", "cpu=4", "s"), app(name="a")) for n in (1, 2))
    assert stated(old, new, init_containers=False) == ()


@pytest.mark.parametrize(
    ("name", "old", "new", "refused"),
    [
        ("less", "memory=2Gi", "memory=2147483647", True),
        ("the same", "memory=2Gi", "memory=2048Mi cpu=2", False),
        ("more", "memory=2Gi", "memory=3Gi", False),
        ("one for the first time", "", "memory=2Gi", False),
    ],
)
@pytest.mark.parametrize("restarts", [frozenset(), frozenset({"cpu"}), frozenset({"memory"})])
def test_a_lower_memory_limit_needs_a_restart_in_1_33(
    name: str, old: str, new: str, restarts: frozenset[str], *, refused: bool
) -> None:
    del name
    before = with_policies(sized(SHARES, "memory=1Gi", old), {"c": restarts})
    found = stated(before, sized(before, "memory=1Gi", new), minor=33)
    why = "memory limits cannot be decreased unless resizePolicy is RestartContainer"
    words = (f"spec.containers[0].resources.limits[memory]: Forbidden: {why}",)
    assert found == (words if refused and "memory" not in restarts else ())


def missing(text: str) -> tuple[str, ...]:
    return (f"Node didn't have enough allocatable resources: {text}",)


ONLY_CPU = sized(SHARES, "cpu=1 memory=1Gi", "cpu=3 memory=2Gi")


@pytest.mark.parametrize(
    ("name", "old", "new", "allocatable", "rules", "words"),
    [
        ("all of it", SHARES, ONLY_CPU, {"cpu": 1000, "memory": 1 << 30}, {}, ()),
        ("one too many", SHARES, ONLY_CPU, {"cpu": 999, "memory": 1 << 30}, {},
         missing("cpu, requested: 1000, allocatable: 999")),
        ("only memory is known", SHARES, ONLY_CPU, {"memory": 1}, {},
         missing("memory, requested: 1073741824, allocatable: 1")),
        ("nothing is requested", verbatim(app("", "cpu=1", "c")), verbatim(app("", "cpu=2", "c")),
         {"cpu": 0, "memory": 0}, {}, ()),
        ("nothing is known", SHARES, ONLY_CPU, None, {}, ()),
        ("1.35", SHARES, ONLY_CPU, {"cpu": 1}, {"minor": 35}, ()),
        ("the pod as a whole", BY_LEVEL, MORE_BY_LEVEL, {"cpu": 4000}, {},
         missing("cpu, requested: 5000, allocatable: 4000")),
        ("what containers request", BY_LEVEL, MORE_BY_LEVEL, {"cpu": 4000},
         {"pod_level_resources": False}, ()),
        ("other findings come first", SHARES, sized(SHARES, "cpu=3 memory=1Gi", "cpu=2 memory=2Gi"),
         {"cpu": 1}, {},
         (f'spec.containers[0].resources.requests: Invalid value: "3": {ABOVE} cpu limit of 2',)),
    ],
)  # fmt: skip
def test_more_than_the_node_has_for_pods(
    name: str,
    old: StoredPod,
    new: StoredPod,
    allocatable: Mapping[str, int] | None,
    rules: Mapping[str, Any],
    words: tuple[str, ...],
) -> None:
    del name
    assert stated(old, new, allocatable=allocatable, **rules) == words


def test_containers_must_agree_with_pod_level_resources() -> None:
    """ValidatePodResize validates the spec like that of a new pod."""
    old = whole(SHARES, "cpu=2 memory=4Gi", "cpu=4 memory=4Gi")
    new = sized(old, "cpu=3", "cpu=3")
    words = 'spec.resources.requests[cpu]: Invalid value: "2": must be greater than or equal to aggregate'
    assert any(text.startswith(words) for text in stated(old, new))


@pytest.mark.parametrize(("minor", "refused"), [(31, False), (32, True), (36, True)])
def test_limit_ranges_apply_to_resizes_since_1_32(minor: int, *, refused: bool) -> None:
    most = LimitRange("most", items=(LimitRangeItem(type="Container", max={"cpu": Quantity.parse("2")}),))
    old, new = (verbatim(app(f"cpu={n}", "cpu=4", "a")) for n in (1, 3))
    words = 'pods "p" is forbidden: maximum cpu usage per Container is 2, but limit is 4'
    found = stated(old, new, minor=minor, namespaces=PodServer(ServerRules(), (most,)))
    assert (words in found) is refused
