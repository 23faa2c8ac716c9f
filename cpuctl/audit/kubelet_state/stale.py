"""Entries of the kubelet's state for which there is nobody any more.

Rule: kubelet v1.36 ``removeStaleState``: a running kubelet takes back what belongs to no active pod; an init
container's CPUs stay its own for as long as its pod lives, whoever else uses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.audit.commands import RESTART, delete_pod, show_pod
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import Picture, Seen
from cpuctl.audit.sets import union
from cpuctl.cgroups.owners import Owner
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.wording import are, named
from cpuctl.pods.model import ContainerKind, StoredPod
from cpuctl.pods.running import RunState


def check_stale(picture: Picture) -> Iterator[Finding]:
    """Tell entries of pods that are gone, and of containers that a pod does not have."""
    for uid, containers in _entries(picture).items():
        pod = picture.pods.get(uid)
        if is_gone(picture, uid, pod):
            yield _stale(picture, uid, "", containers, "its pod is gone")
        elif pod is not None:
            known = {container.name for container in pod.all_containers}
            for name in containers.keys() - known:
                entry = {name: containers[name]}
                yield _stale(picture, uid, name, entry, "its pod has no such container")


def check_finished_init_containers(picture: Picture) -> Iterator[Finding]:
    """Tell CPUs that only an init container holds that has ended."""
    for uid, containers in picture.state.entries.items():
        pod = picture.pods.get(uid)
        if pod is None or uid not in picture.uids:
            continue
        ended = _ended_init_containers(pod) & containers.keys()
        used = union(cpus for name, cpus in containers.items() if name not in ended)
        if stranded := union(containers[name] for name in ended) - used:
            names = ", ".join(name for name in containers if name in ended)
            yield Finding(
                severity=Severity.WARNING,
                code="finished-init-container",
                place=NodePart.in_pod(pod, uid, names),
                message=f"it has ended, and holds {named(stranded)}: no other container of its pod does",
                expected="CPUs that app containers use",
                detected=str(stranded),
                fix=delete_pod(pod),
            )


def check_unclaimed(picture: Picture) -> Iterator[Finding]:
    """Tell entries of which no container of the pod has the CPUs, where names of containers are not known."""
    if picture.pods_known or not picture.groups:
        return
    by_pod: dict[str, list[Seen]] = {}
    for seen in picture.containers:
        by_pod.setdefault(seen.owner.uid, []).append(seen)
    for uid, containers in picture.state.entries.items():
        found = {each.owner.container for each in by_pod.get(uid, ())}
        sets = {each.group.cpuset.cpus for each in by_pod.get(uid, ()) if not each.owner.container}
        for name, cpus in containers.items():
            if uid in picture.uids and name not in found and cpus not in sets:
                yield Finding(
                    severity=Severity.NOTE,
                    code="entry-unclaimed",
                    place=NodePart(f"{picture.pod_name(uid)}/{name}", Owner(uid=uid, container=name)),
                    message=f"{are(cpus)} its own, but no container of its pod has them: it does not run, "
                    "or --pods tells which one it is",
                    expected=str(cpus),
                    detected=" or ".join(str(each) for each in sets if each) or "none",
                )


def check_missing_groups(picture: Picture) -> Iterator[Finding]:
    """Tell containers that run as the API server says, but have no control group here."""
    if picture.hierarchies is None:
        return
    there = {group.role.container_id for group in picture.groups.values()}
    for uid in sorted(picture.uids & picture.pods.keys()):
        pod = picture.pods[uid]
        for status in pod.statuses:
            if status.state is RunState.RUNNING and status.container_id not in there:
                yield Finding(
                    severity=Severity.WARNING,
                    code="group-missing",
                    place=NodePart.in_pod(pod, uid, status.name),
                    message="it runs, as the API server says, but has no control group: it has ended since",
                    expected=f"a group of container {status.container_id[:12]}",
                    detected="none",
                    fix=show_pod(pod),
                )


def _entries(picture: Picture) -> dict[str, Mapping[str, CPUSet]]:
    """Return the containers of both state files by their pod's UID, with the CPUs that they hold."""
    entries: dict[str, dict[str, CPUSet]] = {}
    state = picture.state
    for uid, blocks in (state.memory.entries if state.memory else {}).items():
        entries.setdefault(uid, {}).update(dict.fromkeys(blocks, CPUSet()))
    for uid, containers in state.entries.items():
        entries.setdefault(uid, {}).update(containers)
    return dict(entries)


def is_gone(picture: Picture, uid: str, pod: StoredPod | None) -> bool:
    """Tell whether a pod is no more: neither on the node nor, as far as known, in the API server."""
    if uid in picture.uids or not (picture.groups or picture.pods_known):
        return False
    return pod is None or pod.terminal


def _stale(picture: Picture, uid: str, name: str, held: Mapping[str, CPUSet], why: str) -> Finding:
    cpus, owner = union(held.values()), Owner(uid=uid, container=name)
    what = are(cpus) if cpus else "memory is"
    pod = picture.pod_name(uid)
    return Finding(
        severity=Severity.WARNING,
        code="stale-entry",
        place=NodePart(f"{pod}/{name}" if name else pod, owner),
        message=f"{what} kept for {', '.join(sorted(held))}, but {why}",
        expected="no entry",
        detected=str(cpus) or "memory",
        fix=RESTART,
    )


def _ended_init_containers(pod: StoredPod) -> set[str]:
    inits = {each.name for each in pod.init_containers if each.kind is ContainerKind.INIT}
    return {each.name for each in pod.statuses if each.name in inits and each.state is RunState.TERMINATED}
