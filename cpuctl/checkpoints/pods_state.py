"""``allocated_pods_state`` and ``actuated_pods_state``, as a kubelet reads and writes them.

Kubelets from 1.33 on keep them for in-place resize (KEP-1287): the resources promised to pods, and those that
the runtime has accepted.

The format (``pkg/kubelet/allocation/state``) is a string of JSON and its checksum. Later releases have more
fields of a pod; the kubelet writes all that it knows, null for those without a value.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.checkpoints.formats import CHECKSUM, CORRUPTED, data_checksum, decoded_text
from cpuctl.checkpoints.model import PodsStateFile, RecordedPod, RecordedResources, UnreadableState
from cpuctl.checkpoints.reader import DEFAULT_READER, StateReader
from cpuctl.errors import InputError
from cpuctl.golang.json_values import Json, Number, go_string, kind_of
from cpuctl.golang.state_types import Decoding, Field, ListOf, MapOf, Path, Struct, Text, Value
from cpuctl.golang.text import GoError
from cpuctl.quantity import Quantity
from cpuctl.records import Record
from cpuctl.state_names import ALLOCATED_FILE

_WORD = (1 << 64) - 1


class _QuantityType(Record):
    """A quantity, which has its own reader."""

    name: str = "resource.Quantity"

    def zero(self) -> Value:
        """Return 0."""
        return Quantity()

    def decode(self, found: Json, _old: Value, _path: Path, to: Decoding) -> Value:
        """Read a string or a number; complaints have no path."""
        if found is None:
            return Quantity()
        text = (
            found.text if isinstance(found, Number) else found if isinstance(found, str) else kind_of(found)
        )
        try:
            return Quantity.parse(text.strip())
        except GoError as error:
            to.note(str(error))
            return Quantity()

    def shown(self, value: Value) -> str:
        """Show the fields: a 64-bit amount or a decimal, the cached text, the notation."""
        # The kubelet caches the text of amounts written as "0", but not of other zeros.
        kept = value.verbatim or ("0" if value.short and not (value.unscaled or value.exponent) else "")
        short = (value.unscaled, value.exponent) if value.short else (0, 0)
        decimal = "<nil>" if value.short else _decimal(value.unscaled, -value.exponent)
        return (
            f"{{i:(resource.int64Amount){{value:(int64){short[0]} scale:(resource.Scale){short[1]}}} "
            f"d:(resource.infDecAmount){{Dec:(*inf.Dec){decimal}}} s:(string){kept} "
            f"Format:(resource.Format){value.format}}}"
        )

    def written(self, value: Value) -> str:
        """Write a JSON string."""
        return go_string(str(value))


def _decimal(unscaled: int, scale: int) -> str:
    words, left = [], abs(unscaled)
    while left:
        words.append(str(left & _WORD))
        left >>= 64
    number = f"[{' '.join(words)}]" if words else "<nil>"
    negative = str(unscaled < 0).lower()
    return f"{{unscaled:(big.Int){{neg:(bool){negative} abs:(big.nat){number}}} scale:(inf.Scale){scale}}}"


AMOUNTS = MapOf("v1.ResourceList", _QuantityType())
_CLAIM = Struct(
    "v1.ResourceClaim", (Field("name", "Name", Text()), Field("request", "Request", Text(), omit_empty=True))
)
RESOURCES = Struct(
    "v1.ResourceRequirements",
    (
        Field("limits", "Limits", AMOUNTS, omit_empty=True),
        Field("requests", "Requests", AMOUNTS, omit_empty=True),
        Field("claims", "Claims", ListOf("[]v1.ResourceClaim", _CLAIM), omit_empty=True),
    ),
)


class _Pointer(Record):
    """A pointer to a struct, nil or not."""

    to: Struct

    @property
    def name(self) -> str:
        """Go's name of the type."""
        return f"*{self.to.name}"

    def zero(self) -> Value:
        """Return nil."""
        return None

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Decode as the struct does; null makes it nil."""
        return None if found is None else self.to.decode(found, old or self.to.zero(), path, to)

    def shown(self, value: Value) -> str:
        """Show the struct."""
        return "<nil>" if value is None else self.to.shown(value)

    def written(self, value: Value) -> str:
        """Write the struct."""
        return "null" if value is None else self.to.written(value)


_BY_CONTAINER = MapOf("map[string]v1.ResourceRequirements", RESOURCES)
_BY_VOLUME = MapOf("map[string]*resource.Quantity", _QuantityType(), pointers=True)
_POD_FIELDS = (
    Field("ContainerResources", "ContainerResources", _BY_CONTAINER),
    Field("PodLevelResources", "PodLevelResources", _Pointer(RESOURCES)),  # from 1.35 on (KEP-5419)
    Field("EmptyDirVolumeLimits", "EmptyDirVolumeLimits", _BY_VOLUME),  # from 1.37 on (KEP-6030)
)


def data_struct(minor: int) -> Struct:
    """Return the type of ``data`` in a kubelet 1.*minor*, without the fields that it does not know."""
    known = _POD_FIELDS[: 1 if minor < 35 else 2 if minor < 37 else None]
    entries = MapOf("state.PodResourceInfoMap", Struct("state.PodResourceInfo", known))
    return Struct("state.PodResourceCheckpointInfo", (Field("entries", "Entries", entries, omit_empty=True),))


OUTER = Struct("state.Checkpoint", (Field("data", "Data", Text()), CHECKSUM))
"""The file itself; the checksum is that of ``data`` as it is."""


def read_pods_state(text: str, reader: StateReader = DEFAULT_READER) -> PodsStateFile | UnreadableState:
    """Read a file as this kubelet does, or return the text of its error.

    Raise InputError for a file so large that it can only be meant to exhaust memory.
    """
    try:
        return _read(text, reader)
    except InputError as error:
        raise error.within(ALLOCATED_FILE) from None


def write_pods_state(state: PodsStateFile, writer: StateReader = DEFAULT_READER) -> str:
    """Return the file's text exactly as this kubelet writes it; fields that it does not know are lost."""
    document = {"entries": {uid: _pod_document(pod) for uid, pod in state.pods.items()}}
    data = data_struct(writer.minor).written(document)
    return OUTER.written({"data": data, "checksum": data_checksum(data)})


