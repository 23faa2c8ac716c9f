"""A pod's status: the containers that run, their ids, and the progress of resizes."""

from collections.abc import Mapping
from enum import StrEnum

from cpuctl.quantity import Quantity
from cpuctl.records import Record

Amounts = Mapping[str, Quantity] | None
"""Amounts by resource; None if a status does not contain them."""


class RunState(StrEnum):
    """The state of a container; waiting if the status has none, as in the API."""

    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


class ReportedResources(Record):
    """Resources in a status (KEP-1287): requests that are ``granted``, requests and limits in effect."""

    granted: Amounts = None
    requests: Amounts = None
    limits: Amounts = None


NOTHING_REPORTED = ReportedResources()


class ResizeStatus(Record):
    """The progress of a resize; ``pod_level`` are the pod-level resources in the status.

    ``waiting_since`` is when it became pending, in the API's time format RFC 3339. ``infeasible``: it is
    pending, and the node can never grant it.
    """

    pending: bool = False
    in_progress: bool = False
    waiting_since: str = ""
    pod_level: ReportedResources = NOTHING_REPORTED
    infeasible: bool = False


class ContainerStatus(Record):
    """One container; ``runtime`` and ``container_id`` are empty before it is created.

    ``ephemeral``: it was added for debugging, so no manifest of the pod names it. ``exit_code`` is that
    of a container that has ended.
    """

    name: str
    state: RunState
    runtime: str = ""
    container_id: str = ""
    ephemeral: bool = False
    resources: ReportedResources = NOTHING_REPORTED
    exit_code: int | None = None
