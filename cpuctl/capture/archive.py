"""A capture as an archive: its manifest, its members in order, and the whole as bytes."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Final, NamedTuple, cast

from cpuctl.capture.collected import Area, Collected, Content, KubeletFacts, Link
from cpuctl.capture.node.processes import process_lines
from cpuctl.machine.recording_layout import LAYOUT_VERSION, MANIFEST, PROCESSES

if TYPE_CHECKING:
    from cpuctl.answers import capture as answers


CHECKSUMS: Final = "SHA256SUMS"
"""Checksums of all files, for ``sha256sum -c``; there are thousands, so they are not in the manifest."""


class Capture(NamedTuple):
    """A capture ready to be written: its manifest, and every member's path and content in order."""

    manifest: answers.Manifest
    members: tuple[tuple[str, Content], ...]


def make_capture(collected: Collected, *, cpuctl: str, recorded_at: str = "") -> Capture:
    """Describe what was collected; the same input gives the same capture.

    *cpuctl* is the version that records, *recorded_at* the time if it is to be recorded.
    """
    files = {**collected.members, PROCESSES: process_lines(collected.processes)}
    members = sorted(files.items())
    checksums = "".join(_checksum_lines(members))
    timestamp: answers.Timestamp = {"recordedAt": recorded_at} if recorded_at else {}
    manifest: answers.Manifest = {
        "layoutVersion": LAYOUT_VERSION,
        "cpuctl": cpuctl,
        **timestamp,
        "source": "live" if collected.live else "directory",
        "anonymized": collected.anonymized,
        "stateChecksumsValid": not collected.anonymized,
        "kubelet": _kubelet(collected.kubelet),
        "areas": [_area(area) for area in collected.areas],
        "unreadable": [{"path": each.path, "reason": each.reason} for each in collected.unreadable],
        "members": len(members),
        "checksums": {"file": CHECKSUMS, "sha256": _sha256(checksums)},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    return Capture(manifest, ((MANIFEST, text), (CHECKSUMS, checksums), *members))


def _kubelet(facts: KubeletFacts) -> answers.Kubelet:
    return {
        "version": facts.version or None,
        "versionSource": facts.version_source or None,
        "flags": None if facts.flags is None else list(facts.flags),
        "otherFlags": list(facts.other_flags),
        "unit": {
            "flags": None if facts.unit_flags is None else list(facts.unit_flags),
            "files": [f"/{path}" for path in facts.unit_files],
            "places": dict(facts.unit_places),
            "gap": facts.flags_gap or None,
        },
        "rootDirectory": facts.root_directory,
        "config": {"path": facts.config_path or None, "state": facts.config_state.value},
        "dropIns": {
            "directory": facts.drop_in_directory or None,
            "used": facts.drop_ins_used,
            "complete": facts.drop_ins_complete,
        },
    }


def _area(area: Area) -> answers.Area:
    return {
        "name": area.name,
        "entries": area.entries,
        "counts": dict(area.counts),
        "notes": list(area.notes),
    }


def _checksum_lines(members: list[tuple[str, Content]]) -> Iterator[str]:
    for path, content in members:
        if isinstance(content, str):
            # A leading backslash marks a name as escaped for sha256sum; systemd's names contain backslashes.
            escaped = path.replace("\\", "\\\\").replace("\n", "\\n")
            yield f"{'' if escaped == path else chr(92)}{_sha256(content)}  {escaped}\n"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_MODES = {tarfile.REGTYPE: 0o644, tarfile.DIRTYPE: 0o755, tarfile.SYMTYPE: 0o777}


class Compression(StrEnum):
    """How an archive is compressed, by file name extension."""

    NONE = ".tar"
    GZIP = ".tar.gz"
    XZ = ".tar.xz"


def compression_of(name: str) -> Compression:
    """Return the compression for a file name; raise ValueError for any other extension."""
    for compression in Compression:
        if name.endswith(compression):
            return compression
    ends = ", ".join(Compression)
    raise ValueError(f"unknown archive format: expected a name that ends in {ends}")


def write_members(members: Iterable[tuple[str, Content]], file: IO[bytes], compression: Compression) -> None:
    """Write a tar archive (POSIX pax) without times, owners or other traces of how it was made."""
    with (
        _compressor(file, compression) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, content in members:
            _add(tar, path, content)


def _compressor(file: IO[bytes], compression: Compression) -> AbstractContextManager[IO[bytes]]:
    match compression:
        case Compression.NONE:
            return nullcontext(file)
        case Compression.GZIP:
            import gzip

            return cast("IO[bytes]", gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
        case Compression.XZ:
            import lzma

            return lzma.LZMAFile(file, mode="wb")


def _add(tar: tarfile.TarFile, path: str, content: Content) -> None:
    member, data = tarfile.TarInfo(path), b""
    match content:
        case str():
            data = content.encode()
            member.size = len(data)
        case Link():
            member.type, member.linkname = tarfile.SYMTYPE, content.target
        case None:
            member.type = tarfile.DIRTYPE
    member.mode = _MODES[member.type]
    tar.addfile(member, io.BytesIO(data))
