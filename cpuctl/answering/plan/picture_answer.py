"""The holders of CPUs after a plan: the data of its picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cpuctl.answering.checkpoint.dump_answer import held_cpus
from cpuctl.answering.topology.topology_answer import cpu_rows, map_answer
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.engine.node import Node
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.pods.model import Container, ContainerKind, StoredPod
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers.plan import PlanPicture
    from cpuctl.answers.topology import PicturedCPU
    from cpuctl.cpuset import CPUSet
    from cpuctl.machine.model import Machine


def plan_picture(machine: Machine, node: object, pods: Iterable[StoredPod]) -> PlanPicture:
    """List every CPU with the marks of its holders, and the holders; *pods* are those whose names are known.

    A *node* that is not a started one holds nothing.
    """
    if not isinstance(node, Node):
        return _of(machine, CPUStateFile(policy_name="none", default_cpu_set=machine.online), Owners.of([]))
    known = {pod.uid: pod for pod in (*node.active.values(), *pods)}
    state = node.state_file()
    if node.policy is None:
        # Without a policy, the kubelet has no pool: every container runs on all CPUs.
        state = replace(state, default_cpu_set=machine.online)
    return _of(machine, _while_running(state, known), Owners.of(known.values()))


def _of(machine: Machine, state: CPUStateFile, owners: Owners) -> PlanPicture:
    held = held_cpus(state, owners)
    whole = {row["cpu"]: row for row in cpu_rows(machine)}
    rows: list[PicturedCPU] = [{**whole[row["cpu"]], **row} for row in map_answer(machine, held)["cpus"]]
    return {"holders": held["holders"], "cpus": rows}


def _while_running(state: CPUStateFile, pods: Mapping[str, StoredPod]) -> CPUStateFile:
    """Leave init containers only the CPUs that no later container of their pod has reused."""
    entries = {
        uid: _of_the_last(containers, pods[uid]) if uid in pods else containers
        for uid, containers in state.entries.items()
    }
    return replace(state, entries=entries)


def _of_the_last(containers: Mapping[str, CPUSet], pod: StoredPod) -> Mapping[str, CPUSet]:
    first = {each.name for each in pod.all_containers if _ends_first(each)}
    rest = {name: cpus for name, cpus in containers.items() if name not in first}
    kept = dict(rest)
    for name in containers.keys() & first:
        left = containers[name]
        for cpus in rest.values():
            left -= cpus
        if left:
            kept[name] = left
    return kept


def _ends_first(container: Container) -> bool:
    return container.kind is ContainerKind.INIT
