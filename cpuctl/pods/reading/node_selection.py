"""A pod's constraints on its node, read from its spec."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.documents.cursor import Cursor
from cpuctl.pods.node_selection import NodeSelection, Requirement, Term, Toleration

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def decode_node_selection(spec: Cursor) -> NodeSelection | None:
    """Return node selector, node affinity and tolerations; None without any of them.

    Raise InputError with file, line and path for a value that an API server could not decode.
    """
    affinity = spec.get("affinity")
    node = affinity.get("nodeAffinity") if affinity is not None else None
    found = NodeSelection(
        selector=spec.optional("nodeSelector", _labels, {}),
        required=None if node is None else node.optional(_REQUIRED, _required, None),
        preferred=() if node is None else tuple(_preferred(node)),
        tolerations=tuple(_toleration(each) for each in spec.optional("tolerations", Cursor.items, [])),
    )
    return None if found == NodeSelection() else found


def _labels(labels: Cursor) -> dict[str, str]:
    return {key: value.text() for key, value in labels.members().items()}


def _required(selector: Cursor) -> tuple[Term, ...]:
    return tuple(_term(each) for each in selector.required("nodeSelectorTerms").items())


def _preferred(node: Cursor) -> Iterator[tuple[int, Term]]:
    for each in node.optional(_PREFERRED, Cursor.items, []):
        yield each.required("weight").integer(), _term(each.required("preference"))


def _term(term: Cursor) -> Term:
    return Term(
        labels=tuple(_requirement(each) for each in term.optional("matchExpressions", Cursor.items, [])),
        fields=tuple(_requirement(each) for each in term.optional("matchFields", Cursor.items, [])),
    )


def _requirement(requirement: Cursor) -> Requirement:
    return Requirement(
        key=requirement.required("key").text(),
        operator=requirement.required("operator").text(),
        values=requirement.optional("values", Cursor.texts, ()),
    )


def _toleration(toleration: Cursor) -> Toleration:
    return Toleration(
        key=toleration.optional("key", Cursor.text, ""),
        operator=toleration.optional("operator", Cursor.text, "") or "Equal",
        value=toleration.optional("value", Cursor.text, ""),
        effect=toleration.optional("effect", Cursor.text, ""),
    )
