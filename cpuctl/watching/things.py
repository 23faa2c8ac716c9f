"""The conditions of a node whose changes a watch reports.

A running kubelet briefly breaks its own guarantees: it writes its state first, moves containers with the
next pass of ``reconcileState`` (kubelet v1.36, within ``cpuManagerReconcilePeriod``), and releases the CPUs
of a removed pod with a later one. Findings that this alone can cause are reported if they last longer than
such a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cpuctl.audit.checks import Unchecked
from cpuctl.audit.finding import Finding
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.cpuset import CPUSet
from cpuctl.records import Record
from cpuctl.state_names import CPU_FILE
from cpuctl.watching.ledger import Kind, Patience, Thing

HALF_WRITTEN = 2.0
"""Seconds before an unusable or missing state file is reported: it may be in the middle of being written."""

_FILE_CODES = frozenset({"state-unusable", "state-missing", "devices-unusable", "claims-unusable"})
_AFTER_STATE = frozenset(
    {
        "answer-differs",
        "assigned-cpuset-pending",
        "assigned-cpuset-stale",
        "cpus-unused",
        "cpuset-differs",
        "cpuset-left-over",
        "effective-differs",
        "mems-differ",
        "quota-on-exclusive",
        "quota-too-low",
        "threads-outside",
    }
)
"""Findings that may be transient after the state was written."""
_AFTER_PODS = frozenset(
    {
        "pod-not-listed",
        "assigned-cpuset-missing",
        "claim-stale",
        "devices-differ",
        "entry-unclaimed",
        "finished-init-container",
        "group-missing",
        "stale-devices",
        "stale-entry",
    }
)
"""Findings that may be transient after a pod or a container was created, ended or was removed."""
_AMOUNTS = frozenset({"huge-pages-differ", "huge-pages-taken", "interrupts-delivered", "memory-spill"})
"""Codes whose ``detected`` is a quantity, which differs each time."""


class Timing(NamedTuple):
    """The basis of waiting times, in seconds.

    ``settle`` is how long transient things must last, ``period`` is the kubelet's reconcile period, and
    ``written`` the moment at which its state was last written.
    """

    settle: float
    period: float
    written: float


class WatchedPod(Record):
    """A pod with a control group, and the exclusive CPUs of its containers.

    ``pool`` are the CPUs that all other containers share, None if unknown or with the policy none.
    """

    uid: str
    name: str
    exclusive: Mapping[str, CPUSet]
    pool: CPUSet | None

    @property
    def named(self) -> bool:
        """Whether its name is known, not only its UID."""
        return self.name != self.uid


class WatchedFile(Record):
    """A state file; ``sha256`` is the checksum of its text, ``pool`` the shared pool, if it has one."""

    path: str
    sha256: str
    pool: CPUSet | None = None


def finding_things(findings: Iterable[Finding], timing: Timing) -> Iterator[Thing]:
    """Make things from findings: a finding is the same as long as its code and subject are the same."""
    for finding in findings:
        subject, owner, path = finding.place
        detected = "" if finding.code in _AMOUNTS else finding.detected
        yield Thing(
            Kind.FINDING,
            (finding.code, owner.uid if owner else "", path or subject),
            (finding.severity, detected),
            finding,
            _patience(finding.code, timing),
        )


def _patience(code: str, timing: Timing) -> Patience:
    usual = Patience(changing=timing.settle, going=timing.settle)
    if code in _FILE_CODES:
        return usual._replace(incoming=HALF_WRITTEN)
    if code in _AFTER_STATE:
        return usual._replace(not_before=timing.written + timing.period)
    if code in _AFTER_PODS:
        return usual._replace(incoming=timing.period)
    return usual


def pod_things(snapshot: NodeSnapshot, timing: Timing) -> Iterator[Thing]:
    """Make things from the pods that have a cgroup; the name of an unnamed one may soon be known."""
    for uid in sorted(snapshot.uids):
        entries = snapshot.state.entries.get(uid, {})
        pod = WatchedPod(uid, snapshot.pod_name(uid), entries, snapshot.shared_pool)
        detail = tuple(sorted((name, cpus.mask) for name, cpus in entries.items()))
        yield Thing(Kind.POD, (uid,), detail, pod, Patience(incoming=0.0 if pod.named else timing.settle))


def file_things(snapshot: NodeSnapshot, checksums: Mapping[str, str]) -> Iterator[Thing]:
    """Make things from the state files, by path with their *checksums*."""
    cpu = snapshot.state.cpu
    for path, sha256 in checksums.items():
        pool = cpu.default_cpu_set if cpu is not None and path.endswith(f"/{CPU_FILE}") else None
        yield Thing(
            Kind.STATE_FILE, (path,), sha256, WatchedFile(path, sha256, pool), Patience(going=HALF_WRITTEN)
        )


def kubelet_things(pids: Iterable[int], timing: Timing) -> Iterator[Thing]:
    """Make one thing from the kubelet's processes, of which there are briefly none during a restart."""
    if running := tuple(sorted(pids)):
        yield Thing(Kind.KUBELET, (), running, running, Patience(going=timing.settle))


def gap_things(gaps: Iterable[Unchecked], timing: Timing) -> Iterator[Thing]:
    """Make things from missing inputs of checks."""
    lasting = Patience(incoming=timing.settle, going=timing.settle)
    for gap in gaps:
        yield Thing(Kind.GAP, (gap.missing,), gap.checks, gap, lasting)
