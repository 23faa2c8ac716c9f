"""State files from a plan: what a kubelet would have written after admitting all pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.checkpoints.inspection import inspect_state
from cpuctl.engine import node as engine
from cpuctl.engine.admission import Admission
from cpuctl.engine.outcome import Admitted, Undetermined, why_not
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.inputs.starting_state import StartingState
from cpuctl.inputs.state_files import StateInput
from cpuctl.operations.checkpoint.changes import FileChange, Refused, start_notes
from cpuctl.operations.checkpoint.states import CheckpointCase, KubeletHost, knowing_reader
from cpuctl.operations.command_lines import check_command, planning_command
from cpuctl.operations.state_writing import state_texts
from cpuctl.records import replace
from cpuctl.state_names import CPU_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.answers.checkpoint import StateFileName
    from cpuctl.engine.start import NotStarted
    from cpuctl.operations.plan_inputs import Planning


def made_files(planning: Planning) -> tuple[tuple[FileChange, ...], CheckpointCase]:
    """Plan the pods on an empty node; if one is not admitted, no file is made."""
    # A recording's own state would be a different starting point.
    started = replace(planning, initial=StartingState()).start(planning.kubelet, planning.sources)
    if not isinstance(started, engine.Node):
        return _refused(_of_start(started, check_command(planning, started))), _case(planning, {})
    for pod in planning.incoming:
        admission = started.admit(pod)
        if not isinstance(admission.verdict, Admitted):
            same = [each for each in planning.incoming if each.full_name == pod.full_name]
            named = pod.uid if same[1:] else pod.full_name
            explain = planning_command(planning.inputs, ("explain", named))
            return _refused(_of_pod(admission, explain)), _case(planning, {})
    texts = state_texts(started, planning.kubelet)
    return tuple(FileChange(file_name=name, state=None, text=text) for name, text in texts.items()), _case(
        planning, texts
    )


def _case(planning: Planning, texts: Mapping[StateFileName, str]) -> CheckpointCase:
    owners = Owners.of(planning.incoming)
    return CheckpointCase(
        host=KubeletHost(source=planning.source, loaded=planning.loaded),
        states=tuple(
            StateInput(file_name=name, source=name, content=text.encode(), inspection=inspect_state(text))
            for name, text in texts.items()
        ),
        owners=owners,
        reader=knowing_reader(planning.kubelet, owners),
    )


def _refused(reason: Refused) -> tuple[FileChange, ...]:
    return tuple(FileChange(file_name=name, state=None, refused=reason) for name in (CPU_FILE, MEMORY_FILE))


def _of_start(outcome: NotStarted, check: str) -> Refused:
    return Refused(start_notes(outcome), check)


def _of_pod(admission: Admission, explain: str) -> Refused:
    verdict = admission.verdict
    assert not isinstance(verdict, Admitted)
    why = why_not(verdict)
    if isinstance(verdict, Undetermined):
        return Refused(f"whether {admission.pod.full_name} is admitted is unknown: {why}", explain)
    return Refused(f"{admission.pod.full_name} is not admitted: {why}", explain)
