"""The answer of ``cpuctl report``: the results of all checks of one node, in one document."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.documents.files import source_name
from cpuctl.errors import CpuctlError, UsageError
from cpuctl.exports.same_cause import count_findings, findings_of_audit
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.inputs.sources import THE_FLAGS, Sources, refuse_stdin_twice
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan_inputs import Planning, PlanningInputs
from cpuctl.phrases import counted
from cpuctl.records import Record, replace
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cpuctl.answers import report as answers
    from cpuctl.answers.audit import Audit
    from cpuctl.answers.checkpoint import CheckpointDump, CheckpointVerify
    from cpuctl.answers.config import ConfigCheck
    from cpuctl.answers.explanation import Explanation
    from cpuctl.answers.plan import NotStartedPlan
    from cpuctl.answers.replay import Replay
    from cpuctl.answers.topology import Topology
    from cpuctl.answers.values import FindingCounts
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.inputs.live_node import LiveNode
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.inputs.state_files import CheckpointInputs, StateInput
    from cpuctl.machine.sources import MachineSource
    from cpuctl.operations.plan import Plan
    from cpuctl.operations.plan_inputs import PastPods
    from cpuctl.pods.model import Pod

    Progress = Callable[[str, int, int], None]

MOST_EXPLAINED = 20
"""The maximum number of explained pods: each is tried with many changes, and more pods add little."""

_NO_CONFIGURATION = "the kubelet's configuration: not in the recording, so defaults are assumed"
_NO_CONFIGURATION_HERE = "the kubelet's configuration: {} does not exist, so defaults are assumed"
_DESCRIBED = "a described machine has no state files, cgroups or processes"
_NO_STATE = "the kubelet's state files are not in the recording"
_NO_STATE_HERE = "no kubelet state files found"
_NO_OWNERS = "cpu_manager_state is not in the recording: the owners of CPUs are unknown"
_UNUSABLE = "{} cannot be used ({}): the owners of CPUs are unknown"
_CHANGED = "the kubelet changed its state files during the report: the audit is newer than the other sections"
_NAMELESS = "names of pods with CPUs or memory: neither in the recording nor in --pods"


class ReportInputs(Record):
    """The node of the report, its name, and what else is requested.

    ``planning`` has the node, its kubelet's settings, the running pods, and the pods to place;
    ``timeline`` is a file to replay, ``pod_resources`` is given if the kubelet is queried. ``now`` is the
    time, for a live node (RFC 3339). ``incoming`` and ``listed`` are pods that have already been read:
    those to admit, and those that run there.
    """

    name: str
    planning: PlanningInputs
    pod_resources: str = ""
    timeline: str = ""
    now: str = ""
    incoming: tuple[GivenPods, PastPods] | None = None
    listed: tuple[Pod, ...] | None = None


def report_document(inputs: ReportInputs, sources: Sources, progress: Progress) -> answers.Report:
    """Check everything about a node; data missing from its recording is reported as unknown, never as clean.

    Raise CpuctlError for a machine that cannot be read, and for named files that cannot be used.
    """
    from cpuctl.inputs.machine import load_machine, with_memory, with_storage
    from cpuctl.inputs.pods import listed_pods, running_pods
    from cpuctl.operations.plan_inputs import read_pods
    from cpuctl.pods.rules import PodRules

    words = inputs.planning
    _refuse_stdin(inputs)
    incoming, listed = inputs.incoming, inputs.listed
    if incoming is None and (words.filenames or words.templates):
        incoming = read_pods(words, sources, needed=False)
    if words.pods:
        listed = listed_pods(words.pods)
    if listed is not None:
        running_pods(listed, PodRules(), words.pods)  # errors in a named file are not a gap of the node
    source = load_machine(words.machine, sources, shows_findings=True)
    source = with_memory(with_storage(source, words.ephemeral_storage, sources), words.memory, sources)
    reporter = _Reporter(inputs, source, sources, listed, progress)
    return reporter.report(incoming)


def _refuse_stdin(inputs: ReportInputs) -> None:
    words = inputs.planning
    if words.state == "-":
        hint = "use a file, or the directory that holds the state files"
        raise UsageError("cannot be standard input: it is read more than once", where="--state", hint=hint)
    refuse_stdin_twice(
        words.machine, words.kubelet.config, words.pods, words.node.devices, inputs.timeline, *words.filenames
    )


class _Reporter:
    """Runs one check of a node after another, and collects in ``unknown`` what cannot be determined."""

    def __init__(
        self,
        inputs: ReportInputs,
        source: MachineSource,
        sources: Sources,
        listed: tuple[Pod, ...] | None,
        progress: Progress,
    ) -> None:
        self.inputs, self.words, self.source, self.sources = inputs, inputs.planning, source, sources
        self.listed, self.progress = listed, progress
        self.unknown: list[answers.UnknownPart] = []
        self.live = source.origin == LIVE_MACHINE
        self.read = dict(sources.entries)
        """The source of the machine, and other inputs of all parts."""
        self.states: tuple[StateInput, ...] | None = None
        """The state files once read: all parts use the same ones."""

    def report(self, incoming: tuple[GivenPods, PastPods] | None) -> answers.Report:
        """Combine the answers, and what is unknown."""
        machine = self._machine()
        configuration = self._configuration()
        parts: answers.ReportParts = {}
        if (state := self._state()) is not None:
            parts["state"] = state
        if (holders := self._holders()) is not None:
            parts["holders"] = holders
        if (audit := self._audit()) is not None:
            parts["audit"] = audit
        if incoming is not None:
            self._plan(incoming, parts)
        self._name(parts)
        if self.inputs.timeline:
            parts["timeline"] = self._timeline()
        return {
            "apiVersion": API_VERSION,
            "kind": "Report",
            "node": self.inputs.name,
            "recordedAt": (self.inputs.now if self.live else _recorded_at(self.source)) or None,
            "sources": self.sources.entries,
            "summary": _summary(machine, configuration, parts, self.unknown),
            "machine": machine,
            "configuration": configuration,
            **parts,
            "unknown": self.unknown,
            "warnings": list(
                dict.fromkeys((*self.sources.notes, *self.sources.read_as, *self.sources.warnings))
            ),
        }

    def _sources(self, pods: str = "") -> Sources:
        """Return the sources that all parts have; *pods* is a part's name for the running pods."""
        sources = Sources()
        sources.entries.update(self.read)
        if pods and self.words.pods:
            sources.add(pods, source_name(self.words.pods), "given")
        return sources

    def _misses(self, part: answers.ReportPart, *texts: str) -> None:
        self.unknown += ({"part": part, "what": text} for text in texts)

    @contextmanager
    def _own(self, part: answers.ReportPart) -> Iterator[None]:
        """Report data missing from the node itself as unknown; files that the user named remain errors."""
        try:
            yield
        except CpuctlError as error:
            if self.words.state:
                raise
            self._misses(part, str(error))

    def _machine(self) -> Topology:
        from cpuctl.answering.kubelet_view import kubelet_view
        from cpuctl.answering.topology.topology_answer import topology_document

        source = self.source
        kubelet = kubelet_view(source.machine, source.info)
        return topology_document(source.machine, dict(self.read), kubelet)

    def _checked(self) -> CheckpointInputs:
        from cpuctl.inputs.state_files import CheckpointInputs

        words = self.words
        return CheckpointInputs(
            state=words.state,
            machine=words.machine,
            kubelet=words.kubelet,
            pods=words.pods,
            pod_resources=self.inputs.pod_resources,
            driver_arguments=words.node.driver_arguments,
            listed=self.listed,
            states=self.states,
        )

    def _configuration(self) -> ConfigCheck:
        """Check the configuration alone: the content of state files is checked separately."""
        from cpuctl.answering.node_checks import check_configuration
        from cpuctl.inputs.kubelet import load_cgroup_version

        sources = self._sources()
        cgroup = load_cgroup_version("", self.source, sources)
        document = check_configuration(self._checked(), self.source, cgroup, sources, with_states=False)
        self.sources.take_over(sources)
        if sources.assumes_configuration:
            here = self.live and sources.assumed_configuration
            missing = _NO_CONFIGURATION_HERE.format(sources.assumed_configuration)
            self._misses("configuration", missing if here else _NO_CONFIGURATION)
        if sources.origin("kubeletVersion") == "default":
            release = sources.entries["kubeletVersion"]["value"]
            self._misses("configuration", f"the kubelet version: {release} is assumed")
        unseen = (each["what"] for each in document["notChecked"])
        self._misses("configuration", *(text for text in unseen if text.startswith(THE_FLAGS)))
        return document

    def _state(self) -> CheckpointVerify | None:
        """Check whether a kubelet starts on its state files, if there are any."""
        from cpuctl.answering.node_checks import verify_state
        from cpuctl.operations.checkpoint.states import may_lack_states

        if self.source.files is None and not self.words.state:
            self._misses("state", _DESCRIBED)
            return None
        sources = self._sources("runningPods")
        with self._own("state"):
            with suppress(CpuctlError):  # reported by the parts that need them
                self._state_files(Sources())
            document = verify_state(self._checked(), sources, self.source)
            self.sources.entries.update(sources.entries)
            if document["files"]:
                return document
            if document["start"]["outcome"] in ("Rejected", "KubeletFault"):
                self._misses("state", "the kubelet exits before it reads its state files")
            else:
                self._misses("state", _NO_STATE if may_lack_states(self.source) else _NO_STATE_HERE)
        return None

    def _holders(self) -> CheckpointDump | None:
        """Return the holders in the state files, with a map of the machine."""
        from cpuctl.answering.checkpoint.dump_answer import dump_document
        from cpuctl.answering.topology.topology_answer import map_answer
        from cpuctl.operations.checkpoint.states import load_owners
        from cpuctl.pods.rules import PodRules

        if self.source.files is None and not self.words.state:
            self._misses("holders", _DESCRIBED)
            return None
        sources = self._sources("runningPods")
        with self._own("holders"):
            states = self._state_files(sources)
            owners = load_owners("", PodRules(), sources, self.source, self.listed)
            document = dump_document(states, owners, sources.entries)
            if "cpus" in document:
                document["map"] = map_answer(self.source.machine, document["cpus"])
                return document
            unusable = (each for each in document["files"] if each["file"] == CPU_FILE and each["problem"])
            if (file := next(unusable, None)) is not None:
                self._misses("holders", _UNUSABLE.format(file["source"], file["problem"]))
            else:
                self._misses("holders", _NO_STATE_HERE if self.live else _NO_OWNERS)
        return None

    def _state_files(self, sources: Sources) -> tuple[StateInput, ...]:
        from cpuctl.inputs.state_files import StatePlace, read_states

        place = StatePlace(machine=self.source, directory=self._root_dir(), read=self.states)
        self.states = read_states(self.words.state, place, sources)
        return self.states

    def _root_dir(self) -> str:
        """Return the kubelet's root directory, the default one if its configuration is not usable."""
        from cpuctl.inputs.kubelet import load_kubelet
        from cpuctl.machine.recording_layout import STATE_DIRECTORY

        try:
            loaded = load_kubelet(self.words.kubelet, Sources(), machine=self.source)
        except CpuctlError:
            return f"/{STATE_DIRECTORY}"
        return loaded.kubelet.config.root_dir

    def _audit(self) -> Audit | None:
        """Compare the running containers with the state that the kubelet assumes."""
        from cpuctl.answering.node_checks import audit_node
        from cpuctl.audit.check_names import CHECK_NAMES
        from cpuctl.inputs.live_node import NodeInputs, load_node, observe_settled

        if self.source.files is None:
            self._misses("audit", _DESCRIBED)
            return None
        words, sources = self.words, self._sources("pods")
        inputs = NodeInputs(
            machine=words.machine,
            kubelet=words.kubelet,
            state=words.state,
            pods=words.pods,
            pod_resources=self.inputs.pod_resources,
            listed=self.listed,
            states=self.states,
        )
        document: Audit | None = None
        with self._own("audit"):
            node = load_node(inputs, sources, self.source, goes_without=True)
            observed = observe_settled(node, self.progress)
            document = audit_node(inputs, observed.node, observed.snapshot, CHECK_NAMES, sources)
            self.sources.warn(*sources.warnings)
            for each in document["unchecked"]:
                self._misses("audit", f"{each['missing']} (checks: {', '.join(each['checks'])})")
            if self._differ(observed.node):
                self._misses("audit", _CHANGED)
            if not observed.settled:
                self._misses("audit", "the kubelet's state changed during every attempt to read the node")
            if count := len(document["unreadable"]):
                self._misses("audit", f"{counted(count, 'file')} of the node could not be read")
        return document

    def _differ(self, node: LiveNode) -> bool:
        """Return whether the audit has read other, more or fewer state files than the previous parts."""
        now = {each.path.rpartition("/")[2]: each.text for each in node.state_files}
        return self.states is not None and now != {each.file_name: each.text for each in self.states}

    def _name(self, parts: answers.ReportParts) -> None:
        """Name holders that state files identify only by UID, as far as the node's own files have names."""
        audit, holders, planned = parts.get("audit"), parts.get("holders", {}), parts.get("planned")
        named = {
            each["uid"]: (each["namespace"], each["pod"])
            for each in (audit["containers"] if audit is not None else ())
            if each["pod"] is not None
        }
        for part in (holders.get("cpus"), holders.get("memory"), planned):
            for holder in part["holders"] if part is not None else ():
                if holder["pod"] is None and holder["podUID"] in named:
                    holder["namespace"], holder["pod"] = named[holder["podUID"]]
        known = [part for part in (holders.get("cpus"), holders.get("memory")) if part is not None]
        if any(
            each["pod"] is None and each["owner"] == "unknown" for part in known for each in part["holders"]
        ):
            self._misses("holders", _NAMELESS)

    def _plan(self, incoming: tuple[GivenPods, PastPods], parts: answers.ReportParts) -> None:
        """Plan the new pods on the node as it is, and explain those that are not admitted."""
        from cpuctl.answering.plan.picture_answer import plan_picture
        from cpuctl.answering.plan.plan_document import planned_document
        from cpuctl.engine.node import Node
        from cpuctl.inputs.kubelet import load_kubelet
        from cpuctl.operations.plan import Planner

        sources = self._sources("runningPods")
        try:
            loaded = load_kubelet(self.words.kubelet, sources, machine=self.source)
        except ConfigRefusedError as refused:
            parts["plan"] = _unloaded(refused, sources)
            return
        planning = self._planning(incoming, loaded, sources)
        planner = Planner(planning, progress=self.progress)
        plan = planner.plan(planning.kubelet, planning.sources)
        parts["plan"] = planned_document(planner, plan, planning.sources)
        for each in parts["plan"].get("pods", []):
            if each["outcome"] == "Undetermined":
                name = f"{each['namespace']}/{each['name']}"
                self._misses("pods", f"whether {name} would be admitted: {each['why']}")
        if isinstance(plan.node, Node) and plan.node.policy is not None:
            named = (*planning.initial.running, *planning.incoming)
            parts["planned"] = plan_picture(self.source.machine, plan.node, named)
        self._explain(planning, plan, parts)
        self.sources.warn(*sources.warnings)

    def _planning(
        self, incoming: tuple[GivenPods, PastPods], loaded: LoadedKubelet, sources: Sources
    ) -> Planning:
        from cpuctl.inputs.pods import rules_of_pods, running_pods
        from cpuctl.operations.plan_inputs import node_planning

        words = replace(self.words, pods="")
        if self.live and not words.state and self._state_files(Sources()):
            words = replace(words, state=loaded.kubelet.config.root_dir)
        planning = node_planning(words, self.source, loaded, sources, self.states)
        if self.listed is not None:
            running = running_pods(self.listed, rules_of_pods(loaded.kubelet), self.words.pods)
            initial = replace(planning.initial, running=running, known=True)
            planning = replace(planning, initial=initial)
        given, past = incoming
        planning = replace(planning, inputs=replace(planning.inputs, pods=self.words.pods), past=past)
        return planning.with_pods(given)

    def _explain(self, planning: Planning, plan: Plan, parts: answers.ReportParts) -> None:
        from cpuctl.engine.outcome import Admitted

        refused = [each.pod for each in plan.admissions if not isinstance(each.verdict, Admitted)]
        explanations: list[Explanation] = []
        for done, pod in enumerate(refused[:MOST_EXPLAINED]):
            self.progress("explaining pods", done, min(len(refused), MOST_EXPLAINED))
            explanations.append(_explanation(planning, pod.uid))
        if explanations:
            parts["explanations"] = explanations
        if more := [pod.full_name for pod in refused[MOST_EXPLAINED:]]:
            parts["unexplained"] = more

    def _timeline(self) -> Replay:
        from cpuctl.answering.replay_answer import replay_document
        from cpuctl.operations.replay import TimelineInputs, load_timeline
        from cpuctl.timeline.simulation import Simulation

        sources = Sources()
        timeline = load_timeline(TimelineInputs(self.inputs.timeline), sources)
        self.sources.warn(*sources.warnings)
        simulation = Simulation(timeline)
        for now in simulation.play(timeline.moments, timeline.until):
            self.progress("replaying", now, timeline.until)
        return replay_document(simulation, sources.entries)


