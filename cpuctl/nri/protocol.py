"""The socket between runtime and plugin: frames, the fields of messages, and calls in both directions.

Rule: ``request.proto`` and ``PROTOCOL.md`` of containerd/ttrpc 4b166fb: one stream per call, odd and
ascending; codes are those of gRPC.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuctl.errors import UsageError
from cpuctl.phrases import installing

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

# The two framings of NRI's socket: logical connections on one socket, and calls on such a connection.
#
# Rule: ``pkg/net/multiplex`` of containerd/nri 8ec8b28 (connection number, length, payload) and
# ``PROTOCOL.md`` of containerd/ttrpc 4b166fb (length, stream, type, flags, payload); all numbers are big-
# endian. Payloads of the first and messages of the second may end at different places. Data that is not a
# valid frame is a ``FramingError``: the following frames cannot be found.

LONGEST_MESSAGE = 4 << 20
"""The maximum bytes of a message after its header."""

_MUX = struct.Struct("!II")
_MESSAGE = struct.Struct("!IIBB")
LONGEST_PAYLOAD = _MESSAGE.size + LONGEST_MESSAGE
"""The maximum bytes that a runtime sends, and accepts, in one piece."""

REMOTE_OPEN = 2
"""The flag of a request whose sender has more to send."""


class ConnectionNumber(IntEnum):
    """The logical connections: on each, one side calls and the other answers."""

    PLUGIN = 1
    RUNTIME = 2


class MessageType(IntEnum):
    """The type of a message: a request begins a stream, a response ends it."""

    REQUEST = 1
    RESPONSE = 2
    DATA = 3


class FramingError(Exception):
    """Received or outgoing data is not a valid frame; the message describes the data and the reason."""


class Piece(NamedTuple):
    """The data sent on a logical connection in one piece."""

    connection: int
    payload: bytes


class Message(NamedTuple):
    """A message on a logical connection."""

    stream: int
    type: int
    flags: int
    payload: bytes


def pack_piece(connection: int, payload: bytes) -> bytes:
    """Return the bytes of a frame; raise FramingError for one that no peer would accept."""
    if len(payload) > LONGEST_PAYLOAD:
        raise FramingError(f"a payload of {len(payload)} bytes is longer than {LONGEST_PAYLOAD}")
    return _MUX.pack(connection, len(payload)) + payload


def pack_message(message: Message) -> bytes:
    """Return the bytes of a message; raise FramingError for one that no peer would accept."""
    if len(message.payload) > LONGEST_MESSAGE:
        raise FramingError(f"a message of {len(message.payload)} bytes is longer than {LONGEST_MESSAGE}")
    header = _MESSAGE.pack(len(message.payload), message.stream, message.type, message.flags)
    return header + message.payload


class PieceReader:
    """A reader that assembles frames from the bytes of a socket, however they are split."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Add received data; yield the pieces that are now complete, or raise FramingError."""
        self._buffer += data
        while len(self._buffer) >= _MUX.size:
            connection, length = _MUX.unpack_from(self._buffer)
            if length > LONGEST_PAYLOAD:
                raise FramingError(f"a frame has {length} bytes, expected at most {LONGEST_PAYLOAD}")
            payload = _taken(self._buffer, _MUX.size, length)
            if payload is None:
                return
            yield Piece(connection, payload)


class MessageReader:
    """A reader that assembles the messages of one logical connection."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Add received data; yield the messages that are now complete, or raise FramingError."""
        self._buffer += data
        while len(self._buffer) >= _MESSAGE.size:
            length, stream, kind, flags = _MESSAGE.unpack_from(self._buffer)
            if length > LONGEST_MESSAGE:
                raise FramingError(f"a message has {length} bytes, expected at most {LONGEST_MESSAGE}")
            payload = _taken(self._buffer, _MESSAGE.size, length)
            if payload is None:
                return
            yield Message(stream, kind, flags, payload)


def _taken(buffer: bytearray, header_length: int, length: int) -> bytes | None:
    """Remove the first frame, and return its payload; None if it is not complete yet."""
    end = header_length + length
    if len(buffer) < end:
        return None
    payload = bytes(buffer[header_length:end])
    del buffer[:end]
    return payload


# The messages of ttRPC and of NRI that a plugin for CPUs needs, as descriptors for protobuf.
#
# Rule: ``pkg/api/api.proto`` of containerd/nri 8ec8b28, ``request.proto`` of containerd/ttrpc 4b166fb: names,
# numbers and types of fields. Fields that are omitted here are skipped on receipt, and never sent.

_COMMAND = "cpuctl nri run"
INSTALL = installing("nri")

