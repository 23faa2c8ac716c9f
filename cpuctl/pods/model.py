"""A pod's requests: frozen values with the parts of a Pod object that determine its resources.

Ephemeral containers are omitted: Kubernetes gives them no resources.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, NewType, TypeAlias

from cpuctl.quantity import Quantity
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.pods.node_selection import NodeSelection
    from cpuctl.pods.running import ContainerStatus, ResizeStatus
    from cpuctl.pods.virtual_machine import VirtualMachine


_SYSTEM_CRITICAL = 2_000_000_000
TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})
"""The phases of pods that have ended."""


class ContainerKind(StrEnum):
    """The role of a container; a sidecar is an init container with restart policy ``Always``."""

    APP = "app"
    INIT = "init"
    SIDECAR = "sidecar"


class QosClass(StrEnum):
    """The Kubernetes quality-of-service class of a pod."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


Side: TypeAlias = Literal["requests", "limits", "overhead"]
"""The kind of an amount; overhead belongs to the pod as a whole."""


class ResourceRequirements(Record):
    """Requests and limits by resource name, and the names of the resource claims used."""

    requests: Mapping[str, Quantity] = {}
    limits: Mapping[str, Quantity] = {}
    claims: tuple[str, ...] = ()

    @property
    def sides(self) -> tuple[tuple[Side, Mapping[str, Quantity]], ...]:
        """Requests, then limits, each with its name."""
        return ("requests", self.requests), ("limits", self.limits)


class Container(Record):
    """One container; its name is unique in the pod.

    ``restarts`` names the resources whose change restarts it (``resizePolicy``). ``restart_policy`` is its
    own, empty if that of the pod decides.
    """

    name: str
    kind: ContainerKind = ContainerKind.APP
    resources: ResourceRequirements = ResourceRequirements()
    restarts: frozenset[str] = frozenset()
    restart_policy: str = ""


class ResourceFieldRef(Record):
    """One ``resourceFieldRef``: a ``resource`` of a ``container``, in units of ``divisor`` (0 means 1).

    A variable is called ``name`` and belongs to its ``reader``, which an empty ``container`` also means. A
    file has no reader: ``name`` is its path in ``volume``, which may be a ``projected`` one.
    """

    resource: str
    container: str
    divisor: Quantity
    name: str
    reader: str = ""
    volume: str = ""
    projected: bool = False

    @property
    def owner(self) -> str:
        """The container whose resources are read."""
        return self.container or self.reader

    @property
    def in_file(self) -> bool:
        """Whether it is a file of a volume."""
        return not self.reader


class PodClaim(Record):
    """One of a pod's ``resourceClaims``: its name there, and the claim or template that it refers to."""

    name: str
    claim: str = ""
    template: str = ""


class CountedClaim(Record):
    """The node resources that a pod's claim counts as (KEP-5517), and the containers that name it.

    ``amounts`` are those of the devices themselves. Overhead of the devices is counted ``per_pod``, and
    ``per_container`` for each of the containers while it runs.
    """

    containers: tuple[str, ...] = ()
    amounts: Mapping[str, Quantity] = {}
    per_pod: Mapping[str, Quantity] = {}
    per_container: Mapping[str, Quantity] = {}


class RuntimeClass(Record):
    """A RuntimeClass that a pod names; ``known``: its object was given.

    ``overhead`` is ``overhead.podFixed``, None for an object that does not define any.
    """

    name: str
    known: bool = False
    overhead: Mapping[str, Quantity] | None = None


