"""What a pod's status tells of its containers: which of them run, and by what id their runtime knows them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RunState(StrEnum):
    """Where a container is in its life; a status that does not say counts as waiting, as in the API."""

    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerStatus:
    """One container; ``runtime`` and ``container_id`` are empty before it is created.

    ``ephemeral``: it was added for debugging, so that no manifest of the pod names it.
    """

    name: str
    state: RunState
    runtime: str = ""
    container_id: str = ""
    ephemeral: bool = False
