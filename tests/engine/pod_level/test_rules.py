"""Which releases divide pods, and what they keep of one that comes back."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_level import NEVER_DIVIDED, PodLevelRules
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from tests.support.pods import app, pod, resources

DIVIDING = {"PodLevelResources": True, "PodLevelResourceManagers": True}


@pytest.mark.parametrize(
    ("minor", "gates", "rules"),
    [
        (36, {}, (False, False, False)),
        (36, DIVIDING, (True, False, False)),
        (36, DIVIDING | {"PodLevelResources": False}, (False, False, False)),
        (36, DIVIDING | {"PodLevelResourceManagers": False}, (False, False, False)),
        (37, DIVIDING, (True, False, False)),
        (38, DIVIDING, (True, True, True)),
    ],
)
def test_rules_of_a_release(minor: int, gates: dict[str, bool], rules: tuple[bool, bool, bool]) -> None:
    found = PodLevelRules.of(FeatureGates(minor, gates))
    assert (found.managers, found.restores_cpus, found.restores_memory) == rules


def test_only_pods_with_resources_of_their_own_are_divided() -> None:
    own, empty = pod(app(), pod_level=resources("cpu=1")), pod(app(), pod_level=resources())
    managing = PodLevelRules(managers=True)
    assert [managing.divides(each) for each in (own, empty, pod(app()))] == [True, False, False]
    assert not NEVER_DIVIDED.divides(own)
    assert (managing.restores_cpus, managing.restores_memory) == (False, False)
