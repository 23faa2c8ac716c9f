"""Layout of a resize: the verdict, one row per container, its CPUs core by core, the consequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from cpuctl import option_names
from cpuctl.cli.render.blocks import Block, Box, Cell, Column, Flow, Lines, Table, next_cell, without_sudo
from cpuctl.cli.render.findings import warning_line
from cpuctl.cli.render.layouts.plan import node_lines
from cpuctl.cli.render.tables.downward import changed_table
from cpuctl.cli.render.tables.start import start_block
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import full_name
from cpuctl.exports.outcomes import RESIZES, splits_core
from cpuctl.phrases import all_of, byte_text, counted

if TYPE_CHECKING:
    from cpuctl.answers.decisions import HintRound
    from cpuctl.answers.resize import (
        Allocator,
        Cgroup,
        Core,
        DecidedResize,
        Reference,
        Resize,
        ResizedContainer,
        ResizedCPUs,
        ResizeDecision,
        ResizedPod,
        Resources,
        Scheduled,
        States,
    )


_RESOURCES: Final = ("cpu", "memory")
_READINGS = {"kep": "as described in the KEP", "reference": "as its reference implementation does"}
_NEXT = (
    ("cpuctl ", "to see what is free and what else fits"),
    ("kubectl apply ", "to roll out these resources in the pod template of the workload"),
    ("kubectl edit ", "to change these resources in the owner of the pod"),
)
_RECREATED = "to recreate the pod with these resources"


def blocks(document: Resize, *, wide: bool) -> Iterator[Block]:
    """Lay out resizes."""
    if "node" not in document:
        yield start_block(document["start"], check=document.get("next", ""))
        return
    yield Lines.of(*node_lines(document["node"], document["kubelet"]), _allocator(document["allocator"]))
    for pod in document["pods"]:
        yield from _pod(pod, document["cores"], wide=wide)
    if marks := legend(document["pods"], document["cores"]):
        yield Lines.of("   ".join(marks))
    yield Lines(tuple(_closing(document, wide=wide)))
    if command := document.get("next"):
        named = without_sudo(command)
        what = next((text for words, text in _NEXT if named.startswith(words)), _RECREATED)
        meaning = (Cell("FILE: the manifest, with the new resources"),) if "-f FILE" in command else ()
        yield Lines((next_cell(what, command), *meaning))


def _allocator(allocator: Allocator) -> str:
    if not allocator["available"]:
        return f"Exclusive CPUs do not change: {allocator['whyNot']}"
    reading = _READINGS[allocator["semantics"]]
    return f"Exclusive CPUs change: {allocator['source']} {allocator['status']}, {reading}"


def _pod(pod: ResizedPod, cores: Sequence[Core], *, wide: bool) -> Iterator[Block]:
    yield Lines(tuple(_verdict(pod)))
    yield resources_table(pod)
    yield from pictures(pod, cores)
    if lines := tuple(_follows(pod)):
        yield Lines(lines)
    if pod["downwardAPI"]:
        yield changed_table(pod["downwardAPI"])
    if wide:
        yield cgroup_table(pod)
        yield from (table for table in (hint_table(pod), step_table(pod)) if table.rows)


def _verdict(pod: ResizedPod) -> Iterator[Cell]:
    """Show the outcome, and the reason with its source."""
    word, style = RESIZES[pod["outcome"]]
    again = f", after {pod['attempts']} attempts" if pod["attempts"] > 1 else ""
    yield Cell(f"{full_name(pod)}: {word}{again}", style)
    if pod["message"]:
        yield Cell(reason_text(pod), style)
    if pod["fix"]:
        yield Cell(f"  fix: {pod['fix']}")
        yield Cell(f"  (and the same {all_of(_places_of_gates(pod))})")
    if splits_core(pod["details"]):
        per_core = pod["details"]["cpusPerCore"]
        more = pod["details"]["requested"] // per_core * per_core + per_core
        yield Cell(f"  fix: request a multiple of {per_core} CPUs, such as {more}")
    yield from (Cell(line) for line in departure_lines(pod))


def _places_of_gates(pod: ResizedPod) -> Iterator[str]:
    """Name the settings of a cluster that the options in a fix stand for."""
    options = (pod["fix"] or "").split()
    if option_names.API_SERVER_GATES in options or (pod["message"] or "").startswith("the API server "):
        yield "in the API server's --feature-gates"
    if option_names.FEATURE_GATES in options:
        yield "under featureGates in the kubelet's configuration"


def reason_text(decision: ResizeDecision) -> str:
    """Show the reason in the words of the component that decided; empty without a reason."""
    where = f"{decision['container']}: " if decision["container"] else ""
    reason = f"{decision['reason']}: " if decision["reason"] else ""
    return f"{where}{reason}{decision['message']}" if decision["message"] else ""


def departure_lines(decision: ResizeDecision) -> Iterator[str]:
    """Show the KEP's rule, and what its reference implementation does instead."""
    for departure in decision["departures"]:
        yield f"KEP-5554 rule: {departure}"
    if decision["reference"] is not None:
        yield f"The reference implementation: {_reference(decision['reference'], decision['message'])}"


