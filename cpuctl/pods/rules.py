"""The rules by which a pod's resources are read: those of the API server, and those of a kubelet.

The meaning of pod-level resources (KEP-2837) varies by release and gate, and the two sides may disagree.
All other code computes with pods that ``NodeRules.view`` has reduced to what the kubelet sees.
"""

from typing import TypeVar

from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements
from cpuctl.records import Record, replace

_Pod = TypeVar("_Pod", bound=Pod)
POD_LEVEL_SINCE = 32
"""The first minor whose API has ``spec.resources``; older ones ignore the field."""
_HUGEPAGES_SINCE = 34
_DEFAULTS_IN_STRATEGY_SINCE = 37
_SIDECARS_SINCE, _RESTART_RULES_SINCE = 29, 35
_QUOTES_SINCE = 34
ASSIGNED_CPUSET = "assigned.cpuset"
"""The resource by which files of downward API volumes expose a container's CPUs (KEP-6122)."""
ASSIGNED_CPUSET_SINCE = 37
"""The first API server and the first kubelet that know ``assigned.cpuset``, the latter with any gates."""


class ServerRules(Record):
    """The API server 1.*minor*: ``pod_level`` is its gate PodLevelResources, on and known to its release.

    ``pod_level_limits`` is the gate PodLevelResourcesFixDefaulting (1.37). Fields that are dropped from new
    pods are ignored: ``claims`` without DynamicResourceAllocation, ``resize_policies`` without
    InPlacePodVerticalScaling, and ``assigned.cpuset`` unless it ``takes_assigned``: that is the gate
    DownwardAPIAssignedResources.
    """

    minor: int = 36
    pod_level: bool = True
    pod_level_limits: bool = False
    claims: bool = True
    resize_policies: bool = True
    takes_assigned: bool = False

    @property
    def knows_pod_level(self) -> bool:
        """Whether its API has ``spec.resources``."""
        return self.minor >= POD_LEVEL_SINCE

    @property
    def restart_policies(self) -> tuple[str, ...] | None:
        """The restart policies that init containers may have; None if others are dropped silently.

        Any container may have its own with the gate ContainerRestartRules, enabled since 1.35 (KEP-5307).
        """
        if self.minor >= _RESTART_RULES_SINCE:
            return ("Always", "Never", "OnFailure")
        return ("Always",) if _SIDECARS_SINCE <= self.minor < _RESTART_RULES_SINCE - 1 else None

    @property
    def knows_assigned(self) -> bool:
        """Whether its release has ``assigned.cpuset``, accepted or dropped."""
        return self.minor >= ASSIGNED_CPUSET_SINCE

    @property
    def quotes_names(self) -> bool:
        """Whether errors quote names of resources and amounts, like other texts."""
        return self.minor >= _QUOTES_SINCE

    @property
    def hugepages(self) -> bool:
        """Whether ``spec.resources`` accepts huge pages."""
        return self.minor >= _HUGEPAGES_SINCE

    @property
    def defaults_pod_level_last(self) -> bool:
        """Whether pod-level defaults follow admission plugins (pull request 140514), not the reverse."""
        return self.minor >= _DEFAULTS_IN_STRATEGY_SINCE


