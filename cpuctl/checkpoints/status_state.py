"""``pod_status_manager_state``: the record of in-place resizes in kubelets 1.27 to 1.32 with the gate on.

Up to 1.31 it has the requests of containers and the status of each pod's resize, with a checksum over the
values as Go holds them; 1.32 writes the requests and limits as a string of JSON with its checksum, and reads
nothing else. Rule: kubernetes ``pkg/kubelet/status/state``.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.checkpoints.formats import CHECKSUM, CORRUPTED, Format, data_checksum, decoded_text
from cpuctl.checkpoints.model import PodsStateFile, RecordedPod, UnreadableState
from cpuctl.checkpoints.pods_state import AMOUNTS, OUTER, RESOURCES, recorded_resources
from cpuctl.checkpoints.reader import StateReader
from cpuctl.errors import InputError
from cpuctl.golang.state_types import Field, MapOf, Struct, Text, Value
from cpuctl.state_names import STATUS_FILE

LAST_MINOR = 32
"""1.33 neither reads nor removes the file."""
_ENTRIES, _WORDS = "allocationEntries", "resizeStatusEntries"

_REQUESTS = MapOf("map[string]map[string]v1.ResourceList", MapOf("map[string]v1.ResourceList", AMOUNTS))
FLAT = Format(
    struct=Struct(
        "state.PodResourceAllocationCheckpoint",
        (
            Field(_ENTRIES, "AllocationEntries", _REQUESTS, omit_empty=True),
            Field(
                _WORDS,
                "ResizeStatusEntries",
                MapOf("map[string]v1.PodResizeStatus", Text("v1.PodResizeStatus")),
                omit_empty=True,
            ),
            CHECKSUM,
        ),
    ),
    hashed_as=("PodResourceAllocationCheckpoint",),
)
"""The form of kubelets up to 1.31."""
_BY_CONTAINER = MapOf("map[string]v1.ResourceRequirements", RESOURCES)
DATA = Struct(
    "state.PodResourceAllocationInfo",
    (
        Field(
            _ENTRIES,
            "AllocationEntries",
            MapOf("map[string]map[string]v1.ResourceRequirements", _BY_CONTAINER),
            omit_empty=True,
        ),
    ),
)
"""The content of the string in 1.32."""


def read_status_state(text: str, reader: StateReader) -> PodsStateFile | UnreadableState:
    """Read a file as this kubelet does, or return the text of its error.

    Raise InputError for a file so large that it can only be meant to exhaust memory.
    """
    try:
        return _read_flat(text, reader) if reader.minor < LAST_MINOR else _read_data(text, reader)
    except InputError as error:
        raise error.within(STATUS_FILE) from None


def flat_state(document: Value) -> PodsStateFile:
    """Turn a decoded file of kubelets up to 1.31 into a state: it has only requests."""
    return PodsStateFile(
        pods={
            uid: RecordedPod(
                containers={
                    name: recorded_resources({"limits": None, "requests": amounts, "claims": None})
                    for name, amounts in (containers or {}).items()
                }
            )
            for uid, containers in (document[_ENTRIES] or {}).items()
        },
        resizes=dict(document[_WORDS] or {}),
    )


def data_state(document: Value) -> PodsStateFile:
    """Turn the decoded string of 1.32's file into a state."""
    entries: Mapping[str, Value] = document[_ENTRIES] or {}
    return PodsStateFile(
        pods={
            uid: RecordedPod(
                containers={name: recorded_resources(each) for name, each in (containers or {}).items()}
            )
            for uid, containers in entries.items()
        }
    )


def _read_flat(text: str, reader: StateReader) -> PodsStateFile | UnreadableState:
    loaded = decoded_text(FLAT.struct, text, names_keys=reader.names_keys)
    if loaded.error:
        return UnreadableState(loaded.error)
    if not FLAT.checked(loaded.document).ok:
        return UnreadableState(CORRUPTED)
    return flat_state(loaded.document)


def _read_data(text: str, reader: StateReader) -> PodsStateFile | UnreadableState:
    outer = decoded_text(OUTER, text, names_keys=reader.names_keys)
    if outer.error:
        return UnreadableState(outer.error)
    if outer.document["checksum"] != data_checksum(outer.document["data"]):
        return UnreadableState(CORRUPTED)
    inner = decoded_text(DATA, outer.document["data"], names_keys=reader.names_keys)
    if inner.error:
        return UnreadableState(f"failed to get pod resource allocation info: {inner.error}")
    return data_state(inner.document)
