"""Layout of two plans side by side: the settings, the changes, and the totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_line
from cpuctl.cli.render.tables.held import kept_by_rejected, kept_cpus
from cpuctl.cli.render.tables.start import next_of_start, remedy_cells
from cpuctl.exports.answer_text import full_name
from cpuctl.exports.outcomes import PODS, rejection_text, start_sentence, what_if_sentence
from cpuctl.phrases import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.capacity import Capacity
    from cpuctl.answers.decisions import Verdict
    from cpuctl.answers.dra import PodClaim
    from cpuctl.answers.plan import (
        ComparedPod,
        ComparisonSummary,
        Placement,
        PlanComparison,
        ReleaseDifference,
        Side,
    )

_SIDES: Final = ("a", "b")
_ONLY: Final = ("onlyA", "onlyB")
_POLICIES: Mapping[Literal["cpuManagerPolicy", "topologyManagerPolicy", "memoryManagerPolicy"], str] = {
    "cpuManagerPolicy": "CPU",
    "topologyManagerPolicy": "topology",
    "memoryManagerPolicy": "memory",
}
_ALIGNED: Mapping[Literal["core", "uncoreCache", "numaNode", "socket"], str] = {
    "core": "whole cores",
    "uncoreCache": "one L3",
    "numaNode": "one NUMA node",
    "socket": "one socket",
}
_ALWAYS: Final = 4
"""The first columns, which are shown even if they are empty."""
_NONE_SHARED = "0 of 0"
_SCATTERED: Mapping[Literal["numaNode", "uncoreCache", "core"], str] = {
    "numaNode": "NUMA nodes",
    "uncoreCache": "L3",
    "core": "cores",
}


def blocks(document: PlanComparison, *, wide: bool) -> Iterator[Block]:
    """Lay out a comparison; *wide* also shows the pods that are the same on both sides."""
    yield Lines(tuple(line for name in _SIDES for line in _side(name, document[name])))
    if pods := [pod for pod in document["pods"] if wide or pod["changed"]]:
        yield _pods(pods)
    if refusals := tuple(_refusals(document)):
        yield Lines(refusals)
    if differences := document.get("differences"):
        yield Lines.of(*(_difference(each) for each in differences))
    if totals := tuple(_totals(document)):
        yield Table((Column("TOTAL"), Column("A", "right"), Column("B", "right")), totals)
    if any("totals" in document[name] for name in _SIDES):
        yield Lines.of(*_kept(document), *_pools(document), _closing(document))
    if failed := tuple(_next_of_failed(document)):
        yield Lines(failed)
        return
    for name, side in ((name, document[name]) for name in _SIDES):
        if "totals" in side and (explain := side.get("explain")):
            yield next_line(f"to see why and what would help on side {name.upper()}", explain)
            return


def _next_of_failed(document: PlanComparison) -> Iterator[Cell]:
    for name in _SIDES:
        side = document[name]
        if "totals" not in side and "next" in side:
            yield next_of_start(side["start"], side["next"], f" on side {name.upper()}")


def _side(name: str, side: Side) -> Iterator[Cell]:
    what = f"{name.upper()}: {side['settings'] or 'the current configuration'}"
    if "totals" not in side:
        yield Cell(f"{what}. {start_sentence(side['start'], 'The kubelet')}", "red")
        yield from remedy_cells(side["start"])
        return
    kubelet = side["kubelet"]
    policies = ", ".join(f"{word} {kubelet[key]}" for key, word in _POLICIES.items())
    yield Cell(f"{what} (kubelet {kubelet['version']}; policies: {policies})")
    if "policy" in kubelet:
        yield Cell(what_if_sentence(kubelet["policy"]))


def _pods(pods: Sequence[ComparedPod]) -> Table:
    """Show the exclusive CPUs, and whether memory or devices differ; empty columns are left out."""
    names = ["POD", "CONTAINER", "A", "B", "ONLY A", "ONLY B", "ALSO CHANGED"]
    rows = [row for pod in pods for row in _pod(pod)]
    used = [place for place in range(len(names)) if place < _ALWAYS or any(row[place].text for row in rows)]
    shown = tuple(tuple(row[place] for place in used) for row in rows)
    return Table(tuple(Column(names[place]) for place in used), shown)


def _pod(pod: ComparedPod) -> Iterator[tuple[Cell, ...]]:
    """Show one row per container, or one row for a pod without containers on either side."""
    name = Cell(full_name(pod))
    if not pod["containers"]:
        yield (name, Cell(""), *(_runs(pod[side], None) for side in _SIDES), Cell(""), Cell(""), Cell(""))
    for container in pod["containers"]:
        sides = (_runs(pod[side], container[side]) for side in _SIDES)
        moved = (Cell(container[key], "yellow") for key in _ONLY)
        others = ", ".join(what for what in container["moves"] if what not in ("cpus", "podPool"))
        yield (name, Cell(container["name"]), *sides, *moved, Cell(others, "yellow"))
        name = Cell("")
    for claim in pod.get("claims", ()):
        had, has = (_claimed(claim[side]) for side in _SIDES)
        moved = (Cell(claim[key], "yellow") for key in _ONLY)
        others = "devices" if claim["moves"] and not (claim["onlyA"] or claim["onlyB"]) else ""
        yield (name, Cell(f"claim {claim['name']}"), had, has, *moved, Cell(others, "yellow"))


def _claimed(claim: PodClaim | None) -> Cell:
    """Show the CPUs of a claim, or that they are unknown; claims for other devices have none."""
    if claim is None:
        return Cell("-")
    if "whyUnknown" in claim:
        return Cell("unknown", "yellow")
    return Cell(claim["cpus"] or few([each["device"] for each in claim["devices"]]), "cyan")


def _runs(verdict: Verdict | None, placement: Placement | None) -> Cell:
    if verdict is None:
        return Cell("-")
    if verdict["outcome"] != "Admitted":
        return Cell(*PODS[verdict["outcome"]])
    if placement is None or placement["isolation"] == "host":
        return Cell("shared")
    if placement["isolation"] == "pod":
        return Cell(f"pod: {placement['cpus']}", "cyan")
    return Cell(placement["cpus"], "green")


def _refusals(document: PlanComparison) -> Iterator[Cell]:
    """Report why pods are rejected, each reason once per side, and which pods share exclusive CPUs."""
    for side in _SIDES:
        reasons: dict[str, list[str]] = {}
        for pod in document["pods"]:
            verdict = pod[side]
            if verdict is not None and verdict["outcome"] != "Admitted":
                reasons.setdefault(rejection_text(verdict), []).append(full_name(pod))
            elif "claimProblems" in pod and (problem := pod["claimProblems"][side]):
                reasons.setdefault(problem, []).append(full_name(pod))
        for why, names in reasons.items():
            yield Cell(f"{side.upper()}: {few(names)}: {why}", "red")
        for warning in document[side].get("warnings", ()):
            if "takenCPUs" in warning:
                yield Cell(f"{side.upper()}: warning: {warning['message']}", "yellow")


def _difference(difference: ReleaseDifference) -> str:
    uncertain = "" if difference["status"] == "verified" else ", not verified"
    source = difference["source"]
    known = f"since {difference['since']}; {'kubernetes/kubernetes#' * source.isdecimal()}{source}{uncertain}"
    return f"Seen in these pods ({known}): A: {difference['a']}; B: {difference['b']}"


def _totals(document: PlanComparison) -> Iterator[tuple[Cell, ...]]:
    """Show every figure that at least one side has: a kubelet that does not start has none.

    If no container has exclusive CPUs, their placement is omitted.
    """
    one, other = (_figures(document[side]) for side in _SIDES)
    for name in one | other:
        texts = one.get(name, "-"), other.get(name, "-")
        if not set(texts) <= {"-", _NONE_SHARED} or _NONE_SHARED not in texts:
            yield Cell(name), *(Cell("-" if text == _NONE_SHARED else text) for text in texts)


def _figures(side: Side) -> dict[str, str]:
    if "totals" not in side:
        return {}
    summary, totals = side["summary"], side["totals"]
    figures = {
        "pods admitted": str(summary["admitted"]),
        "pods not admitted": str(summary["pods"] - summary["admitted"] - summary["undetermined"]),
        **({"pods undetermined": str(summary["undetermined"])} if summary["undetermined"] else {}),
        "exclusive CPUs": str(totals["exclusiveCPUs"]),
        "CPUs still free for exclusive use": str(totals["free"]),
    }
    for level, words in _ALIGNED.items():
        together, all_ = totals["aligned"][level], totals["exclusiveContainers"]
        figures[f"containers on {words}"] = "-" if together is None else f"{together} of {all_}"
    if (fragmentation := side["fragmentation"]) is not None:
        for part, words in _SCATTERED.items():
            scatter = fragmentation[part]
            figures[f"fragmentation, {words}"] = f"{scatter['percent']}%" if scatter else "-"
    if "repeat" in side:
        figures["copies of all pods"] = _known(side["repeat"]["fitted"])
    return figures | _headroom(side["capacity"]) if "capacity" in side else figures


def _headroom(capacity: Capacity) -> dict[str, str]:
    figures = {f"more of {few(each['pods'])}": _known(each["fits"]) for each in capacity["copies"]}
    for each in capacity["largestRequests"]:
        if each["current"] and "cpus" in each:
            figures["largest request admitted"] = str(each["cpus"])
    return figures


def _known(count: int | None) -> str:
    return "-" if count is None else str(count)


def _kept(document: PlanComparison) -> Iterator[str]:
    """Report exclusive CPUs of rejected pods, which count in the totals; the side only if it matters."""
    one, other = (list(_kept_on(document[name])) for name in _SIDES)
    yield from (text for text in one if text in other)
    yield from (f"A: {text}" for text in one if text not in other)
    yield from (f"B: {text}" for text in other if text not in one)


def _kept_on(side: Side) -> Iterator[str]:
    return kept_by_rejected(side, kept_cpus) if "totals" in side else iter(())


def _pools(document: PlanComparison) -> Iterator[str]:
    """Show the node's shared pools if they differ; a side that does not start has none."""
    if document["summary"]["sharedPoolDiffers"]:
        for name in _SIDES:
            side = document[name]
            if "totals" in side:
                yield f"Shared pool of {name.upper()}: {side['totals']['sharedPool'] or 'empty'}"


