"""What ``lscpu`` prints for every CPU: the tables of ``-p`` and ``-e``, and ``-e`` as JSON.

Columns and their notations: util-linux ``sys-utils/lscpu.c``. lscpu counts cores, sockets and caches itself
unless it ran with ``-y``; the numbers of CPUs and NUMA nodes are the kernel's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.errors import InputError
from cpuctl.machine.foreign.form import (
    LSCPU_EXTENDED,
    LSCPU_JSON,
    LSCPU_PARSABLE,
    FormContent,
    MachineFact,
    MachineFormat,
)
from cpuctl.machine.foreign.recognition import comment_columns
from cpuctl.machine.foreign.rows import CPURow, ForeignMachine, PrintedMachine, build, nodes_of
from cpuctl.machine.kernel_text import shown
from cpuctl.machine.model import MAX_CPUS, Cache

_CPU, _NODE, _SOCKET, _CORE, _ONLINE = "CPU", "NODE", "SOCKET", "CORE", "ONLINE"
_CACHE = re.compile(r"L([1-9])([DI]?)", re.ASCII)
_CACHE_KINDS = {"D": "Data", "I": "Instruction", "": "Unified"}
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_MEGAHERTZ = re.compile(r"([0-9]{1,7})(?:\.([0-9]{1,6}))?", re.ASCII)
_SWITCHES = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
_BARE_DASH = re.compile(rb'("(?:[^"\\]++|\\.)*+")|-(?=\s*[,}\]])')
_MOST_COLUMNS = 64
_UNKNOWN = "?"
"""A cache in a row with fewer caches than others: lscpu does not show which are missing."""
_REPEATED = "core numbers repeat: CPUs that share no level-2 cache are treated as different cores"
_HINT = "run lscpu -e=CPU,NODE,SOCKET,CORE,CACHE,ONLINE -J"


class _Record(NamedTuple):
    """A row as printed: its place, and the text by column, None for ``-`` or nothing.

    The line of a row in JSON is computed only if it is needed.
    """

    place: str | Cursor
    values: Mapping[str, str | None]

    def error(self, message: str, column: str = "", *, hint: str = "") -> InputError:
        """Return an error at this row."""
        where = self.place if isinstance(self.place, str) else self.place.where
        return InputError(message, where=f"{where}: {column}" if column else where, hint=hint)


def read_parsable(text: str, source: str) -> ForeignMachine:
    """Read ``lscpu -p`` with any columns; raise InputError with file and line."""
    lines = text.splitlines()
    header = comment_columns(text) or []
    return _built(header, _table(lines, header, source, ","), LSCPU_PARSABLE, source)


def read_extended(text: str, source: str) -> ForeignMachine:
    """Read ``lscpu -e`` with any columns; raise InputError with file and line."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip())
    header = _split_names(":".join(lines[first].split()))
    lines[: first + 1] = [""] * (first + 1)
    return _built(header, _table(lines, header, source, None), LSCPU_EXTENDED, source)


def without_bare_dashes(text: bytes) -> bytes:
    """Write ``null`` where lscpu 2.38 writes ``-`` for an offline CPU, which is not valid JSON."""
    return _BARE_DASH.sub(lambda found: found[1] or b"null", text)


def read_json(cursor: Cursor, source: str) -> ForeignMachine:
    """Read ``lscpu -e -J``: an object with ``cpus``; raise InputError with file, line and path."""
    records = [_json_record(item) for item in cursor.required("cpus").items()]
    names = dict.fromkeys(name for record in records for name in record.values)
    return _built(list(names), records, LSCPU_JSON, source)


def _split_names(text: str) -> list[str]:
    return [name.upper() for name in text.split(":")]


