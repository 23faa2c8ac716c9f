"""The kubelet's own files: its configuration, reduced, its state, and files in volumes that list CPUs.

Nothing marks the files in volumes that hold ``assigned.cpuset`` (KEP-6122), so all files that are empty or
hold a CPU list are kept. Projected volumes are left out, because they can also hold secrets.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from cpuctl.capture.collected import Area, FileState, KubeletFacts, Process
from cpuctl.capture.kubelet.redaction import reduced_cdi, reduced_configuration, reduced_state
from cpuctl.capture.kubelet.running import (
    flag_value,
    kept_flags,
    other_flags,
    read_arguments,
    running_kubelet,
)
from cpuctl.capture.kubelet.unit import UnitCommand, unit_command
from cpuctl.capture.node.files import NodeFiles
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.recording_layout import (
    CDI_FILE,
    CONFIG,
    DOWNWARD_API_VOLUMES,
    DROP_INS,
    STATE_DIRECTORY,
    STATE_FILES,
    prepared_claims_file,
)

AREA: Final = "kubelet"
MAX_DROP_INS = 200
_MAX_DROP_IN_DEPTH = 8


def record_kubelet(
    files: NodeFiles, processes: tuple[Process, ...], version: tuple[str, str]
) -> tuple[KubeletFacts, Area]:
    """Record configuration and state from the running kubelet's paths, else from the usual places."""
    before = len(files.members)
    process = running_kubelet(processes)
    arguments = read_arguments(files, process) if process else None
    flags = None if arguments is None else tuple(kept_flags(arguments))
    unit = UnitCommand() if arguments is not None else unit_command(files)
    arguments_read = unit.arguments if arguments is None else arguments
    unit_flags = None if unit.arguments is None else tuple(kept_flags(unit.arguments))
    known = unit_flags if flags is None and not unit.gap else flags
    places = kubelet_paths(known)
    drop_ins, complete = _record_drop_ins(files, places.drop_ins)
    used = known is not None and bool(places.drop_ins)
    facts = KubeletFacts(
        version=version[0],
        version_source=version[1],
        flags=flags,
        unit_flags=unit_flags,
        unit_files=unit.files,
        unit_places=unit.places,
        flags_gap=unit.gap,
        other_flags=other_flags(arguments_read or ()),
        root_directory=places.root,
        config_path=places.config,
        config_state=_record_configuration(files, places.config, CONFIG),
        drop_in_directory=places.drop_ins if drop_ins or used else "",
        drop_ins_used=used,
        drop_ins_complete=complete,
    )
    states = sum(_record_state(files, places.root, name) for name in STATE_FILES.values())
    _record_prepared_claims(files)
    return facts, Area(
        name=AREA,
        entries=len(files.members) - before,
        counts={"flags": len(flags or unit_flags or ()), "stateFiles": states},
        notes=_notes(facts),
    )


class KubeletPaths(NamedTuple):
    """Where the node has the kubelet's files; empty for files that it does not have."""

    root: str
    config: str
    drop_ins: str


def kubelet_paths(flags: tuple[str, ...] | None) -> KubeletPaths:
    """Find the paths from all flags of the kubelet; None means that its flags are not known."""
    if flags is None:
        return KubeletPaths(f"/{STATE_DIRECTORY}", f"/{CONFIG}", f"/{DROP_INS}")
    # Without the flag the kubelet does not use such a file, even if one is at the usual place.
    return KubeletPaths(
        root=_absolute(flag_value(flags, "root-dir")) or f"/{STATE_DIRECTORY}",
        config=_absolute(flag_value(flags, "config")),
        drop_ins=_absolute(flag_value(flags, "config-dir")),
    )


def _absolute(path: str) -> str:
    # The kubelet's service runs in the root directory, so a relative path starts there.
    return posixpath.normpath(f"/{path.lstrip('/')}") if path else ""


def _record_configuration(files: NodeFiles, path: str, member: str, *, strict: bool = False) -> FileState:
    path = path.lstrip("/")
    text = files.read_followed(path) if path else None
    if text is None:
        return FileState.UNREADABLE if path in files.refused else FileState.ABSENT
    try:
        reduced = reduced_configuration(text, strict=strict)
    except ValueError as error:
        files.refuse(path, str(error))
        return FileState.UNREADABLE
    return FileState.RECORDED if files.keep(member, reduced) else FileState.UNREADABLE


