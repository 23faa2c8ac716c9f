"""Layout of a plan for a fleet: first the pods that kubelets reject, then where all others run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_cell
from cpuctl.cli.render.layouts.fleetlist import (
    hint_lines,
    problems_of,
    record_again,
    running_pods,
    unreadable_hints,
)
from cpuctl.exports.answer_text import full_name
from cpuctl.exports.outcomes import PODS, StyledWord, brief_rejection, rejection_text, what_if_sentence
from cpuctl.phrases import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Rejection
    from cpuctl.answers.fleet_plan import DaemonSetOutcome, FleetDaemonSet, FleetPlan, FleetPod

_STYLES = {**PODS, "Pending": StyledWord("pending", "yellow"), "Scheduled": StyledWord("scheduled", "green")}
_COUNTED: Mapping[Literal["wouldNotStart", "startUndetermined", "unreadable"], str] = {
    "wouldNotStart": "would not start",
    "startUndetermined": "with undetermined start",
    "unreadable": "unreadable",
}
_UNREFUSED = ("Admitted", "Scheduled")
_REASONS = 6
"""The number of reasons for shared CPUs that are shown without ``-o wide``."""
_ROWS = 100
"""The number of pods in a table above which only a summary by node is readable."""


def blocks(document: FleetPlan, *, wide: bool) -> Iterator[Block]:
    """Lay out a plan; *wide* shows every pod, however many there are."""
    pods = document["pods"]
    if "policy" in document:
        yield Lines.of(what_if_sentence(document["policy"]))
    if lines := [line for group in _equivalent(pods) for line in _trouble(group)]:
        yield Lines(tuple(lines))
    if daemons := [line for each in document["daemonSets"] for line in _daemon_set(each)]:
        yield Lines(tuple(daemons))
    if pods:
        shown = pods if wide else pods[:_ROWS]
        yield _table(shown)
        if any("plugin" in pod for pod in shown):
            yield Lines.of(
                "PLUGIN: how many nodes the scheduler plugin filters out, or whether it agrees",
                "with the kubelet.",
            )
        if shared := tuple(_sharing(shown)):
            yield Lines(shared if wide else shared[:_REASONS])
    recorded = [node for node in document["nodes"] if node["source"]]
    if kept := tuple(
        f"no pods planned on {few(names)}: {text}" for text, names in problems_of(recorded).items()
    ):
        yield Lines(tuple(Cell(text, "yellow") for text in kept))
    if hints := tuple(hint_lines(unreadable_hints(recorded))):
        yield Lines.of(*hints)
    yield Lines((*_closing(document, wide=wide), *_next(document)))


def _next(document: FleetPlan) -> Iterator[Cell]:
    """Return the next command if a pod is not admitted, or a node cannot be planned."""
    summary = document["summary"]
    if command := document.get("next"):
        purposes = {
            "cpuctl fleet check ": "to see what to change",
            "cpuctl explain ": "to see why and what would help",
        }
        what = (what for verb, what in purposes.items() if command.startswith(verb))
        yield next_cell(next(what, "to see what each node offers to pods"), command)
        rejected = (pod["node"] for pod in document["pods"] if pod["outcome"] == "Rejected")
        node = next(rejected, None) or "NODE"
        yield from running_pods(command, node)
        if others := document.get("nextAlsoPlans"):
            added = f"That command also includes pods that this plan does not have on {node}"
            yield Cell(f"{added}: {few(others)}")
        if others := document.get("nextLeavesOut"):
            yield Cell(f"That command does not include pods that this plan has on {node}: {few(others)}")
    elif "" in unreadable_hints(document["nodes"]):
        yield record_again()
    elif summary["pending"]:
        yield record_again("on each node, to ask its kubelet as well")


def _equivalent(pods: Sequence[FleetPod]) -> Iterator[list[FleetPod]]:
    """Group pods that are not admitted for the same reason."""
    groups: dict[str, list[FleetPod]] = {}
    for pod in pods:
        if pod["outcome"] not in _UNREFUSED or _differs(pod):
            like = (pod["owner"], _why(pod), _differs(pod), pod["replacement"], pod.get("fits"))
            groups.setdefault(repr(like), []).append(pod)
    yield from groups.values()


def _why(pod: FleetPod, *, several: bool = False) -> str:
    """Say what happens to a pod, or to *several* like it."""
    if pod["outcome"] in _UNREFUSED:
        problem = pod.get("claimProblem", "")
        go, do = ("go", "do") if several else ("goes", "does")
        return f"{go} to {pod['node']}" + (f" and {do} not start: {problem}" if problem else "")
    return _reason(pod, f" on {pod['node']}" if pod["node"] else "")


def _reason(pod: FleetPod | DaemonSetOutcome, where: str = "") -> str:
    if pod["outcome"] == "Pending":
        return f"pending{where}: {pod['message']}"
    if pod["outcome"] in _UNREFUSED:
        return f"{_STYLES[pod['outcome']].word}{where}"
    return f"{PODS[pod['outcome']].word}{where}: {rejection_text(_refusal(pod))}"


def _refusal(pod: FleetPod | DaemonSetOutcome) -> Rejection:
    # Its outcome is neither Admitted nor Pending: it has the fields of a rejection.
    return cast("Rejection", pod)


def _differs(pod: FleetPod) -> str:
    """Show where the scheduler's plugin and the kubelets differ."""
    plugin = pod.get("plugin")
    if plugin is None:
        return ""
    if wrongly := plugin["wronglyFiltered"]:
        messages = " or ".join(sorted({each["message"] for each in plugin["filtered"]}))
        names = few(wrongly["nodes"], wrongly["count"])
        whose = f"({names}) whose {'kubelet' if wrongly['count'] == 1 else 'kubelets'} would"
        return (
            f"the plugin filters out {counted(wrongly['count'], 'node')} {whose} "
            f"admit such a pod ({messages}): {wrongly['why']}"
        )
    if plugin["wronglyPassed"]:
        return f"the plugin accepts {pod['node']}: {plugin['wronglyPassed']}"
    return ""


