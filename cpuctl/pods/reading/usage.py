"""The memory usage of pods: from a custom list, or from the metrics API."""

from __future__ import annotations

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents

_METRICS = ("PodMetrics", "PodMetricsList")


def decode_usage(text: str | bytes, source: str) -> dict[str, int]:
    """Return bytes by ``namespace/name``; raise InputError with the location of an invalid value.

    A text is either a mapping ``[namespace/]name: amount``, or a PodMetrics object or a list of them, as
    ``kubectl get podmetrics -A -o json`` prints it.
    """
    usage: dict[str, int] = {}
    for document in load_documents(text, source):
        cursor = Cursor.at_root(document)
        if "kind" in cursor.members():
            usage |= _of_metrics(cursor)
        else:
            usage |= {_full_name(name): amount.quantity().value for name, amount in cursor.members().items()}
    return usage


def _full_name(name: str) -> str:
    return name if "/" in name else f"default/{name}"


def _of_metrics(cursor: Cursor) -> dict[str, int]:
    kind = cursor.required("kind").text()
    if kind == "PodMetrics":
        return _of_pod(cursor)
    if kind not in ("List", "PodMetricsList"):
        hint = "write namespace/name: amount, or use the output of kubectl get podmetrics -A -o json"
        raise cursor.required("kind").expected(f"one of {', '.join(_METRICS)}", hint=hint)
    usage: dict[str, int] = {}
    for item in cursor.required("items").items():
        usage |= _of_pod(item)
    return usage


def _of_pod(metrics: Cursor) -> dict[str, int]:
    metadata = metrics.required("metadata")
    namespace = metadata.optional("namespace", Cursor.text, "default")
    containers = metrics.required("containers").items()
    total = sum(each.required("usage").required("memory").quantity().value for each in containers)
    return {f"{namespace}/{metadata.required('name').text()}": total}
