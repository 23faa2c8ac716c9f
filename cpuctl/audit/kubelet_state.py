"""The kubelet's state compared with the node: files, added or removed CPUs, entries without a container.

Rule: kubelet v1.36 ``state/state_checkpoint.go`` of ``cm/cpumanager`` and ``cm/memorymanager``: a file of
another policy, or with invalid content, keeps the kubelet from starting.

``policy_static.go``: CPUs that are not those of its state are found at the next start,
and rejected. A group of cgroup v1 permanently loses a CPU that goes offline (*cgroup-v1/cpusets.rst*).

``removeStaleState``: a running kubelet releases entries that belong to no active pod; an init
container's CPUs stay its own for as long as its pod lives, even if other containers use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.audit.commands import REPAIR, RESTART, bringing_online, delete_pod, show_pod, take_offline
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.snapshot import POLICY_NONE, NodeSnapshot, ObservedContainer
from cpuctl.cgroups.owners import Owner
from cpuctl.checkpoints.model import DRAIN, CPUStateFile, MemoryStateFile
from cpuctl.cpuset import CPUSet, union
from cpuctl.diagnostics import Severity
from cpuctl.machine.model import Machine
from cpuctl.phrases import are, named
from cpuctl.pods.model import ContainerKind, StoredPod
from cpuctl.pods.running import RunState
from cpuctl.records import Record
from cpuctl.state_names import CPU_FILE, MEMORY_FILE

_NO_POLICY = ("", "none", "None")


class _File(Record):
    """One of the two files: its manager, the configured policy, and the result of reading it."""

    name: str
    manager: str
    configured: str
    saved: CPUStateFile | MemoryStateFile | None
    problem: str


def check_state(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report files that are missing, unreadable, of another policy or rejected, and CPUs allocated twice."""
    state, configured = snapshot.state, snapshot.configured
    files = (
        _File(CPU_FILE, "CPU Manager", configured.policy, state.cpu, state.cpu_problem),
        _File(MEMORY_FILE, "Memory Manager", configured.memory_policy, state.memory, state.memory_problem),
    )
    for file in files:
        yield from _file(snapshot, file)
    for path in state.closed:
        yield Finding(
            severity=Severity.WARNING,
            code="state-closed",
            place=NodePart(path),
            message="the file cannot be read, so the kubelet's assignments are unknown",
            expected="a readable file",
            detected="permission denied",
            fix="sudo cpuctl audit",
        )
    if state.cpu is not None:
        yield from _twice(snapshot, state.cpu)


def _file(snapshot: NodeSnapshot, file: _File) -> Iterator[Finding]:
    """Check one file; a kubelet reads either under every policy."""
    if file.problem:
        yield Finding(
            severity=Severity.ERROR,
            code="state-unusable",
            place=NodePart(file.name),
            message=f"the kubelet would not load it: {file.problem}",
            expected="a state file",
            detected=file.problem,
            fix=DRAIN if file.name in snapshot.state.lost else REPAIR,
        )
    elif file.saved is None:
        if file.configured not in _NO_POLICY and _was_looked_for(snapshot, file):
            yield _missing(file)
    elif file.configured not in ("", file.saved.policy_name):
        yield Finding(
            severity=Severity.ERROR,
            code="state-policy",
            place=NodePart(file.name),
            message=f"the file was written with a different {file.manager} policy: the kubelet does not "
            "start with it",
            expected=file.configured,
            detected=file.saved.policy_name,
            fix=REPAIR,
        )


def _was_looked_for(snapshot: NodeSnapshot, file: _File) -> bool:
    """Return whether a running kubelet must have written the file in the directory that was searched."""
    closed = any(path.endswith(f"/{file.name}") for path in snapshot.state.closed)
    return snapshot.state.own and bool(snapshot.groups) and not closed


def _missing(file: _File) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        code="state-missing",
        place=NodePart(file.name),
        message=f"the file is missing, although {file.manager} policy {file.configured} "
        "is configured: the kubelet's assignments are unknown",
        expected="a state file",
        detected="none",
        fix=RESTART,
    )


