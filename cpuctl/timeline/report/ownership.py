"""Which CPUs belong to whom at a moment: what the chart of a replay is drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuctl.engine.node import Node
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.pods.model import ContainerKind, StoredPod
from cpuctl.timeline.world.world import World


class Holding(NamedTuple):
    """What one container has (masks): CPUs that stay, and CPUs that are to go but are in its cgroup still."""

    stays: int
    goes: int = 0


class Owners(NamedTuple):
    """Exclusive CPUs by pod and container (``namespace/pod/container``), and the shared pool.

    What a pod holds as a whole and gives to no container alone (KEP-5526) is under the pod's own name.
    """

    containers: Mapping[str, Holding]
    shared: int


NOBODY = Owners({}, 0)
"""Before there is a kubelet."""


class Sample(NamedTuple):
    """Who has what from a time on, which is in nanoseconds."""

    at: int
    owners: Owners


def owners(world: World, before: Owners) -> Owners:
    """Tell who has what now; while no kubelet runs, whoever runs has what it had *before*."""
    if world.kubelet is None:
        running = {
            f"{life.name}/{name}"
            for life in world.pods.values()
            for name, container in life.containers.items()
            if container.runs
        }
        pods = {name.rpartition("/")[0] for name in running}
        kept = {name: held for name, held in before.containers.items() if name in running or name in pods}
        return Owners(kept, before.shared)
    node = world.kubelet.node
    return Owners(dict(_holdings(world, node)), node.state.default if node.policy else 0)


def _holdings(world: World, node: Node) -> Iterator[tuple[str, Holding]]:
    for uid, containers in node.state.assignments.items():
        whole = node.state.pod_entries.get(uid, 0)
        if uid not in world.pods:
            # Nobody has noticed yet that it is gone.
            pod = world.names.get(uid, uid)
            gone = {pod: whole} if whole else {f"{pod}/{name}": cpus for name, cpus in containers.items()}
            yield from ((name, Holding(0, cpus)) for name, cpus in gone.items())
            continue
        life, pending = world.pods[uid], node.state.pending.get(uid, {})
        sharing = _sharing(life.running.allocated) if whole else {}
        pool, leftover = 0, whole
        for name, cpus in containers.items():
            if name in sharing:
                # CPUs of the init containers before it are in its pod's pool by then.
                pool |= 0 if sharing[name] is ContainerKind.INIT else cpus
                continue
            leftover &= ~cpus
            if (one := life.containers.get(name)) is not None:
                kept = pending.get(name, cpus)
                yield f"{life.name}/{name}", Holding(kept, (cpus | one.cgroup) & ~kept)
        if pool or leftover:
            yield life.name, Holding(pool or leftover)


def _sharing(pod: StoredPod) -> dict[str, ContainerKind]:
    """Name the containers that share their pod's pool: what the state has for them is nobody's own."""
    return {
        each.name: each.kind
        for each in pod.all_containers
        if isolation_of(each, assigned=True, divided=True) is Isolation.POD
    }