def _trouble(pods: Sequence[FleetPod]) -> Iterator[Cell]:
    first = pods[0]
    look = _STYLES[first["outcome"]]
    yield Cell(f"{few([full_name(pod) for pod in pods])}: {_why(first, several=len(pods) > 1)}", look.style)
    if differs := _differs(first):
        yield Cell(f"  {differs}")
    if first["replacement"]:
        yield Cell(f"  {first['replacement']}")
    if fits := first.get("fits"):
        where = f" ({few(fits['nodes'], fits['count'])})" if fits["nodes"] else ""
        those = "nodes that pass" if fits["tried"] != 1 else "node that passes"
        of = f"{fits['count']} of {fits['tried']} {those} the scheduler's filters"
        yield Cell(f"  would be admitted on {of}{where}")


def _daemon_set(daemon_set: FleetDaemonSet) -> Iterator[Cell]:
    """Report in one line on how many nodes it runs, and below which nodes reject its pod, and why."""
    counts = dict.fromkeys(("Admitted", *_STYLES), 0)
    for share in daemon_set["outcomes"]:
        counts[share["outcome"]] += share["count"]
    parts = [
        f"{count} {_STYLES[outcome].word}"
        for outcome, count in counts.items()
        if count or outcome == "Admitted"
    ]
    for names, words in ((daemon_set["running"], "already running"), (daemon_set["excluded"], "skipped")):
        if names:
            parts.append(f"{len(names)} {words} ({few(names)})")
    yield Cell(
        f"DaemonSet {full_name(daemon_set)}, {counted(sum(counts.values()), 'node')}: {', '.join(parts)}"
    )
    for share in daemon_set["outcomes"]:
        if share["outcome"] != "Admitted":
            yield Cell(f"  {few(share['nodes'])}: {_reason(share)}", _STYLES[share["outcome"]].style)


