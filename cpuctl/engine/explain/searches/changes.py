"""A single change to a scenario: the pod's request, the configuration, other pods, or their order."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from cpuctl.engine.explain.scenario import Scenario
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.pods.model import Container, ResourceRequirements, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace


class ChangeKind(StrEnum):
    """What can be changed."""

    REQUEST = "request"
    SETTING = "setting"
    REMOVAL = "removal"
    ORDER = "order"


class Amount(Record):
    """The current and changed request of a container, or of the pod if that is empty, for a resource.

    A changed request of 0 is no request.
    """

    container: str
    resource: str
    before: Quantity
    after: Quantity

    @property
    def differs(self) -> bool:
        """Whether a kubelet sees a different amount, or the same one in a different form."""
        return (self.before, self.before.exact_int64) != (self.after, self.after.exact_int64)


class FieldChange(Record):
    """A new value of a virtual machine's field; ``before`` is empty if the field is not set."""

    field: str
    before: str
    after: str


class RequestChange(Record):
    """Changed requests, and limits if set; ``fields`` of a virtual machine that result in them.

    ``template_of`` is the workload whose pods in the scenario are all changed, empty if it is only one pod.
    """

    amounts: tuple[Amount, ...]
    fields: tuple[FieldChange, ...] = ()
    template_of: str = ""

    @property
    def kind(self) -> ChangeKind:
        """What is changed."""
        return ChangeKind.REQUEST

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the changed requests of the pod, and of all pods of its template."""
        pods = list(scenario.pods)
        for at in scenario.replicas:
            pods[at] = self.changed_pod(pods[at])
        return replace(scenario, pods=tuple(pods))

    def changed_pod(self, pod: StoredPod) -> StoredPod:
        """Return the pod with the changed requests."""
        resources = None if pod.resources is None else self._changed(pod.resources, "")
        return pod._replace(
            resources=resources,
            containers=tuple(map(self._container, pod.containers)),
            init_containers=tuple(map(self._container, pod.init_containers)),
        )

    def _container(self, container: Container) -> Container:
        return replace(container, resources=self._changed(container.resources, container.name))

    def _changed(self, resources: ResourceRequirements, name: str) -> ResourceRequirements:
        for amount in self.amounts:
            if amount.container == name:
                resources = _requesting(resources, amount)
        return resources


def _requesting(resources: ResourceRequirements, amount: Amount) -> ResourceRequirements:
    limit = resources.limits.get(amount.resource)
    # Equal amounts stay equal, so the pod keeps its QoS class; a limit never drops below a request.
    # If neither is set, the two become equal.
    if not amount.after.sign:
        return _without(resources, amount.resource)
    moved = limit == amount.before or limit < amount.after if limit else not amount.before.sign
    change = {amount.resource: amount.after}
    return replace(
        resources,
        requests={**resources.requests, **change},
        limits={**resources.limits, **change} if moved else resources.limits,
    )


def _without(resources: ResourceRequirements, name: str) -> ResourceRequirements:
    """Return the resources without one: a request of 0 would still be a request to the Memory Manager."""
    requests, limits = (
        {each: amount for each, amount in side.items() if each != name}
        for side in (resources.requests, resources.limits)
    )
    return replace(resources, requests=requests, limits=limits)


class SettingChange(Record):
    """A new value of one setting, as in ``config``; ``option`` is the one that changes in ``options``."""

    setting: str
    before: str
    after: str
    config: KubeletConfiguration
    option: str = ""
    options: Mapping[str, str] = {}

    @property
    def kind(self) -> ChangeKind:
        """What is changed."""
        return ChangeKind.SETTING

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario of a kubelet that had this configuration from the start."""
        return replace(scenario, kubelet=replace(scenario.kubelet, config=self.config))


class Removal(Record):
    """Other pods that end before the pod arrives."""

    pods: tuple[StoredPod, ...]

    @property
    def kind(self) -> ChangeKind:
        """What is changed."""
        return ChangeKind.REMOVAL

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario in which they end right before the pod arrives, or before the restart."""
        return replace(scenario, removed=scenario.removed | {pod.uid for pod in self.pods})


class EarlierPosition(Record):
    """An earlier position of the pod in the order; ``overtaken`` are the pods that then come after it."""

    position: int
    overtaken: tuple[StoredPod, ...]

    @property
    def kind(self) -> ChangeKind:
        """What is changed."""
        return ChangeKind.ORDER

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario in which the pod arrives earlier."""
        pods = list(scenario.pods)
        pods.insert(self.position, pods.pop(scenario.position))
        return replace(scenario, pods=tuple(pods), position=self.position)


Change = RequestChange | SettingChange | Removal | EarlierPosition
"""A single change; ``applied`` returns the scenario with it."""
