"""The resources that a container reads in its variables and in files of downward API volumes.

Rule: kubelet 1.27 to 1.36 (``pkg/kubelet/kubelet_resources.go``, ``pkg/api/v1/resource/helpers.go``,
``pkg/volume/downwardapi``), including its oddities: volumes ignore pod-level limits, and a variable that
names an init container uses only that container's own limit. ``assigned.cpuset``: KEP-6122.
"""

import math
from collections.abc import Mapping

from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceFieldRef, is_pod_level_resource
from cpuctl.pods.rules import ASSIGNED_CPUSET, ASSIGNED_CPUSET_SINCE
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

HUGE_PAGES = "hugepages-"
_POD_LEVEL_SINCE = 34
_DEFAULTED = ("cpu", "memory", "ephemeral-storage")
_NOTHING, _ONE = Quantity(), Quantity.from_value(1)
_NO_LIMIT = "0, as no limit is set"


class DownwardContext(Record):
    """The kubelet 1.*minor* that resolves references, and its node.

    ``allocatable`` is None if the node is not known. ``assigned`` maps containers to their CPUs in list
    format, empty for those in the shared pool; containers that are missing there have no decision yet.
    """

    minor: int
    allocatable: Mapping[str, Quantity] | None = None
    assigned: Mapping[str, str] = {}


class DownwardValue(Record):
    """The value that is read, and its rule: an ``amount`` and its ``text``, both None if not known.

    With an ``error``, in the kubelet's words, the container does not start; for a file, no container does.
    """

    rule: str = ""
    amount: Quantity | None = None
    text: str | None = None
    error: str = ""


def downward_value(pod: Pod, ref: ResourceFieldRef, context: DownwardContext) -> DownwardValue:
    """Resolve a reference of *pod*, given as its kubelet sees it."""
    container = _named(pod, ref.owner)
    if container is None:
        return DownwardValue(error=not_found(ref.owner))
    if ref.resource == ASSIGNED_CPUSET and ref.in_file and context.minor >= ASSIGNED_CPUSET_SINCE:
        return _assigned(container, context)
    side, _, resource = ref.resource.partition(".")
    if resource not in _DEFAULTED and not resource.startswith(HUGE_PAGES):
        return DownwardValue(error=unsupported_inside(ref.resource))
    if side == "requests":
        given = container.resources.requests.get(resource)
        rule = "0, as no request is set" if given is None else "the container's request"
        return _in_units(DownwardValue(rule, given or _NOTHING), ref)
    if side == "limits":
        return _in_units(_limit(pod, container, ref, context), ref)
    return DownwardValue(error=unsupported_inside(ref.resource))


def not_found(container: str) -> str:
    """Return the kubelet's message for a container that the pod does not have."""
    return f"container {container} not found"


def unsupported_inside(resource: str) -> str:
    """Return the kubelet's message, stray blank included, for a resource that it cannot expose."""
    return f"unsupported container resource : {resource}"


def _named(pod: Pod, name: str) -> Container | None:
    """Find a container as the kubelet does, app containers first."""
    return next((each for each in (*pod.containers, *pod.init_containers) if each.name == name), None)


def _assigned(container: Container, context: DownwardContext) -> DownwardValue:
    cpus = context.assigned.get(container.name)
    if cpus is None:
        return DownwardValue("the CPU Manager's exclusive CPUs, decided at admission")
    return DownwardValue("its exclusive CPUs" if cpus else "empty, as it has no exclusive CPUs", text=cpus)


def _limit(pod: Pod, container: Container, ref: ResourceFieldRef, context: DownwardContext) -> DownwardValue:
    resource = ref.resource.removeprefix("limits.")
    limit = container.resources.limits.get(resource, _NOTHING)
    if limit.sign:
        return DownwardValue("the container's limit", limit)
    if resource not in _DEFAULTED:
        # Huge pages are never overcommitted, so nothing replaces a missing limit.
        return DownwardValue(_NO_LIMIT, _NOTHING)
    if not ref.in_file and ref.container and container.kind is not ContainerKind.APP:
        return DownwardValue(
            "0: a variable that refers to an init container only uses the container's own limit", _NOTHING
        )
    own = pod.resources.limits.get(resource, _NOTHING) if pod.resources else _NOTHING
    by_pod = own.sign and is_pod_level_resource(resource) and context.minor >= _POD_LEVEL_SINCE
    if by_pod and not ref.in_file:
        return DownwardValue("the pod-level limit (variables only)", own)
    amount = context.allocatable.get(resource) if context.allocatable else None
    why = "volumes ignore the pod-level limit" if by_pod else "there is no limit"
    return DownwardValue(f"the node's allocatable, as {why}", amount)


def _in_units(value: DownwardValue, ref: ResourceFieldRef) -> DownwardValue:
    """Convert to units of the divisor, rounded up, in floating point like the kubelet."""
    if value.amount is None:
        return value
    divisor = ref.divisor if ref.divisor.sign else _ONE
    if ref.resource.endswith(".cpu"):
        amount, unit = value.amount.milli_value, divisor.milli_value
    else:
        amount, unit = value.amount.value, divisor.value
    # A divisor beyond 64 bits wraps around to 0, which no API server accepts.
    return replace(value, text=str(math.ceil(float(amount) / float(unit))) if unit else None)
