from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cpuctl.kubelet.gates.feature_gates import BadGatesError, gates_at_start

BEFORE_FLAGS = "failed to set feature gates from initial flags-based config: "
PANIC = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
NEEDS_LEVEL = "is enabled, but depends on features that are disabled: [PodLevelResources]"
LEVEL_OFF = f"InPlacePodLevelResourcesVerticalScaling {NEEDS_LEVEL}"


def test_flags_win_gate_by_gate() -> None:
    gates = gates_at_start(
        36, [{}, {"MemoryQoS": True, "QOSReserved": True}], {"MemoryQoS": False, "AllAlpha": True}
    )
    assert [gates.enabled(name) for name in ("MemoryQoS", "QOSReserved", "CPUManagerPolicyAlphaOptions")] == [
        False,
        True,
        True,
    ]


def test_gates_that_a_drop_in_deletes_are_not_kept() -> None:
    """The gates of the main file are validated, but only those that are left after the drop-ins count."""
    assert not gates_at_start(36, [{"MemoryQoS": True}, {}], {}).enabled("MemoryQoS")


@dataclass(frozen=True)
class Case:
    """Gates in files and flags that fail the start; ``logged`` is what the kubelet puts before the error."""

    name: str
    want: str
    files: tuple[dict[str, bool], ...] = ()
    flags: dict[str, bool] = field(default_factory=dict)
    crash: bool = False
    logged: str = ""


CASES = [
    Case(
        "unknown in a flag",
        "unrecognized feature gate: Bogus",
        flags={"Bogus": True},
        logged=BEFORE_FLAGS,
    ),
    Case(
        "unknown in a file",
        f"{PANIC}unrecognized feature gate: Bogus",
        files=({}, {"Bogus": True}),
        crash=True,
    ),
    Case(
        "unknown in the main file, fixed by a drop-in",
        f"{PANIC}unrecognized feature gate: Bogus",
        files=({"Bogus": True}, {}),
        crash=True,
    ),
    Case(
        "locked in a file",
        f"{PANIC}cannot set feature gate NodeSwap to false, feature is locked to true",
        files=({}, {"NodeSwap": False}),
        crash=True,
    ),
    Case(
        "a dependency broken by a flag",
        LEVEL_OFF,
        files=({},),
        flags={"PodLevelResources": False},
        logged=BEFORE_FLAGS,
    ),
    Case(
        "a dependency broken by a file",
        f"{PANIC}{LEVEL_OFF}",
        files=({"PodLevelResources": False},),
        crash=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_gates(case: Case) -> None:
    with pytest.raises(BadGatesError) as caught:
        gates_at_start(36, case.files, case.flags)
    assert (str(caught.value), caught.value.crash) == (case.want, case.crash)
    assert caught.value.logged == f"{case.logged}{case.want}"


def test_gates_of_one_file_may_satisfy_each_other() -> None:
    settings = {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False}
    assert not gates_at_start(36, [settings], {}).enabled("PodLevelResources")
