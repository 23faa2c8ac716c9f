"""State files as they are, however a kubelet would read them: to be shown or compared."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpuctl.checkpoints.inspection import OTHER_FILES
from cpuctl.documents.files import file_argument, source_name
from cpuctl.errors import InputError
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.state_files import (
    NO_STATE_FILES,
    StateInput,
    StatePlace,
    as_state,
    is_recording,
    read_states,
)
from cpuctl.operations.checkpoint.states import load_owners, may_lack_states
from cpuctl.pods.rules import PodRules

if TYPE_CHECKING:
    from cpuctl.engine.state_checks.owners import Owners
    from cpuctl.machine.sources import MachineSource

Pair: TypeAlias = tuple[StateInput | None, StateInput | None]
"""A file on both sides; None if a side does not have it."""


class StateView(NamedTuple):
    """State files, the owners of what is in them, and the machine, if one was needed."""

    states: tuple[StateInput, ...]
    owners: Owners
    source: MachineSource | None


def read_state_view(name: str, machine: str, pods: str, sources: Sources, *, on_machine: bool) -> StateView:
    """Read the state files that *name* names, else the machine's, and the machine if it is requested.

    Raise InputError if there are none, and for files that are not state files.
    """
    requested = name
    if not machine and is_recording(name):
        name, machine = "", name
    needed = machine or on_machine or not name
    with as_state(requested):
        source = load_machine(machine or LIVE_MACHINE, sources) if needed else None
    states = read_states(name, StatePlace(machine=source), sources)
    if not states:
        if source is not None and may_lack_states(source):
            hint = "on the node: sudo cpuctl checkpoint dump"
            raise InputError(NO_STATE_FILES, where=machine, hint=hint)
        hint = "specify a state file, a directory with state files, or a recording of a node that has them"
        raise InputError("there are no state files", where=machine or LIVE_MACHINE, hint=hint)
    for state in states:
        if not state.inspection.file_name and (len(states) == 1 or state.file_name not in OTHER_FILES):
            raise _unreadable(state, name or machine)
    return StateView(states, load_owners(pods, PodRules(), sources, source), source)


def read_pairs(a: str, b: str, sources: Sources) -> list[Pair]:
    """Pair the files of two sides to compare; if one side is a single file, only that one is paired.

    Raise InputError if the sides have nothing in common, and for files that cannot be read.
    """
    one, other = _side("a", a, sources), _side("b", b, sources)
    single = min(len(one), len(other)) == 1
    names = sorted(one.keys() & other.keys() if single else one.keys() | other.keys())
    if not names:
        found = ", ".join(sorted({*one, *other}))
        hint = "specify two files of the same kind, or two directories"
        message = f"are different kinds of files ({found}) and cannot be compared"
        raise InputError(message, where=f"{a} and {b}", hint=hint)
    return [(one.get(name), other.get(name)) for name in names]


def _side(member: str, name: str, sources: Sources) -> dict[str, StateInput]:
    states = read_states(name, StatePlace(), Sources())
    sources.add(member, source_name(name), "given")
    readable: dict[str, StateInput] = {}
    for state in states:
        if state.inspection.state is not None:
            readable[state.file_name] = state
        elif len(states) > 1 and state.file_name in OTHER_FILES:
            sources.warnings.append(f"{state.source}: skipped: {state.inspection.problem}")
        else:
            raise _unreadable(state, name)
    return readable


def _unreadable(state: StateInput, name: str) -> InputError:
    command = ["cpuctl", "checkpoint", "verify", str(state.path) if state.path else file_argument(name)]
    hint = f"to see what a kubelet does with it: {shlex.join(command)}"
    return InputError(state.inspection.problem, where=state.source, hint=hint)
