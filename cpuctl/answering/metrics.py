"""cpuctl's own metrics for monitoring systems: of plans, audits and state files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from cpuctl.diagnostics import SEVERITIES
from cpuctl.engine.metrics import samples
from cpuctl.engine.node import Node
from cpuctl.visible_text import printable

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers
    from cpuctl.answers.audit import Audit
    from cpuctl.answers.capacity import Capacity, Fragmentation, Scatter
    from cpuctl.answers.plan import NotStartedPlan, StartedPlan
    from cpuctl.answers.values import Metric


def gauge(name: str, help_: str, labels: Mapping[str, str], value: int) -> Metric:
    """Describe a sample; all samples of one name have the same labels."""
    return {
        "name": f"cpuctl_{name}",
        "help": help_,
        "type": "gauge",
        # Names in files are untrusted: none may control a terminal.
        "labels": {label: printable(text) for label, text in labels.items()},
        "value": value,
    }


def metrics_answer(node: Node) -> list[Metric]:
    """List the current values of the kubelet's own series."""
    return [
        {
            "name": sample.name,
            "type": sample.kind,
            "help": sample.help,
            "labels": dict(sample.labels),
            "value": sample.value,
        }
        for sample in samples(node)
    ]


def plan_metrics(plan: StartedPlan | NotStartedPlan) -> Iterator[Metric]:
    """List a plan's metrics: whether the kubelet starts, how many copies of its pods and what else fit."""
    labels = {"outcome": plan["start"]["outcome"]}
    yield gauge("plan_start", "Whether the kubelet would start.", labels, 1)
    if "node" not in plan:
        return
    yield from plan.get("metrics", ())
    if "repeat" in plan and (fitted := plan["repeat"]["fitted"]) is not None:
        yield gauge("plan_copies", "Copies of all pods that fit (--repeat).", {}, fitted)
    if "capacity" in plan:
        yield from _of_headroom(plan["capacity"])


def _of_headroom(capacity: Capacity) -> Iterator[Metric]:
    for copies in capacity["copies"]:
        labels = {"pod": copies["pods"][0]}
        if (fits := copies["fits"]) is not None:
            yield gauge("plan_more_copies", "Further copies of a pod that fit.", labels, fits)
    for largest in capacity["largestRequests"]:
        if "cpus" in largest:
            labels = {"topology_policy": largest["topologyManagerPolicy"]}
            help_ = "The largest request of exclusive CPUs that fits."
            yield gauge("plan_largest_request_cpus", help_, labels, largest["cpus"])
    for node in capacity["numaNodes"]:
        labels = {"numa_node": str(node["id"])}
        yield gauge("plan_free_cpus", "CPUs still free for exclusive use.", labels, node["free"])
        help_ = "The largest request of exclusive CPUs that fits into a NUMA node."
        yield gauge("plan_largest_inside_cpus", help_, labels, node["largest"])
    if capacity["fragmentation"]:
        yield from _of_fragmentation(capacity["fragmentation"])


def _of_fragmentation(fragmentation: Fragmentation) -> Iterator[Metric]:
    levels: dict[str, Scatter | None] = {
        "core": fragmentation["core"],
        "uncoreCache": fragmentation["uncoreCache"],
        "numaNode": fragmentation["numaNode"],
    }
    for name, scatter in levels.items():
        if scatter:
            help_ = "Percentage of free CPUs that could be in one block but are not."
            yield gauge("plan_fragmentation_percent", help_, {"of": name}, scatter["percent"])


def audit_metrics(audit: Audit) -> Iterator[Metric]:
    """List an audit's findings; unavailable data has no sample, because 0 would be a result."""
    summary = audit["summary"]
    for severity in SEVERITIES:
        help_ = "Findings by severity."
        yield gauge("audit_findings", help_, {"severity": severity}, summary[severity])
    codes = Counter((each["code"], each["severity"]) for each in audit["findings"])
    for (code, severity), count in sorted(codes.items()):
        labels = {"code": code, "severity": severity}
        yield gauge("audit_findings_by_code", "Findings by code.", labels, count)
    for what in ("containers", "threads", "interrupts"):
        if (checked := summary[what]) is not None:
            yield gauge("audit_checked", "Number of objects that were checked.", {"what": what}, checked)
    help_ = "Checks that were skipped because their input was missing."
    silent = {name for each in audit["unchecked"] for name in each["checks"]}
    yield gauge("audit_unchecked", help_, {}, len(silent))
    yield gauge("audit_unreadable", "Inputs that exist but could not be read.", {}, len(audit["unreadable"]))
    for container in audit["containers"]:
        if container["verdict"] == "not checked":
            continue
        owner = {
            "namespace": container["namespace"] or "",
            "pod": container["pod"] or "",
            "container": container["container"] or "",
            "path": container["path"],
        }
        right = int(container["verdict"] == "ok")
        yield gauge("audit_container_ok", "Whether a container has what its kubelet expects.", owner, right)


