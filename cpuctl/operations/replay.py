"""Reading a timeline to replay, or a log as one, with the machine and the pods that it is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.configuration import LIVE_MACHINE, KubeletInputs
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.machine.sources import MachineSource
    from cpuctl.timeline.log_history import LoggedHistory
    from cpuctl.timeline.model import KubeletSetup, Moment, Timeline
    from cpuctl.timeline.runtime_history import RuntimeHistory


class TimelineInputs(Record):
    """The timeline's file, a machine to replace its own, when to stop (nanoseconds), and what to skip.

    A kubelet's log is given with pods and a kubelet: ``filenames`` are manifests. ``driver_arguments`` are
    the flags of the driver for CPUs, if pods have resource claims. ``policy`` names a policy that decides in
    place of the kubelet's.
    """

    name: str
    machine: str = ""
    until: int | None = None
    skips_api_server: bool = False
    filenames: Sequence[str] = ()
    kubelet: KubeletInputs = KubeletInputs()
    driver_arguments: str = ""
    policy: str = ""


def load_timeline(inputs: TimelineInputs, sources: Sources) -> Timeline:
    """Read a timeline, and note in *sources* what is not recorded about its releases.

    Raise UsageError if none is named.
    """
    timeline = _cut(_load(inputs, sources), inputs.until)
    if inputs.skips_api_server:
        timeline = replace(timeline, server=replace(timeline.server, validates=False))
    _add_unrecorded(timeline, sources)
    timeline = _with_claims(timeline, inputs.driver_arguments, sources)
    return timeline if not inputs.policy else _with_policy(timeline, inputs.policy, sources)


def _with_policy(timeline: Timeline, text: str, sources: Sources) -> Timeline:
    """Let a policy decide in place of the kubelet's own."""
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.policies import POLICY_UNUSED, choose_for_many

    kubelet = timeline.setup.kubelet
    if isinstance(kubelet, Kubelet) and kubelet.config.cpu_manager_policy == "none":
        sources.warn(POLICY_UNUSED)
    return replace(timeline, in_place=choose_for_many(text))


def _with_claims(timeline: Timeline, arguments: str, sources: Sources) -> Timeline:
    """Set up a driver for resource claims, if a pod has any."""
    if not any(each.pod.resource_claims for each in timeline.pods.values()):
        if arguments:
            sources.warnings.append(f"{option_names.DRIVER_ARGS} only applies to pods with resource claims")
        return timeline

    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.claims import claims_of_kubelet

    kubelet = timeline.setup.kubelet
    config = kubelet.config if isinstance(kubelet, Kubelet) else None
    known = (config, timeline.server.gates)
    claims = claims_of_kubelet(arguments, timeline.dra, timeline.machine, known, sources)
    return replace(timeline, claims=claims)


def _load(inputs: TimelineInputs, sources: Sources) -> Timeline:
    """Read a timeline, a kubelet's log or a log of requests to a runtime, depending on the file."""
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.messages.log_lines import is_log
    from cpuctl.timeline.runtime_log import is_runtime_log

    if not inputs.name:
        raise UsageError("no timeline to replay", hint="specify one, or create one with cpuctl replay --new")
    refuse_stdin_twice(inputs.name, inputs.machine, inputs.kubelet.config, *inputs.filenames)
    data = read_input(inputs.name)
    text = data.decode("utf-8", "replace")
    node = LoggedNode(inputs.machine, inputs.filenames, inputs.kubelet)
    if is_log(text):
        return timeline_of_log(text, source_name(inputs.name), node, sources)
    if is_runtime_log(text):
        return timeline_of_requests(text, source_name(inputs.name), node, sources)
    if inputs.filenames or inputs.kubelet != KubeletInputs():
        raise UsageError(
            "a timeline has its own pods and kubelet", hint="-f and kubelet options only apply to a log"
        )
    return _read_timeline(data, inputs.name, inputs.machine, sources)


def _read_timeline(data: bytes, name: str, machine: str, sources: Sources) -> Timeline:
    """Read a timeline; file names in it are relative to its directory."""
    from cpuctl.documents.files import STDIN, read_member, source_name
    from cpuctl.machine.sources import LIVE, SYNTHETIC, read_machine
    from cpuctl.timeline.reading.document import TimelineLoaders, read_timeline

    directory = Path() if name == STDIN else Path(name).parent
    sources.add("timeline", source_name(name), "given")

    # A wrong option is not an error of the timeline.
    given = read_machine(machine) if machine else None

    def machine_named(spec: str) -> MachineSource:
        if given is not None:
            sources.add("machine", machine, "given")
            return given
        sources.add("machine", spec, "given")
        return read_machine(spec if spec == LIVE or spec.startswith(SYNTHETIC) else str(directory / spec))

    outside = TimelineLoaders(machine=machine_named, file=lambda file: read_member(str(directory / file)))
    timeline = read_timeline(data, source_name(name), outside)
    if timeline.assumed:
        sources.warnings.append(timeline.assumed)
    return timeline


