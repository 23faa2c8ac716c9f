"""The table of KEP statements: every test and line in it exists, and no section is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate.keps import Statement, sections, statements

ROOT = Path(__file__).parents[2]
REFERENCES = ROOT.parent / "shared" / "references"
TABLE = statements(ROOT)


def named(each: Statement) -> str:
    return f"{each['kep']} {each['section']}: {each.get('says', '')}"


@pytest.mark.parametrize("each", TABLE, ids=named)
def test_every_entry_has_a_test_a_departure_or_a_reason(each: Statement) -> None:
    (kind,) = each.keys() & {"test", "departs", "why"}
    # A section with nothing to test has only a reason.
    assert each.keys() | {"says"} == {"kep", "section", "says", kind}
    assert "says" in each or kind == "why"
    if kind == "test":
        name, _, function = each["test"].partition("::")
        assert f"\ndef {function}(" in (ROOT / name).read_text() if function else (ROOT / name).exists()
    elif kind == "departs":
        headings = re.findall(r"^## (.*)$", (ROOT / "docs" / "keps.md").read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert each["departs"] in anchors


def test_every_section_has_an_entry() -> None:
    documents = sections(ROOT)
    found = {kep: list(dict.fromkeys(e["section"] for e in TABLE if e["kep"] == kep)) for kep in documents}
    assert found == documents


def test_every_departure_is_referenced_by_a_statement() -> None:
    headings = re.findall(r"^- \[.*\]\(#(.*)\)$", (ROOT / "docs" / "keps.md").read_text(), re.MULTILINE)
    assert set(headings) == {each["departs"] for each in TABLE if "departs" in each}


def test_no_sentence_is_repeated_in_a_section() -> None:
    reported = [(each["kep"], each["section"], each["says"]) for each in TABLE if "says" in each]
    assert len(reported) == len(set(reported))


def test_a_section_has_statements_or_a_reason_for_none() -> None:
    silent = {(each["kep"], each["section"]) for each in TABLE if "says" not in each}
    assert not silent & {(each["kep"], each["section"]) for each in TABLE if "says" in each}


HOLDS_OTHERS = {
    "Design Details",
    "Production Readiness Review Questionnaire",
    "Components/Features changes",
    "Future Work",
}
"""Headings that contain only other headings."""
OTHER_NAMES = {
    "Admission Controller": "LimitRange",
    "PodSpec Validation Rules": "Proposed Validation & Defaulting Rules",
    "Memory Manager": "Memory, CPU and Topology Managers",
    "CPU Manager": "Memory, CPU and Topology Managers",
    "Topology Manager": "Memory, CPU and Topology Managers",
}
"""Headings that the table lists by their parts, or together."""


@pytest.mark.skipif(not REFERENCES.is_dir(), reason=f"the documents themselves are not here: {REFERENCES}")
@pytest.mark.parametrize("kep", sections(ROOT))
def test_the_table_has_every_heading_of_the_document(kep: int) -> None:
    (path,) = REFERENCES.glob(f"kep-{kep}-*.txt")
    lines = path.read_text(encoding="utf-8").splitlines()
    # The list of headings ends before the first of them begins.
    listed = [line[2:] for line in lines[: lines.index("Release Signoff Checklist")] if line.startswith("- ")]
    missing = {_bare(each) for each in listed} - {_bare(each) for each in sections(ROOT)[kep]} - HOLDS_OTHERS
    # KEP-4540 leaves these empty sections out.
    assert missing <= ({"Drawbacks", "Alternatives", "Infrastructure Needed"} if kep == 4540 else set())


def _bare(heading: str) -> str:
    heading = re.sub(r"^\[[^]]*\] | \((Issue \d+|Optional)\)$", "", heading)
    heading = re.sub(r"^(Fix|Support) for ", "", heading)
    return OTHER_NAMES.get(heading, heading)
