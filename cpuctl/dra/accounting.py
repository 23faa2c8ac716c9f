"""Claims' devices counted as node CPUs and memory (KEP-5517), and pods' additional requests.

Rule: alpha, gate DRANodeAllocatableResources: kubernetes pull requests 136725 (1.36: what the scheduler and
the kubelet's admission count) and 140009 (1.37: cgroups and OOM scores, too), ``dynamicresources`` of both.
QoS classes do not depend on claims. No quota is lifted for CPUs of claims (kubernetes issue 70585). What to
request without the gate: kubernetes-sigs/dra-driver-cpu, ``docs/user/workload-requirements.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cpuctl.dra.model import Grant, NodeShare
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.cgroups.values import CgroupSettings, CgroupValues, container_cgroup, pod_cgroup
from cpuctl.pods.model import Container, CountedClaim, Pod
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import claimed_by, pod_requests
from cpuctl.pods.rules import NodeRules
from cpuctl.quantity import Quantity

CPU = "cpu"
_ONE = 10**9
_ZERO = Quantity()
_GATE = "DRANodeAllocatableResources"


class ClaimRules(NamedTuple):
    """The features that the API server and the scheduler have, by their gates; others are dropped.

    ``consumable``: devices can be shared, and requests name capacities (DRAConsumableCapacity, KEP-5075);
    ``alternatives``: requests have alternatives (DRAPrioritizedList, KEP-4816); ``counts``: devices may count
    as the node's CPUs and memory (KEP-5517), ``unnamed``: including those of claims that no container names,
    or that were allocated before. ``minor`` is the release's.
    """

    consumable: bool = True
    alternatives: bool = True
    counts: bool = False
    unnamed: bool = False
    minor: int = 36

    @classmethod
    def of(cls, gates: FeatureGates) -> ClaimRules:
        """Return the rules that the gates determine."""
        return cls(
            consumable=gates.enabled("DRAConsumableCapacity"),
            alternatives=gates.enabled("DRAPrioritizedList"),
            counts=gates.enabled(_GATE),
            unnamed=gates.release.counts_claims_that_no_container_names,
            minor=gates.minor,
        )

    def counted(self, grants: Iterable[Grant], containers: tuple[str, ...]) -> CountedClaim | None:
        """Return the total that a claim's devices count as; None if none. *containers* name the claim."""
        shares = [(each, share) for each in grants for share in each.device.shares if self._knows(share)]
        if not shares:
            return None
        amounts: dict[str, Quantity] = {}
        per_pod: dict[str, Quantity] = {}
        per_container: dict[str, Quantity] = {}
        for grant, share in shares:
            mapped = _amount(grant, share)
            for total, more in (
                (amounts, mapped), (per_pod, share.per_pod), (per_container, share.per_container),
            ):  # fmt: skip
                if more is not None:
                    total[share.resource] = total.get(share.resource, _ZERO) + more
        return CountedClaim(containers, amounts, per_pod, per_container)

    def objection(self, claim: str, grants: Iterable[Grant], counted: CountedClaim, *, others: bool) -> str:
        """Return the scheduler's message if it cannot place a pod with a claim that counts; else "".

        *others* use the claim already.
        """
        if counted.amounts and others:
            return f"node allocatable resource claim {claim} {self._shared}"
        for grant in grants:
            for share in grant.device.shares:
                if self._knows(share) and share.capacity and not grant.device.allows_many:
                    member = "NodeAllocatableResource" + ("Mappings" if share.old else "s")
                    return (
                        f"device {grant.device.name}: ConsumedCapacity is nil, but Capacity key "
                        f"'{share.capacity}' is set in {member} for resource {share.resource}"
                    )
        if not counted.containers and not self.unnamed:
            why = "node-allocatable resource claim not referenced by any container within the pod"
            return f"claim {claim}: {why}"
        return ""

    @property
    def _shared(self) -> str:
        mapped = "has a mapped device and cannot be shared across pods"
        return mapped if self.unnamed else "is already used by another pod"

    def _knows(self, share: NodeShare) -> bool:
        return self.counts and share.known_to(self.minor)


