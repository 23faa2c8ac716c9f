"""The two framings of NRI's socket: logical connections on one socket, and calls on such a connection.

Rule: ``pkg/net/multiplex`` of containerd/nri 8ec8b28 (connection number, length, payload) and ``PROTOCOL.md``
of containerd/ttrpc 4b166fb (length, stream, type, flags, payload); all numbers are big-endian. A payload of
the first need not end where a message of the second does. What cannot be a frame is a ``FramingError``: there
is no way back to the frames behind it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

LONGEST_MESSAGE = 4 << 20
"""Bytes that a message may have behind its header."""

_MUX = struct.Struct("!II")
_MESSAGE = struct.Struct("!IIBB")
LONGEST_PAYLOAD = _MESSAGE.size + LONGEST_MESSAGE
"""Bytes that a runtime sends, and takes, in one piece."""

REMOTE_OPEN = 2
"""The flag of a request whose sender has more to send."""


class ConnectionNumber(IntEnum):
    """The logical connections: on each, one side calls and the other answers."""

    PLUGIN = 1
    RUNTIME = 2


class MessageType(IntEnum):
    """What a message is: a request begins a stream, a response ends it."""

    REQUEST = 1
    RESPONSE = 2
    DATA = 3


class FramingError(Exception):
    """What is sent, or is to be sent, is no frame: what, and why not."""


class Piece(NamedTuple):
    """What was sent on a logical connection, in one piece."""

    connection: int
    payload: bytes


class Message(NamedTuple):
    """A message on a logical connection."""

    stream: int
    type: int
    flags: int
    payload: bytes


def pack_piece(connection: int, payload: bytes) -> bytes:
    """Write a piece; raise FramingError for one that no peer would take."""
    if len(payload) > LONGEST_PAYLOAD:
        raise FramingError(f"a payload of {len(payload)} bytes is longer than {LONGEST_PAYLOAD}")
    return _MUX.pack(connection, len(payload)) + payload


def pack_message(message: Message) -> bytes:
    """Write a message; raise FramingError for one that no peer would take."""
    if len(message.payload) > LONGEST_MESSAGE:
        raise FramingError(f"a message of {len(message.payload)} bytes is longer than {LONGEST_MESSAGE}")
    header = _MESSAGE.pack(len(message.payload), message.stream, message.type, message.flags)
    return header + message.payload


class PieceReader:
    """Puts pieces together from what a socket gives, however it is cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Take what has come; yield the pieces that are whole now, or raise FramingError."""
        self._buffer += data
        while len(self._buffer) >= _MUX.size:
            connection, length = _MUX.unpack_from(self._buffer)
            if length > LONGEST_PAYLOAD:
                raise FramingError(f"a piece has {length} bytes, at most {LONGEST_PAYLOAD} can be")
            payload = _taken(self._buffer, _MUX.size, length)
            if payload is None:
                return
            yield Piece(connection, payload)


class MessageReader:
    """Puts the messages of one logical connection together."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take what has come; yield the messages that are whole now, or raise FramingError."""
        self._buffer += data
        while len(self._buffer) >= _MESSAGE.size:
            length, stream, kind, flags = _MESSAGE.unpack_from(self._buffer)
            if length > LONGEST_MESSAGE:
                raise FramingError(f"a message has {length} bytes, at most {LONGEST_MESSAGE} can be")
            payload = _taken(self._buffer, _MESSAGE.size, length)
            if payload is None:
                return
            yield Message(stream, kind, flags, payload)


def _taken(buffer: bytearray, header_length: int, length: int) -> bytes | None:
    """Take the first frame away, and return what stands behind its head; None where it is not whole yet."""
    end = header_length + length
    if len(buffer) < end:
        return None
    payload = bytes(buffer[header_length:end])
    del buffer[:end]
    return payload
