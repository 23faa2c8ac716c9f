"""Whether a pod's affinity looks at pods of other namespaces, which quotas can count.

Rule: ``pkg/quota/v1/evaluator/core/pods.go`` of 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.documents.cursor import Cursor

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def crosses_namespaces(affinity: Cursor) -> bool:
    """Tell whether a term of ``podAffinity`` or ``podAntiAffinity`` names namespaces or selects them."""
    groups = (affinity.get("podAffinity"), affinity.get("podAntiAffinity"))
    terms = [term for group in groups if group is not None for term in _terms(group)]
    return any(
        term.get("namespaceSelector") is not None or term.optional("namespaces", Cursor.items, [])
        for term in terms
    )


def _terms(group: Cursor) -> Iterator[Cursor]:
    yield from group.optional(_REQUIRED, Cursor.items, [])
    for weighted in group.optional(_PREFERRED, Cursor.items, []):
        yield weighted.required("podAffinityTerm")
