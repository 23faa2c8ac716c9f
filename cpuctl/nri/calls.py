"""Calls over one socket in both directions: the runtime calls the plug-in, and the plug-in the runtime.

Rule: ``request.proto`` and ``PROTOCOL.md`` of containerd/ttrpc 4b166fb: one stream a call, odd and rising;
codes are those of gRPC.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuctl.nri.frames import (
    REMOTE_OPEN,
    ConnectionNumber,
    FramingError,
    Message,
    MessageReader,
    MessageType,
    PieceReader,
    pack_message,
    pack_piece,
)
from cpuctl.nri.schema import messages

if TYPE_CHECKING:
    import socket

PLUGIN_SERVICE = "nri.pkg.api.v1alpha1.Plugin"
RUNTIME_SERVICE = "nri.pkg.api.v1alpha1.Runtime"
_AT_ONCE = 1 << 16


class Code(IntEnum):
    """The codes of gRPC that are used here."""

    OK = 0
    INVALID_ARGUMENT = 3
    UNIMPLEMENTED = 12


class Call(NamedTuple):
    """A call of the runtime that waits for an answer; ``payload`` is still to be read."""

    stream: int
    service: str
    method: str
    payload: bytes


class Reply(NamedTuple):
    """What the runtime answers to a call of ours: ``error`` is empty where it did what was asked."""

    stream: int
    error: str
    payload: bytes


class Caller:
    """The plug-in's end of a socket. OSError and FramingError end it: there is no way back."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._pieces = PieceReader()
        self._readers: dict[int, MessageReader] = {number: MessageReader() for number in ConnectionNumber}
        self._last = -1
        self._unanswered: set[int] = set()

    def call(self, method: str, request: Any) -> int:  # noqa: ANN401  # a message of protobuf
        """Call the runtime; return the stream that the reply will have."""
        self._last += 2
        whole = messages()["Request"](
            service=RUNTIME_SERVICE, method=method, payload=request.SerializeToString()
        )
        message = Message(self._last, MessageType.REQUEST, 0, whole.SerializeToString())
        self._send(ConnectionNumber.RUNTIME, message)
        return self._last

    def answer(self, call: Call, response: Any) -> None:  # noqa: ANN401
        """Answer a call of the runtime."""
        whole = messages()["Response"](payload=response.SerializeToString())
        self._respond(call.stream, whole)

    def refuse(self, stream: int, code: Code, why: str) -> None:
        """Answer a call with an error."""
        whole = messages()["Response"]()
        whole.status.code, whole.status.message = code, why
        self._respond(stream, whole)

    def owes(self, call: Call) -> bool:
        """Return whether a call has not been answered yet."""
        return call.stream in self._unanswered

    def received(self) -> Iterator[Call | Reply]:
        """Wait for what comes next, and yield it; raise EOFError where the runtime has gone."""
        data = self.end.recv(_AT_ONCE)
        if not data:
            raise EOFError
        for piece in self._pieces.feed(data):
            # Numbers that nobody knows yet are passed over, as the runtime does.
            reader = self._readers.get(piece.connection)
            for message in reader.feed(piece.payload) if reader else ():
                found = self._read(piece.connection, message)
                if found is not None:
                    yield found

    def _respond(self, stream: int, response: Any) -> None:  # noqa: ANN401
        self._unanswered.discard(stream)
        message = Message(stream, MessageType.RESPONSE, 0, response.SerializeToString())
        self._send(ConnectionNumber.PLUGIN, message)

    def _send(self, connection: ConnectionNumber, message: Message) -> None:
        self.end.sendall(pack_piece(connection, pack_message(message)))

    def _read(self, connection: int, message: Message) -> Call | Reply | None:
        if connection == ConnectionNumber.RUNTIME:
            return _reply(message) if message.type == MessageType.RESPONSE else None
        if message.type != MessageType.REQUEST:
            return None
        if message.flags & REMOTE_OPEN:
            self.refuse(message.stream, Code.UNIMPLEMENTED, "streams of requests are not supported")
            return None
        request = parsed("Request", message.payload)
        self._unanswered.add(message.stream)
        return Call(message.stream, request.service, request.method, request.payload)


def parsed(name: str, payload: bytes) -> Any:  # noqa: ANN401
    """Read a message; raise FramingError for what is none."""
    from google.protobuf.message import DecodeError

    try:
        return messages()[name].FromString(payload)
    except (DecodeError, UnicodeDecodeError) as error:
        raise FramingError(f"{len(payload)} bytes are no {name}: {error}") from None


def _reply(message: Message) -> Reply:
    response = parsed("Response", message.payload)
    status = response.status
    error = f"{status.message} (code {status.code})" if status.code != Code.OK else ""
    return Reply(message.stream, error, response.payload)
