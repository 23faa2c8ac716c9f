"""Recordings in one file: ``.tar``, ``.tar.gz``, ``.tar.bz2``, ``.tar.xz``, and ``.tar.zst`` (Python 3.14).

An archive is untrusted input: nothing is written to disk, links can only lead to members of the archive, only
files below ``sys/`` and ``proc/`` and the kubelet's files are kept, and size, number and compression ratio of
the members are limited while they are streamed. The compression is detected by the first bytes, not the file
name; decompression bombs are stopped early.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, TypeAlias

from cpuctl.errors import InputError, unreadable
from cpuctl.machine.recording_layout import (
    DROP_INS,
    RECORDED_FILES,
    is_of_kubelet,
)
from cpuctl.machine.tar_stream import HARD_LINK, LINK, ODD_KINDS, ByteStream, TarMembers
from cpuctl.machine.tree import MAX_FILE_BYTES, MemoryTree
from cpuctl.phrases import some_of
from cpuctl.root_directory import follow_links

if TYPE_CHECKING:
    import zlib

MAX_UNPACKED_BYTES = 1 << 30
MAX_RATIO = 1000
"""Unpacked bytes per packed byte; recordings of sysfs reach a few hundred."""

_RATIO_APPLIES_FROM = 64 << 20
_PIECE = 1 << 18
_GZIP = 31  # a gzip header, and the largest window
_MAX_DECODER_MEMORY = 128 << 20
_MAX_ZSTD_WINDOW_LOG = 27  # the same 128 MiB


class _Decoder(Protocol):
    """What the standard library's bzip2, xz and zstd decompressors have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipDecoder:
    """A gzip decompressor like the others: ``gzip.GzipFile`` takes twice as long for a small file."""

    def __init__(self, stream: zlib._Decompress) -> None:
        self._stream = stream
        self._full = False

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not (self._full or self._stream.unconsumed_tail)

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece = self._stream.decompress(data or self._stream.unconsumed_tail, max_length)
        self._full = len(piece) == max_length  # there may be more output, although all input is consumed
        return piece


