"""OpenShift: PerformanceProfile, KubeletConfig and MachineConfig.

Rule: ``openshift/cluster-node-tuning-operator``, ``components/kubeletconfig``, and the machine config
operator's templates, which write ``/etc/kubernetes/kubelet.conf``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cpuctl.documents.ignition import file_text
from cpuctl.errors import InputError
from cpuctl.golang.text import GoError
from cpuctl.kubelet.foreign.found import Fields, ToolFile, filled, items, mapping, not_held, wrong_type
from cpuctl.kubelet.foreign.lines import renamed_from
from cpuctl.quantity import Quantity

KUBELET_CONF = "/etc/kubernetes/kubelet.conf"
_PROFILE: Mapping[str, Any] = {
    "cpuManagerPolicy": "static", "cpuManagerReconcilePeriod": "5s", "topologyManagerPolicy": "best-effort",
    "evictionHard": {
        "memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "15%",
        "nodefs.inodesFree": "5%",
    },
    "kubeReserved": {"memory": "500Mi"}, "systemReserved": {"memory": "500Mi"},
}  # fmt: skip
_OVERRIDDEN = ("cpuManagerPolicy", "cpuManagerReconcilePeriod", "topologyManagerPolicy", "kind", "apiVersion")
_REFUSING = ("restricted", "single-numa-node")
_OPERATOR = "the node tuning operator"
_TEMPLATE = not_held(
    "the machine config operator's template", "cgroupDriver, systemReserved and feature gates"
)


def performance_profile(value: Fields, source: str) -> ToolFile:
    """Read a PerformanceProfile as the node tuning operator does."""
    spec = mapping(value, "spec")
    policy = mapping(spec, "numa").get("topologyPolicy")
    overridden = (*_OVERRIDDEN, "memoryManagerPolicy") if policy in _REFUSING else _OVERRIDDEN
    fields = {name: each for name, each in _snippet(value, source).items() if name not in overridden}
    if policy:
        fields[renamed_from("topologyManagerPolicy", mapping(spec, "numa"), "topologyPolicy")] = policy
    if reserved := mapping(spec, "cpu").get("reserved"):
        fields[renamed_from("reservedSystemCPUs", mapping(spec, "cpu"), "reserved")] = str(reserved)
    fields, added = filled(fields, _PROFILE, _OPERATOR)
    fields, aligned = filled(fields, _aligned(policy, fields), _OPERATOR)
    return ToolFile("a PerformanceProfile", fields, assumed=(*added, *aligned, _TEMPLATE))


def _aligned(policy: object, fields: Fields) -> Fields:
    """Return what follows from a topology policy that refuses pods."""
    if policy not in _REFUSING:
        return {}
    own: Fields = {
        "memoryManagerPolicy": "Static",
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": _kept(fields)}}],
    }
    if policy == "single-numa-node":
        own["cpuManagerPolicyOptions"] = {"full-pcpus-only": "true"}
    return own


def _snippet(value: Fields, source: str) -> Fields:
    text = mapping(value, "metadata", "annotations").get("kubeletconfig.experimental")
    if not text:
        return {}
    try:
        found = json.loads(str(text))
    except ValueError:
        where = f"{source}: metadata.annotations.kubeletconfig.experimental"
        raise InputError("expected a KubeletConfiguration in JSON", where=where) from None
    return found if isinstance(found, dict) else {}


def _kept(fields: Mapping[str, Any]) -> str:
    """Add up what is reserved, as the operator does for the one NUMA node known to exist."""
    places = (("kubeReserved", "memory"), ("systemReserved", "memory"), ("evictionHard", "memory.available"))
    first, *others = (_amount(fields, *place) for place in places)
    return str(sum(others, first))


def _amount(fields: Mapping[str, Any], name: str, resource: str) -> Quantity:
    amount = mapping(fields, name).get(resource, 0)
    try:
        return Quantity.parse(str(amount))
    except GoError:
        raise wrong_type(f"{name}.{resource}", "a quantity", amount) from None


def kubelet_config(value: Fields, _: str) -> ToolFile:
    """Read a KubeletConfig, which the machine config operator merges into its template."""
    spec = mapping(value, "spec")
    assumed = [_TEMPLATE]
    if spec.get("autoSizingReserved"):
        assumed.append("autoSizingReserved computes systemReserved from the machine: it is not included")
    return ToolFile(
        "an OpenShift KubeletConfig", dict(mapping(spec, "kubeletConfig")), assumed=tuple(assumed)
    )


def machine_config(value: Fields, source: str) -> ToolFile:
    """Extract the kubelet's file from a MachineConfig; raise InputError if it does not contain one."""
    files = items(mapping(value, "spec", "config", "storage").get("files"), "spec.config.storage.files")
    for index, file in enumerate(files):
        at = f"spec.config.storage.files[{index}]"
        if mapping(file, at=at).get("path") == KUBELET_CONF:
            text = file_text(mapping(file, "contents", at=at), KUBELET_CONF, f"{source}: {at}.contents")
            return ToolFile(f"a MachineConfig with {KUBELET_CONF}", {}, text=text, inside=KUBELET_CONF)
    raise InputError(
        f"a MachineConfig without {KUBELET_CONF}: it does not set the kubelet's configuration",
        where=source,
        hint="use the rendered one (oc get mc rendered-worker-... -o yaml) or the node's /configz",
    )
