"""Claims' devices counted as the node's CPUs and memory (KEP-5517), and what pods should ask for beside them.

Rule: KEP-5517 (alpha, gate DRANodeAllocatableResources, from 1.36 on): a pod comes to what its containers
request, every claim of its once, and its overhead; to its own request alone where it has one. Its cgroup has
the sum, a container's cgroup a quota with its claims where it has a limit, and shares of its request alone.
QoS classes do not look at claims. No quota is lifted for CPUs of claims (kubernetes issue 70585).
What to ask for without the gate: kubernetes-sigs/dra-driver-cpu, ``docs/user/workload-requirements.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from cpuctl.dra.model import Grant, NodeShare
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.cgroups.values import CgroupSettings, CgroupValues, container_cgroup, pod_cgroup
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity

CPU = "cpu"
_ONE = 10**9
P = TypeVar("P", bound=Pod)
Counted = dict[str, int]
"""Amounts by resource of the node, in billionths."""


def quantity_of(nano: int) -> Quantity:
    """Make a quantity of billionths, in the largest unit that holds it."""
    if nano % _ONE == 0:
        return Quantity.from_value(nano // _ONE)
    return Quantity.from_milli(nano // 10**6) if nano % 10**6 == 0 else Quantity(nano, -9)


def counted(grants: Iterable[Grant], *, minor: int) -> Counted:
    """Add up what devices count as, by the mapping that an API server of 1.*minor* knows."""
    total: Counted = {}
    for grant in grants:
        for share in grant.device.shares:
            if share.known_to(minor):
                total[share.resource] = total.get(share.resource, 0) + _amount(grant, share)
    return total


def _amount(grant: Grant, share: NodeShare) -> int:
    if not share.capacity:
        return share.multiplier.nano
    consumed = grant.consumed.get(share.capacity)
    if consumed is None:
        whole = grant.device.capacity.get(share.capacity)
        consumed = whole.value if whole is not None else Quantity()
    return consumed.nano * share.multiplier.nano // _ONE


class ClaimRules(NamedTuple):
    """What the API server and the scheduler know of, by their gates; what they do not is dropped.

    ``consumable``: devices can be shared, and requests name capacities (DRAConsumableCapacity, KEP-5075);
    ``alternatives``: requests have alternatives (DRAPrioritizedList, KEP-4816); ``counts``: devices may count
    as the node's CPUs and memory (DRANodeAllocatableResources, KEP-5517). ``minor`` is the release's.
    """

    consumable: bool = True
    alternatives: bool = True
    counts: bool = False
    minor: int = 36

    @classmethod
    def of(cls, gates: FeatureGates) -> ClaimRules:
        """Read the rules from gates."""
        return cls(
            consumable=gates.enabled("DRAConsumableCapacity"),
            alternatives=gates.enabled("DRAPrioritizedList"),
            counts=gates.enabled("DRANodeAllocatableResources"),
            minor=gates.minor,
        )

    def counted(self, grants: Iterable[Grant]) -> Counted:
        """Add up what devices count as, by resource of the node; nothing where they do not count."""
        return counted(grants, minor=self.minor) if self.counts else {}


def with_claims(pod: P, claims: Mapping[str, int]) -> P:
    """Return a pod whose overhead has its claims, too, where its own request does not stand for all of it."""
    own = pod.resources.requests if pod.resources is not None else {}
    more = {name: quantity_of(amount) for name, amount in claims.items() if name not in own}
    if not more:
        return pod
    overhead = dict(pod.overhead)
    for name, amount in more.items():
        overhead[name] = overhead[name] + amount if name in overhead else amount
    return pod._replace(overhead=overhead)


def too_small(pod: Pod, claims: Mapping[str, int]) -> str:
    """Say that a pod's own request is less than its containers and claims need; empty where it is not."""
    own = pod.resources.requests if pod.resources is not None else {}
    inside = pod_requests(pod._replace(resources=None), overhead=False)
    for name, amount in claims.items():
        if name not in own:
            continue
        parts = inside.get(name, Quantity()).nano
        if own[name].nano < parts + amount:
            return (
                f"the pod's own request of {name} {own[name]} is less than {quantity_of(parts)} of its "
                f"containers and {quantity_of(amount)} of its claims"
            )
    return ""