def unpacked_pieces(packed: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of an uncompressed, gzip, bzip2, xz or zstd file, a quarter of a megabyte at a time.

    Raise InputError for a bomb and for a compression this Python cannot read, EOFError for a truncated
    file, ValueError for a corrupt one.
    """
    total = 0
    for piece in _pieces(packed):
        total += len(piece)
        if total > MAX_UNPACKED_BYTES:
            raise InputError(f"unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB")
        if total > _RATIO_APPLIES_FROM and total > MAX_RATIO * packed.tell():
            raise InputError(f"unpacks to more than {MAX_RATIO} times its size")
        yield piece


def _pieces(packed: IO[bytes]) -> Iterator[bytes]:
    magic = packed.read(6)
    packed.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return _gzip_pieces(packed)
    if magic.startswith(b"BZh"):
        return _bzip2_pieces(packed)
    if magic == b"\xfd7zXZ\0":
        return _xz_pieces(packed)
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstd_pieces(packed)
    return iter(lambda: packed.read(_PIECE), b"")


def _gzip_pieces(packed: IO[bytes]) -> Iterator[bytes]:
    import zlib

    held = b""
    try:
        # One piece late: the last one is yielded only after the file has ended properly.
        for piece in _decoded(packed, lambda: _GzipDecoder(zlib.decompressobj(_GZIP))):
            if held:
                yield held
            held = piece
    except zlib.error:
        raise ValueError("its gzip data is damaged") from None
    if held:
        yield held


def _bzip2_pieces(packed: IO[bytes]) -> Iterator[bytes]:
    import bz2

    pieces = _decoded(packed, bz2.BZ2Decompressor)
    while True:
        try:
            piece = next(pieces, b"")
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError("its bzip2 data is damaged") from None
        if not piece:
            return
        yield piece


def _xz_pieces(packed: IO[bytes]) -> Iterator[bytes]:
    import lzma

    try:
        yield from _decoded(packed, lambda: lzma.LZMADecompressor(memlimit=_MAX_DECODER_MEMORY))
    except lzma.LZMAError as error:
        raise ValueError(str(error)) from None


def _zstd_pieces(packed: IO[bytes]) -> Iterator[bytes]:
    from importlib import import_module

    try:
        zstd = import_module("compression.zstd")
    except ImportError:
        raise InputError(
            "is compressed with zstd, which Python reads from version 3.14 on",
            hint="unpack it first (zstd -d FILE) and give the .tar, or compress it with gzip or xz",
        ) from None
    options = {zstd.DecompressionParameter.window_log_max: _MAX_ZSTD_WINDOW_LOG}
    try:
        yield from _decoded(packed, lambda: zstd.ZstdDecompressor(options=options))
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from None


def _decoded(packed: IO[bytes], new_decoder: Callable[[], _Decoder]) -> Iterator[bytes]:
    """Decode a file of one or more compressed streams, at most one piece at a time."""
    decoder = new_decoder()
    while True:
        data = b""
        if decoder.eof:
            data = (decoder.unused_data or packed.read(_PIECE)).lstrip(b"\0")
            if not data:
                return
            decoder = new_decoder()
        elif decoder.needs_input:
            data = packed.read(_PIECE)
            if not data:
                raise EOFError("the file ends too early")
        if piece := decoder.decompress(data, _PIECE):
            yield piece


MAX_KEPT_BYTES = 128 << 20
"""The most text kept of one archive."""
MAX_NAME_CHARACTERS = 64 << 20
"""The most characters in all names kept of one archive."""

_KEPT_ROOTS = ("sys", "proc")
_KEPT_AT_ONCE = tuple(f"{name}/" for name in _KEPT_ROOTS)
_FOLLOWED = (*RECORDED_FILES, DROP_INS)
_MOST_TARGETS = 100
_MOST_READINGS = 8
_LONGEST_NAME = 4096  # PATH_MAX of Linux


Opened: TypeAlias = Callable[[], IO[bytes]]
"""Opens an archive, from its beginning each time."""


class NoRecordingError(InputError):
    """The archive is readable but contains no file tree of a node."""


def read_archive(path: Path) -> MemoryTree:
    """Read an archive that has ``sys`` and ``proc`` at its top level or in one common directory.

    If the kubelet's files are links, their targets are kept, too, which requires reading it again. Raise
    InputError, with the archive's path, for an archive that is unreadable, corrupt, truncated, beyond the
    limits or without ``sys``, or whose links lead out of it.
    """
    return _unpacked(lambda: path.open("rb"), str(path))


def unpacked_tree(data: bytes, where: str) -> MemoryTree:
    """Read an archive inside another one, at *where*, as ``read_archive`` does."""
    return _unpacked(lambda: BytesIO(data), where)


def _unpacked(opened: Opened, where: str) -> MemoryTree:
    with archive_errors(where):
        tree = _with_targets(opened)
        return MemoryTree(tree.files, tree.links, tree.odd)


@contextmanager
def archive_errors(where: str) -> Iterator[None]:
    """Turn every error while reading an archive into an InputError with its name."""
    try:
        yield
    except InputError as error:
        raise error.within(where) from None
    except OSError as error:
        raise unreadable(error, where) from None
    except (EOFError, ValueError) as error:
        raise InputError(
            f"cannot be read as an archive: {error}",
            where=where,
            hint="expected a .tar, .tar.gz, .tar.bz2, .tar.xz or .tar.zst that contains sys/ and proc/",
        ) from error


def first_unpacked(path: Path) -> bytes:
    """Return the first bytes of a file's unpacked content; as many as can be unpacked."""
    try:
        with path.open("rb") as packed:
            return next(iter(unpacked_pieces(packed)), b"")
    except (OSError, EOFError, ValueError, InputError):
        return b""


def archive_members(packed: IO[bytes]) -> TarMembers:
    """Return the members of an archive, unpacked lazily."""
    return TarMembers(ByteStream(unpacked_pieces(packed)))


def _with_targets(opened: Opened) -> _Tree:
    """Read an archive again for every link in a chain that leads out of the kept files."""
    targets: set[str] = set()
    for _ in range(_MOST_READINGS):
        kept = _Kept(frozenset(targets))
        with opened() as packed:
            kept.read(archive_members(packed))
        tree = kept.only_tree()
        more = set(tree.targets()) - targets
        if not more or len(targets) >= _MOST_TARGETS:
            return tree
        targets |= more
    raise InputError(f"a kubelet file is a link through {_MOST_READINGS} or more other links")


class _Tree:
    """What is kept below one common directory: texts, link targets, and entries that are not files."""

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.links: dict[str, str] = {}
        self.odd: dict[str, str] = {}

    def replace(self, path: str, text: str) -> None:
        """Replace an entry by a file; the last one with a name wins."""
        self.links.pop(path, None)
        self.odd.pop(path, None)
        self.files[path] = text

    def targets(self) -> Iterator[str]:
        """Yield the targets of links that replace files of the kubelet."""
        if all(path.startswith(_KEPT_AT_ONCE) for path in self.links):
            return
        drop_ins = (path for path in self.links if path.startswith(f"{DROP_INS}/"))
        for path in (*sorted(_FOLLOWED), *drop_ins):
            real = follow_links(path, self._target_of)
            if real != path and not _is_kept(real.split("/")):
                yield real

    def _target_of(self, directory: str, name: str) -> str | None:
        return self.links.get(f"{directory}/{name}" if directory else name)


class _Kept:
    """What is kept of an archive while it is streamed, by common directory (``""`` for none).

    *targets* are kept, too: links of the kubelet's files lead there.
    """

    def __init__(self, targets: frozenset[str] = frozenset()) -> None:
        self._trees: defaultdict[str, _Tree] = defaultdict(_Tree)
        self._places = _Places(targets)
        self._bytes = 0
        self._name_characters = 0

    def read(self, members: TarMembers) -> None:
        """Keep the texts of files, but only the names of directories, as sysfs readers list them."""
        place_of, data = self._places.of, members.data
        for name, kind, link, size in members:
            place = place_of(name, link=kind == LINK)
            if place is None:
                continue
            top, path = place
            self._count(name, len(path) + len(link), size or 0)
            tree = self._trees[top]
            if size is not None:
                # tar pads with NULs when a file is shorter than stat said, as all files of a live sysfs are.
                text = data(size).rstrip(b"\0").decode("utf-8", "replace")
                if path in tree.files:
                    tree.replace(path, text)
                else:
                    tree.files[path] = text
            elif kind == LINK:
                tree.files[path] = None
                tree.links[path] = link
            elif kind == HARD_LINK:
                target = self._places.of(link)
                tree.files[path] = self._trees.get(target[0], tree).files.get(target[1]) if target else None
            else:
                tree.files.setdefault(path, None)
                if kind in ODD_KINDS:
                    tree.odd[path] = ODD_KINDS[kind]

    def _count(self, name: str, characters: int, size: int) -> None:
        """Raise InputError beyond the limits."""
        self._bytes += size
        if size > MAX_FILE_BYTES or self._bytes > MAX_KEPT_BYTES:
            raise InputError(
                f"{name} has {size} bytes; at most {MAX_FILE_BYTES >> 20} MiB in one file "
                f"and {MAX_KEPT_BYTES >> 20} MiB in total are read"
            )
        self._name_characters += characters
        if self._name_characters > MAX_NAME_CHARACTERS:
            raise InputError(f"contains more than {MAX_NAME_CHARACTERS >> 20} MiB of file names")

    def only_tree(self) -> _Tree:
        """Return the archive's only tree, preferring the one at its top level."""
        found = {top: tree for top, tree in sorted(self._trees.items()) if _holds_sys(tree.files)}
        if "" in found or len(found) == 1:
            return found.get("") or next(iter(found.values()))
        if found:
            raise InputError(
                f"contains several recordings ({some_of(list(found))}), expected one",
                hint="unpack it and specify one",
            )
        raise NoRecordingError(
            "contains no sys/ directory, at the top level or in its only directory",
            hint="a recording contains sys/devices/system/cpu, sys/devices/system/node and proc/",
        )


def _holds_sys(files: dict[str, str | None]) -> bool:
    return any(path.startswith("sys/") for path in files)


class _Places:
    """Where members belong: their common directory and their path below it."""

    def __init__(self, targets: frozenset[str]) -> None:
        self._targets = targets
        self._below = tuple(f"{each}/" for each in targets)
        self._links = _links_above(targets)

    def of(self, name: str, *, link: bool = False) -> tuple[str, str] | None:
        """Split a member's name; return None if it is not kept. A *link* may be above what is kept."""
        if len(name) > _LONGEST_NAME:
            return None
        if (
            name.startswith(_KEPT_AT_ONCE)
            and "/." not in name
            and "//" not in name
            and not name.endswith("/")
        ):
            return "", name  # like nearly all members of most recordings
        if name.startswith("/"):
            return None
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if ".." in parts or not parts:
            return None
        for top in (0, 1):
            if self._belongs(parts[top:], link=link):
                return "/".join(parts[:top]), "/".join(parts[top:])
        return None

    def _belongs(self, parts: list[str], *, link: bool) -> bool:
        if _is_kept(parts):
            return True
        path = "/".join(parts)
        return path in self._targets or path.startswith(self._below) or (link and path in self._links)


@lru_cache(maxsize=1)  # nearly all recordings have no targets
def _links_above(targets: frozenset[str]) -> frozenset[str]:
    return frozenset(parent for path in (*_FOLLOWED, *targets) for parent in _and_above(path))


def _and_above(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _is_kept(parts: list[str]) -> bool:
    if parts and parts[0] in _KEPT_ROOTS:
        return True
    return is_of_kubelet("/".join(parts))
