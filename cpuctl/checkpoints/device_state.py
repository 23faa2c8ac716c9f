"""``kubelet_internal_checkpoint``: the devices that the device manager has given to containers.

An unreadable file never stops a kubelet: it continues without knowing the assignments. Rule: kubernetes
``pkg/kubelet/cm/devicemanager/checkpoint``. Up to 1.30 the form of kubelets before 1.20 is also read: it has
no NUMA nodes, so its devices are put on node 0.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from cpuctl.checkpoints.formats import CORRUPTED, Checked, fnv1a_32
from cpuctl.checkpoints.model import DeviceEntry, DevicesStateFile, UnreadableState
from cpuctl.checkpoints.reader import StateReader
from cpuctl.errors import InputError
from cpuctl.golang.json_values import Json, Members, go_string, kind_of, parsed_json
from cpuctl.golang.state_types import Decoding, Field, Integer, ListOf, MapOf, Path, Struct, Text, Value
from cpuctl.golang.text import GoError
from cpuctl.records import Record
from cpuctl.state_names import DEVICES_FILE

DIRECTORY = "device-plugins"
"""Its directory below the kubelet's root directory."""
_FLAT_UNTIL = 30
_ENTRIES, _REGISTERED = "PodDeviceEntries", "RegisteredDevices"
_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/\r\n]")


class _Bytes(Record):
    """Bytes: base64 in JSON."""

    name: str = "[]uint8"

    def zero(self) -> Value:
        """Return nil."""
        return None

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Accept a base64 string."""
        if found is None:
            return None
        if not isinstance(found, str):
            to.refuse(kind_of(found), path, self.name)
            return old
        try:
            return base64.b64decode(found.replace("\r", "").replace("\n", ""), validate=True)
        except (binascii.Error, ValueError):
            wrong = _NO_BASE64.search(found)
            to.note(f"illegal base64 data at input byte {wrong.start() if wrong else len(found)}")
            return old

    def shown(self, value: Value) -> str:
        """Show every byte as a number."""
        return "<nil>" if value is None else "[" + " ".join(map(str, value)) + "]"

    def written(self, value: Value) -> str:
        """Write base64."""
        return "null" if value is None else go_string(base64.b64encode(value).decode())


_TEXTS = ListOf("[]string", Text())
_BY_NODE = MapOf("checkpoint.DevicesPerNUMA", _TEXTS, numbered=True, key_type="int64")


def _data(devices: ListOf | MapOf) -> Struct:
    entry = Struct(
        "checkpoint.PodDevicesEntry",
        (
            Field("PodUID", "PodUID", Text()),
            Field("ContainerName", "ContainerName", Text()),
            Field("ResourceName", "ResourceName", Text()),
            Field("DeviceIDs", "DeviceIDs", devices),
            Field("AllocResp", "AllocResp", _Bytes()),
        ),
    )
    return Struct(
        "checkpoint.checkpointData",
        (
            Field(_ENTRIES, _ENTRIES, ListOf("[]checkpoint.PodDevicesEntry", entry)),
            Field(_REGISTERED, _REGISTERED, MapOf("map[string][]string", _TEXTS)),
        ),
    )


class DeviceFormat(Record):
    """One of the two forms: a struct, and a checksum over ``Data``."""

    data: Struct

    @property
    def struct(self) -> Struct:
        """The whole file."""
        checksum = Field("Checksum", "Checksum", Integer("checksum.Checksum"))
        return Struct("checkpoint.Data", (Field("Data", "Data", self.data), checksum))

    def decoded(self, found: Json, *, names_keys: bool = True) -> tuple[Value, str]:
        """Decode as a kubelet does, into existing lists and maps; return also Go's complaint, if any."""
        struct = self.struct
        decoding = Decoding(struct.name, names_keys=names_keys)
        empty = {"Data": {_ENTRIES: [], _REGISTERED: {}}, "Checksum": 0}
        return struct.decode(found, empty, (), decoding), decoding.complaint

    def checked(self, document: Value) -> Checked:
        """Verify the checksum."""
        shown = f"({self.data.name}){self.data.shown(document['Data'])}"
        return Checked("Checksum", document["Checksum"], fnv1a_32(shown))

    def write(self, document: Value) -> str:
        """Write the file with its checksum."""
        return self.struct.written(document | {"Checksum": self.checked(document).right})


BY_NODE, FLAT = DeviceFormat(_data(_BY_NODE)), DeviceFormat(_data(_TEXTS))
"""With the NUMA node of every device (since 1.20), and without."""


def format_of(found: Json) -> DeviceFormat:
    """Distinguish the forms: they differ only if some container has devices."""
    data = _member(found, "data")
    entries = _member(data, _ENTRIES.lower())
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(_member(entry, "deviceids"), list):
            return FLAT
    return BY_NODE


def read_devices_state(text: str, reader: StateReader) -> DevicesStateFile | UnreadableState:
    """Read a file as this kubelet does, which only logs the error.

    Raise InputError for a file so large that it can only be meant to exhaust memory.
    """
    try:
        found = parsed_json(text)
    except InputError as error:
        raise error.within(DEVICES_FILE) from None
    except GoError as error:
        return UnreadableState(str(error))
    newest = _load(found, BY_NODE, reader)
    if isinstance(newest, UnreadableState) and reader.minor <= _FLAT_UNTIL:
        older = _load(found, FLAT, reader)
        return newest if isinstance(older, UnreadableState) else older
    return newest


def devices_of(document: Value) -> DevicesStateFile:
    """Turn a decoded file of either form into a state."""
    data = document["Data"]
    return DevicesStateFile(
        entries=tuple(map(_entry, data[_ENTRIES] or ())),
        registered={name: tuple(devices or ()) for name, devices in (data[_REGISTERED] or {}).items()},
    )


def _load(found: Json, form: DeviceFormat, reader: StateReader) -> DevicesStateFile | UnreadableState:
    document, complaint = form.decoded(found, names_keys=reader.names_keys)
    if complaint:
        return UnreadableState(complaint)
    return devices_of(document) if form.checked(document).ok else UnreadableState(CORRUPTED)


def _entry(entry: Value) -> DeviceEntry:
    devices = entry["DeviceIDs"] or {}
    by_node: Mapping[int, list[str]] = devices if isinstance(devices, dict) else {0: devices}
    return DeviceEntry(
        pod_uid=entry["PodUID"],
        container=entry["ContainerName"],
        resource=entry["ResourceName"],
        devices={node: tuple(names or ()) for node, names in by_node.items()},
    )


def _member(found: Json, name: str) -> Json:
    pairs = found.pairs if isinstance(found, Members) else []
    return next((value for key, value in pairs if key.lower() == name), None)