_TABLE = """
Request: service 1 string, method 2 string, payload 3 bytes, timeout_nano 4 int64
Status: code 1 int32, message 2 string
Response: status 1 Status, payload 2 bytes
Empty:
RegisterPluginRequest: plugin_name 1 string, plugin_idx 2 string, NRI_version 3 string
UpdateContainersRequest: update 1 *ContainerUpdate
UpdateContainersResponse: failed 1 *ContainerUpdate
ConfigureRequest: config 1 string, runtime_name 2 string, runtime_version 3 string, \
registration_timeout 4 int64, request_timeout 5 int64, NRI_version 6 string
ConfigureResponse: events 2 int32
SynchronizeRequest: pods 1 *PodSandbox, containers 2 *Container, more 3 bool
SynchronizeResponse: update 1 *ContainerUpdate, more 2 bool
ContainerEvent: pod 1 PodSandbox, container 2 Container
CreateContainerResponse: adjust 1 ContainerAdjustment, update 2 *ContainerUpdate
UpdateContainerRequest: pod 1 PodSandbox, container 2 Container, linux_resources 3 LinuxResources
UpdatesResponse: update 1 *ContainerUpdate
StateChangeEvent: event 1 int32, pod 2 PodSandbox, container 3 Container
PodSandbox: id 1 string, name 2 string, uid 3 string, namespace 4 string, linux 8 LinuxPodSandbox
LinuxPodSandbox: cgroup_parent 3 string
Container: id 1 string, pod_sandbox_id 2 string, name 3 string, state 4 int32, linux 11 LinuxContainer
LinuxContainer: resources 3 LinuxResources
LinuxResources: memory 1 LinuxMemory, cpu 2 LinuxCPU
LinuxMemory: limit 1 Number
LinuxCPU: shares 1 Number, quota 2 Number, period 3 Number, cpus 6 string, mems 7 string
Number: value 1 int64
ContainerAdjustment: linux 6 LinuxContainerAdjustment
LinuxContainerAdjustment: resources 2 LinuxResources
ContainerUpdate: container_id 1 string, linux 2 LinuxContainerUpdate, ignore_failure 3 bool
LinuxContainerUpdate: resources 1 LinuxResources
"""
"""One message per line: its fields with number and type, ``*`` before repeated fields.

Messages that differ only by name are listed once. Signed and unsigned numbers are the same on the wire, and
so are numbers and enumerations.
"""


@cache
def messages() -> Mapping[str, Any]:
    """Return the classes of the messages by name; raise UsageError if protobuf is not installed."""
    try:
        return described(_TABLE, "cpuctl.nri")
    except ImportError:
        raise UsageError("protobuf is required but not installed", where=_COMMAND, hint=INSTALL) from None


def described(table: str, package: str) -> Mapping[str, Any]:
    """Return the classes of a table's messages; raise ImportError if protobuf is not installed."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name=package, package=package, syntax="proto3")
    for line in table.strip().splitlines():
        name, _, fields = line.partition(":")
        message = file.message_type.add(name=name)
        for field in filter(None, map(str.strip, fields.split(","))):
            _add_field(message.field, package, *field.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = message_factory.GetMessageClassesForFiles([file.name], pool)
    return {name.removeprefix(f"{package}."): found for name, found in classes.items()}


def _add_field(fields: Any, package: str, name: str, number: str, kind: str) -> None:  # noqa: ANN401  # has no types
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto

    repeated, kind = kind.startswith("*"), kind.removeprefix("*")
    field = fields.add(name=name, number=int(number))
    field.label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
    if kind[0].isupper():
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{package}.{kind}"
    else:
        field.type = getattr(FieldDescriptorProto, f"TYPE_{kind.upper()}")


PLUGIN_SERVICE = "nri.pkg.api.v1alpha1.Plugin"
RUNTIME_SERVICE = "nri.pkg.api.v1alpha1.Runtime"
_AT_ONCE = 1 << 16


class Code(IntEnum):
    """The gRPC codes that are used here."""

    OK = 0
    INVALID_ARGUMENT = 3
    UNIMPLEMENTED = 12


class Call(NamedTuple):
    """A call of the runtime that awaits an answer; ``payload`` is not parsed yet."""

    stream: int
    service: str
    method: str
    payload: bytes


class Reply(NamedTuple):
    """The runtime's answer to a call of the plugin: ``error`` is empty if the call succeeded."""

    stream: int
    error: str
    payload: bytes


class Caller:
    """The plugin's end of a socket. OSError and FramingError end the connection permanently."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._pieces = PieceReader()
        self._readers: dict[int, MessageReader] = {number: MessageReader() for number in ConnectionNumber}
        self._last = -1
        self._unanswered: set[int] = set()

    def call(self, method: str, request: Any) -> int:  # noqa: ANN401  # a message of protobuf
        """Call the runtime; return the stream of the reply."""
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

    def is_unanswered(self, call: Call) -> bool:
        """Return whether a call has not been answered yet."""
        return call.stream in self._unanswered

    def received(self) -> Iterator[Call | Reply]:
        """Wait for the next messages, and yield them; raise EOFError if the runtime has disconnected."""
        data = self.end.recv(_AT_ONCE)
        if not data:
            raise EOFError
        for piece in self._pieces.feed(data):
            # Unknown numbers are skipped, as the runtime does.
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
    """Read a message; raise FramingError if it is invalid."""
    from google.protobuf.message import DecodeError

    try:
        return messages()[name].FromString(payload)
    except (DecodeError, UnicodeDecodeError) as error:
        raise FramingError(f"{len(payload)} bytes do not form a valid {name}: {error}") from None


def _reply(message: Message) -> Reply:
    response = parsed("Response", message.payload)
    status = response.status
    error = f"{status.message} (code {status.code})" if status.code != Code.OK else ""
    return Reply(message.stream, error, response.payload)
