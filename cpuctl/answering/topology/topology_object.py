"""NodeResourceTopologies as input of ``kubectl apply -f -``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cpuctl.scheduler.node_topology import API_VERSION, KIND, NodeTopology, Zone


def topologies_document(topologies: Sequence[NodeTopology]) -> dict[str, Any]:
    """Write one object, or a List of several; quantities are strings, as an API server stores them."""
    objects = [topology_document(each) for each in topologies]
    if len(objects) == 1:
        return objects[0]
    return {"apiVersion": "v1", "kind": "List", "items": objects}


def topology_document(topology: NodeTopology) -> dict[str, Any]:
    """Write one object; leave out empty values, as Go does."""
    metadata: dict[str, Any] = {"name": topology.name}
    if topology.annotations:
        metadata["annotations"] = dict(topology.annotations)
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        **({"topologyPolicies": list(topology.policies)} if topology.policies else {}),
        **({"attributes": _named(topology.attributes)} if topology.attributes else {}),
        "zones": [_zone(each) for each in topology.zones],
    }


def _zone(zone: Zone) -> dict[str, Any]:
    resources = [
        {
            "name": each.name,
            "capacity": str(each.capacity),
            "allocatable": str(each.allocatable),
            "available": str(each.available),
        }
        for each in zone.resources
    ]
    return {
        "name": zone.name,
        "type": zone.type,
        **({"costs": _named(zone.costs)} if zone.costs else {}),
        **({"resources": resources} if resources else {}),
    }


def _named(pairs: Iterable[tuple[str, object]]) -> list[dict[str, object]]:
    return [{"name": name, "value": value} for name, value in pairs]
