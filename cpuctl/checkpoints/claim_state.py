"""``dra_manager_state``: the resource claims that the DRA manager has prepared, and their pods.

Read only with the gate DynamicResourceAllocation. 1.27 has no resource handles, 1.28 adds them, 1.30 extends
them; all three have a checksum over the values as Go holds them. 1.31 starts over: a string of JSON and its
CRC. No release converts another one's file. Rule: kubernetes ``pkg/kubelet/cm/dra/state``.
"""

from __future__ import annotations

import zlib

from cpuctl.checkpoints.formats import CHECKSUM, CORRUPTED, Checked, Format, decoded, decoded_text
from cpuctl.checkpoints.model import ClaimEntry, ClaimsStateFile, UnreadableState
from cpuctl.checkpoints.reader import StateReader
from cpuctl.errors import InputError
from cpuctl.golang.json_values import Json, parsed_json
from cpuctl.golang.state_types import Decoding, Field, Integer, ListOf, MapOf, Path, Struct, Text, Value
from cpuctl.golang.text import GoError
from cpuctl.records import Record
from cpuctl.state_names import CLAIMS_FILE

_STRING_SINCE, _HANDLES_SINCE, _STRUCTURED_SINCE = 31, 28, 30
_SHORT_SINCE = 34
_ENTRIES, _HANDLES = "entries", "ResourceHandles"


class _Nil(Record):
    """A pointer that is nil in every file that is understood here: any other value is kept as it is."""

    name: str

    def zero(self) -> Value:
        """Return nil."""
        return None

    def decode(self, found: Json, _old: Value, _path: Path, _to: Decoding) -> Value:
        """Keep the value."""
        return found

    def shown(self, _value: Value) -> str:
        """Show nil."""
        return "<nil>"

    def written(self, _value: Value) -> str:
        """Write nil."""
        return "null"


def _texts(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, name, Text("types.UID" if name == "ClaimUID" else "string")) for name in names)


_LISTS = MapOf("map[string][]string", ListOf("[]string", Text()))
_NAMES = MapOf("sets.Set[string]", Struct("sets.Empty", ()))
_HEAD = (
    *_texts("DriverName", "ClassName", "ClaimUID", "ClaimName", "Namespace"),
    Field("PodUIDs", "PodUIDs", _NAMES),
)
_CDI = Field("CDIDevices", "CDIDevices", _LISTS)
_HANDLE = (
    Field("driverName", "DriverName", Text(), omit_empty=True),
    Field("data", "Data", Text(), omit_empty=True),
)
_STRUCTURED = Field(
    "structuredData", "StructuredData", _Nil("*v1alpha2.StructuredResourceHandle"), omit_empty=True
)


def _old(*more: Field) -> Format:
    entry = Struct("state.ClaimInfoState", (*_HEAD, *more, _CDI))
    return Format(
        struct=Struct(
            "state.DRAManagerCheckpoint",
            (
                Field("version", "Version", Text()),
                Field("entries", "Entries", ListOf("state.ClaimInfoStateList", entry), omit_empty=True),
                CHECKSUM,
            ),
        ),
        hashed_as=("DRAManagerCheckpoint",),
    )


def _handles(*fields: Field) -> Field:
    item = Struct("v1alpha2.ResourceHandle", fields)
    return Field("ResourceHandles", "ResourceHandles", ListOf("[]v1alpha2.ResourceHandle", item))


V1_27, V1_28, V1_30 = _old(), _old(_handles(*_HANDLE)), _old(_handles(*_HANDLE, _STRUCTURED))
"""The forms up to 1.30, each named after the first release that writes it."""

_DEVICE = Struct(
    "state.Device",
    (
        Field("PoolName", "PoolName", Text()),
        Field("DeviceName", "DeviceName", Text()),
        Field("ShareID", "ShareID", Text("*types.UID")),  # from 1.35 on
        Field("RequestNames", "RequestNames", ListOf("[]string", Text())),
        Field("CDIDeviceIDs", "CDIDeviceIDs", ListOf("[]string", Text())),
    ),
)
_DRIVER = Struct("state.DriverState", (Field("Devices", "Devices", ListOf("[]state.Device", _DEVICE)),))
_CLAIM = Struct(
    "state.ClaimInfoState",
    (
        *_texts("ClaimUID", "ClaimName", "Namespace"),
        Field("PodUIDs", "PodUIDs", _NAMES),
        Field("DriverState", "DriverState", MapOf("map[string]state.DriverState", _DRIVER)),
    ),
)
DATA = Struct(
    "state.CheckpointData",
    (
        Field("kind", "Kind", Text(), omit_empty=True),
        Field("apiVersion", "APIVersion", Text(), omit_empty=True),
        Field("ClaimInfoStateList", "ClaimInfoStateList", ListOf("state.ClaimInfoStateList", _CLAIM)),
    ),
)
OUTER = Struct(
    "state.Checkpoint", (Field("Data", "Data", Text()), Field("Checksum", "Checksum", Integer("uint32")))
)
"""From 1.31 on: the string and its checksum."""


