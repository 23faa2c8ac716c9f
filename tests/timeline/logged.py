"""Logs for tests: the fixtures with their node, and a kubelet's log of a replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cpuctl.cpuset import CPUSet
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.replay import TimelineInputs, load_timeline
from cpuctl.records import replace
from cpuctl.timeline.model import Admit, Remove, Timeline
from cpuctl.timeline.simulation import Simulation
from cpuctl.timeline.world.world import PodLife

LOGS = Path("fixtures/logs")
MACHINE = "synthetic:1s1n4c2t"
CONFIG = str(LOGS / "kubelet.yaml")
PODS = str(LOGS / "pods.yaml")


def load(
    log: Path | str, sources: Sources | None = None, *, pods: str = PODS, machine: str = MACHINE
) -> Timeline:
    """Read a log with its node."""
    words = TimelineInputs(
        str(log), machine, filenames=(pods,) if pods else (), kubelet=KubeletInputs(config=CONFIG)
    )
    return load_timeline(words, sources or Sources())


def replay(timeline: Timeline) -> Simulation:
    """Play it to its end."""
    simulation = Simulation(timeline)
    for _ in simulation.play(timeline.moments, timeline.until):
        pass
    return simulation


def printed(timeline: Timeline, minor: int) -> Iterator[str]:
    """Play a timeline, and print its log of a kubelet of a release at verbosity 4."""
    simulation = Simulation(replace(timeline, log="that is being written"))
    world = simulation.world
    yield _klog(0, f'"Kubelet version" kubeletVersion="v1.{minor}.0"')
    for moment in timeline.moments:
        for _ in simulation.play([moment], moment.at):
            pass
        at = moment.at
        match moment.event:
            case Admit(pod=pod):
                name, life = pod.pod.full_name, world.find(pod.pod.full_name)
                assert life is not None
                yield _klog(at, f'"SyncLoop ADD" source="api" pods=["{name}"]')
                yield _considered(at, minor, name, life.uid)
                yield from _hints(at, life)
                if life.failed:
                    why = f'reason="{life.reason}" message="{life.message}"'
                    stated = (
                        f'"Event occurred" object="{name}" kind="Pod" type="Warning" {why}'
                        if minor <= 30
                        else f'"Pod admission denied" podUID="{life.uid}" pod="{name}" {why}'
                    )
                    yield _klog(at, stated)
                    continue
                assert world.kubelet is not None
                state = world.kubelet.node.state
                for container in pod.pod.all_containers:
                    if cpus := state.assigned(life.uid, container.name):
                        about = f'podUID="{life.uid}" containerName="{container.name}"'
                        yield _klog(at, f'"Updated default CPUSet" cpuSet="{CPUSet(state.default)}"')
                        yield _klog(at, f'"Updated desired CPUSet" {about} cpuSet="{CPUSet(cpus)}"')
                event = f'{{"ID":"{life.uid}","Type":"ContainerStarted","Data":"3f"}}'
                yield _klog(at, f'"SyncLoop (PLEG): event for pod" pod="{name}" event={event}')
            case Remove(pod=name):
                yield _klog(at, f'"SyncLoop REMOVE" source="api" pods=["{name}"]')
            case _:
                continue


def _considered(at: int, minor: int, name: str, uid: str) -> str:
    if minor <= 30:
        namespace, _, own = name.partition("/")
        about = f'podUID={uid} podNamespace="{namespace}" podName="{own}"'
        return _klog(at, f'"Topology Admit Handler" {about}')
    if minor <= 32:
        return _klog(at, f'"TopologyHints" hints={{}} pod="{name}" containerName="app"')
    return _klog(at, f'"Topology manager admission check" pod="{name}"')


def _hints(at: int, life: PodLife) -> Iterator[str]:
    """Print hints as Go does, all of a container in one line, and their result."""
    for owner, reported in life.hints.items():
        container = owner.removeprefix(life.name).removeprefix("/")
        about = f'pod="{life.name}"' + (f' containerName="{container}"' if container else "")
        listed = (
            f"{resource}:[{' '.join(map(_go, text.split('; ')))}]"
            for resource, text in reported.items()
            if resource != "best"
        )
        yield _klog(at, f'"TopologyHints" hints=map[{" ".join(listed)}] {about}')
        yield _klog(at, f'"Best TopologyHint" bestHint={_go(reported["best"])} {about}')
        if not life.failed:
            yield _klog(at, f'"Topology Affinity" bestHint={_go(reported["best"])} {about}')


def _go(hint: str) -> str:
    """Print a hint: each of its NUMA nodes is a bit."""
    where, _, _ = hint.removeprefix("nodes ").removeprefix("node ").partition(" ")
    nodes = "<nil>" if where == "any" else f"{CPUSet.parse(where).mask:02b}"
    return f"{{NUMANodeAffinity:{nodes} Preferred:{str(hint.endswith(' preferred')).lower()}}}"


def _klog(at: int, text: str) -> str:
    seconds, rest = divmod(at, 10**9)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest // 1000:06}"
    return f"I0823 {clock}    4242 x.go:1] {text}"
