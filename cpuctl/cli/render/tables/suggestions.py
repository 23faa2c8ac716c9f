"""What would change an answer, for people: each change with its effect, and what was tried in vain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell, Column, Table
from cpuctl.exports.wording import counted

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Container
    from cpuctl.answers.explanation import ExplainedDecision, Search, Suggestion

_NAMES_SHOWN = 3
_KINDS = {
    "request": "any other request",
    "setting": "any other policy, scope or option",
    "removal": "any one or two pods removed",
    "order": "any earlier place in the order",
}


def suggestions_table(document: ExplainedDecision) -> Table:
    """Show the changes that admit or align the pod and what it gets then; below, what was tried in vain."""
    wanted = _wanted(document)
    found = (
        (Cell(each["words"]), Cell(_effect(each), "yellow" if each["lost"] else ""))
        for each in document["suggestions"]
    )
    in_vain = (
        (Cell(_KINDS[search["kind"]]), Cell(_in_vain(search, wanted)))
        for search in document["searches"]
        if search["runs"] and not search["found"]
    )
    return Table((Column("CHANGE"), Column("THEN")), (*found, *in_vain))


def command_lines(suggestions: Iterable[Suggestion]) -> Iterator[Cell]:
    """Write the commands that try or make changes, each in one piece."""
    for each in suggestions:
        if each["command"]:
            yield Cell(f"# {each['words']}", "dim")
            yield Cell(each["command"])


def _effect(suggestion: Suggestion) -> str:
    kept = [each for each in suggestion["containers"] if each["isolation"] != "host"]
    several = len(suggestion["containers"]) > 1
    parts = [_placed(each, named=several) for each in kept] or ["admitted, on the node's shared CPUs"]
    if lost := suggestion["lost"]:
        more = f" and {len(lost) - _NAMES_SHOWN} more" if len(lost) > _NAMES_SHOWN else ""
        parts.append(f"but not {', '.join(lost[:_NAMES_SHOWN])}{more}")
    return "; ".join(parts)


def _placed(container: Container, *, named: bool) -> str:
    name = f"{container['name']}: " if named else ""
    if not container["exclusive"]:
        return f"{name}in its pod's pool, CPUs {container['cpus']}"
    nodes = ",".join(container["aligned"]["numaNodes"])
    return f"{name}CPUs {container['cpus']} (node{'s' if ',' in nodes else ''} {nodes})"


def _wanted(document: ExplainedDecision) -> str:
    """Name what changes are looked for: an admitted pod is explained with some only where it is unaligned."""
    return "aligned" if document["pod"]["outcome"] == "Admitted" else "admitted"


def _in_vain(search: Search, wanted: str) -> str:
    if not search["complete"]:
        return f"not {wanted} within the bound of {search['bound']} runs; not all was tried"
    runs = f"{counted(search['runs'], 'run')} of at most {search['bound']}"
    but = f", but for {search['leftOut']}" if search["leftOut"] else ""
    return f"never {wanted}: all tried in {runs}{but}"


def runs_line(document: ExplainedDecision) -> str:
    """Say how often the engine ran for the changes."""
    runs = counted(sum(search["runs"] for search in document["searches"]), "run")
    does = "aligns" if _wanted(document) == "aligned" else "admits"
    return f"{runs} of the engine; each change that {does} was run from the start."
