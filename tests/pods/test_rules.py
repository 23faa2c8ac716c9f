from __future__ import annotations

import pytest

from cpuctl.pods.model import Pod
from cpuctl.pods.rules import NodeRules
from tests.support.pods import app, manifest, resources

GIVEN = manifest(app(), pod_level=resources("cpu=1", "hugepages-2Mi=2Mi"))
EMPTY = manifest(app(), pod_level=resources())

VIEWS = [
    ("as it is", NodeRules(), GIVEN, resources("cpu=1", "hugepages-2Mi=2Mi")),
    ("gate off", NodeRules(pod_level=False), GIVEN, None),
    ("before huge pages", NodeRules(minor=33), GIVEN, resources("cpu=1")),
    ("empty", NodeRules(), EMPTY, resources()),
    ("empty, which does not count", NodeRules(minor=37, empty_counts=False), EMPTY, None),
    ("not empty", NodeRules(minor=37, empty_counts=False), GIVEN, GIVEN.resources),
]


@pytest.mark.parametrize("case", VIEWS, ids=lambda case: case[0])
def test_the_kubelets_view_of_a_pod(case: tuple[str, NodeRules, Pod, object]) -> None:
    _, rules, given, want = case
    assert rules.view(given).resources == want


def test_a_pod_without_pod_level_resources_is_unchanged() -> None:
    given = manifest(app("cpu=1"))
    assert NodeRules(pod_level=False).view(given) is given


@pytest.mark.parametrize(
    ("rules", "given", "want"),
    [
        (NodeRules(pod_level=False), GIVEN, True),
        (NodeRules(), GIVEN, False),
        (NodeRules(pod_level=False), EMPTY, False),
        (NodeRules(minor=33, pod_level=False, rejects_pod_level=False), GIVEN, False),
    ],
)
def test_which_kubelet_rejects_pod_level_resources(rules: NodeRules, given: Pod, want: bool) -> None:
    assert rules.rejects_resources_of(given) is want
