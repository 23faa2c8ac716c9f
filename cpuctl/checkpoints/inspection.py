"""Inspection of state files, for any kubelet: the format, whether checksums are right, and the content.

A kubelet's reading (``read_cpu_state`` and similar) depends on release and gates; this one does not.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from cpuctl.checkpoints import cpu_state, memory_state, pods_state
from cpuctl.checkpoints.cpu_state import cpu_state_of
from cpuctl.checkpoints.formats import Checked, Envelope, Format, Loaded, data_checksum, decoded, decoded_text
from cpuctl.checkpoints.memory_state import memory_state_of
from cpuctl.checkpoints.model import (
    ClaimsStateFile,
    CPUStateFile,
    DevicesStateFile,
    MemoryStateFile,
    PodsStateFile,
)
from cpuctl.checkpoints.pods_state import pods_state_of
from cpuctl.checkpoints.reader import KNOWS_ALL
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.golang.json_values import Json, Members, parsed_json
from cpuctl.golang.state_types import Value
from cpuctl.golang.text import GoError
from cpuctl.records import Record, replace
from cpuctl.state_names import (
    ALLOCATED_FILE,
    CLAIMS_FILE,
    CPU_FILE,
    DEVICES_FILE,
    MEMORY_FILE,
    STATUS_FILE,
)

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import StateFileName

_NO_STATE = "it does not contain any members of a kubelet state file"

State: TypeAlias = CPUStateFile | MemoryStateFile | PodsStateFile | DevicesStateFile | ClaimsStateFile
OTHER_FILES = (STATUS_FILE, DEVICES_FILE, CLAIMS_FILE)
"""Files of a kubelet that belong neither to the CPU or memory manager nor to resizes from 1.33 on."""


class Inspection(Record):
    """A state file.

    ``file_name`` is the usual name of a file with such content, ``format`` ``V1`` to ``V4``; both are empty
    if the text is not a state file. ``problem`` is anything wrong other than the checksums; ``state`` is then
    None. ``container_ids``: V1's CPUs by container id, which a state cannot hold. ``embedded_differs``: the
    older document that the newest formats carry for older kubelets differs from the file. ``resummed`` is the
    file with the right checksum if no reader may change the content: empty for the files that releases
    convert.
    """

    file_name: 'StateFileName | Literal[""]' = ""
    format: str = ""
    checksums: tuple[Checked, ...] = ()
    state: State | None = None
    container_ids: Mapping[str, CPUSet] = {}
    embedded_differs: bool = False
    problem: str = ""
    resummed: str = ""


class _Family(Record):
    """The formats of one manager's file from the first that has pods and containers by name."""

    file_name: "StateFileName"
    plain: tuple[str, Format]
    with_pods: tuple[str, Format]
    newest: tuple[str, Envelope]
    state_of: Callable[[Value], State]


_CPU = _Family(
    file_name=CPU_FILE,
    plain=("V2", cpu_state.V2),
    with_pods=("V3", cpu_state.V3_FROM_1_37),
    newest=("V4", cpu_state.V4),
    state_of=partial(cpu_state_of, later=True),
)
_MEMORY = _Family(
    file_name=MEMORY_FILE,
    plain=("V1", memory_state.V1),
    with_pods=("V2", memory_state.V2),
    newest=("V3", memory_state.V3),
    state_of=memory_state_of,
)


def inspect_state(text: str, file_name: str = "") -> Inspection:
    """Identify a text; *file_name* is the name under which it was found, if that is a state file's.

    Raise InputError for a file so large that it can only be meant to exhaust memory.
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
    return _of_others(found, names, file_name)


def _of_others(found: Members, names: set[str], file_name: str) -> Inspection:
    """Recognise a file by its name or, without one, by its content."""
    data = next((value for name, value in found.pairs if name.lower() == "data"), None)
    if file_name == DEVICES_FILE or isinstance(data, Members):
        return _of_devices(found)
    listed = any(name.lower() == "entries" and isinstance(value, list) for name, value in found.pairs)
    if file_name == CLAIMS_FILE or listed or (isinstance(data, str) and "ClaimInfoStateList" in data):
        return _of_claims(found, string="data" in names)
    flat = {"allocationentries", "resizestatusentries"} & names
    if file_name == STATUS_FILE or flat or (isinstance(data, str) and "allocationEntries" in data):
        return _of_status(found, string="data" in names)
    return _of_pods(found) if {"data", "checksum"} <= names else Inspection(problem=_NO_STATE)


def inspect_embedded(text: str) -> Inspection:
    """Inspect the older document that a file of the newest format carries for older kubelets.

    It may be intact when the rest is not; a kubelet that knows the newest format ignores it. *text* is one
    that ``inspect_state`` identifies as a file of the CPU Manager or of the Memory Manager.
    """
    found = parsed_json(text)
    names = {name.lower() for name, _ in found.pairs}
    family = _MEMORY if "machinestate" in names else _CPU
    name, format_ = family.plain
    loaded = decoded(format_.struct, found)
    checksums = (format_.checked(loaded.document),)
    return _filled(Inspection(file_name=family.file_name, format=name, checksums=checksums), loaded, family)


def readable_part(text: str, found: Inspection) -> Inspection | None:
    """Return the part of a manager's file that has a state: the one *found*, or its copy for older kubelets.

    The newest part may have a wrong checksum, the copy must be intact; None if there is neither.
    """
    if found.state is not None:
        return found
    older = inspect_embedded(text) if found.file_name else found
    return older if older.state is not None and all(each.ok for each in older.checksums) else None


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
    """Add the state found, or the problem."""
    if loaded.error:
        return replace(inspection, problem=loaded.error)
    try:
        return replace(inspection, state=family.state_of(loaded.document))
    except (GoError, InputError) as error:
        return replace(inspection, problem=str(error))


def _by_container_id(found: Json) -> Inspection | None:
    """Recognise V1 of the CPU Manager's file by its entries, or by its checksum if it has none."""
    loaded = decoded(cpu_state.V1.struct, found)
    entries, checked = loaded.document["entries"], cpu_state.V1.checked(loaded.document)
    if loaded.error or not (entries or checked.ok):
        return None
    as_one_pod = Loaded(loaded.document | {"entries": {"": entries}})
    inspection = _filled(Inspection(file_name=CPU_FILE, format="V1", checksums=(checked,)), as_one_pod, _CPU)
    state = inspection.state
    if not isinstance(state, CPUStateFile):
        return inspection
    return replace(inspection, state=replace(state, entries={}), container_ids=state.entries[""])