def outer_checked(document: Value) -> Checked:
    """Verify the checksum of the string."""
    return Checked("Checksum", document["Checksum"], zlib.crc32(document["Data"].encode()))


def write_string(data: str) -> str:
    """Write the file of 1.31 and later around its string."""
    return OUTER.written({"Data": data, "Checksum": zlib.crc32(data.encode())})


def read_claims_state(text: str, reader: StateReader) -> ClaimsStateFile | UnreadableState:
    """Read a file as this kubelet does, or return the text of its error.

    Raise InputError for a file so large that it can only be meant to exhaust memory.
    """
    try:
        found = parsed_json(text)
    except InputError as error:
        raise error.within(CLAIMS_FILE) from None
    except GoError as error:
        return _unreadable(str(error), reader)
    return _read_string(found, reader) if reader.minor >= _STRING_SINCE else _read_old(found, reader)


def old_form(document: Value, minor: int = _STRING_SINCE - 1) -> Format | None:
    """Return the form in which a kubelet up to 1.*minor* accepts the checksum; None if it accepts none.

    *document* is decoded as ``V1_30``. 1.28 and later also try the form without handles.
    """
    forms = [V1_27]
    if minor >= _HANDLES_SINCE:
        forms.insert(0, V1_30 if minor >= _STRUCTURED_SINCE else V1_28)
    return next((form for form in forms if form.checked(document).ok), None)


def is_understood(document: Value) -> bool:
    """Return whether it is known how the checksum covers everything in a file of up to 1.30."""
    return not any(
        handle["structuredData"] for entry in document[_ENTRIES] or () for handle in entry[_HANDLES] or ()
    )


def old_claims(document: Value) -> ClaimsStateFile:
    """Turn a decoded file of up to 1.30 into a state; its devices are known by their CDI names."""
    return ClaimsStateFile(
        claims=tuple(
            _claim(
                entry, tuple(name for names in (entry["CDIDevices"] or {}).values() for name in names or ())
            )
            for entry in document[_ENTRIES] or ()
        )
    )


def string_claims(document: Value) -> ClaimsStateFile:
    """Turn the decoded string of 1.31 and later into a state; devices are ``driver/pool/device``."""
    return ClaimsStateFile(
        claims=tuple(
            _claim(
                entry,
                tuple(
                    f"{driver}/{device['PoolName']}/{device['DeviceName']}"
                    for driver, state in sorted((entry["DriverState"] or {}).items())
                    for device in state["Devices"] or ()
                ),
            )
            for entry in document["ClaimInfoStateList"] or ()
        )
    )


def _claim(entry: Value, devices: tuple[str, ...]) -> ClaimEntry:
    return ClaimEntry(
        uid=entry["ClaimUID"],
        name=entry["ClaimName"],
        namespace=entry["Namespace"],
        pod_uids=tuple(sorted(entry["PodUIDs"] or ())),
        devices=devices,
    )


def _read_old(found: Json, reader: StateReader) -> ClaimsStateFile | UnreadableState:
    known = V1_27 if reader.minor < _HANDLES_SINCE else V1_28 if reader.minor < _STRUCTURED_SINCE else V1_30
    loaded = decoded(known.struct, found, names_keys=reader.names_keys)
    if loaded.error:
        return _unreadable(loaded.error, reader)
    whole = decoded(V1_30.struct, found).document
    return old_claims(whole) if old_form(whole, reader.minor) else _unreadable(CORRUPTED, reader)


def _read_string(found: Json, reader: StateReader) -> ClaimsStateFile | UnreadableState:
    outer = decoded(OUTER, found, names_keys=reader.names_keys)
    if outer.error:
        return _unreadable(outer.error, reader)
    if not outer_checked(outer.document).ok:
        return _unreadable(CORRUPTED, reader)
    inner = decoded_text(DATA, outer.document["Data"], names_keys=reader.names_keys)
    if not inner.error:
        return string_claims(inner.document)
    return UnreadableState(f"{_prefix(reader, 'GetEntries() on checkpoint')}: {inner.error}")


def _unreadable(error: str, reader: StateReader) -> UnreadableState:
    """Write the kubelet's own message around the reason why the file cannot be loaded."""
    prefix = _prefix(reader, "GetOrCreate() on checkpoint state")
    return UnreadableState(f"{prefix}: failed to get checkpoint {CLAIMS_FILE}: {error}")


def _prefix(reader: StateReader, call: str) -> str:
    if reader.minor >= _SHORT_SINCE:
        return f"create ResourceClaim cache: {call}"
    return f"failed to create claimInfo cache: error calling {call}"
