"""Where a machine comes from: one word on the command line, one value with both views of the machine."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl.errors import NO_MACHINE, CpuctlError, InputError, unreadable
from cpuctl.machine.machine_info import MachineInfo, kubelet_view
from cpuctl.machine.model import Machine
from cpuctl.machine.recording_layout import SOS_COMMANDS
from cpuctl.machine.tree import DirectoryTree, Tree
from cpuctl.phrases import some_of
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.machine.foreign.form import FormContent
    from cpuctl.machine.support.must_gather import GatheredFiles
    from cpuctl.machine.support.view import SupportArchive

LIVE = "live"
SYNTHETIC = "synthetic:"
STDIN = "-"
STDIN_NAME = "<stdin>"

ACCEPTED = (
    "accepted: live; a directory that contains sys/, directly or in its only subdirectory; a .tar, "
    ".tar.gz, .tar.bz2, .tar.xz or .tar.zst of one; a sosreport or must-gather; synthetic:2s4n16c2t; the "
    "output of lscpu -e -J, lscpu -p, numactl -H, lstopo --of xml, ghwc topology -f json, knit "
    "machineinfo (cAdvisor's JSON) or dracpu gatherinfo"
)
"""The hint about what describes a machine."""
_MAX_PRINTED_BYTES = 64 << 20
_GATHERINFO = (b"cpuDetails:", b"driverConfig:", b"layoutVersion:", b"toolVersion:")
"""How a report of ``dracpu gatherinfo`` may begin; the order of its members is not guaranteed."""
_OBJECT = re.compile(rb'^[ \t{]*+"?(?:apiVersion|kind)"?:', re.MULTILINE)
_UNPACKERS = {".bz2": "bzcat", ".xz": "xzcat", ".zst": "zstdcat"}
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
_PROFILE, _DEVICES = (
    re.compile(rb'^[ \t{]*+"?kind"?:[ \t]*"?%s\b' % kind, re.MULTILINE)
    for kind in (b"PerformanceProfile", b"Devices")
)
_CONFIGURATION = b"kubelet.config.k8s.io/"
"""The API group of files that are easily mistaken for a machine."""


class MachineSource(Record):
    """A machine as its kernel describes it and as a kubelet sees it; ``origin`` names the source.

    ``files`` is the tree it was read from, if any: a recording may contain more than the machine.
    ``gathered`` is what a support archive contains in addition to its files, None if it is not one.
    ``content`` describes what another tool's output contains, if the source is one.
    """

    machine: Machine
    info: MachineInfo
    origin: str
    files: Tree | None = None
    gathered: SupportArchive | None = None
    content: FormContent | None = None


def read_machine(spec: str) -> MachineSource:
    """Read a machine from ``live``, a directory, an archive, ``synthetic:``, a tool's output or ``-``.

    Raise InputError that says what is accepted, or what in the input is invalid and where.
    """
    if spec == LIVE:
        return _live()
    if spec.startswith(SYNTHETIC):
        from cpuctl.machine.synthetic import parse_synthetic

        return _with_kubelet_view(parse_synthetic(spec), spec)
    if spec == STDIN:
        return _from_stdin()
    name, node = with_node(spec)
    source = _from_file(name, node)
    if node and not source.origin.endswith(f"#{node}"):
        raise InputError(f"contains a single node, but {node} was specified", where=name)
    return source


def _from_file(name: str, node: str) -> MachineSource:
    path, mode = Path(name), _mode(name)
    if stat.S_ISDIR(mode):
        return _from_directory(path, node)
    if not stat.S_ISREG(mode):
        raise InputError("is neither a file nor a directory", where=name, hint=ACCEPTED)
    from cpuctl.machine.foreign.recognition import HEAD_BYTES, recognised

    head = _first_bytes(path, HEAD_BYTES)
    if recognised(head):
        return _from_printed(path)
    if begins_gatherinfo(head):
        return _from_gatherinfo(path)
    if _CONFIGURATION in head and b"\0" not in head:
        from shlex import quote

        hint = f"use it as an option: cpuctl config check --kubelet-config {quote(name)}"
        raise InputError(NO_MACHINE, where=name, hint=hint)
    try:
        return _from_archive(path, node)
    except InputError as error:
        raise _no_archive(path, error) from None


def _no_archive(path: Path, error: InputError) -> InputError:
    """Return the error for a file that is not an archive, but may be a manifest or configuration."""
    from shlex import quote

    from cpuctl.machine.archive import first_unpacked

    content, name = first_unpacked(path), str(path)
    if b"\0" in content or not _OBJECT.search(content):
        return error
    if _CONFIGURATION in content:
        unpack = _UNPACKERS.get(path.suffix, "zcat")
        hint = f"decompress it: {unpack} {quote(name)} | cpuctl config check --kubelet-config -"
        return InputError("is a compressed kubelet configuration, not a machine", where=name, hint=hint)
    if _PROFILE.search(content):
        hint = f"use it as an option: cpuctl config check --kubelet-config {quote(name)}"
        return InputError("is a PerformanceProfile, not a machine", where=name, hint=hint)
    if _DEVICES.search(content):
        hint = f"use it as an option: cpuctl plan --devices {quote(name)}"
        return InputError("is a list of devices, not a machine", where=name, hint=hint)
    hint = f"if it is a manifest: cpuctl plan -f {quote(name)}"
    return InputError("is a Kubernetes object, not a machine", where=name, hint=hint)


def begins_gatherinfo(head: bytes) -> bool:
    """Recognize a report of ``dracpu gatherinfo`` by its first bytes."""
    return head.removeprefix(b"---\n").startswith(_GATHERINFO)


def with_node(spec: str) -> tuple[str, str]:
    """Split ``PATH#NODE``, which names one node in data gathered from several."""
    name, sign, node = spec.rpartition("#")
    return (name, node) if sign and not os.path.exists(spec) and os.path.exists(name) else (spec, "")  # noqa: PTH110