def _cut(timeline: Timeline, until: int | None) -> Timeline:
    """Leave out everything later than *until*, if it is given."""
    if until is None:
        return timeline
    kept = tuple(moment for moment in timeline.moments if moment.at <= until)
    return replace(timeline, moments=kept, until=min(until, timeline.until))


def _add_unrecorded(timeline: Timeline, sources: Sources) -> None:
    """Note what is not recorded about the node's successive releases."""
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.kubelet.releases.recorded import topics_of_decisions
    from cpuctl.timeline.model import KubeletEvent, Resize

    events = [moment.event for moment in timeline.moments]
    resized = any(isinstance(event, Resize) for event in events)
    pod_level = any(each.pod.resources for each in timeline.pods.values())
    later = (event.setup.kubelet for event in events if isinstance(event, KubeletEvent))
    for kubelet in (timeline.setup.kubelet, *later):
        if isinstance(kubelet, Kubelet):
            sources.add_unrecorded(
                kubelet.version.minor, topics_of_decisions(kubelet.config, pod_level=pod_level)
            )
            if resized:
                sources.add_unrecorded(kubelet.version.minor, ("in-place resizes",))


_EVENTS_HINT = "the kubelet logs pods with -v=2 or higher: journalctl -u kubelet -o json"


class LoggedNode(Record):
    """What a log refers to but does not contain: machine, manifest files, the kubelet's settings."""

    machine: str = ""
    filenames: Sequence[str] = ()
    kubelet: KubeletInputs = KubeletInputs()


def timeline_of_log(text: str, source: str, node: LoggedNode, sources: Sources) -> Timeline:
    """Read a log; what is missing from it becomes a warning in *sources*.

    Raise InputError for a log without decisions, or of an unknown release.
    """
    from cpuctl.inputs.machine import load_machine
    from cpuctl.inputs.pods import load_pods
    from cpuctl.timeline.log_events import read_events
    from cpuctl.timeline.log_history import history_of
    from cpuctl.timeline.model import Timeline, TimelinePod
    from cpuctl.timeline.reading.kubelets import server_like

    sources.add("timeline", source, "given")
    machine = load_machine(node.machine or LIVE_MACHINE, sources)
    given = load_pods(node.filenames, (), sources, needed=False)
    pods = {pod.full_name: TimelinePod(pod) for pod in given.pods}

    def setup_of(version: str, where: str) -> KubeletSetup:
        return _setup(version, where, node.kubelet, machine, sources)

    history = history_of(read_events(text, source), source, pods, setup_of)
    if history is None:
        raise InputError("contains no kubelet decisions", where=source, hint=_EVENTS_HINT)
    _warn_of_gaps(history, sources)
    return Timeline(
        machine=machine,
        setup=history.setup,
        server=server_like(history.setup),
        moments=history.moments,
        until=history.moments[-1].at if history.moments else 0,
        description=f"What cpuctl computes for the events in {source}, compared with what the kubelet did",
        pods=pods,
        limit_ranges=given.limit_ranges,
        log=source,
        dra=given.dra,
    )


def _setup(
    version: str, where: str, kubelet_inputs: KubeletInputs, machine: MachineSource, sources: Sources
) -> KubeletSetup:
    """Load the kubelet by its options, in the release that the log names unless the options name one."""
    from cpuctl.inputs.kubelet import load_kubelet
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.timeline.model import KubeletSetup
    from cpuctl.timeline.reading.kubelets import refused_start

    if version and not kubelet_inputs.version:
        try:
            KubeletVersion.parse(version)
        except ValueError as error:
            raise InputError(str(error), where=where, hint="set a version with --kubelet-version") from None
        kubelet_inputs = replace(kubelet_inputs, version=version)
    try:
        kubelet = load_kubelet(kubelet_inputs, sources, machine=machine).kubelet
    except ConfigRefusedError as refused:
        sources.warnings.append(f"the kubelet cannot load this configuration: {refused}")
        release = KubeletVersion.parse(sources.entries["kubeletVersion"]["value"])
        return KubeletSetup(kubelet=refused_start(refused), release=release)
    return KubeletSetup(kubelet=kubelet, release=kubelet.version)