def pods_state_of(data: str, reader: StateReader) -> PodsStateFile:
    """Turn a file's ``data`` into a state; raise GoError with Go's complaint about it."""
    loaded = decoded_text(data_struct(reader.minor), data, names_keys=reader.names_keys)
    if loaded.error:
        raise GoError(loaded.error)
    return PodsStateFile(pods={uid: _pod(pod) for uid, pod in (loaded.document["entries"] or {}).items()})


def _read(text: str, reader: StateReader) -> PodsStateFile | UnreadableState:
    outer = decoded_text(OUTER, text, names_keys=reader.names_keys)
    if outer.error:
        return UnreadableState(outer.error)
    data = outer.document["data"]
    if outer.document["checksum"] != data_checksum(data):
        return UnreadableState(CORRUPTED)
    try:
        return pods_state_of(data, reader)
    except GoError as error:
        return UnreadableState(f"failed to get pod resource information: {error}")


def _pod(document: Value) -> RecordedPod:
    level = document.get("PodLevelResources")
    return RecordedPod(
        containers={
            name: recorded_resources(each) for name, each in (document["ContainerResources"] or {}).items()
        },
        pod_level=None if level is None else recorded_resources(level),
        volume_limits=document.get("EmptyDirVolumeLimits") or {},
    )


def recorded_resources(document: Value) -> RecordedResources:
    """Turn decoded resource requirements into values."""
    return RecordedResources(
        limits=document["limits"] or {},
        requests=document["requests"] or {},
        claims=tuple((claim["name"], claim["request"]) for claim in document["claims"] or ()),
    )


def _pod_document(pod: RecordedPod) -> Value:
    return {
        "ContainerResources": {name: _resources_document(each) for name, each in pod.containers.items()},
        "PodLevelResources": None if pod.pod_level is None else _resources_document(pod.pod_level),
        "EmptyDirVolumeLimits": pod.volume_limits or None,
    }


def _resources_document(resources: RecordedResources) -> Value:
    amounts: Mapping[str, Value] = {"limits": dict(resources.limits), "requests": dict(resources.requests)}
    return {**amounts, "claims": [{"name": name, "request": request} for name, request in resources.claims]}
