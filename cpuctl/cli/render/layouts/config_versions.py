"""Layout of the changes between two releases: one paragraph per kind of change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_cell
from cpuctl.cli.render.tables.start import kubelet_name, next_of_start, remedy_cells
from cpuctl.exports.outcomes import start_word
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers import config as answers

_DOUBTS = {"verified": "", "documented": " (not verified)", "preview": " (preview)"}
_PARTS: Final = ("behaviours", "featureGates", "options", "fields", "flags", "rules")

_REFUSED_SHOWN = 3
_SIDES: Final = ("from", "to")
_RESULTS: Final = ("before", "after")
_UNKNOWN = "undetermined: "
_RESIZE_AREA, _RESIZE_GATE = "in-place resize", "InPlacePodVerticalScaling"


def blocks(document: answers.ConfigVersions, *, wide: bool) -> Iterator[Block]:
    """Lay out a comparison; *wide* adds the source of each change."""
    yield Lines(tuple(_starts(document)))
    unseen = [f"Not checked: {what}" for what in document["notChecked"]]
    if "omitted" in document:
        yield from _changes(document, wide=wide)
    if "pods" in document:
        yield Lines.of(*_pods(document, document["pods"], wide=wide))
    if "omitted" in document:
        last = (_closing(document), *_legend(document, wide=wide), *unseen)
        yield Lines((*map(Cell, last), *_next(document)))
    else:
        why = f"Other changes are unknown: kubelet {document['from']} cannot load the configuration."
        yield Lines((*map(Cell, (why, *unseen)), *_next(document)))


def _changes(document: answers.ComparedVersions, *, wide: bool) -> Iterator[Block]:
    if document["behaviours"]:
        yield Lines(tuple(_behaviours(document, wide=wide)))
    if document["featureGates"]:
        yield _gates(document)
        if problems := [gate["problem"] for gate in document["featureGates"] if gate["problem"]]:
            refused = (f"Kubelet {document['to']} rejects: {problem}" for problem in problems)
            yield Lines(tuple(Cell(text, "red") for text in refused))
    if document["options"]:
        yield _options(document)
    if document["fields"]:
        yield Lines.of(*(f"{each['field']} was added in {each['since']}" for each in document["fields"]))
    if document["flags"]:
        yield Lines.of(*map(_flag, document["flags"]))
    if document["rules"]:
        yield Lines.of(*(line for changes in _by_setting(document["rules"]) for line in _rule(changes)))


def _starts(document: answers.ConfigVersions) -> Iterator[Cell]:
    """Show whether both kubelets would start, once if it is unknown for the same reason."""
    one, other = document["start"]["from"], document["start"]["to"]
    if one["outcome"] == "Undetermined" == other["outcome"] and one["why"] == other["why"]:
        yield Cell(*start_word(one, "Either kubelet"))
        return
    for side in _SIDES:
        yield from _start(document, side)


def _start(document: answers.ConfigVersions, side: Literal["from", "to"]) -> Iterator[Cell]:
    start = document["start"][side]
    yield Cell(*start_word(start, kubelet_name(document[side], start, document["sources"])))
    yield from remedy_cells(start)


def _behaviours(document: answers.ComparedVersions, *, wide: bool) -> Iterator[Cell]:
    """Show what changes in the order of releases, each heading once."""
    gate = next((each for each in document["featureGates"] if each["gate"] == _RESIZE_GATE), None)
    before, after = (gate["enabledBefore"], gate["enabledAfter"]) if gate else (True, True)
    upgrade = _numbers(document["from"]) <= _numbers(document["to"])
    under: dict[str, list[answers.BehaviourChange]] = {}
    for change in sorted(document["behaviours"], key=_order):
        under.setdefault(_heading(change, wide=wide), []).append(change)
    for heading, changes in under.items():
        yield Cell(heading)
        for change in changes:
            # Where pods cannot be resized, it does not matter how.
            always = change["area"] != _RESIZE_AREA or change["gate"] == _RESIZE_GATE
            then, since = f"before {change['since']}:", f"since {change['since']}: "
            if not upgrade:
                then, since = since, then
            if before or always:
                yield Cell(f"  {then} {change['before']}")
            if after or always:
                yield Cell(f"  {since} {change['after']}")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split("-", maxsplit=1)[0].split(".")]


def _order(change: answers.BehaviourChange) -> tuple[list[int], str, bool, bool]:
    return (
        _numbers(change["since"]),
        change["area"],
        change["status"] != "verified",
        change["gate"] != _RESIZE_GATE,
    )


def _heading(change: answers.BehaviourChange, *, wide: bool) -> str:
    on = f" on {', '.join(change['recordedOn'])}" if change["recordedOn"] else ""
    known = f" [{change['status']}{on}; {change['source']}]" if wide else _DOUBTS[change["status"]]
    shown = _shown(change)
    backports = f" (also {', '.join(change['backports'])})" if change["backports"] else ""
    begin = f"{change['since']}{backports}"
    return f"{begin}, {change['area']}{shown}{known}" if wide else f"{begin}, {change['area']}{known}{shown}"


def _shown(change: answers.ShownBy) -> str:
    if change.get("shownByState"):
        return " (affects these state files)"
    if change.get("shownByConfiguration"):
        return " (affects this configuration)"
    return " (affects these pods)" if change.get("shownByPods") else ""


def _gates(document: answers.ComparedVersions) -> Table:
    """Show the stages of gates, and the values that the configuration sets, if any."""
    sets = any(gate["setTo"] is not None for gate in document["featureGates"])
    rows = tuple(
        (
            Cell(f"{gate['gate']}{_shown(gate)}"),
            Cell(_stage(gate["before"], on=gate["enabledBefore"])),
            Cell(_stage(gate["after"], on=gate["enabledAfter"])),
            *([Cell("-" if gate["setTo"] is None else str(gate["setTo"]).lower())] if sets else []),
        )
        for gate in document["featureGates"]
    )
    names = ("FEATURE GATE", document["from"], document["to"], *(["SET TO"] if sets else []))
    return Table(tuple(Column(name) for name in names), rows)


def _stage(stage: answers.GateStage | None, *, on: bool) -> str:
    if stage is None:
        return "always on" if on else "absent"
    words = [stage["stage"], "on" if on else "off"]
    if stage["locked"]:
        words.append("locked")
    return ", ".join(words) + ("" if stage["verified"] else " (not verified)")


def _options(document: answers.ComparedVersions) -> Table:
    rows = tuple(
        (
            Cell(option["option"]),
            Cell(option["before"] or "unknown"),
            Cell(option["after"] or "unknown"),
        )
        for option in document["options"]
    )
    return Table((Column("OPTION"), Column(document["from"]), Column(document["to"])), rows)


def _pods(
    document: answers.ConfigVersions, pods: Sequence[answers.PodChange], *, wide: bool
) -> Iterator[str]:
    starts = "Started" in _outcomes(document)
    yield _changing(pods) if pods and starts else _same_pods(_outcomes(document))
    for pod in pods if starts else ():
        yield from _both(document, pod)
    if (refused := document.get("rejectedByBoth", ())) and starts:
        yield f"Rejected by both kubelets: {counted(len(refused), 'other pod' if pods else 'pod')}:"
        shown = refused if wide else refused[:_REFUSED_SHOWN]
        yield from (line for each in shown for line in _refused(document, each))
        if more := len(refused) - len(shown):
            yield f"  and {more} more (-o wide)"
    if command := document.get("podsDiff"):
        yield f"To compare their QoS classes and cgroups: {command}"


def _both(document: answers.ConfigVersions, pod: answers.PodChange) -> Iterator[str]:
    yield f"  {pod['pod']}"
    yield f"    {document['from']}: {pod['before']}"
    yield f"    {document['to']}: {pod['after']}"


def _refused(document: answers.ConfigVersions, pod: answers.PodChange) -> Iterator[str]:
    """Show the message once if it is the same: only amounts in it may differ."""
    if pod["before"] == pod["after"]:
        yield f"  {pod['pod']}: {pod['before']}"
    else:
        yield from _both(document, pod)


def _changing(pods: Sequence[answers.PodChange]) -> str:
    unknown = sum(any(each[side].startswith(_UNKNOWN) for side in _RESULTS) for each in pods)
    changed, rest = counted(len(pods) - unknown, "pod"), counted(unknown, "pod")
    if not unknown:
        return f"{changed} would change:"
    if unknown == len(pods):
        return f"The result for {rest} is unknown:"
    return f"{changed} would change; the result for {rest} is unknown:"


def _outcomes(document: answers.ConfigVersions) -> list[str]:
    return [document["start"][side]["outcome"] for side in _SIDES]


def _same_pods(outcomes: Sequence[str]) -> str:
    if "Started" in outcomes:
        return "Admission, CPUs and memory of these pods are the same."
    unknown = "is known to" if "Undetermined" in outcomes else "would"
    return f"The pods were not compared: neither kubelet {unknown} start."


def _flag(change: answers.FlagChange) -> str:
    return f"{change['flag']} {'was added in' if change['known'] else 'was removed in'} {change['since']}"


def _by_setting(changes: Sequence[answers.RuleChange]) -> list[list[answers.RuleChange]]:
    """Put the two changes of a check together whose error changes in a release; others stay on their own."""
    groups: dict[tuple[str, str], list[answers.RuleChange]] = {}
    for change in changes:
        groups.setdefault((change["setting"], change["since"]), []).append(change)
    return [
        part
        for group in groups.values()
        for part in ([group] if _is_reworded(group) else [[change] for change in group])
    ]


def _is_reworded(group: Sequence[answers.RuleChange]) -> bool:
    return sorted(change["known"] for change in group) == [False, True]


def _rule(changes: Sequence[answers.RuleChange]) -> Iterator[str]:
    setting, since = changes[0]["setting"], changes[0]["since"]
    if _is_reworded(changes):
        before, after = sorted(changes, key=lambda change: change["known"])
        yield f"{setting}: the error message changes in {since}"
        yield f"  before: {before['message']}"
        yield f"  after:  {after['message']}"
        return
    when = f"is checked from {since} on" if changes[0]["known"] else f"was checked before {since}"
    yield f"{setting} {when}; error if the value is invalid: {changes[0]['message']}"


def _legend(document: answers.ComparedVersions, *, wide: bool) -> Iterator[str]:
    gates = (stage for gate in document["featureGates"] for stage in (gate["before"], gate["after"]) if stage)
    documented = not wide and any(each["status"] == "documented" for each in document["behaviours"])
    if documented or not all(stage["verified"] for stage in gates):
        yield "Not verified: known from source code or documentation, not from recordings of a kubelet."


def _next(document: answers.ConfigVersions) -> Iterator[Cell]:
    """Return the next command: the check of the new kubelet if it does not start, else of the old one."""
    if not (command := document.get("next")):
        return
    one, other = document["start"]["from"], document["start"]["to"]
    if command.startswith("sudo "):
        yield next_cell("to check the state files on the node", command)
    elif other["outcome"] != "Started" and "fix" not in other:
        yield next_of_start(other, command)
    elif one["outcome"] != "Undetermined":
        yield next_cell(f"to see why kubelet {document['from']} would not start", command)
    else:
        yield next_of_start(one, command)


def _closing(document: answers.ComparedVersions) -> str:
    shown = sum(len(document[part]) for part in _PARTS)
    if not document["omitted"]:
        return counted(shown, "change") if shown else "No changes."
    does = "does" if document["omitted"] == 1 else "do"
    others = f"{counted(document['omitted'], 'other change')} {does} not affect it (--all shows all)"
    found = counted(shown, "change") if shown else "No changes"
    return f"{found} for this configuration; {others}"