def _table(
    lines: Sequence[str], header: Sequence[str], source: str, separator: str | None
) -> Iterator[_Record]:
    if len(header) > _MOST_COLUMNS:
        raise InputError(f"has {len(header)} columns, expected at most {_MOST_COLUMNS}", where=source)
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"{source}:{number}"
        values = _columns(line.split(separator), header, joined=separator is None)
        if len(values) != len(header):
            message = f"found {shown(line)}, expected {len(header)} columns ({','.join(header)})"
            raise InputError(message, where=where, hint=_HINT)
        yield _Record(where, {name: _value(value) for name, value in zip(header, values, strict=True)})


def _columns(cells: list[str], header: Sequence[str], *, joined: bool) -> list[str]:
    """Return a cell for every column; ``-e`` has caches *joined* in one (``0:0:0:0``, or ``-`` for none).

    Rows of offline CPUs end early. lscpu leaves out caches that a CPU does not have, and does not show which.
    """
    caches = [number for number, name in enumerate(header) if _CACHE.fullmatch(name)]
    first = caches[0] if caches else len(header)
    if joined and first < len(cells):
        return [*cells[:first], *_parts(cells[first], len(caches)), *cells[first + 1 :]]
    if not any(cells[1:]):
        return cells + [""] * (len(header) - len(cells))
    if caches and caches[-1] == len(header) - 1 and first <= len(cells) < len(header):
        return cells[:first] + [_UNKNOWN] * len(caches)
    return cells


def _parts(text: str, count: int) -> list[str]:
    parts = text.split(":")
    if len(parts) == count:
        return parts
    return [_UNKNOWN if _value(text) else ""] * count


def _value(text: str) -> str | None:
    text = text.strip()
    return None if text in {"", "-"} else text


def _json_record(row: Cursor) -> _Record:
    values: dict[str, str] = {}
    for key, member in row.members().items():
        text = _json_text(member)
        names = _split_names(key)
        parts = [text] if len(names) == 1 else _parts(text, len(names))
        values |= zip(names, parts, strict=True)
    return _Record(row, {name: _value(text) for name, text in values.items()})


def _json_text(member: Cursor) -> str:
    value = member.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(value)
    return "" if value is None else member.text()


def _built(
    header: Sequence[str], records: Iterable[_Record], form: MachineFormat, source: str
) -> ForeignMachine:
    if _CPU not in header:
        raise InputError("expected a CPU column", where=source, hint=_HINT)
    caches = [name for name in header if _CACHE.fullmatch(name)]
    places = [name for name in (_CORE, _SOCKET, _NODE, *caches) if name in header]
    online, offline = _by_state(records, places)
    rows = [_row(record, cpu) for cpu, record in online.items()]
    caches_known = not any(_UNKNOWN in record.values.values() for record in online.values())
    shared = _caches(online, caches) if caches_known else []
    apart = _with_cores_apart(rows, shared)
    printed = PrintedMachine(rows=apart, nodes=nodes_of(rows), caches=shared, offline=offline)
    content = FormContent(
        form, frozenset(_facts(header, printed)), notes=() if apart == rows else (_REPEATED,)
    )
    return build(printed, content, source)


def _by_state(records: Iterable[_Record], places: Sequence[str]) -> tuple[dict[int, _Record], CPUSet]:
    """Return the rows of online CPUs, and the offline CPUs."""
    found: dict[int, _Record] = {}
    for record in records:
        cpu = _required_cpu(record)
        if cpu in found:
            raise record.error(f"CPU {cpu} is listed twice")
        found[cpu] = record
    if not any(_places(record, places) for record in found.values()):
        places = ()  # the kernel does not report any
    elif _CORE in places and any(_places(record, (_CORE,)) for record in found.values()):
        places = (_CORE,)  # some kernels report the other places of an offline CPU
    offline = CPUSet.of(cpu for cpu, record in found.items() if not _is_online(record, places))
    return {cpu: record for cpu, record in found.items() if cpu not in offline}, offline


def _places(record: _Record, names: Iterable[str]) -> bool:
    return any(record.values.get(name) is not None for name in names)


