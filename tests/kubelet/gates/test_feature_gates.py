from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.kubelet.gates.feature_gates import FeatureGates, GateStage
from cpuctl.kubelet.gates.manager_gates import DEPENDENCIES, MANAGER_GATES
from cpuctl.kubelet.gates.other_gates import OTHER_DEPENDENCIES, OTHER_GATES
from cpuctl.kubelet.version import NEWEST, OLDEST, RELEASES

MINORS = range(OLDEST, NEWEST + 1)
LINES = [line.split() for line in (MANAGER_GATES + OTHER_GATES).splitlines() if line]


@dataclass(frozen=True)
class Cell:
    """A gate in a release: whether it is on, locked and verified; None where it does not exist."""

    gate: str
    minor: int
    want: GateStage | None


CELLS = [
    Cell("CPUManager", 27, GateStage("g", default=True, locked=True, verified=True)),
    Cell("CPUManager", 32, GateStage("g", default=True, locked=True, verified=True)),
    Cell("CPUManager", 33, None),
    Cell("CPUManager", 36, None),
    Cell("CPUManagerPolicyAlphaOptions", 36, GateStage("a", default=False, locked=False, verified=True)),
    Cell("CPUManagerPolicyOptions", 32, GateStage("b", default=True, locked=False, verified=True)),
    Cell("CPUManagerPolicyOptions", 33, GateStage("g", default=True, locked=True, verified=True)),
    Cell("CPUManagerPolicyOptions", 37, GateStage("g", default=True, locked=True, verified=False)),
    Cell("DisableCPUQuotaWithExclusiveCPUs", 36, GateStage("d", default=True, locked=False, verified=True)),
    Cell("PodLevelResources", 31, None),
    Cell("PodLevelResources", 33, GateStage("a", default=False, locked=False, verified=True)),
    Cell("PodLevelResources", 34, GateStage("b", default=True, locked=False, verified=True)),
    Cell("PodLevelResourceManagers", 37, GateStage("b", default=False, locked=False, verified=True)),
    Cell("PodLevelResourceManagers", 38, GateStage("b", default=False, locked=False, verified=False)),
    Cell("KubeletTracing", 33, GateStage("b", default=True, locked=False, verified=True)),
    Cell("KubeletTracing", 37, GateStage("g", default=True, locked=True, verified=False)),
]


@pytest.mark.parametrize("case", CELLS, ids=lambda case: f"{case.gate} 1.{case.minor}")
def test_stages(case: Cell) -> None:
    assert FeatureGates.for_minor(case.minor).stage(case.gate) == case.want


def test_every_line_of_the_table_is_in_order() -> None:
    names = [words[0] for words in LINES]
    assert len(names) == len(set(names))
    for words in LINES:
        since = [int(token.rstrip("abgdABGD-!?")) for token in words[1:]]
        assert since == sorted(set(since)), words[0]
        assert since, words[0]


def test_dependencies_name_gates_of_the_table() -> None:
    known = {words[0] for words in LINES}
    for name, needed in {**DEPENDENCIES, **OTHER_DEPENDENCIES}.items():
        assert {name, *needed} <= known


@pytest.mark.parametrize("minor", MINORS)
def test_defaults_of_every_release_are_consistent(minor: int) -> None:
    assert FeatureGates.for_minor(minor).with_overrides({}) == FeatureGates(minor)


@dataclass(frozen=True)
class Refusal:
    """Settings that a kubelet rejects, and its words."""

    settings: dict[str, bool]
    want: str
    minor: int = 36


