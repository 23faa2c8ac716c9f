"""The tar format (POSIX ustar and pax, GNU long names), read forward from a stream.

Why not ``tarfile``: a recording has tens of thousands of tiny members, on which it spends most of the time of
reading a machine; it keeps an object for each, and recurses along chains of extended headers that an
untrusted archive may contain.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct
from zlib import adler32

MAX_MEMBERS = 500_000
"""Twice what the complete CPU tree of 8192 CPUs would need."""

_BLOCK = 512
_OCTAL = b"01234567"
_END = bytes(_BLOCK)
_MAX_EXTENDED_HEADER = 1 << 20
_MAX_EXTENDED_BYTES = 64 << 20  # of all extended headers: about a hundred bytes for each member
_HEADER = Struct("100s 24x 12s 12x 8s c 100s 6s 82x 155s 12x")
"""Name, size, checksum, kind, link target, magic and prefix."""
_EXTENDED_KINDS = frozenset({b"x", b"L", b"K", b"g"})
_FILE_KINDS = frozenset({b"0", b"\0", b"7"})
_PAX_KEYS = frozenset({b"path", b"linkpath", b"size"})
_SPARSE = "GNU.sparse."
HARD_LINK, LINK = b"1", b"2"
ODD_KINDS = {b"3": "a device", b"4": "a device", b"6": "a pipe"}
_LINKS = frozenset({HARD_LINK, LINK})
_KINDS_WITHOUT_DATA = frozenset({*_LINKS, *ODD_KINDS, b"5"})
"""Links, devices, directories and pipes, regardless of the size they state."""


Member = tuple[str, bytes, str, int | None]
"""One entry: its name, its kind, the target of a link of either kind, and the size of a regular file."""


class ByteStream:
    """Pieces of bytes, returned in exact lengths; raise EOFError if they end too early."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._at = 0

    def take(self, length: int, padding: int = 0) -> bytes:
        """Return the next *length* bytes, and skip *padding* more."""
        begin, end = self._at, self._at + length
        if end + padding <= len(self._piece):
            self._at = end + padding
            return self._piece[begin:end]
        parts = [self._piece[begin:end]]
        self._at = begin + len(parts[0])
        while length := length - len(parts[-1]):
            self._refill()
            parts.append(self._piece[:length])
            self._at = len(parts[-1])
        self.skip(padding)
        return b"".join(parts)

    def skip(self, length: int) -> None:
        """Skip the next *length* bytes."""
        while length > len(self._piece) - self._at:
            length -= len(self._piece) - self._at
            self._refill()
        self._at += length

    def _refill(self) -> None:
        self._piece = next(self._pieces, b"")
        self._at = 0
        if not self._piece:
            raise EOFError("the archive ends too early")


class TarMembers:
    """The members of an archive in order; iterate once, and call ``data`` while doing so."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._unread = 0
        self._extended_bytes = 0

    def __iter__(self) -> Iterator[Member]:
        """Raise ValueError for anything but a tar archive, EOFError for a truncated one."""
        extended: dict[str, str] = {}
        stream, unpack = self._stream, _HEADER.unpack  # tens of thousands of times: every look-up counts
        for index in range(MAX_MEMBERS):
            if self._unread:
                stream.skip(self._unread)
                self._unread = 0
            block = stream.take(_BLOCK)
            if block == _END:
                return
            name, digits, checksum, kind, link, magic, prefix = unpack(block)
            # The lower half of Adler-32 is one more than the sum modulo 65521, which ASCII never reaches.
            total = (adler32(block) & 0xFFFF) - 1 if block.isascii() else sum(block)
            if _stated_sum(checksum) != total:
                raise ValueError(
                    f"a member's header is damaged (number {index})" if index else "it is not a tar archive"
                )
            size = _number(digits)
            if kind in _EXTENDED_KINDS:
                extended |= self._extended(kind, size)
                continue
            if kind == b"S" or _SPARSE in extended:
                raise ValueError("it contains sparse files: create it without tar's --sparse")
            if "size" in extended:
                size = _decimal(extended["size"])
            if kind not in _KINDS_WITHOUT_DATA:
                self._unread = size + -size % _BLOCK
            if not (extended or prefix[0]) and kind in _FILE_KINDS:  # like nearly all members
                yield name.partition(b"\0")[0].decode("utf-8", "replace"), kind, "", size
                continue
            yield (
                extended.get("path") or _path(name, magic, prefix),
                kind,
                (extended.get("linkpath") or _text(link)) if kind in _LINKS else "",
                size if kind in _FILE_KINDS else None,
            )
            extended = {}
        raise ValueError(f"it has more than {MAX_MEMBERS} members")

    def data(self, size: int) -> bytes:
        """Read the content of the latest regular file, once; *size* is from its header."""
        padding, self._unread = self._unread - size, 0
        return self._stream.take(size, padding)

    def _extended(self, kind: bytes, size: int) -> dict[str, str]:
        self._extended_bytes += size
        if self._extended_bytes > _MAX_EXTENDED_BYTES:
            raise ValueError(f"it has more than {_MAX_EXTENDED_BYTES >> 20} MiB of extended headers")
        if size > _MAX_EXTENDED_HEADER:
            raise ValueError(f"an extended header has {size} bytes")
        return _extended(kind, self._stream.take(size, -size % _BLOCK))


@lru_cache(maxsize=1 << 12)  # two thirds of a recording's members share their checksum
def _stated_sum(checksum: bytes) -> int | None:
    """Return the sum of a header with this checksum, which is computed with its own field blank."""
    digits = checksum.strip(b" \0")
    if not digits or digits.translate(None, _OCTAL):
        return None
    return int(digits, 8) + sum(checksum) - len(checksum) * ord(" ")


def _path(name: bytes, magic: bytes, prefix: bytes) -> str:
    # GNU tar writes a different magic, and dates where POSIX has the prefix.
    if prefix[0] and magic == b"ustar\0":
        return f"{_text(prefix)}/{_text(name)}"
    return _text(name)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")


@lru_cache(maxsize=1 << 12)  # nearly all members have one of a few sizes
def _number(field: bytes) -> int:
    """Read an octal field, or the binary form that GNU tar uses for large files."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if digits.translate(None, _OCTAL):
        raise ValueError(f"a member's header holds {digits!r} instead of an octal number")
    return int(digits or b"0", 8)


def _decimal(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 19):
        raise ValueError(f"a pax header holds {text[:40]!r} instead of a number")
    return int(text)


def _extended(kind: bytes, data: bytes) -> dict[str, str]:
    """Read the relevant fields of an extended header for the member after it."""
    if kind == b"L":
        return {"path": _text(data)}
    if kind == b"K":
        return {"linkpath": _text(data)}
    records = _pax_records(data) if kind == b"x" else ()
    return {
        key.decode() if key in _PAX_KEYS else _SPARSE: value.decode(errors="replace")
        for key, value in records
        if key in _PAX_KEYS or key.startswith(_SPARSE.encode())
    }


def _pax_records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the records of a pax header, each ``LENGTH KEY=VALUE`` and a newline."""
    begin = 0
    while begin < len(data):
        digits = data[begin : begin + 20].partition(b" ")[0]
        end = begin + _decimal(digits.decode(errors="replace"))
        key, equals, value = data[begin + len(digits) + 1 : end].partition(b"=")
        if not equals or end > len(data):
            raise ValueError("a pax header is truncated")
        yield key, value.removesuffix(b"\n")
        begin = end
