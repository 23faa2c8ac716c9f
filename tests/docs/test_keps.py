"""The table of what the KEPs say: every test and line that it names is there, no section is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate.keps import Statement, sections, statements

ROOT = Path(__file__).parents[2]
TABLE = statements(ROOT)


def named(each: Statement) -> str:
    return f"{each['kep']} {each['section']}: {each.get('says', '')}"


@pytest.mark.parametrize("each", TABLE, ids=named)
def test_every_entry_is_shown_departed_from_or_explained(each: Statement) -> None:
    (kind,) = each.keys() & {"test", "departs", "why"}
    assert each.keys() == {"kep", "section", kind} | ({"says"} if kind != "why" else set())
    if kind == "test":
        name, _, function = each["test"].partition("::")
        text = (ROOT / name).read_text()
        assert not function or f"\ndef {function}(" in text
    elif kind == "departs":
        headings = re.findall(r"^## (.*)$", (ROOT / "docs" / "keps.md").read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert each["departs"] in anchors


def test_every_section_has_an_entry() -> None:
    documents = sections(ROOT)
    found = {kep: list(dict.fromkeys(e["section"] for e in TABLE if e["kep"] == kep)) for kep in documents}
    assert found == documents


def test_every_departure_is_named_by_a_statement() -> None:
    headings = re.findall(r"^- \[.*\]\(#(.*)\)$", (ROOT / "docs" / "keps.md").read_text(), re.MULTILINE)
    named = {each["departs"] for each in TABLE if "departs" in each}
    # Of the pods that 1.32 and 1.33 still served there is no sentence but the one that the gate's test shows.
    assert set(headings) - named == {"pods-with-resources-of-their-own-gate-off"}
