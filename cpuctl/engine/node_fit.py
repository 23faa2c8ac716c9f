"""Which pods a kubelet considers running, and whether another one fits into the rest of the node.

Rule: kubelet v1.36 ``pkg/kubelet/lifecycle/predicate.go`` on the scheduler's resource fit, the check a
kubelet makes after its resource managers. CPU counts in milli, everything else in its own unit; of several
shortages the first one is reported.

The sums follow the pods: a new pod is counted once, at the next query, and subtracted again as soon as it is
removed or replaced.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, MutableMapping, ValuesView
from types import MappingProxyType

from cpuctl.engine.changeable import Copied
from cpuctl.engine.outcome import Rejected, Undetermined
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import StoredPod
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Format, Quantity
from cpuctl.records import Record

_NOTHING = Quantity()
_STORAGE = "ephemeral-storage"
_FIRST = ("cpu", "memory", _STORAGE)
_FEW_ENTRIES = 4096
"""The number of pods that a table always keeps, whether they still run or not."""


class RequestTable:
    """What pods request in whole numbers, computed once; an entry is valid for the same pod object only."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[StoredPod, bool, Mapping[str, int]]] = {}

    def of(self, pod: StoredPod, *, pod_level: bool) -> Mapping[str, int]:
        """Return the amounts by resource, CPU in milli."""
        known = self.entries.get(pod.uid)
        if known is not None and known[0] is pod and known[1] == pod_level:
            return known[2]
        requests = pod_requests(pod, pod_level=pod_level)
        amounts = {name: _amount(name, quantity) for name, quantity in requests.items()}
        self.entries[pod.uid] = (pod, pod_level, amounts)
        return amounts

    def make_room(self, running: int) -> None:
        """Forget everything once most of the entries must belong to pods that are gone."""
        if len(self.entries) > max(_FEW_ENTRIES, 2 * (running + 1)):
            self.entries.clear()


class Usage(Record):
    """How many pods run, and what they request together, CPU in milli."""

    pods: int
    amounts: Mapping[str, int]


class Allocatable:
    """What a node has for pods: amounts by resource name (CPU in milli), and the number of pods.

    A resource that is not listed is not checked, except huge pages: if they are not listed, there are none.
    ``requests`` avoids adding up every running pod's containers again for every new pod.
    ``fits_zero``: what a pod does not request is never short, however much of it is already promised.
    """

    def __init__(
        self,
        *,
        amounts: Mapping[str, int],
        pods: int,
        requests: RequestTable | None = None,
        fits_zero: bool = True,
    ) -> None:
        self.fits_zero = fits_zero
        self.amounts = amounts
        self.pods = pods
        self.requests = RequestTable() if requests is None else requests

    def with_amounts(self, amounts: Mapping[str, int]) -> Allocatable:
        """Return the same with amounts of other resources added."""
        if not amounts:
            return self
        return Allocatable(
            amounts={**self.amounts, **amounts},
            pods=self.pods,
            requests=self.requests,
            fits_zero=self.fits_zero,
        )


def allocatable_of(
    info: MachineInfo,
    config: KubeletConfiguration,
    reserved: Mapping[str, Quantity],
    *,
    fits_zero: bool = True,
) -> Allocatable:
    """Return what the machine has, less what is *reserved* and the memory of huge pages.

    Memory and storage that the machine information does not include are not checked.
    """
    pages = _hugepages(info)
    amounts = {"cpu": info.num_cpus * 1000 - _amount("cpu", reserved.get("cpu", _NOTHING))}
    if info.memory_bytes:
        kept = reserved.get("memory", _NOTHING).value + sum(pages.values())
        amounts["memory"] = max(info.memory_bytes - kept, 0)
    if info.ephemeral_storage is not None:
        kept = reserved.get(_STORAGE, _NOTHING).value
        amounts[_STORAGE] = max(info.ephemeral_storage - kept, 0)
    pods = config.max_pods
    if config.pods_per_core > 0:
        pods = min(pods, config.pods_per_core * info.num_cpus)
    return Allocatable(amounts=amounts | pages, pods=pods, fits_zero=fits_zero)


def _hugepages(info: MachineInfo) -> dict[str, int]:
    pages: dict[str, int] = {}
    for node in info.nodes:
        for kib, count in node.hugepages.items():
            name = f"hugepages-{Quantity.from_value(kib << 10, Format.BINARY_SI)}"
            pages[name] = pages.get(name, 0) + (kib << 10) * count
    return pages


def fit_verdict(
    pod: StoredPod, running: Iterable[StoredPod] | Usage, allocatable: Allocatable, *, pod_level: bool
) -> Rejected | Undetermined | None:
    """Return the verdict on a pod that does not fit, None if it does.

    For a critical pod a kubelet evicts others to make room (``pkg/kubelet/preemption``).
    """
    short = check_fit(pod, running, allocatable, pod_level=pod_level)
    if short is None or not pod.critical:
        return short
    return Undetermined(
        f"it does not fit ({short.message}), and it is critical: the kubelet evicts other pods for it,"
        " or rejects it if it finds none"
    )


