"""What a state file is, whoever reads it: its format, whether its checksums are right, and all that it holds.

A kubelet's reading (``read_cpu_state`` and its like) depends on release and gates; this one does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from cpuctl.checkpoints import cpu_formats, memory_formats, pods_formats
from cpuctl.checkpoints.cpu_state import FILE_NAME as CPU_FILE
from cpuctl.checkpoints.cpu_state import cpu_state_of
from cpuctl.checkpoints.formats import Checked, Envelope, Format, Loaded, data_checksum, decoded, decoded_text
from cpuctl.checkpoints.go_json import Json, Members, parsed_json
from cpuctl.checkpoints.go_types import Value
from cpuctl.checkpoints.memory_state import FILE_NAME as MEMORY_FILE
from cpuctl.checkpoints.memory_state import memory_state_of
from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile, PodsStateFile
from cpuctl.checkpoints.pods_state import ALLOCATED_FILE_NAME, pods_state_of
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.go_text import GoError
from cpuctl.named_tuple import NamedTuple

_NEWEST = StateReader(minor=38)
_NO_STATE = "this is no state file of a kubelet"

State: TypeAlias = CPUStateFile | MemoryStateFile | PodsStateFile


class Inspection(NamedTuple):
    """A state file.

    ``file_name`` is the name that such content belongs under, ``format`` ``V1`` to ``V4``; both are empty
    where the text is no state file. ``problem`` says what is wrong beside the checksums; ``state`` is then
    None. ``container_ids``: V1's CPUs by container id, for which a state has no room.
    ``embedded_differs``: the older document that the newest formats carry for older kubelets does not say
    what the file says.
    """

    file_name: str = ""
    format: str = ""
    checksums: tuple[Checked, ...] = ()
    state: State | None = None
    container_ids: Mapping[str, CPUSet] = {}
    embedded_differs: bool = False
    problem: str = ""


class _Family(NamedTuple):
    """The formats of one manager's file from the first that has pods and containers by name."""

    file_name: str
    plain: tuple[str, Format]
    with_pods: tuple[str, Format]
    newest: tuple[str, Envelope]
    state_of: Callable[[Value], State]


_CPU = _Family(
    file_name=CPU_FILE,
    plain=("V2", cpu_formats.V2),
    with_pods=("V3", cpu_formats.V3_FROM_1_37),
    newest=("V4", cpu_formats.V4),
    state_of=partial(cpu_state_of, later=True),
)
_MEMORY = _Family(
    file_name=MEMORY_FILE,
    plain=("V1", memory_formats.V1),
    with_pods=("V2", memory_formats.V2),
    newest=("V3", memory_formats.V3),
    state_of=memory_state_of,
)


def inspect_state(text: str) -> Inspection:
    """Tell what a text is.

    Raise InputError for one so large that it can only be meant to fill the memory.
    """
    try:
        found = parsed_json(text)
    except GoError as error:
        return Inspection(problem=str(error))
    if not isinstance(found, Members):
        return Inspection(problem=_NO_STATE)
    names = {name.lower() for name, _ in found.pairs}
    if "machinestate" in names:
        return _managed(found, _MEMORY)
    if "defaultcpuset" in names:
        return _by_container_id(found) or _managed(found, _CPU)
    if {"data", "checksum"} <= names:
        return _of_pods(found)
    return Inspection(problem=_NO_STATE)


def inspect_embedded(text: str) -> Inspection:
    """Tell what the older document is that a file of the newest format carries for older kubelets.

    It may be whole where the rest is not; a kubelet that knows the newest format does not look at it. *text*
    is one that ``inspect_state`` takes for the file of the CPU Manager or of the Memory Manager.
    """
    found = parsed_json(text)
    names = {name.lower() for name, _ in found.pairs}
    family = _MEMORY if "machinestate" in names else _CPU
    name, format_ = family.plain
    loaded = decoded(format_.struct, found)
    checksums = (format_.checked(loaded.document),)
    return _filled(Inspection(file_name=family.file_name, format=name, checksums=checksums), loaded, family)


def _managed(found: Json, family: _Family) -> Inspection:
    outer = decoded(family.newest[1].struct, found)
    if family.newest[1].meant(outer.document):
        return _enveloped(outer, family)
    with_pods = decoded(family.with_pods[1].struct, found).document
    has_pods = bool(with_pods["podEntries"]) or family.with_pods[1].checked(with_pods).ok
    name, format_ = family.with_pods if has_pods else family.plain
    loaded = decoded(format_.struct, found)
    return _filled(
        Inspection(file_name=family.file_name, format=name, checksums=(format_.checked(loaded.document),)),
        loaded,
        family,
    )


def _enveloped(outer: Loaded, family: _Family) -> Inspection:
    name, envelope = family.newest
    inner = decoded_text(envelope.data, outer.document["data"])
    embedded = {each.json_name: outer.document[each.json_name] for each in envelope.old.struct.fields}
    differs = any(embedded[each] != inner.document.get(each) for each in embedded if each != "checksum")
    return _filled(
        Inspection(
            file_name=family.file_name,
            format=name,
            checksums=(envelope.old.checked(embedded), envelope.checked(outer.document)),
            embedded_differs=differs and not inner.error,
        ),
        Loaded(inner.document, outer.error or inner.error),
        family,
    )


def _filled(inspection: Inspection, loaded: Loaded, family: _Family) -> Inspection:
    """Add the state that was found, or the problem."""
    if loaded.error:
        return inspection._replace(problem=loaded.error)
    try:
        return inspection._replace(state=family.state_of(loaded.document))
    except (GoError, InputError) as error:
        return inspection._replace(problem=str(error))


def _by_container_id(found: Json) -> Inspection | None:
    """Recognise V1 of the CPU Manager's file by its entries, or by its checksum where it has none."""
    loaded = decoded(cpu_formats.V1.struct, found)
    entries, checked = loaded.document["entries"], cpu_formats.V1.checked(loaded.document)
    if loaded.error or not (entries or checked.ok):
        return None
    as_one_pod = Loaded(loaded.document | {"entries": {"": entries}})
    inspection = _filled(Inspection(file_name=CPU_FILE, format="V1", checksums=(checked,)), as_one_pod, _CPU)
    state = inspection.state
    if not isinstance(state, CPUStateFile):
        return inspection
    return inspection._replace(state=state._replace(entries={}), container_ids=state.entries[""])


def _of_pods(found: Members) -> Inspection:
    outer = decoded(pods_formats.OUTER, found)
    data, written = outer.document["data"], outer.document["checksum"]
    newer = any(name.lower() == "version" and value == "v2" for name, value in found.pairs)
    inspection = Inspection(
        file_name=ALLOCATED_FILE_NAME,
        format="V2" if newer else "V1",
        checksums=(Checked("checksum", written, data_checksum(data)),),
        problem=outer.error,
    )
    if outer.error:
        return inspection
    try:
        return inspection._replace(state=pods_state_of(data, _NEWEST))
    except GoError as error:
        return inspection._replace(problem=str(error))
