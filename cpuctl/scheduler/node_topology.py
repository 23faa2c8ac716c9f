"""NodeResourceTopology objects: a node's NUMA nodes as an exporter publishes them, and its pods then.

Rule: ``topology.node.k8s.io/v1alpha2`` of noderesourcetopology-api 7f99f9c; for settings
``pkg/noderesourcetopology/nodeconfig`` of scheduler-plugins 903da7d, for fingerprints podfingerprint 929f98b.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from cpuctl.golang.hashes import xxh64
from cpuctl.quantity import Quantity

API_VERSION = "topology.node.k8s.io/v1alpha2"
KIND = "NodeResourceTopology"
NUMA_ZONE = "Node"
"""The type of zones that are NUMA nodes, the only one that the scheduler plugin reads."""

FINGERPRINT_ATTRIBUTE = "nodeTopologyPodsFingerprint"
FINGERPRINT_ANNOTATION = "topology.node.k8s.io/fingerprint"
UPDATE_ANNOTATION = "k8stopoawareschedwg/rte-update"
METHOD_ATTRIBUTE = "nodeTopologyPodsFingerprintMethod"
SCOPE_ATTRIBUTE = "topologyManagerScope"
POLICY_ATTRIBUTE = "topologyManagerPolicy"
MOST_NUMA_NODES_ATTRIBUTE = "topologyManagerMaxNUMANodes"

_FINGERPRINT_PREFIX = "pfp0v001"
_SCOPES = ("container", "pod")
_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_MOST_NUMA_NODES = 1024
_ZONE_NAME = re.compile(r"node-\+?([0-9]+)", re.ASCII)
_GO_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)

POLICY_NAMES: Mapping[str, tuple[str, str]] = {
    f"{name}{level}Level": (policy, level.lower())
    for name, policy in (
        ("SingleNUMANode", "single-numa-node"),
        ("BestEffort", "best-effort"),
        ("Restricted", "restricted"),
    )
    for level in ("Pod", "Container")
}
"""The names in ``topologyPolicies``, with the policy and the scope that they mean."""


class FingerprintMethod(StrEnum):
    """The pods that a fingerprint covers."""

    ALL = "all"
    EXCLUSIVE = "with-exclusive-resources"


class ZoneResource(NamedTuple):
    """One resource of a zone."""

    name: str
    capacity: Quantity
    allocatable: Quantity
    available: Quantity


class Zone(NamedTuple):
    """A part of a node; ``costs`` are distances by the name of another zone."""

    name: str
    type: str = NUMA_ZONE
    resources: tuple[ZoneResource, ...] = ()
    costs: tuple[tuple[str, int], ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    parent: str = ""

    @property
    def numa_id(self) -> int | None:
        """The NUMA node in its name; None if there is none."""
        return numa_id_of(self.name)


class Owner(NamedTuple):
    """The owner with which the object is deleted."""

    api_version: str
    kind: str
    name: str
    uid: str


class NodeTopology(NamedTuple):
    """One NodeResourceTopology; ``policies`` is the deprecated ``topologyPolicies``."""

    name: str
    zones: tuple[Zone, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    policies: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    owner: Owner | None = None

    def attribute(self, name: str) -> str | None:
        """Return the first attribute of a name; None if it is missing."""
        return next((value for key, value in self.attributes if key == name), None)

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the pods that the quantities were computed from; None without one."""
        return self.attribute(FINGERPRINT_ATTRIBUTE) or dict(self.annotations).get(FINGERPRINT_ANNOTATION)

    @property
    def fingerprint_method(self) -> FingerprintMethod:
        """The pods that the fingerprint covers; by default, all."""
        exclusive = self.attribute(METHOD_ATTRIBUTE) == FingerprintMethod.EXCLUSIVE
        return FingerprintMethod.EXCLUSIVE if exclusive else FingerprintMethod.ALL


class TopologySettings(NamedTuple):
    """The settings of the node's Topology Manager in the object."""

    policy: str = "none"
    scope: str = "container"
    most_numa_nodes: int = 8


def topology_settings(topology: NodeTopology) -> TopologySettings:
    """Read the settings like the scheduler plugin: attributes take precedence, invalid ones are ignored."""
    policy, scope, most = TopologySettings()
    if topology.policies:
        policy, scope = POLICY_NAMES.get(topology.policies[0], (policy, scope))
    for name, value in topology.attributes:
        if name == SCOPE_ATTRIBUTE and value in _SCOPES:
            scope = value
        elif name == POLICY_ATTRIBUTE and value in _POLICIES:
            policy = value
        elif name == MOST_NUMA_NODES_ATTRIBUTE:
            most = _most_numa_nodes(value) or most
    return TopologySettings(policy, scope, most)


def _most_numa_nodes(text: str) -> int | None:
    if len(text) > 19 or not _GO_INTEGER.fullmatch(text) or (number := int(text)) <= 1:
        return None
    return min(number, _MOST_NUMA_NODES)


def numa_id_of(name: str) -> int | None:
    """Return the NUMA node in the name of a zone or a cost (``node-1``); None if there is none."""
    match = _ZONE_NAME.fullmatch(name)
    return int(match[1]) if match and len(match[1]) < 19 else None


def pods_fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """Return the fingerprint of pods (namespace and name); order does not matter, duplicates do."""
    hashes = sorted(xxh64(name.encode(), xxh64(namespace.encode())) for namespace, name in pods)
    data = b"".join(each.to_bytes(8, "little") for each in hashes)
    return f"{_FINGERPRINT_PREFIX}{xxh64(data):016x}"
