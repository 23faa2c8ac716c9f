"""What a verdict on state files proposes: a repair only if it would find a pod of the files on the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.engine.state_checks.findings import REPAIR, REPAIR_WITH_PODS
from cpuctl.engine.state_checks.verify import saved_states
from cpuctl.operations.checkpoint.repair import advised
from cpuctl.operations.checkpoint.states import found_states
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.engine.state_checks.findings import StateFinding
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.operations.checkpoint.states import CheckpointCase

_REMOVED_FIRST = f" from the node, then {REPAIR_WITH_PODS}"
_DELETED_THEN = " from the node, then delete the state files"


def proposed(case: CheckpointCase) -> StateVerdict:
    """Return the verdict on state files; if no pod of the files is left, propose deleting them.

    ``require_pods_of_node`` refuses such a repair: the list of pods may be another node's.
    """
    verdict = advised(case)
    if not any(REPAIR in each.fix for each in verdict.findings):
        return verdict
    saved = saved_states(found_states(case.states, case.reader)).uids
    left = saved if case.owners.pods is None else saved & case.owners.pods.keys()
    if case.owners.all_gone(saved):
        findings = [_deleted(each) for each in verdict.findings]
    elif len(left) == 1:
        findings = [_deleted_then(each, *left) for each in verdict.findings]
    else:
        return verdict
    return replace(verdict, findings=tuple(findings))


def _deleted(finding: StateFinding) -> StateFinding:
    return replace(finding, fix=option_names.NO_POD_LEFT) if REPAIR in finding.fix else finding


def _deleted_then(finding: StateFinding, last: str) -> StateFinding:
    """Propose deleting the files after *last*, the only pod that is left, has been removed."""
    if finding.place.pod_uid not in ("", last):
        return finding
    return replace(finding, fix=finding.fix.replace(_REMOVED_FIRST, _DELETED_THEN))
