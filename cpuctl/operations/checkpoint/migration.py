"""Rewriting state files for another kubelet and, if its node is known, proving that it starts on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.checkpoints.cpu_state import read_cpu_state
from cpuctl.checkpoints.inspection import OTHER_FILES
from cpuctl.checkpoints.memory_state import read_memory_state
from cpuctl.checkpoints.migration import NotMigrated, migrate_cpu_state, migrate_memory_state
from cpuctl.checkpoints.model import DRAIN, CPUStateFile, MemoryStateFile, UnreadableState
from cpuctl.engine.start import NotStarted, Started
from cpuctl.engine.state_checks.findings import REPAIR
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.kubelet import named_version, read_gates
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.inputs.starting_state import reader_of_gates
from cpuctl.inputs.state_files import StatePlace, read_states
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.operations.checkpoint.changes import FileChange, Refused, start_notes
from cpuctl.operations.checkpoint.proposals import proposed
from cpuctl.operations.checkpoint.states import (
    container_names,
    load_owners,
    no_states,
    read_checkpoint_case,
    read_host,
    require_directory,
    require_states,
)
from cpuctl.operations.command_lines import on_node_command
from cpuctl.phrases import all_of
from cpuctl.pods.rules import PodRules
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.checkpoints.migration import Migrated
    from cpuctl.checkpoints.reader import StateReader
    from cpuctl.engine.state_checks.owners import Owners
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.state_files import CheckpointInputs, StateInput
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.checkpoint.states import CheckpointCase


class Migration(NamedTuple):
    """State files rewritten for another kubelet, how it reads them, and whether it starts on them.

    ``proof`` and ``kubelet`` are None if only its release and gates are known.
    """

    changes: tuple[FileChange, ...]
    owners: Owners
    reader: StateReader
    proof: StateVerdict | None = None
    kubelet: Kubelet | None = None


def migrate_for_host(inputs: CheckpointInputs, sources: Sources, *, writes: bool) -> Migration:
    """Migrate for a fully known kubelet; files that it would not start on are refused.

    Raise InputError if there is nothing to migrate and, if that *writes* files, if its configuration is
    only assumed.
    """
    inputs, host = read_host(inputs, sources)
    if writes:
        sources.require_configuration(changes_assignments=True)
    case = read_checkpoint_case(inputs, host, sources)
    verb = ("migrate", option_names.TO, inputs.kubelet.version)
    require_states(case, "migrate", on_node_command(verb, inputs, writes=False), inputs.root)
    changes, proof = _proven(_all_migrated(case.states, case.reader), case)
    return Migration(changes, case.owners, case.reader, proof, host.kubelet)


def migrate_for_release(inputs: CheckpointInputs, sources: Sources) -> Migration:
    """Migrate for a kubelet of which only its release and gates are known.

    Raise UsageError for a release or gates that do not exist, InputError if there is nothing to migrate.
    """
    refuse_stdin_twice(inputs.state, inputs.pods)
    require_directory(inputs.root)
    reader = _reader(inputs.kubelet)
    place = StatePlace(root=Path(inputs.root), in_place=inputs.in_place, lock=inputs.lock)
    states = read_states(inputs.state, place, sources)
    if not states:
        raise no_states("migrate", inputs.state or inputs.root)
    owners = load_owners(inputs.pods, PodRules(), sources)
    changes = _all_migrated(states, replace(reader, initial_containers=container_names(owners)))
    return Migration(changes, owners, reader)


def _reader(inputs: KubeletInputs) -> StateReader:
    try:
        gates = FeatureGates.for_minor(KubeletVersion.parse(named_version(inputs)).minor)
        return reader_of_gates(gates.with_overrides(read_gates(inputs.gates)))
    except ValueError as error:
        raise UsageError(str(error), where=inputs.version_option) from None


def _all_migrated(states: Sequence[StateInput], to: StateReader) -> tuple[FileChange, ...]:
    """Rewrite every file that has several formats; every kubelet reads what resizes have granted to pods."""
    return tuple(_migrated(state, to) for state in states)


def _proven(
    changes: tuple[FileChange, ...], case: CheckpointCase
) -> tuple[tuple[FileChange, ...], StateVerdict]:
    """Check whether the kubelet starts on the new files; if it does not, none of them may be written."""
    states = tuple(each.state if each.refused else each.as_input() for each in changes)
    verdict = proposed(replace(case, states=tuple(state for state in states if state)))
    if isinstance(verdict.start, Started) or any(each.refused for each in changes):
        return changes, verdict
    return tuple(
        _refused(each, verdict, verdict.start) if each.changed else each for each in changes
    ), verdict


def _refused(change: FileChange, verdict: StateVerdict, start: NotStarted) -> FileChange:
    """Refuse a file with what the kubelet says of it or, if another file is the obstacle, with its name."""
    refusals = verdict.refusals
    if refusals and change.file_name not in refusals:
        reason = f"{next(iter(refusals))} must be repaired first"
    else:
        reason = start_notes(refusals.get(change.file_name, start), " with it")
    return replace(change, refused=Refused(reason, REPAIR))


def _migrated(state: StateInput, to: StateReader) -> FileChange:
    found = state.inspection
    change = FileChange(file_name=state.file_name, state=state, text=state.text)
    if state.file_name in OTHER_FILES:
        # No release converts them: the target release reads them, ignores them or does not start.
        return change
    if found.state is None:
        raise InputError(f"cannot be read: {found.problem}", where=state.source, hint=DRAIN)
    wrong = [each.name for each in found.checksums if not each.ok and each.written]
    if wrong:
        reason = f"{all_of(wrong)} does not match the content, so the content may be wrong"
        return replace(change, refused=Refused(reason, REPAIR))
    result = _rewritten(state, to)
    match result:
        case None:
            return change
        case NotMigrated(reason=reason, advice=advice):
            return replace(change, refused=Refused(reason, advice))
        case _:
            return _checked(replace(change, text=result.text, losses=result.losses), to)


def _rewritten(state: StateInput, to: StateReader) -> Migrated | NotMigrated | None:
    match state.inspection.state:
        case CPUStateFile() as cpu:
            return migrate_cpu_state(cpu, to, state.inspection.container_ids)
        case MemoryStateFile() as memory:
            return migrate_memory_state(memory, to)
        case _:
            return None


def _checked(change: FileChange, to: StateReader) -> FileChange:
    """Read the new file as that kubelet does."""
    read = read_cpu_state if isinstance(change.after.state, CPUStateFile) else read_memory_state
    result = read(change.text, to)
    if isinstance(result, UnreadableState):
        return replace(change, refused=Refused(f"that kubelet cannot load it: {result.error}", DRAIN))
    return change
