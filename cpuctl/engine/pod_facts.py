"""Everything that follows from a pod's resources on one node, without admitting it."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from cpuctl.engine.cpu.exclusive_advice import AdviceRules, AllocationUnit, ExclusiveAdvice, advise
from cpuctl.engine.cpu.exclusive_claim import exclusive_claim, why_shared
from cpuctl.engine.outcome import FAILED_IN_POD_SCOPE, Rejected, RejectionReason
from cpuctl.engine.placement import Isolation
from cpuctl.engine.pod_level import pod_level_cpus, unaligned_managers
from cpuctl.engine.pod_rules import pod_level_rejection, sidecar_rejection
from cpuctl.engine.pod_server import Creation, PodServer
from cpuctl.phrases import POLICY_NONE
from cpuctl.pods.cgroups.values import (
    CgroupRules,
    CgroupSettings,
    CgroupValues,
    container_cgroup,
    container_cgroup_rules,
    pod_cgroup,
    pod_cgroup_rules,
)
from cpuctl.pods.consumers import ConsumedAmount, consumed_amounts
from cpuctl.pods.downward_api import DownwardContext, DownwardValue, downward_value
from cpuctl.pods.effective import Effective, effective_limits, effective_requests
from cpuctl.pods.manifest import ephemeral_names
from cpuctl.pods.model import Container, Pod, ResourceFieldRef, StoredPod
from cpuctl.pods.out_of_memory import OomScore, oom_score
from cpuctl.pods.qos import Qos, pod_qos
from cpuctl.pods.rules import ASSIGNED_CPUSET, PodRules
from cpuctl.pods.stored import Provenance, provenance
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.quantity import Quantity

_STARTS_IN_POOL = "in the shared pool as of its start: the CPU Manager never updates its CPUs"
_NO_V1 = (
    "pod-level resources require cgroup v2 (KEP-2837), but kubelet 1.36 does not check this and "
    "also applies them on cgroup v1"
)


class NodeOfPods(NamedTuple):
    """The node and the rules by which pods are read; ``static`` names managers with a static policy.

    ``scope`` and ``policy`` are the Topology Manager's, ``none`` if it does nothing.
    ``unit`` is the number of CPUs that a known node allocates together: those of a core, or one.
    ``memory`` in bytes and ``allocatable`` by resource are None if the node is not known.
    """

    rules: PodRules = PodRules()
    settings: CgroupSettings = CgroupSettings()
    static: frozenset[str] = frozenset()
    scope: str = "container"
    policy: str = "restricted"
    unit: int = 1
    cgroup_version: Literal[1, 2] = 2
    memory: int | None = None
    allocatable: "Mapping[str, Quantity] | None" = None
    limit_ranges: tuple["LimitRange", ...] = ()

    @property
    def gives_cpus(self) -> bool:
        """Whether containers can get exclusive CPUs here."""
        return "cpu" in self.static


class ContainerFacts(Record):
    """What one container gets; ``exclusive``: whether it gets exclusive CPUs here, else ``why_shared``.

    ``isolation`` shows what it shares its CPUs with.
    """

    container: Container
    cgroup: CgroupValues
    cgroup_rules: CgroupRules
    oom: OomScore
    advice: ExclusiveAdvice
    exclusive: bool
    why_shared: str
    isolation: Isolation


class EphemeralFacts(Record):
    """What a container that was added for debugging gets; ``cpus`` says where it runs."""

    name: str
    cgroup: CgroupValues
    cgroup_rules: CgroupRules
    oom: OomScore
    cpus: str


class PodFacts(Record):
    """What follows from one pod. ``view`` is the pod as its kubelet reads it.

    ``downward`` is what its containers read about resources, ``creation`` what the API server does with it;
    ``rejected`` is the kubelet's refusal, if it refuses.
    """

    written: Pod
    stored: Provenance
    view: StoredPod
    qos: Qos
    requests: Mapping[str, Effective]
    limits: Mapping[str, Effective]
    cgroup: CgroupValues
    cgroup_rules: CgroupRules
    containers: tuple[ContainerFacts, ...]
    ephemeral: tuple[EphemeralFacts, ...]
    consumed_amounts: tuple[ConsumedAmount, ...]
    downward: tuple[tuple[ResourceFieldRef, DownwardValue], ...]
    creation: Creation
    rejected: Rejected | None
    notices: tuple[str, ...]


def pod_facts(pod: Pod, node: NodeOfPods, server: PodServer | None = None) -> PodFacts:
    """Return what follows from *pod* as in its manifest; *server* has accepted the pods before it."""
    server = server or PodServer(node.rules.server, node.limit_ranges)
    stored = provenance(pod, node.rules, node.limit_ranges)
    view = node.rules.node.view(stored.pod)
    qos = pod_qos(view)
    containers = tuple(_container(view, each, qos, stored, node) for each in view.all_containers)
    context = DownwardContext(
        minor=node.rules.node.minor,
        allocatable=node.allocatable,
        assigned={each.container.name: "" for each in containers if not each.exclusive},
    )
    exclusive = _is_exclusive(view, [each.exclusive for each in containers], node.rules)
    return PodFacts(
        written=pod,
        stored=stored,
        view=view,
        qos=qos,
        requests=effective_requests(view),
        limits=effective_limits(view),
        cgroup=pod_cgroup(view, qos.qos_class, node.settings, exclusive=exclusive),
        cgroup_rules=pod_cgroup_rules(view, qos.qos_class, node.settings, exclusive=exclusive),
        containers=containers,
        ephemeral=tuple(_ephemeral(name, view, qos, node) for name in ephemeral_names(pod)),
        consumed_amounts=tuple(consumed_amounts(stored.pod, node.rules.server, view, context)),
        downward=tuple((ref, downward_value(view, ref, context)) for ref in view.field_refs),
        creation=server.create(stored.pod),
        rejected=sidecar_rejection(stored.pod, node.rules.node)
        or pod_level_rejection(stored.pod, node.rules.node)
        or _empty_pool(view, qos, node),
        notices=tuple(_notices(pod, stored, view, qos, node)),
    )


def _is_exclusive(pod: StoredPod, containers: list[bool], rules: PodRules) -> bool:
    """Return whether a pod counts as exclusive: one container is enough, unless they split the pod's CPUs."""
    divided = rules.node.managers and pod.has_pod_level_resources
    return all(containers) if divided else any(containers)


