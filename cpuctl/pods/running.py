"""What a pod's status tells: which containers run, under what id, and how far resizes have come."""

from collections.abc import Mapping
from enum import StrEnum

from cpuctl.quantity import Quantity
from cpuctl.records import Record

Amounts = Mapping[str, Quantity] | None
"""Amounts by resource; None if a status does not speak of them."""


class RunState(StrEnum):
    """Where a container is in its life; a status that does not say counts as waiting, as in the API."""

    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


class ReportedResources(Record):
    """Resources by a status (KEP-1287): requests that are ``granted``, requests and limits in force."""

    granted: Amounts = None
    requests: Amounts = None
    limits: Amounts = None


NOTHING_REPORTED = ReportedResources()


class ResizeStatus(Record):
    """How far a resize has come; ``pod_level`` is what the status says about pod-level resources.

    ``waiting_since`` is when it became pending, as the API writes times: RFC 3339. ``infeasible``: it is
    pending, and the node could never grant it.
    """

    pending: bool = False
    in_progress: bool = False
    waiting_since: str = ""
    pod_level: ReportedResources = NOTHING_REPORTED
    infeasible: bool = False


class ContainerStatus(Record):
    """One container; ``runtime`` and ``container_id`` are empty before it is created.

    ``ephemeral``: it was added for debugging, so that no manifest of the pod names it. ``exit_code`` is that
    of a container that has ended.
    """

    name: str
    state: RunState
    runtime: str = ""
    container_id: str = ""
    ephemeral: bool = False
    resources: ReportedResources = NOTHING_REPORTED
    exit_code: int | None = None