def _record_drop_ins(files: NodeFiles, directory: str) -> tuple[int, bool]:
    """Record the drop-in files in and below a directory; return how many, and whether that was all."""
    if not directory:
        return 0, True
    start, refused = directory.lstrip("/"), len(files.refused)
    paths = list(islice(_drop_ins(files, start, 0), MAX_DROP_INS + 1))
    for path in paths[:MAX_DROP_INS]:
        member = f"{DROP_INS}/{posixpath.relpath(path, start)}"
        _record_configuration(files, path, member, strict=True)
    if len(paths) > MAX_DROP_INS:
        files.refuse(start, f"it contains more than {MAX_DROP_INS} drop-in files")
    return len(paths), len(files.refused) == refused


def _drop_ins(files: NodeFiles, directory: str, depth: int) -> Iterator[str]:
    """Yield the files a kubelet reads: it follows links to files, but not to directories."""
    if files.is_link(directory):
        return
    for name in files.names(directory):
        path = f"{directory}/{name}"
        inside = files.names(path)
        if inside and depth < _MAX_DROP_IN_DEPTH:
            yield from _drop_ins(files, path, depth + 1)
        elif inside:
            files.refuse(path, f"it is nested deeper than {_MAX_DROP_IN_DEPTH} directories")
        elif name.endswith(".conf"):
            yield path


def _record_state(files: NodeFiles, root: str, name: str) -> bool:
    path = f"{root.lstrip('/')}/{name}"
    text = files.read(path)
    # Any content is kept, so the target of a link, which a kubelet never makes here, must be a state file.
    if text is not None and files.is_link(path) and not _is_state(text, name):
        files.refuse(path, "is a link to something other than a state file")
        return False
    if text is None:
        return False
    try:
        return files.keep(f"{STATE_DIRECTORY}/{name}", reduced_state(name, text))
    except ValueError as error:
        files.refuse(path, str(error))
        return False


def _record_prepared_claims(files: NodeFiles) -> None:
    """Record which CPUs the DRA driver for CPUs has assigned to claims, if it runs."""
    if found := prepared_claims_file(files.read):
        path, text = found
        try:
            files.keep(CDI_FILE, reduced_cdi(text))
        except ValueError as error:
            files.refuse(path, str(error))


def _is_state(text: str, name: str) -> bool:
    from cpuctl.checkpoints.inspection import inspect_state

    try:
        return inspect_state(text).file_name == name.rpartition("/")[2]
    except InputError:
        return False


def _notes(facts: KubeletFacts) -> tuple[str, ...]:
    notes = [] if facts.version else ["the kubelet's version is unknown"]
    alone = "no separate kubelet process is running"
    if facts.flags is None and facts.flags_gap:
        unknown = f"its flags are unknown ({facts.flags_gap})"
        notes.append(f"{alone}, and {unknown}: its files are read from the usual places")
    elif facts.flags is None:
        notes.append(f"{alone}: its flags are taken from its unit")
    if facts.config_state is not FileState.RECORDED:
        notes.append(f"the kubelet configuration is not recorded: it is {facts.config_state}")
    return tuple(notes)


VOLUMES_AREA: Final = "volumes"
_DEPTH = 8
_LIST = re.compile(r"[0-9,-]{0,4096}", re.ASCII)
_MOST_CPUS = 8192
"""The most CPUs that a kernel can be built for."""


def record_volumes(files: NodeFiles, root: str) -> Area:
    """Record the files below the kubelet's directory *root* whose content is a CPU list or empty."""
    below, kept = root.strip("/"), 0
    for uid in files.names(f"{below}/pods"):
        volumes = f"pods/{uid}/volumes/{DOWNWARD_API_VOLUMES}"
        for name in files.names(f"{below}/{volumes}"):
            for path in _paths(files, f"{below}/{volumes}/{name}", 0):
                text = files.read_followed(path)
                if text is not None and _is_cpu_list(text):
                    kept += files.keep(f"{STATE_DIRECTORY}/{path.removeprefix(below).lstrip('/')}", text)
    return Area(name=VOLUMES_AREA, entries=kept)


def _paths(files: NodeFiles, directory: str, depth: int) -> Iterator[str]:
    """Yield the files of a volume but not ``..`` names, which the kubelet uses to replace all at once."""
    for name in files.names(directory):
        path = f"{directory}/{name}"
        if name.startswith(".."):
            continue
        if files.names(path):
            if depth < _DEPTH:
                yield from _paths(files, path, depth + 1)
        else:
            yield path


def _is_cpu_list(text: str) -> bool:
    if not _LIST.fullmatch(text):
        return False
    try:
        cpus = CPUSet.parse(text)
    except ValueError:
        return False
    return str(cpus) == text and cpus.mask.bit_length() <= _MOST_CPUS
