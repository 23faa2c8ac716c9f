"""The formats of ``cpu_manager_state`` (kubernetes ``pkg/kubelet/cm/cpumanager/state``).

V1 up to 1.17, V2 up to 1.35 and with PodLevelResourceManagers off in 1.36, V3 with it on in 1.36, V4 from
1.37 on.
"""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.checkpoints.formats import CHECKSUM, Format, envelope
from cpuctl.cpuset import CPUSet, CPUSetLimitError
from cpuctl.errors import InputError
from cpuctl.golang.containers import Field, MapOf, Struct
from cpuctl.golang.json_values import Json
from cpuctl.golang.scalars import Decoding, Path, Text, Value
from cpuctl.golang.text import GoError

_LEGACY = "CPUManagerCheckpoint"
_POD_ENTRY_JSON = Struct("state.podEntryJSON", (Field("cpuSet", "CPUSet", Text(), omit_empty=True),))


class _PodEntry(NamedTuple):
    """A pod's CPUs: a list in JSON, but a set to the checksum."""

    name: str = "state.PodEntry"

    def zero(self) -> Value:
        """Return the empty set."""
        return CPUSet()

    def decode(self, found: Json, old: Value, _path: Path, to: Decoding) -> Value:
        """Read it as the type's own reader does: its complaint does not say which pod it is about."""
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
"""V2 before there was another after it."""
V2 = Format(struct=_V2_STRUCT, hashed_as=(_LEGACY, "CPUManagerCheckpointV2"), zero_sum=True)
"""CPUs by pod UID and container name."""
V2_REPLACED = Format(struct=_V2_STRUCT, hashed_as=(_LEGACY,), zero_sum=True)
"""V2 with PodLevelResourceManagers on: its checksum is accepted under the name it had."""
V3 = Format(struct=Struct(f"state.{_LEGACY}", _V3_FIELDS), hashed_as=(_LEGACY,))
"""V2 and what pods hold as a whole (KEP-5526)."""
V3_FROM_1_37 = Format(
    struct=Struct("state.CPUManagerCheckpointV3", _V3_FIELDS),
    hashed_as=(_LEGACY, "CPUManagerCheckpointV3"),
)
"""V3 where it is an older format: its checksum is accepted under both names."""
V4 = envelope(V2_REPLACED, _V4_DATA, _LEGACY, "cpu")
"""V2 for older kubelets and beside it all there is, baselines too (kubernetes pull request 139102)."""
