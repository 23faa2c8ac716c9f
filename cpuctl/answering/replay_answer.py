"""The answer of ``cpuctl replay`` as a plain document (schema: ``cpuctl schema replay``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.plan.nri_answer import linux_answer
from cpuctl.answering.plan.plan_answer import cpu_list
from cpuctl.golang.durations import duration_text
from cpuctl.timeline.model import Timeline
from cpuctl.timeline.report.chart import ChartRow, Span, chart
from cpuctl.timeline.report.runtime_calls import RuntimeCall, RuntimeEvent
from cpuctl.timeline.report.views import (
    Failure,
    containers_view,
    kubelet_view,
    metrics_view,
    pods_view,
    pool_view,
    scheduler_view,
    slis_view,
    state_file_view,
)
from cpuctl.timeline.simulation import Simulation
from cpuctl.timeline.world.entries import HistoryEntry
from cpuctl.timeline.world.scale_downs import ScaleDown
from cpuctl.timeline.world.world import cpus_text

if TYPE_CHECKING:
    from cpuctl.answers import replay as answers
    from cpuctl.answers.nri import NRICall, NRIMatch, NRIReplay, NRIUpdate
    from cpuctl.answers.start import PolicyPart
    from cpuctl.answers.values import Sources


def replay_document(simulation: Simulation, sources: Sources) -> answers.Replay:
    """Describe a replay: all events, the expectations, and the final state."""
    world = simulation.world
    slis = slis_view(world)
    return {
        "apiVersion": API_VERSION,
        "kind": "Replay",
        "sources": sources,
        **about(world.timeline),
        **policy_of(world.timeline),
        "until": duration_text(world.now),
        "entries": [entry_answer(entry) for entry in world.entries],
        "expectations": expectations_answer(simulation),
        "scaleDowns": [_scale_down(each) for each in world.scale_downs.all],
        "slis": slis,
        "chart": [_row(row) for row in chart(simulation.samples, _all_cpus(world.timeline), world.now)],
        "final": {
            "at": duration_text(world.now),
            "kubelet": kubelet_view(world),
            "sharedPool": pool_view(world),
            "containers": containers_view(world),
            "pods": pods_view(world),
            "stateFile": state_file_view(world),
            "scheduler": scheduler_view(world),
            "metrics": metrics_view(world),
            "slis": slis,
        },
    }


def about(timeline: Timeline) -> answers.About:
    """Return the timeline's description of itself."""
    about: answers.About = {"description": timeline.description.strip(), "pods": len(timeline.pods)}
    return {**about, "log": timeline.log} if timeline.log else about


def policy_of(timeline: Timeline) -> PolicyPart:
    """Name the policy that decides in the kubelet's place, if any."""
    if timeline.in_place is None:
        return {}

    from cpuctl.answering.plan.plan_document import policy_part
    from cpuctl.operations.policies import ChosenPolicy

    return policy_part(timeline.in_place) if isinstance(timeline.in_place, ChosenPolicy) else {}


def _all_cpus(timeline: Timeline) -> int:
    return timeline.machine.machine.online.mask


def entry_answer(entry: HistoryEntry) -> answers.Entry:
    """Describe one event."""
    return {
        "at": duration_text(entry.at),
        "nanoseconds": entry.at,
        "what": str(entry.kind),
        "pod": entry.pod,
        "container": entry.container,
        "text": entry.text,
        "details": dict(entry.details),
    }


def expectations_answer(simulation: Simulation) -> answers.Expectations:
    """Count the checked blocks, and list the unexpected values."""
    return {
        "checked": simulation.checked,
        "failures": [failure_answer(failure) for failure in simulation.failures],
    }


def failure_answer(failure: Failure) -> answers.Failure:
    """Describe one unexpected value."""
    return {
        "at": duration_text(failure.at),
        "where": failure.place,
        "what": failure.what,
        "expected": failure.expected,
        "found": failure.found,
    }


def _scale_down(each: ScaleDown) -> answers.ScaleDown:
    return {
        "pod": each.pod,
        "container": each.container,
        "before": cpu_list(each.before),
        "after": cpu_list(each.after),
        "decided": duration_text(each.decided),
        "due": duration_text(each.due),
        "notified": None if each.notified is None else duration_text(each.notified),
        "applied": None if each.applied is None else duration_text(each.applied),
        "exposed": each.exposed,
        "late": each.late,
        "end": each.end.value,
    }


def _row(row: ChartRow) -> answers.ChartRow:
    return {"cpus": cpu_list(row.cpus), "spans": [_span(span) for span in row.spans]}


def _span(span: Span) -> answers.Span:
    return {
        "from": duration_text(span.start),
        "until": duration_text(span.end),
        "nanoseconds": [span.start, span.end],
        "use": span.status.use.value,
        "container": span.status.container,
    }


# The answers of a Node Resource Interface plugin during a timeline (schema: ``nrireplay``).


def nri_replay_document(simulation: Simulation, sources: Sources) -> NRIReplay:
    """Return the answers; the simulation has collected the calls."""
    assert simulation.calls is not None, "it was asked for"
    world = simulation.world
    return {
        "apiVersion": API_VERSION,
        "kind": "NRIReplay",
        "sources": sources,
        **about(world.timeline),
        "until": duration_text(world.now),
        "answers": [_call(each) for each in simulation.calls.calls],
        "expectations": expectations_answer(simulation),
    }


def _call(call: RuntimeCall) -> NRICall:
    answer: NRICall = {
        "at": duration_text(call.at),
        "nanoseconds": call.at,
        "event": call.event.value,
        "update": [_update(pod, name, cpus) for (pod, name), cpus in call.updates.items()],
    }
    if call.event is not RuntimeEvent.UPDATE:
        answer["match"] = _match(call.pod, call.container)
    if call.event is RuntimeEvent.CREATE:
        linux = linux_answer(cpus_text(call.cpus), call.mems)
        answer["adjust"] = {"linux": linux} if linux["resources"]["cpu"] else {}
    return answer


def _update(pod: str, container: str, cpus: int) -> NRIUpdate:
    return {"match": _match(pod, container), "linux": linux_answer(cpus_text(cpus))}


def _match(pod: str, container: str) -> NRIMatch:
    namespace, _, name = pod.partition("/")
    return {"namespace": namespace, "pod": name, "container": container}