def _reference(answer: Reference, message: str | None) -> str:
    word = RESIZES[answer["outcome"]].word
    if answer["message"] and answer["message"] == message:
        return word
    if answer["message"]:
        reason = f"{answer['reason']}: " if answer["reason"] else ""
        return f"{word}, {reason}{answer['message']}"
    cpus = ", ".join(f"{name} {held or 'shared'}" for name, held in answer["cpus"].items())
    return f"{word}, {cpus}" if cpus else word


def _follows(pod: ResizedPod) -> Iterator[Cell]:
    for condition in pod["conditions"]:
        reason = f", reason {condition['reason']}" if condition["reason"] else ""
        generation = condition["observedGeneration"]
        observed = f", observed generation {generation}" if generation is not None else ""
        yield Cell(f"Condition {condition['type']}={condition['status']}{reason}{observed}")
    if pod["statusResize"]:
        yield Cell(f"status.resize: {pod['statusResize']}")
    yield from _counts(pod["scheduler"])
    yield from _sharing(pod)
    for container in pod["containers"]:
        cpus = container["cpus"]
        if cpus is not None and cpus["releasedAfter"]:
            after = cpus["releasedAfter"]
            yield Cell(f"{container['name']} keeps CPUs {cpus['removed']} for at least {after} (KEP-6122)")


def _sharing(pod: ResizedPod) -> Iterator[Cell]:
    """Explain why containers share CPUs, each reason once."""
    sharing: dict[str, list[str]] = {}
    for container in pod["containers"]:
        if why := container["whyShared"]:
            pool = "in its pod's pool" if container["isolation"] == "pod" else "shared"
            sharing.setdefault(f"{pool}, because {why}", []).append(container["name"])
    for reason, names in sharing.items():
        yield Cell(f"{', '.join(names)}: {reason}")


def _counts(scheduler: Scheduled) -> Iterator[Cell]:
    """Show what the scheduler counts, resource by resource, if that changes."""
    times = (scheduler["before"], scheduler["during"], scheduler["after"])
    for resource in _RESOURCES:
        before, meanwhile, settled = (amounts.get(resource, "none") for amounts in times)
        if before != meanwhile or before != settled:
            yield Cell(
                f"Counted by the scheduler: {resource} {before} before, {meanwhile} during, {settled} after"
            )


def _closing(document: DecidedResize, *, wide: bool) -> Iterator[Cell]:
    for warning in document["warnings"]:
        yield warning_line(warning)
    if document["retryOrder"]:
        yield Cell(f"Retry order: {', '.join(document['retryOrder'])}")
    if not any(each["isolation"] for pod in document["pods"] for each in pod["containers"]):
        return  # no pod is ever stored: there is nothing that the pool could follow
    after = document["after"]
    pool = f"{after['sharedPool'] or 'empty'} ({counted(after['sharedPoolSize'], 'CPU')})"
    yield Cell(f"Shared pool after the resize: {pool}")
    if wide and after["cpuManagerState"]:
        yield Cell(f"cpu_manager_state after the resize: {after['cpuManagerState']}")


_OF_CPUS: Final = ("GUARANTEED", "BEFORE", "AFTER", "ADDED", "REMOVED")
_COLUMNS: Final = ("CONTAINER", "CPU", "MEMORY", "RESTART", *_OF_CPUS)
_NO_CELL: Final = Cell("")
_ARROW = " -> "
_LIFTED = -1


