"""The client against a server of raw frames: what no well-behaved server does, and the resulting errors."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cpuctl.errors import CpuctlError, InputError, NodeAccessError
from cpuctl.machine.pod_resources.grpc_call import call, decode_headers, encode_headers

SETTINGS, PING, GO_AWAY = 4, 6, 7
DATA, HEADERS, RESET, CONTINUATION = 0, 1, 3, 9
END, ACK, WHOLE, PADDED = 1, 1, 4, 8
FINE = b"\x88"  # :status 200


def frame(kind: int, flags: int = 0, payload: bytes = b"", stream: int = 1) -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def message(content: bytes) -> bytes:
    return bytes([0]) + len(content).to_bytes(4) + content


def status(code: str, text: str = "") -> bytes:
    return encode_headers([("grpc-status", code), ("grpc-message", text)])


@contextmanager
def answering(path: Path, *frames: bytes) -> Iterator[str]:
    """Send frames to a client after its request; end when it hangs up."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            link, _ = listener.accept()
            with link:
                link.recv(1 << 16)
                link.sendall(b"".join(frames))
                link.shutdown(socket.SHUT_WR)
                with suppress(ConnectionResetError):  # it hangs up instead of reading the rest
                    while link.recv(1 << 16):
                        pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield str(path)
        finally:
            thread.join()


def requested(path: Path, *frames: bytes) -> bytes:
    with answering(path / "kubelet.sock", *frames) as where:
        return call(where, "/v1.PodResourcesLister/List", seconds=5)


def test_an_answer_with_all_that_servers_may_send(tmp_path: Path) -> None:
    content = message(b"answer")
    padded = bytes([3]) + content[4:] + bytes(3)
    trailers = status("0")
    assert (
        requested(
            tmp_path,
            frame(SETTINGS, payload=bytes(6), stream=0),
            frame(SETTINGS, ACK, stream=0),
            frame(PING, payload=b"12345678", stream=0),
            frame(HEADERS, WHOLE, FINE),
            frame(DATA, 0, content[:4]),
            frame(DATA, PADDED, padded),
            frame(200, 0, b"an extension", stream=0),
            frame(HEADERS, END, trailers[:4]),
            frame(CONTINUATION, WHOLE, trailers[4:]),
        )
        == b"answer"
    )


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        ([], "the connection was closed early"),
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "a frame has 4740180 bytes"),
        ([frame(RESET, payload=bytes(4))], "the call was reset"),
        ([frame(GO_AWAY, payload=bytes(8), stream=0)], "the server closed the connection"),
        ([frame(HEADERS, WHOLE | END, b"\x8d")], "HTTP status 404"),
        ([frame(HEADERS, WHOLE | END, b"\xfe")], "a header refers to entry 126 of an empty table"),
        ([frame(HEADERS, WHOLE | END, b"\0\x05ab")], "a header ends within a string"),
        ([frame(HEADERS, WHOLE | END, FINE)], "it has no message"),
        ([frame(DATA, PADDED | END, b"\x09a")], "a frame contains only padding"),
        ([frame(DATA, END, b"\1" + message(b"")[1:])], "compressed, truncated or not the only one"),
        ([frame(DATA, END, message(b"a") * 2)], "compressed, truncated or not the only one"),
        (
            [frame(HEADERS, 0, bytes(1 << 14))] + [frame(CONTINUATION, 0, bytes(1 << 14))] * 4,
            "are incomplete",
        ),
        ([frame(HEADERS, WHOLE | END, status("12", "unknown"))], r"rejected \(gRPC status 12\): unknown"),
        ([frame(HEADERS, WHOLE | END, status("7"))], r"rejected \(gRPC status 7\): without a reason"),
    ],
)
def test_invalid_answers(tmp_path: Path, frames: list[bytes], why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        requested(tmp_path, *frames)
    assert str(caught.value).startswith(f"{tmp_path}/kubelet.sock: ")


def test_no_server_to_connect_to(tmp_path: Path) -> None:
    def stated(path: Path) -> str:
        with pytest.raises(CpuctlError) as caught:
            call(str(path), "/v1.PodResourcesLister/List")
        assert caught.value.hint
        return caught.value.message

    assert stated(tmp_path / "none") == "no such file or socket"
    assert stated(tmp_path / ("long" * 30)).startswith("cannot connect: ")
    left = tmp_path / "left"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(left))
    assert stated(left) == "cannot connect: nothing is listening"


def test_a_socket_that_only_root_may_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(_self: socket.socket, _path: str) -> None:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(NodeAccessError, match="cannot connect: permission denied") as caught:
        call(str(tmp_path / "s"), "/v1.PodResourcesLister/List")
    assert caught.value.hint == "try again with sudo"


def test_compressed_texts() -> None:
    """RFC 7541, appendix C.4.1 and C.6.1, without the entries of their tables."""
    assert decode_headers(bytes.fromhex("418cf1e3c2e5f23a6ba0ab90f4ff")) == {}
    block = bytes.fromhex("00" + "88" + "25a849e95ba97d7f" + "89" + "25a849e95bb8e8b4bf")
    assert decode_headers(block) == {"custom-key": "custom-value"}
    assert decode_headers(b"\x20\x48\x82\x64\x02") == {":status": "302"}
