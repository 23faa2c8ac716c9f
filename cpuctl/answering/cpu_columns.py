"""The columns of the CPU table and the member of the answer that each one shows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cpuctl.answers.topology import ColumnName

_Fact = Literal[
    "cpu", "node", "socket", "core", "l1d", "l1i", "l2", "l3", "online", "type", "siblings",
    "isolated", "nohzFull", "capacity", "maxKHz", "minKHz",
]  # fmt: skip
_KubeletFact = Literal["node", "socket", "core", "uncoreCache"]

CPU_COLUMNS: Mapping[ColumnName, _Fact] = MappingProxyType(
    {
        "CPU": "cpu",
        "NODE": "node",
        "SOCKET": "socket",
        "CORE": "core",
        "L1D": "l1d",
        "L1I": "l1i",
        "L2": "l2",
        "L3": "l3",
        "ONLINE": "online",
        "TYPE": "type",
        "SIBLINGS": "siblings",
        "ISOLATED": "isolated",
        "NOHZ": "nohzFull",
        "CAPACITY": "capacity",
        "MAXKHZ": "maxKHz",
        "MINKHZ": "minKHz",
    }
)
"""The kernel's view: members of ``cpus``."""

KUBELET_COLUMNS: Mapping[ColumnName, _KubeletFact] = MappingProxyType(
    {
        "KUBELET-NODE": "node",
        "KUBELET-SOCKET": "socket",
        "KUBELET-CORE": "core",
        "KUBELET-L3": "uncoreCache",
    }
)
"""The kubelet's view: members of ``kubelet.labels``."""

ALL_COLUMNS: tuple[ColumnName, ...] = (*CPU_COLUMNS, *KUBELET_COLUMNS)
DEFAULT_COLUMNS: tuple[ColumnName, ...] = (
    "CPU",
    "NODE",
    "SOCKET",
    "CORE",
    "L1D",
    "L1I",
    "L2",
    "L3",
    "ONLINE",
)
"""The columns of a table of CPUs if none are selected."""
