"""Node objects as ``kubectl get nodes -o json`` writes them."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.pods.node_selection import Taint
from cpuctl.scheduler.model import NodeObject, amount_of

_HINT = "kubectl get nodes -o json writes them"


def read_nodes(data: bytes, where: str) -> tuple[NodeObject, ...]:
    """Read Nodes, alone or in lists; other objects do not count.

    Raise InputError with file, line and path for one that an API server could not have, for two of one name,
    and where there is none.
    """
    found: dict[str, NodeObject] = {}
    for document in load_documents(data, where):
        for each in _nodes(Cursor.at_root(document)):
            node = _node(each)
            if node.name in found:
                raise each.error(f"two Nodes are called {node.name}")
            found[node.name] = node
    if not found:
        raise InputError("holds no Nodes", where=where, hint=_HINT)
    return tuple(found.values())


def _nodes(cursor: Cursor) -> Iterator[Cursor]:
    if not isinstance(cursor.value, dict):
        return
    kind = cursor.value.get("kind")
    if kind == "Node":
        yield cursor
    elif isinstance(kind, str) and kind.endswith("List"):
        for item in cursor.optional("items", Cursor.items, []):
            # The items of a NodeList may do without a kind of their own.
            if (
                isinstance(item.value, dict)
                and item.value.get("kind", "Node" if kind == "NodeList" else "") == "Node"
            ):
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
