"""The pods that a kubelet takes for running, and what they request together.

The sums go with the pods: a pod that comes is counted when somebody next asks, once, and what it was counted
with is taken off again as soon as it goes or is replaced.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, MutableMapping, ValuesView
from types import MappingProxyType

from cpuctl.engine.changeable import Copied
from cpuctl.engine.node_fit import RequestTable, Usage
from cpuctl.pods.model import StoredPod


class ActivePods(Copied, MutableMapping[str, StoredPod]):
    """Pods by UID, in the order in which they came; equal to any mapping of the same pods.

    ``counted`` has the amounts (CPU in milli) by which each pod is part of the ``sums``, ``uncounted`` the
    pods that are not part of them yet. ``pod_level`` is whether the sums were made with pods' own resources.
    ``containers`` are the names of each pod's containers.
    """

    def __init__(self, pods: Mapping[str, StoredPod] = MappingProxyType({})) -> None:
        """Take these pods, none of them counted."""
        self.pods = dict(pods)
        self.sums: dict[str, int] = {}
        self.counted: dict[str, Mapping[str, int]] = {}
        self.uncounted = set(pods)
        self.pod_level = False
        self.containers = {uid: _names(pod) for uid, pod in pods.items()}

    def usage_beside(self, uid: str, requests: RequestTable, *, pod_level: bool) -> Usage:
        """Tell what all pods but one use together."""
        if pod_level != self.pod_level:
            self.sums, self.counted, self.uncounted = {}, {}, set(self.pods)
            self.pod_level = pod_level
        # The one itself is there for as long as the kubelet decides on it: it may be refused.
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