def _container(
    pod: StoredPod, container: Container, qos: Qos, stored: Provenance, node: NodeOfPods
) -> ContainerFacts:
    rules = node.rules.node
    claims = partial(
        exclusive_claim,
        pod_level_managers=rules.managers,
        scope=node.scope,
        passes_over=rules.passes_over,
    )
    unit = AllocationUnit(node.unit, by_pod=rules.managers and node.scope == "pod")
    by = AdviceRules(claims, unit, node.rules.server)
    advice = advise(pod, container, qos=qos, sources=stored.sources, rules=by)
    if pod.virtual_machine is not None:
        advice = advice._replace(changes=())  # users cannot set what KubeVirt computes
    exclusive = node.gives_cpus and advice.claim.cpus > 0
    return ContainerFacts(
        container=container,
        cgroup=container_cgroup(pod, container, qos.qos_class, node.settings, exclusive=exclusive),
        cgroup_rules=container_cgroup_rules(pod, container, node.settings, exclusive=exclusive),
        oom=_oom_score(pod, container, qos, node),
        advice=advice,
        exclusive=exclusive,
        why_shared=why_shared(advice.claim, static=node.gives_cpus),
        isolation=_isolation(pod, qos, node, exclusive=exclusive),
    )


def _ephemeral(name: str, pod: StoredPod, qos: Qos, node: NodeOfPods) -> EphemeralFacts:
    """Return what an ephemeral container gets: no manager admits it, and the API gives it no resources."""
    container = Container(name)
    return EphemeralFacts(
        name=name,
        cgroup=container_cgroup(pod, container, qos.qos_class, node.settings, exclusive=False),
        cgroup_rules=container_cgroup_rules(pod, container, node.settings, exclusive=False),
        oom=_oom_score(pod, container, qos, node),
        cpus=_STARTS_IN_POOL if node.gives_cpus else f"on all CPUs, because {POLICY_NONE}",
    )


def _oom_score(pod: StoredPod, container: Container, qos: Qos, node: NodeOfPods) -> OomScore:
    lowers = node.rules.node.lowers_sidecar_scores
    return oom_score(pod, container, qos.qos_class, node.memory, lowers_sidecars=lowers)


def _isolation(pod: StoredPod, qos: Qos, node: NodeOfPods, *, exclusive: bool) -> Isolation:
    """Return what a container shares its CPUs with: nothing, its pod, or the node."""
    if exclusive:
        return Isolation.CONTAINER
    divided = node.gives_cpus and node.scope == "pod" and node.rules.node.managers
    return Isolation.POD if divided and pod_level_cpus(pod, qos) else Isolation.HOST


def _empty_pool(pod: StoredPod, qos: Qos, node: NodeOfPods) -> Rejected | None:
    """Refuse a pod whose exclusive containers leave none of its CPUs for the shared ones, on any node."""
    rules = node.rules.node
    total = pod_level_cpus(pod, qos) if rules.managers and pod.has_pod_level_resources else 0
    if not (total and node.gives_cpus and node.scope == "pod"):
        return None

    from cpuctl.engine.cpu.pod_level import empty_cpu_pool

    def claims(container: Container) -> int:
        return exclusive_claim(pod, container, qos, pod_level_managers=True, scope="pod").cpus

    if not (why := empty_cpu_pool(pod, claims, total)):
        return None
    if node.policy == "best-effort":
        return Rejected(RejectionReason.EMPTY_POD_SHARED_POOL, why)
    return Rejected(RejectionReason.TOPOLOGY_AFFINITY, FAILED_IN_POD_SCOPE)


def _notices(written: Pod, stored: Provenance, view: StoredPod, qos: Qos, node: NodeOfPods) -> Iterator[str]:
    if stored.dropped:
        server = node.rules.server
        why = "has PodLevelResources disabled" if server.knows_pod_level else "does not know the field"
        yield f"the API server drops spec.resources: it {why}"
    if len(stored.pod.field_refs) < len(written.field_refs):
        yield f"the API server drops {ASSIGNED_CPUSET}: it has DownwardAPIAssignedResources disabled"
    if not view.has_pod_level_resources:
        return
    if node.cgroup_version == 1:
        yield _NO_V1
    if not node.rules.node.managers and node.rules.node.passes_over:
        named = dict(unaligned_managers(view, qos))
        yield from (text for manager, text in named.items() if manager in node.static)
