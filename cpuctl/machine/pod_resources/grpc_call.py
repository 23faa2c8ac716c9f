"""One gRPC call over a Unix socket: HTTP/2 (RFC 9113) for a client that makes a single request.

The kubelet answers three unary calls with small messages: that takes a preface, one request and some frames
to collect, which does not justify an eight-megabyte library on a node.

The status of a call is in a header block (HPACK, RFC 7541), of which a client without a table needs only a
part: servers compress its text. The Huffman code here covers only the characters that can occur in a gRPC
header: messages are percent-encoded.
"""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress
from enum import IntEnum
from typing import NamedTuple
from urllib.parse import unquote

from cpuctl.errors import CpuctlError, InputError, NodeAccessError, os_reason

_SYMBOLS = {
    5: "012aceiost", 6: " %-./3456789=A_bdfghlmnpru", 7: ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz", 8: "&*,;XZ",
    10: '!"()?', 11: "'+|", 12: "#>", 13: "\0$@[]~", 14: "^}", 15: "<`{",
}  # fmt: skip
"""The characters by code length (RFC 7541, appendix B); codes of the same length are consecutive."""

_STATUS_NAME = ":status"
_FIRST_STATUS = 8
_STATUSES = ("200", "204", "206", "304", "400", "404", "500")
_STATIC_ENTRIES = 61


def _codes() -> dict[tuple[int, int], str]:
    codes: dict[tuple[int, int], str] = {}
    code = length = 0
    for longer, symbols in _SYMBOLS.items():
        code <<= longer - length
        length = longer
        for symbol in symbols:
            codes[length, code] = symbol
            code += 1
    return codes


_CODES = _codes()


def encode_headers(headers: list[tuple[str, str]]) -> bytes:
    """Encode headers as plain literals without indexing."""
    return b"".join(b"\0" + _literal(name) + _literal(value) for name, value in headers)


