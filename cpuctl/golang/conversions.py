"""Go's reading and writing of the kinds of text that appear in the kubelet's messages."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import isfinite

from cpuctl.golang.text import GoError, quoted

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER = r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[oO]?(?:_?[0-7])+|0[bB](?:_?[01])+|0|[1-9](?:_?[0-9])*)"
_FLOAT = r"[+-]?(?:[0-9]++\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NOT_FINITE = frozenset({"nan", *(sign + word for sign in ("", "+", "-") for word in ("inf", "infinity"))})
_MOST_DIGITS = 64
_BASES = {"0x": 16, "0b": 2, "0o": 8}


def parse_bool(text: str) -> bool:
    """Read a boolean as ``strconv.ParseBool`` does; raise GoError with its text."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise GoError(f"strconv.ParseBool: parsing {quoted(text)}: invalid syntax")


def reads_true(text: str) -> bool:
    """Return whether ``strconv.ParseBool`` reads true; False for text that it rejects."""
    return text in _TRUE


def parse_int(text: str, *, bits: int = 64) -> int:
    """Read an integer as ``strconv.ParseInt(text, 0, bits)`` does; raise GoError with its text."""
    wrong = f"strconv.ParseInt: parsing {quoted(text)}"
    if re.fullmatch(_INTEGER, text) is None:
        raise GoError(f"{wrong}: {_first_wrong(text, bits)}")
    digits = text.lstrip("+-").replace("_", "")
    octal = len(digits) > 1 and digits.isdecimal() and digits.startswith("0")
    number = int(digits, 8 if octal else 0) if len(digits) <= _MOST_DIGITS else 1 << bits
    signed = -number if text.startswith("-") else number
    if not -(1 << bits - 1) <= signed < 1 << bits - 1:
        raise GoError(f"{wrong}: value out of range")
    return signed


def _first_wrong(text: str, bits: int, base: int = 0) -> str:
    """Return what Go finds first in a text that is not an integer: a digit too many, or a non-digit."""
    digits = text[text[:1] in ("-", "+") :]
    if not base:
        prefix = digits[:2].lower() if len(digits) > 2 else ""
        base = _BASES.get(prefix, 8 if digits.startswith("0") else 10)
        digits = digits[2 if prefix in _BASES else 0 :].replace("_", "")
    number = 0
    for digit in digits:
        value = int(digit, 36) if digit.isascii() and digit.isalnum() else base
        if value >= base:
            break
        number = number * base + value
        if number >> bits:
            return "value out of range"
    return "invalid syntax"


def parse_atoi(text: str) -> int:
    """Read a decimal integer as ``strconv.Atoi`` does; raise GoError with its text."""
    sign, digits = (text[0], text[1:]) if text[:1] in ("-", "+") else ("", text)
    if not (digits.isascii() and digits.isdecimal()):
        raise GoError(f"strconv.Atoi: parsing {quoted(text)}: {_first_wrong(text, 64, 10)}")
    try:
        return parse_int(sign + (digits.lstrip("0") or "0"))
    except ValueError:
        raise GoError(f"strconv.Atoi: parsing {quoted(text)}: value out of range") from None


def parse_float32(text: str) -> float:
    """Read a decimal as ``strconv.ParseFloat(text, 32)`` does; raise GoError with its text."""
    wrong = f"strconv.ParseFloat: parsing {quoted(text)}"
    if text.lower() in _NOT_FINITE:
        return float(text)
    if re.fullmatch(_FLOAT, text) is None:
        raise GoError(f"{wrong}: invalid syntax")
    number = float(text)
    if isfinite(number):
        with suppress(OverflowError):
            return float32(number)
    raise GoError(f"{wrong}: value out of range")


def float32(number: float) -> float:
    """Round to 32 bits, the precision in which the kubelet keeps percentages."""
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


def float_text(number: float) -> str:
    """Write a float as ``%v`` does."""
    if number == int(number) and abs(number) < 1e21:
        return str(int(number))
    return repr(number)


def json_number(number: float) -> str:
    """Write a number as Go's ``json.Marshal`` does: ``110``, ``0.00001``, ``1e-7``, ``1e+21``."""
    if number and not 1e-6 <= abs(number) < 1e21:
        return repr(float(number)).replace("e-0", "e-")
    if number == int(number):
        return str(int(number))
    digits, _, exponent = repr(number).partition("e-")
    return f"{number:.{len(digits.partition('.')[2]) + int(exponent)}f}" if exponent else digits


def aggregated(errors: Iterable[str]) -> str:
    """Write several errors as ``errors.NewAggregate`` does: duplicates once, more than one in brackets."""
    texts = list(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def map_text(pairs: Mapping[str, object]) -> str:
    """Write a map as ``%v`` does, keys in order: ``map[a:1 b:2]``."""
    return f"map[{' '.join(f'{key}:{pairs[key]}' for key in sorted(pairs))}]"


def url_scheme(text: str) -> str:
    """Return the scheme of an address as ``url.Parse`` finds it; raise GoError with its text."""
    wrong = f"parse {quoted(text)}: "
    if any(char < " " or char == "\x7f" for char in text):
        raise GoError(f"{wrong}net/url: invalid control character in URL")
    if text.startswith(":"):
        raise GoError(f"{wrong}missing protocol scheme")
    found = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]*):", text, re.ASCII)
    scheme, rest = (found[1].lower(), text[found.end() :]) if found else ("", text)
    if not rest.startswith("/") and not scheme and ":" in rest.partition("/")[0]:
        raise GoError(f"{wrong}first path segment in URL cannot contain colon")
    if escape := re.search(r"%(?![0-9a-fA-F]{2}).{0,2}", rest, re.ASCII):
        raise GoError(f"{wrong}invalid URL escape {quoted(escape[0])}")
    host = re.split(r"[/?#]", rest[2:], maxsplit=1)[0].rpartition("@")[2] if rest.startswith("//") else ""
    if host.startswith("[") and "]" not in host:
        raise GoError(f"{wrong}missing ']' in host")
    port = host.rpartition("]")[2] if host.startswith("[") else host[host.find(":") :] if ":" in host else ""
    if port and not re.fullmatch(r":[0-9]*", port, re.ASCII):
        raise GoError(f"{wrong}invalid port {quoted(port)} after host")
    return scheme
