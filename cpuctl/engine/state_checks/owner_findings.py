"""What a state file says of pods that run or do not run: entries nobody needs, and those that lack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile
from cpuctl.diagnostics import Severity
from cpuctl.engine.state_checks.findings import REPAIR_WITH_PODS, StateFinding, StatePlace
from cpuctl.engine.state_checks.owners import GONE, Owners, Standing, gone
from cpuctl.pods.model import Container, ContainerKind, StoredPod
from cpuctl.state_names import CPU_FILE

Due = Callable[[StoredPod, Container], int]
"""How many exclusive CPUs a container is due."""

_CODES = {
    Standing.POD_GONE: "owner-gone",
    Standing.CONTAINER_GONE: "container-gone",
}
_LATER = "what it holds comes back when the next pod is admitted"


def gone_findings(
    file_name: str, state: CPUStateFile | MemoryStateFile, owners: Owners
) -> Iterator[StateFinding]:
    """Name the entries whose pod or container is not there any more."""
    entries: Mapping[str, Mapping[str, object]] = state.entries
    for uid, name, standing in gone(entries, owners):
        yield StateFinding(
            severity=Severity.WARNING,
            code=_CODES[standing],
            place=StatePlace(file_name, uid, name),
            message=f"{owners.name(uid, name)}: {GONE[standing]}; {_LATER}",
            fix=REPAIR_WITH_PODS,
        )


def due_findings(state: CPUStateFile, owners: Owners, due: Due) -> Iterator[StateFinding]:
    """Compare what containers hold with what they are due, but for pods that hold CPUs as a whole."""
    for uid, pod in sorted((owners.pods or {}).items()):
        if pod.has_pod_level_resources:
            continue
        for container in pod.all_containers:
            held, count = state.entries.get(uid, {}).get(container.name), due(pod, container)
            if held is None and count and _runs_on(pod, container):
                yield StateFinding(
                    Severity.WARNING,
                    "not-recorded",
                    StatePlace(CPU_FILE, uid, container.name),
                    f"{pod.full_name}/{container.name} is due {count} exclusive CPUs, and holds none: a "
                    "kubelet that starts now gives it some that it does not run on yet",
                    expected=f"{count} CPUs",
                    detected="none",
                )
            elif held is not None and len(held) != count:
                yield StateFinding(
                    Severity.WARNING,
                    "other-size",
                    StatePlace(CPU_FILE, uid, container.name),
                    f"{pod.full_name}/{container.name} is due {count} exclusive CPUs, and holds "
                    f"{len(held)}: a kubelet that starts now may not admit the pod again",
                    expected=f"{count} CPUs",
                    detected=str(held),
                )


def _runs_on(pod: StoredPod, container: Container) -> bool:
    """Tell whether a container should hold its CPUs by now, and still."""
    return pod.phase == "Running" and container.kind is not ContainerKind.INIT