def _closing(document: PlanComparison) -> str:
    summary = document["summary"]
    unknown, found = summary["undetermined"], _found(summary, document["pods"])
    if not unknown:
        return found
    what = f"The result for {counted(unknown, 'pod')} is unknown"
    if not summary["changed"] and not summary["sharedPoolDiffers"]:
        known = summary["pods"] - unknown
        return f"{what}; no other differences: {counted(known, 'pod')}" if known else what
    return f"{what}. {found}"


def _is_admitted(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict["outcome"] == "Admitted"


def _found(summary: ComparisonSummary, pods: Sequence[ComparedPod]) -> str:
    pool = summary["sharedPoolDiffers"]
    if not summary["changed"] and not pool:
        return f"No pods differ: {counted(summary['pods'], 'pod')}, the same on both sides"
    sharing = "different shared pool"
    if summary["sharing"]:
        sharing += f" for {counted(summary['sharing'], 'container')}"
    if not summary["changed"]:
        return f"Only the shared pool differs: {sharing}; {counted(summary['pods'], 'pod')} unchanged"
    found = []
    if once := sum(
        pod["verdictDiffers"] and _is_admitted(pod["a"]) != _is_admitted(pod["b"]) for pod in pods
    ):
        found.append(f"{once} admitted on one side only")
    if others := summary["verdicts"] - once:
        found.append(f"different outcome for {counted(others, 'pod')}")
    if summary["containers"]:
        found.append(f"resources of {counted(summary['containers'], 'container')}")
    if moved := summary.get("claims", 0):
        found.append(f"resources of {counted(moved, 'claim')}")
    found += [sharing] if pool else []
    return f"Pods that differ: {summary['changed']} of {summary['pods']} ({', '.join(found)})"
