"""A static pod's references to objects of the API server, for which a kubelet refuses its manifest.

Rule: ``pkg/kubelet/config/common.go`` and ``HasAPIObjectReference`` in ``pkg/api/pod/util.go`` of 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.pods.rules import NodeRules
from cpuctl.pods.validation.raw import CONTAINER_LISTS, items_of, mapping_of, member_of, text_of

_REFERENCES = {"azureFile": "secretName", "secret": "secretName"}
"""Volumes that name a secret directly; others name it in a ``secretRef``."""
_SECRET_REFERENCES = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
_VOLUMES = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_PROJECTED = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}
_BUNDLES_SINCE = 29
"""The first minor that checks for trust bundles separately."""


def refused_reference(spec: object, rules: NodeRules) -> tuple[str, str]:
    """Return a kubelet's error for the first reference in a pod's spec, and the member with the reference.

    Both are empty if it accepts the manifest.
    """
    if rules.static_references:
        kind, member = next(_references(spec), ("", ""))
        return f"static pods may not reference {kind}" if kind else "", member
    bundles = any("clusterTrustBundle" in mapping_of(source) for source in _sources(spec))
    if bundles and rules.minor >= _BUNDLES_SINCE:
        return "static pods may not use ClusterTrustBundle projected volume sources", "volumes"
    if rules.static_claims and items_of(member_of(spec, "resourceClaims")):
        return rules.static_claims, "resourceClaims"
    return "", ""


def _references(spec: object) -> Iterator[tuple[str, str]]:
    """Yield the references of a spec in the kubelet's order, each with the member that contains it."""
    for name in ("serviceAccountName", "serviceAccount"):
        if text_of(member_of(spec, name)):
            yield "serviceaccounts", name
    for kind, found in (("secrets", _secrets(spec)), ("configmaps", _config_maps(spec))):
        if member := next((member for name, member in found if text_of(name)), ""):
            yield kind, member
    if items_of(member_of(spec, "resourceClaims")):
        yield "resourceclaims", "resourceClaims"
    for volume in items_of(member_of(spec, "volumes")):
        yield from ((words, "volumes") for name, words in _VOLUMES.items() if name in mapping_of(volume))
        for source in items_of(member_of(member_of(volume, "projected"), "sources")):
            yield from (
                (words, "volumes") for name, words in _PROJECTED.items() if name in mapping_of(source)
            )


def _secrets(spec: object) -> Iterator[tuple[object, str]]:
    """Yield the names of secrets, each with the member of the spec that contains it."""
    for each in items_of(member_of(spec, "imagePullSecrets")):
        yield member_of(each, "name"), "imagePullSecrets"
    yield from _of_containers(spec, "secretRef", "secretKeyRef")
    for volume in items_of(member_of(spec, "volumes")):
        for kind, name in _REFERENCES.items():
            yield member_of(member_of(volume, kind), name), "volumes"
        for kind in _SECRET_REFERENCES:
            yield member_of(member_of(member_of(volume, kind), "secretRef"), "name"), "volumes"
        published = member_of(member_of(volume, "csi"), "nodePublishSecretRef")
        yield member_of(published, "name"), "volumes"
    for source in _sources(spec):
        yield member_of(member_of(source, "secret"), "name"), "volumes"


def _config_maps(spec: object) -> Iterator[tuple[object, str]]:
    """Yield the names of config maps, each with the member of the spec that contains it."""
    yield from _of_containers(spec, "configMapRef", "configMapKeyRef")
    for volume in items_of(member_of(spec, "volumes")):
        yield member_of(member_of(volume, "configMap"), "name"), "volumes"
    for source in _sources(spec):
        yield member_of(member_of(source, "configMap"), "name"), "volumes"


def _of_containers(spec: object, whole: str, key: str) -> Iterator[tuple[object, str]]:
    for group in CONTAINER_LISTS:
        for container in items_of(member_of(spec, group)):
            for each in items_of(member_of(container, "envFrom")):
                yield member_of(member_of(each, whole), "name"), group
            for each in items_of(member_of(container, "env")):
                yield member_of(member_of(member_of(each, "valueFrom"), key), "name"), group


def _sources(spec: object) -> Iterator[object]:
    for volume in items_of(member_of(spec, "volumes")):
        yield from items_of(member_of(member_of(volume, "projected"), "sources"))
