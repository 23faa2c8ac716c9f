"""The references of a pod's spec to resources of its containers, as the downward API resolves them."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.documents.cursor import Cursor
from cpuctl.pods.model import ResourceFieldRef
from cpuctl.quantity import Quantity

_NOTHING = Quantity()


def read_field_refs(spec: Cursor) -> tuple[ResourceFieldRef, ...]:
    """Read those of variables, init containers' first, then those of volumes.

    Raise InputError with file, line and path for what an API server could not decode.
    """
    return (*_variables(spec, "initContainers"), *_variables(spec, "containers"), *_files(spec))


def _variables(spec: Cursor, group: str) -> Iterator[ResourceFieldRef]:
    for container in _list(spec, group):
        for variable in _list(container, "env"):
            source = variable.get("valueFrom")
            ref = None if source is None else source.get("resourceFieldRef")
            if ref is not None:
                yield _ref(ref)._replace(
                    name=variable.optional("name", Cursor.text, ""), reader=container.required("name").text()
                )


def _files(spec: Cursor) -> Iterator[ResourceFieldRef]:
    for volume in _list(spec, "volumes"):
        own, projected = volume.get("downwardAPI"), volume.get("projected")
        if own is not None:
            yield from _items(volume, own, projected=False)
        for source in _list(projected, "sources") if projected is not None else ():
            part = source.get("downwardAPI")
            if part is not None:
                yield from _items(volume, part, projected=True)


def _items(volume: Cursor, source: Cursor, *, projected: bool) -> Iterator[ResourceFieldRef]:
    for item in _list(source, "items"):
        ref = item.get("resourceFieldRef")
        if ref is not None:
            yield _ref(ref)._replace(
                name=item.optional("path", Cursor.text, ""),
                volume=volume.optional("name", Cursor.text, ""),
                projected=projected,
            )


def _ref(ref: Cursor) -> ResourceFieldRef:
    return ResourceFieldRef(
        resource=ref.optional("resource", Cursor.text, ""),
        container=ref.optional("containerName", Cursor.text, ""),
        divisor=ref.optional("divisor", Cursor.quantity, _NOTHING),
        name="",
    )


def _list(parent: Cursor, key: str) -> list[Cursor]:
    below = parent.get(key)
    return [] if below is None else below.items()
