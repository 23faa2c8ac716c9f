"""How systemd reads unit files, environment files and command lines.

Rule: systemd.syntax(7), systemd.exec(5) and systemd.service(5); where these are silent, systemd 255.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_SPACE = " \t\n\r"
_QUOTES = "\"'"
_CONTROLS = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " ",
    "\\": "\\", '"': '"', "'": "'",
}  # fmt: skip
_CODED = re.compile(r"x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_BRACED = re.compile(r"\$(?:\{([^}]*)(\}|\Z)|(\$))")
_SPECIFIER = re.compile(r"%(.)?", re.DOTALL)
_MOST_CHARACTERS = 6 << 20  # the most that Linux accepts for the words of a command
_SURROGATES = range(0xD800, 0xE000)
_AFTER_BACKSLASH = '"\\`$'
"""What a backslash escapes inside double quotes in an environment file."""


class UnknownError(Exception):
    """Something that only systemd knows and files do not show; the text says what."""


def settings(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value of every assignment of a unit file."""
    section = ""
    for line in _logical_lines(text):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            continue
        key, equals, value = line.partition("=")
        if equals:
            yield section, key.rstrip(), value.lstrip()


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments; a line that ends with a backslash is joined to the next by a space."""
    before = ""
    for raw in text.replace("\0", "\n").split("\n"):
        line = raw.strip(_SPACE)
        if line.startswith(("#", ";")) or (not line and not before):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            before += line[:-1] + " "
            continue
        if before + line:
            yield (before + line).strip(_SPACE)
        before = ""
    if before.strip():
        yield before.strip(_SPACE)


def split_words(text: str, *, unescape: bool = True) -> list[str]:
    """Split at whitespace, honouring quotes anywhere in a word; raise ValueError for an unclosed quote."""
    words: list[str] = []
    word: list[str] | None = None
    quote, at = "", 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter == "\\" and unescape and at < len(text):
            found, at = _escaped(text, at)
            word = word or []
            word.append(found)
        elif letter == quote:
            quote = ""
        elif not quote and letter in _QUOTES:
            quote, word = letter, word or []
        elif not quote and letter in _SPACE:
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = word or []
            word.append(letter)
    if quote:
        raise ValueError(f"unclosed quote: {quote}")
    return words if word is None else [*words, "".join(word)]


def _escaped(text: str, at: int) -> tuple[str, int]:
    """Read an escape sequence after its backslash; one without a meaning stays as it is."""
    if text[at] in _CONTROLS:
        return _CONTROLS[text[at]], at + 1
    if found := _CODED.match(text, at):
        hexadecimal, octal, *wide = found.groups()
        digits = hexadecimal or octal or wide[0] or wide[1]
        code = int(digits, 8 if octal else 16)
        if 0 < code <= 0x10FFFF and code not in _SURROGATES:  # the last code point
            return chr(code), found.end()
    return f"\\{text[at]}", at + 1


def with_specifiers(text: str, known: Mapping[str, str]) -> str:
    """Replace specifiers such as ``%n``; raise UnknownError for one whose value no file shows."""

    def value(found: re.Match[str]) -> str:
        letter = found[1] or ""
        if letter == "%":
            return "%"
        if not letter.isalpha():
            return found[0]
        if letter not in known:
            raise UnknownError(f"only systemd knows the value of %{letter}")
        return known[letter]

    return _SPECIFIER.sub(value, text)


def with_variables(words: list[str], variables: Mapping[str, str]) -> list[str]:
    """Replace variables in a command line: ``$A`` as a separate word is split, ``${A}`` never.

    Raise UnknownError if the result is longer than Linux accepts.
    """
    found: list[str] = []
    left = _MOST_CHARACTERS

    def value(name: str) -> str:
        nonlocal left
        text = variables.get(name, "")
        left -= len(text)
        if left < 0:
            raise UnknownError(
                f"with variables expanded, the command has more than {_MOST_CHARACTERS} characters"
            )
        return text

    def replaced(each: re.Match[str]) -> str:
        if each[3]:
            return "$"
        return value(each[1]) if each[2] else each[0]

    for word in words:
        if word.startswith("$") and word[1:2] not in ("", "{", "$"):
            found += _relaxed_words(value(word[1:]))
        else:
            found.append(_BRACED.sub(replaced, word))
    return found


def _relaxed_words(value: str) -> list[str]:
    """Split a variable's value: backslashes are literal, and an unclosed quote ends with the value."""
    for closing in ("", *_QUOTES):
        try:
            return split_words(value + closing, unescape=False)
        except ValueError:
            continue
    return value.split()


def environment_words(value: str, known: Mapping[str, str]) -> dict[str, str]:
    """Read what ``Environment=`` assigns; words that assign nothing are skipped."""
    try:
        words = split_words(value)
    except ValueError:
        return {}
    pairs = (with_specifiers(word, known).partition("=") for word in words)
    return {name: content for name, equals, content in pairs if equals and _NAME.fullmatch(name)}


def environment_file(text: str) -> dict[str, str]:
    """Read the variables of an environment file."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
        elif text[at] in "#;":
            at = _line_end(text, at)
        else:
            end = _line_end(text, at)
            equals = text.find("=", at, end)
            if equals < 0:
                at = end
                continue
            name = text[at:equals].rstrip(_SPACE)
            value, at = _value(text, equals + 1)
            if _NAME.fullmatch(name):
                found[name] = value
    return found


def _line_end(text: str, at: int) -> int:
    end = re.compile(r"[\n\r]").search(text, at)
    return end.start() if end else len(text)


def _value(text: str, at: int) -> tuple[str, int]:
    """Read a value up to the end of its line: quoted parts first, then the rest."""
    kept: list[str] = []
    plain = False
    spaces = 0
    while at < len(text) and text[at] not in "\n\r":
        letter = text[at]
        at += 1
        if letter == "\\":
            plain = True
            if at < len(text) and text[at] not in "\n\r":
                kept.append(text[at])
            at += 1
            spaces = 0
        elif not plain and letter in _QUOTES:
            part, at = _quoted(text, at, letter)
            kept.append(part)
        elif letter in _SPACE:
            if plain:
                kept.append(letter)
                spaces += 1
        else:
            kept.append(letter)
            plain, spaces = True, 0
    return "".join(kept[: len(kept) - spaces]), at


def _quoted(text: str, at: int, quote: str) -> tuple[str, int]:
    kept: list[str] = []
    while at < len(text) and text[at] != quote:
        if quote == '"' and text[at] == "\\" and at + 1 < len(text):
            following = text[at + 1]
            if following in _AFTER_BACKSLASH:
                kept.append(following)
            elif following != "\n":
                kept += ("\\", following)
            at += 2
        else:
            kept.append(text[at])
            at += 1
    return "".join(kept), at + 1
