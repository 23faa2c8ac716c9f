"""Which CPUs systemd assigns: ``CPUAffinity=`` and ``AllowedCPUs=`` in its own files and in units.

Rule: *systemd-system.conf(5)*, *systemd.exec(5)*, *systemd.resource-control(5)*. Nothing else of a unit is
recorded, because command lines and environments may contain secrets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.capture.node.files import NodeFiles
from cpuctl.errors import InputError
from cpuctl.machine.recording_layout import CPU_SETTINGS, RECORD_AGAIN, UNIT_DIRECTORIES

MAX_FILES = 5000
_MANAGER_DIRECTORIES = ("etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd")
_KEYS = frozenset({"AllowedCPUs", "CPUAffinity", "StartupAllowedCPUs"})
_UNITS = (".scope", ".service", ".slice")
_DROP_INS = tuple(f"{kind}.d" for kind in (*_UNITS, "service", "slice", "scope"))


class CpuSetting(NamedTuple):
    """CPUs that systemd assigns to a unit, or to all units (no ``unit``): a key, its value, and the file."""

    unit: str
    key: str
    value: str
    file: str


def read_cpu_settings(files: NodeFiles) -> tuple[CpuSetting, ...] | None:
    """Read the settings from a node's files or its recording; None if it contains no systemd files.

    Raise InputError for a recorded line that cpuctl does not write.
    """
    recorded = files.read(CPU_SETTINGS)
    if recorded is not None:
        return tuple(_recorded(recorded))
    if not any(files.names(directory) for directory in (*_MANAGER_DIRECTORIES, *UNIT_DIRECTORIES)):
        return None
    return tuple(each for path, unit in _paths(files) for each in _of_file(files, path, unit))


def record_cpu_settings(files: NodeFiles) -> None:
    """Record the CPU settings in systemd's files, and that they were checked."""
    found = read_cpu_settings(files)
    if found is not None:
        files.keep(CPU_SETTINGS, setting_lines(found))


def setting_lines(found: tuple[CpuSetting, ...]) -> str:
    """Write one setting per line, as JSON."""
    return "".join(f"{json.dumps(each._asdict(), separators=(',', ':'))}\n" for each in found)


def _recorded(text: str) -> Iterator[CpuSetting]:
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            record = json.loads(line)
            parts = [record[name] for name in CpuSetting._fields]
        except (ValueError, KeyError, TypeError, RecursionError):
            parts = []
        if not parts or not all(isinstance(part, str) for part in parts):
            message = "this is not a setting recorded by cpuctl capture"
            raise InputError(message, where=f"{CPU_SETTINGS}:{number}", hint=RECORD_AGAIN)
        yield CpuSetting(*parts)


def _paths(files: NodeFiles) -> Iterator[tuple[str, str]]:
    """Yield files that may hold such settings, each with its unit; at most 5,000."""
    left = MAX_FILES
    for path, unit in (*_manager_paths(files), *_unit_paths(files)):
        # Links enable and mask units, and contain no settings.
        if not files.is_link(path):
            left -= 1
            if left < 0:
                files.refuse(path, f"there are more than {MAX_FILES} units")
                return
            yield path, unit


def _manager_paths(files: NodeFiles) -> Iterator[tuple[str, str]]:
    for directory in _MANAGER_DIRECTORIES:
        if "system.conf" in files.names(directory):
            yield f"{directory}/system.conf", ""
        for name in files.names(f"{directory}/system.conf.d"):
            if name.endswith(".conf"):
                yield f"{directory}/system.conf.d/{name}", ""


def _unit_paths(files: NodeFiles) -> Iterator[tuple[str, str]]:
    for directory in UNIT_DIRECTORIES:
        if directory.startswith("lib/") and files.is_link("lib"):
            continue
        for name in files.names(directory):
            if name.endswith(_UNITS):
                yield f"{directory}/{name}", name
            elif name.endswith(_DROP_INS):
                for part in files.names(f"{directory}/{name}"):
                    if part.endswith(".conf"):
                        yield f"{directory}/{name}/{part}", name.removesuffix(".d")


def _of_file(files: NodeFiles, path: str, unit: str) -> Iterator[CpuSetting]:
    text = files.read(path)
    if text is None or not any(key in text for key in _KEYS):
        return
    from cpuctl.capture.kubelet.systemd import settings

    for _, key, value in settings(text):
        if key in _KEYS and value:
            yield CpuSetting(unit, key, value, f"/{path}")
