"""Compressed files as a stream of pieces that stops early when they would unpack without end.

The compression is told by the first bytes, not by the file's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Protocol

from cpuctl.errors import InputError

MAX_UNPACKED_BYTES = 1 << 30
MAX_RATIO = 1000
"""Unpacked bytes per packed byte; recordings of sysfs reach a few hundred."""

_RATIO_APPLIES_FROM = 64 << 20
_PIECE = 1 << 18
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
    import gzip
    import zlib

    with gzip.GzipFile(fileobj=packed) as file:
        try:
            yield from iter(lambda: file.read(_PIECE), b"")
        except (gzip.BadGzipFile, zlib.error):
            raise ValueError("its gzip data is damaged") from None
        except EOFError:
            raise EOFError("the file ends too early") from None


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
    """Decode a file of one or several compressed streams, never more than a piece at once."""
    decoder = new_decoder()
    while True:
        data = b""
        if decoder.eof:
            data = decoder.unused_data or packed.read(_PIECE)
            if not data.strip(b"\0"):
                return
            decoder = new_decoder()
        elif decoder.needs_input:
            data = packed.read(_PIECE)
            if not data:
                raise EOFError("the file ends too early")
        if piece := decoder.decompress(data, _PIECE):
            yield piece
