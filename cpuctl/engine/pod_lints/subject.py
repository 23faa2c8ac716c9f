"""A pod and the kubelet that it is looked at for, as far as that is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from cpuctl.engine.pod_rules import node_rules
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.pods.model import Container, StoredPod
from cpuctl.pods.qos import Qos, pod_qos
from cpuctl.pods.rules import DEFAULT_NODE, NodeRules
from cpuctl.pods.validation.finding import Spot


class KubeletView(NamedTuple):
    """What decides on exclusive CPUs and memory; a policy is empty where nobody has told it."""

    rules: NodeRules = DEFAULT_NODE
    cpu_policy: str = ""
    memory_policy: str = ""
    topology_policy: str = ""
    topology_scope: str = ""

    @classmethod
    def of(cls, kubelet: Kubelet) -> KubeletView:
        """Look at a kubelet whose configuration is known."""
        config = kubelet.config
        gates = kubelet.gates
        return cls(
            rules=node_rules(gates),
            cpu_policy=config.cpu_manager_policy,
            memory_policy=config.memory_manager_policy,
            topology_policy=config.topology_manager_policy,
            topology_scope=config.topology_manager_scope,
        )

    @property
    def may_pin(self) -> bool:
        """Whether containers may get exclusive CPUs here: they do not under a policy known to be none."""
        return self.cpu_policy in ("", "static")

    @property
    def pins(self) -> bool:
        """Whether containers are known to get exclusive CPUs here."""
        return self.cpu_policy == "static"


@dataclass(frozen=True, slots=True)
class PodLintSubject:
    """A pod as its kubelet gets it; ``spec`` is where its spec stands, ``view`` what the kubelet looks at."""

    pod: StoredPod
    spec: Spot
    kubelet: KubeletView
    view: StoredPod = field(init=False)
    qos: Qos = field(init=False)
    _places: dict[str, tuple[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        groups = {"initContainers": self.pod.init_containers, "containers": self.pod.containers}
        places = {
            container.name: (name, number)
            for name, group in groups.items()
            for number, container in enumerate(group)
        }
        view = self.kubelet.rules.view(self.pod)
        object.__setattr__(self, "view", view)
        object.__setattr__(self, "qos", pod_qos(view))
        object.__setattr__(self, "_places", places)

    def spot(self, container: Container) -> Spot:
        """Return where the resources of a container stand."""
        return self.spot_of(container.name)

    def spot_of(self, name: str) -> Spot:
        """Return where the resources of the container of this name stand; without a name, the whole spec."""
        if name not in self._places:
            return self.spec
        group, number = self._places[name]
        return self.spec.child(group).item(number).child("resources")
