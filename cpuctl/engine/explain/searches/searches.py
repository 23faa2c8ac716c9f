"""What would change the answer: changes are tried on the engine, and kept if it then admits the pod.

Other pods are tried that would have to end (one, or two if no single one is enough) or to arrive later;
the settings tried are policies, the topology scope, and every option on or off, or the
limit of pods that rejects one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.rules import OUT_OF
from cpuctl.engine.explain.scenario import REMEMBERED, Replay, SearchBudget, replay_scenario
from cpuctl.engine.explain.searches.changes import Change, ChangeKind, EarlierPosition, Removal, SettingChange
from cpuctl.engine.explain.searches.guests import guest_changes
from cpuctl.engine.explain.searches.requests import nearest_requests
from cpuctl.engine.explain.searches.trials import pods_again
from cpuctl.engine.hints.topology_manager import POLICIES
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected, StartRefused
from cpuctl.golang.conversions import parse_bool
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.policy_options import (
    CPU_POLICY_OPTIONS,
    PREFER_CLOSEST,
    SCALE_DELAY,
    TOPOLOGY_OPTIONS,
    OptionHistory,
)
from cpuctl.pods.model import StoredPod
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

PAIRED = 40
"""Limit on the pods tried in pairs; if there are more, those that hold the most are tried."""

_NOTHING = Quantity()


def removals(replay: Replay, runs: SearchBudget) -> Iterator[Removal]:
    """Yield single pods without which the pod might be admitted, or else pairs; those that hold least first.

    Pairs are not tried if a single pod is enough.
    """
    pods = sorted(_others(replay), key=lambda pod: _weight(replay.before, pod))
    alone = False
    for removal in _enough(replay, ((pod,) for pod in pods), runs):
        alone = True
        yield removal
    if alone:
        return
    if len(pods) > PAIRED:
        runs.left_out = f"pairs with pods other than the {PAIRED} largest"
    largest = pods[-PAIRED:]
    places = sorted(combinations(range(len(largest)), 2), key=sum)
    yield from _enough(replay, ((largest[one], largest[other]) for one, other in places), runs)


def _others(replay: Replay) -> list[StoredPod]:
    """List the pods running when the pod arrives; with a restart, those of the scenario."""
    scenario = replay.scenario
    running = scenario.pods if scenario.restarted else replay.before.active.values()
    return [pod for pod in running if pod.uid != scenario.pod.uid]


def _enough(
    replay: Replay, choices: Iterable[tuple[StoredPod, ...]], runs: SearchBudget
) -> Iterator[Removal]:
    for pods in choices:
        if replay.scenario.restarted:
            # Pods that end before a restart change all of it: only a full run gives the answer.
            yield Removal(pods)
        elif not runs.allow():
            return
        else:
            node = replay.before.copy()
            for pod in pods:
                node.remove(pod.uid)
            if runs.reaches(replay.scenario, runs.admit(node, replay.scenario.pod)):
                yield Removal(pods)


def _weight(node: Node, pod: StoredPod) -> tuple[int, int, str]:
    """Return a sort key for pods: the CPUs that they hold or request, then memory."""
    requests = pod_requests(pod)
    held = node.cpu.state.held_by(pod.uid).bit_count() * 1000
    return (
        max(held, requests.get("cpu", _NOTHING).milli_value),
        requests.get("memory", _NOTHING).value,
        pod.full_name,
    )


def earlier_positions(replay: Replay, runs: SearchBudget) -> Iterator[EarlierPosition]:
    """Yield earlier positions at which the pod might be admitted, those that overtake the fewest pods first.

    After a restart there is no choice: a kubelet takes the oldest pod first.
    """
    scenario = replay.scenario
    if scenario.restarted:
        return
    if replay.rearranged:
        runs.left_out = "positions in an order that the policy chooses"
        return
    if len(replay.nodes_before) <= scenario.position:
        runs.left_out = f"positions more than {REMEMBERED - 1} pods earlier"
    for back, node in enumerate(reversed(replay.nodes_before[:-1]), 1):
        if not runs.allow():
            return
        if runs.reaches(scenario, runs.admit(node.copy(), scenario.pod)):
            position = scenario.position - back
            yield EarlierPosition(position, scenario.pods[position : scenario.position])


_STRICTEST_FIRST = (*reversed(POLICIES), "none")
_SCOPES = ("container", "pod")


def setting_candidates(config: KubeletConfiguration, minor: int) -> Iterator[SettingChange]:
    """Yield one change per setting and value, first those that keep most of what was configured.

    Options that a kubelet 1.*minor* does not know are left out. The engine decides whether the kubelet would
    start with a change.
    """
    yield from _options(config, minor)
    if config.topology_manager_policy != "none":
        yield from _scopes(config)
    yield from _policies(config)
    if config.memory_manager_policy == "Static":
        yield SettingChange(
            setting="memoryManagerPolicy",
            before="Static",
            after="None",
            config=replace(config, memory_manager_policy="None"),
        )


def _options(config: KubeletConfiguration, minor: int) -> Iterator[SettingChange]:
    if config.cpu_manager_policy == "static":
        for name in _known(CPU_POLICY_OPTIONS, minor):
            before, after, options = _toggled(config.cpu_manager_policy_options, name)
            yield SettingChange(
                setting="cpuManagerPolicyOptions",
                before=before,
                after=after,
                config=replace(config, cpu_manager_policy_options=options),
                option=name,
                options=options,
            )
    if config.topology_manager_policy != "none" and PREFER_CLOSEST in _known(TOPOLOGY_OPTIONS, minor):
        before, after, options = _toggled(config.topology_manager_policy_options, PREFER_CLOSEST)
        yield SettingChange(
            setting="topologyManagerPolicyOptions",
            before=before,
            after=after,
            config=replace(config, topology_manager_policy_options=options),
            option=PREFER_CLOSEST,
            options=options,
        )


def _scopes(config: KubeletConfiguration) -> Iterator[SettingChange]:
    before = config.topology_manager_scope
    for scope in _SCOPES:
        if scope != before:
            changed = replace(config, topology_manager_scope=scope)
            yield SettingChange(setting="topologyManagerScope", before=before, after=scope, config=changed)


def _policies(config: KubeletConfiguration) -> Iterator[SettingChange]:
    before = config.topology_manager_policy
    for policy in _STRICTEST_FIRST:
        if policy != before:
            changed = replace(config, topology_manager_policy=policy)
            yield SettingChange(setting="topologyManagerPolicy", before=before, after=policy, config=changed)


def _known(options: Mapping[str, OptionHistory], minor: int) -> list[str]:
    """List the boolean options that a release knows: the delay of resizes does not affect admission."""
    return [name for name, history in options.items() if name != SCALE_DELAY and history.stage(minor)]


def _toggled(options: Mapping[str, str], name: str) -> tuple[str, str, dict[str, str]]:
    """Return an option's value, the opposite one, and all options with the opposite.

    The kubelet has started with the value, so it is a boolean.
    """
    before = parse_bool(options.get(name, "false"))
    after = str(not before).lower()
    return str(before).lower(), after, {**options, name: after}


class Suggestion(Record):
    """A change with which the pod gets what it requests; ``lost`` pods are no longer admitted then.

    Pods of the same template that were not admitted and still are not are ``left``.
    """

    change: Change
    replayed: Replay
    lost: tuple[StoredPod, ...]
    left: tuple[StoredPod, ...]


class Search(NamedTuple):
    """The search for one kind of change: what was found, in how many runs of the engine.

    ``bound`` is the limit on the runs, ``complete`` whether they were enough for everything except what is
    ``left_out``. ``resources`` are those of which other requests were tried, ``alone`` or ``in_proportion``.
    ``shared``: a change would help, but then pods would have CPUs that are reserved or another pod's.
    ``unstarted`` are settings with which the kubelet rejects its state files. ``more``: others may help as
    well, but only the best of the first ones are among those ``found``.
    """

    kind: ChangeKind
    found: tuple[Suggestion, ...]
    runs: int
    bound: int
    complete: bool
    left_out: str
    resources: tuple[str, ...]
    alone: tuple[str, ...]
    in_proportion: tuple[str, ...]
    shared: bool
    unstarted: tuple[str, ...]
    more: bool


_TRIALS = 30
"""How many other requests of a template are tried at least, however many pods it has."""


class _Method(Record):
    """How to search for one kind of change: the search ends after ``most``, and the ``best`` are kept."""

    changes: Callable[[Replay, SearchBudget], Iterator[Change]]
    bound: int
    most: int = sys.maxsize
    best: int = sys.maxsize


def _settings(replay: Replay, _runs: SearchBudget) -> Iterator[SettingChange]:
    kubelet = replay.scenario.kubelet
    return setting_candidates(kubelet.config, kubelet.version.minor)


def _more_pods(replay: Replay, _runs: SearchBudget) -> Iterator[SettingChange]:
    """Raise one limit for all pods: a policy only makes room for one more pod by rejecting another."""
    config, reason = replay.scenario.kubelet.config, f"{OUT_OF}pods"
    verdicts = [each.verdict for each in replay.admissions]
    refused = [each for each in verdicts if isinstance(each, Rejected) and each.reason == reason]
    if not refused or replay.admission.verdict not in refused:
        return
    limit, cpus = refused[0].details["capacity"], replay.before.topology.num_cpus
    enough = limit + len(refused)
    if limit < config.max_pods:
        before, after = config.pods_per_core, -(-min(enough, config.max_pods) // cpus)
        changed = replace(config, pods_per_core=after)
        yield SettingChange(setting="podsPerCore", before=str(before), after=str(after), config=changed)
    else:
        changed = replace(config, max_pods=enough)
        yield SettingChange(setting="maxPods", before=str(config.max_pods), after=str(enough), config=changed)


def search(replay: Replay, decision: Decision, tick: Callable[[], None]) -> tuple[Search, ...]:
    """Look for changes of every kind; *tick* is called for every run of the engine."""
    methods = {
        ChangeKind.REQUEST: _Method(
            changes=_requests(decision), bound=max(2000, _TRIALS * pods_again(replay))
        ),
        ChangeKind.SETTING: _Method(changes=_settings, bound=4000),
        ChangeKind.REMOVAL: _Method(changes=removals, bound=3000, most=5, best=3),
        ChangeKind.ORDER: _Method(changes=earlier_positions, bound=2000, most=3, best=1),
    }
    verdict = replay.admission.verdict
    if isinstance(verdict, Rejected) and verdict.reason.startswith(OUT_OF):
        methods[ChangeKind.SETTING] = _Method(changes=_more_pods, bound=4000)
    if decision.rule is Rule.CLAIMS:
        # No kubelet decides here: neither its settings nor other container requests can help.
        methods = {kind: methods[kind] for kind in (ChangeKind.REMOVAL, ChangeKind.ORDER)}
    return tuple(_search(replay, kind, method, tick) for kind, method in methods.items())


def _requests(decision: Decision) -> Callable[[Replay, SearchBudget], Iterator[Change]]:
    def changes(replay: Replay, runs: SearchBudget) -> Iterator[Change]:
        machine = replay.scenario.pod.virtual_machine
        if machine is None:
            return nearest_requests(replay, decision, runs)
        return guest_changes(replay, decision, machine, runs)

    return changes


def _search(replay: Replay, kind: ChangeKind, method: _Method, tick: Callable[[], None]) -> Search:
    runs = SearchBudget(bound=method.bound, tick=tick)
    found: list[Suggestion] = []
    for change in method.changes(replay, runs):
        is_new = all(each.change != change for each in found)
        if is_new and (suggestion := _verified(replay, change, runs)):
            found.append(suggestion)
        if len(found) == method.most or runs.cut:
            break
    if kind is ChangeKind.REQUEST and found and all(each.left for each in found):
        found += _for_all_replicas(replay, method, runs)
    found.sort(key=lambda each: (len(each.lost) + len(each.left), len(each.lost)))
    return Search(
        kind=kind,
        found=tuple(found[: method.best]),
        runs=runs.made,
        bound=method.bound,
        complete=not runs.cut,
        left_out=runs.left_out,
        resources=tuple(sorted(runs.resources)),
        alone=tuple(sorted(runs.alone)),
        in_proportion=tuple(sorted(runs.in_proportion)),
        shared=runs.shared,
        unstarted=tuple(runs.unstarted),
        more=len(found) > method.best,
    )


def _for_all_replicas(replay: Replay, method: _Method, runs: SearchBudget) -> Iterator[Suggestion]:
    """Look for a change with which the last pod of the template is admitted, too."""
    scenario = replay.scenario
    if not runs.allow(len(scenario.pods)):
        return
    last = replay_scenario(replace(scenario, position=scenario.replicas[-1]), runs)
    if not isinstance(last, Replay) or isinstance(last.admission.verdict, Admitted):
        return
    for change in method.changes(last, runs):
        suggestion = _verified(replay, change, runs)
        if suggestion and not suggestion.left:
            yield suggestion


def _verified(replay: Replay, change: Change, runs: SearchBudget) -> Suggestion | None:
    """Replay the whole scenario with the change; return None if that misses the goal, or if pods overlap."""
    scenario = replay.scenario
    if not runs.allow(len(scenario.pods)):
        return None
    replayed = replay_scenario(change.applied(scenario), runs, remembered=1)
    if isinstance(replayed, StartRefused) and replayed.by_state_file and isinstance(change, SettingChange):
        runs.unstarted.append(f"{change.option or change.setting} {change.after}")
    if not isinstance(replayed, Replay) or not runs.reaches(scenario, replayed.admission):
        return None
    if not _overlapping(replayed) <= _overlapping(replay):
        runs.shared = True
        return None
    lost, left = replay.lost_in(replayed), replay.left_in(replayed)
    return Suggestion(change=change, replayed=replayed, lost=lost, left=left)


def _overlapping(replay: Replay) -> set[str]:
    """Name the pods that share exclusive CPUs, or have reserved ones, when all have been admitted."""
    came = {each.pod.uid for each in replay.admissions if each.taken_from_others}
    return came | replay.after.cpu.overlapping_pods().keys()
