"""Survivors that were looked at: ``explained/ROOM.toml`` says of each why no test can notice it.

    [[survivor]]
    function = "cpuctl.checkpoints.store:read_state_file"
    was = "handle = os.open(path, os.O_RDONLY)"
    becomes = ["handle = os.open(path, None)"]
    why = "One sentence."

An explanation holds for mutants that read so. One that fits no mutant any more, or whose mutants are all
killed, is stale, and is reported. ``--toml`` prints entries for what survives, but for the reason.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.mutation.mutants import Change, Mutant, Room
from tests.mutation.results import Results

FOLDER = Path(__file__).with_name("explained")


def explanations(space: Room) -> dict[Change, str]:
    """Read why survivors of a room survive."""
    path = FOLDER / f"{space.name}.toml"
    if not path.exists():
        return {}
    found: dict[Change, str] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", ()):
        assert entry["why"], entry
        for becomes in entry["becomes"]:
            found[Change(entry["function"], entry["was"], becomes)] = entry["why"]
    return found


def as_toml(changes: Iterable[Change]) -> str:
    """Write entries for survivors, but for the reason: that is not the machine's to find."""
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
    """Write a string; those of JSON are strings of TOML."""
    return json.dumps(text, ensure_ascii=False)


def stale(
    explained: Iterable[Change], mutants: Iterable[Mutant], results: Results
) -> Iterator[tuple[Change, str]]:
    """Yield explanations that explain nothing, and why they do not."""
    outcomes: dict[Change, list[bool]] = {}
    for mutant in mutants:
        result = results.of(mutant)
        outcomes.setdefault(mutant.change, []).append(result is None or result.survived)
    for change in explained:
        if change not in outcomes:
            yield change, "there is no such mutant"
        elif not any(outcomes[change]):
            yield change, "is killed"
