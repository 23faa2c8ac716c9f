"""Layout of advice on settings: a row for the current settings, and one for each proposal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_line
from cpuctl.cli.render.tables.start import start_block
from cpuctl.exports.answer_text import state_files_text
from cpuctl.exports.outcomes import settings_admit
from cpuctl.phrases import all_of, counted, few

if TYPE_CHECKING:
    from cpuctl.answers.advice import AdvisedSettings, ProposedSettings, Search, Service, UnloadedAdvice

_FIGURES = ("PODS", "1 NODE", "MEMORY", "CORES", "CROSSED", "SHARED", "LARGEST")
_ENDS = {
    "all": "no others can be better",
    "undetermined": "the undetermined ones may be better",
    "budget": "the search reached its limit (--budget); there may be better ones",
    "stopped": "interrupted; there may be better ones",
}
_UNKNOWN = "It is unknown whether the kubelet starts with the undetermined ones"


def blocks(document: AdvisedSettings | UnloadedAdvice, *, wide: bool) -> Iterator[Block]:
    """Lay out advice, or why there is none; wide adds all that was not tried."""
    who = f"Kubelet {document['kubelet']['version']}"
    if "proposals" not in document:
        yield start_block(document["start"], who)
        return
    current = document["current"]
    if "service" not in current:
        yield start_block(current["start"], f"{who}, with the current settings,")
    if "service" in current or document["proposals"]:
        yield _table(document)
        yield _meaning()
    yield Lines(tuple(_below(document)))
    yield from _left_out(document, wide=wide)
    if command := document.get("next"):
        yield next_line(_purpose(document, command), command)


def _purpose(document: AdvisedSettings, command: str) -> str:
    if " --snippet " in command:
        number = command.rpartition(" ")[2]
        drop_in = next(each["dropIn"] for each in document["proposals"] if str(each["number"]) == number)
        form = "a drop-in file" if drop_in else "fields of a KubeletConfiguration"
        return f"to print row {number} as {form}"
    started = document["current"]["start"]["outcome"] == "Started"
    return "to see why" if started else "to see what to change"


def _table(document: AdvisedSettings) -> Table:
    current = document["current"]
    rows = [_proposal(each) for each in document["proposals"]]
    if current["start"]["outcome"] == "Started":
        rows.insert(0, _row("now", "current settings", current["service"], "dim"))
    columns = (Column("ROW"), Column("SETTINGS"), *(Column(name, "right") for name in _FIGURES))
    return Table(columns, tuple(rows))


def _proposal(proposal: ProposedSettings) -> tuple[Cell, ...]:
    style = "green" if proposal["beatsCurrent"] else ""
    return _row(str(proposal["number"]), ", ".join(proposal["changes"]), proposal["service"], style)


def _row(number: str, name: str, service: Service, style: str = "") -> tuple[Cell, ...]:
    crossings = service["cacheCrossings"]
    figures = (
        service["admitted"],
        service["onOneNumaNode"],
        service["memoryOnOneNumaNode"],
        service["unsharedCores"],
        "?" if crossings is None else crossings,
        service["sharedPool"],
        service["largestPod"],
    )
    return (Cell(number, style), Cell(name, style), *(Cell(str(figure), style) for figure in figures))


def _below(document: AdvisedSettings) -> Iterator[Cell]:
    yield from map(Cell, _verdict(document))
    yield Cell(f"{counted(document['pods'], 'pod')}, in the order given.")
    yield Cell(_searched(document["search"]))
    yield from (Cell(f"{_UNKNOWN}: {why}") for why in document["search"]["whyUndetermined"])
    uncertain = max((each["service"]["undetermined"] for each in document["proposals"]), default=0)
    if uncertain:
        yield Cell(f"For {counted(uncertain, 'pod')}, it is unknown whether they are admitted.", "yellow")
    if what_if := [str(each["number"]) for each in document["proposals"] if "policy" in each]:
        use = "uses" if len(what_if) == 1 else "use"
        yield Cell(f"{_rows(what_if)} {use} a what-if policy, which no kubelet has.", "yellow")
    yield from _overlaps(document)
    yield from _in_the_way(document["proposals"])


def _overlaps(document: AdvisedSettings) -> Iterator[Cell]:
    """Warn of settings with which pods do not have their CPUs for themselves."""
    current, proposals = document["current"], document["proposals"]
    rows = [str(each["number"]) for each in proposals if each["service"]["overlappingPods"]]
    names = [_rows(rows).lower()] if rows else []
    if current["start"]["outcome"] == "Started" and current["service"]["overlappingPods"]:
        names.insert(0, "the current settings")
    if names:
        yield Cell(
            f"With {all_of(names)}, some exclusive CPUs are reserved or held by two pods "
            "(kubernetes issue 124066): settings with fewer such pods are better.",
            "yellow",
        )


def _in_the_way(proposals: Sequence[ProposedSettings]) -> Iterator[Cell]:
    """Warn if a drop-in file alone does not apply a proposal."""
    if flags := dict.fromkeys(flag for each in proposals for flag in each["flags"]):
        yield Cell(f"Flags override files; remove or change these: {' '.join(flags)}", "yellow")
    others = [str(each["number"]) for each in proposals if not each["dropIn"] and not each["flags"]]
    if others:
        yield Cell(
            f"A drop-in file is not enough for {_rows(others).lower()}; change the main file.", "yellow"
        )
    rows: dict[tuple[str, ...], list[str]] = {}
    for each in proposals:
        rows.setdefault(tuple(each["stateFiles"]), []).append(str(each["number"]))
    for files, numbers in rows.items():
        if files:
            yield Cell(f"{_rows(numbers)}: {state_files_text(files)}.", "yellow")


def _verdict(document: AdvisedSettings) -> Iterator[str]:
    current, proposals = document["current"], document["proposals"]
    better = [each for each in proposals if each["beatsCurrent"]]
    if current["start"]["outcome"] != "Started" and not proposals:
        yield "As far as is known, the kubelet starts with none of the settings tried."
    elif not settings_admit(document):
        pods = "the pod" if document["pods"] == 1 else "any of the pods"
        yield f"None of the settings that were tried admits {pods}."
    elif current["start"]["outcome"] != "Started":
        yield "The kubelet starts with each of these settings; none is better than the others."
    elif not proposals:
        yield "None of the settings that were tried is better than the current ones."
    elif better:
        more = [each for each in proposals if each["service"]["admitted"] > current["service"]["admitted"]]
        yield from _better(more, [each for each in better if each not in more])
    elif current["unbeaten"]:
        yield "Each row is better than the others in some column, and worse in another."
    else:
        yield "No row is better than another."


def _better(more: Sequence[ProposedSettings], as_many: Sequence[ProposedSettings]) -> Iterator[str]:
    """Name the rows that are better; those that admit more pods may be worse in other columns."""
    if more:
        admit = "admits" if len(more) == 1 else "admit"
        yield f"{_rows(_numbers(more))} {admit} more pods than the current settings."
    if as_many:
        are = "is" if len(as_many) == 1 else "are"
        rows = _rows(_numbers(as_many))
        yield f"{rows} {are} better than the current settings, and not worse in any column."


def _numbers(proposals: Sequence[ProposedSettings]) -> list[str]:
    return [str(each["number"]) for each in proposals]


def _rows(numbers: Sequence[str]) -> str:
    """Write ``Row 1``, ``Rows 1 and 2`` or ``Rows 1, 2, 3 and 2 more``."""
    if len(numbers) == 1:
        return f"Row {numbers[0]}"
    if len(numbers) > 3:
        return f"Rows {few(numbers)}"
    return f"Rows {', '.join(numbers[:-1])} and {numbers[-1]}"


def _searched(search: Search) -> str:
    counts = {
        "equivalent to others": search["equivalent"],
        "with which the kubelet does not start": search["wouldNotStart"],
        "undetermined": search["undetermined"],
        "with which the kubelet crashes or hangs": search["failed"],
    }
    rest = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    suffix = f" ({rest})" if rest else ""
    tried = f"{search['tried']:,} of {search['possible']:,} settings{suffix}"
    ended = "undetermined" if search["ended"] == "all" and search["undetermined"] else search["ended"]
    return f"Tried: {tried}; {_ENDS[ended]}." if search["tried"] else f"Tried: {tried}."


def _meaning() -> Lines:
    return Lines.of(
        "PODS: admitted; 1 NODE: containers with all exclusive CPUs, devices and pinned",
        "memory on one NUMA node; MEMORY: those whose memory is pinned there;",
        "CORES: used by one container only; CROSSED: L3 caches beyond a container's",
        "first; SHARED: CPUs of all others; LARGEST: CPUs (whole cores) of the largest",
        "container that would still fit, with 1 byte of memory.",
    )


def _left_out(document: AdvisedSettings, *, wide: bool) -> Iterator[Lines]:
    """Say what was not tried, or only which policies."""
    if shown := [each for each in document["skipped"] if wide or "Policy=" in each["setting"]]:
        yield Lines.of(*(f"not tried: {each['setting']}: {each['why']}" for each in shown))


def snippet_blocks(document: ProposedSettings, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the snippet."""
    yield Lines.of(*document["snippet"].splitlines())
