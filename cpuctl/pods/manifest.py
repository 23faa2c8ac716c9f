"""The manifest behind a pod, with the fields that the model of a pod leaves out."""

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
    """Where a pod was read, as far as needed here: a document and the path of the pod in it."""

    @property
    def document(self) -> _Document: ...
    @property
    def path(self) -> tuple[str | int, ...]: ...


class Manifest(Record):
    """A pod's part of the manifest; a workload's pod has no ``metadata`` and no ``status`` there."""

    metadata: Mapping[str, object]
    spec: Mapping[str, object]
    status: Mapping[str, object] = {}


def ephemeral_names(pod: Pod) -> tuple[str, ...]:
    """Return the names of a pod's ephemeral containers, which its model omits: they have no resources."""
    written = manifest_of(pod)
    listed = written.spec.get("ephemeralContainers") if written is not None else None
    items = listed if isinstance(listed, list) else []
    return tuple(
        name for each in items if isinstance(each, dict) and isinstance(name := each.get("name"), str)
    )


def manifest_of(pod: Pod) -> Manifest | None:
    """Return the manifest that a pod was read from; None for one from another source."""
    kind = pod.owner.partition("/")[0]
    if isinstance(pod.origin, str):
        return None
    origin = cast("_Origin", pod.origin)
    value: object = origin.document.value
    for step in origin.path:
        value = value[step]  # type: ignore[index]  # the pod was read at this very path
    spec = value
    # The origin of a custom resource's pod, whose kind includes its group, is the pod template.
    for name in ("spec",) if "." in kind else _SPECS.get(kind, _TEMPLATE):
        spec = cast("Mapping[str, object]", spec)[name]
    whole = {"metadata": {}} if kind else cast("Mapping[str, object]", value)
    status = whole.get("status") or {}
    return Manifest(
        cast("Mapping[str, object]", whole["metadata"]),
        cast("Mapping[str, object]", spec),
        cast("Mapping[str, object]", status),
    )


def owner_of(pod: Pod) -> str | None:
    """Return the controller that recreates a pod, as ``Kind/name``; empty if none, None without a manifest.

    A pod as ``kubectl get`` prints it names its controller; kinds of custom controllers include their group.
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


def status_reason(pod: Pod) -> str:
    """Return why a pod has its phase, such as SMTAlignmentError; empty if its status does not say."""
    written = manifest_of(pod)
    reason = written.status.get("reason") if written is not None else None
    return reason if isinstance(reason, str) else ""


def is_of_deployment(pod: Pod) -> bool:
    """Return whether a pod as ``kubectl get`` prints it has the label that Deployments set on their pods."""
    written = manifest_of(pod)
    labels = written.metadata.get("labels") if written is not None else None
    return isinstance(labels, dict) and "pod-template-hash" in labels
