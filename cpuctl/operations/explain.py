"""Why a kubelet decides about a pod as it does, and what would change the decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.errors import UsageError
from cpuctl.inputs.sources import Sources
from cpuctl.pods.manifest import owner_of, status_reason
from cpuctl.pods.model import TERMINAL_PHASES
from cpuctl.records import Record, replace
from cpuctl.state_names import MEMORY_FILE

if TYPE_CHECKING:
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.capacity.probe import Progress
    from cpuctl.engine.explain.explanation import Explanation
    from cpuctl.engine.explain.scenario import Replay, Scenario, SearchBudget, Starter
    from cpuctl.engine.explain.searches.huge_pages import MorePages
    from cpuctl.engine.resize.pending import RetriedResize
    from cpuctl.engine.start import NotStarted, StartResult
    from cpuctl.inputs.pods import PodChoice
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.operations.plan_inputs import Planning, PlanningInputs
    from cpuctl.operations.started_node import StartedNode
    from cpuctl.pods.model import Pod, StoredPod
    from cpuctl.pods.reading.events import RejectionEvent


class Explained(Record):
    """The explanation of one decision, and what would change it in addition to what the engine tries.

    ``name`` is how to find the pod again, ``container`` the container in question, empty for the whole pod.
    With more huge ``pages`` the pod would be admitted; if ``state_in_the_way``, after the command ``repair``
    adapts the kubelet's memory state or, if it is empty, after removing that. ``resize`` is the outcome of a
    pending resize, ``rejection`` the kubelet's own event about the pod.
    """

    explanation: Explanation
    name: str
    container: str
    pages: tuple[MorePages, ...]
    state_in_the_way: bool
    repair: str
    resize: RetriedResize | None
    rejection: RejectionEvent | None = None

    @property
    def admission(self) -> Admission:
        """The decision."""
        return self.explanation.replay.admission


def choose_explained(planning: Planning, text: str = "") -> PodChoice | None:
    """Find the pod that *text* names or, if it is empty and events are given, the pod that was rejected last.

    Return None if neither is given. Raise UsageError if there is no such pod, or more than one.
    """
    from cpuctl.inputs.pods import choose_pod

    if text:
        return choose_pod(text, planning.incoming, planning.initial.running)
    return _last_rejected(planning) if planning.past.rejections else None


def with_ended_pod(planning: Planning, text: str = "") -> Planning:
    """Add the given pod that *text* or events mean, or the only one, as a new pod, if it has ended.

    Others that are meant come first: incoming ones and, with a *text*, running ones. Warn about ended pods
    of manifests that stay left out.
    """
    ended = planning.past.ended
    if not (ended or planning.initial.ended):
        return planning

    from cpuctl.inputs.pods import GivenPods, identified
    from cpuctl.operations.plan_inputs import warn_of_ended

    listed = {pod.uid: pod for pod in (*identified(planning.initial.ended), *ended)}
    found = _meant(planning, text, [*listed.values()])
    explained = {pod.uid for pod in found}
    if left := [pod for pod in ended if pod.uid not in explained]:
        warn_of_ended(left, planning.inputs, planning.sources)
    if not found:
        return planning
    planning.sources.notes += (f"{_how_ended(pod)} and is explained as a new pod" for pod in found)
    return planning.with_pods(GivenPods(found))


def _meant(planning: Planning, text: str, ended: Sequence[Pod]) -> tuple[Pod, ...]:
    """Find the ended pods that a name or, if it is empty, the latest event about any of them means.

    Without either, it is the only pod of manifests. There are none if another pod is meant.
    """
    from cpuctl.inputs.pods import matching

    if text:
        others = (*planning.incoming, *planning.initial.running)
        return () if matching(text, others) else tuple(ended[place] for place in matching(text, ended))
    events, given = planning.past.rejections, planning.past.ended
    if not events:
        return given if len(given) == 1 and not planning.incoming else ()
    if any(event.is_of(pod.uid, pod.full_name) for event in events for pod in planning.incoming):
        return ()
    found = (pod for event in events for pod in ended if event.is_of(pod.uid, pod.full_name))
    return tuple(islice(found, 1))


def _how_ended(pod: Pod) -> str:
    """Report that a pod has ended and, if its status says so, in which phase and why."""
    phase = pod.phase if pod.phase in TERMINAL_PHASES else ""
    how = ": ".join(filter(None, (phase, status_reason(pod))))
    return f"{pod.full_name} has ended{f' ({how})' if how else ''}"


def explain_pod(
    planning: Planning, choice: PodChoice | None, progress: Progress, *, together: bool = True
) -> Explained | NotStarted:
    """Explain the chosen pod, else the first that is not admitted, or the only one.

    Unless pods arrive *together*, they arrive one by one, and a policy does not affect their order. Raise
    NothingToExplainError if none is chosen, and none or several are given and admitted.
    """
    from cpuctl.engine.explain.explanation import explain
    from cpuctl.engine.explain.scenario import REMEMBERED, Replay, SearchBudget, replay_scenario
    from cpuctl.inputs.pods import PodChoice, few_names

    if choice is None and not planning.incoming:
        if ended := planning.past.ended:
            names = few_names(pod.full_name for pod in ended)
            raise NothingToExplainError(
                "all pods have ended, and none is named", hint=f"choose one to explain: {names}"
            )
        names = few_names(pod.full_name for pod in planning.initial.running)
        raise NothingToExplainError(
            "no new pods are given, and no running pod is named", hint=f"specify one: {names}"
        )
    chosen = choice or PodChoice(len(planning.incoming) - 1)
    runs = SearchBudget(tick=lambda: progress("trying changes", 0, 0))
    starting = _starting(planning, chosen)
    scenario = _scenario(planning, starting, chosen, together=together)
    replay = replay_scenario(scenario, runs, REMEMBERED if choice else 1)
    if isinstance(replay, Replay):
        # From here on, replays omit the warnings, which have been given, and use the release and the flags
        # that are assumed, if any are: all others start in the same way.
        kubelet = replace(replay.scenario.kubelet, released=True, flags_gap="")
        start = partial(starting.start, sources=Sources())
        quiet = replace(replay.scenario, start=start, kubelet=kubelet)
        if choice or len(quiet.pods) == 1:
            replay = replace(replay, scenario=quiet)
        else:
            replay = replay_scenario(replace(quiet, position=_first_refused(replay)), runs)
    if not isinstance(replay, Replay):
        return replay
    pod = replay.scenario.pod
    pages, repaired = _more_pages(planning, replay, runs)
    return Explained(
        explanation=explain(replay, runs.tick),
        name=_unmistakable(pod, (*planning.incoming, *planning.initial.running)),
        container=chosen.container,
        pages=pages,
        # A kubelet with this policy has always written its file.
        state_in_the_way=planning.kubelet.config.memory_manager_policy == "Static",
        repair=_repair_command(planning.inputs) if repaired else "",
        resize=_pending_resize(planning, pod.uid) if chosen.running else None,
        rejection=next(
            (event for event in planning.past.rejections if event.is_of(pod.uid, pod.full_name)), None
        ),
    )


def explain_now(started: StartedNode, pod: StoredPod) -> tuple[Planning, Explained | NotStarted]:
    """Explain the decision on a pod of a node, or what it would be now; return the planning used, too."""
    planning = started.planning_for(pod)
    choice = choose_explained(planning, pod.uid)
    return planning, explain_pod(planning, choice, lambda _what, _done, _total: None, together=False)


def _pending_resize(planning: Planning, uid: str) -> RetriedResize | None:
    # It takes as long to load as everything else, and only running pods have one.
    from cpuctl.operations.resize import pending_resize

    return pending_resize(planning, uid)


def _last_rejected(planning: Planning) -> PodChoice:
    """Return the incoming pod that was rejected last.

    Raise UsageError if events are only about other pods: events do not contain what those request.
    """
    from cpuctl.inputs.pods import PodChoice, few_names

    for event in planning.past.rejections:
        for place, pod in enumerate(planning.incoming):
            if event.is_of(pod.uid, pod.full_name):
                return PodChoice(place)
    names = list(dict.fromkeys(event.full_name for event in planning.past.rejections))
    namespace, _, name = names[0].partition("/")
    raise UsageError(
        f"the rejected pods are not among the given pods: {few_names(names)}",
        where=f"{option_names.EVENTS} {planning.sources.entries['events']['value']}",
        hint=f"kubectl get pod -n {namespace} {name} -o json prints one, for use with -f",
    )


def _memory_state_is_stale(planning: Planning) -> bool:
    """Return whether other numbers of huge pages would make the kubelet refuse its memory_manager_state."""
    return (
        planning.initial.files.memory is not None
        and planning.kubelet.config.memory_manager_policy == "Static"
    )


def _more_pages(planning: Planning, replay: Replay, runs: SearchBudget) -> tuple[tuple[MorePages, ...], bool]:
    """Report what more huge pages would do, and whether this requires a repaired memory_manager_state.

    A kubelet refuses a file that was written with other pages. If a repaired one does not help, it starts
    without the file. Either way it admits running pods again, which have to be known for that.
    """
    from cpuctl.engine.outcome import Admitted

    initial, again, stale = planning.initial, replay.scenario.restarted, _memory_state_is_stale(planning)
    if isinstance(replay.admission.verdict, Admitted) or (stale and not initial.known):
        return (), False

    from cpuctl.engine.explain.searches.huge_pages import more_huge_pages

    def start_on(info: MachineInfo, *, repaired: bool = False) -> Starter:
        source = replace(planning.source, info=info)
        left = initial.without_memory()
        changed = replace(planning, source=source, initial=left.before_restart if again else left)
        if repaired:
            return partial(_start_with_repaired_memory_state, replace(changed, initial=initial))
        if stale and not again:
            return partial(_start_and_readmit, changed)
        return partial(changed.start, sources=Sources())

    if stale and not again:
        start_repaired = partial(start_on, repaired=True)
        pages = tuple(more_huge_pages(replay, planning.source.info, start_repaired, runs))
        if any(each.enough for each in pages):
            return pages, True
    return tuple(more_huge_pages(replay, planning.source.info, start_on, runs)), False


def _repair_command(inputs: PlanningInputs) -> str:
    """Write the command that repairs the state files on the node itself."""
    from cpuctl.inputs.configuration import LIVE_MACHINE
    from cpuctl.inputs.state_files import CheckpointInputs
    from cpuctl.operations.command_lines import checkpoint_commands, on_node_command

    node = CheckpointInputs(kubelet=inputs.kubelet, pods=inputs.pods)
    if inputs.machine == LIVE_MACHINE:
        return f"sudo {checkpoint_commands(node)('cpuctl checkpoint repair')} {option_names.YES}"
    return on_node_command(("repair",), node)


def _start_with_repaired_memory_state(planning: Planning, kubelet: Kubelet) -> StartResult:
    """Start with the memory state that a repair adapts to the machine, and admit running pods again."""
    from cpuctl.checkpoints.memory_state import write_memory_state
    from cpuctl.checkpoints.model import MemoryStateFile
    from cpuctl.engine.outcome import Undetermined
    from cpuctl.engine.start import Started, start_managers
    from cpuctl.engine.state_checks.owners import Owners
    from cpuctl.engine.state_repair import MemoryRules, Repaired, repair_memory_state
    from cpuctl.inputs.starting_state import read_by_others

    initial, managers = planning.initial, start_managers(planning.source.info, kubelet)
    found, reader = initial.files.memory, initial.reader
    policy = managers.memory_policy if isinstance(managers, Started) else None
    if policy is None or reader is None or not isinstance(found, MemoryStateFile):
        return Undetermined("there is no memory_manager_state that can be repaired")
    rules = MemoryRules.of(policy, keeps_pods=reader.keeps_pods)
    repaired = repair_memory_state(found, rules, Owners.of(initial.granted))
    if not isinstance(repaired, Repaired):
        return Undetermined(repaired.reason)
    texts = {**initial.texts, MEMORY_FILE: write_memory_state(repaired.state, reader)}
    others = read_by_others(texts, kubelet)
    files = replace(initial.files, memory=repaired.state, by_others=others)
    return _start_and_readmit(replace(planning, initial=replace(initial, files=files, texts=texts)), kubelet)


def _start_and_readmit(planning: Planning, kubelet: Kubelet) -> StartResult:
    """Start, and admit running pods again, as after a restart; all of them must be admitted."""
    from cpuctl.engine.node import Node
    from cpuctl.engine.outcome import Admitted, Undetermined

    node = planning.start(kubelet, Sources())
    if isinstance(node, Node):
        for each in node.readmit(planning.initial.granted):
            if not isinstance(each.verdict, Admitted):
                return Undetermined(
                    f"pod {each.pod.full_name}, which is running, would not be admitted again"
                )
    return node


def _unmistakable(pod: StoredPod, pods: Iterable[StoredPod]) -> str:
    """Name a pod so that it can be found again: by its UID if others have the same name."""
    same = {each.uid for each in pods if each.full_name == pod.full_name}
    return pod.full_name if len(same) == 1 else pod.uid


def _starting(planning: Planning, choice: PodChoice) -> Planning:
    """Return the planning whose kubelet admits the chosen pod: running ones again, from what it finds."""
    if not choice.running:
        return planning

    from cpuctl.inputs.starting_state import ALLOCATED_AGAIN

    initial = planning.initial.before_restart
    if initial is not planning.initial:
        planning.sources.warn(ALLOCATED_AGAIN)
    return replace(planning, initial=initial)


def _scenario(planning: Planning, starting: Planning, choice: PodChoice, *, together: bool) -> Scenario:
    from cpuctl.engine.explain.scenario import Scenario

    return Scenario(
        start=partial(starting.start, sources=planning.sources),
        kubelet=planning.kubelet,
        pods=planning.initial.granted if choice.running else planning.incoming,
        position=choice.place,
        restarted=choice.running,
        together=together and not choice.running,
        templates={pod.uid: name for pod in planning.incoming if (name := _template_of(pod))},
    )


def _template_of(pod: StoredPod) -> str:
    """Return what makes a pod: its workload, or the option with a template for several."""
    if pod.static:
        return ""
    return owner_of(pod) or (pod.origin if isinstance(pod.origin, str) else "")


class NothingToExplainError(UsageError):
    """All of several pods are admitted, and none of them is named."""


def _first_refused(replay: Replay) -> int:
    """Find the first of several pods that is not admitted: its place in the given order."""
    from cpuctl.engine.outcome import Admitted
    from cpuctl.inputs.pods import few_names

    admissions = replay.admissions
    refused = (place for place, each in enumerate(admissions) if not isinstance(each.verdict, Admitted))
    place = next(refused, None)
    if place is None:
        which = "both" if len(admissions) == 2 else f"all {len(admissions)}"
        message = f"{which} pods are admitted, and none is named"
        names = few_names(each.pod.full_name for each in admissions)
        raise NothingToExplainError(message, hint=f"choose one to explain: {names}")
    if replay.rearranged:
        return [pod.uid for pod in replay.scenario.pods].index(admissions[place].pod.uid)
    return place
