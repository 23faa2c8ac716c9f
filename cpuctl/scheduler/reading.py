"""Nodes and NodeResourceTopologies as ``kubectl get nodes,noderesourcetopologies -o json`` prints them."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.object_names import subdomain_problems
from cpuctl.pods.node_selection import Taint
from cpuctl.scheduler.model import NodeObject, amount_of
from cpuctl.scheduler.node_topology import API_VERSION, KIND, NodeTopology, Owner, Zone, ZoneResource

_INT64 = (1 << 63) - 1
_HINT = "create it with kubectl get nodes -o json"
_TOPOLOGY_HINT = "create it with kubectl get noderesourcetopologies -o json"


def read_nodes(data: bytes, where: str) -> tuple[NodeObject, ...]:
    """Read Nodes, alone or in lists; other objects are ignored.

    Raise InputError with file, line and path for one that an API server could not have, for duplicate names,
    and without any Node.
    """
    found: dict[str, NodeObject] = {}
    for document in load_documents(data, where):
        for each in _objects(Cursor.at_root(document), "Node"):
            node = _node(each)
            if node.name in found:
                raise each.error(f"there are two Nodes named {node.name}")
            found[node.name] = node
    if not found:
        raise InputError("contains no Nodes", where=where, hint=_HINT)
    return tuple(found.values())


def read_node_topologies(data: bytes, where: str) -> tuple[NodeTopology, ...]:
    """Read NodeResourceTopologies, alone or in lists; other objects are ignored.

    Raise InputError with file, line and path for one that an API server could not have, for duplicate names,
    and without any such object.
    """
    found: dict[str, NodeTopology] = {}
    for document in load_documents(data, where):
        for each in _objects(Cursor.at_root(document), KIND):
            topology = _topology(each)
            if topology.name in found:
                raise each.error(f"there are two NodeResourceTopologies named {topology.name}")
            found[topology.name] = topology
    if not found:
        raise InputError("contains no NodeResourceTopologies", where=where, hint=_TOPOLOGY_HINT)
    return tuple(found.values())


def _objects(cursor: Cursor, wanted: str) -> Iterator[Cursor]:
    if not isinstance(cursor.value, dict):
        return
    kind = cursor.value.get("kind")
    if kind == wanted:
        yield cursor
    elif isinstance(kind, str) and kind.endswith("List"):
        for item in cursor.optional("items", Cursor.items, []):
            # The items of a NodeList may omit their kind.
            own = item.value.get("kind", kind.removesuffix("List")) if isinstance(item.value, dict) else None
            if own == wanted:
                yield item


def _node(node: Cursor) -> NodeObject:
    metadata, spec, status = node.required("metadata"), node.get("spec"), node.required("status")
    info = status.get("nodeInfo")
    allocatable = status.required("allocatable").members()
    return NodeObject(
        name=metadata.required("name").text(),
        allocatable={name: amount_of(name, each.quantity()) for name, each in allocatable.items()},
        labels={key: value.text() for key, value in metadata.optional("labels", Cursor.members, {}).items()},
        taints=() if spec is None else tuple(map(_taint, spec.optional("taints", Cursor.items, []))),
        unschedulable=spec is not None and spec.optional("unschedulable", Cursor.boolean, False),
        kubelet_version="" if info is None else info.optional("kubeletVersion", Cursor.text, ""),
    )


def _taint(taint: Cursor) -> Taint:
    return Taint(
        key=taint.required("key").text(),
        value=taint.optional("value", Cursor.text, ""),
        effect=taint.required("effect").text(),
    )


def _topology(cursor: Cursor) -> NodeTopology:
    if version := cursor.get("apiVersion"):
        version.one_of([API_VERSION])
    metadata = cursor.required("metadata")
    name = metadata.required("name")
    if problems := subdomain_problems(name.text()):
        raise name.error(problems[0])
    return NodeTopology(
        name=name.text(),
        zones=tuple(map(_zone, cursor.required("zones").items())),
        attributes=_named(cursor, "attributes"),
        policies=cursor.optional("topologyPolicies", Cursor.texts, ()),
        annotations=tuple(
            (key, value.text()) for key, value in metadata.optional("annotations", Cursor.members, {}).items()
        ),
        owner=next(map(_owner, metadata.optional("ownerReferences", Cursor.items, [])), None),
    )


def _owner(reference: Cursor) -> Owner:
    return Owner(*(reference.required(key).text() for key in ("apiVersion", "kind", "name", "uid")))


def _zone(zone: Cursor) -> Zone:
    return Zone(
        name=zone.required("name").text(),
        type=zone.required("type").text(),
        resources=tuple(map(_zone_resource, zone.optional("resources", Cursor.items, []))),
        costs=tuple(
            (
                cost.required("name").text(),
                _int64(cost.required("value")),
            )
            for cost in zone.optional("costs", Cursor.items, [])
        ),
        attributes=_named(zone, "attributes"),
        parent=zone.optional("parent", Cursor.text, ""),
    )


def _int64(value: Cursor) -> int:
    return value.integer(minimum=-_INT64 - 1, maximum=_INT64)


def _zone_resource(resource: Cursor) -> ZoneResource:
    amounts = (resource.required(key).quantity() for key in ("capacity", "allocatable", "available"))
    return ZoneResource(resource.required("name").text(), *amounts)


def _named(cursor: Cursor, key: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (each.required("name").text(), each.required("value").text())
        for each in cursor.optional(key, Cursor.items, [])
    )
