"""The files that the kubelet's flags (``--kubelet-args``) name: on the node, or on this host.

A kubelet's whole command line names files of its node. With a recording they are looked up there; a
relative path, and what the recording does not have, are files of this host.
"""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.capture.recorded_kubelet import RecordedDropIns, RecordedKubelet
from cpuctl.errors import InputError
from cpuctl.inputs.configuration import LIVE_MACHINE, any_flags, given_arguments
from cpuctl.machine.recording_layout import MANIFEST
from cpuctl.machine.tree import MemoryTree
from cpuctl.records import Record, replace
from cpuctl.root_directory import DIRECTORY

if TYPE_CHECKING:
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.flags.kubelet_flags import KubeletFlags
    from cpuctl.machine.sources import MachineSource
    from cpuctl.machine.tree import Tree

CONFIG_FLAG = "--config"


class FlagPaths(NamedTuple):
    """The absolute paths in a kubelet's flags, empty if an option of cpuctl names another file."""

    config: str = ""
    directory: str = ""


class KubeletFiles(Record):
    """The kubelet whose recorded files apply, and the paths of files on this host that override them."""

    own: RecordedKubelet
    config: str | None = None
    directory: str | None = None


def flag_paths(inputs: KubeletInputs, given: KubeletFlags) -> FlagPaths:
    """Return the paths that are looked up in a recording of the node."""
    return FlagPaths(
        config=_absolute(given.config) if inputs.config is None else "",
        directory=_absolute(given.config_dir) if inputs.config_dir is None else "",
    )


def paths_of(inputs: KubeletInputs) -> FlagPaths:
    """Return the same for flags that were not read yet; raise as ``given_arguments`` does."""
    return flag_paths(inputs, any_flags(given_arguments(inputs.arguments)))


def is_recording(machine: MachineSource | None) -> bool:
    """Return whether a machine has files that are not those of this host."""
    return machine is not None and machine.files is not None and machine.origin != LIVE_MACHINE


def find_files(
    files: KubeletFiles, paths: FlagPaths, recorded: RecordedKubelet, machine: MachineSource, sources: Sources
) -> KubeletFiles:
    """Replace paths by the files of the recording *machine*; *recorded* is what it shows of its kubelet.

    A file that only this host has causes a warning. Raise InputError if neither has it.
    """
    assert machine.files is not None
    if paths.config:
        found = _configuration(paths.config, recorded, machine.files)
        if found is not None:
            files = KubeletFiles(own=found, directory=files.directory)
        else:
            instead = f"specify another configuration with {option_names.KUBELET_CONFIG}"
            _use_this_host(paths.config, CONFIG_FLAG, instead, machine, sources)
    if paths.directory:
        drop_ins = _drop_ins(paths.directory, recorded, machine.origin, machine.files)
        if drop_ins is not None:
            files = replace(files, own=replace(files.own, drop_ins=drop_ins), directory=None)
        else:
            instead = "specify a directory of this host"
            _use_this_host(paths.directory, option_names.CONFIG_DIR, instead, machine, sources)
    return files


def _absolute(path: str) -> str:
    return "/" + posixpath.normpath(path).lstrip("/") if path.startswith("/") else ""


def _configuration(path: str, recorded: RecordedKubelet, tree: Tree) -> RecordedKubelet | None:
    """Return a kubelet that is only known by its file; captures have it in one place for every node."""
    from cpuctl.capture.recorded import read_configuration

    place = f"/{recorded.config_at}"
    found = recorded
    if path != (recorded.config_path or place) or not _has_configuration(recorded):
        if recorded.config_path and path == place:
            return None
        found = read_configuration(tree, path.lstrip("/"))
    if not _has_configuration(found):
        return None
    return RecordedKubelet(
        config=found.config,
        config_problem=found.config_problem,
        config_refused=found.config_refused,
        config_at=found.config_at,
        config_path=path,
    )


def _has_configuration(kubelet: RecordedKubelet) -> bool:
    return kubelet.config is not None or kubelet.config_refused or kubelet.config_problem is not None


def _drop_ins(path: str, recorded: RecordedKubelet, origin: str, tree: Tree) -> RecordedDropIns | None:
    own, at = recorded.drop_ins, path.lstrip("/")
    if own is not None and own.name == path:
        return replace(own, used=True)
    if own is not None and own.at == at:
        return None
    found = tree.in_the_way(at)
    if not tree.names(at) and found != DIRECTORY:
        if found or tree.read(at) is not None:
            raise InputError(found or "expected a directory, found a file", where=path)
        return None
    return RecordedDropIns(name=path, origin=origin, tree=tree, used=True, complete=True, at=at)


def _use_this_host(path: str, flag: str, instead: str, machine: MachineSource, sources: Sources) -> None:
    lacking, unpack = f"not in {machine.origin}", ""
    if _is_read_in_part(machine):
        lacking = "not among the files that are read from an archive"
        unpack = "unpack the archive and use the directory instead"
    if not os.path.exists(path):  # noqa: PTH110
        hint = f"{unpack or f'leave out the {flag} flag'}, or {instead}"
        raise InputError(f"{lacking}, and not found on this host", where=path, hint=hint)
    sources.warn(f"{flag} {path} is {lacking}: that of this host is used{f' ({unpack})' if unpack else ''}")


def _is_read_in_part(machine: MachineSource) -> bool:
    """Return whether a recording may have files that were not read: those at unusual places in an archive.

    A capture has the files that its kubelet uses at the usual places.
    """
    is_archive = isinstance(machine.files, MemoryTree) and os.path.isfile(machine.origin)  # noqa: PTH113
    return is_archive and machine.files is not None and machine.files.read(MANIFEST) is None
