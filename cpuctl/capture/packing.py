"""A capture as bytes: the same capture gives the same bytes."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import IO, cast

from cpuctl.capture.collected import Content, Link

_MODES = {tarfile.REGTYPE: 0o644, tarfile.DIRTYPE: 0o755, tarfile.SYMTYPE: 0o777}


class Compression(StrEnum):
    """How an archive is compressed, by the end of its file's name."""

    NONE = ".tar"
    GZIP = ".tar.gz"
    XZ = ".tar.xz"


def compression_of(name: str) -> Compression:
    """Tell the compression from a file's name; raise ValueError for a name with another end."""
    for compression in Compression:
        if name.endswith(compression):
            return compression
    ends = ", ".join(Compression)
    raise ValueError(f"the name tells no archive format: expected an end of {ends}")


def write_members(members: Iterable[tuple[str, Content]], file: IO[bytes], compression: Compression) -> None:
    """Write a tar archive (POSIX pax) without times, owners and other traces of its making."""
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