def check_reserved(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report reserved CPUs that a container has exclusively, or that are shared under strict reservation."""
    reserved, state = snapshot.configured.reserved, snapshot.state.cpu
    if state is None or not reserved:
        return
    for uid, containers in state.entries.items():
        for name, cpus in containers.items():
            if taken := cpus & reserved:
                message = f"{are(taken)} reserved for the system, but it has them exclusively"
                yield _reserved(f"{snapshot.pod_name(uid)}/{name}", taken, message)
    if snapshot.configured.strict_reservation and (taken := state.default_cpu_set & reserved):
        message = (
            f"contains the reserved {named(taken)}: with strict-cpu-reservation the kubelet would not start"
        )
        yield _reserved("shared pool", taken, message)


def _reserved(subject: str, taken: CPUSet, message: str) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        code="reserved-in-use",
        place=NodePart(subject),
        message=message,
        expected="no reserved CPU",
        detected=str(taken),
        fix=REPAIR,
    )


def _twice(snapshot: NodeSnapshot, state: CPUStateFile) -> Iterator[Finding]:
    """Report CPUs of two pods, or of a pod and the shared pool; the containers of one pod may share."""
    taken = state.default_cpu_set
    for uid, containers in state.entries.items():
        held = union(containers.values())
        if double := taken & held:
            yield Finding(
                severity=Severity.ERROR,
                code="held-twice",
                place=NodePart(snapshot.pod_name(uid)),
                message=f"{are(double)} assigned to this pod, but also to the shared pool or another pod",
                expected="exclusive CPUs",
                detected=str(double),
                fix=REPAIR,
            )
        taken |= held


def check_hotplug(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Compare the CPUs in the state with the online ones."""
    state, online = snapshot.state.cpu, snapshot.machine.online
    if state is None or state.policy_name == POLICY_NONE:
        return
    known = snapshot.state.known_cpus
    if gone := known - online:
        yield _gone(snapshot, known, gone)
    strict = snapshot.configured.reserved if snapshot.configured.strict_reservation else CPUSet()
    if new := online - known - strict:
        yield Finding(
            severity=Severity.ERROR,
            code="cpus-unknown",
            place=NodePart("node"),
            message=f"{are(new)} online, but not in cpu_manager_state: the kubelet would not start with it",
            expected=str(known),
            detected=str(online),
            fix=take_offline(new),
        )


def _gone(snapshot: NodeSnapshot, known: CPUSet, gone: CPUSet) -> Finding:
    holders = snapshot.holders(gone)
    owner = f" (exclusive to {holders})" if holders else ""
    where, fix = _where_offline(snapshot.machine, gone)
    return Finding(
        severity=Severity.ERROR,
        code="cpus-offline",
        place=NodePart("node"),
        message=f"{are(gone)} {where}, but still in cpu_manager_state{owner}: the kubelet would not start "
        "with it",
        expected=str(known),
        detected=str(snapshot.machine.online),
        fix=fix,
    )


def _where_offline(machine: Machine, gone: CPUSet) -> tuple[str, str]:
    """Return why the kernel does not run CPUs, and the command that helps."""
    found = bringing_online(machine, gone, named(gone))
    if found is None:
        return "not on this machine, or offline", REPAIR
    if not found.command:
        return f"{found.why} ({found.how})", REPAIR
    return found.why, found.command


def check_stale(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report entries of removed pods, and of containers that a pod does not have."""
    for uid, containers in _entries(snapshot).items():
        pod = snapshot.pods.get(uid)
        if is_gone(snapshot, uid, pod):
            yield _stale(snapshot, uid, "", containers, "its pod is gone")
        elif pod is not None:
            known = {container.name for container in pod.all_containers}
            for name in containers.keys() - known:
                entry = {name: containers[name]}
                yield _stale(snapshot, uid, name, entry, "its pod has no such container")


def check_finished_init_containers(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report CPUs that only an ended init container holds."""
    for uid, containers in snapshot.state.entries.items():
        pod = snapshot.pods.get(uid)
        if pod is None or uid not in snapshot.uids:
            continue
        ended = _ended_init_containers(pod) & containers.keys()
        used = union(cpus for name, cpus in containers.items() if name not in ended)
        if stranded := union(containers[name] for name in ended) - used:
            names = ", ".join(name for name in containers if name in ended)
            yield Finding(
                severity=Severity.WARNING,
                code="finished-init-container",
                place=NodePart.in_pod(pod, uid, names),
                message=f"the container has terminated but still holds {named(stranded)}, which no "
                "other container of its pod uses",
                expected="CPUs that app containers use",
                detected=str(stranded),
                fix=delete_pod(pod),
            )


def check_unclaimed(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report entries whose CPUs no container of the pod has, if container names are unknown.

    As many entries may belong to containers with wrong CPUs, which are reported themselves.
    """
    if snapshot.pods_known or not snapshot.groups:
        return
    by_pod: dict[str, list[ObservedContainer]] = {}
    for observed in snapshot.containers:
        by_pod.setdefault(observed.owner.uid, []).append(observed)
    for uid in sorted(snapshot.state.entries.keys() & snapshot.uids):
        observed_here = by_pod.get(uid, ())
        found = {each.owner.container for each in observed_here}
        sets = {each.group.cpuset.cpus for each in observed_here if not each.owner.container}
        unclaimed = {
            name: cpus
            for name, cpus in snapshot.state.entries[uid].items()
            if name not in found and cpus not in sets
        }
        if len(unclaimed) > sum(each.fits_none for each in observed_here):
            detected = " or ".join(str(each) for each in sets if each) or "none"
            yield from (_unclaimed(snapshot, uid, name, cpus, detected) for name, cpus in unclaimed.items())


def _unclaimed(snapshot: NodeSnapshot, uid: str, name: str, cpus: CPUSet, detected: str) -> Finding:
    return Finding(
        severity=Severity.NOTE,
        code="entry-unclaimed",
        place=NodePart(f"{snapshot.pod_name(uid)}/{name}", Owner(uid=uid, container=name)),
        message=f"{are(cpus)} assigned to this container, but no container of its pod has them; it may have "
        "ended (use --pods to identify containers)",
        expected=str(cpus),
        detected=detected,
    )


def check_missing_groups(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report containers that run according to the API server, but have no control group on the node."""
    if snapshot.hierarchies is None:
        return
    there = {group.role.container_id for group in snapshot.groups.values()}
    for uid in sorted(snapshot.uids & snapshot.pods.keys()):
        pod = snapshot.pods[uid]
        for status in pod.statuses:
            if status.state is RunState.RUNNING and status.container_id not in there:
                yield Finding(
                    severity=Severity.WARNING,
                    code="group-missing",
                    place=NodePart.in_pod(pod, uid, status.name),
                    message="the container is running according to the API server, but has no cgroup: "
                    "it has terminated since",
                    expected=f"a group of container {status.container_id[:12]}",
                    detected="none",
                    fix=show_pod(pod),
                )


def _entries(snapshot: NodeSnapshot) -> dict[str, Mapping[str, CPUSet]]:
    """Return the containers of both state files by their pod's UID, with the CPUs that they hold."""
    entries: dict[str, dict[str, CPUSet]] = {}
    state = snapshot.state
    for uid, blocks in (state.memory.entries if state.memory else {}).items():
        entries.setdefault(uid, {}).update(dict.fromkeys(blocks, CPUSet()))
    for uid, containers in state.entries.items():
        entries.setdefault(uid, {}).update(containers)
    return dict(entries)


def is_gone(snapshot: NodeSnapshot, uid: str, pod: StoredPod | None) -> bool:
    """Return whether a pod is gone: neither on the node nor, as far as known, in the API server."""
    if uid in snapshot.uids or not (snapshot.groups or snapshot.pods_known):
        return False
    return pod is None or pod.terminal


def _stale(snapshot: NodeSnapshot, uid: str, name: str, held: Mapping[str, CPUSet], why: str) -> Finding:
    cpus, owner = union(held.values()), Owner(uid=uid, container=name)
    what = are(cpus) if cpus else "memory is"
    pod = snapshot.pod_name(uid)
    return Finding(
        severity=Severity.WARNING,
        code="stale-entry",
        place=NodePart(f"{pod}/{name}" if name else pod, owner),
        message=f"{what} still assigned to {', '.join(sorted(held))}, but {why}",
        expected="no entry",
        detected=str(cpus) or "memory",
        fix=RESTART,
    )


def _ended_init_containers(pod: StoredPod) -> set[str]:
    inits = {each.name for each in pod.init_containers if each.kind is ContainerKind.INIT}
    return {each.name for each in pod.statuses if each.name in inits and each.state is RunState.TERMINATED}
