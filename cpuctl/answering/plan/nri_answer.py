"""The answers of a Node Resource Interface plugin for a plan (schema: ``cpuctl schema nriplan``).

Rule: ``pkg/api/api.proto`` of containerd/nri 8ec8b28: the answer to CreateContainer adjusts the new container
and updates others. Absent values and empty sets change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.cpuset import CPUSet
from cpuctl.phrases import few, named
from cpuctl.pods.model import ContainerKind

if TYPE_CHECKING:
    from cpuctl.answers.decisions import PlacedContainer, Pod
    from cpuctl.answers.nri import NRIAdjustment, NRIAnswer, NRIEvent, NRILinux, NRIMatch, NRIOutcome, NRIPlan
    from cpuctl.answers.plan import NotStartedPlan, StartedPlan
    from cpuctl.engine.node import Node
    from cpuctl.nri.model import Answer, RuntimeContainer, Setting
    from cpuctl.pods.model import StoredPod

_STATIC = "static"


def nri_document(plan: StartedPlan | NotStartedPlan, node: Node | None) -> NRIPlan:
    """Return the answers for a plan; *node* is the node after it, None if no kubelet runs."""
    answers: list[NRIAnswer] = []
    if "after" in plan and node is not None:
        planned = {pod["uid"] for pod in plan["pods"]}
        sharing = list(_running(node, planned)) if _by_cpus(plan) else []
        answers += _answers(plan, sharing)
    return {
        "apiVersion": API_VERSION,
        "kind": "NRIPlan",
        "sources": plan["sources"],
        "start": plan["start"],
        "answers": answers,
    }


def written_by_kubelet(plan: StartedPlan | NotStartedPlan) -> bool:
    """Return whether the kubelet itself would write the CPU sets."""
    return "after" in plan and _by_cpus(plan)


def _by_cpus(plan: StartedPlan) -> bool:
    return plan["kubelet"]["cpuManagerPolicy"] == _STATIC


def _running(node: Node, planned: set[str]) -> Iterator[NRIMatch]:
    """Yield the running containers that share their CPUs."""
    for uid, pod in node.active.items():
        for each in pod.all_containers:
            shares = node.cpu.state.assigned(uid, each.name) is None
            if uid not in planned and shares and each.kind is not ContainerKind.INIT:
                yield _named(pod, each.name)


def _named(pod: StoredPod, container: str) -> NRIMatch:
    # A pod that is only known from a state file has its UID in place of a name.
    if pod.name == pod.uid:
        return {"namespace": "", "pod": "", "container": container, "uid": pod.uid}
    return {"namespace": pod.namespace, "pod": pod.name, "container": container}


def _answers(plan: StartedPlan, sharing: list[NRIMatch]) -> Iterator[NRIAnswer]:
    admitted = [pod for pod in plan["pods"] if pod["outcome"] == "Admitted"]
    pool = CPUSet.parse(plan["after"]["sharedPool"])
    for pod in admitted:
        pool |= _own(pod)
    for pod in admitted:
        own = _own(pod)
        smaller = pool - own
        update = [(each, linux_answer(str(smaller))) for each in sharing] if pool & own else []
        pool = smaller
        for container in _placed(pod):
            match: NRIMatch = {
                "namespace": pod["namespace"],
                "pod": pod["name"],
                "container": container["name"],
            }
            yield {
                "event": "CREATE_CONTAINER",
                "match": match,
                "adjust": _adjustment(container, by_cpus=_by_cpus(plan)),
                "update": [{"match": each, "linux": linux} for each, linux in update],
            }
            # The kubelet admits a pod as a whole: the pool has its final CPUs from the first container on.
            update = []
            if container["isolation"] == "host" and container["kind"] != "init":
                sharing.append(match)


def _placed(pod: Pod) -> Sequence[PlacedContainer]:
    return [each for each in pod["containers"] if each["exclusive"] is not None]


def _own(pod: Pod) -> CPUSet:
    """Return the CPUs that belong only to a pod."""
    own = CPUSet.parse(pod.get("podCPUs", ""))
    for container in _placed(pod):
        if container["isolation"] != "host":
            own |= CPUSet.parse(container["cpus"])
    return own


def _adjustment(container: PlacedContainer, *, by_cpus: bool) -> NRIAdjustment:
    memory = container.get("memory")
    linux = linux_answer(container["cpus"] if by_cpus else "", memory["cpusetMems"] if memory else "")
    return {"linux": linux} if linux["resources"]["cpu"] else {}


def linux_answer(cpus: str, mems: str = "") -> NRILinux:
    """Write CPUs and memory nodes as runtimes do; leave out empty sets, so that they remain unchanged."""
    return {"resources": {"cpu": {**({"cpus": cpus} if cpus else {}), **({"mems": mems} if mems else {})}}}


# The answers of a container runtime's plugin, as plain data and as log lines.


_FEW = 4


def event_document(name: str, answer: Answer, outcome: NRIOutcome, now: float) -> NRIEvent:
    """Report one answer, in the form of ``plan -o nri``."""
    return {
        "apiVersion": API_VERSION,
        "kind": "NRIEvent",
        "time": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
        "event": name,
        "outcome": outcome,
        "match": _match(answer.container) if answer.container else None,
        "adjust": {"linux": linux_answer(*answer.adjust)} if answer.adjust else {},
        "update": [
            {"match": _match(each.container), "linux": linux_answer(*each.setting)} for each in answer.updates
        ],
        "notes": [*answer.notes],
    }


def event_line(answer: Answer, outcome: NRIOutcome) -> str:
    """Report one answer in a line; empty if nothing changes."""
    parts = []
    if answer.container is not None:
        if answer.adjust is None:
            parts.append(f"{answer.container.full_name}: untouched")
        else:
            owner = "exclusive" if answer.own else "shared"
            parts.append(f"{answer.container.full_name}: {_setting_text(answer.adjust, owner)}")
    groups: dict[Setting, list[str]] = {}
    for each in answer.updates:
        groups.setdefault(each.setting, []).append(each.container.full_name)
    for setting, names in groups.items():
        parts.append(f"{few(names, most=_FEW)}: now {_setting_text(setting)}")
    line = "; ".join(parts)
    return f"dry run: {line}" if line and outcome == "DryRun" else line


def _setting_text(setting: Setting, owner: str = "") -> str:
    parts = []
    if setting.cpus:
        parts.append(f"CPUs {setting.cpus}" + (f" ({owner})" if owner else ""))
    if setting.mems:
        parts.append(named(CPUSet.parse(setting.mems), "NUMA node"))
    return ", ".join(parts)


def _match(container: RuntimeContainer) -> NRIMatch:
    return {
        "namespace": container.pod.namespace,
        "pod": container.pod.name,
        "container": container.name,
    }
