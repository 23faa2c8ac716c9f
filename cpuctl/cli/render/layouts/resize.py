"""How a resize looks to people: the verdict, one row a container, its CPUs core by core, what follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from cpuctl.cli.render.blocks import Block, Cell, Lines
from cpuctl.cli.render.findings import warning_line
from cpuctl.cli.render.layouts.plan import node_lines
from cpuctl.cli.render.tables.downward import changed_table
from cpuctl.cli.render.tables.resize import (
    cgroup_table,
    hint_table,
    legend,
    pictures,
    resources_table,
    step_table,
)
from cpuctl.exports.outcomes import RESIZES, start_look
from cpuctl.exports.wording import counted

if TYPE_CHECKING:
    from cpuctl.answers.resize import (
        Allocator,
        Core,
        DecidedResize,
        Reference,
        Resize,
        ResizeDecision,
        ResizedPod,
        Scheduled,
    )

_RESOURCES: Final = ("cpu", "memory")
_READINGS = {"kep": "as the KEP says", "reference": "as its reference implementation does"}


def blocks(document: Resize, *, wide: bool) -> Iterator[Block]:
    """Lay out resizes."""
    if "node" not in document:
        yield Lines((Cell(*start_look(document["start"], "The kubelet")),))
        return
    yield Lines.of(*node_lines(document["node"], document["kubelet"]), _allocator(document["allocator"]))
    for pod in document["pods"]:
        yield from _pod(pod, document["cores"], wide=wide)
    if marks := legend(document["pods"], document["cores"]):
        yield Lines.of("   ".join(marks))
    yield Lines(tuple(_closing(document, wide=wide)))


def _allocator(allocator: Allocator) -> str:
    if not allocator["available"]:
        return f"Exclusive CPUs stay as they are: {allocator['whyNot']}"
    reading = _READINGS[allocator["semantics"]]
    return f"Exclusive CPUs follow: {allocator['source']} {allocator['standing']}, {reading}"


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
    """Say what becomes of it, and in whose words why."""
    word, style = RESIZES[pod["outcome"]]
    again = f", after {pod['attempts']} attempts" if pod["attempts"] > 1 else ""
    yield Cell(f"{pod['namespace']}/{pod['name']}: {word}{again}", style)
    if pod["message"]:
        yield Cell(reason_text(pod), style)
    if pod["fix"]:
        yield Cell(f"  fix: {pod['fix']}")
        yield Cell("  (and the same under featureGates in the kubelet's configuration)")
    yield from (Cell(line) for line in departure_lines(pod))


def reason_text(decision: ResizeDecision) -> str:
    """Say why, in the words of who decided; nothing where there is none."""
    where = f"{decision['container']}: " if decision["container"] else ""
    reason = f"{decision['reason']}: " if decision["reason"] else ""
    return f"{where}{reason}{decision['message']}" if decision["message"] else ""


def departure_lines(decision: ResizeDecision) -> Iterator[str]:
    """Name what the KEP wants, and what its reference implementation does instead."""
    for departure in decision["departures"]:
        yield f"KEP-5554 decides: {departure}"
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
        seen = f", observed generation {generation}" if generation is not None else ""
        yield Cell(f"Condition {condition['type']}={condition['status']}{reason}{seen}")
    if pod["statusResize"]:
        yield Cell(f"status.resize: {pod['statusResize']}")
    yield from _counts(pod["scheduler"])
    yield from _sharing(pod)
    for container in pod["containers"]:
        cpus = container["cpus"]
        if cpus is not None and cpus["givenUpAfter"]:
            after = cpus["givenUpAfter"]
            yield Cell(f"{container['name']} keeps CPUs {cpus['lost']} for {after} at least (KEP-6122)")


def _sharing(pod: ResizedPod) -> Iterator[Cell]:
    """Say why containers share, each reason once."""
    sharing: dict[str, list[str]] = {}
    for container in pod["containers"]:
        if why := container["whyShared"]:
            pool = "in its pod's pool" if container["isolation"] == "pod" else "shared"
            sharing.setdefault(f"{pool}, because {why}", []).append(container["name"])
    for reason, names in sharing.items():
        yield Cell(f"{', '.join(names)}: {reason}")


def _counts(scheduler: Scheduled) -> Iterator[Cell]:
    """Tell what the scheduler counts, resource by resource, where that changes."""
    times = (scheduler["before"], scheduler["meanwhile"], scheduler["settled"])
    for resource in _RESOURCES:
        before, meanwhile, settled = (amounts.get(resource, "none") for amounts in times)
        if before != meanwhile or before != settled:
            yield Cell(
                f"Counted by the scheduler: {resource} {before}, meanwhile {meanwhile}, then {settled}"
            )


def _closing(document: DecidedResize, *, wide: bool) -> Iterator[Cell]:
    for warning in document["warnings"]:
        yield warning_line(warning)
    if document["retryOrder"]:
        yield Cell(f"Tried again in this order: {', '.join(document['retryOrder'])}")
    if not any(each["isolation"] for pod in document["pods"] for each in pod["containers"]):
        return  # no pod is ever stored: there is nothing that the pool could come after
    after = document["after"]
    pool = f"{after['sharedPool'] or 'empty'} ({counted(after['sharedPoolSize'], 'CPU')})"
    yield Cell(f"Shared pool afterwards: {pool}")
    if wide and after["cpuManagerState"]:
        yield Cell(f"cpu_manager_state afterwards: {after['cpuManagerState']}")
