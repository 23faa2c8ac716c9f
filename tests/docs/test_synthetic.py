"""Help and page show every form of ``synthetic:``, and each form can be parsed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpuctl.cli.topology import SYNTHETIC_HELP
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.machine.synthetic_description import CPU_OPTIONS, FLAGS, GROUP_OPTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "synthetic.md").read_text()
LISTED = re.findall(
    r"^  (\S+)(?:, (\S+=\S+))?(?:  |$)", SYNTHETIC_HELP.partition("Examples:")[0], re.MULTILINE
)
HELPED = [form for forms in LISTED for form in forms if form]
TABLED = [
    form for row in re.findall(r"^\| (`.+?) \|", PAGE, re.MULTILINE) for form in re.findall("`(.+?)`", row)
]
FIGURES = re.compile(r"\d+[sn]|(?:\+?\d+[cpe]\d+t)+")
NAMES = {
    *FLAGS,
    *GROUP_OPTIONS,
    *CPU_OPTIONS,
    "mem",
    "distances",
    "hugepages",
    "hugepages-2Mi",
    "hugepages-1Gi",
}


def description(form: str) -> str:
    """Write the form after suitable numbers."""
    if FIGURES.fullmatch(form):
        return f"{form}16c" if form.endswith(("s", "n")) else form
    nodes = max(1, form.count("/") + 1 if form.startswith(("mem", "huge", "dist")) else 1)
    return f"{nodes}n{'24c' if nodes == 3 else '16c2t'},{form}"


@pytest.mark.parametrize("forms", [HELPED, TABLED], ids=["help", "page"])
def test_every_form_is_documented(forms: list[str]) -> None:
    assert {form.partition("=")[0] for form in forms if not FIGURES.fullmatch(form)} == NAMES
    assert len([form for form in forms if FIGURES.fullmatch(form)]) == 5


@pytest.mark.parametrize("form", sorted({*HELPED, *TABLED}))
def test_every_form_can_be_parsed(form: str) -> None:
    machine = parse_synthetic(description(form))
    assert machine.online or machine.offline