class Accounts(NamedTuple):
    """What a pod comes to with its claims: CPUs in billionths, and cgroup values."""

    claims: int
    footprint: int
    pod: CgroupValues
    containers: Mapping[str, CgroupValues]


def accounts_of(
    pod: Pod, whole: Mapping[str, int], by_container: Mapping[str, int], settings: CgroupSettings
) -> Accounts:
    """Work out what a pod comes to; *by_container* are the CPUs of the claims that a container names."""
    qos, large = pod_qos(pod).qos_class, with_claims(pod, whole)
    containers = {}
    for each in pod.all_containers:
        raised = container_cgroup(pod, _raised(each, by_container[each.name]), qos, settings)
        own = container_cgroup(pod, each, qos, settings)
        containers[each.name] = raised._replace(shares=own.shares)
    return Accounts(
        claims=whole[CPU],
        footprint=pod_requests(large).get(CPU, Quantity()).nano,
        pod=pod_cgroup(large, qos, settings),
        containers=containers,
    )


def _raised(container: Container, claims: int) -> Container:
    limit = container.resources.limits.get(CPU)
    if limit is None or not claims:
        return container
    limits = {**container.resources.limits, CPU: limit + quantity_of(claims)}
    return container._replace(resources=container.resources._replace(limits=limits))


def advice(pod: Pod, cpus: Mapping[str, int], *, counts: bool) -> Iterator[str]:
    """Yield what is wrong with the CPU that a pod asks for beside claims.

    *cpus* are the CPUs that the driver gives containers, by their names; they *count* as the node's by
    themselves, or not.
    """
    own = pod.resources.requests.get(CPU) if pod.resources is not None else None
    given = sum(cpus.values())
    if own is not None and not counts and own.nano < given * _ONE:
        rest = pod_requests(pod._replace(resources=None), overhead=False).get(CPU, Quantity())
        yield (
            f"as a whole it requests {own} CPUs, and claims give it {given}: the scheduler counts on CPUs "
            f"that are taken (its containers request {rest})"
        )
    for container in pod.all_containers:
        count = cpus.get(container.name, 0)
        if count:
            yield from _of_container(container, count, counts=counts, pod_level=own is not None)


def _of_container(container: Container, count: int, *, counts: bool, pod_level: bool) -> Iterator[str]:
    request = container.resources.requests.get(CPU)
    limit = container.resources.limits.get(CPU)
    name, given = f"container {container.name}", count * _ONE
    if counts and request is not None and request.nano >= given:
        yield f"{name} requests {request} CPUs beside the {count} of its claims: they count twice"
    if not counts and not pod_level and (request.nano if request else 0) != given:
        yield (
            f"{name} requests {request or 'no'} CPUs, and claims give it {count}: the scheduler counts only "
            f"what is requested (request {count}, or give the pod resources of its own)"
        )
    if limit is not None and not counts and limit.nano < given:
        yield f"{name} is throttled at {limit} of the {count} CPUs of its claims: leave its CPU limit out"
    elif limit is not None and counts:
        yield (
            f"{name} has a CPU limit, so that a quota stays on the CPUs of its claims: leave it out "
            "(kubernetes issue 70585)"
        )


def driver_cpus(claims: Iterable[tuple[tuple[str, ...], int]]) -> dict[str, int]:
    """Add up CPUs by container: each claim is told with those that name it."""
    found: dict[str, int] = {}
    for containers, count in claims:
        for name in containers:
            found[name] = found.get(name, 0) + count
    return found