def check_fit(
    pod: StoredPod, running: Iterable[StoredPod] | Usage, allocatable: Allocatable, *, pod_level: bool
) -> Rejected | None:
    """Return why *pod* does not fit next to the *running* pods, None if it does.

    *pod* itself does not count as running; a sum is that of the others.
    """
    if not isinstance(running, Usage):
        running = _usage(pod, running, allocatable.requests, pod_level=pod_level)
    allocatable.requests.make_room(running.pods)
    if running.pods + 1 > allocatable.pods:
        return _short_of("pods", 1, running.pods, allocatable.pods)
    wanted = allocatable.requests.of(pod, pod_level=pod_level)
    for name in (*_FIRST, *sorted(wanted.keys() - set(_FIRST))):
        capacity = allocatable.amounts.get(name, 0 if name.startswith("hugepages-") else None)
        amount, taken = wanted.get(name, 0), running.amounts.get(name, 0)
        looked_at = amount or (wanted and name in _FIRST and not allocatable.fits_zero)
        if capacity is not None and looked_at and amount > capacity - taken:
            return _short_of(name, amount, taken, capacity)
    return None


def _usage(pod: StoredPod, running: Iterable[StoredPod], requests: RequestTable, *, pod_level: bool) -> Usage:
    """Add up what the pods other than *pod* request."""
    others = [other for other in running if other.uid != pod.uid]
    used: dict[str, int] = {}
    for other in others:
        for name, amount in requests.of(other, pod_level=pod_level).items():
            used[name] = used.get(name, 0) + amount
    return Usage(len(others), used)


def _amount(name: str, quantity: Quantity) -> int:
    return quantity.milli_value if name == "cpu" else quantity.value


def _short_of(name: str, requested: int, used: int, capacity: int) -> Rejected:
    return Rejected(
        reason=f"OutOf{name}",
        message=(
            f"Node didn't have enough resource: {name}, requested: {requested}, used: {used}, "
            f"capacity: {capacity}"
        ),
        details={"requested": requested, "used": used, "capacity": capacity},
    )


class ActivePods(Copied, MutableMapping[str, StoredPod]):
    """Pods by UID, in order of arrival; equal to any mapping of the same pods.

    ``counted`` has the amounts (CPU in milli) that each pod contributes to the ``sums``, ``uncounted`` the
    pods that are not part of them yet. ``pod_level`` is whether the sums include pod-level resources.
    ``containers`` are the names of each pod's containers.
    """

    def __init__(self, pods: Mapping[str, StoredPod] = MappingProxyType({})) -> None:
        """Start with these pods, none of them counted."""
        self.pods = dict(pods)
        self.sums: dict[str, int] = {}
        self.counted: dict[str, Mapping[str, int]] = {}
        self.uncounted = set(pods)
        self.pod_level = False
        self.containers = {uid: _names(pod) for uid, pod in pods.items()}

    def usage_of_others(self, uid: str, requests: RequestTable, *, pod_level: bool) -> Usage:
        """Return what all pods except one use together."""
        if pod_level != self.pod_level:
            self.sums, self.counted, self.uncounted = {}, {}, set(self.pods)
            self.pod_level = pod_level
        # The pod itself is included while the kubelet decides on it: it may be refused.
        for other in self.uncounted - {uid}:
            self._count(other, requests.of(self.pods[other], pod_level=pod_level))
        own = self.counted.get(uid, {})
        amounts = {name: total - own.get(name, 0) for name, total in self.sums.items()}
        return Usage(pods=len(self.pods) - (uid in self.pods), amounts=amounts)

    def _count(self, uid: str, amounts: Mapping[str, int]) -> None:
        self.uncounted.discard(uid)
        self.counted[uid] = amounts
        for name, amount in amounts.items():
            self.sums[name] = self.sums.get(name, 0) + amount

    def _uncount(self, uid: str) -> None:
        self.uncounted.discard(uid)
        for name, amount in self.counted.pop(uid, {}).items():
            self.sums[name] -= amount

    def __getitem__(self, uid: str) -> StoredPod:
        return self.pods[uid]

    def __setitem__(self, uid: str, pod: StoredPod) -> None:
        self._uncount(uid)
        self.pods[uid] = pod
        self.uncounted.add(uid)
        self.containers[uid] = _names(pod)

    def __delitem__(self, uid: str) -> None:
        del self.pods[uid], self.containers[uid]
        self._uncount(uid)

    def __contains__(self, uid: object) -> bool:
        return uid in self.pods

    def __iter__(self) -> Iterator[str]:
        return iter(self.pods)

    def __len__(self) -> int:
        return len(self.pods)

    def items(self) -> ItemsView[str, StoredPod]:
        """Return the pods with their UIDs."""
        return self.pods.items()

    def values(self) -> ValuesView[StoredPod]:
        """Return the pods."""
        return self.pods.values()


def _names(pod: StoredPod) -> tuple[str, ...]:
    return tuple(each.name for each in pod.all_containers)
