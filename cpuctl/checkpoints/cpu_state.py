"""``cpu_manager_state``: its formats, and how a kubelet reads (trying one after another) and writes it.

These files are internals of the kubelet (``pkg/kubelet/cm/cpumanager/state``), bound to its version: V1 up to
1.17, V2 up to 1.35 and with PodLevelResourceManagers off in 1.36, V3 with it on in 1.36, V4 from 1.37 on.
Rule: ``restoreState`` there. Up to 1.35 V1, then V2; 1.36 (V3,) V2, then V1; from 1.37 on V4, V3, V2. The
error reported is that of the last attempt.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.checkpoints.formats import CHECKSUM, Format, Loaded, envelope
from cpuctl.checkpoints.model import DRAIN, CPUStateFile, UnreadableState
from cpuctl.checkpoints.reader import DEFAULT_READER, StateReader
from cpuctl.cpuset import CPUSet, CPUSetLimitError
from cpuctl.errors import InputError
from cpuctl.golang.json_values import Json, parsed_json
from cpuctl.golang.state_types import Decoding, Field, MapOf, Path, Struct, Text, Value
from cpuctl.golang.text import GoError, quoted
from cpuctl.records import Record, replace
from cpuctl.state_names import CPU_FILE

_LEGACY = "CPUManagerCheckpoint"
_POD_ENTRY_JSON = Struct("state.podEntryJSON", (Field("cpuSet", "CPUSet", Text(), omit_empty=True),))


class _PodEntry(Record):
    """A pod's CPUs: a list in JSON, but a set to the checksum."""

    name: str = "state.PodEntry"

    def zero(self) -> Value:
        """Return the empty set."""
        return CPUSet()

    def decode(self, found: Json, old: Value, _path: Path, to: Decoding) -> Value:
        """Read it as the type's own reader does: its error does not identify the pod."""
        own = Decoding(_POD_ENTRY_JSON.name, names_keys=to.names_keys)
        entry = _POD_ENTRY_JSON.decode(found, _POD_ENTRY_JSON.zero(), (), own)
        try:
            cpus = CPUSet.parse(entry["cpuSet"])
        except CPUSetLimitError as error:
            # A bound of ours, not a mistake that a kubelet would find.
            raise InputError(str(error)) from None
        except GoError as error:
            own.note(f"failed to parse cpuset: {error}")
            cpus = old
        to.note(own.complaint)
        to.spend(cpus.mask.bit_length())
        return old if own.complaint else cpus

    def shown(self, value: Value) -> str:
        """Show every CPU."""
        members = " ".join(f"{cpu}:{{}}" for cpu in value)
        return f"{{CPUSet:(cpuset.CPUSet){{elems:(map[int]struct {{}})map[{members}]}}}}"

    def written(self, value: Value) -> str:
        """Write the list."""
        return _POD_ENTRY_JSON.written({"cpuSet": str(value)})


_OF_CONTAINERS = "map[string]map[string]"
_BASE = (
    Field("policyName", "PolicyName", Text()),
    Field("defaultCpuSet", "DefaultCPUSet", Text()),
    Field(
        "entries",
        "Entries",
        MapOf(f"{_OF_CONTAINERS}string", MapOf("map[string]string", Text())),
        omit_empty=True,
    ),
)
_POD_ENTRIES = Field(
    "podEntries", "PodEntries", MapOf("state.PodCPUAssignments", _PodEntry()), omit_empty=True
)
# Builds of the proposal (KEP-5554) before the field got its name wrote "originals" of "original".
_PROMISED = Struct(
    "state.ContainerCPUs",
    (Field("baseline", "Baseline", Text()), Field("original", "Original", Text(), omit_empty=True)),
)
_PROMISES = MapOf(f"{_OF_CONTAINERS}state.ContainerCPUs", MapOf("map[string]state.ContainerCPUs", _PROMISED))
_V4_DATA = Struct(
    "state.CPUManagerCheckpointData",
    (
        *_BASE,
        _POD_ENTRIES,
        Field("baselines", "Baselines", _PROMISES, omit_empty=True),
        Field("originals", "Originals", _PROMISES, omit_empty=True),
    ),
)

_V1_ENTRIES = Field("entries", "Entries", MapOf("map[string]string", Text()), omit_empty=True)
_V1_STRUCT = Struct("state.CPUManagerCheckpointV1", (*_BASE[:2], _V1_ENTRIES, CHECKSUM))
_V2_FIELDS = (*_BASE, CHECKSUM)
_V2_STRUCT = Struct("state.CPUManagerCheckpointV2", _V2_FIELDS)
_V3_FIELDS = (*_BASE, _POD_ENTRIES, CHECKSUM)

