"""The names of the checks: help and completion list them without loading the checks."""

from __future__ import annotations

from typing import Literal, get_args

CheckName = Literal[
    "state",
    "hotplug",
    "reserved",
    "cpusets",
    "mems",
    "threads",
    "quota",
    "memory",
    "hugepages",
    "stale",
    "devices",
    "claims",
    "answers",
    "foreign",
    "kernel",
    "interrupts",
    "siblings",
    "isolation",
    "volumes",
]

CHECK_NAMES: tuple[str, ...] = get_args(CheckName)