def nodes_in(spec: str) -> tuple[str, ...]:
    """Return the names of the nodes in a must-gather; none for anything else, or if *spec* names one of them.

    Of other archives, only the beginning is read. Errors are left to ``read_machine``.
    """
    from cpuctl.machine.support.must_gather import DIRECTORIES, PackedFiles, UnpackedFiles, gathered_nodes

    path, (_, node) = Path(spec), with_node(spec)
    if node or spec == LIVE or spec.startswith(SYNTHETIC):
        return ()
    with suppress(CpuctlError, OSError):
        if path.is_file():
            return gathered_nodes(PackedFiles(spec, lambda: path.open("rb")))
        if path.is_dir() and not (path / "sys").is_dir():
            return gathered_nodes(UnpackedFiles(path, DIRECTORIES))
    return ()


def _from_stdin() -> MachineSource:
    """Read an archive or a tool's output through a temporary file."""
    import shutil
    import sys
    from tempfile import NamedTemporaryFile

    from cpuctl.documents.files import file_argument

    with NamedTemporaryFile(prefix="cpuctl-") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        if not file.tell():
            raise InputError("nothing was read", where=STDIN_NAME, hint=ACCEPTED)
        file.flush()
        try:
            found = read_machine(file.name)
        except CpuctlError as error:
            where = error.where.replace(file.name, STDIN_NAME)
            hint = error.hint.replace(file.name, file_argument(STDIN))
            raise InputError(error.message, where=where, hint=hint) from None
    return replace(found, origin=STDIN_NAME)


def _mode(spec: str) -> int:
    try:
        return os.stat(spec).st_mode  # noqa: PTH116  # an empty text is an error here, not a directory
    except OSError as error:
        raise unreadable(error, spec or "''", hint=ACCEPTED) from None


def read_machine_tree(tree: Tree, origin: str) -> MachineSource:
    """Read a machine from any file tree that has ``sys`` and ``proc``; errors begin with *origin*."""
    from cpuctl.machine.sysfs import read_machine_files

    try:
        return replace(_with_kubelet_view(read_machine_files(tree), origin), files=tree)
    except CpuctlError as error:
        raise error.within(origin) from None


def _read_collected(tree: Tree, origin: str) -> MachineSource:
    """Read a collected tree, perhaps by a known tool."""
    if SOS_COMMANDS not in tree.names(""):
        return read_machine_tree(tree, origin)

    from cpuctl.machine.support.sosreport import sosreport

    try:
        return _read_gathered(*sosreport(tree), origin)
    except CpuctlError as error:
        raise error if error.where.startswith(origin) else error.within(origin) from None


def _read_gathered(tree: Tree, gathered: SupportArchive, origin: str) -> MachineSource:
    """Read a support archive that is presented as a recording, and report what is missing."""
    from cpuctl.machine.support.view import not_collected

    source = read_machine_tree(tree, origin)
    machine = source.machine
    findings = (*machine.findings, *gathered.findings, *not_collected(machine, tree, gathered))
    return replace(source, machine=replace(machine, findings=findings), gathered=gathered)


def _with_kubelet_view(machine: Machine, origin: str) -> MachineSource:
    return MachineSource(machine=machine, info=kubelet_view(machine), origin=origin)


