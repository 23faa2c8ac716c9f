"""All generated files: their paths from the project's root, and their content."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cpuctl.cli.completion.command_tree import command_tree
from cpuctl.cli.completion.scripts import completion_script
from docs.generate.answer_schemas import answer_schemas
from docs.generate.keps import keps_page
from docs.generate.markdown import command_page, index_page, page_name
from docs.generate.pictures import pictures
from docs.generate.releases import releases_page
from docs.generate.roff import man_name, man_page
from docs.generate.rules import rules_page
from docs.generate.schemas import schema_page

ROOT = Path(__file__).parents[2]
GENERATED = ("docs/reference", "docs/pictures", "man", "completions")
"""Directories that contain only generated files."""
_SCHEMAS = "cpuctl/schemas"
"""Also contains the schemas of inputs, which are written by hand."""


def generated_files() -> Mapping[str, str]:
    """Generate every file from the current command table and the types of answers."""
    root = command_tree()
    commands = [each for each in root.walk() if each.words]
    pages = {f"docs/reference/{page_name(each)}": command_page(each) for each in commands}
    manual = {f"man/{man_name(each)}.1": man_page(each, root) for each in root.walk()}
    scripts = {f"completions/cpuctl.{shell}": completion_script(shell) for shell in ("bash", "zsh", "fish")}
    schemas = answer_schemas()
    others = {
        "docs/reference/README.md": index_page(root),
        "docs/reference/keps.md": keps_page(ROOT),
        "docs/reference/kubelet-rules.md": rules_page(),
        "docs/reference/releases.md": releases_page(ROOT),
        "docs/reference/schemas.md": schema_page(schemas),
    }
    published = {f"{_SCHEMAS}/{name}.json": text for name, text in schemas.items()}
    return {**pages, **manual, **scripts, **others, **published, **pictures(ROOT)}


def files_on_disk(root: Path = ROOT) -> Mapping[str, str]:
    """Read the generated directories and the schemas of answers."""
    paths = [path for name in GENERATED for path in sorted((root / name).rglob("*")) if path.is_file()]
    paths += [path for name in answer_schemas() if (path := root / _SCHEMAS / f"{name}.json").is_file()]
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}
