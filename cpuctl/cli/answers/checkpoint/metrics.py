"""Metrics of state files for node-exporter's textfile collector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from cpuctl.cli.answers.gauge import gauge
from cpuctl.cli.output import Document

_TABLE = {
    "total": "total",
    "systemReserved": "system_reserved",
    "allocatable": "allocatable",
    "reserved": "reserved",
    "free": "free",
}


def with_metrics(document: Document) -> Document:
    """Add to a dump what a monitoring system may want of it."""
    return {**document, "metrics": list(_metrics(document))}


def with_verdict_metrics(document: Document) -> Document:
    """Add to a verdict whether the kubelet would start, and what was found."""
    starts = document["start"]["outcome"] == "Started"
    metrics = [
        _gauge("starts", "Whether the kubelet would start on its state files.", {}, int(starts)),
        *(
            _gauge("findings", "What is wrong with the state files.", {"severity": severity}, count)
            for severity, count in document["summary"].items()
        ),
    ]
    return {**document, "metrics": metrics}


def _metrics(document: Document) -> Iterator[dict[str, Any]]:
    for file in document["files"]:
        labels = {"file": file["file"]}
        known = labels | {"format": file["format"], "policy": file["policy"] or ""}
        yield _gauge("info", "Format and policy of a state file of the kubelet.", known, 1)
        right = all(each["ok"] for each in file["checksums"])
        yield _gauge("checksums_ok", "Whether all checksums of the file are right.", labels, int(right))
    yield from _of_cpus(document.get("cpus"))
    yield from _of_memory(document.get("memory"))
    yield from _of_devices(document.get("devices"))
    for claim in document.get("claims", ()):
        labels = {"namespace": claim["namespace"], "claim": claim["claim"]}
        yield _gauge("claim_devices", "Devices of a prepared claim.", labels, len(claim["devices"]))


def _of_devices(devices: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    if devices is None:
        return
    for each in devices["registered"]:
        labels = {"resource": each["resource"]}
        yield _gauge("registered_devices", "Healthy devices that a plugin told.", labels, each["devices"])
    for holder in devices["holders"]:
        labels = _owner(holder) | {"resource": holder["resource"]}
        yield _gauge("container_devices", "Devices that a container holds.", labels, len(holder["devices"]))


def _of_cpus(cpus: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    if cpus is None:
        return
    yield _gauge("shared_cpus", "CPUs in the shared pool.", {}, cpus["sharedCPUs"])
    yield _gauge("exclusive_cpus", "CPUs that somebody holds exclusively.", {}, cpus["exclusiveCPUs"])
    gone = sum(holder["owner"] in ("podGone", "containerGone") for holder in cpus["holders"])
    yield _gauge("gone_owners", "Entries whose pod or container does not run (with --pods).", {}, gone)
    for holder in cpus["holders"]:
        if holder["holding"] == "container":
            help_ = "CPUs that a container holds exclusively."
            yield _gauge("container_cpus", help_, _owner(holder), holder["count"])


def _of_memory(memory: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    if memory is None:
        return
    for node in memory["numaNodes"]:
        for table in node["resources"]:
            for member, kind in _TABLE.items():
                labels = {"numa_node": str(node["numaNode"]), "resource": table["resource"], "kind": kind}
                yield _gauge("numa_memory_bytes", "The Memory Manager's tables.", labels, table[member])
    amounts: Counter[tuple[tuple[str, str], ...]] = Counter()
    for holder in memory["holders"]:
        for block in holder["blocks"]:
            if holder["holding"] == "container":
                labels = _owner(holder) | {"numa_nodes": block["numaNodes"], "resource": block["resource"]}
                amounts[tuple(labels.items())] += block["bytes"]
    for series, amount in amounts.items():
        help_ = "Memory that is set aside for a container."
        yield _gauge("container_memory_bytes", help_, dict(series), amount)


def _owner(holder: Mapping[str, Any]) -> dict[str, str]:
    return {
        "namespace": holder["namespace"] or "",
        "pod": holder["pod"] or "",
        "uid": holder["podUID"],
        "container": holder["container"] or holder.get("containerID") or "",
    }


def _gauge(name: str, help_: str, labels: Mapping[str, str], value: int) -> dict[str, Any]:
    return gauge(f"checkpoint_{name}", help_, labels, value)
