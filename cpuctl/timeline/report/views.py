"""The visible state of a replay at a moment, as plain values, and its comparison with expectations.

CPU sets are lists, amounts and durations are texts in canonical form; a container is ``namespace/pod/name``.
Values other than expected are reported as differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from cpuctl.checkpoints.model import CPUStateFile, UnreadableState
from cpuctl.checkpoints.reader import KNOWS_ALL
from cpuctl.cpuset import CPUSet
from cpuctl.documents.document import Origin
from cpuctl.documents.positions import path_text
from cpuctl.engine.metrics import samples
from cpuctl.engine.resize.outcome import Condition
from cpuctl.golang.durations import duration_text
from cpuctl.pods.model import Container, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import Record
from cpuctl.timeline.model import Expected, Moment
from cpuctl.timeline.pods.containers import weight_of
from cpuctl.timeline.pods.lifecycle import free
from cpuctl.timeline.pods.resize import IN_PROGRESS, PENDING
from cpuctl.timeline.world.kubelet_process import KubeletProcess
from cpuctl.timeline.world.scale_downs import ScaleDown
from cpuctl.timeline.world.world import PodLife, World, cpus_text

if TYPE_CHECKING:
    from cpuctl.answers import replay as answers


_NOTHING = Quantity()


class Latency(Record):
    """The number of measurements, and their bounds in nanoseconds; None without any."""

    measured: int
    shortest: int | None
    longest: int | None

    @classmethod
    def of(cls, times: Iterable[int]) -> Latency:
        """Summarize measurements."""
        values = sorted(times)
        return cls(len(values), values[0] if values else None, values[-1] if values else None)


class Slis(Record):
    """The three service level indicators of KEP-6122 for all scale-downs of a replay.

    ``notification``: from the decision until the volume shows it. ``application``: from the end of the delay
    until the CPU set is applied. ``late``: scale-downs that the volume showed too late or never.
    """

    notification: Latency
    application: Latency
    late: int


def slis_of(scale_downs: Iterable[ScaleDown]) -> Slis:
    """Compute the indicators; containers that do not expose their CPUs cannot be notified."""
    found = list(scale_downs)
    return Slis(
        notification=Latency.of(
            each.notified - each.decided for each in found if each.exposed and each.notified is not None
        ),
        application=Latency.of(each.applied - each.due for each in found if each.applied is not None),
        late=sum(each.late for each in found),
    )


def kubelet_view(world: World) -> answers.Kubelet:
    """Return the running kubelet, or why none runs."""
    running = world.kubelet is not None
    return {"running": running, "version": world.setup.version, "error": "" if running else world.why_down}


def pool_view(world: World) -> str | None:
    """Return the shared pool, empty with policy ``none``; None while no kubelet runs."""
    if world.kubelet is None:
        return None
    return cpus_text(world.kubelet.node.state.default) if world.kubelet.node.policy else ""


def containers_view(world: World) -> dict[str, answers.Container]:
    """Return the state of every container."""
    return {
        f"{life.name}/{container.name}": _container(world, life, container)
        for life in world.pods.values()
        for container in life.running.spec.all_containers
    }


def _container(world: World, life: PodLife, container: Container) -> answers.Container:
    name = container.name
    one, key = life.containers[name], (life.uid, name)
    runs, granted = one.runs, life.admitted and not life.failed
    view: answers.Container = {
        "state": one.state.value,
        "cgroup": cpus_text(one.cgroup) if runs else None,
        "effective": cpus_text(world.effective(one)) if runs else None,
        "weight": weight_of(one.milli) if runs else None,
        "downward": one.file,
        # Three of the four states of KEP-1287: the weight shows the actuated one.
        "desired": _request(life.running.spec, name),
        "allocated": _request(life.running.allocated, name) if granted else None,
        "actual": _request(life.running.actual, name) if granted else None,
    }
    if world.kubelet is not None:
        state = world.kubelet.node.state
        view["cpus"] = cpus_text(state.assigned(*key) or 0)
        view["pending"] = _list_or_none(state.awaited(*key))
        view["baseline"] = _list_or_none(state.baseline(*key))
    return view


def _list_or_none(mask: int | None) -> str | None:
    return None if mask is None else cpus_text(mask)


def _request(pod: StoredPod, name: str) -> str:
    (container,) = (each for each in pod.all_containers if each.name == name)
    return str(container.resources.requests.get("cpu", _NOTHING).canonical())


def pods_view(world: World) -> dict[str, answers.Pod]:
    """Return the status of every pod."""
    return {
        life.name: {
            "phase": life.phase.value,
            "reason": life.reason,
            "message": life.message,
            "conditions": {
                "PodResizePending": _condition(life.conditions.get(PENDING)),
                "PodResizeInProgress": _condition(life.conditions.get(IN_PROGRESS)),
            },
        }
        for life in world.pods.values()
    }


def _condition(found: Condition | None) -> answers.Condition | None:
    return {"reason": found.reason, "message": found.message} if found else None


def state_file_view(world: World) -> answers.StateFile | None:
    """Return the content of ``cpu_manager_state``; None if the file does not exist."""
    if world.disk.cpu is None:
        return None
    saved = world.disk.read_cpu(KNOWS_ALL)
    if isinstance(saved, UnreadableState):
        return {"format": world.disk.cpu_format, "error": saved.error}
    assert isinstance(saved, CPUStateFile)
    names = {uid: life.name for uid, life in world.pods.items()}
    has_baselines = "baselines" in (world.disk.cpu_text or "")
    return {
        "format": world.disk.cpu_format,
        "policyName": saved.policy_name,
        "defaultCpuSet": str(saved.default_cpu_set),
        "entries": _entries(saved.entries, names),
        "baselines": _entries(saved.baselines, names) if has_baselines else {},
        "podEntries": {names.get(uid, uid): str(cpus) for uid, cpus in saved.pod_entries.items()},
    }


def _entries(entries: Mapping[str, Mapping[str, CPUSet]], names: Mapping[str, str]) -> dict[str, str]:
    return {
        f"{names.get(uid, uid)}/{name}": str(cpus)
        for uid, containers in entries.items()
        for name, cpus in containers.items()
    }


def scheduler_view(world: World) -> dict[str, str]:
    """Return the free resources that the scheduler sees."""
    return {name: str(amount.canonical()) for name, amount in free(world).items()}


def metrics_view(world: World) -> dict[str, int]:
    """Return the values that a scrape of the kubelet would read; empty while none runs."""
    return dict(_metrics(world, world.kubelet)) if world.kubelet is not None else {}


def _metrics(world: World, kubelet: KubeletProcess) -> Iterator[tuple[str, int]]:
    for sample in samples(kubelet.node):
        labels = ",".join(f'{label}="{value}"' for label, value in sample.labels.items())
        yield (f"{sample.name}{{{labels}}}" if labels else sample.name), sample.value
    lives = list(world.on_node())
    yield "kubelet_pod_in_progress_resizes", sum(IN_PROGRESS in life.conditions for life in lives)
    for reason in ("Deferred", "Infeasible"):
        pending = [life.conditions[PENDING] for life in lives if PENDING in life.conditions]
        count = sum(condition.reason == reason for condition in pending)
        yield f'kubelet_pod_pending_resizes{{reason="{reason.lower()}"}}', count


def slis_view(world: World) -> answers.Slis:
    """Return the service level indicators of KEP-6122 until now."""
    slis = slis_of(world.scale_downs.all)
    return {
        "notification": _latency(slis.notification),
        "application": _latency(slis.application),
        "lateNotifications": slis.late,
    }


def _latency(latency: Latency) -> answers.Latency:
    return {
        "count": latency.measured,
        "shortest": None if latency.shortest is None else duration_text(latency.shortest),
        "longest": None if latency.longest is None else duration_text(latency.longest),
    }


def hints_view(world: World) -> dict[str, Mapping[str, str]]:
    """Return the topology hints of every admission if a log is replayed."""
    return {owner: texts for life in world.pods.values() for owner, texts in life.hints.items()}


VIEWS: Mapping[str, Callable[[World], object]] = MappingProxyType(
    {
        "kubelet": kubelet_view,
        "hints": hints_view,
        "sharedPool": pool_view,
        "containers": containers_view,
        "pods": pods_view,
        "stateFile": state_file_view,
        "scheduler": scheduler_view,
        "metrics": metrics_view,
        "slis": slis_view,
    }
)


class Failure(Record):
    """One unexpected value: the location of the expectation, its subject, and both values.

    ``at`` is the time in nanoseconds.
    """

    at: int
    where: Origin | str | None
    what: str
    expected: Expected
    found: object

    @property
    def place(self) -> str:
        """Return file, line and path of the expectation; finding the line reads the file again."""
        if isinstance(self.where, Origin):
            return self.where.document.where(self.where.path)
        return self.where or ""


def check(world: World, moment: Moment) -> list[Failure]:
    """Compare the current expectations with the visible state."""
    return [
        Failure(moment.at, moment.where, path_text(path), expected, found)
        for section, expected in moment.expect.items()
        for path, expected, found in _differences((section,), expected, VIEWS[section](world))
    ]


def _differences(
    path: tuple[str, ...], expected: Expected, found: object
) -> Iterator[tuple[tuple[str, ...], Expected, object]]:
    """Yield every expected value that differs; values that are not mentioned may be anything."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key, member in expected.items():
            yield from _differences((*path, key), member, found.get(key))
    elif expected != found:
        yield path, expected, found