def _live() -> MachineSource:
    source = read_machine_tree(DirectoryTree(Path("/")), LIVE)
    architecture = source.machine.architecture or os.uname().machine
    return replace(source, machine=replace(source.machine, architecture=architecture))


def _from_directory(path: Path, node: str) -> MachineSource:
    if (path / "sys").is_dir():
        return _read_collected(DirectoryTree(path), str(path))
    found = _recordings_in(path)
    if len(found) > 1:
        raise _several(path, found)
    if found:
        return _read_collected(DirectoryTree(found[0]), str(found[0]))

    from cpuctl.machine.support.must_gather import DIRECTORIES, UnpackedFiles

    try:
        source = _from_must_gather(UnpackedFiles(path, DIRECTORIES), node)
    except InputError:
        if not node and not nodes_in(str(path)) and len(packed := _packed_in(path)) > 1:
            raise _several(path, packed) from None
        raise
    if source:
        return source
    if len(packed := _packed_in(path)) > 1:
        raise _several(path, packed)
    hint = f"did you mean {packed[0]}?" if packed else ACCEPTED
    raise InputError("no sys/ in this directory", where=str(path), hint=hint)


def _several(path: Path, found: Sequence[Path]) -> InputError:
    from shlex import quote

    from cpuctl.documents.files import file_argument

    names = some_of([str(each.relative_to(path)) for each in found])
    return InputError(
        f"contains several recordings ({names}), expected one",
        where=str(path),
        hint=f"specify one of them, or check all: cpuctl fleet check {quote(file_argument(str(path)))}",
    )


def _packed_in(path: Path) -> list[Path]:
    """List the archives in a directory for a fleet, or in its ``recordings``."""
    directories = (path, path / "recordings")
    with suppress(OSError):
        return sorted(
            each
            for directory in directories
            if directory.is_dir()
            for each in directory.iterdir()
            if each.name.endswith(_ARCHIVES) and not each.name.startswith(".") and each.is_file()
        )
    return []


def _from_must_gather(files: GatheredFiles, node: str) -> MachineSource | None:
    from cpuctl.machine.support.must_gather import must_gather

    found = must_gather(files, node)
    return _read_gathered(*found, f"{files.name}#{node}" if node else files.name) if found else None


def _recordings_in(path: Path) -> list[Path]:
    """List the subdirectories that contain a tree, as in an archive with one common directory."""
    try:
        names = sorted(each for each in path.iterdir() if not each.is_symlink())
        return [each for each in names if (each / "sys").is_dir()]
    except OSError as error:
        raise unreadable(error, str(path)) from None


def _from_archive(path: Path, node: str) -> MachineSource:
    from cpuctl.machine.archive import NoRecordingError, read_archive

    try:
        return _read_collected(read_archive(path), str(path))
    except NoRecordingError:
        from cpuctl.machine.support.must_gather import PackedFiles

        if source := _from_must_gather(PackedFiles(str(path), lambda: path.open("rb")), node):
            return source
        raise


def _from_gatherinfo(path: Path) -> MachineSource:
    from cpuctl.machine.support.gatherinfo import read_gatherinfo

    machine, gathered = read_gatherinfo(_whole(path), str(path))
    return replace(_with_kubelet_view(machine, str(path)), gathered=gathered)


def _from_printed(path: Path) -> MachineSource:
    from cpuctl.machine.foreign.reading import read_printed

    machine, info, content = read_printed(_whole(path), str(path))
    return MachineSource(machine=machine, info=info, origin=str(path), content=content)


def _whole(path: Path) -> bytes:
    data = _first_bytes(path, _MAX_PRINTED_BYTES + 1)
    if len(data) > _MAX_PRINTED_BYTES:
        raise InputError(f"is larger than {_MAX_PRINTED_BYTES >> 20} MiB", where=str(path))
    return data


def _first_bytes(path: Path, length: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(length)
    except OSError as error:
        raise unreadable(error, str(path)) from None


_SUFFIXES = (".tar", ".tgz", ".gz", ".xz", ".bz2", ".zst", ".json", ".xml", ".txt")


def short_name(source: str) -> str:
    """Return a file's name without its suffixes, or the name of a node in a support archive."""
    if source.startswith(SYNTHETIC):
        return source
    path, sign, node = source.rpartition("#")
    name = node if sign and Path(path).exists() else Path(os.path.normpath(source)).name
    while name.endswith(_SUFFIXES) and Path(name).stem:
        name = Path(name).stem
    return name
