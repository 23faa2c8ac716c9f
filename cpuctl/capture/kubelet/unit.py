"""The command line of a kubelet that does not run: what the node's files would start it with.

That is its systemd unit, that of a program with a kubelet inside, or the files of one that is a snap. Without
any of them, the files that kubeadm and packages keep flags in are read alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from cpuctl.capture.kubelet.embedded import embedded_arguments, microk8s_arguments
from cpuctl.capture.kubelet.service import Files, NotedFiles, Service
from cpuctl.capture.kubelet.systemd import UnknownError, environment_file, with_variables
from cpuctl.machine.recording_layout import EMBEDDING_UNITS, FLAG_FILES, MICROK8S_FLAGS, UNIT


class UnitCommand(NamedTuple):
    """The words behind the kubelet's name, the files that say so, and why some may be missing.

    ``arguments`` is None where no file says anything.
    """

    arguments: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    gap: str = ""


def unit_command(node: Files) -> UnitCommand:
    """Find what the kubelet would be started with."""
    files = NotedFiles(node)
    try:
        units = _units(files)
        if units:
            arguments = _agreed(files, units)
        elif files.lists(MICROK8S_FLAGS):
            arguments = microk8s_arguments(files)
        else:
            return _flag_files_alone(files)
    except UnknownError as unknown:
        return UnitCommand(None, tuple(files.used), str(unknown))
    return UnitCommand(tuple(arguments), tuple(files.used))


def _units(files: NotedFiles) -> list[str]:
    """Name the units that start a kubelet; of several, those that start when the node comes up."""
    units = [unit for unit in (UNIT, *EMBEDDING_UNITS) if Service(files, unit).is_there()]
    wanted = [unit for unit in units if Service(files, unit).is_wanted()] if len(units) > 1 else ()
    return [*wanted] or units


def _agreed(files: NotedFiles, units: Sequence[str]) -> Sequence[str]:
    """Return the flags of a node whose units all say the same; raise UnknownError where they do not."""
    first, *others = (_arguments(files, unit) for unit in units)
    if any(each != first for each in others):
        raise UnknownError(f"{' and '.join(units)} start it in different ways")
    return first


def _arguments(files: NotedFiles, unit: str) -> Sequence[str]:
    command = Service(files, unit).command()
    if unit != UNIT:
        return embedded_arguments(files, unit, command)
    for at, word in enumerate(command.words):
        if PurePosixPath(word).name == "kubelet":
            return command.words[at + 1 :]
    started = command.words[0] if command.words else "nothing"
    raise UnknownError(f"{unit} starts {started}, which is no kubelet")


def _flag_files_alone(files: NotedFiles) -> UnitCommand:
    arguments: list[str] = []
    for path, variable in FLAG_FILES.items():
        text = files.text(path)
        if text is not None:
            arguments += with_variables([f"${variable}"], environment_file(text))
    if not files.used:
        return UnitCommand(gap="no process and no unit of a kubelet was found")
    gap = f"no {UNIT} was found: only {', '.join(f'/{path}' for path in files.used)} tells of flags"
    return UnitCommand(tuple(arguments), tuple(files.used), gap)
