"""What a repair does to a state file: one action for everything that changes, and why it must."""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

_State = TypeVar("_State")


class ActionKind(StrEnum):
    """What was done."""

    DROPPED = "dropped"
    MOVED = "moved"
    POOL = "pool"
    POD = "pod"
    BASELINE = "baseline"
    POLICY = "policy"
    TABLES = "tables"
    CHECKSUM = "checksum"
    FORMAT = "format"


class RepairAction(NamedTuple):
    """One thing that was done, to whom, and why; ``before`` and ``after`` are lists of CPUs or amounts."""

    did: ActionKind
    reason: str
    pod_uid: str = ""
    container: str = ""
    before: str = ""
    after: str = ""


class Repaired(NamedTuple, Generic[_State]):
    """A state that fits, and how it came to be; without actions it is the one that was given."""

    state: _State
    actions: tuple[RepairAction, ...] = ()


class NotRepaired(NamedTuple):
    """Why no state is safe, and what to do instead."""

    reason: str
    advice: str