V1 = Format(struct=_V1_STRUCT, hashed_as=(_LEGACY,), zero_sum=True)
"""CPUs by container id; 1.37 does not read it any more."""
BEFORE_1_36 = Format(struct=Struct(f"state.{_LEGACY}", _V2_FIELDS), hashed_as=(_LEGACY,), zero_sum=True)
"""V2 while it was the newest format."""
V2 = Format(struct=_V2_STRUCT, hashed_as=(_LEGACY, "CPUManagerCheckpointV2"), zero_sum=True)
"""CPUs by pod UID and container name."""
V2_REPLACED = Format(struct=_V2_STRUCT, hashed_as=(_LEGACY,), zero_sum=True)
"""V2 with PodLevelResourceManagers on: its checksum is also accepted under the former name."""
V3 = Format(struct=Struct(f"state.{_LEGACY}", _V3_FIELDS), hashed_as=(_LEGACY,))
"""V2 plus the CPUs that pods hold as a whole (KEP-5526)."""
V3_FROM_1_37 = Format(
    struct=Struct("state.CPUManagerCheckpointV3", _V3_FIELDS),
    hashed_as=(_LEGACY, "CPUManagerCheckpointV3"),
)
"""V3 as an older format: its checksum is accepted under both names."""
V4 = envelope(V2_REPLACED, _V4_DATA, _LEGACY, "cpu")
"""V2 for older kubelets and next to it the full content, with baselines (kubernetes pull request 139102)."""


MAX_BITS = 64 << 23
"""The total of all sets, each up to its highest CPU: 64 MiB."""

_Assigned = dict[str, dict[str, CPUSet]]


def read_cpu_state(text: str, reader: StateReader = DEFAULT_READER) -> CPUStateFile | UnreadableState:
    """Read a file as this kubelet does, or return the text of its error.

    Raise InputError for a file so large that it can only be meant to exhaust memory.
    """
    try:
        loaded = _load(parsed_json(text), reader)
        error = loaded.error or reader.objection(loaded.document["policyName"])
        return UnreadableState(error) if error else _as_read(loaded.document, reader)
    except GoError as error:
        return UnreadableState(str(error))
    except InputError as error:
        raise error.within(CPU_FILE) from None


def write_cpu_state(state: CPUStateFile, writer: StateReader = DEFAULT_READER) -> str:
    """Return the file's text exactly as this kubelet writes it; parts that its gates exclude are lost."""
    document = cpu_document(state)
    if writer.minor < 37:
        return V3.write(document) if writer.keeps_pods else V2.write(document)
    return V4.write(_limited(document, writer))


def cpu_document(state: CPUStateFile) -> Value:
    """Turn a state into the document from which every format from V2 on is written."""
    return {
        "policyName": state.policy_name,
        "defaultCpuSet": str(state.default_cpu_set),
        "entries": {
            uid: {name: str(cpus) for name, cpus in containers.items()}
            for uid, containers in state.entries.items()
        },
        "podEntries": dict(state.pod_entries),
        "baselines": {
            uid: {name: {"baseline": str(cpus), "original": ""} for name, cpus in containers.items()}
            for uid, containers in state.baselines.items()
        },
        "originals": {},
    }


def cpu_state_of(document: Value, *, later: bool) -> CPUStateFile:
    """Turn a document with all its content into a state; *later*: with the messages of 1.37 and later.

    Raise GoError with the kubelet's text if a list of CPUs is invalid, InputError for CPU sets beyond
    ``MAX_BITS`` or with CPUs that no machine has.
    """
    pool = _pool(document["defaultCpuSet"], "CPU set" if later else "cpu set")
    sets = _Sets(pool.mask.bit_length())
    return CPUStateFile(
        policy_name=document["policyName"],
        default_cpu_set=pool,
        entries=sets.of(document["entries"] or {}, "cpuset"),
        pod_entries=document.get("podEntries") or {},
        baselines=sets.of(_guarantees(document), "baseline cpuset"),
    )


def _as_read(document: Value, reader: StateReader) -> CPUStateFile:
    state = cpu_state_of(_limited(document, reader), later=reader.minor >= 37)
    # If the file has no baselines, containers may not shrink below their current CPUs (KEP-5554).
    if reader.keeps_baselines and not state.baselines:
        return replace(state, baselines=state.entries)
    return state


