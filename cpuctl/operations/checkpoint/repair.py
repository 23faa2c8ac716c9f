"""Repairing the state files of a node, and proving that its kubelet starts on the result."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.checkpoints.model import DRAIN, FROM_NODE
from cpuctl.engine.outcome import Undetermined
from cpuctl.engine.start import NotStarted, Started
from cpuctl.engine.state_checks.findings import EXPLAIN
from cpuctl.engine.state_start import fails_on_files, start_on
from cpuctl.operations.checkpoint.changes import Refused, start_notes
from cpuctl.operations.checkpoint.file_repair import FileRepair, refused
from cpuctl.operations.checkpoint.proposals import CONFIGURED, DRAIN_ALL, advised, is_unconfigured
from cpuctl.operations.checkpoint.running_pods import best_attempt, naming_pod, pods_in_the_way
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.operations.checkpoint.changes import FileChange
    from cpuctl.operations.checkpoint.states import CheckpointCase

_CORRECT, _CHECK = "correct the configuration first", "cpuctl config check"


class Repairs(NamedTuple):
    """The result for every file, and the verdict on all of them together, refused ones as they are."""

    changes: tuple[FileChange, ...]
    proof: StateVerdict


def repair(case: CheckpointCase) -> Repairs:
    """Repair files that need it; unless this is proven to help, no file is changed."""
    before = case.verdict()
    begun = start_on(case.host.source.info, case.host.kubelet)
    if begun.node is None:
        assert not isinstance(begun.managers, Started)
        reason = _of_start(begun.managers, "regardless of the state files", f"{_CORRECT}: {_CHECK}")
        return Repairs(tuple(refused(state, reason) for state in case.states), before)
    how = FileRepair(case, begun.node, before)
    best = best_attempt(how)
    changes, after = naming_pod(how, best.changes), best.after
    if not isinstance(after.start, Started) and not any(change.refused for change in changes):
        outcome: NotStarted = after.start
        if isinstance(before.start, Undetermined) and is_unconfigured(outcome):
            outcome, after = before.start, advised(case)  # the repaired files are not written
        of_files = fails_on_files(outcome, case.host.source.info, case.host.kubelet)
        advice = DRAIN_ALL if of_files else f"{_CORRECT} ({_CHECK}), or {DRAIN_ALL}"
        reason = _of_start(outcome, "even with repaired state files", advice)
        changes = tuple(replace(each, refused=reason) if each.changed else each for each in changes)
    elif any(change.changed for change in changes):
        changes = tuple(map(_with_all, changes))
    kept = any(each.changed for each in changes)
    return Repairs(changes, _kept(how, best.after) if kept else after)


def _kept(how: FileRepair, verdict: StateVerdict) -> StateVerdict:
    """Propose how to keep as many pods as possible if a restart with the repaired files rejects some.

    An explanation of these pods would be made with the files as they are now.
    """
    if not verdict.rejected:
        return verdict
    names = pods_in_the_way(how, verdict.rejected)
    removed = (
        f"remove {names} {FROM_NODE}, and repair again with a new list of its pods (the other pods stay)"
    )
    fix = ", or ".join(filter(None, (removed if names else "", _draining(how.case))))
    # One fix is for all of them: only the first one says so.
    fixes = chain((fix,), repeat(""))
    findings = (
        replace(each, fix=next(fixes)) if each.fix.startswith(EXPLAIN) else each for each in verdict.findings
    )
    return replace(verdict, findings=tuple(findings))


def _draining(case: CheckpointCase) -> str:
    empty = replace(case, states=(), answers=None).verdict()
    all_fit = empty.starts and not empty.rejected and not empty.overlaps
    return f"{DRAIN_ALL} (then all running pods fit)" if all_fit else ""


def _with_all(change: FileChange) -> FileChange:
    """Propose deleting all files if others have to change, too: without the repair, none of them does."""
    if change.refused is None:
        return change
    advice = change.refused.advice.replace(DRAIN, DRAIN_ALL)
    return replace(change, refused=replace(change.refused, advice=advice))


def _of_start(outcome: NotStarted, when: str, advice: str) -> Refused:
    when = "" if isinstance(outcome, Undetermined) else f", {when}"
    if is_unconfigured(outcome):
        return Refused(start_notes(outcome), CONFIGURED)
    return Refused(start_notes(outcome, when), advice)
