"""Clouds: EKS NodeConfig, Bottlerocket, Karpenter and AKS; and the kubelet's own ``/configz``.

Rule: ``awslabs/amazon-eks-ami`` (nodeadm), Bottlerocket's ``settings.kubernetes``, Karpenter's EC2NodeClass,
and AKS' custom node configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.kubelet.foreign.found import Fields, ToolFile, filled, flags_of, mapping, not_held, picked
from cpuctl.kubelet.foreign.lines import renamed, renamed_from

_EKS: Mapping[str, Any] = {
    "cgroupDriver": "systemd", "cgroupRoot": "/", "kubeReservedCgroup": "/runtime",
    "systemReservedCgroup": "/system", "hairpinMode": "hairpin-veth", "protectKernelDefaults": True,
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"},
}  # fmt: skip


def configz(value: Fields, _: str) -> ToolFile:
    """Read the ``/configz`` of a running kubelet, which already includes flags and drop-ins."""
    fields, _others = picked(mapping(value, "kubeletconfig"), FIELD_TYPES)
    fields["logging"] = {
        name: member for name, member in mapping(fields, "logging").items() if name != "flushFrequency"
    }
    return ToolFile(
        "the kubelet's /configz",
        {name: each for name, each in fields.items() if each is not None},
    )


def node_config(value: Fields, _: str) -> ToolFile:
    """Read ``spec.kubelet`` of an EKS NodeConfig, a drop-in on top of what nodeadm writes."""
    kubelet = mapping(value, "spec", "kubelet")
    fields, added = filled(mapping(value, "spec", "kubelet", "config"), _EKS, "nodeadm")
    more = not_held(
        "nodeadm", "maxPods and kubeReserved (by instance type), feature gates (by release), and addresses"
    )
    flags = flags_of(kubelet.get("flags"), "spec.kubelet.flags")
    return ToolFile("an EKS NodeConfig", fields, flags, (*added, more))


def karpenter(value: Fields, _: str) -> ToolFile:
    """Read the kubelet of a node class, a node pool or a provisioner."""
    spec = mapping(value, "spec")
    given = (
        mapping(spec, "kubelet")
        or mapping(spec, "template", "spec", "kubelet")
        or mapping(spec, "kubeletConfiguration")
    )
    fields, others = picked(given, FIELD_TYPES)
    unread = (f"not read: {', '.join(others)}",) if others else ()
    own = not_held("the machine image", "cgroupDriver, evictionHard and kubeReserved (by machine type)")
    name = str(value.get("kind"))
    article = "an" if name[:1] in "AEIOU" else "a"
    return ToolFile(f"{article} {name} of Karpenter", fields, assumed=(own, *unread))


_AKS = {
    "cpuManagerPolicy": "cpuManagerPolicy", "topologyManagerPolicy": "topologyManagerPolicy",
    "cpuCfsQuota": "cpuCFSQuota", "cpuCfsQuotaPeriod": "cpuCFSQuotaPeriod",
    "imageGcHighThreshold": "imageGCHighThresholdPercent",
    "imageGcLowThreshold": "imageGCLowThresholdPercent",
    "allowedUnsafeSysctls": "allowedUnsafeSysctls", "containerLogMaxFiles": "containerLogMaxFiles",
    "podMaxPids": "podPidsLimit", "failSwapOn": "failSwapOn", "containerLogMaxSizeMB": "containerLogMaxSize",
}  # fmt: skip
AKS_FIELDS = frozenset(_AKS)
AKS_OWN_NAMES = frozenset(name for name, field in _AKS.items() if name != field)
"""The names that are not the kubelet's own: without them it may be a kubelet's file without a kind."""


def aks(value: Fields, _: str) -> ToolFile:
    """Read the kubelet's part of AKS' custom node configuration."""
    fields: Fields = {renamed(_AKS[name], name): member for name, member in value.items() if name in _AKS}
    if "containerLogMaxSizeMB" in value:
        fields["containerLogMaxSize"] = f"{value['containerLogMaxSizeMB']}M"
    own = not_held("AKS", "cgroupDriver, evictionHard and kubeReserved (by machine type)")
    return ToolFile("an AKS custom node configuration", fields, assumed=(own,))


_BOTTLEROCKET = {
    "reserved-cpus": "reservedSystemCPUs", "pod-pids-limit": "podPidsLimit",
    "cpu-cfs-quota-enforced": "cpuCFSQuota",
    "kube-api-qps": "kubeAPIQPS", "registry-qps": "registryPullQPS", "event-qps": "eventRecordQPS",
    "cluster-dns-ip": "clusterDNS",
    "shutdown-grace-period-for-critical-pods": "shutdownGracePeriodCriticalPods",
    "image-gc-high-threshold-percent": "imageGCHighThresholdPercent",
    "image-gc-low-threshold-percent": "imageGCLowThresholdPercent",
}  # fmt: skip
_NUMBERS = ("int32", "int64")


def bottlerocket(value: Fields, _: str) -> ToolFile:
    """Read ``settings.kubernetes`` of Bottlerocket's user data.

    Reserved memory applies if it is ``enabled``, and the Memory Manager's policy if some of it is.
    """
    settings = mapping(value, "settings", "kubernetes")
    given = {renamed(_BOTTLEROCKET.get(name, _camel(name)), name): each for name, each in settings.items()}
    if isinstance(options := given.get("cpuManagerPolicyOptions"), list):
        given["cpuManagerPolicyOptions"] = {str(option): "true" for option in options}
    field = renamed_from("reservedMemory", given, "memoryManagerReservedMemory")
    reserved = given.pop("memoryManagerReservedMemory", None)
    if isinstance(reserved, dict):
        nodes = {node: limits for node, limits in reserved.items() if mapping(limits).get("enabled") is True}
        given[field] = [_reserved(node, limits) for node, limits in nodes.items()]
    if not given.get("reservedMemory"):
        given.pop("memoryManagerPolicy", None)
    fields, _others = picked({name: _typed(name, each) for name, each in given.items()}, FIELD_TYPES)
    fields, added = filled(fields, {"cgroupDriver": "systemd", "cgroupRoot": "/"}, "Bottlerocket")
    more = not_held(
        "Bottlerocket",
        "kubeReserved (by machine type), its cgroups, podPidsLimit, failSwapOn and feature gates (by "
        "release)",
    )
    return ToolFile("Bottlerocket's user data", fields, assumed=(*added, more))


def _camel(name: str) -> str:
    head, *rest = name.split("-")
    return head + "".join(word.capitalize() for word in rest)


def _typed(name: str, value: Any) -> Any:  # noqa: ANN401  # any TOML value
    field = FIELD_TYPES.get(name)
    base = field.go_type.lstrip("*") if field else ""
    if base in _NUMBERS and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value, re.ASCII):
        return int(value)
    if base == "[]string" and isinstance(value, str):
        return [value]
    return (
        {key: str(member) for key, member in value.items()}
        if base == "map[string]string" and isinstance(value, dict)
        else value
    )


def _reserved(node: str, limits: object) -> Mapping[str, Any]:
    amounts = {name: amount for name, amount in mapping(limits).items() if name != "enabled"}
    return {"numaNode": int(node) if node.isdecimal() else 0, "limits": amounts}
