"""Scenarios for the requests nearest to a rejected one, as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cpuctl.engine.explain.decision import Decision
from cpuctl.engine.explain.scenario import Replay, SearchBudget
from cpuctl.engine.explain.searches.requests import nearest_requests
from cpuctl.machine.devices.inventory import DeviceInventory
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import StoredPod
from tests.engine.explain.scenarios import decided

Found = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario; ``found`` holds requests by container and resource, where the resource cpu is left out."""

    name: str
    info: MachineInfo
    pods: tuple[StoredPod, ...]
    found: Found
    runs: int
    config: Mapping[str, Any] = field(default_factory=dict)
    fit: bool = False
    devices: DeviceInventory | None = None


def nearest(replay: Replay, decision: Decision | None = None) -> tuple[Found, int]:
    """Look for other requests; return what is found, and how many were tried."""
    runs = SearchBudget()
    changes = list(nearest_requests(replay, decision or decided(replay), runs))
    found = [
        {_key(each.container, each.resource): str(each.after) for each in change.amounts}
        for change in changes
    ]
    return found, runs.made


def _key(container: str, resource: str) -> str:
    return container if resource == "cpu" else f"{container} {resource.removeprefix('example.com/')}"