def _table(pods: Sequence[FleetPod]) -> Table:
    with_plugin = any("plugin" in pod for pod in pods)
    names = ("POD", "NODE", "OUTCOME", "CPUS", *(("PLUGIN",) if with_plugin else ()))
    return Table(tuple(map(Column, names)), tuple(_row(pod)[: len(names)] for pod in pods))


def _row(pod: FleetPod) -> tuple[Cell, ...]:
    look = _STYLES[pod["outcome"]]
    named = pod["outcome"] in (*_UNREFUSED, "Pending")
    word = look.word if named else brief_rejection(_refusal(pod))
    cpus = ", ".join(f"{name} {cpus}" if len(pod["cpus"]) > 1 else cpus for name, cpus in pod["cpus"].items())
    claims = (f"claim {name}: {cpus or 'unknown'}" for name, cpus in pod.get("claims", {}).items())
    cpus = ", ".join(filter(None, (cpus, *claims)))
    if "claimProblem" in pod:
        word, look = "does not start", _STYLES["Rejected"]
    cpus = cpus or ("shared" if pod["shared"] else "-")
    cells = Cell(full_name(pod)), Cell(pod["node"] or "-"), Cell(word, look.style), Cell(cpus)
    return (*cells, _plugin_cell(pod))


def _sharing(pods: Sequence[FleetPod]) -> Iterator[Cell]:
    """Say why pods have no exclusive CPUs at all, each reason once."""
    reasons: dict[str, dict[str, None]] = {}
    for pod in pods:
        if pod["cpus"] or pod.get("claims"):
            continue
        for why in pod["shared"].values():
            reasons.setdefault(why, {})[full_name(pod)] = None
    yield from (Cell(f"{few(list(names))}: shared, because {why}") for why, names in reasons.items())


def _plugin_cell(pod: FleetPod) -> Cell:
    plugin = pod.get("plugin")
    if plugin is None:
        return Cell("-")
    if plugin["wronglyFiltered"]:
        return Cell(f"wrongly filters out {plugin['wronglyFiltered']['count']}", "yellow")
    if plugin["wronglyPassed"]:
        return Cell("wrongly accepts", "yellow")
    filtered = sum(each["nodes"] for each in plugin["filtered"])
    # No kubelet decided, so there is nothing to agree with.
    nothing = "accepts all" if pod["outcome"] == "Scheduled" else "agrees"
    return Cell(f"filters out {filtered}" if filtered else nothing)


def _closing(document: FleetPlan, *, wide: bool) -> Iterator[Cell]:
    summary = document["summary"]
    if left := max(len(document["pods"]) - _ROWS, 0) if not wide else 0:
        yield Cell(f"... and {counted(left, 'pod')} more (-o wide)")
    if repeat := document.get("repeat"):
        stop = repeat["stop"]
        end = f", then {full_name(stop)}: {_why(stop)}" if stop else ""
        yield Cell(f"{counted(repeat['copies'], 'copy').replace('copys', 'copies')} admitted{end}")
    alone = not any(node["source"] for node in document["nodes"])
    if alone:
        yield Cell("no recordings: only the scheduler's decision, no kubelet was asked")
    if wrongly := summary["wronglyFiltered"]:
        yield Cell(f"pods that the plugin keeps off a node whose kubelet would admit them: {wrongly}")
    if wrongly := summary["wronglyPassed"]:
        yield Cell(f"pods that the plugin allows on a node whose kubelet rejects them: {wrongly}")
    parts = [f"{summary['scheduled']} scheduled" if alone else f"{summary['admitted']} admitted"]
    for count, word in (
        (summary["pending"], "pending"),
        (summary["rejected"], "rejected"),
        (summary["undetermined"], "undetermined"),
    ):
        if count:
            parts.append(f"{count} {word}")
    nodes = [counted(summary["nodes"], "node")]
    nodes += [f"{summary[name]} {words}" for name, words in _COUNTED.items() if summary[name]]
    first = "first copy: " if "repeat" in document else ""
    yield Cell(f"{first}{counted(summary['pods'], 'pod')} on {', '.join(nodes)}: {', '.join(parts)}")
