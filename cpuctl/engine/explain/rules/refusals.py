"""Which rule of the kubelet refused a pod, read from the trace of its admission."""

from __future__ import annotations

from collections.abc import Sequence

from cpuctl.engine.explain.decision import Blocked, Decision, Rule, counted
from cpuctl.engine.explain.offers import Round, memory_asked, whole_cpus
from cpuctl.engine.explain.rules.hints import hint_decision, not_enough_cpus
from cpuctl.engine.explain.rules.memory import blocked_allocation
from cpuctl.engine.explain.scenario import Replay
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.memory.manager import AllocationFailure
from cpuctl.engine.memory.tables import is_memory
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Rejected, RejectionReason
from cpuctl.quantity import Format, Quantity

OUT_OF = "OutOf"
"""What the reason begins with where the node is too small; the resource's name follows."""


_WRAPPING = "Allocate failed due to ", ", which is unexpected"
_BEGINNINGS = {
    "requested number of devices unavailable": Rule.NOT_ENOUGH,
    "no healthy devices present": Rule.UNHEALTHY_DEVICES,
    "previously allocated devices are no longer healthy": Rule.UNHEALTHY_DEVICES,
    "pod ": Rule.OTHER_ASSIGNMENT,
}
"""How the device manager's errors begin; the last one says that a pod's request has changed."""


def refusal(replay: Replay, refused: Rejected, rounds: Sequence[Round]) -> Decision:
    """Name the rule that refused; *rounds* are those of the Topology Manager."""
    if refused.reason == RejectionReason.TOPOLOGY_AFFINITY:
        unmet = hint_decision(rounds[-1], replay.after, replay.scenario.pod)
        if unmet is not None:
            return unmet
    if refused.reason.startswith(OUT_OF):
        return Decision(rule=Rule.NODE_FIT, why=_shortage(refused))
    rule, why, provider = _of_allocation(replay, refused, rounds)
    return Decision(rule=rule, why=why, container=refused.container, provider=provider)


def _memory_failure(refused: Rejected) -> AllocationFailure | None:
    """Find the Memory Manager's error in a refusal's message; None where it was not the one to refuse."""
    return next(
        (failure for failure in AllocationFailure if f"[memorymanager] {failure}," in refused.message), None
    )


def _of_allocation(replay: Replay, refused: Rejected, rounds: Sequence[Round]) -> tuple[Rule, str, str]:
    """Name the rule, why, and the manager that could not allocate."""
    if blocked := blocked_by_devices(refused):
        return *blocked, "devices"
    if failure := _memory_failure(refused):
        return *_of_memory(replay, refused, rounds, failure), "memory"
    return *_of_cpus(replay, refused), "cpu"


def _shortage(refused: Rejected) -> str:
    details, resource = refused.details, refused.reason.removeprefix(OUT_OF)
    left = details["capacity"] - details["used"]
    requested, free, capacity = (
        _amount_text(resource, amount) for amount in (details["requested"], left, details["capacity"])
    )
    return f"the pod requests {requested} of {resource}, and {free} of {capacity} are not requested by others"


def _amount_text(resource: str, amount: int) -> str:
    """Write an amount exactly: milli-CPUs, bytes as Kubernetes writes them, or a number of pieces."""
    if resource == "cpu":
        return f"{amount}m"
    in_bytes = is_memory(resource) or resource == "ephemeral-storage"
    return str(Quantity.from_value(amount, Format.BINARY_SI) if in_bytes else amount)


def _of_memory(
    replay: Replay, refused: Rejected, rounds: Sequence[Round], failure: AllocationFailure
) -> Blocked:
    pod, merged = replay.scenario.pod, rounds[-1].merged if rounds else None
    container = next((each for each in pod.all_containers if each.name == refused.container), None)
    request = memory_asked(replay.after, pod, container)
    affinity = merged.hint.nodes if isinstance(merged, Merged) else None
    if container is not None and request == {} and replay.after.memory.rules.divides(pod):
        return Rule.NO_OWN_RESOURCES, _no_own_resources(container.name, replay.after.topology_manager.policy)
    if request == {}:
        return Rule.NOTHING_ALLOCATED, (
            "this kubelet takes what a running container has from allocatedResources of its status, which "
            "tells none, and the Static policy fails at setting no memory aside"
        )
    tables = replay.after.memory.state.tables
    return blocked_allocation(failure, request or {}, affinity, tables)


def _no_own_resources(container: str, policy: str) -> str:
    """Tell what the Memory Manager does with a container that asks for nothing by itself."""
    no_policy = policy == "none"
    how = "without a Topology Manager policy" if no_policy else "with scope container"
    way_out = "a Topology Manager policy with scope pod" if no_policy else "topologyManagerScope pod"
    return (
        f"{how} the managers look at containers only, {container} has no cpu and memory requests equal to "
        "its limits, and the Static policy fails at setting no memory aside; KEP-5526 has such a container "
        f"run in the node's shared pool (way out: {way_out}, or requests of its own equal to limits)"
    )


def _of_cpus(replay: Replay, refused: Rejected) -> Blocked:
    details = refused.details
    if refused.reason == RejectionReason.EMPTY_POD_SHARED_POOL:
        return Rule.EMPTY_POOL, refused.message
    if refused.reason == RejectionReason.SMT_ALIGNMENT:
        count, per_core, free = details["requested"], details["cpusPerCore"], details["freePhysicalCPUs"]
        if count % per_core:
            return Rule.WHOLE_CORES, (
                f"full-pcpus-only gives whole cores only, and {count} CPUs are no multiple of {per_core}"
            )
        return Rule.FREE_CORES, (
            f"full-pcpus-only counts the free CPUs of cores without a reserved one: {free}, of {count} wanted"
        )
    if "free" in details:
        return Rule.NOT_ENOUGH, not_enough_cpus(details["requested"], details["free"])
    resources = replay.scenario.pod.resources
    if refused.reason == RejectionReason.UNEXPECTED_ADMISSION and resources is not None:
        return _of_pod(whole_cpus(resources.requests), replay.after, refused)
    return Rule.UNKNOWN, refused.message


def _of_pod(total: int, node: Node, refused: Rejected) -> Blocked:
    """Tell why a pod that is divided gets no CPUs as a whole, or a container none of the pod's."""
    if refused.container:
        return Rule.OVER_BUDGET, (
            f"the {counted(total, 'CPU')} that the pod has as a whole do not suffice for what its containers "
            "ask for themselves"
        )
    reserved = node.cpu.policy.reserved if node.cpu.policy else 0
    return Rule.NOT_ENOUGH, not_enough_cpus(total, (node.cpu.state.default & ~reserved).bit_count())


def blocked_by_devices(refused: Rejected) -> Blocked | None:
    """Name the rule behind an error of the device manager; None where the error is another's."""
    if refused.reason != RejectionReason.UNEXPECTED_ADMISSION:
        return None
    before, behind = _WRAPPING
    error = refused.message.removeprefix(before).removesuffix(behind)
    return next(
        ((rule, error) for beginning, rule in _BEGINNINGS.items() if error.startswith(beginning)), None
    )
