"""What a kubelet refuses for good before it asks its resource managers, in its words and order.

Rule: ``canResizePod`` (1.27 to 1.33), then ``podResizesAdmitHandler``, whose texts are those of 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.engine.node_capacity import node_capacity, node_reservations
from cpuctl.engine.node_fit import Allocatable
from cpuctl.engine.resize.outcome import Obstacle
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import PodResize
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import Container, QosClass, StoredPod
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_NOTHING = Quantity()


class KubeletResize(Record):
    """A resize as one kubelet sees it.

    *capacity* is what the whole node has for pods (CPU in milli), None if that is not known.
    """

    request: PodResize
    rules: ResizeRules
    capacity: Mapping[str, int] | None

    def objection(self) -> str:
        """Return why the resize can never be done here; empty if it can."""
        checks = (self._gate, self._swap, self._pod_level, self._managers, self._capacity)
        return next((text for check in checks if (text := check())), "")

    @property
    def obstacle(self) -> Obstacle | None:
        """The obstacle behind an objection to the resize: only capacity also limits new pods."""
        if self._capacity():
            return Obstacle.NODE
        return None if self.request.running.spec.static else Obstacle.POD

    def _gate(self) -> str:
        return "" if self.rules.in_place else "InPlacePodVerticalScaling is disabled"

    def _swap(self) -> str:
        """Refuse to change the memory of a container that may swap, unless the change restarts it."""
        if not self.rules.swap or not self.rules.release.rejects_resizes_with_swap:
            return ""
        for before, after in self._containers("memory"):
            stays = "memory" not in self.request.running.restarts(after.name)
            if stays and (_swaps(self._desired, after) or _swaps(self._allocated, before)):
                return "In-place resize of containers with swap is not supported."
        return ""

    def _pod_level(self) -> str:
        if self.rules.pod_level or self._desired.resources == self._allocated.resources:
            return ""
        return "InPlacePodLevelResourcesVerticalScaling is disabled"

    def _managers(self) -> str:
        """Refuse changes of Guaranteed pods that static managers cannot follow."""
        rules = self.rules
        qos = pod_qos(self._desired, pod_level=rules.pod_level_resources).qos_class
        if not rules.release.managers_reject_resizes or qos is not QosClass.GUARANTEED:
            return ""
        if rules.static_cpus and not rules.exclusive_cpus and self._concerns("cpu"):
            return self._alongside("CPU Manager", "static")
        minds_memory = rules.static_memory and rules.minds_static_memory
        if minds_memory and not rules.exclusive_memory and self._concerns("memory"):
            return self._alongside("Memory Manager", "Static")
        return ""

    def _concerns(self, resource: str) -> bool:
        if not self.rules.release.managers_reject_by_resource:
            return True
        return any(self.rules.resizable(container) for _, container in self._containers(resource))

    def _alongside(self, manager: str, policy: str) -> str:
        by_resource = self.rules.release.managers_reject_by_resource
        policies = f'{manager} policy "{policy}"' if by_resource else f"{manager} static policy"
        return f"Resize is infeasible for Guaranteed Pods alongside {policies}"

    def _capacity(self) -> str:
        if self.capacity is None or not self.rules.checks_capacity:
            return ""
        desired = self._desired._replace(counted_claims=())  # they count in the check for free capacity
        requests = pod_requests(desired, pod_level=self.rules.pod_level_resources)
        memory, cpu = requests.get("memory", _NOTHING).value, requests.get("cpu", _NOTHING).milli_value
        for name, wanted in (("memory", memory), ("cpu", cpu)):
            capacity = self.capacity.get(name)
            if capacity is not None and wanted > capacity:
                why = f"{name}, requested: {wanted}, capacity: {capacity}"
                return f"Node didn't have enough capacity: {why}"
        return ""

    @property
    def _desired(self) -> StoredPod:
        return self.request.desired

    @property
    def _allocated(self) -> StoredPod:
        return self.request.running.allocated

    def _containers(self, resource: str) -> list[tuple[Container, Container]]:
        """Pair the current and desired versions of containers whose request for a resource changes."""
        before = {each.name: each for each in self._allocated.all_containers}
        return [
            (before[each.name], each)
            for each in self._desired.all_containers
            if each.name in before
            and before[each.name].resources.requests.get(resource, _NOTHING)
            != each.resources.requests.get(resource, _NOTHING)
        ]


def _swaps(pod: StoredPod, container: Container) -> bool:
    """Return whether a container may swap (KEP-2400): only in Burstable pods that are not critical.

    Its memory request must be below its limit, and at least one of the two must be set.
    """
    if pod.critical or pod_qos(pod).qos_class is not QosClass.BURSTABLE:
        return False
    request, limit = (
        side.get("memory", _NOTHING) for side in (container.resources.requests, container.resources.limits)
    )
    return request != limit


def whole_node(
    info: MachineInfo, config: KubeletConfiguration, allocatable: Allocatable, release: Behaviours
) -> Mapping[str, int]:
    """Return what the node has for pods, CPU in milli: the first thing a kubelet compares a resize with.

    Up to 1.33 it is ``status.allocatable`` of the node, in 1.34 and 1.35 ``GetNodeAllocatableAbsolute``,
    which ignores eviction thresholds; from 1.36 on the kubelet does not compare at all.
    """
    if not release.compares_resizes_with_absolute_allocatable:
        return allocatable.amounts
    kept, capacity = node_reservations(info, config), node_capacity(info)
    left = {
        name: capacity[name] - kept.kube.get(name, _NOTHING) - kept.system.get(name, _NOTHING)
        for name in ("cpu", "memory")
        if capacity[name].sign
    }
    return {name: amount.milli_value if name == "cpu" else amount.value for name, amount in left.items()}
