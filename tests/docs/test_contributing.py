"""The map of folders for new contributors lists the existing folders."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / ".github" / "CONTRIBUTING.md").read_text()
MAPPED_WHOLE = ("cli", "engine")


def packages(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir() if (each / "__init__.py").is_file()}


def test_the_map_lists_exactly_the_existing_folders() -> None:
    top = ROOT / "cpuctl"
    there = packages(top) | {f"{name}/{below}" for name in MAPPED_WHOLE for below in packages(top / name)}
    assert set(re.findall(r"^\| `([a-z_/]+)/` \|", TEXT, re.MULTILINE)) == there


def found(name: str) -> Path:
    return next((path for path in (ROOT / name, ROOT / "cpuctl" / name) if path.exists()), ROOT / name)


def test_names_exist_in_the_files_mentioned_with_them() -> None:
    reported = re.findall(r"`([A-Za-z_]+)`\s+(?:in\s+|of\s+|\()`([a-z_]+/[a-z_/]+\.py)`", TEXT)
    assert {"NEWEST", "TOPOLOGY_OPTIONS", "Output", "CHECKS"} <= {name for name, _ in reported}
    assert [each for each in reported if each[0] not in found(each[1]).read_text()] == []


def test_mentioned_files_and_commands_exist() -> None:
    named = re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|md))`", TEXT)
    assert [name for name in named if not found(name).exists()] == []
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"^    make ([a-z]+)", TEXT, re.MULTILINE)) <= set(targets)