def _literal(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def decode_headers(block: bytes) -> dict[str, str]:
    """Decode a block; raise ValueError if it is truncated or refers to an entry of a table.

    Of the static table only ``:status`` has a name here: other entries do not matter for a call.
    """
    headers: dict[str, str] = {}
    at = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:
            index, at = _integer(block, at, 7)
            headers |= _static(index)
            continue
        if first & 0xE0 == 0x20:  # a table size update, which is 0
            _, at = _integer(block, at, 5)
            continue
        index, at = _integer(block, at, 6 if first & 0x40 else 4)
        if index:
            name = next(iter(_static(index)), "")
        else:
            name, at = _string(block, at)
        value, at = _string(block, at)
        if name:
            headers[name] = value
    return headers


def _static(index: int) -> dict[str, str]:
    if not 0 < index <= _STATIC_ENTRIES:
        raise ValueError(f"a header refers to entry {index} of an empty table")
    at = index - _FIRST_STATUS
    return {_STATUS_NAME: _STATUSES[at]} if 0 <= at < len(_STATUSES) else {}


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    limit = (1 << bits) - 1
    value = block[at] & limit if at < len(block) else -1
    if 0 <= value < limit:
        return value, at + 1
    for shift, byte in enumerate(block[at + 1 : at + 5]):
        value += (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 2
    raise ValueError("a header ends within a number, or the number is too large")


def _string(block: bytes, at: int) -> tuple[str, int]:
    length, begin = _integer(block, at, 7)
    end = begin + length
    if end > len(block):
        raise ValueError("a header ends within a string")
    text = block[begin:end]
    return (_plain(text) if block[at] & 0x80 else text.decode("latin-1")), end


def _plain(text: bytes) -> str:
    """Decode Huffman text up to the first character that cannot be in a gRPC header."""
    found: list[str] = []
    code = length = 0
    longest = max(_SYMBOLS)
    for byte in text:
        for bit in range(7, -1, -1):
            code, length = code << 1 | byte >> bit & 1, length + 1
            symbol = _CODES.get((length, code))
            if symbol is not None:
                found.append(symbol)
                code = length = 0
            elif length > longest:
                return "".join(found)
    return "".join(found)


MAX_MESSAGE = 16 << 20
"""The most bytes of an answer: what the kubelet's own clients accept."""
_SECONDS = 10.0
_MOST_FRAMES = 100_000

_END_STREAM = _ACK = 1
_END_HEADERS, _PADDED, _PRIORITY = 4, 8, 0x20
_LARGEST_FRAME = 1 << 14
_LARGEST_BLOCK = 1 << 16
_WINDOW = (1 << 31) - 1
_FIRST_WINDOW = (1 << 16) - 1
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

_OK, _DEADLINE, _EXHAUSTED, _UNIMPLEMENTED = "0", "4", "8", "12"
_HINTS = {
    _DEADLINE: "try again: the kubelet did not answer in time",
    _EXHAUSTED: "try again in a second: the kubelet limits the rate of calls",
    _UNIMPLEMENTED: "this kubelet does not know the method, or a feature gate turns it off",
}
_NO_KUBELET = (
    "check that the kubelet is running, and that this is its socket, pod-resources/kubelet.sock in its root "
    "directory, or a file with its answers"
)


class Kind(IntEnum):
    """The type of a frame."""

    DATA = 0
    HEADERS = 1
    RESET = 3
    SETTINGS = 4
    PING = 6
    GO_AWAY = 7
    WINDOW = 8
    CONTINUATION = 9


class _Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes


def call(path: str, method: str, message: bytes = b"", *, seconds: float = _SECONDS) -> bytes:
    """Call the server at the socket *path*, and return its response message.

    Raise NodeAccessError if access to the socket is denied, InputError if nothing listens or the answer is
    not gRPC, too large, too late or a rejection.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(seconds)
            link.connect(path)
            return _Call(link, time.monotonic() + seconds).run(method, message)
    except TimeoutError:
        raise InputError(f"no answer within {seconds:g}s", where=path, hint=_NO_KUBELET) from None
    except OSError as error:
        raise _closed(error, path) from None
    except ValueError as error:
        raise InputError(f"the response is not gRPC: {error}", where=path, hint=_NO_KUBELET) from None
    except CpuctlError as error:
        raise error.within(f"{path}: {method}") from None


def _closed(error: OSError, path: str) -> CpuctlError:
    if isinstance(error, PermissionError):
        return NodeAccessError(f"cannot connect: {os_reason(error)}", where=path, hint="try again with sudo")
    if isinstance(error, FileNotFoundError):
        return InputError("no such file or socket", where=path, hint=_NO_KUBELET)
    if isinstance(error, ConnectionRefusedError):
        return InputError("cannot connect: nothing is listening", where=path, hint=_NO_KUBELET)
    return InputError(f"cannot connect: {os_reason(error)}", where=path, hint=_NO_KUBELET)


class _Call:
    """A connection with one stream."""

    def __init__(self, link: socket.socket, deadline: float) -> None:
        self.link = link
        self.deadline = deadline
        self.body = bytearray()
        self.block = bytearray()
        self.headers: dict[str, str] = {}
        self.ended = False

    def run(self, method: str, message: bytes) -> bytes:
        self.link.sendall(_request(method, message))
        for _ in range(_MOST_FRAMES):
            if self._take(self._frame()):
                return self._message()
        raise ValueError(f"more than {_MOST_FRAMES} frames")

    def _frame(self) -> _Frame:
        header = self._receive(9)
        length = int.from_bytes(header[:3])
        if length > _LARGEST_FRAME:
            raise ValueError(f"a frame has {length} bytes")
        stream = int.from_bytes(header[5:]) & _WINDOW
        return _Frame(header[3], header[4], stream, self._receive(length))

    def _receive(self, count: int) -> bytes:
        got = bytearray()
        while len(got) < count:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.link.settimeout(left)
            more = self.link.recv(count - len(got))
            if not more:
                raise ValueError("the connection was closed early")
            got += more
        return bytes(got)

    def _take(self, frame: _Frame) -> bool:
        """Handle a frame, and return whether it is the last."""
        match frame.kind:
            case Kind.RESET if frame.stream == 1:
                raise ValueError("the call was reset")
            case Kind.GO_AWAY:
                raise ValueError("the server closed the connection")
            case Kind.SETTINGS | Kind.PING if not frame.flags & _ACK:
                payload = frame.payload if frame.kind == Kind.PING else b""
                with suppress(BrokenPipeError):  # data already sent is still read
                    self.link.sendall(_frame(frame.kind, _ACK, 0, payload))
            case Kind.DATA if frame.stream == 1:
                self.body += _unpadded(frame)
                if len(self.body) > MAX_MESSAGE + 5:
                    raise InputError(f"the response is larger than {MAX_MESSAGE >> 20} MiB")
            case Kind.HEADERS | Kind.CONTINUATION if frame.stream == 1:
                self.block += _block(frame)
                if len(self.block) > _LARGEST_BLOCK:
                    raise ValueError("the headers are incomplete")
                if frame.flags & _END_HEADERS:
                    self.headers |= decode_headers(bytes(self.block))
                    self.block.clear()
        # Trailers that end the stream may continue in other frames, which mark their end.
        return frame.stream == 1 and self._ends(frame)

    def _ends(self, frame: _Frame) -> bool:
        if frame.kind in (Kind.DATA, Kind.HEADERS) and frame.flags & _END_STREAM:
            self.ended = True
        return self.ended and (frame.kind == Kind.DATA or bool(frame.flags & _END_HEADERS))

    def _message(self) -> bytes:
        http, status = self.headers.get(":status", ""), self.headers.get("grpc-status", "")
        if status not in ("", _OK):
            stated = unquote(self.headers.get("grpc-message", "")) or "without a reason"
            raise InputError(f"rejected (gRPC status {status}): {stated}", hint=_HINTS.get(status, ""))
        if http not in ("", "200"):
            raise ValueError(f"HTTP status {http}")
        if len(self.body) < 5:
            raise ValueError("it has no message")
        compressed, length = struct.unpack_from(">BI", self.body)
        if compressed or length != len(self.body) - 5:
            raise ValueError("its message is compressed, truncated or not the only one")
        return bytes(self.body[5:])


def _request(method: str, message: bytes) -> bytes:
    headers = encode_headers(
        [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", method),
            (":authority", "localhost"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ]
    )
    # No header table, no pushes, and a window large enough for the whole answer.
    settings = struct.pack(">HIHIHI", 1, 0, 2, 0, 4, _WINDOW)
    return b"".join(
        (
            _PREFACE,
            _frame(Kind.SETTINGS, 0, 0, settings),
            _frame(Kind.WINDOW, 0, 0, struct.pack(">I", _WINDOW - _FIRST_WINDOW)),
            _frame(Kind.HEADERS, _END_HEADERS, 1, headers),
            _frame(Kind.DATA, _END_STREAM, 1, struct.pack(">BI", 0, len(message)) + message),
        )
    )


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def _unpadded(frame: _Frame) -> bytes:
    if not frame.flags & _PADDED:
        return frame.payload
    if not frame.payload or frame.payload[0] >= len(frame.payload):
        raise ValueError("a frame contains only padding")
    return frame.payload[1 : len(frame.payload) - frame.payload[0]]


def _block(frame: _Frame) -> bytes:
    if frame.kind == Kind.CONTINUATION:
        return frame.payload
    return _unpadded(frame)[5 if frame.flags & _PRIORITY else 0 :]
