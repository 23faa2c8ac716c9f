"""How a plan for a fleet looks to people: first the pods that kubelets reject, then where all others go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.exports.outcomes import PODS, StyledWord, brief_rejection, rejection_words
from cpuctl.exports.wording import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Refusal
    from cpuctl.answers.fleet import DaemonShare, FleetDaemonSet, FleetPlan, FleetPod

_LOOKS = {**PODS, "Pending": StyledWord("pending", "yellow")}
_ROWS = 100
"""Pods of a table; beyond that only a summary by node is read."""


def blocks(document: FleetPlan, *, wide: bool) -> Iterator[Block]:
    """Lay out a plan; *wide* shows every pod, however many there are."""
    pods = document["pods"]
    if lines := [line for group in _alike(pods) for line in _trouble(group)]:
        yield Lines(tuple(lines))
    if daemons := [line for each in document["daemonSets"] for line in _daemon_set(each)]:
        yield Lines(tuple(daemons))
    if pods:
        shown = pods if wide else pods[:_ROWS]
        yield _table(shown)
    yield Lines(tuple(_closing(document, wide=wide)))


def _alike(pods: Sequence[FleetPod]) -> Iterator[list[FleetPod]]:
    """Put pods together that are not admitted for the same reason."""
    groups: dict[str, list[FleetPod]] = {}
    for pod in pods:
        if pod["outcome"] != "Admitted":
            groups.setdefault(f"{pod['owner']} {_why(pod)}", []).append(pod)
    yield from groups.values()


def _why(pod: FleetPod) -> str:
    return f"on {pod['node']} {_reason(pod)}" if pod["node"] else _reason(pod)


def _reason(pod: FleetPod | DaemonShare) -> str:
    if pod["outcome"] == "Pending":
        return f"stays Pending: {pod['message']}"
    return f"{PODS[pod['outcome']].word}: {rejection_words(_refusal(pod))}"


def _refusal(pod: FleetPod | DaemonShare) -> Refusal:
    # Its outcome is neither Admitted nor Pending: it has the members of a refusal.
    return cast("Refusal", pod)


def _trouble(pods: Sequence[FleetPod]) -> Iterator[Cell]:
    first = pods[0]
    look = _LOOKS[first["outcome"]]
    yield Cell(f"{few([_name(pod) for pod in pods])}: {_why(first)}", look.style)
    if first["replacement"]:
        yield Cell(f"  {first['replacement']}")
    if fits := first.get("fits"):
        where = f" ({few(fits['nodes'], fits['count'])})" if fits["nodes"] else ""
        yield Cell(f"  would be admitted on {fits['count']} of {counted(fits['tried'], 'node')}{where}")


def _daemon_set(daemon_set: FleetDaemonSet) -> Iterator[Cell]:
    """Tell in one line on how many nodes it runs, and below it which nodes do not take its pod, and why."""
    counts = dict.fromkeys(("Admitted", *_LOOKS), 0)
    for share in daemon_set["shares"]:
        counts[share["outcome"]] += share["count"]
    parts = [
        f"{count} {_LOOKS[outcome].word}"
        for outcome, count in counts.items()
        if count or outcome == "Admitted"
    ]
    for names, words in ((daemon_set["running"], "running already"), (daemon_set["leftOut"], "left out")):
        if names:
            parts.append(f"{len(names)} {words} ({few(names)})")
    yield Cell(
        f"DaemonSet {daemon_set['namespace']}/{daemon_set['name']}, "
        f"{counted(sum(counts.values()), 'node')}: {', '.join(parts)}"
    )
    for share in daemon_set["shares"]:
        if share["outcome"] != "Admitted":
            yield Cell(f"  {few(share['nodes'])}: {_reason(share)}", _LOOKS[share["outcome"]].style)


def _name(pod: FleetPod) -> str:
    return f"{pod['namespace']}/{pod['name']}"


def _table(pods: Sequence[FleetPod]) -> Table:
    columns = tuple(Column(name) for name in ("POD", "NODE", "OUTCOME", "CPUS"))
    return Table(columns, tuple(_row(pod) for pod in pods))


def _row(pod: FleetPod) -> tuple[Cell, ...]:
    look = _LOOKS[pod["outcome"]]
    word = look.word if pod["outcome"] in ("Admitted", "Pending") else brief_rejection(_refusal(pod))
    cpus = ", ".join(f"{name} {cpus}" if len(pod["cpus"]) > 1 else cpus for name, cpus in pod["cpus"].items())
    return Cell(_name(pod)), Cell(pod["node"] or "-"), Cell(word, look.style), Cell(cpus or "-")


def _closing(document: FleetPlan, *, wide: bool) -> Iterator[Cell]:
    summary = document["summary"]
    if left := max(len(document["pods"]) - _ROWS, 0) if not wide else 0:
        yield Cell(f"... and {counted(left, 'pod')} more (-o wide)")
    if repeat := document.get("repeat"):
        stop = repeat["stop"]
        end = f", then {_name(stop)} {_why(stop)}" if stop else ""
        yield Cell(f"{counted(repeat['copies'], 'copy').replace('copys', 'copies')} admitted{end}")
    parts = [f"{summary['admitted']} admitted"]
    for count, word in (
        (summary["pending"], "pending"),
        (summary["rejected"], "rejected"),
        (summary["undetermined"], "undetermined"),
    ):
        if count:
            parts.append(f"{count} {word}")
    unreadable = f", {summary['unreadable']} unreadable" if summary["unreadable"] else ""
    yield Cell(
        f"{counted(summary['pods'], 'pod')} on {counted(summary['nodes'], 'node')}{unreadable}: "
        f"{', '.join(parts)}"
    )
