"""The plugin decides on published objects as kubelets decide, except for named differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scheduler.round_trip import (
    FILTERS,
    PASSES,
    SETTINGS,
    SINGLE,
    Case,
    Setting,
    cases,
    explanations,
    read_machine,
)

ROOT = Path(__file__).parents[2]
MACHINES = {
    "synthetic:2s2n6c2t,near": SETTINGS,
    "synthetic:2s2n4c1t,nodes=0-3/2:4-7": (Setting(SINGLE), Setting(SINGLE, "pod", publisher="nfd")),
    "synthetic:2s2n4c1t,mem=0/64Gi": SETTINGS,
    "synthetic:0n8c1t": (Setting(SINGLE),),
    "synthetic:1s1n8c1t": (Setting(SINGLE, devices=True),),
    str(ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz"): SETTINGS,
    str(ROOT / "fixtures/machines/2s-8numa-64cpu.tar.xz"): SETTINGS,
}


@pytest.fixture(scope="module")
def found() -> list[Case]:
    """Try pods of all shapes on machines of all kinds, once for all tests."""
    return [case for name, settings in MACHINES.items() for case in cases(name, read_machine(name), settings)]


def test_every_difference_has_a_name(found: list[Case]) -> None:
    assert [str(case) for case in found if not case.agrees and not explanations(case)] == []


def test_every_named_difference_occurs(found: list[Case]) -> None:
    """Each is the only explanation of something: none could be omitted."""
    only = {
        (bool(case.message), *explanations(case))
        for case in found
        if not case.agrees and len(explanations(case)) == 1
    }
    assert only == {(True, name) for name in FILTERS} | {(False, name) for name in PASSES}


def test_an_exact_model_gives_both_answers(found: list[Case]) -> None:
    exact = [case for case in found if case.agrees and not explanations(case)]
    filtered = [case for case in exact if case.message]
    assert len(filtered) > 100
    assert len(exact) - len(filtered) > 200
    assert {case.setting.scope for case in filtered} == {"container", "pod"}


def test_the_documentation_lists_every_difference() -> None:
    text = (ROOT / "docs/how-to.md").read_text()
    table = text.partition("| Difference | Effect |")[2].partition("\n\n")[0]
    reported = [row.split(" | ")[0].removeprefix("| ") for row in table.splitlines()[2:]]
    assert sorted(reported) == sorted({*FILTERS, *PASSES})
