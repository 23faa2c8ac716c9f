"""Header blocks of HTTP/2 (HPACK, RFC 7541), as far as one needs them who keeps no table.

The status of a call comes in a header, and servers compress its text. Only characters that can stand in a
header of gRPC are known to the Huffman code here: messages are percent-encoded.
"""

from __future__ import annotations

_SYMBOLS = {
    5: "012aceiost", 6: " %-./3456789=A_bdfghlmnpru", 7: ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz", 8: "&*,;XZ",
    10: '!"()?', 11: "'+|", 12: "#>", 13: "\0$@[]~", 14: "^}", 15: "<`{",
}  # fmt: skip
"""The characters by the length of their code (RFC 7541, appendix B); codes of a length follow each other."""

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
    """Write headers as plain literals, which no table keeps."""
    return b"".join(b"\0" + _literal(name) + _literal(value) for name, value in headers)


def _literal(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def decode_headers(block: bytes) -> dict[str, str]:
    """Read a block; raise ValueError for one that is cut off, or that asks for an entry of a table.

    Of the static table only ``:status`` has its name: no other entry tells anything of a call.
    """
    headers: dict[str, str] = {}
    at = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:
            index, at = _integer(block, at, 7)
            headers |= _static(index)
            continue
        if first & 0xE0 == 0x20:  # the size of the table, which is 0
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
        raise ValueError(f"a header refers to entry {index} of a table that is empty")
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
        raise ValueError("a header ends within a text")
    text = block[begin:end]
    return (_plain(text) if block[at] & 0x80 else text.decode("latin-1")), end


def _plain(text: bytes) -> str:
    """Take off the Huffman code; from a character on that has no place in a header of gRPC, leave it."""
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
