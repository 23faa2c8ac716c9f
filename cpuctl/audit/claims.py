"""CPUs that the driver ``dra.cpu`` allocated to claims, compared with each other, the kubelet, and groups.

Rule: kubernetes-sigs/dra-driver-cpu at de98098, ``pkg/driver``: containers that name a claim get its CPUs,
all others those that no claim has. CPUs of a new claim are taken from others at once; CPUs of a released
claim go only to containers that are created later. No quota is lifted (kubernetes issue 70585).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.snapshot import ClaimedCPUs, NodeSnapshot, ObservedContainer, PreparedClaims
from cpuctl.cpuset import CPUSet, union
from cpuctl.diagnostics import Severity
from cpuctl.phrases import NO_CPU_MANAGER, named
from cpuctl.state_names import CLAIMS_FILE

_STATIC = "static"


def check_claims(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report claims that share CPUs or are unknown, and containers on CPUs of claims."""
    prepared = snapshot.prepared
    if prepared is None:
        return
    if prepared.problem:
        yield Finding(
            severity=Severity.ERROR,
            code="claims-unusable",
            place=NodePart(prepared.path),
            message=f"the dra.cpu driver and container runtimes cannot read it: {prepared.problem}",
        )
        return
    yield from _kubelet_conflicts(snapshot, prepared)
    yield from _overlapping(snapshot, prepared)
    yield from _unknown_to_the_kubelet(snapshot, prepared)
    yield from _containers(snapshot, prepared)


def _kubelet_conflicts(snapshot: NodeSnapshot, prepared: PreparedClaims) -> Iterator[Finding]:
    """Report a policy, and reserved CPUs, that conflict with the driver."""
    if snapshot.configured.policy == _STATIC:
        yield Finding(
            severity=Severity.ERROR,
            code="claims-static",
            place=NodePart(prepared.path),
            message="the dra.cpu driver runs next to a CPU Manager with policy static: both assign the "
            "same CPUs",
            expected="cpuManagerPolicy none",
            detected=_STATIC,
            fix=NO_CPU_MANAGER,
        )
    if reserved := prepared.claimed & snapshot.configured.reserved:
        yield Finding(
            severity=Severity.WARNING,
            code="claims-reserved",
            place=NodePart(prepared.path),
            message=f"claims hold {named(reserved)}, which the kubelet reserves: "
            "the driver reserves other CPUs",
            expected=f"--reserved-cpus {snapshot.configured.reserved}",
            detected=str(reserved),
        )


def _overlapping(snapshot: NodeSnapshot, prepared: PreparedClaims) -> Iterator[Finding]:
    for (one, cpus), (other, more) in combinations(sorted(prepared.cpus.items()), 2):
        if shared := cpus & more:
            yield Finding(
                severity=Severity.ERROR,
                code="claims-overlap",
                place=NodePart(claim_name(snapshot, one)),
                message=f"{named(shared)} also {'belongs' if len(shared) == 1 else 'belong'} to "
                f"{claim_name(snapshot, other)}",
                expected=str(cpus - shared) or "none",
                detected=str(cpus),
            )


def _unknown_to_the_kubelet(snapshot: NodeSnapshot, prepared: PreparedClaims) -> Iterator[Finding]:
    """Report CPUs that are reserved for a claim that no pod uses, as far as the kubelet knows."""
    state = snapshot.state.claims
    if state is None:
        return
    used = {entry.uid for entry in state.claims if entry.pod_uids}
    for uid in sorted(prepared.cpus.keys() - used):
        yield Finding(
            severity=Severity.WARNING,
            code="claim-stale",
            place=NodePart(claim_name(snapshot, uid)),
            message=f"{named(prepared.cpus[uid])} are kept for it, but {CLAIMS_FILE} lists no pod that "
            "uses it",
            expected="a claim prepared for a pod",
            detected=str(prepared.cpus[uid]),
        )


def _containers(snapshot: NodeSnapshot, prepared: PreparedClaims) -> Iterator[Finding]:
    claims, claimed = ClaimedCPUs(prepared, snapshot.state.claims, snapshot.pods), prepared.claimed
    for observed in snapshot.containers:
        effective = observed.effective
        if observed.sleeps or effective is None:
            continue
        if observed.expected.claimed:
            yield from _throttled(observed)
        elif taken := effective & claimed:
            # It may be unknown which claims it names: then it must have all CPUs of some, and no others.
            of_pod = claims.of_pod(observed.owner.uid)
            possible = of_pod if snapshot.state.claims is not None else tuple(prepared.cpus.values())
            whole = union(cpus for cpus in possible if cpus <= effective)
            if claims.names_none(observed.owner) or whole != effective:
                yield _on_claimed(snapshot, prepared, observed, taken)


def _on_claimed(
    snapshot: NodeSnapshot, prepared: PreparedClaims, observed: ObservedContainer, cpus: CPUSet
) -> Finding:
    owner = [claim_name(snapshot, uid) for uid, held in sorted(prepared.cpus.items()) if held & cpus]
    return Finding(
        severity=Severity.ERROR,
        code="claim-shared",
        place=NodePart.of(observed),
        message=f"the container does not use a claim, but may run on {named(cpus)} of {', '.join(owner)}",
        expected=str((observed.effective or CPUSet()) - cpus) or "other CPUs",
        detected=str(observed.effective),
        fix=f"crictl update --cpuset-cpus {snapshot.machine.online - prepared.claimed} "
        f"{observed.owner.container_id}",
    )


def _throttled(observed: ObservedContainer) -> Iterator[Finding]:
    """Report a quota on a container with CPUs of a claim, which no other container can use meanwhile."""
    cpu = observed.group.cpu
    if cpu.quota is None or not cpu.period:
        return
    yield Finding(
        severity=Severity.WARNING,
        code="claim-throttled",
        place=NodePart.of(observed),
        message=f"the container has {named(observed.expected.cpus or CPUSet())} from claims, but is "
        f"throttled at {cpu.quota / cpu.period:g} CPUs: the kubelet does not remove quotas for claims "
        "(kubernetes issue 70585)",
        expected="no quota",
        detected=f"{cpu.quota} us per {cpu.period} us",
        fix="remove its CPU limit",
    )


def claim_name(snapshot: NodeSnapshot, uid: str) -> str:
    """Name a claim as the kubelet does, or by its UID if the kubelet does not know it."""
    known = snapshot.claims.get(uid)
    return f"claim {known.namespace}/{known.name}" if known else f"claim {uid}"
