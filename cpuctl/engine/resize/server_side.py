"""The resizes that an API server refuses before any kubelet learns about them.

Rule: ``ValidatePodResize`` in ``pkg/apis/core/validation``, and from 1.36 on the admission plugin
``PodResizeValidator``. Texts are the API server's; where it has none, they are ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from cpuctl.engine.resize.outcome import Obstacle
from cpuctl.engine.resize.rules import IN_PLACE, INIT_CONTAINERS, POD_LEVEL
from cpuctl.engine.resize.running import RESIZABLE, PodResize
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.releases.behaviours import Behaviours, behaviours
from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements, StoredPod
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import pod_requests
from cpuctl.pods.rules import PodRules, ServerRules
from cpuctl.pods.stored import stored_pod
from cpuctl.pods.validation.finding import FieldPath
from cpuctl.pods.validation.refusals import beyond_limit_ranges, invalid_parts
from cpuctl.quantity import Quantity
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.pods.limit_ranges import LimitRange

_ROOT = FieldPath((), "[]")
_SPEC = FieldPath(("spec",), "spec")
_NO_REQUIREMENTS = ResourceRequirements()
_NOTHING = Quantity()
_CODE = "resize"
_WITHOUT_SUBRESOURCE = "allow changing resources of pods"
_ONLY = "only cpu and memory resources are mutable"
_SIDES = ("requests", "limits")


class ResizeServer(Record):
    """An API server 1.*minor* and its gates; ``node_resizes`` is the kubelet's gate.

    ``pod_level_limits`` is the gate PodLevelResourcesFixDefaulting.
    ``allocatable`` is what the node has for pods according to its status (CPU in milli), None if not known.
    ``namespaces`` has the LimitRanges, and the ResourceQuotas to which an accepted resize is charged.
    """

    minor: int = 36
    turned: frozenset[str] = frozenset()
    in_place: bool = True
    pod_level: bool = True
    pod_level_resources: bool = True
    init_containers: bool = True
    pod_level_limits: bool = False
    node_resizes: bool = True
    allocatable: Mapping[str, int] | None = None
    namespaces: "PodServer | None" = None

    @classmethod
    def of(
        cls,
        gates: FeatureGates,
        *,
        node_resizes: bool,
        allocatable: Mapping[str, int] | None,
        namespaces: "PodServer | None" = None,
    ) -> "ResizeServer":
        """Return the server of a release with its gates."""
        return cls(
            minor=gates.minor,
            turned=gates.turned,
            in_place=gates.enabled(IN_PLACE),
            pod_level=gates.enabled(POD_LEVEL),
            pod_level_resources=gates.enabled("PodLevelResources"),
            init_containers=gates.enabled(INIT_CONTAINERS),
            pod_level_limits=gates.enabled("PodLevelResourcesFixDefaulting"),
            node_resizes=node_resizes,
            allocatable=allocatable,
            namespaces=namespaces,
        )

    @property
    def release(self) -> Behaviours:
        """The behaviours that are specific to servers of this release."""
        return behaviours(self.minor, turned=self.turned)

    @property
    def rules(self) -> ServerRules:
        """The rules by which it defaults and validates pods."""
        return ServerRules(
            minor=self.minor, pod_level=self.pod_level_resources, pod_level_limits=self.pod_level_limits
        )

    @property
    def limit_ranges(self) -> tuple["LimitRange", ...]:
        """The LimitRanges that apply to a resize: only to one via the subresource, and as to a new pod."""
        namespaces = self.namespaces if self.release.has_resize_subresource else None
        return namespaces.limit_ranges if namespaces is not None else ()

    def stored(self, running: StoredPod, wanted: Pod) -> StoredPod:
        """Return *wanted* as it is stored in place of *running*."""
        return stored_pod(wanted, PodRules(server=self.rules), self.limit_ranges, before=running)

    def refusals(self, request: PodResize) -> tuple[str, ...]:
        """Return everything that is wrong with a resize; empty if the pod is changed as requested."""
        if not self.in_place:
            does = "serve pods/resize" if self.release.has_resize_subresource else _WITHOUT_SUBRESOURCE
            return (f"the API server does not {does}: InPlacePodVerticalScaling is off",)
        return tuple(_Review(self, request.running.spec, request.desired, request).found())

    def obstacle(self, request: PodResize) -> Obstacle | None:
        """Return the obstacle to a refused resize, None if no such pod would be accepted."""
        return _Review(self, request.running.spec, request.desired, request).obstacle()


class _Review(Record):
    server: ResizeServer
    old: StoredPod
    new: StoredPod
    request: PodResize

    def found(self) -> Iterator[str]:
        """Yield the findings in the API server's order; the first ones end the review."""
        if why := self._never():
            yield _forbidden(_ROOT, why)
            return
        if moved := list(self._moved()):
            yield from moved
            return
        findings = dict.fromkeys((*self._invalid(), *self._pod(), *self._containers()))
        yield from findings or self._unadmitted()

    def obstacle(self) -> Obstacle | None:
        """Distinguish rules about changes from those that also apply to new pods."""
        if self.old.static or self._invalid():
            return None
        changes = chain(self._moved(), self._pod(), self._containers())
        if not self.server.in_place or self._never() or any(changes):
            return None if any(self._beyond_limit_ranges()) else Obstacle.POD
        return Obstacle.NODE if any(self._too_large()) else None

    def _invalid(self) -> Sequence[str]:
        """Validate the pod as it would be: validation of the whole spec comes before that of the change."""
        return invalid_parts(self.new, self.server.rules)

    def _unadmitted(self) -> Iterator[str]:
        """Yield what the admission plugins refuse; quotas come last."""
        refused = (*self._beyond_limit_ranges(), *self._too_large())
        yield from refused
        if self.server.namespaces is not None:
            yield from self.server.namespaces.resize(self.old, self.new, valid=not refused)

    def _beyond_limit_ranges(self) -> Iterator[str]:
        """Yield what the LimitRanges of the namespace refuse."""
        return beyond_limit_ranges(self.new, self.server.limit_ranges)

    def _never(self) -> str:
        """Return why the pod cannot be resized at all; empty if it can."""
        if self.old.static:
            return "static pods cannot be resized"
        if self.old.os_name == "windows":
            return "windows pods cannot be resized"
        level = self.old.has_pod_level_resources or self.new.has_pod_level_resources
        if not level or not self.server.pod_level_resources or self.server.pod_level:
            return ""
        if not self.server.release.names_gate_of_pod_level_resizes:
            return "pods with pod-level resources cannot be resized"
        gate = "InPlacePodLevelResourcesVerticalScalingEnabled"
        return f"resize of pods with pod-level resources is forbidden when {gate} feature gate is disabled"

    def _moved(self) -> Iterator[str]:
        """Find containers that differ from the running ones in number, name or order."""
        for kind, old, new in self._groups():
            field_path = _SPEC.child(kind)
            if len(old) != len(new):
                yield _forbidden(field_path, f"{kind} may not be added or removed on resize")
                continue
            for number, (before, after) in enumerate(zip(old, new, strict=True)):
                if before.name != after.name:
                    place = field_path.item(number).child("name")
                    yield _forbidden(place, f"{kind} may not be renamed or reordered on resize")

    def _pod(self) -> Iterator[str]:
        level = self.server.pod_level_resources
        old = pod_qos(self.old, pod_level=level).qos_class
        if old is not pod_qos(self.new._replace(qos_class=None), pod_level=level).qos_class:
            why = "Pod QOS Class may not change as a result of resizing"
            yield str(_SPEC.invalid(_CODE, str(old), why))
        if not self.server.node_resizes and self.server.release.has_resize_subresource:
            yield _forbidden(_SPEC, "Pod running on node without support for resize")
        yield from self._pod_level()
        if self.old.counted_claims and not self.server.release.resizes_pods_with_counted_claims:
            yield _forbidden(_SPEC, "pods with node allocatable resource claims cannot be resized")

    def _pod_level(self) -> Iterator[str]:
        old, new, field_path = self.old.resources, self.new.resources, _SPEC.child("resources")
        if old == new:
            return
        if new is None:
            yield _forbidden(field_path, "pod-level resources cannot be removed")
            return
        yield from _removed(old or _NO_REQUIREMENTS, new, field_path, "pod-level resource")
        if _others(old or _NO_REQUIREMENTS) != _others(new):
            yield _forbidden(_SPEC, f"{_ONLY} at pod-level")

    def _containers(self) -> Iterator[str]:
        for kind, old, new in self._groups():
            for number, (before, after) in enumerate(zip(old, new, strict=True)):
                if before.resources != after.resources:
                    yield from self._container(before, after, _SPEC.child(kind).item(number))

    def _container(self, before: Container, after: Container, field_path: FieldPath) -> Iterator[str]:
        old, new, place = before.resources, after.resources, field_path.child("resources")
        if why := self._immutable(before):
            yield _forbidden(field_path if self.server.release.forbids_whole_containers else place, why)
            return
        yield from _removed(old, new, place, "resource")
        if _others(old) != _others(new):
            yield _forbidden(_SPEC, _ONLY)
        yield from self._less_memory(before, after, place)

    def _immutable(self, container: Container) -> str:
        """Return why this container cannot be resized; empty if it can."""
        if container.kind is ContainerKind.APP:
            return ""
        if not self.server.release.resizes_sidecars:
            return "resources of init containers and sidecars are immutable"
        if container.kind is ContainerKind.SIDECAR:
            return ""
        if not self.server.init_containers:
            return "resources for non-sidecar init containers are immutable"
        if self.request.running.restarts(container.name):
            return "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        return ""

    def _less_memory(self, before: Container, after: Container, field_path: FieldPath) -> Iterator[str]:
        """Refuse a lower memory limit, as one release does."""
        old, new = (each.resources.limits.get("memory") for each in (before, after))
        release = self.server.release
        if not release.restarts_for_lower_memory_limits or release.lowers_memory_limits:
            return
        if old is None or new is None or not new < old:
            return
        if "memory" not in self.request.running.restarts(after.name):
            why = "memory limits cannot be decreased unless resizePolicy is RestartContainer"
            yield _forbidden(field_path.child("limits").key("memory"), why)

    def _too_large(self) -> Iterator[str]:
        """Compare with the whole node, as an admission plugin does after validation."""
        server = self.server
        if server.allocatable is None or not server.release.leaves_resize_capacity_to_server:
            return
        new = self.new._replace(counted_claims=())  # the plugin looks at the spec
        requests = pod_requests(new, pod_level=server.pod_level_resources)
        cpu, memory = requests.get("cpu", _NOTHING).milli_value, requests.get("memory", _NOTHING).value
        short = [
            f"{name}, requested: {wanted}, allocatable: {has}"
            for name, wanted in (("cpu", cpu), ("memory", memory))
            if (has := server.allocatable.get(name)) is not None and wanted > has
        ]
        if short:
            yield f"Node didn't have enough allocatable resources: {'; '.join(short)}"

    def _groups(self) -> Iterator[tuple[str, Sequence[Container], Sequence[Container]]]:
        yield "containers", self.old.containers, self.new.containers
        yield "initContainers", self.old.init_containers, self.new.init_containers


def _forbidden(field_path: FieldPath, why: str) -> str:
    return str(field_path.forbidden(_CODE, why))


def _removed(
    old: ResourceRequirements, new: ResourceRequirements, field_path: FieldPath, what: str
) -> Iterator[str]:
    for side in _SIDES:
        if getattr(old, side).keys() - getattr(new, side).keys():
            yield _forbidden(field_path.child(side), f"{what} {side} cannot be removed")


def _others(resources: ResourceRequirements) -> tuple[Mapping[str, Quantity], ...]:
    return tuple(
        {name: amount for name, amount in side.items() if name not in RESIZABLE}
        for side in (resources.requests, resources.limits)
    )