def _recorded_at(source: MachineSource) -> str:
    from cpuctl.capture.recorded_manifest import recorded_at

    return recorded_at(source.files) if source.files is not None else ""


def _unloaded(refused: ConfigRefusedError, sources: Sources) -> NotStartedPlan:
    from cpuctl.answering.config.parts import unloaded_header
    from cpuctl.answering.plan.plan_answer import not_started_document

    header = unloaded_header(sources)
    return not_started_document(
        refused.whole_refusal, {"sources": header["sources"], "kubelet": header["kubelet"]}
    )


def _explanation(planning: Planning, uid: str) -> Explanation:
    from cpuctl.answering.explain.explain_answer import explained_document, not_started_document
    from cpuctl.answering.plan.plan_document import planning_header
    from cpuctl.operations.command_lines import check_command
    from cpuctl.operations.explain import Explained, choose_explained, explain_pod

    found = explain_pod(planning, choose_explained(planning, uid), lambda _what, _done, _total: None)
    if not isinstance(found, Explained):
        return not_started_document(found, {**planning_header(planning)}, check_command(planning, found))
    return explained_document(planning, found)


def _summary(
    machine: Topology,
    configuration: ConfigCheck,
    parts: answers.ReportParts,
    unknown: list[answers.UnknownPart],
) -> answers.ReportSummary:
    start = configuration["start"]
    if start["outcome"] == "Started" and "state" in parts:
        start = parts["state"]["start"]
    counts = [count_findings(machine["findings"]), configuration["summary"], *_counts(parts)]
    return {
        "start": start["outcome"],
        "error": sum(each["error"] for each in counts),
        "warning": sum(each["warning"] for each in counts),
        "note": sum(each["note"] for each in counts),
        "notAdmitted": _not_admitted(parts),
        "unmet": len(parts["timeline"]["expectations"]["failures"]) if "timeline" in parts else None,
        "unknown": len(unknown),
    }


def _counts(parts: answers.ReportParts) -> Iterator[FindingCounts]:
    if "state" in parts:
        yield parts["state"]["summary"]
    if "audit" in parts:
        yield count_findings(findings_of_audit(parts["audit"], parts.get("state")))


def _not_admitted(parts: answers.ReportParts) -> int | None:
    from cpuctl.exports.outcomes import is_served

    if "plan" not in parts or parts["plan"]["start"]["outcome"] != "Started":
        return None
    return sum(not is_served(pod) and pod["outcome"] != "Undetermined" for pod in parts["plan"]["pods"])
