"""The files generated from the command table and the schemas are up to date."""

from __future__ import annotations

import re

from cpuctl.cli.completion.command_tree import command_tree
from docs.generate.common import ENVIRONMENT
from docs.generate.files import ROOT, files_on_disk, generated_files
from docs.generate.help_text import take_apart
from docs.generate.markdown import page_name
from docs.generate.roff import man_name

REMEDY = "run `make docs` (python -m docs.generate) and commit what changed"


def test_generated_files_are_up_to_date() -> None:
    wanted, present = generated_files(), files_on_disk()
    drifted = {name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)}
    assert not drifted, REMEDY


def test_every_environment_variable_is_documented() -> None:
    source = "".join(path.read_text() for path in (ROOT / "cpuctl").rglob("*.py"))
    names = set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", source))
    assert names == {name for name, _ in ENVIRONMENT}


def test_help_is_split_into_parts() -> None:
    text = take_apart(
        "Do it.\n\nIn two\nlines.\n\n\b\n  as it\n    is\n\nExamples:\n\n\b\n  cpuctl a\n  cpuctl b\n\n"
        "Exit codes: 0 done (with --exit-code 3 where\nnot), 2 usage, 129, 130 or 143 ended.\n"
    )
    assert text.summary == "Do it."
    assert [(block.text, block.verbatim) for block in text.blocks] == [
        ("In two lines.", False),
        ("as it\n  is", True),
    ]
    assert text.examples == "cpuctl a\ncpuctl b"
    assert text.exit_codes == (
        ("0", "done (with --exit-code 3 where not)"),
        ("2", "usage"),
        ("129, 130 or 143", "ended"),
    )


def test_every_command_has_a_page_and_every_page_its_exit_codes() -> None:
    files = generated_files()
    commands = [each for each in command_tree().walk() if each.words]
    assert {f"man/{man_name(each)}.1" for each in commands} < files.keys()
    for command in commands:
        page = files[f"docs/reference/{page_name(command)}"]
        assert ("\n## Exit codes\n" in page) == (not command.verbs)
