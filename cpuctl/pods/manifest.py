"""The manifest behind a pod: what the model of a pod leaves out still stands there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from cpuctl.pods.model import Pod
from cpuctl.records import Record

_TEMPLATE = ("spec", "template", "spec")
_SPECS = {"": ("spec",), "CronJob": ("spec", "jobTemplate", *_TEMPLATE)}


class _Document(Protocol):
    @property
    def value(self) -> object: ...


class _Origin(Protocol):
    """Where a pod was read, as far as it is looked at here: a document, and the way to the pod in it."""

    @property
    def document(self) -> _Document: ...
    @property
    def path(self) -> tuple[str | int, ...]: ...


class Manifest(Record):
    """What the manifest says about a pod; for a workload's pod, ``metadata`` is empty: it is not written."""

    metadata: Mapping[str, object]
    spec: Mapping[str, object]


def ephemeral_names(pod: Pod) -> tuple[str, ...]:
    """Name the ephemeral containers of a pod, which its model leaves out: they have no resources."""
    written = manifest_of(pod)
    listed = written.spec.get("ephemeralContainers") if written is not None else None
    items = listed if isinstance(listed, list) else []
    return tuple(
        name for each in items if isinstance(each, dict) and isinstance(name := each.get("name"), str)
    )


def manifest_of(pod: Pod) -> Manifest | None:
    """Return what a pod was read from; None for one that comes from elsewhere."""
    kind = pod.owner.partition("/")[0]
    if isinstance(pod.origin, str):
        return None
    origin = cast("_Origin", pod.origin)
    value: object = origin.document.value
    for step in origin.path:
        value = value[step]  # type: ignore[index]  # the pod was read at this very path
    spec = value
    # The pods of custom resources, whose kinds are reported with their groups, are in their templates.
    for name in ("spec",) if "." in kind else _SPECS.get(kind, _TEMPLATE):
        spec = cast("Mapping[str, object]", spec)[name]
    metadata = {} if kind else cast("Mapping[str, object]", value)["metadata"]
    return Manifest(cast("Mapping[str, object]", metadata), cast("Mapping[str, object]", spec))


def owner_of(pod: Pod) -> str | None:
    """Return what recreates a pod, as ``Kind/name``: empty for nothing, None for a pod without a manifest.

    A pod as ``kubectl get`` prints it names its controller; kinds of others have their group.
    """
    written = manifest_of(pod)
    if pod.owner or written is None:
        return pod.owner or None
    references = written.metadata.get("ownerReferences")
    for each in references if isinstance(references, list) else ():
        if isinstance(each, dict) and each.get("controller") is True:
            group = str(each.get("apiVersion")).rpartition("/")[0]
            own = group not in ("", "apps", "batch")
            return f"{each.get('kind')}{f'.{group}' if own else ''}/{each.get('name')}"
    return ""


def is_of_deployment(pod: Pod) -> bool:
    """Return whether a pod as ``kubectl get`` prints it has the label that Deployments set on their pods."""
    written = manifest_of(pod)
    labels = written.metadata.get("labels") if written is not None else None
    return isinstance(labels, dict) and "pod-template-hash" in labels
