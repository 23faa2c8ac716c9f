"""Devices in the kubelet's record (``kubelet_internal_checkpoint``), compared with what pods request.

Rule: kubernetes ``pkg/kubelet/cm/devicemanager``: the file is written when devices are allocated and when a
plugin reports others; devices of removed pods are released when the next pod is admitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.audit.commands import delete_pod
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.kubelet_state import is_gone
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.cgroups.owners import Owner
from cpuctl.checkpoints.model import DeviceEntry, DevicesStateFile
from cpuctl.diagnostics import Severity
from cpuctl.phrases import all_of, few
from cpuctl.pods.model import Container, ContainerKind, StoredPod
from cpuctl.state_names import DEVICES_FILE


def check_devices(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Compare the recorded devices with the pods, and with each other."""
    state = snapshot.state
    if state.devices_problem:
        yield Finding(
            severity=Severity.WARNING,
            code="devices-unusable",
            place=NodePart(DEVICES_FILE),
            message=f"a restarted kubelet would treat every device as free: {state.devices_problem}",
            fix="cpuctl checkpoint verify",
        )
    if state.devices is None:
        return
    yield from _gone(snapshot, state.devices)
    yield from _counts(snapshot, state.devices)
    yield from _unregistered(snapshot, state.devices)
    yield from _twice(snapshot, state.devices)


def _gone(snapshot: NodeSnapshot, devices: DevicesStateFile) -> Iterator[Finding]:
    """Report devices that are recorded for removed pods."""
    for entry in devices.entries:
        if is_gone(snapshot, entry.pod_uid, snapshot.pods.get(entry.pod_uid)):
            yield Finding(
                severity=Severity.NOTE,
                code="stale-devices",
                place=NodePart(_subject(snapshot, entry), _owner(snapshot, entry)),
                message=f"{few(entry.names)} of {entry.resource} are recorded for this container, but the "
                "pod is gone: they are released when the next pod is admitted (kubernetes issue 137010)",
                expected="no entry",
                detected=few(entry.names),
            )


def _counts(snapshot: NodeSnapshot, devices: DevicesStateFile) -> Iterator[Finding]:
    """Report containers that have another number of devices than they request, or none."""
    held = {(each.pod_uid, each.container, each.resource): each for each in devices.entries}
    resources = {each.resource for each in devices.entries} | devices.registered.keys()
    for uid, pod in snapshot.pods.items():
        if pod.terminal or not (uid in snapshot.uids or not snapshot.groups):
            continue
        for container in pod.all_containers:
            for resource in sorted(resources):
                requested, entry = _requested(container, resource), held.get((uid, container.name, resource))
                count = len(entry.names) if entry else 0
                if requested != count and (entry or container.kind is not ContainerKind.INIT):
                    yield _other_count(pod, container, resource, requested, count)


def _other_count(pod: StoredPod, container: Container, resource: str, requested: int, count: int) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        code="devices-differ",
        place=NodePart.in_pod(pod, pod.uid, container.name),
        message=f"the container requests {requested} of {resource}, but {count or 'none'} are recorded: "
        "after a restart the kubelet may give its devices to others, or not admit it again",
        expected=str(requested),
        detected=str(count),
        fix=delete_pod(pod),
    )


def _requested(container: Container, resource: str) -> int:
    amount = container.resources.requests.get(resource) or container.resources.limits.get(resource)
    return amount.value if amount is not None else 0


def _unregistered(snapshot: NodeSnapshot, devices: DevicesStateFile) -> Iterator[Finding]:
    """Report devices that are assigned but that their plugin no longer has."""
    for entry in devices.entries:
        known = devices.registered.get(entry.resource)
        lost = [] if known is None else sorted(set(entry.names) - set(known))
        if lost and not is_gone(snapshot, entry.pod_uid, snapshot.pods.get(entry.pod_uid)):
            yield Finding(
                severity=Severity.NOTE,
                code="device-unregistered",
                place=NodePart(_subject(snapshot, entry), _owner(snapshot, entry)),
                message=f"the container holds {few(lost)} of {entry.resource}, unhealthy according to the "
                "plugin: a restarted kubelet keeps the pod, but gives these devices to no one",
                detected=few(lost),
            )


def _twice(snapshot: NodeSnapshot, devices: DevicesStateFile) -> Iterator[Finding]:
    """Report devices that are recorded for two pods, or for two containers of a pod that run together."""
    holders: dict[tuple[str, str], list[DeviceEntry]] = {}
    for entry in devices.entries:
        for name in entry.names:
            holders.setdefault((entry.resource, name), []).append(entry)
    for (resource, name), entries in sorted(holders.items()):
        together = [each for each in entries if not _is_init(snapshot.pods, each)]
        if len({each.pod_uid for each in entries}) > 1 or len(together) > 1:
            names = all_of(_subject(snapshot, each) for each in entries)
            yield Finding(
                severity=Severity.ERROR,
                code="device-held-twice",
                place=NodePart(f"{resource} {name}"),
                message=f"{names} are {'both' if len(entries) == 2 else 'all'} recorded as holding it",
                expected="one holder",
                detected=str(len(entries)),
                fix=_delete_last(snapshot, entries),
            )


def _delete_last(snapshot: NodeSnapshot, entries: list[DeviceEntry]) -> str:
    """Write the command that ends the last known holder: the next pod gets other devices."""
    pods = [pod for each in entries if (pod := snapshot.pods.get(each.pod_uid))]
    return delete_pod(pods[-1]) if pods else ""


def _is_init(pods: Mapping[str, StoredPod], entry: DeviceEntry) -> bool:
    pod = pods.get(entry.pod_uid)
    inits = pod.init_containers if pod else ()
    return any(each.name == entry.container and each.kind is ContainerKind.INIT for each in inits)


def _subject(snapshot: NodeSnapshot, entry: DeviceEntry) -> str:
    return f"{snapshot.pod_name(entry.pod_uid)}/{entry.container}"


def _owner(snapshot: NodeSnapshot, entry: DeviceEntry) -> Owner:
    pod = snapshot.pods.get(entry.pod_uid)
    return Owner(
        uid=entry.pod_uid,
        namespace=pod.namespace if pod else "",
        pod=pod.name if pod else "",
        container=entry.container,
    )