def resources_table(pod: ResizedPod) -> Table:
    """Show one row per container: the changes to its resources and CPUs; empty columns are left out."""
    granted = pod["outcome"] in ("Admitted", "NoEffect")
    rows = [_row(container, granted=granted) for container in pod["containers"]]
    if pod["podLevel"] is not None:
        rows.insert(0, {"CONTAINER": Cell("(pod)"), **_amounts(pod["podLevel"]["resources"])})
    used = [name for name in _COLUMNS if any(row.get(name, _NO_CELL).text not in ("", "-") for row in rows)]
    return Table(
        tuple(map(Column, used)), tuple(tuple(row.get(name, _NO_CELL) for name in used) for row in rows)
    )


def _row(container: ResizedContainer, *, granted: bool) -> dict[str, Cell]:
    row = {"CONTAINER": Cell(container["name"]), **_amounts(container["resources"])}
    if granted and container["changed"]:
        row["RESTART"] = Cell("yes", "yellow") if container["restarts"] else Cell("no")
    cpus = container["cpus"]
    if container["isolation"] is None:
        return row | {"BEFORE": Cell("-"), "AFTER": Cell("-")}
    if cpus is None:
        return row | {"BEFORE": Cell("shared"), "AFTER": Cell("shared")}
    if container["isolation"] == "pod":
        # KEP-5526: the state file has CPUs for it, but they are not exclusive.
        return row | {"BEFORE": _in_pool(cpus["before"]), "AFTER": _in_pool(cpus["after"])}
    return row | {
        "GUARANTEED": Cell(cpus["baseline"] or "-"),
        "BEFORE": Cell(cpus["before"] or "shared"),
        "AFTER": Cell(cpus["after"] or "shared", "" if cpus["matchesRequest"] else "yellow"),
        "ADDED": Cell(cpus["added"] or "-", "green" if cpus["added"] else ""),
        "REMOVED": Cell(cpus["removed"] or "-", "red" if cpus["removed"] else ""),
    }


def _in_pool(cpus: str | None) -> Cell:
    return Cell(f"pod: {cpus}", "cyan") if cpus else Cell("shared")


def _amounts(resources: States) -> dict[str, Cell]:
    return {name.upper(): _change(resources, name) for name in _RESOURCES}


def _change(resources: States, name: Literal["cpu", "memory"]) -> Cell:
    """Write one resource, ``before -> after`` if it changes."""
    before, after = (_pair(state, name) for state in (resources["before"], resources["requested"]))
    return Cell(before if before == after else f"{before}{_ARROW}{after}")


def _pair(state: Resources, name: Literal["cpu", "memory"]) -> str:
    request, limit = state["requests"].get(name), state["limits"].get(name)
    if request == limit:
        return request or "-"
    return f"{request or '-'}/{limit or '-'}"


def cgroup_table(pod: ResizedPod) -> Table:
    """Show what the kubelet writes into the cgroups of the pod and its containers."""
    columns = (Column("CGROUP"), Column("CPU.SHARES"), Column("CPU QUOTA"), Column("MEMORY LIMIT"))
    return Table(columns, tuple(_cgroup_rows(pod)))


def _cgroup_rows(pod: ResizedPod) -> Iterator[tuple[Cell, ...]]:
    for name, cgroup in [("(pod)", pod["cgroup"]), *((c["name"], c["cgroup"]) for c in pod["containers"])]:
        yield (
            Cell(name),
            *(
                Cell(_both(write(cgroup["before"]), write(cgroup["after"])))
                for write in (_shares, _quota, _memory)
            ),
        )


def _both(before: str, after: str) -> str:
    return before if before == after else f"{before}{_ARROW}{after}"


def _shares(values: Cgroup) -> str:
    return str(values["cpuShares"])


def _quota(values: Cgroup) -> str:
    quota = values["cpuQuota"]
    if quota is None:
        return "none"
    return "removed" if quota == _LIFTED else f"{quota}/{values['cpuPeriod']}"


def _memory(values: Cgroup) -> str:
    return "none" if values["memoryLimit"] is None else byte_text(values["memoryLimit"])


