"""What to do about a kubelet that would not start: one line, which a test follows to the letter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cpuctl.answering.config.starts import settings_to_mend, start_text
from cpuctl.engine.outcome import KubeletFault, StartRefused
from cpuctl.kubelet.configuration.loading import LoadedConfiguration
from cpuctl.kubelet.configuration.settings import OriginKind, path_name
from cpuctl.machine.kernel_text import parse_given_mask

if TYPE_CHECKING:
    from cpuctl.operations.configuration import StartOutcome

RESERVE = "cpuctl config reserve"
_RESERVED = "reservedSystemCPUs"
_PICKING = "CPU Manager, "
_SURELY_MASK = 8
_GROUPS = ("kubeReservedCgroup", "systemReservedCgroup")
_KEPT = (*_GROUPS, "failCgroupV1")
"""What a kubelet refuses when it is left out, too: where it must be, or by its default."""
_NO_CPU = "unable to determine reserved CPU resources for static policy"
_MANY_NODES = "unsupported on machines with more than"

UNSET: Mapping[str, str] = {
    "kubeReservedCgroup": "set kubeReservedCgroup, or take kube-reserved out of enforceNodeAllocatable",
    "systemReservedCgroup": "set systemReservedCgroup, or take system-reserved out of enforceNodeAllocatable",
    "imageGCLowThresholdPercent": "set imageGCHighThresholdPercent above imageGCLowThresholdPercent",
    "containerRuntimeEndpoint": "set containerRuntimeEndpoint, or leave --container-runtime-endpoint out",
    "failCgroupV1": "set failCgroupV1: false, or boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)",
    "reservedMemory": f"set what {RESERVE} prints",
}
"""What to do about a setting that a kubelet misses, or whose default it refuses."""


def way_out(outcome: StartOutcome, loaded: LoadedConfiguration) -> str:
    """Say what to change; nothing where the outcome does not tell."""
    text = start_text(outcome)
    if _NO_CPU in text:
        return (
            'reserve CPUs: reservedSystemCPUs: a list such as 0, or kubeReserved: {cpu: "1"}, or'
            f' systemReserved: {{cpu: "1"}}; {RESERVE} --reserved-cpus 1 proposes a list for this machine'
        )
    if isinstance(outcome, KubeletFault) and outcome.where.startswith(_PICKING):
        # Nothing but the reservation is picked before there are pods.
        return f"list the reserved CPUs in {_RESERVED}: the kubelet picks none then"
    if isinstance(outcome, KubeletFault) or getattr(outcome, "stage", "") == "featureGates":
        gates = loaded.settings.get("featureGates")
        given = (gates.members if gates else None) or {}
        names = [name for name in given if re.search(rf"\b{re.escape(name)}\b", text)]
        return f"take {' and '.join(names)} out of featureGates" if names else ""
    if not isinstance(outcome, StartRefused):
        return ""
    if outcome.stage == "nodeAllocatable":
        return (
            "reserve less: kubeReserved, systemReserved and evictionHard together are more than the node has"
        )
    if _MANY_NODES in text:
        return (
            "topologyManagerPolicy: none, or from kubelet 1.31 on topologyManagerPolicyOptions:"
            ' {max-allowable-numa-nodes: "N"}, N being as many as the machine has'
        )
    if outcome.stage == "memoryManager" and "reserved" in text:
        return UNSET["reservedMemory"]
    paths = settings_to_mend(outcome)
    own = [path for path in paths if path[0] not in _KEPT and _is_set(loaded, *path)]
    read = _list_of(loaded) if (_RESERVED,) in own else ""
    leave = read or (f"leave out {', '.join(_written(loaded, path) for path in own)}" if own else "")
    missing = [path[0] for path in paths if path not in own]
    # What is off beside another setting is mended with that.
    others = [UNSET.get(name, "" if own else f"set {name}") for name in missing]
    return "; ".join(filter(None, dict.fromkeys((leave, *others))))


def _list_of(loaded: LoadedConfiguration) -> str:
    """Write reserved CPUs that were given as a mask as what a kubelet reads; few letters may be anything."""
    text = loaded.config.reserved_system_cpus
    if not text.startswith(("0x", "0X")) and len(text) < _SURELY_MASK:
        return ""
    try:
        mask = parse_given_mask(text)
    except ValueError:
        return ""
    return "" if mask is None else f"write {_RESERVED}: {mask}, as kubelets read lists and no masks"


def _written(loaded: LoadedConfiguration, path: tuple[str, ...]) -> str:
    """Name a setting as it was given: a flag, or the member of a file."""
    origin = loaded.origin(*path)
    return origin.text if origin.kind is OriginKind.FLAG and len(path) == 1 else path_name(path)


def _is_set(loaded: LoadedConfiguration, *path: str) -> bool:
    return loaded.origin(*path).kind is not OriginKind.DEFAULT
