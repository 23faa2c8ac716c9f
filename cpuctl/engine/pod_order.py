"""The orders in which pods can be taken, by name."""

from __future__ import annotations

from enum import StrEnum


class PodOrder(StrEnum):
    """Which pod comes first: see ``cpuctl.engine.ordering``."""

    GIVEN = "given"
    PRIORITY = "priority"
    QOS = "qos"
    LARGEST_FIRST = "largest-first"
