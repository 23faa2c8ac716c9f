"""The step ``resize`` of a scenario: new resources, as the reference implementation handles them."""

from __future__ import annotations

import json

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.resizing.kep import resize_by_reference
from cpuctl.engine.cpu.resizing.request import Resized, Status
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, KubeletFault, Rejected
from cpuctl.pods.model import StoredPod
from cpuctl.quantity import Quantity
from tests.conformance.corpus import Json
from tests.conformance.hint_answers import merged, provider_calls


def resized_pod(pod: Json, step: Json) -> Json:
    """Put a step's resources into a pod's containers; others keep theirs."""
    changed: Json = json.loads(json.dumps(pod))
    spec = changed["spec"]
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        if container["name"] in step["resources"]:
            container["resources"] = step["resources"][container["name"]]
    return changed


def restore_baselines(node: Node, step: Json, before: dict[str, dict[str, CPUMask]]) -> None:
    """Carry baselines over a restart (no file of the recordings does): those of the step, or all."""
    if "originals" in step:
        before = {
            uid: {name: CPUMask(CPUSet.parse(text).mask) for name, text in containers.items()}
            for uid, containers in step["originals"].items()
        }
    if before and not step.get("dropOriginals"):
        node.cpu.state.baselines = before


def status_of(pod: StoredPod, step: Json) -> Status:
    """Return what is allocated by the pod's status: what it runs with, unless the step overrides it."""
    status = {each.name: each.resources.requests.get("cpu") for each in pod.containers}
    for name, amounts in step.get("allocatedResources", {}).items():
        if amounts is None:
            del status[name]
        else:
            status[name] = Quantity.parse(amounts["cpu"]) if "cpu" in amounts else None
    return status


def resize(node: Node, pod: StoredPod, step: Json) -> Resized:
    """Resize as the reference implementation does."""
    return node.resize(pod, resize_by_reference, status_of(node.active[pod.uid], step))


def resize_answer(resized: Resized, containers: Json, node: Node, step: Json) -> Json:
    """Return the result of a resize; *containers* describes the pod's containers afterwards."""
    if isinstance(resized.verdict, KubeletFault):
        return {"hang": True}
    answer = containers | {"admitted": isinstance(resized.verdict, Admitted)}
    for name, values in containers["containers"].items():
        if (baseline := node.cpu.state.baseline(step["podUID"], name)) is not None:
            values["original"] = str(CPUSet(baseline))
    if isinstance(resized.verdict, Rejected):
        reason = str(resized.verdict.reason)
        answer |= {
            "reason": reason,
            "message": resized.verdict.message,
            "failedContainer": resized.verdict.container or None,
            "condition": "Infeasible" if reason == "TopologyAffinityError" else "Deferred",
        }
    requested = resized.hint_rounds if node.topology_manager.policy != "none" else ()
    if requested:
        answer["merged"] = [merged(each) for each in requested]
    if step.get("wantHints"):
        answer["hints"] = provider_calls(requested)
    return answer
