"""Lists on a command line, which ``spf13/pflag`` reads as a line of comma-separated values.

Rule: ``encoding/csv``. Of several lines the first one counts.
"""

from __future__ import annotations

import re

from cpuctl.golang.text import GoError

_QUOTED = re.compile(r'"((?:[^"]|"")*+)"(?=,|$)')
_UP_TO_LONE_QUOTE = re.compile(r'"(?:[^"]|"")*+')


def csv_list(text: str) -> list[str]:
    """Read the fields of a line; raise GoError with Go's text where quotes are amiss."""
    line = text.lstrip("\n").partition("\n")[0]
    if not line:
        if text:
            raise GoError("EOF")
        return []
    fields: list[str] = []
    at = 0
    while at <= len(line):
        if line.startswith('"', at):
            found = _QUOTED.match(line, at)
            if found is None:
                raise _stray_quote(line, at)
            fields.append(found[1].replace('""', '"'))
            at = found.end() + 1
        else:
            field = line[at:].partition(",")[0]
            if '"' in field:
                raise _mistake(line, at + field.index('"'), 'bare " in non-quoted-field')
            fields.append(field)
            at += len(field) + 1
    return fields


def _stray_quote(line: str, at: int) -> GoError:
    """Blame the quote after which the field goes on, or the end of the line where none ends it."""
    found = _UP_TO_LONE_QUOTE.match(line, at)
    assert found is not None  # it begins with a quote
    return _mistake(line, found.end(), 'extraneous or missing " in quoted-field')


def _mistake(line: str, at: int, what: str) -> GoError:
    column = len(line[:at].encode(errors="surrogateescape")) + 1
    return GoError(f"parse error on line 1, column {column}: {what}")
