"""The documentation of state files matches what is computed: formats, and the codes of findings."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from cpuctl.checkpoints.versions import version_table

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "checkpoint.md").read_text()
CODE = re.compile(
    r'code="([a-z-]+)"|Severity\.[A-Z]+,\s+"([a-z-]+)"|severity,\s+"([a-z-]+)"|: "([a-z]+-gone)"'
)
CHOSEN = re.compile(r'code="([a-z-]+)" if \w+ else "([a-z-]+)"')


def test_the_table_of_formats_is_what_is_computed() -> None:
    rows = []
    for format_, group in groupby(version_table(), key=lambda each: each.format):
        words = ["no" if each.error else "partly" if each.lost else "yes" for each in group]
        cells = [f"`{format_.file_name}`", format_.name, format_.written_by, *words]
        rows.append(f"| {' | '.join(cells)} |")
    assert re.findall(r"^\| `(?:cpu|memory)_manager_state` .*$", TEXT, re.MULTILINE) == rows


def test_every_code_is_documented() -> None:
    sources = "".join(path.read_text() for path in sorted((ROOT / "cpuctl/engine/state_checks").glob("*.py")))
    codes = {code for found in CODE.findall(sources) for code in found if code}
    codes |= {code for found in CHOSEN.findall(sources) for code in found}
    reported = re.findall(r"^\| `([a-z-]+)` \| (?:error|warning|note) \|", TEXT, re.MULTILINE)
    assert len(codes) > 20
    assert sorted(reported) == sorted(codes)
