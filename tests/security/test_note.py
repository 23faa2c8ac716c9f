"""Every claim of docs/security.md names a test that exists."""

from __future__ import annotations

import re

from tests.security.watching import PROJECT

_CLAIM = re.compile(r"^\| (?P<claim>.+) \| `(?P<file>tests/\S+\.py)::(?P<test>\w+)` \|$", re.MULTILINE)


def test_every_claim_has_its_test() -> None:
    note = (PROJECT / "docs/security.md").read_text()
    table = note.partition("## What it never does")[2].partition("\n## ")[0]
    claims = list(_CLAIM.finditer(table))
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(claims) == len(rows) - 1, "a row without a test"
    for claim in claims:
        text = (PROJECT / claim["file"]).read_text()
        assert f"def {claim['test']}(" in text, claim["claim"]