def _amount(grant: Grant, share: NodeShare) -> Quantity | None:
    """Return the amount that a single device counts as; None if it does not count."""
    if share.multiplier is None or not share.capacity:
        return share.multiplier
    consumed = grant.consumed.get(share.capacity)
    if consumed is None:
        return None
    nano = consumed.nano * share.multiplier.nano // _ONE
    return Quantity.from_value(nano // _ONE) if nano % _ONE == 0 else Quantity(nano, -9)


class Uncovered(NamedTuple):
    """A need that a pod's own resources do not cover, in the scheduler's words, with both quantities."""

    words: str
    own: Quantity
    needed: Quantity


def uncovered(pod: Pod, *, limits: bool) -> Uncovered | None:
    """Return how a pod's own resources fall short of its containers' and claims' needs; None if they suffice.

    Its limits are compared from 1.37 on.
    """
    own = pod.resources
    if own is None or not pod.counted_claims:
        return None
    inside = pod_requests(pod, pod_level=False, overhead=False)
    for name, amount in own.requests.items():
        if name in inside and amount < inside[name]:
            words = (
                f"pod level request for {name} is insufficient to cover the aggregated container and "
                "node-allocatable DRA requests"
            )
            return Uncovered(words, amount, inside[name])
    return _limit_exceeded(pod, own.limits) if limits else None


def _limit_exceeded(pod: Pod, own: Mapping[str, Quantity]) -> Uncovered | None:
    for each in pod.containers:
        claimed = claimed_by(pod, each.name)
        for name, limit in each.resources.limits.items():
            together = limit + claimed.get(name, _ZERO)
            if not name.startswith("hugepages-") and name in own and own[name] < together:
                words = (
                    f"pod level limit for {name} is insufficient to cover the limit and DRA overhead for "
                    f"container {each.name}"
                )
                return Uncovered(words, own[name], together)
    return None


class Accounts(NamedTuple):
    """The total of a pod with its claims: CPUs in billionths, and cgroup values."""

    claims: int
    footprint: int
    pod: CgroupValues
    containers: Mapping[str, CgroupValues]


def accounts_of(pod: Pod, rules: NodeRules, settings: CgroupSettings) -> Accounts | None:
    """Calculate the total of a pod with claims that count; None if no claim counts as CPUs."""
    counted = [*(each.amounts for each in pod.counted_claims), *(each.per_pod for each in pod.counted_claims)]
    own = sum(each[CPU].nano for each in counted if CPU in each)
    more = sum(
        each.per_container[CPU].nano * len(each.containers)
        for each in pod.counted_claims
        if CPU in each.per_container
    )
    if not own + more:
        return None
    view = rules.view(pod)
    qos = pod_qos(view).qos_class
    return Accounts(
        claims=own + more,
        footprint=pod_requests(rules.known(pod)).get(CPU, _ZERO).nano,
        pod=pod_cgroup(view, qos, settings),
        containers={each.name: container_cgroup(view, each, qos, settings) for each in view.all_containers},
    )


def advice(pod: Pod, cpus: Mapping[str, int], *, counts: bool, raises: bool) -> Iterator[str]:
    """Yield problems of the CPU requests of a pod that also has claims.

    *cpus* are the CPUs that the driver gives containers, by container name. *counts* is whether they count
    as the node's automatically, and *raises* whether they then also raise quotas.
    """
    own = pod.resources.requests.get(CPU) if pod.resources is not None else None
    given = sum(cpus.values())
    if own is not None and not counts and own.nano < given * _ONE:
        rest = pod_requests(pod._replace(resources=None), overhead=False).get(CPU, Quantity())
        yield (
            f"the pod requests {own} CPUs as a whole, but its claims allocate {given}: the scheduler "
            f"counts CPUs as free that are not (its containers request {rest})"
        )
    for container in pod.all_containers:
        count = cpus.get(container.name, 0)
        if count:
            yield from _of_requests(container, count, counts=counts, pod_level=own is not None)
            yield from _of_limits(container, count, raises=counts and raises)


def _of_requests(container: Container, count: int, *, counts: bool, pod_level: bool) -> Iterator[str]:
    request = container.resources.requests.get(CPU)
    name, given = f"container {container.name}", count * _ONE
    if counts and request is not None and request.nano >= given:
        yield (
            f"{name} requests {request} CPUs in addition to the {count} of its claims: they are counted twice"
        )
    if not counts and not pod_level and (request.nano if request else 0) != given:
        yield (
            f"{name} requests {request or 'no'} CPUs, but its claims allocate {count}: the "
            f"scheduler only counts requests (request {count}, or set pod-level resources)"
        )


def _of_limits(container: Container, count: int, *, raises: bool) -> Iterator[str]:
    limit = container.resources.limits.get(CPU)
    if limit is None:
        return
    if raises:
        yield (
            f"container {container.name} has a CPU limit, so the CPUs of its claims are throttled by a "
            "quota: remove the limit (kubernetes issue 70585)"
        )
    elif limit.nano < count * _ONE:
        yield (
            f"container {container.name} is throttled at {limit} of the {count} CPUs of its claims: "
            "remove its CPU limit"
        )


def driver_cpus(claims: Iterable[tuple[tuple[str, ...], int]]) -> dict[str, int]:
    """Add up CPUs by container; each claim is given with the containers that name it."""
    found: dict[str, int] = {}
    for containers, count in claims:
        for name in containers:
            found[name] = found.get(name, 0) + count
    return found