class Pod(NamedTuple):
    """One pod. ``init_containers`` includes sidecars, in the order of the manifest.

    ``resources`` are the pod-level ones: None if the manifest has none, which is not the same as an
    empty value (KEP-2837). ``qos_class``, ``phase``, ``statuses`` and ``resize`` come from the status, if
    there is one; ``generation`` counts the changes of the spec.
    ``uid`` is empty until one is given or derived (``cpuctl.pods.identity``). ``str(origin)`` is the
    human-readable source of the pod, ``owner`` the workload that it is a replica of (``Deployment/web``).
    ``has_deadline`` is set if the manifest limits its running time, ``crosses_namespaces`` if its
    affinity considers pods of other namespaces: quotas check both. ``scale_down_grace`` is
    scaleDownGracePeriodSeconds, announced in place of the kubelet's scale-delay-time (KEP-6122).
    ``field_refs`` are its containers' references to resources. ``virtual_machine`` is what KubeVirt runs in
    it. ``node_selection`` selects the nodes it may run on; None allows any node without taints.
    ``resource_claims`` are the claims that its containers may name, ``counted_claims`` what the scheduler
    wrote into the status of those that count as the node's resources.
    """

    name: str
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    namespace: str = "default"
    uid: str = ""
    resources: ResourceRequirements | None = None
    overhead: Mapping[str, Quantity] = {}
    priority: int | None = None
    priority_class_name: str = ""
    node_name: str = ""
    os_name: str = ""
    static: bool = False
    qos_class: QosClass | None = None
    phase: str = ""
    statuses: tuple["ContainerStatus", ...] = ()
    resize: "ResizeStatus | None" = None
    generation: int = 1
    origin: object = ""
    owner: str = ""
    has_deadline: bool = False
    crosses_namespaces: bool = False
    scale_down_grace: int | None = None
    restart_policy: str = "Always"
    field_refs: tuple[ResourceFieldRef, ...] = ()
    virtual_machine: "VirtualMachine | None" = None
    node_selection: "NodeSelection | None" = None
    resource_claims: tuple[PodClaim, ...] = ()
    counted_claims: tuple[CountedClaim, ...] = ()
    runtime_class: RuntimeClass | None = None

    @property
    def all_containers(self) -> tuple[Container, ...]:
        """Init containers and sidecars, then app containers, in the kubelet's order of admission."""
        return self.init_containers + self.containers

    @property
    def critical(self) -> bool:
        """Whether a kubelet never evicts the pod: it is static, or has a system priority.

        Rule: ``IsCriticalPod`` in ``pkg/kubelet/types/pod_update.go``.
        """
        return self.static or (self.priority is not None and self.priority >= _SYSTEM_CRITICAL)

    @property
    def terminal(self) -> bool:
        """Whether the pod has ended, so that it holds nothing on its node.

        This follows from its phase or, if that is still outdated, from its containers: all have ended, and
        none may restart.
        """
        if self.phase in TERMINAL_PHASES or not self.statuses:
            return self.phase in TERMINAL_PHASES
        return bool(self.final_phase({each.name: each.exit_code for each in self.statuses}))

    def final_phase(self, exits: Mapping[str, int | None]) -> str:
        """Return the phase that the pod ends in; empty if it continues to run.

        *exits* are the codes of containers that have ended; those that run or wait have none. Sidecars do not
        count: they are ended with the pod. Rule: kubelet v1.36 ``kubelet_pods.go``, ``getPhase``.
        """
        # An init container without a status ended earlier: its status is not kept.
        for container in self.init_containers:
            code = exits.get(container.name)
            if code and container.kind is ContainerKind.INIT:
                return "" if self.restarts(container, code) else "Failed"
        codes = [exits.get(container.name) for container in self.containers]
        for container, code in zip(self.containers, codes, strict=True):
            if code is None or self.restarts(container, code):
                return ""
        return "Failed" if any(codes) else "Succeeded"

    def restarts(self, container: Container, exit_code: int) -> bool:
        """Return whether a kubelet restarts a container that has ended with this code.

        Rule: kubelet v1.36 ``pkg/kubelet/container``, ``ShouldContainerBeRestarted``.
        """
        if container.kind is ContainerKind.SIDECAR:
            return True
        policy = container.restart_policy or self.restart_policy
        if policy == "Always" and container.kind is ContainerKind.APP:
            return True
        return policy != "Never" and exit_code != 0

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def has_pod_level_resources(self) -> bool:
        """Whether ``spec.resources`` has a resource that is supported at pod level; ``{}`` does not."""
        return self.resources is not None and any(
            is_pod_level_resource(name) for name in (*self.resources.requests, *self.resources.limits)
        )


StoredPod = NewType("StoredPod", Pod)
"""A pod as its kubelet gets it, with all defaults; only ``pods.stored.stored_pod`` creates it.

No decision may depend on a plain ``Pod``: if its manifest has only limits, it has no requests yet.
"""


def is_pod_level_resource(name: str) -> bool:
    """Return whether ``spec.resources`` may contain *name*: cpu, memory and huge pages (KEP-2837)."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")
