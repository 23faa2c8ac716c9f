"""Examined survivors: ``explained/GROUP.toml`` explains for each why no test can notice it.

    [[survivor]]
    function = "cpuctl.checkpoints.store:read_state_file"
    was = "handle = os.open(path, os.O_RDONLY)"
    becomes = ["handle = os.open(path, None)"]
    why = "One sentence."

An explanation applies to mutants with this text. One that matches no mutant any more, or whose mutants are
all killed, is reported as stale. ``--toml`` prints entries for survivors, without the reason.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.mutation.mutants import Change, ModuleGroup, Mutant
from tests.mutation.results import Results

FOLDER = Path(__file__).with_name("explained")


def explanations(group: ModuleGroup) -> dict[Change, str]:
    """Read the explanations of a group's survivors."""
    path = FOLDER / f"{group.name}.toml"
    if not path.exists():
        return {}
    found: dict[Change, str] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", ()):
        assert entry["why"], entry
        for becomes in entry["becomes"]:
            found[Change(entry["function"], entry["was"], becomes)] = entry["why"]
    return found


def as_toml(changes: Iterable[Change]) -> str:
    """Write entries for survivors with an empty reason, which a person has to add."""
    found: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        found.setdefault((change.function, change.was), []).append(change.becomes)
    return "\n".join(
        f"[[survivor]]\nfunction = {_quoted(function)}\nwas = {_quoted(was)}\n"
        f'becomes = {_listed(becomes)}\nwhy = ""\n'
        for (function, was), becomes in found.items()
    )


def _listed(texts: list[str]) -> str:
    if len(texts) == 1:
        return f"[{_quoted(texts[0])}]"
    return "[\n" + "".join(f"    {_quoted(text)},\n" for text in texts) + "]"


def _quoted(text: str) -> str:
    """Write a string; JSON strings are valid TOML strings."""
    return json.dumps(text, ensure_ascii=False)


def stale(
    explained: Iterable[Change], mutants: Iterable[Mutant], results: Results
) -> Iterator[tuple[Change, str]]:
    """Yield stale explanations, and why they are stale."""
    outcomes: dict[Change, list[bool]] = {}
    for mutant in mutants:
        result = results.of(mutant)
        outcomes.setdefault(mutant.change, []).append(result is None or result.survived)
    for change in explained:
        if change not in outcomes:
            yield change, "there is no such mutant"
        elif not any(outcomes[change]):
            yield change, "is killed"
