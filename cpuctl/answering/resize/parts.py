"""Parts of the answer about resizes: containers, resources in their four states, cores to draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cpuctl.answering.plan.plan_answer import cpu_list
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.node import Node
from cpuctl.engine.placement import isolation_of
from cpuctl.engine.resize.effects import CgroupChange, Counted, changed_amounts, restarting
from cpuctl.engine.resize.outcome import CPUShare, ResizeOutcome, Ruling
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import RESIZABLE, requirements
from cpuctl.golang.durations import duration_text
from cpuctl.pods.cgroups.files import WeightFormula
from cpuctl.pods.cgroups.values import CgroupValues
from cpuctl.pods.model import Container, StoredPod
from cpuctl.quantity import Quantity

if TYPE_CHECKING:
    from cpuctl.answers import resize as answers


def container_answer(
    outcome: ResizeOutcome, container: Container, node: Node, change: CgroupChange, rules: ResizeRules
) -> answers.ResizedContainer:
    """Describe one container: its resources, whether it restarts, its exclusive CPUs or why it has none.

    One of a pod that is not on the node has neither.
    """
    share = outcome.shares.get(container.name)
    pod = node.active.get(outcome.request.running.allocated.uid, outcome.request.running.allocated)
    there = pod.uid in node.active
    now = next((each for each in pod.all_containers if each.name == container.name), container)
    if share is not None and not rules.exclusive_cpus:
        share = share._replace(baseline=None)  # without the gate nothing is promised
    restarts = restarting(outcome.request, container.name, rules)
    return {
        "name": container.name,
        "kind": container.kind.value,
        "changed": bool(changed_amounts(outcome.request, container.name)),
        "restarts": [resource for resource in RESIZABLE if resource in restarts],
        "resources": resources_answer(outcome, container.name),
        "isolation": (
            isolation_of(
                now,
                assigned=node.state.assigned(pod.uid, container.name) is not None,
                divided=pod.uid in node.state.pod_entries,
            ).value
            if there
            else None
        ),
        "whyShared": (node.why_shared(pod, now) or None) if there else None,
        "cpus": None if share is None else _cpus(outcome, container.name, share, node.topology),
        "cgroup": cgroup_answer(change, container.name),
    }


def resources_answer(outcome: ResizeOutcome, container: str) -> answers.States:
    """Describe resources right after the decision: what has been granted is still to be carried out."""
    running, desired = outcome.request.running, outcome.request.desired
    if outcome.ruling is Ruling.FORBIDDEN:
        desired = running.spec
    allocated = desired if outcome.ruling.accepted else running.allocated
    return {
        "before": _amounts(running.allocated, container),
        "asked": _amounts(outcome.request.desired, container),
        "desired": _amounts(desired, container),
        "allocated": _amounts(allocated, container),
        "actuated": _amounts(running.actuated, container),
        "actual": _amounts(running.actual, container),
    }


def _amounts(pod: StoredPod, container: str) -> answers.Resources:
    resources = requirements(pod).get(container)
    if resources is None:
        return {"requests": {}, "limits": {}}
    return {"requests": _texts(resources.requests), "limits": _texts(resources.limits)}


def _texts(amounts: Mapping[str, Quantity]) -> answers.Amounts:
    texts: answers.Amounts = {}
    for name in RESIZABLE:
        if name in amounts:
            texts[name] = str(amounts[name])
    return texts


def _cpus(outcome: ResizeOutcome, name: str, share: CPUShare, topology: CPUTopology) -> answers.ResizedCPUs:
    before, after, promised = share.before or 0, share.after or 0, share.baseline
    steps = [step for placed in outcome.placements if placed.container.name == name for step in placed.steps]
    return {
        "before": None if share.before is None else cpu_list(before),
        "after": None if share.after is None else cpu_list(after),
        "promised": None if promised is None else cpu_list(promised),
        "kept": cpu_list(before & after),
        "gained": cpu_list(after & ~before),
        "lost": cpu_list(before & ~after),
        "counts": {"before": before.bit_count(), "after": after.bit_count()},
        "follows": name not in outcome.unfollowed,
        "numaNodes": [number for number, mask in topology.numa_nodes.items() if mask & after],
        "givenUpAfter": duration_text(outcome.delay) if outcome.delay and before & ~after else None,
        "steps": [{"rule": step.rule, "cpus": cpu_list(step.cpus)} for step in steps],
    }


def cores_answer(topology: CPUTopology, outcomes: Iterable[ResizeOutcome]) -> list[answers.Core]:
    """List the cores of all NUMA nodes that resized containers are on, were on, or were promised."""
    cpus = 0
    for outcome in outcomes:
        for share in outcome.shares.values():
            cpus |= (share.before or 0) | (share.after or 0) | (share.baseline or 0)
    return [
        {"numaNode": number, "core": core, "cpus": list(CPUSet(mask & node))}
        for number, node in topology.numa_nodes.items()
        if node & cpus
        for core, mask in topology.cores.items()
        if mask & node
    ]


def scheduler_answer(counts: Counted) -> answers.Scheduled:
    """Describe what the scheduler counts for the pod."""
    return {
        "before": _texts(counts.before),
        "meanwhile": _texts(counts.meanwhile),
        "settled": _texts(counts.settled),
    }


def cgroup_answer(change: CgroupChange, name: str) -> answers.Cgroups:
    """Describe the cgroup of a container, or with nothing of the pod, before and after."""
    before = change.before[name]
    return {"before": _cgroup(before), "after": _cgroup(change.after.get(name, before))}


def _cgroup(values: CgroupValues) -> answers.Cgroup:
    return {
        "cpuShares": values.shares,
        "cpuWeight": {
            "linear": WeightFormula.LINEAR.weight(values.shares),
            "curved": WeightFormula.CURVED.weight(values.shares),
        },
        "cpuQuota": values.quota,
        "cpuPeriod": values.period,
        "memoryLimit": values.memory,
    }
