"""A timeline that is to be replayed, with the machine that it or somebody else names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.machine.sources import MachineSource
    from cpuctl.timeline.model import Timeline


class TimelineInputs(NamedTuple):
    """The timeline's file, another machine than its own, a duration after which it ends, who is not asked.

    A kubelet's log has pods and a kubelet beside it: ``filenames`` are manifests.
    """

    name: str
    machine: str = ""
    until: str = ""
    skips_api_server: bool = False
    filenames: Sequence[str] = ()
    kubelet: KubeletInputs = KubeletInputs()


def load_timeline(inputs: TimelineInputs, sources: Sources) -> Timeline:
    """Read a timeline, and name in *sources* what nobody has recorded on the releases that it has.

    Raise UsageError where none is named, or for what is no duration.
    """
    timeline = _cut(_load(inputs, sources), inputs.until)
    timeline = timeline._replace(server=timeline.server._replace(validates=not inputs.skips_api_server))
    _add_unrecorded(timeline, sources)
    return timeline


def _load(inputs: TimelineInputs, sources: Sources) -> Timeline:
    """Read a timeline or a kubelet's log, whichever it is."""
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.messages.log_lines import is_log

    if not inputs.name:
        raise UsageError("no timeline to replay", hint="name one, or begin with cpuctl replay --new")
    refuse_stdin_twice(inputs.name, inputs.machine, inputs.kubelet.config, *inputs.filenames)
    data = read_input(inputs.name)
    text = data.decode("utf-8", "replace")
    if is_log(text):
        from cpuctl.operations.logged_timeline import LoggedNode, timeline_of_log

        node = LoggedNode(inputs.machine, inputs.filenames, inputs.kubelet)
        return timeline_of_log(text, source_name(inputs.name), node, sources)
    if inputs.filenames or inputs.kubelet != KubeletInputs():
        raise UsageError("a timeline has its own pods and kubelet", hint="-f and --kubelet-... go with a log")
    return _read_timeline(data, inputs.name, inputs.machine, sources)


def _read_timeline(data: bytes, name: str, machine: str, sources: Sources) -> Timeline:
    """Read a timeline; what it names is looked for beside it."""
    from cpuctl.documents.files import STDIN, read_member, source_name
    from cpuctl.machine.sources import LIVE, SYNTHETIC, read_machine
    from cpuctl.timeline.reading.document import Outside, read_timeline

    beside = Path() if name == STDIN else Path(name).parent
    sources.add("timeline", source_name(name), "given")

    def machine_named(spec: str) -> MachineSource:
        if machine:
            sources.add("machine", machine, "given")
            return read_machine(machine)
        sources.add("machine", spec, "given")
        return read_machine(spec if spec == LIVE or spec.startswith(SYNTHETIC) else str(beside / spec))

    outside = Outside(machine=machine_named, file=lambda file: read_member(str(beside / file)))
    return read_timeline(data, source_name(name), outside)


def _cut(timeline: Timeline, until: str) -> Timeline:
    """Leave out what is later than *until*; without it, nothing."""
    from cpuctl.golang.durations import parse_duration

    if not until:
        return timeline
    try:
        end = parse_duration(until)
    except ValueError:
        end = -1
    if end < 0:
        raise UsageError(f"expected a duration such as 30s, found {until!r}", where="--until")
    kept = tuple(moment for moment in timeline.moments if moment.at <= end)
    return timeline._replace(moments=kept, until=min(end, timeline.until))


def _add_unrecorded(timeline: Timeline, sources: Sources) -> None:
    """Name what nobody has recorded on the releases that the node has, one after the other."""
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.kubelet.releases.recorded import Topic, topics_of_decisions
    from cpuctl.timeline.model import KubeletEvent, Resize

    events = [moment.event for moment in timeline.moments]
    resizes = [Topic.RESIZE] if any(isinstance(event, Resize) for event in events) else []
    pod_level = any(each.pod.resources for each in timeline.pods.values())
    later = (event.setup.kubelet for event in events if isinstance(event, KubeletEvent))
    for kubelet in (timeline.setup.kubelet, *later):
        if isinstance(kubelet, Kubelet):
            topics = topics_of_decisions(kubelet.config, pod_level=pod_level)
            sources.add_unrecorded(kubelet.version.minor, [*topics, *resizes])
