"""Installers and distributions: kubeadm, kind, k3s and RKE2, Talos, kOps, Gardener.

Rule: ``kubeadm.k8s.io`` v1beta3 and v1beta4, ``kind.x-k8s.io`` v1alpha4, k3s's ``config.yaml``, Talos'
``v1alpha1.Config``, kOps' Cluster and InstanceGroup, and Gardener's Shoot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cpuctl.documents.loading import load_documents
from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.kubelet.foreign.found import (
    Fields,
    ToolFile,
    arguments_of,
    filled,
    flags_of,
    items,
    mapping,
    not_held,
    picked,
)
from cpuctl.kubelet.foreign.lines import lined, lines_before, moved, renamed

KUBELET = "KubeletConfiguration"
_KUBEADM = not_held("kubeadm", "clusterDNS, addresses and certificates")
_JSON_PATCHES = "kubeadmConfigPatchesJSON6902"
_NODE_KINDS = ("InitConfiguration", "JoinConfiguration")


def kubeadm(values: Iterable[Fields], what: str = "a kubeadm configuration") -> ToolFile:
    """Read the documents of kubeadm: the kubelet's, and the flags of a node."""
    fields: Fields = {}
    flags: tuple[str, ...] = ()
    for value in values:
        if value.get("kind") == KUBELET:
            fields |= _unheaded(value)
        elif value.get("kind") in _NODE_KINDS:
            extra = mapping(value, "nodeRegistration").get("kubeletExtraArgs")
            flags += flags_of(extra, "nodeRegistration.kubeletExtraArgs")
    fields, added = filled(fields, {"cgroupDriver": "systemd"}, "kubeadm")
    return ToolFile(what, fields, flags, (*added, _KUBEADM))


def _unheaded(value: Fields) -> Fields:
    return {name: member for name, member in value.items() if name not in ("apiVersion", "kind", "metadata")}


def kind(value: Fields, source: str) -> ToolFile:
    """Read a kind cluster: the patches of the cluster, and of its first node."""
    patches = items(value.get("kubeadmConfigPatches"), "kubeadmConfigPatches")
    nodes = items(value.get("nodes"), "nodes")
    first_node = mapping(nodes[0], at="nodes[0]") if nodes else {}
    of_first = first_node.get("kubeadmConfigPatches")
    patches = [*patches, *items(of_first, "nodes[0].kubeadmConfigPatches")]
    values = [
        moved(lined(document), lines_before(patch))
        for number, patch in enumerate(patches)
        for document in load_documents(str(patch), f"{source}: kubeadmConfigPatches[{number}]")
        if isinstance(document.value, dict)
    ]
    found = kubeadm(values, "a kind cluster")
    own = {
        "cgroupRoot": "/kubelet",
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%"},
    }
    fields, added = filled(found.fields, own, "kind")
    if gates := mapping(value, "featureGates"):
        fields["featureGates"] = {**gates, **mapping(fields, "featureGates")}
    first = ("the first of several nodes is used",) if len(nodes) > 1 else ()
    unread = (
        (f"not read: {_JSON_PATCHES}",) if value.get(_JSON_PATCHES) or first_node.get(_JSON_PATCHES) else ()
    )
    return ToolFile(found.what, fields, found.flags, (*added, *found.assumed, *unread, *first))


_K3S: Mapping[str, Any] = {
    "failSwapOn": False,
    "evictionHard": {"imagefs.available": "5%", "nodefs.available": "5%"},
    "evictionMinimumReclaim": {"imagefs.available": "10%", "nodefs.available": "10%"},
}


def k3s(value: Fields, _: str) -> ToolFile:
    """Read the arguments that k3s and RKE2 pass to the kubelet; ``kubelet-arg+`` adds to another file's."""
    flags = [flag for name in ("kubelet-arg", "kubelet-arg+") for flag in arguments_of(value.get(name), name)]
    fields, added = filled({}, _K3S, "k3s")
    more = not_held(
        "k3s", "cgroupDriver (depending on how it was started) and drop-ins; RKE2 has its own values"
    )
    no_memory = "k3s sets evictionHard without memory.available"
    return ToolFile("a k3s or RKE2 configuration", fields, tuple(flags), (*added, no_memory, more))