NEEDS_LEVEL = "is enabled, but depends on features that are disabled: [PodLevelResources]"
REFUSALS = [
    Refusal({"NoSuchGate": True}, "unrecognized feature gate: NoSuchGate"),
    Refusal({"PodLevelResources": True}, "unrecognized feature gate: PodLevelResources", minor=31),
    Refusal({"TopologyManager": True}, "unrecognized feature gate: TopologyManager"),
    Refusal({"podLevelResources": True}, "unrecognized feature gate: podLevelResources"),
    Refusal(
        {"CPUManagerPolicyOptions": False},
        "cannot set feature gate CPUManagerPolicyOptions to false, feature is locked to true",
    ),
    Refusal(
        {"GitRepoVolumeDriver": True},
        "cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false",
    ),
    Refusal({"PodLevelResources": False}, f"InPlacePodLevelResourcesVerticalScaling {NEEDS_LEVEL}"),
    Refusal(
        {"PodLevelResources": False, "PodLevelResourceManagers": True},
        f"[InPlacePodLevelResourcesVerticalScaling {NEEDS_LEVEL}, PodLevelResourceManagers {NEEDS_LEVEL}]",
    ),
    Refusal(
        {"InPlacePodLevelResourcesVerticalScaling": False, "PodLevelResources": False},
        f"[PodLevelResourcesFixDefaulting {NEEDS_LEVEL}, PodLevelResourcesFixKubeletQOSClass {NEEDS_LEVEL}]",
        minor=37,
    ),
    Refusal(
        {
            "InPlacePodLevelResourcesVerticalScaling": True,
            "NodeDeclaredFeatures": False,
            "PodLevelResources": False,
        },
        "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled:"
        " [PodLevelResources NodeDeclaredFeatures]",
        minor=35,
    ),
    Refusal(
        {"CPUManagerPolicyOptions": False, "NoSuchGate": True, "TopologyManagerPolicyOptions": False},
        "[cannot set feature gate CPUManagerPolicyOptions to false, feature is locked to true,"
        " unrecognized feature gate: NoSuchGate]",
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: f"{case.settings} 1.{case.minor}")
def test_errors_are_in_the_kubelets_words(case: Refusal) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        FeatureGates.for_minor(case.minor).with_overrides(case.settings)
    assert str(caught.value) == case.want


def test_settings_win_over_defaults_and_later_ones_over_earlier() -> None:
    gates = FeatureGates.for_minor(36).with_overrides({"PodLevelResourceManagers": True, "MemoryQoS": True})
    gates = gates.with_overrides({"MemoryQoS": False})
    assert gates.enabled("PodLevelResourceManagers")
    assert not gates.enabled("MemoryQoS")


def test_all_alpha_moves_the_alpha_gates_that_are_not_set() -> None:
    gates = FeatureGates.for_minor(36).with_overrides({"AllAlpha": True, "MemoryQoS": False})
    assert gates.enabled("AllAlpha")
    assert gates.enabled("CPUManagerPolicyAlphaOptions")
    assert not gates.enabled("MemoryQoS")


def test_all_beta_moves_the_beta_gates_that_are_not_set() -> None:
    gates = FeatureGates.for_minor(36).with_overrides({"AllBeta": False, "KubeletSeparateDiskGC": True})
    assert not gates.enabled("CPUManagerPolicyBetaOptions")
    assert gates.enabled("KubeletSeparateDiskGC")
    assert gates.enabled("CPUManagerPolicyOptions"), "locked gates are neither alpha nor beta"


def test_a_feature_outlives_its_gate() -> None:
    """What a release has made unconditional is on; features that are unknown or were dropped are off."""
    gates = FeatureGates.for_minor(36)
    assert gates.enabled("CPUManager")
    assert not gates.enabled("PodLevelResourcesFixDefaulting")
    assert not gates.enabled("MultiCIDRRangeAllocator")
    assert not gates.enabled("NoSuchGate")
    assert not gates.enabled("AllAlpha")


def test_unverified_stages_are_marked() -> None:
    assert FeatureGates.for_minor(36).verified("MemoryQoS")
    assert not FeatureGates.for_minor(37).verified("MemoryQoS")
    assert not FeatureGates.for_minor(36).verified("NoSuchGate")


def test_known_gates_are_those_of_the_release() -> None:
    known = FeatureGates.for_minor(36).known()
    assert {"MemoryQoS", "KubeletTracing"} <= set(known)
    assert not {"CPUManager", "DownwardAPIAssignedResources", "AllAlpha"} & set(known)


@pytest.mark.parametrize(
    ("gate", "want"),
    [
        ("CPUManager", "1.27 to 1.32"),
        ("MemoryQoS", RELEASES),
        ("PodLevelResourceManagers", f"1.36 to 1.{NEWEST}"),
        ("NoSuchGate", ""),
    ],
)
def test_releases_that_have_a_gate(gate: str, want: str) -> None:
    assert FeatureGates.for_minor(36).releases_with(gate) == want


def test_a_single_gate_can_be_checked() -> None:
    gates = FeatureGates(36, {"NodeSwap": False, "MemoryQoS": True, "CPUManager": True, "AllAlpha": True})
    assert {name: gates.refusal(name) for name in (*gates.settings, "QOSReserved")} == {
        "NodeSwap": "cannot set feature gate NodeSwap to false, feature is locked to true",
        "MemoryQoS": "",
        "CPUManager": "unrecognized feature gate: CPUManager",
        "AllAlpha": "",
        "QOSReserved": "",
    }