def _limited(document: Value, kubelet: StateReader) -> Value:
    """Leave out what this kubelet ignores."""
    pods = {} if kubelet.keeps_pods else {"podEntries": None}
    baselines = {} if kubelet.keeps_baselines else {"baselines": None, "originals": None}
    return document | pods | baselines


def _guarantees(document: Value) -> dict[str, dict[str, str]]:
    """Return the baselines, under their name or the originally proposed one."""
    found = document.get("baselines") or document.get("originals") or {}
    return {
        uid: {name: cpus["baseline"] or cpus["original"] for name, cpus in (containers or {}).items()}
        for uid, containers in found.items()
    }


def _cpus(text: str) -> CPUSet:
    try:
        return CPUSet.parse(text)
    except CPUSetLimitError as error:
        # A bound of ours, not a mistake that a kubelet would find.
        raise InputError(str(error), hint=DRAIN) from None


def _pool(text: str, what: str) -> CPUSet:
    try:
        return _cpus(text)
    except GoError as error:
        raise GoError(f"could not parse default {what} {quoted(text)}: {error}") from None


class _Sets:
    """Reads the CPU sets of a file, whose total size is bounded."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def of(self, entries: Mapping[str, Mapping[str, str] | None], what: str) -> _Assigned:
        return {
            uid: {name: self._set(text, what, name, uid) for name, text in (containers or {}).items()}
            for uid, containers in entries.items()
        }

    def _set(self, text: str, what: str, name: str, uid: str) -> CPUSet:
        try:
            cpus = _cpus(text)
        except GoError as error:
            where = f"for container {quoted(name)} in pod {quoted(uid)}"
            raise GoError(f"could not parse {what} {quoted(text)} {where}: {error}") from None
        self.bits += cpus.mask.bit_length()
        if self.bits > MAX_BITS:
            raise InputError(f"holds more than {MAX_BITS >> 23} MiB of CPU sets")
        return cpus


def _load(found: Json, reader: StateReader) -> Loaded:
    """Load a file's content as a document with those fields of V4's data that were in the file.

    ``error`` is set if it is not valid in any format of this kubelet.
    """
    if reader.minor >= 37:
        return _load_v4(found, reader)
    if reader.minor < 36:
        return _load_before_1_36(found, reader)
    return _load_v3(found, reader) if reader.keeps_pods else _load_v2(found, reader)


def _load_v4(found: Json, reader: StateReader) -> Loaded:
    loaded = V4.load(found, reader)
    if not loaded.error:
        return loaded
    if V4.meant(loaded.document):
        return replace(loaded, error=f"could not load v4 checkpoint: {loaded.error}")
    older = V3_FROM_1_37.load(found, reader)
    return older if not older.error else _v2(reader).load(found, reader)


def _load_v3(found: Json, reader: StateReader) -> Loaded:
    loaded = V3.load(found, reader)
    if not loaded.error:
        return loaded
    older = _load_v2(found, reader)
    if older.error:
        return older
    # The result of a failed attempt is not cleared: pods keep the CPUs of a file whose checksum was wrong.
    return Loaded(loaded.document | {name: value for name, value in older.document.items() if value})


def _load_v2(found: Json, reader: StateReader) -> Loaded:
    loaded = _v2(reader).load(found, reader)
    if not loaded.error:
        return loaded
    oldest = V1.load(found, reader)
    return oldest if oldest.error else _migrated(oldest, reader, "failed to migrate checkpoint from v1 to v2")


def _load_before_1_36(found: Json, reader: StateReader) -> Loaded:
    loaded = V1.load(found, reader)
    if loaded.error:
        return BEFORE_1_36.load(found, reader)
    return _migrated(loaded, reader, "error migrating v1 checkpoint state to v2 checkpoint state")


def _v2(reader: StateReader) -> Format:
    return V2_REPLACED if reader.pod_level_managers else V2


def _migrated(oldest: Loaded, reader: StateReader, failed: str) -> Loaded:
    """Identify containers by pod and name instead of id."""
    entries: dict[str, dict[str, str]] = {}
    for container_id, cpus in (oldest.document["entries"] or {}).items():
        named = reader.initial_containers.get(container_id)
        if named is None:
            missing = f"containerID '{container_id}' not found in initial containers list"
            return replace(oldest, error=f"{failed}: {missing}")
        entries.setdefault(named.pod_uid, {})[named.container] = cpus
    return Loaded(oldest.document | {"entries": entries})