def _warn_of_gaps(history: LoggedHistory, sources: Sources) -> None:
    """Warn about what is missing from the log or the manifests, and what this means for the differences."""
    from cpuctl.phrases import few

    if not history.from_start:
        sources.warnings.append(
            "the log does not begin with a start of the kubelet: the replay begins on an empty node"
        )
    if history.other_policy:
        sources.warnings.append(
            f"the CPU Manager policy is {history.other_policy} in this configuration: use "
            f"{option_names.KUBELET_CONFIG} with that of the kubelet"
        )
    if history.left_out:
        missing = few(sorted(history.left_out))
        sources.warnings.append(f"skipped, as their manifests are missing (add them with -f): {missing}")
    if pinned := sorted(name for name, cpus in history.left_out.items() if cpus):
        first = pinned[0]
        sources.warnings.append(
            f"the kubelet gave CPUs to pods that are skipped ({first}: {history.left_out[first]}): "
            "later differences may result from this"
        )
    if history.kept:
        sources.warnings.append(
            f"{few(history.kept)} had CPUs from a state file that is not in the log: the replay allocates "
            "them again"
        )
    if history.unseen:
        sources.warnings.append(f"the log does not mention {few(history.unseen)}")


_REQUESTS_HINT = "run the logger plugin with -events all"


def timeline_of_requests(text: str, source: str, node: LoggedNode, sources: Sources) -> Timeline:
    """Read requests to a runtime, as logged by a plugin; what is unknown becomes a warning in *sources*.

    Raise InputError for a log without pods, or one that cannot be read.
    """
    from cpuctl.inputs.machine import load_machine
    from cpuctl.inputs.pods import load_pods
    from cpuctl.timeline.model import Timeline, TimelinePod
    from cpuctl.timeline.reading.kubelets import server_like
    from cpuctl.timeline.runtime_history import runtime_history
    from cpuctl.timeline.runtime_log import read_requests

    sources.add("timeline", source, "given")
    machine = load_machine(node.machine or LIVE_MACHINE, sources)
    given = load_pods(node.filenames, (), sources, needed=False)
    manifests = {pod.full_name: TimelinePod(pod) for pod in given.pods}
    history = runtime_history(list(read_requests(text, source)), source, manifests)
    if history is None:
        raise InputError("does not mention any pod", where=source, hint=_REQUESTS_HINT)
    setup = _setup("", source, node.kubelet, machine, sources)
    _warn_of_unknown(history, sources)
    before, moments = _from_beginning(history, setup, machine)
    return Timeline(
        machine=machine,
        setup=setup,
        # These pods have already passed an API server.
        server=replace(server_like(setup), validates=False),
        moments=moments,
        until=history.moments[-1].at if history.moments else 0,
        running=not before,
        description=f"What the kubelet requested from the runtime according to {source}, and what was "
        "expected",
        pods=history.pods,
        limit_ranges=given.limit_ranges,
        log=source,
        dra=given.dra,
    )


def _from_beginning(
    history: RuntimeHistory, setup: KubeletSetup, machine: MachineSource
) -> tuple[bool, tuple[Moment, ...]]:
    """Start a kubelet on the CPUs that containers had when the log began; return whether any had some."""
    from cpuctl.checkpoints.cpu_state import write_cpu_state
    from cpuctl.cpuset import union
    from cpuctl.engine.node import Node
    from cpuctl.engine.start import start_node
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.state_names import CPU_FILE
    from cpuctl.timeline.kubelet_start import state_reader
    from cpuctl.timeline.model import KubeletAction, KubeletEvent, Moment, StateFileEdit

    node = start_node(machine.info, setup.kubelet) if isinstance(setup.kubelet, Kubelet) else None
    if not history.assigned or not isinstance(node, Node) or node.policy is None:
        return False, history.moments
    assert isinstance(setup.kubelet, Kubelet), "it has a node"
    empty = node.state_file()
    taken = union(cpus for containers in history.assigned.values() for cpus in containers.values())
    state = replace(empty, default_cpu_set=empty.default_cpu_set - taken, entries=history.assigned)
    text = write_cpu_state(state, state_reader(setup.kubelet.gates))
    file = Moment(0, StateFileEdit(CPU_FILE, text), where=history.moments[0].where)
    start = Moment(0, KubeletEvent(KubeletAction.START, setup), where=file.where)
    pods = history.running
    return True, (file, *history.moments[:pods], start, *history.moments[pods:])


def _warn_of_unknown(history: RuntimeHistory, sources: Sources) -> None:
    """Warn about what was not sent to the runtime, and what this means."""
    from cpuctl.phrases import counted, few

    if history.running:
        pods, owner = counted(history.running, "pod"), "its" if history.running == 1 else "their"
        sources.warnings.append(f"{pods} already running when the log begins: the replay keeps {owner} CPUs")
    for names, text in (
        (history.made, "pods derived from the containers' settings, without devices and pod-level resources"),
        (history.without_memory, "Burstable pods with unknown memory requests, assumed to be none"),
        (
            history.taken_as_init,
            "pods with containers that ended before others started, assumed to be init containers",
        ),
        (history.capped, "pods with shares of 256 CPUs or more, assumed to be 256"),
    ):
        if names:
            sources.warnings.append(f"{text}: {few(sorted(names))}; use -f to add their manifests")
    if history.unseen:
        sources.warnings.append(f"the log does not mention {few(sorted(history.unseen))}")
