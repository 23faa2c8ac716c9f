"""What a plug-in of the Node Resource Interface would answer over a timeline (schema: ``nrireplay``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.plan.nri_answer import linux_answer
from cpuctl.answering.replay_answer import about, expectations_answer
from cpuctl.golang.durations import duration_text
from cpuctl.timeline.report.runtime_calls import RuntimeCall, RuntimeEvent
from cpuctl.timeline.world.world import cpus_text

if TYPE_CHECKING:
    from cpuctl.answers.nri import NRICall, NRIMatch, NRIReplay, NRIUpdate
    from cpuctl.answers.sources import Sources
    from cpuctl.timeline.simulation import Simulation


def nri_replay_document(simulation: Simulation, sources: Sources) -> NRIReplay:
    """Return what would be answered; the simulation has collected the calls."""
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