def _of_pods(found: Members) -> Inspection:
    outer = decoded(pods_state.OUTER, found)
    data, written = outer.document["data"], outer.document["checksum"]
    newer = any(name.lower() == "version" and value == "v2" for name, value in found.pairs)
    inspection = Inspection(
        file_name=ALLOCATED_FILE,
        format="V2" if newer else "V1",
        checksums=(Checked("checksum", written, data_checksum(data)),),
        problem=outer.error,
    )
    if outer.error:
        return inspection
    try:
        return replace(inspection, state=pods_state_of(data, KNOWS_ALL))
    except GoError as error:
        return replace(inspection, problem=str(error))


def _of_status(found: Members, *, string: bool) -> Inspection:
    from cpuctl.checkpoints import status_state

    if not string:
        loaded = decoded(status_state.FLAT.struct, found)
        flat = Inspection(
            file_name=STATUS_FILE,
            format="V1",
            checksums=(status_state.FLAT.checked(loaded.document),),
            problem=loaded.error,
        )
        if loaded.error:
            return flat
        return replace(
            flat,
            state=status_state.flat_state(loaded.document),
            resummed=status_state.FLAT.write(loaded.document),
        )
    outer = decoded(pods_state.OUTER, found)
    data = outer.document["data"]
    right = data_checksum(data)
    inner = decoded_text(status_state.DATA, data)
    inspection = Inspection(
        file_name=STATUS_FILE,
        format="V2",
        checksums=(Checked("checksum", outer.document["checksum"], right),),
        problem=outer.error or inner.error,
    )
    if inspection.problem:
        return inspection
    return replace(
        inspection,
        state=status_state.data_state(inner.document),
        resummed=pods_state.OUTER.written({"data": data, "checksum": right}),
    )


def _of_devices(found: Members) -> Inspection:
    from cpuctl.checkpoints import device_state

    form = device_state.format_of(found)
    document, problem = form.decoded(found)
    inspection = Inspection(
        file_name=DEVICES_FILE,
        format="V1" if form is device_state.FLAT else "V2",
        checksums=(form.checked(document),),
        problem=problem,
    )
    if problem:
        return inspection
    return replace(inspection, state=device_state.devices_of(document), resummed=form.write(document))


def _of_claims(found: Members, *, string: bool) -> Inspection:
    from cpuctl.checkpoints import claim_state

    if not string:
        return _of_old_claims(found)
    outer = decoded(claim_state.OUTER, found)
    inner = decoded_text(claim_state.DATA, outer.document["Data"])
    inspection = Inspection(
        file_name=CLAIMS_FILE,
        format="V4",
        checksums=(claim_state.outer_checked(outer.document),),
        problem=outer.error or inner.error,
    )
    if inspection.problem:
        return inspection
    return replace(
        inspection,
        state=claim_state.string_claims(inner.document),
        resummed=claim_state.write_string(outer.document["Data"]),
    )


def _of_old_claims(found: Members) -> Inspection:
    from cpuctl.checkpoints import claim_state

    loaded = decoded(claim_state.V1_30.struct, found)
    document, inspection = loaded.document, Inspection(file_name=CLAIMS_FILE, problem=loaded.error)
    if loaded.error:
        return inspection
    if not claim_state.is_understood(document):
        why = "it has structured parameters (1.30, alpha), whose checksum cpuctl cannot compute"
        return replace(inspection, format="V3", problem=why)
    forms = (("V3", claim_state.V1_30), ("V2", claim_state.V1_28), ("V1", claim_state.V1_27))
    name, form = next((each for each in forms if each[1].checked(document).ok), forms[0])
    return replace(
        inspection,
        format=name,
        checksums=(form.checked(document),),
        state=claim_state.old_claims(document),
        resummed=form.write(document),
    )
