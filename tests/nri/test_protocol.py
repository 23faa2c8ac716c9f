"""The framings: bytes as they are on the wire, split anywhere, and invalid frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.nri.protocol import (
    LONGEST_MESSAGE,
    LONGEST_PAYLOAD,
    FramingError,
    Message,
    MessageReader,
    Piece,
    PieceReader,
    pack_message,
    pack_piece,
)

PAYLOADS = st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=40)), max_size=8)
CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=20)


def test_a_piece_contains_its_connection_and_its_length() -> None:
    assert pack_piece(2, b"abc") == bytes.fromhex("00000002 00000003") + b"abc"


def test_a_message_has_ten_bytes_before_its_payload() -> None:
    assert pack_message(Message(5, 1, 2, b"abc")) == bytes.fromhex("00000003 00000005 01 02") + b"abc"


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    found: list[bytes] = []
    at = 0
    while at < len(data):
        size = sizes[len(found) % len(sizes)]
        found.append(data[at : at + size])
        at += size
    return found


@given(PAYLOADS, CUTS)
def test_pieces_are_reassembled_however_they_are_split(
    given_: list[tuple[int, bytes]], sizes: list[int]
) -> None:
    reader = PieceReader()
    data = b"".join(pack_piece(*each) for each in given_)
    found = [piece for part in cut(data, sizes) for piece in reader.feed(part)]
    assert found == [Piece(*each) for each in given_]


@given(PAYLOADS, CUTS)
def test_messages_need_not_end_where_pieces_do(given_: list[tuple[int, bytes]], sizes: list[int]) -> None:
    reader = MessageReader()
    wanted = [Message(stream, 1, 0, payload) for stream, payload in given_]
    data = b"".join(map(pack_message, wanted))
    assert [message for part in cut(data, sizes) for message in reader.feed(part)] == wanted


def test_an_oversized_frame_is_rejected_before_it_has_arrived() -> None:
    with pytest.raises(FramingError, match=f"a frame has {LONGEST_PAYLOAD + 1} bytes"):
        list(PieceReader().feed((1).to_bytes(4) + (LONGEST_PAYLOAD + 1).to_bytes(4)))
    with pytest.raises(FramingError, match=f"a message has {LONGEST_MESSAGE + 1} bytes"):
        list(MessageReader().feed((LONGEST_MESSAGE + 1).to_bytes(4) + bytes(6)))
    with pytest.raises(FramingError, match="longer than"):
        pack_message(Message(1, 1, 0, bytes(LONGEST_MESSAGE + 1)))


def test_the_longest_message_fits_into_the_longest_piece() -> None:
    packed = pack_message(Message(1, 2, 0, bytes(LONGEST_MESSAGE)))
    (piece,) = PieceReader().feed(pack_piece(1, packed))
    assert [len(each.payload) for each in MessageReader().feed(piece.payload)] == [LONGEST_MESSAGE]
    with pytest.raises(FramingError, match="longer than"):
        pack_piece(1, packed + b"x")