def _caches(online: Mapping[int, _Record], names: Iterable[str]) -> list[Cache]:
    members: dict[tuple[str, int], int] = {}
    for cpu, record in online.items():
        for name in names:
            number = _number(record, name)
            if number is not None:
                members[name, number] = members.get((name, number), 0) | 1 << cpu
    return [_cache(*key, CPUSet(mask)) for key, mask in members.items()]


def _with_cores_apart(rows: list[CPURow], caches: Iterable[Cache]) -> list[CPURow]:
    """Separate cores with the same number: on Arm processors, lscpu 2.38 counts them per cluster."""
    second = {cpu: cache.cpus for cache in caches if cache.level == 2 for cpu in cache.cpus}
    lowest: dict[Hashable, int] = {}
    for row in rows:
        lowest.setdefault((row.core, second.get(row.cpu)), row.cpu)
    if len(lowest) == len({row.core for row in rows}) or any(row.core is None for row in rows):
        return rows
    numbers = [lowest[row.core, second.get(row.cpu)] for row in rows]
    return [row._replace(core=number, core_id=number) for row, number in zip(rows, numbers, strict=True)]


def _facts(header: Collection[str], printed: PrintedMachine) -> Iterator[MachineFact]:
    if printed.offline or _ONLINE in header:
        yield MachineFact.OFFLINE
    if _NODE in header:  # empty on a kernel without NUMA nodes
        yield MachineFact.NUMA
    if any(row.socket is not None for row in printed.rows):
        yield MachineFact.SOCKETS
    if any(row.core_id is not None for row in printed.rows):
        yield MachineFact.CORES
    if printed.caches:
        yield MachineFact.CACHES
    if any(row.max_khz for row in printed.rows):
        yield MachineFact.CORE_KINDS


def _required_cpu(record: _Record) -> int:
    cpu = _number(record, _CPU)
    if cpu is None or cpu >= MAX_CPUS:
        found = "nothing" if cpu is None else str(cpu)
        message = f"found {found}, expected a CPU number of at most {MAX_CPUS - 1}"
        raise record.error(message, _CPU)
    return cpu


def _is_online(record: _Record, places: Sequence[str]) -> bool:
    switch = record.values.get(_ONLINE)
    if switch is None:
        return not places or _places(record, places)
    if switch.lower() not in _SWITCHES:
        message = f"found {shown(switch)}, expected yes or no"
        raise record.error(message, _ONLINE, hint="run LC_ALL=C lscpu")
    return _SWITCHES[switch.lower()]


def _row(record: _Record, cpu: int) -> CPURow:
    socket, core = _number(record, _SOCKET), _number(record, _CORE)
    book, drawer = _number(record, "BOOK"), _number(record, "DRAWER")
    node = _number(record, _NODE)
    if node is not None and node >= MAX_CPUS:
        message = f"found {node}, expected a NUMA node number of at most {MAX_CPUS - 1}"
        raise record.error(message, _NODE)
    return CPURow(
        cpu=cpu,
        node=node,
        socket=socket,
        core=None if core is None else (drawer, book, socket, core),
        core_id=core,
        book=book,
        drawer=drawer,
        max_khz=_kilohertz(record, "MAXMHZ"),
        min_khz=_kilohertz(record, "MINMHZ"),
    )


def _number(record: _Record, name: str) -> int | None:
    text = record.values.get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise record.error(f"found {shown(text)}, expected a number", name)
    return int(text)


def _kilohertz(record: _Record, name: str) -> int | None:
    text = record.values.get(name)
    if text is None:
        return None
    found = _MEGAHERTZ.fullmatch(text)
    if not found:
        message = f"found {shown(text)}, expected a frequency in MHz"
        raise record.error(message, name)
    return int(found[1]) * 1000 + int((found[2] or "").ljust(3, "0")[:3])


def _cache(name: str, number: int, cpus: CPUSet) -> Cache:
    level, kind = _CACHE.fullmatch(name).groups()  # type: ignore[union-attr]  # only such names are passed
    return Cache(level=int(level), kind=_CACHE_KINDS[kind], cpus=cpus, id=number)
