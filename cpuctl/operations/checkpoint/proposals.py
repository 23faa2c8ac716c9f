"""What a verdict on state files proposes: a repair only if it would succeed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cpuctl import option_names
from cpuctl.audit.commands import bringing_online
from cpuctl.checkpoints.model import DRAIN, FROM_NODE
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.engine.outcome import Undetermined
from cpuctl.engine.start import unless_flags_missing
from cpuctl.engine.state_checks.cpu_findings import NOT_ONLINE
from cpuctl.engine.state_checks.findings import REPAIR, REPAIR_ANEW
from cpuctl.engine.state_checks.verify import saved_states
from cpuctl.engine.state_start import start_on
from cpuctl.errors import InputError
from cpuctl.kubelet.kubelet import NO_CONFIGURATION
from cpuctl.operations.checkpoint.file_repair import FileRepair
from cpuctl.operations.checkpoint.running_pods import naming_pod
from cpuctl.operations.checkpoint.states import found_states
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpuctl.engine.start import NotStarted
    from cpuctl.engine.state_checks.findings import StateFinding
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.model import Machine
    from cpuctl.operations.checkpoint.states import CheckpointCase

CONFIGURED: Final = f"{REPAIR} {option_names.KUBELET_CONFIG} FILE"
DRAIN_ALL: Final = "drain the node and delete its state files"
_REMOVED_FIRST = f" {FROM_NODE}, {REPAIR_ANEW}"
_DELETED_THEN = f" {FROM_NODE}, then delete the state files"


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


def advised(case: CheckpointCase) -> StateVerdict:
    """Return the verdict on state files; propose a repair only if it would succeed.

    If one file cannot be repaired, none is: the obstacle is proposed as the first step, for its own file and
    for all others. If the configuration itself keeps the kubelet from starting, it has to be corrected first:
    nothing is proposed for the files. CPUs that are only offline can also be brought online again.
    """
    before = case.verdict()
    verdict = replace(before, refusals=_qualified(before.refusals, case.host.kubelet))
    findings = verdict.findings
    if not any(REPAIR in each.fix for each in findings):
        return verdict
    unconfigured = is_unconfigured(verdict.start)
    node = start_on(case.host.source.info, case.host.kubelet).node
    if node is None and not unconfigured:
        return replace(verdict, findings=tuple(map(_without_repair, findings)))
    if not any(each.fix.endswith(REPAIR) for each in findings):
        return verdict
    if unconfigured:
        # Without the configuration nothing is repaired.
        findings = tuple(map(_unconfigured, findings))
    elif node is not None and (blocked := _in_the_way(FileRepair(case, node, before))) is not None:
        findings = tuple(_unblocked(findings, *blocked))
    machine = case.host.source.machine
    return replace(verdict, findings=tuple(_brought_online(each, machine) for each in findings))


def _without_repair(finding: StateFinding) -> StateFinding:
    return replace(finding, fix="") if REPAIR in finding.fix else finding


def _qualified(refusals: Mapping[str, NotStarted], kubelet: Kubelet) -> dict[str, NotStarted]:
    """Say of each refusal, as of that of the start, whether it depends on flags that are unknown."""
    return {name: unless_flags_missing(each, kubelet) for name, each in refusals.items()}


def is_unconfigured(outcome: object) -> bool:
    """Return whether the outcome of a start is unknown because no configuration is."""
    return isinstance(outcome, Undetermined) and outcome.text.startswith(NO_CONFIGURATION)


def _unconfigured(finding: StateFinding) -> StateFinding:
    """Propose passing the configuration; without it, the kubelet's policy is only the default."""
    if finding.code == "policy-differs":
        return replace(
            finding,
            severity=Severity.WARNING,
            message=f'the file was written with policy "{finding.detected}", and no kubelet configuration '
            f'was found: "{finding.expected}" is the default',
            fix=f"pass the configuration: {option_names.KUBELET_CONFIG} FILE",
        )
    return replace(finding, fix=finding.fix.replace(REPAIR, CONFIGURED))


def _unblocked(findings: Sequence[StateFinding], file_name: str, advice: str) -> Iterator[StateFinding]:
    """Propose fixing *file_name* first, which prevents the repair of all files."""
    blocked = {each.place.file_name for each in findings if each.fix.endswith(REPAIR)}
    of_file, of_others = _deleting(file_name, advice), f"{file_name} first: {advice}, then {REPAIR}"
    if REPAIR in advice and blocked - {file_name}:
        # One command repairs all files; without it, all must be deleted.
        of_file = of_others = advice.replace(DRAIN, DRAIN_ALL)
    for each in findings:
        is_own = each.place.file_name == file_name
        # The advice includes removing the pods that do not fit.
        is_misfit = each.code == "memory-misfit" and REPAIR in advice
        if each.fix.endswith(REPAIR) or (is_own and is_misfit):
            yield replace(each, fix=of_file if is_own else of_others)
        else:
            yield each


def _deleting(file_name: str, advice: str) -> str:
    """Name the file: advice that several findings have is shown below all of them."""
    return advice.replace(DRAIN, DRAIN.replace("the file", file_name)) if REPAIR in advice else advice


def _brought_online(finding: StateFinding, machine: Machine) -> StateFinding:
    """Propose how to bring offline CPUs online, unless some do not exist on the machine."""
    if finding.code != "no-such-cpus":
        return finding
    gone = CPUSet.parse(finding.detected)
    found = bringing_online(machine, gone, "it" if len(gone) == 1 else "them")
    if found is None:
        return finding
    online = f"{found.why}: {found.how}, or repair the file"
    return replace(finding, message=finding.message.replace(NOT_ONLINE, online))


def _in_the_way(repair: FileRepair) -> tuple[str, str] | None:
    """Return the first file that prevents the repair of all, and what to do about it."""
    for state in repair.case.states:
        try:
            change = repair.change(state)
        except InputError:
            return state.file_name, DRAIN
        (change,) = naming_pod(repair, (change,))
        if change.refused:
            return state.file_name, change.refused.advice
    return None