class NodeRules(Record):
    """A kubelet 1.*minor*: ``pod_level`` is its gate PodLevelResources, on and known to its release.

    ``empty_counts`` is False with the gate PodLevelResourcesFixKubeletQOSClass (1.37), ``managers`` is the
    gate PodLevelResourceManagers. ``passes_over``: without that gate its resource managers ignore pods with
    pod-level resources. ``keeps_sidecars_apart``: its resource managers distinguish a sidecar from an init
    container, and do not reuse its resources for later containers. ``knows_sidecars``: init containers may
    continue to run, ``sidecars``: such pods are admitted. ``lowers_sidecar_scores`` is for ``oom_score``.
    ``reads_allocated``: its resource managers take the requests of a running container from
    ``allocatedResources`` of its status, those of sidecars only if it ``resizes_sidecars``.
    ``counts_claims``: claims count as the node's resources at admission, ``writes_claims``: in cgroups and
    OOM scores, too (KEP-5517). ``static_claims`` is the error for static pods with claims, whose manifests
    it refuses; empty if it accepts them. ``static_references``: it refuses static pods with any reference to
    objects of the API server.
    """

    minor: int = 36
    pod_level: bool = True
    empty_counts: bool = True
    managers: bool = False
    passes_over: bool = True
    keeps_sidecars_apart: bool = True
    knows_sidecars: bool = True
    sidecars: bool = True
    rejects_pod_level: bool = True
    lowers_sidecar_scores: bool = True
    reads_allocated: bool = False
    resizes_sidecars: bool = True
    counts_claims: bool = False
    writes_claims: bool = False
    static_claims: str = ""
    static_references: bool = False

    def view(self, pod: _Pod) -> _Pod:
        """Return the pod as this kubelet sees it, without fields that it does not know."""
        return self._seen(_without_claims(pod) if not self.writes_claims else pod)

    def _seen(self, pod: _Pod) -> _Pod:
        if not self.knows_sidecars:
            pod = _without_sidecars(pod)
        resources = pod.resources
        if resources is None:
            return pod
        if not self.pod_level:
            return pod._replace(resources=None)
        if not self.empty_counts and not resources.requests and not resources.limits:
            return pod._replace(resources=None)
        if self.minor < _HUGEPAGES_SINCE:
            return pod._replace(resources=_without_hugepages(resources))
        return pod

    def known(self, pod: _Pod) -> _Pod:
        """Return the pod as this kubelet's code reads it: disabled gates hide nothing from it.

        Claims are the exception: its code reads their amounts only with the gate.
        """
        pod = pod if self.counts_claims else _without_claims(pod)
        return self._seen(pod) if self.pod_level or self.minor < POD_LEVEL_SINCE else pod

    def managed(self, pod: _Pod) -> _Pod:
        """Return a ``known`` pod as the resource managers read it."""
        pod = pod if self.keeps_sidecars_apart else _without_sidecars(pod)
        return self._as_allocated(pod) if self.reads_allocated and pod.statuses else pod

    def _as_allocated(self, pod: _Pod) -> _Pod:
        """Return a running pod with the requests in its status, none if the status has none.

        Rule: ``policy_static.go`` of CPU and Memory Manager, 1.27 to 1.34.
        """
        granted = {each.name: each.resources.granted or {} for each in pod.statuses if not each.ephemeral}

        def allocated(container: Container) -> Container:
            if container.name not in granted:
                return container
            resources = container.resources
            others = {name: each for name, each in resources.requests.items() if not _is_managed(name)}
            managed = {name: each for name, each in granted[container.name].items() if _is_managed(name)}
            return replace(container, resources=replace(resources, requests={**others, **managed}))

        inits = tuple(
            allocated(each) if each.kind is ContainerKind.SIDECAR and self.resizes_sidecars else each
            for each in pod.init_containers
        )
        return pod._replace(containers=tuple(map(allocated, pod.containers)), init_containers=inits)

    def rejects_resources_of(self, pod: Pod) -> bool:
        """Return whether this kubelet rejects *pod* for ``spec.resources``, known to it but disabled."""
        return self.rejects_pod_level and not self.pod_level and pod.has_pod_level_resources

    def forbidden_sidecar(self, pod: Pod) -> str:
        """Return the name of the first sidecar for which this kubelet rejects a pod; empty for none."""
        kinds = pod.init_containers if self.knows_sidecars and not self.sidecars else ()
        return next((each.name for each in kinds if each.kind is ContainerKind.SIDECAR), "")


DEFAULT_SERVER, DEFAULT_NODE = ServerRules(), NodeRules()
"""Release 1.36 with its default gates."""


class PodRules(Record):
    """The rules of both sides."""

    server: ServerRules = DEFAULT_SERVER
    node: NodeRules = DEFAULT_NODE


def _is_managed(resource: str) -> bool:
    """Return whether the CPU or Memory Manager allocates a resource."""
    return resource in {"cpu", "memory"} or resource.startswith("hugepages-")


def _without_claims(pod: _Pod) -> _Pod:
    return pod._replace(counted_claims=()) if pod.counted_claims else pod


def _without_sidecars(pod: _Pod) -> _Pod:
    """Treat sidecars as ordinary init containers: ``restartPolicy`` is not decoded."""
    if all(each.kind is ContainerKind.INIT for each in pod.init_containers):
        return pod
    inits = tuple(replace(each, kind=ContainerKind.INIT) for each in pod.init_containers)
    return pod._replace(init_containers=inits)


def _without_hugepages(resources: ResourceRequirements) -> ResourceRequirements:
    requests, limits = (
        {name: amount for name, amount in amounts.items() if not name.startswith("hugepages-")}
        for amounts in (resources.requests, resources.limits)
    )
    return replace(resources, requests=requests, limits=limits)
