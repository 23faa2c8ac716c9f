"""The answer of ``cpuctl advise`` as a plain document (schema: ``cpuctl schema advice``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpuctl.answering import API_VERSION
from cpuctl.answering.config.reserve_answer import reserved_memory_answer, snippet_text
from cpuctl.answering.config.starts import fix_answer, not_started_answer
from cpuctl.answering.plan.plan_answer import cpu_list, rejection_answer, verdict_answer
from cpuctl.answering.plan.plan_document import planning_header, policy_answer
from cpuctl.engine.capacity.defragment import LargestMoves, Moves, Step
from cpuctl.golang.conversions import reads_true
from cpuctl.inputs.starting_state import StartingState
from cpuctl.kubelet.configuration.settings import OriginKind
from cpuctl.kubelet.policy_options import STRICT_RESERVATION
from cpuctl.operations.advice import Advice, AdviceOptions, Proposed, Tried, does_as_drop_in
from cpuctl.records import replace
from cpuctl.state_names import CPU_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cpuctl.answers import advice as answers
    from cpuctl.answers.start import UnstartedHeader
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.configuration.loading import LoadedConfiguration
    from cpuctl.operations.configuration import NotStartedOutcome
    from cpuctl.operations.defragmentation import Defragmentation
    from cpuctl.operations.plan_inputs import Planning


def advice_document(planning: Planning, advice: Advice, options: AdviceOptions) -> answers.AdvisedSettings:
    """Describe settings to choose from, in addition to the current ones."""
    proposals = [
        _proposed(number, each, planning.loaded, advice) for number, each in enumerate(advice.proposed, 1)
    ]
    command = _next(planning, advice, proposals, options)
    following: answers.NextAdvice = {"next": command} if command else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "Advice",
        **planning_header(planning),
        "pods": len(planning.initial.running) + len(planning.incoming),
        "search": {
            "possible": advice.possible,
            "equivalent": advice.equivalent,
            "wouldNotStart": advice.refused,
            "undetermined": advice.undetermined,
            "whyUndetermined": list(advice.why_undetermined),
            "failed": advice.failed,
            "tried": advice.tried,
            "budget": options.budget,
            "ended": advice.ended,
        },
        "current": _current(advice),
        "proposals": proposals,
        "skipped": [{"setting": each.setting, "why": each.why} for each in advice.left_out],
        **following,
    }


def _next(
    planning: Planning, advice: Advice, proposals: Sequence[answers.ProposedSettings], options: AdviceOptions
) -> str:
    """Return the command that prints the first proposal for kubelets, or explains why nothing helps."""
    from cpuctl.operations.command_lines import check_command, lint_command, planning_command, snippet_command

    pods = len(planning.incoming) + len(planning.initial.running)
    if any(each["service"]["admitted"] or each["service"]["undetermined"] or not pods for each in proposals):
        # An interrupted search finds the same again if it ends after as many settings.
        search = options._replace(budget=advice.tried) if advice.ended == "stopped" else options
        best = min(proposals, key=lambda each: ("policy" in each, not each["beatsCurrent"]))
        return snippet_command(planning.inputs, search, best["number"])
    if not isinstance(advice.current, Tried):
        # Settings are tried on a node without state files.
        return check_command(replace(planning, initial=StartingState()), advice.current)
    left_out = advice.current.not_admitted
    if left_out and left_out[0] in advice.current.forbidden and (lint := lint_command(planning.inputs)):
        return lint
    return planning_command(planning.inputs, ("explain", left_out[0])) if left_out else ""


def unloaded_document(start: NotStartedOutcome, header: UnstartedHeader) -> answers.UnloadedAdvice:
    """Describe a kubelet that cannot load its configuration."""
    return {"apiVersion": API_VERSION, "kind": "Advice", **header, "start": not_started_answer(start)}


def _current(advice: Advice) -> answers.CurrentSettings | answers.FaultyCurrentSettings:
    current = advice.current
    if not isinstance(current, Tried):
        return {"start": not_started_answer(current)}
    return {
        "start": {"outcome": "Started"},
        "unbeaten": advice.current_unbeaten,
        "service": _service(current),
    }


def _service(tried: Tried) -> answers.Service:
    found = tried.service
    return {
        "admitted": found.admitted,
        "undetermined": found.undetermined,
        "notAdmitted": list(tried.not_admitted),
        "onOneNumaNode": found.on_one_node,
        "memoryOnOneNumaNode": found.memory_too,
        "unsharedCores": found.cores,
        "cacheCrossings": found.crossings,
        "sharedPool": found.shared_pool,
        "largestPod": found.largest,
        "overlappingPods": found.overlapping,
    }


def _proposed(
    number: int, proposed: Proposed, loaded: LoadedKubelet, advice: Advice
) -> answers.ProposedSettings:
    tried, now = proposed.tried, loaded.kubelet.config
    settings, before = _settings(tried.choice.config, now), _settings(now, now)
    snippet = snippet_text(settings)
    others = [name for name in settings if settings[name] != before.get(name)]
    document: answers.ProposedSettings = {
        "number": number,
        "changes": list(tried.choice.changes),
        "beatsCurrent": not isinstance(advice.current, Tried) or tried.service.beats(advice.current.service),
        "service": _service(tried),
        "others": proposed.others,
        "settings": settings,
        "snippet": snippet,
        "dropIn": does_as_drop_in(loaded.setup, snippet, tried.choice.config),
        "flags": list(dict.fromkeys(_flags(loaded.configuration, others))),
        "stateFiles": list(_outdated(tried.choice.config, now)),
    }
    if tried.policy is not None:
        document["policy"] = policy_answer(tried.policy)
    return document


def _outdated(config: KubeletConfiguration, now: KubeletConfiguration) -> Iterator[str]:
    """Name the state files with which a kubelet would not start any more, even without pods."""
    strict, was_strict = (
        reads_true(each.cpu_manager_policy_options.get(STRICT_RESERVATION, "")) for each in (config, now)
    )
    moved = strict and config.reserved_system_cpus != now.reserved_system_cpus
    if config.cpu_manager_policy != now.cpu_manager_policy or strict != was_strict or moved:
        yield CPU_FILE
    if config.memory_manager_policy != now.memory_manager_policy:
        yield MEMORY_FILE


def _flags(loaded: LoadedConfiguration, names: Iterable[str]) -> Iterator[str]:
    for place in fix_answer(loaded, [(name,) for name in names]):
        if place["from"] == OriginKind.FLAG and place["where"]:
            yield place["where"]


def _settings(config: KubeletConfiguration, now: KubeletConfiguration) -> dict[str, Any]:
    """Write all varied settings as KubeletConfiguration fields; leave out those that neither side has."""
    fields: dict[str, Any] = {"cpuManagerPolicy": config.cpu_manager_policy}
    if config.cpu_manager_policy_options or now.cpu_manager_policy_options:
        fields["cpuManagerPolicyOptions"] = dict(config.cpu_manager_policy_options)
    if config.reserved_system_cpus:
        fields["reservedSystemCPUs"] = config.reserved_system_cpus
    fields["topologyManagerPolicy"] = config.topology_manager_policy
    fields["topologyManagerScope"] = config.topology_manager_scope
    if config.topology_manager_policy_options:
        fields["topologyManagerPolicyOptions"] = dict(config.topology_manager_policy_options)
    fields["memoryManagerPolicy"] = config.memory_manager_policy
    if config.reserved_memory:
        fields["reservedMemory"] = reserved_memory_answer(config)
    return fields


# The answer of ``cpuctl advise --defragment`` as a plain document (schema: ``defragmentation``).


def defragmentation_document(planning: Planning, done: Defragmentation, budget: int) -> answers.FoundMoves:
    """Describe a plan of moves, or report that there is none."""
    found, moves = done.found, done.moves
    obstacle: answers.WhyNotPart = {}
    if moves is not None and moves.why_not is not None:
        obstacle = {"whyNot": rejection_answer(moves.why_not)}
    following: answers.NextMove = {}
    if isinstance(found, Moves) and found.steps is None:
        from cpuctl.operations.command_lines import planning_command

        following = {"next": planning_command(planning.inputs, ("explain", found.pod.full_name))}
    return {
        "apiVersion": API_VERSION,
        "kind": "Defragmentation",
        **planning_header(planning),
        "start": {"outcome": "Started"},
        "pod": _given(found) if isinstance(found, Moves) else None,
        "largest": _largest(found) if isinstance(found, LargestMoves) else None,
        "moves": None if moves is None or moves.steps is None else moves.evictions,
        "sharedCPUs": cpu_list(done.shared),
        "steps": [
            {"action": step.kind, "pod": _name(step, found), "cpus": cpu_list(step.cpus)}
            for step in (moves.steps if moves else None) or ()
        ],
        "minimal": _fewest(found),
        "immovable": [{"pod": each.pod.full_name, "why": each.why} for each in done.immovable],
        "search": {"tried": found.tried, "budget": budget, "ended": found.ended},
        **obstacle,
        **following,
    }


def unstarted_document(
    start: NotStartedOutcome, header: UnstartedHeader, check: str = ""
) -> answers.UnstartedDefragmentation:
    """Describe a kubelet that does not start, or cannot load its configuration; *check* shows the fix."""
    following: answers.StartCheck = {"next": check} if check else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "Defragmentation",
        **header,
        "start": not_started_answer(start),
        **following,
    }


def _name(step: Step, found: Moves | LargestMoves) -> str:
    """Return the name of a pod; a pod that was not given has no name."""
    nameless = found.moves.pod.uid if isinstance(found, LargestMoves) and found.moves else None
    return "" if step.pod.uid == nameless else step.pod.full_name


def _given(moves: Moves) -> answers.GivenPod:
    return {"name": moves.pod.full_name, "now": verdict_answer(moves.now)}


def _largest(found: LargestMoves) -> answers.LargestPod:
    return {"cpus": found.cpus, "now": found.now, "proven": found.proven}


def _fewest(found: Moves | LargestMoves) -> bool:
    if isinstance(found, LargestMoves):
        return found.proven if found.moves is None else _fewest(found.moves)
    return found.ended == "all" or (found.steps is not None and found.excluded == found.evictions - 1)