def talos(value: Fields, _: str) -> ToolFile:
    """Read ``machine.kubelet`` of a Talos machine configuration."""
    kubelet = mapping(value, "machine", "kubelet")
    own = {
        "cgroupRoot": "/", "systemCgroups": "/system", "kubeletCgroups": "/podruntime/kubelet",
        "failSwapOn": False, "logging": {"format": "json"},
        "shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s",
    }  # fmt: skip
    given = mapping(value, "machine", "kubelet", "extraConfig")
    fields, added = filled(given, own, "Talos")
    reserved = "" if "systemReserved" in given else "systemReserved (by release and machine type), "
    more = not_held("Talos", f"{reserved}addresses and certificates")
    flags = flags_of(kubelet.get("extraArgs"), "machine.kubelet.extraArgs")
    return ToolFile("a Talos machine configuration", fields, flags, (*added, more))


_KOPS_MAPS = ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim")


def kops(value: Fields, _: str) -> ToolFile:
    """Read ``spec.kubelet`` of a kOps Cluster or InstanceGroup: field names, but thresholds as in flags."""
    given = dict(mapping(value, "spec", "kubelet"))
    for name in _KOPS_MAPS:
        if isinstance(given.get(name), str):
            given[name] = _thresholds(given[name])
    gates = mapping(given, "featureGates")
    if gates:
        given["featureGates"] = {gate: str(on).lower() == "true" for gate, on in gates.items()}
    fields, others = picked(given, FIELD_TYPES)
    unread = f"not read: spec.kubelet.{', '.join(others)}"
    more = "spec.kubelet of Cluster and InstanceGroup are combined: this file has only one of them"
    own = not_held("kOps", "its own defaults (by release, image and cloud)")
    return ToolFile("a kOps manifest", fields, assumed=(more, own, *((unread,) if others else ())))


def _thresholds(text: str) -> Fields:
    pairs = (part.replace("=", "<").partition("<") for part in text.split(",") if part)
    return {name: amount for name, _, amount in pairs}


_SHOOT_SIGNALS = {
    "memoryAvailable": "memory.available", "imageFSAvailable": "imagefs.available",
    "imageFSInodesFree": "imagefs.inodesFree", "nodeFSAvailable": "nodefs.available",
    "nodeFSInodesFree": "nodefs.inodesFree",
}  # fmt: skip
_SHOOT_NAMES = {"ephemeralStorage": "ephemeral-storage"}


def shoot(value: Fields, _: str) -> ToolFile:
    """Read the kubelet of a Gardener Shoot: that of its first worker group, else the cluster's."""
    workers = items(mapping(value, "spec", "provider").get("workers"), "spec.provider.workers")
    worker = mapping(workers[0], "kubernetes", "kubelet", at="workers[0]") if workers else {}
    given = dict(worker or mapping(value, "spec", "kubernetes", "kubelet"))
    for name in _KOPS_MAPS:
        if name in given:
            given[name] = {
                renamed(_SHOOT_SIGNALS.get(key, key), key): str(amount)
                for key, amount in mapping(given, name).items()
            }
    for name in ("kubeReserved", "systemReserved"):
        if name in given:
            amounts = mapping(given, name).items()
            given[name] = {renamed(_SHOOT_NAMES.get(key, key), key): str(amount) for key, amount in amounts}
    fields, _others = picked(given, FIELD_TYPES)
    own = {
        "cgroupDriver": "systemd", "cgroupRoot": "/",
        "kubeReserved": {"cpu": "80m", "memory": "1Gi", "pid": "20k"},
    }  # fmt: skip
    fields, added = filled(fields, own, "Gardener")
    more = not_held(
        "Gardener", "eviction thresholds (by machine type), image garbage collection and log sizes"
    )
    first = ("the first worker group is used",) if len(workers) > 1 else ()
    return ToolFile("a Gardener Shoot", fields, assumed=(*added, more, *first))
