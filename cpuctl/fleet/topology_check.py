"""Whether what is published about a node is still true: compares a NodeResourceTopology with a recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.answering.config.starts import not_started_answer
from cpuctl.diagnostics import Diagnostic, Severity
from cpuctl.engine.node import Node
from cpuctl.errors import InputError
from cpuctl.exports.outcomes import start_sentence
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.facts import content_digest
from cpuctl.fleet.plan_nodes import FleetInputs, NodeReader
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.policy_options import parse_topology_options
from cpuctl.operations.topology_publishing import Publisher, PublisherName, publish_node
from cpuctl.phrases import few
from cpuctl.scheduler.node_topology import (
    FINGERPRINT_ANNOTATION,
    FINGERPRINT_ATTRIBUTE,
    METHOD_ATTRIBUTE,
    MOST_NUMA_NODES_ATTRIBUTE,
    NUMA_ZONE,
    POLICY_ATTRIBUTE,
    SCOPE_ATTRIBUTE,
    UPDATE_ANNOTATION,
    FingerprintMethod,
    topology_settings,
)
from cpuctl.state_names import CPU_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.starting_state import StartingState
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.pods.model import Pod
    from cpuctl.scheduler.node_topology import NodeTopology, Zone


class ObjectPart(NamedTuple):
    """A part of an object: an attribute, a zone, or what it says about a zone or one of its resources.

    ``name`` is that of the attribute or zone, empty for the whole object; ``figure`` is ``allocatable``,
    ``available`` or ``capacity`` of the resource or, without one, ``type`` or ``costs`` of the zone.
    """

    name: str = ""
    resource: str = ""
    figure: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))


Untrue = Diagnostic[ObjectPart]
"""A mismatch between an object and its node; its place is the part of the object."""

_UNKNOWN_AMOUNTS = "available amounts: the state files of the kubelet's managers are not recorded"
_ASSUMED = (
    "policies, resources and fingerprint: the kubelet's configuration is not recorded, and its defaults are "
    "assumed (set it with --kubelet-config FILE)"
)


def publisher_of(topology: NodeTopology) -> Publisher:
    """Return the publisher of an object, recognized by what only one of the exporters writes."""
    own = dict(topology.annotations).keys() & {FINGERPRINT_ANNOTATION, UPDATE_ANNOTATION}
    if topology.policies and topology.attribute(METHOD_ATTRIBUTE) is None and not own:
        return Publisher(PublisherName.NFD, FingerprintMethod.ALL)
    return Publisher(method=topology.fingerprint_method if topology.fingerprint else None)


def differences(published: NodeTopology, now: NodeTopology) -> Iterator[Untrue]:
    """Yield the parts of a published object that do not, or no longer, match its node.

    *now* is what an exporter would publish. Fingerprints are compared if both objects have one, by the same
    method; devices if anything is known about them.
    """
    before, after = topology_settings(published), topology_settings(now)
    for name, stated, real in (
        (POLICY_ATTRIBUTE, before.policy, after.policy),
        (SCOPE_ATTRIBUTE, before.scope, after.scope),
    ):
        if stated != real:
            message = f"the object says {stated}, but the kubelet uses {real}"
            yield Untrue(Severity.ERROR, "other-settings", ObjectPart(name), message, real, stated)
    if published.zones and all(zone.type != NUMA_ZONE for zone in published.zones):
        kinds = few(list(dict.fromkeys(zone.type for zone in published.zones)))
        message = (
            f"none is a NUMA node ({kinds}): the scheduler's plugin sees no resources and "
            "filters out every node"
        )
        yield Untrue(Severity.ERROR, "other-zones", ObjectPart("zones"), message, NUMA_ZONE, kinds)
        return
    yield from _repeated_zones(published)
    unknown = unknown_devices(published, now)
    zones = {zone.name: zone for zone in published.zones}
    for zone in now.zones:
        if zone.name in zones:
            yield from _of_zone(zones.pop(zone.name), zone, unknown)
        else:
            message = "the object has no such zone"
            yield Untrue(Severity.ERROR, "other-zones", ObjectPart(zone.name), message, zone.name)
    for name in zones:
        message = "the node has no such NUMA node"
        yield Untrue(Severity.ERROR, "other-zones", ObjectPart(name), message, detected=name)
    comparable = now.fingerprint and published.fingerprint_method is now.fingerprint_method
    if comparable and published.fingerprint and published.fingerprint != now.fingerprint:
        message = "the pods that were running then differ from those known now"
        place, real = ObjectPart(FINGERPRINT_ATTRIBUTE), now.fingerprint or ""
        yield Untrue(Severity.WARNING, "stale", place, message, real, published.fingerprint)


def _repeated_zones(published: NodeTopology) -> Iterator[Untrue]:
    """Find zones with the same name, which an API server accepts: the plugin examines each separately."""
    for name, count in Counter(zone.name for zone in published.zones).items():
        if count > 1:
            message = (
                f"the object has {count} zones with this name: the plugin accepts what fits in any of them"
            )
            yield Untrue(Severity.ERROR, "other-zones", ObjectPart(name), message, "1", str(count))


def _of_numa_limit(published: NodeTopology, kubelet: Kubelet) -> Iterator[Untrue]:
    """Compare how many NUMA nodes the kubelet allows, if the object states it: scores depend on it."""
    config, place = kubelet.config, ObjectPart(MOST_NUMA_NODES_ATTRIBUTE)
    if published.attribute(place.name) is None or config.topology_manager_policy == "none":
        return
    stated = topology_settings(published).most_numa_nodes
    options = parse_topology_options(config.topology_manager_policy_options, kubelet.gates)
    if stated != (real := options.max_allowable_numa_nodes):
        message = f"the object says {stated}, but the kubelet uses {real}: LeastNUMANodes scores by it"
        yield Untrue(Severity.WARNING, "other-settings", place, message, str(real), str(stated))


def unknown_devices(published: NodeTopology, now: NodeTopology) -> frozenset[str]:
    """Return the devices that an object lists, but that may or may not be on the node."""
    listed, known = (
        {each.name for zone in topology.zones for each in zone.resources} for topology in (published, now)
    )
    return frozenset(name for name in listed - known if "/" in name)


def _of_zone(published: Zone, now: Zone, unknown: frozenset[str]) -> Iterator[Untrue]:
    if published.type != now.type:
        message = f"the object calls it {published.type}: the scheduler's plugin ignores it"
        place = ObjectPart(now.name, figure="type")
        yield Untrue(Severity.ERROR, "other-zones", place, message, now.type, published.type)
    if dict(published.costs) != dict(now.costs):
        message = "the object has other distances"
        expected, detected = (" ".join(str(cost) for _, cost in zone.costs) for zone in (now, published))
        place = ObjectPart(now.name, figure="costs")
        yield Untrue(Severity.ERROR, "other-zones", place, message, expected, detected)
    resources = {each.name: each for each in published.resources}
    for each in now.resources:
        if each.name not in resources:
            message = "the object does not list it"
            place = ObjectPart(now.name, each.name)
            yield Untrue(Severity.ERROR, "other-zones", place, message, each.name)
            continue
        found = resources.pop(each.name)
        for figure, stated, real in (
            ("allocatable", found.allocatable, each.allocatable),
            ("available", found.available, each.available),
            ("capacity", found.capacity, each.capacity),
        ):
            if stated != real:
                lasting = figure != "available"
                severity = Severity.ERROR if lasting else Severity.WARNING
                place = ObjectPart(now.name, each.name, figure)
                message = f"the object says {stated}, an exporter would publish {real}"
                code = "other-amounts" if lasting else "stale"
                yield Untrue(severity, code, place, message, str(real), str(stated))
    for name in resources:
        if name not in unknown:
            message = "the object lists it, but an exporter would not publish it"
            place = ObjectPart(now.name, name)
            yield Untrue(Severity.ERROR, "other-zones", place, message, detected=name)


class Compared(NamedTuple):
    """The mismatches with a node, and what could not be compared."""

    findings: tuple[Untrue, ...] = ()
    missing: tuple[str, ...] = ()


class PublishedNodes(NamedTuple):
    """The objects of a fleet by name, and the running pods by node, None if unknown."""

    topologies: Mapping[str, NodeTopology]
    running: Mapping[str, Sequence[Pod]] | None = None

    def digest(self, name: str) -> str:
        """Return a text that changes with what is given about a node, or about all if it has no object."""
        if name not in self.topologies:
            return content_digest((self.topologies, self.running))[:16]
        return content_digest((self.topologies[name], (self.running or {}).get(name)))[:16]

    def compare(self, kubelet: KubeletInputs, source: str, name: str, *, assumed: bool = False) -> Compared:
        """Start the kubelet of a recording, and compare the object with what an exporter there would publish.

        If its configuration is only *assumed*, compare what does not depend on it. Raise CpuctlError if the
        recording cannot be used.
        """
        published = self.topologies.get(name)
        if published is None:
            message = "there is no object with the node's name: the scheduler's plugin lets every pod pass"
            return Compared((Untrue(Severity.WARNING, "not-published", ObjectPart(), message, name),))
        planning = NodeReader(FleetInputs(kubelet, running=self.running))(Recording(name, source))
        node = planning.start(planning.kubelet, Sources())
        if not isinstance(node, Node):
            return Compared(missing=(start_sentence(not_started_answer(node), "The kubelet"),))
        try:
            now = publish_node(name, planning, node, publisher_of(published)).topology
        except InputError as error:
            return Compared(missing=(error.message,))
        if assumed:
            return Compared(tuple(filter(_of_machine, differences(published, now))), (_ASSUMED,))
        return compared(published, now, node, planning)


def _of_machine(found: Untrue) -> bool:
    """Return whether a mismatch does not depend on the kubelet's configuration: zones do not."""
    return found.code == "other-zones" and not found.place.resource


