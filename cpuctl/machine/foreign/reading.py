"""Another tool's output, read by the reader for its format."""

from __future__ import annotations

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import decoded, load_documents
from cpuctl.errors import InputError
from cpuctl.machine.foreign import ghw, lscpu, numactl
from cpuctl.machine.foreign.cadvisor import read_machine_info
from cpuctl.machine.foreign.recognition import HEAD_BYTES, WITHOUT_CPUS, recognised, start_of
from cpuctl.machine.foreign.rows import ForeignMachine

_HINT = "run lscpu -e -J, which lists every CPU"
_TEXTS = {
    "numactl": numactl.read_hardware,
    "lscpu -p": lscpu.read_parsable,
    "lscpu -e": lscpu.read_extended,
}


def read_printed(data: bytes, source: str) -> ForeignMachine:
    """Read a tool's output; raise InputError, with its place, for anything the tool would not print."""
    form = recognised(data[:HEAD_BYTES])
    if form == "XML":
        from cpuctl.machine.foreign.hwloc import read_xml

        return read_xml(data, source)
    if form in _TEXTS:
        return _TEXTS[form](decoded(data, source), source)
    if form != "without CPUs":
        return _read_json(data, source)
    head = start_of(data[:HEAD_BYTES])
    problem = next(text for begin, text in WITHOUT_CPUS.items() if head.startswith(begin))
    raise InputError(problem, where=source, hint=_HINT)


def _read_json(data: bytes, source: str) -> ForeignMachine:
    cursor = Cursor.at_root(load_documents(lscpu.without_bare_dashes(data), source)[0])
    found = cursor.value if isinstance(cursor.value, dict) else {}
    if "cpus" in found:
        return lscpu.read_json(cursor, source)
    if "lscpu" in found or ("caches" in found and "topology" not in found):
        problem = "is lscpu's summary or its table of caches, which does not show the placement of each CPU"
        raise InputError(problem, where=source, hint=_HINT)
    if ghw.is_report(found):
        return ghw.read_report(cursor, source)
    return read_machine_info(cursor, source)