_TABLE: Final = ("total", "systemReserved", "allocatable", "reserved", "free")
_KINDS = {"systemReserved": "system_reserved"}


def add_metrics(document: answers.CheckpointDump) -> None:
    """Add the metrics of a dump for monitoring systems."""
    document["metrics"] = list(_metrics(document))


def add_verdict_metrics(document: answers.CheckpointVerify) -> None:
    """Add the metrics of a verdict: whether the kubelet would start, and the findings."""
    outcome = document["start"]["outcome"]
    # An unknown start is neither: a sample of 0 would raise an alert.
    unknown = outcome == "Undetermined"
    help_ = "Whether the kubelet would start with its state files; absent if unknown."
    starts = _gauge("starts", help_, {}, int(outcome == "Started"))
    summary = document["summary"]
    document["metrics"] = [
        *([] if unknown else [starts]),
        *(
            _gauge("findings", "Findings about the state files.", {"severity": each}, summary[each])
            for each in SEVERITIES
        ),
    ]


def _metrics(document: answers.CheckpointDump) -> Iterator[Metric]:
    for file in document["files"]:
        labels: dict[str, str] = {"file": file["file"]}
        known = labels | {"format": file["format"], "policy": file["policy"] or ""}
        yield _gauge("info", "Format and policy of one of the kubelet's state files.", known, 1)
        right = all(each["ok"] for each in file["checksums"])
        yield _gauge("checksums_ok", "Whether all checksums of the file are correct.", labels, int(right))
    yield from _of_cpus(document.get("cpus"))
    yield from _of_memory(document.get("memory"))
    yield from _of_devices(document.get("devices"))
    for claim in document.get("claims", ()):
        labels = {"namespace": claim["namespace"], "claim": claim["claim"]}
        yield _gauge("claim_devices", "Devices of a prepared claim.", labels, len(claim["devices"]))


def _of_devices(devices: answers.HeldDevices | None) -> Iterator[Metric]:
    if devices is None:
        return
    for each in devices["registered"]:
        labels = {"resource": each["resource"]}
        yield _gauge(
            "registered_devices", "Healthy devices that a device plugin reported.", labels, each["devices"]
        )
    for holder in devices["holders"]:
        labels = _owner(holder) | {"resource": holder["resource"]}
        yield _gauge("container_devices", "Devices that a container holds.", labels, len(holder["devices"]))


def _of_cpus(cpus: answers.HeldCPUs | None) -> Iterator[Metric]:
    if cpus is None:
        return
    yield _gauge("shared_cpus", "CPUs in the shared pool.", {}, cpus["sharedCPUs"])
    yield _gauge("exclusive_cpus", "CPUs that are held exclusively.", {}, cpus["exclusiveCPUs"])
    gone = sum(holder["owner"] in ("podGone", "containerGone") for holder in cpus["holders"])
    yield _gauge("gone_owners", "Entries whose pod or container is not running (with --pods).", {}, gone)
    for holder in cpus["holders"]:
        if holder["holding"] == "container":
            help_ = "CPUs that a container holds exclusively."
            labels = _owner(holder, holder.get("containerID", ""))
            yield _gauge("container_cpus", help_, labels, holder["count"])


def _of_memory(memory: answers.HeldMemory | None) -> Iterator[Metric]:
    if memory is None:
        return
    for node in memory["numaNodes"]:
        for table in node["resources"]:
            for member in _TABLE:
                kind = _KINDS.get(member, member)
                labels = {"numa_node": str(node["numaNode"]), "resource": table["resource"], "kind": kind}
                yield _gauge("numa_memory_bytes", "The Memory Manager's tables.", labels, table[member])
    amounts: Counter[tuple[tuple[str, str], ...]] = Counter()
    for holder in memory["holders"]:
        for block in holder["blocks"]:
            if holder["holding"] == "container":
                labels = _owner(holder) | {"numa_nodes": block["numaNodes"], "resource": block["resource"]}
                amounts[tuple(labels.items())] += block["bytes"]
    for series, amount in amounts.items():
        help_ = "Memory that is allocated to a container."
        yield _gauge("container_memory_bytes", help_, dict(series), amount)


def _owner(holder: answers.Owner, container_id: str = "") -> dict[str, str]:
    return {
        "namespace": holder["namespace"] or "",
        "pod": holder["pod"] or "",
        "uid": holder["podUID"],
        "container": holder["container"] or container_id,
    }


def _gauge(name: str, help_: str, labels: Mapping[str, str], value: int) -> Metric:
    return gauge(f"checkpoint_{name}", help_, labels, value)