def compared(published: NodeTopology, now: NodeTopology, node: Node, planning: Planning) -> Compared:
    """Compare an object with what an exporter would publish *now* about a node started by *planning*."""
    initial = planning.initial
    devices = unknown_devices(published, now)
    found, missing = [*differences(published, now), *_of_numa_limit(published, planning.kubelet)], []
    if devices:
        missing.append(f"devices: the node's devices are unknown: {few(sorted(devices))}")
    if not _amounts_known(node, initial):
        missing.append(_UNKNOWN_AMOUNTS)
        found = [each for each in found if each.place.figure != "available"]
    if published.fingerprint and (unknown := _unknown_pods(now, node, initial, devices)):
        missing.append(f"fingerprint: {unknown}")
        found = [each for each in found if each.place.name != FINGERPRINT_ATTRIBUTE]
    return Compared(tuple(found), tuple(missing))


def _amounts_known(node: Node, initial: StartingState) -> bool:
    """Return whether all managers' state files are there: only they show what is taken."""
    cpus = node.policy is None or CPU_FILE in initial.digests
    return cpus and (node.memory.policy is None or MEMORY_FILE in initial.digests)


def _unknown_pods(now: NodeTopology, node: Node, initial: StartingState, devices: Collection[str]) -> str:
    """Return why some of the pods covered by the fingerprint are unknown; empty if none are."""
    if now.fingerprint is None or (now.fingerprint_method is FingerprintMethod.ALL and not initial.known):
        return "the running pods are unknown (--pods FILE)"
    if now.fingerprint_method is FingerprintMethod.EXCLUSIVE:
        if devices:
            return "the devices of pods are unknown"
        if not _amounts_known(node, initial):
            return "the state files that show which pods have CPUs and memory are not recorded"
    return ""
