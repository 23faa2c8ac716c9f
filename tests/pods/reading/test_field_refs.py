"""References to resources."""

from __future__ import annotations

import pytest

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.pods.model import ResourceFieldRef
from cpuctl.pods.reading.pods import decode_spec
from cpuctl.quantity import Quantity

SPEC = """
initContainers: [{name: first, env: [{name: A, value: x}, {name: B, valueFrom: {fieldRef: {fieldPath: a}}}]}]
containers:
- name: app
  env: [{name: M, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]
volumes:
- {name: none, emptyDir: {}}
- name: own
  downwardAPI:
    items:
    - {path: labels, fieldRef: {fieldPath: metadata.labels}}
    - {path: cpus, resourceFieldRef: {containerName: app, resource: assigned.cpuset}}
- name: many
  projected:
    sources:
    - {secret: {name: s}}
    - downwardAPI: {items: [{path: a/b, resourceFieldRef: {containerName: first, resource: limits.cpu}}]}
"""


def refs(text: str) -> tuple[ResourceFieldRef, ...]:
    (document,) = load_documents(text, "pod.yaml")
    return decode_spec(Cursor.at_root(document)).field_refs


def test_variables_and_files() -> None:
    nothing = Quantity()
    assert refs(SPEC) == (
        ResourceFieldRef(
            "limits.memory",
            "",
            Quantity.parse("1Mi"),
            "M",
            reader="app",
        ),
        ResourceFieldRef(
            "assigned.cpuset",
            "app",
            nothing,
            "cpus",
            volume="own",
        ),
        ResourceFieldRef(
            "limits.cpu",
            "first",
            nothing,
            "a/b",
            volume="many",
            projected=True,
        ),
    )
    assert [each.owner for each in refs(SPEC)] == ["app", "app", "first"]
    assert [each.in_file for each in refs(SPEC)] == [False, True, True]


def test_an_invalid_divisor() -> None:
    with pytest.raises(InputError, match="x"):
        refs(SPEC.replace("1Mi", "x"))
