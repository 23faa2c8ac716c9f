"""Installers and distributions: kubeadm, kind, k3s and RKE2, Talos, kOps, Gardener.

Rule: ``kubeadm.k8s.io`` v1beta3 and v1beta4, ``kind.x-k8s.io`` v1alpha4, k3s's ``config.yaml``, Talos'
``v1alpha1.Config``, kOps' Cluster and InstanceGroup, and Gardener's Shoot.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cpuctl.documents.loading import load_documents
from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.kubelet.foreign.found import Fields, Found, flags_of, items, mapping, picked, with_defaults

KUBELET = "KubeletConfiguration"
_KUBEADM = "kubeadm adds cgroupDriver systemd, clusterDNS and staticPodPath where they are not set"
_NODE_KINDS = ("InitConfiguration", "JoinConfiguration")


def kubeadm(values: Iterable[Fields], what: str = "a kubeadm configuration") -> Found:
    """Read the documents of kubeadm: the kubelet's, and the flags of a node."""
    fields: Fields = {}
    flags: tuple[str, ...] = ()
    for value in values:
        if value.get("kind") == KUBELET:
            fields |= _unheaded(value)
        elif value.get("kind") in _NODE_KINDS:
            flags += flags_of(mapping(value, "nodeRegistration").get("kubeletExtraArgs"))
    fields = with_defaults(fields, {"cgroupDriver": "systemd"})
    return Found(what, fields, flags, (_KUBEADM,))


def _unheaded(value: Fields) -> Fields:
    return {name: member for name, member in value.items() if name not in ("apiVersion", "kind", "metadata")}


def kind(value: Fields, source: str) -> Found:
    """Read a cluster of kind: patches of the cluster, and of its first node."""
    patches = items(value.get("kubeadmConfigPatches"))
    nodes = items(value.get("nodes"))
    if nodes:
        patches = [*patches, *items(mapping(nodes[0]).get("kubeadmConfigPatches"))]
    values = [
        document.value
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
    fields = with_defaults(found.fields, own)
    fields["featureGates"] = {**mapping(value, "featureGates"), **mapping(fields, "featureGates")}
    first = ("the first node of several is meant",) if len(nodes) > 1 else ()
    return Found(found.what, fields, found.flags, (*found.assumed, *first))


def k3s(value: Fields, _: str) -> Found:
    """Read the arguments that k3s and RKE2 hand to the kubelet; ``kubelet-arg+`` adds to another file's."""
    given = [arg for name in ("kubelet-arg", "kubelet-arg+") for arg in _listed(value.get(name))]
    return Found(
        "a configuration of k3s or RKE2",
        {
            "cgroupDriver": "systemd",
            "failSwapOn": False,
            "evictionHard": {"imagefs.available": "5%", "nodefs.available": "5%"},
            "evictionMinimumReclaim": {"imagefs.available": "10%", "nodefs.available": "10%"},
        },
        flags_of(given),
        ("k3s and RKE2 set evictionHard without memory.available, and have drop-ins (--config-dir)",),
    )


def _listed(value: object) -> list[Any]:
    return items(value) if isinstance(value, list) else [value] if value else []


def talos(value: Fields, _: str) -> Found:
    """Read ``machine.kubelet`` of a Talos machine configuration."""
    kubelet = mapping(value, "machine", "kubelet")
    own = {
        "cgroupRoot": "/", "systemCgroups": "/system", "kubeletCgroups": "/podruntime/kubelet",
        "failSwapOn": False, "logging": {"format": "json"},
        "shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s",
    }  # fmt: skip
    reserved = ("Talos sets systemReserved by its release: name it with --kubelet-args",)
    known = "systemReserved" in mapping(kubelet, "extraConfig")
    return Found(
        "a Talos machine configuration",
        with_defaults(mapping(kubelet, "extraConfig"), own),
        flags_of(kubelet.get("extraArgs")),
        () if known else reserved,
    )


_KOPS_MAPS = ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim")


def kops(value: Fields, _: str) -> Found:
    """Read ``spec.kubelet`` of a kOps Cluster or InstanceGroup: named like fields, thresholds like flags."""
    given = dict(mapping(value, "spec", "kubelet"))
    for name in _KOPS_MAPS:
        if isinstance(given.get(name), str):
            given[name] = _thresholds(given[name])
    gates = mapping(given, "featureGates")
    if gates:
        given["featureGates"] = {gate: str(on).lower() == "true" for gate, on in gates.items()}
    fields, others = picked(given, FIELD_TYPES)
    unread = f"not read: spec.kubelet.{', '.join(others)}"
    more = "a Cluster's spec.kubelet and an InstanceGroup's add up: the other one is not in it"
    return Found("a kOps manifest", fields, assumed=(more, *((unread,) if others else ())))


def _thresholds(text: str) -> Fields:
    pairs = (part.replace("=", "<").partition("<") for part in text.split(",") if part)
    return {name: amount for name, _, amount in pairs}


_SHOOT_SIGNALS = {
    "memoryAvailable": "memory.available", "imageFSAvailable": "imagefs.available",
    "imageFSInodesFree": "imagefs.inodesFree", "nodeFSAvailable": "nodefs.available",
    "nodeFSInodesFree": "nodefs.inodesFree",
}  # fmt: skip
_SHOOT_NAMES = {"ephemeralStorage": "ephemeral-storage"}


def shoot(value: Fields, _: str) -> Found:
    """Read the kubelet of a Gardener Shoot: the cluster's, and what its first group of workers changes."""
    workers = items(mapping(value, "spec", "provider").get("workers"))
    worker = mapping(workers[0], "kubernetes", "kubelet") if workers else {}
    given = {**mapping(value, "spec", "kubernetes", "kubelet"), **worker}
    for name in _KOPS_MAPS:
        if name in given:
            given[name] = {
                _SHOOT_SIGNALS.get(key, key): str(amount) for key, amount in mapping(given, name).items()
            }
    for name in ("kubeReserved", "systemReserved"):
        if name in given:
            amounts = mapping(given, name).items()
            given[name] = {_SHOOT_NAMES.get(key, key): str(amount) for key, amount in amounts}
    fields, _others = picked(given, FIELD_TYPES)
    assumed = ["Gardener reserves CPU 80m, memory 1Gi and 20k PIDs (kubeReserved) where nothing else is said"]
    if len(workers) > 1:
        assumed.append("the first group of workers is meant")
    own = {"cgroupDriver": "systemd", "kubeReserved": {"cpu": "80m", "memory": "1Gi", "pid": "20k"}}
    return Found("a Gardener Shoot", with_defaults(fields, own), assumed=tuple(assumed))
