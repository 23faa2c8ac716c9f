"""Expectations of a timeline: a part of what ``views`` returns, in the same form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from cpuctl.documents.cursor import Cursor
from cpuctl.golang.durations import duration_text
from cpuctl.machine.model import Machine
from cpuctl.records import Record
from cpuctl.timeline.model import Expected, TimelinePod
from cpuctl.timeline.reading.fields import container_of, cpu_list, duration, pod_name, refuse_others

Reader: TypeAlias = Callable[[Cursor], Expected]

CONDITIONS = ("PodResizePending", "PodResizeInProgress")
STATES = ("waiting", "running", "terminated")
PHASES = ("Unscheduled", "Pending", "Running", "Succeeded", "Failed")
SLIS = ("notification", "application")


class ExpectationReader(Record):
    """A reader of expectations about a machine and pods."""

    machine: Machine
    pods: Mapping[str, TimelinePod]

    def read(self, cursor: Cursor) -> dict[str, Expected]:
        """Read one ``expect`` block; raise InputError for values that no view has."""
        return _members(cursor, self._sections)

    @property
    def _sections(self) -> dict[str, Reader]:
        return {
            "kubelet": _shape({"running": Cursor.boolean, "version": Cursor.text, "error": Cursor.text}),
            "sharedPool": self._cpus,
            "containers": self._containers,
            "pods": self._pods,
            "stateFile": _or_none(self._state_file),
            "scheduler": _shape({"cpu": _amount, "memory": _amount}),
            "metrics": _metrics,
            "slis": _shape({**dict.fromkeys(SLIS, _sli), "lateNotifications": _count}),
        }

    def _cpus(self, cursor: Cursor) -> str:
        return str(cpu_list(cursor, self.machine))

    def _containers(self, cursor: Cursor) -> Expected:
        shape = {
            "state": lambda at: at.one_of(STATES),
            "cpus": self._cpus,
            "pending": _or_none(self._cpus),
            "baseline": _or_none(self._cpus),
            "downward": _or_none(self._cpus),
            "cgroup": _or_none(self._cpus),
            "effective": _or_none(self._cpus),
            "desired": _amount,
            "allocated": _or_none(_amount),
            "actual": _or_none(_amount),
            "weight": _or_none(_count),
        }
        found: dict[str, Expected] = {}
        for key, member in cursor.members().items():
            pod, container = container_of(member, key, self.pods)
            found[f"{pod}/{container}"] = _members(member, shape)
        return found

    def _pods(self, cursor: Cursor) -> Expected:
        shape = {
            "phase": lambda at: at.one_of(PHASES),
            "reason": Cursor.text,
            "message": Cursor.text,
            "conditions": _conditions,
        }
        return {self._pod(member, key): _members(member, shape) for key, member in cursor.members().items()}

    def _pod(self, cursor: Cursor, name: str) -> str:
        return pod_name(Cursor(cursor.document, name, cursor.path), self.pods)

    def _state_file(self, cursor: Cursor) -> Expected:
        shape = {
            "format": lambda at: at.one_of(("v2", "v3", "v4")),
            "policyName": Cursor.text,
            "defaultCpuSet": self._cpus,
            "entries": self._entries,
            "baselines": self._entries,
            "podEntries": self._of_pods,
        }
        return _members(cursor, shape)

    def _entries(self, cursor: Cursor) -> Expected:
        found: dict[str, Expected] = {}
        for key, member in cursor.members().items():
            pod, container = container_of(member, key, self.pods)
            found[f"{pod}/{container}"] = None if member.value is None else self._cpus(member)
        return found

    def _of_pods(self, cursor: Cursor) -> Expected:
        return {
            self._pod(member, key): None if member.value is None else self._cpus(member)
            for key, member in cursor.members().items()
        }


def _members(cursor: Cursor, shape: Mapping[str, Reader]) -> dict[str, Expected]:
    refuse_others(cursor, shape)
    return {key: shape[key](member) for key, member in cursor.members().items()}


def _shape(shape: Mapping[str, Reader]) -> Reader:
    return lambda cursor: _members(cursor, shape)


def _or_none(read: Reader) -> Reader:
    return lambda cursor: None if cursor.value is None else read(cursor)


def _amount(cursor: Cursor) -> str:
    return str(cursor.quantity().canonical())


def _count(cursor: Cursor) -> int:
    return cursor.integer(minimum=0)


def _metrics(cursor: Cursor) -> Expected:
    """Read values by series, named as in a scrape; null for a missing series."""
    return {name: _or_none(_count)(member) for name, member in cursor.members().items()}


def _sli(cursor: Cursor) -> Expected:
    read = _or_none(lambda at: duration_text(duration(at)))
    return _members(cursor, {"count": _count, "shortest": read, "longest": read})


def _conditions(cursor: Cursor) -> Expected:
    """Read conditions by type: null for none, a reason, or reason and message."""
    found: dict[str, Expected] = {}
    refuse_others(cursor, CONDITIONS)
    for key, member in cursor.members().items():
        if member.value is None:
            found[key] = None
        elif isinstance(member.value, str):
            found[key] = {"reason": member.value}
        else:
            found[key] = _members(member, {"reason": Cursor.text, "message": Cursor.text})
    return found
