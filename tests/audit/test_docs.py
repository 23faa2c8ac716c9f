"""Every code that a finding can have is documented below the check that reports it."""

from __future__ import annotations

import re
from pathlib import Path

from cpuctl.audit.check_names import CHECK_NAMES
from cpuctl.audit.checks import CHECKS

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| *([a-z]*) *\| `([a-z-]+)` \| (error|warning|note) \|", re.MULTILINE)
CODE = re.compile(r'code="([a-z-]+)"|"(isolated-partly|nohz-partly)"')


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall((ROOT / "docs" / "audit.md").read_text())


def test_every_code_is_documented() -> None:
    sources = "".join(path.read_text() for path in sorted((ROOT / "cpuctl" / "audit").rglob("*.py")))
    codes = {one or other for one, other in CODE.findall(sources)}
    assert sorted(code for _, code, _ in rows()) == sorted(codes)


def test_every_check_is_documented() -> None:
    assert [check for check, _, _ in rows() if check] == list(CHECKS)


def test_every_check_has_its_name() -> None:
    """Help, completion and ``--check`` use these names; the type of the table allows no others."""
    assert tuple(CHECKS) == CHECK_NAMES