def step_table(pod: ResizedPod) -> Table:
    """Show step by step how the allocator chose a container's CPUs."""
    rows = (
        (Cell(container["name"]), Cell(step["rule"]), Cell(step["cpus"]))
        for container in pod["containers"]
        if container["cpus"] is not None
        for step in container["cpus"]["steps"]
    )
    return Table((Column("CHOSEN FOR"), Column("RULE"), Column("CPUS")), tuple(rows))


def hint_table(pod: ResizedPod) -> Table:
    """Show every round of the Topology Manager."""
    columns = (Column("HINTS FOR"), Column("NUMA NODES"), Column("PREFERRED"), Column("ADMITTED"))
    return Table(columns, tuple(_hint_row(each) for each in pod["hints"]))


def _hint_row(hint_round: HintRound) -> tuple[Cell, ...]:
    who = Cell(hint_round["container"] or "(pod)")
    if "outcome" in hint_round:
        return who, Cell("any"), Cell("no"), Cell("no")
    return (
        who,
        Cell("any" if hint_round["numaNodes"] is None else hint_round["numaNodes"]),
        Cell("yes" if hint_round["preferred"] else "no"),
        Cell("yes" if hint_round["admitted"] else "no"),
    )


_MARKS = {
    "*": ("guaranteed at admission", "bold green"),
    "=": ("kept", "green"),
    "+": ("added", "cyan"),
    "-": ("removed", "red"),
}
_FOREIGN = ("", "dim")


def pictures(pod: ResizedPod, cores: Sequence[Core]) -> Iterator[Box]:
    """Draw every container whose CPUs change, NUMA node by NUMA node."""
    for container, cpus in _drawn(pod):
        marks = _marks(cpus)
        nodes = [list(group) for _, group in groupby(cores, key=lambda core: core["numaNode"])]
        yield Box(
            container["name"],
            tuple(
                Box(f"NUMA node {node[0]['numaNode']}", (_flow(node, marks),))
                for node in nodes
                if any(cpu in marks for core in node for cpu in core["cpus"])
            ),
        )


def _drawn(pod: ResizedPod) -> Iterator[tuple[ResizedContainer, ResizedCPUs]]:
    for container in pod["containers"]:
        cpus = container["cpus"]
        if cpus is not None and (_requests_cpus(container) or cpus["before"] != cpus["after"]):
            yield container, cpus


def _requests_cpus(container: ResizedContainer) -> bool:
    resources = container["resources"]
    return resources["before"]["requests"].get("cpu") != resources["requested"]["requests"].get("cpu")


def _marks(cpus: ResizedCPUs) -> dict[int, str]:
    """Return the mark of every CPU that the container has, had or is guaranteed."""
    marks: dict[int, str] = {}
    for mark, text in (("=", cpus["kept"]), ("+", cpus["added"]), ("-", cpus["removed"])):
        marks |= dict.fromkeys(CPUSet.parse(text), mark)
    guaranteed = CPUSet.parse(cpus["baseline"] or "")
    return marks | {cpu: "*" for cpu in guaranteed if marks.get(cpu) == "="}


def _flow(cores: Iterable[Core], marks: Mapping[int, str]) -> Flow:
    numbered = [(core, [(cpu, marks.get(cpu, "")) for cpu in core["cpus"]]) for core in cores]
    width = max(len(str(cpu)) for _, cpus in numbered for cpu, _ in cpus)
    return Flow(tuple(_core(cpus, width) for _, cpus in numbered))


def _core(cpus: Iterable[tuple[int, str]], width: int) -> tuple[Cell, ...]:
    cells = (Cell(f"{cpu:>{width}}{mark or ' '}", _MARKS.get(mark, _FOREIGN)[1]) for cpu, mark in cpus)
    return (Cell("["), *cells, Cell("]"))


def legend(pods: Iterable[ResizedPod], cores: Sequence[Core]) -> list[str]:
    """Explain the marks in use."""
    used = {mark for pod in pods for _, cpus in _drawn(pod) for mark in _marks(cpus).values()}
    return [f"{mark} {meaning}" for mark, (meaning, _) in _MARKS.items() if mark in used] if cores else []
