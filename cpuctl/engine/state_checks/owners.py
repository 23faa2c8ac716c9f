"""The pods that run on a node: they name a state file's UIDs, and show which entries are not needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile
from cpuctl.diagnostics import Severity
from cpuctl.engine.state_checks.findings import REPAIR_WITH_PODS, StateFinding, StatePlace
from cpuctl.phrases import few
from cpuctl.pods.model import Container, ContainerKind, StoredPod
from cpuctl.records import Record
from cpuctl.state_names import CPU_FILE

_LONGEST = 120


class OwnerStatus(StrEnum):
    """What has happened to a holder of CPUs, memory or devices."""

    RUNNING = "running"
    POD_GONE = "podGone"
    CONTAINER_GONE = "containerGone"
    UNKNOWN = "unknown"


GONE = {
    OwnerStatus.POD_GONE: "the pod is not running",
    OwnerStatus.CONTAINER_GONE: "the pod has no such container",
}
"""Why an entry is not needed."""


class PodName(Record):
    """The namespace and name of a pod."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Owners(Record):
    """The pods that run, by the UID that their kubelet uses; None if it is unknown what runs.

    ``called`` are names of pods, running or not, and ``containers`` pod UIDs and container names by container
    id, as the node's container runtime had them some time ago: they do not show what runs.
    """

    pods: Mapping[str, StoredPod] | None = None
    called: Mapping[str, PodName] = {}
    containers: Mapping[str, tuple[str, str]] = {}

    @classmethod
    def of(cls, pods: Iterable[StoredPod]) -> Owners:
        """Return owners for which these pods run, and no others."""
        return cls({pod.uid: pod for pod in pods})

    def status(self, uid: str, container: str = "") -> OwnerStatus:
        """Return whether a pod runs and, if one is named, whether it has such a container."""
        if self.pods is None:
            return OwnerStatus.UNKNOWN
        if uid not in self.pods:
            return OwnerStatus.POD_GONE
        return (
            OwnerStatus.RUNNING
            if not container or self.container(uid, container)
            else OwnerStatus.CONTAINER_GONE
        )

    def all_gone(self, uids: Collection[str]) -> bool:
        """Return whether it is known that none of these pods runs; False if there are no UIDs."""
        return self.pods is not None and bool(uids) and not set(uids) & self.pods.keys()

    def container(self, uid: str, name: str) -> Container | None:
        """Return a container of a running pod."""
        pod = (self.pods or {}).get(uid)
        return next((each for each in pod.all_containers if each.name == name), None) if pod else None

    def pod_name(self, uid: str) -> PodName | None:
        """Return the name of a pod, None if it is unknown."""
        pod = (self.pods or {}).get(uid)
        return PodName(pod.namespace, pod.name) if pod else self.called.get(uid)

    def name(self, uid: str, container: str = "") -> str:
        """Return ``namespace/pod/container``, or the UID in place of the first two."""
        text = "/".join(filter(None, (str(self.pod_name(uid) or uid), container)))
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

    def names(self, holders: Sequence[tuple[str, str]]) -> str:
        """Return the first of some holders, given by UID and container, and how many more there are."""
        ordered = sorted(holders, key=lambda holder: (self.pod_name(holder[0]) is None, self.name(*holder)))
        return few([self.name(*holder) for holder in ordered])


UNKNOWN_OWNERS = Owners()
"""For when it is unknown what runs: nothing counts as gone then."""


_Held = TypeVar("_Held")


def gone(
    entries: Mapping[str, Mapping[str, object]], owners: Owners
) -> Iterator[tuple[str, str, OwnerStatus]]:
    """Yield UID, container and status of every entry whose owner is gone, as far as that is known."""
    for uid, containers in sorted(entries.items()):
        for name in sorted(containers):
            if (status := owners.status(uid, name)) in GONE:
                yield uid, name, status


def kept(entries: Mapping[str, Mapping[str, _Held]], owners: Owners) -> dict[str, dict[str, _Held]]:
    """Return the entries whose owner is not gone."""
    left = {
        uid: {name: held for name, held in containers.items() if owners.status(uid, name) not in GONE}
        for uid, containers in entries.items()
    }
    return {uid: containers for uid, containers in left.items() if containers}


Due = Callable[[StoredPod, Container], int]
"""How many exclusive CPUs a container is due."""

_CODES = {
    OwnerStatus.POD_GONE: "owner-gone",
    OwnerStatus.CONTAINER_GONE: "container-gone",
}
_ASSIGNED = {
    None: ": a restarted kubelet that admits it assigns it CPUs that it does not run on yet",
    True: ": a restarted kubelet assigns it CPUs that it does not run on yet",
    False: "",
}
_KEPT = {
    None: ", which a restarted kubelet keeps if it admits the pod again",
    True: ", which a restarted kubelet keeps",
    False: "",
}
_LATER = "its resources are released when the next pod is admitted"
_SOON = "its CPUs are released in the CPU Manager's next pass (cpuManagerReconcilePeriod)"


def gone_findings(
    file_name: str, state: CPUStateFile | MemoryStateFile, owners: Owners
) -> Iterator[StateFinding]:
    """Report the entries whose pod or container no longer exists."""
    entries: Mapping[str, Mapping[str, object]] = state.entries
    later = _SOON if file_name == CPU_FILE else _LATER
    for uid, name, status in gone(entries, owners):
        yield StateFinding(
            severity=Severity.WARNING,
            code=_CODES[status],
            place=StatePlace(file_name, uid, name),
            message=f"{owners.name(uid, name)}: {GONE[status]}; {later}",
            fix=REPAIR_WITH_PODS,
        )


def due_findings(
    state: CPUStateFile, owners: Owners, due: Due, admitted: Mapping[str, bool]
) -> Iterator[StateFinding]:
    """Compare what containers hold with what they are due, except in pods with pod-level resources.

    *admitted*: whether a restarted kubelet admits a pod, by UID, as far as that is known.
    """
    for uid, pod in sorted((owners.pods or {}).items()):
        if pod.has_pod_level_resources:
            continue
        fate = admitted.get(uid)
        for container in pod.all_containers:
            held, count = state.entries.get(uid, {}).get(container.name), due(pod, container)
            if held is None and count and _runs_on(pod, container):
                yield StateFinding(
                    Severity.WARNING,
                    "not-recorded",
                    StatePlace(CPU_FILE, uid, container.name),
                    f"{pod.full_name}/{container.name} should have {count} exclusive CPUs, but holds none"
                    f"{_ASSIGNED[fate]}",
                    expected=f"{count} CPUs",
                    detected="none",
                )
            elif held is not None and len(held) != count:
                yield StateFinding(
                    Severity.WARNING,
                    "other-size",
                    StatePlace(CPU_FILE, uid, container.name),
                    f"{pod.full_name}/{container.name} should have {count} exclusive CPUs, but "
                    f"holds {len(held)}{_KEPT[fate]}",
                    expected=f"{count} CPUs",
                    detected=str(held),
                )


def _runs_on(pod: StoredPod, container: Container) -> bool:
    """Return whether a container should already, and still, hold its CPUs."""
    return pod.phase == "Running" and container.kind is not ContainerKind.INIT
