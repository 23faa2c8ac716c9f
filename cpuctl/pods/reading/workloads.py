"""Workload kinds: the number of pods that one of them creates, and the pods' names."""

from collections.abc import Callable, Mapping

from cpuctl.documents.cursor import Cursor
from cpuctl.pods.model import Pod
from cpuctl.pods.reading.pods import decode_name, decode_namespace, decode_spec
from cpuctl.records import Record

MAX_REPLICAS = 10_000
"""Replicas accepted for one workload: far more than any node holds."""

_INT32_MAX = (1 << 31) - 1


_KUBEVIRT = "kubevirt.io"
KUBEVIRT_MACHINES: Mapping[str, str] = {
    "VirtualMachine": _KUBEVIRT,
    "VirtualMachineInstance": _KUBEVIRT,
    "VirtualMachineInstanceReplicaSet": _KUBEVIRT,
    "VirtualMachinePool": "pool.kubevirt.io",
}
"""KubeVirt's kinds that create pods, with their API groups."""
_KUBEVIRT_KINDS = {
    **KUBEVIRT_MACHINES,
    "KubeVirt": _KUBEVIRT,
    "VirtualMachineInstancetype": "instancetype.kubevirt.io",
    "VirtualMachineClusterInstancetype": "instancetype.kubevirt.io",
    "VirtualMachinePreference": "instancetype.kubevirt.io",
    "VirtualMachineClusterPreference": "instancetype.kubevirt.io",
    "NetworkAttachmentDefinition": "k8s.cni.cncf.io",
    "Namespace": "",
}


class KubeVirtObject(Record):
    """An object that is a KubeVirt virtual machine, or that affects some.

    ``position`` is the number of pods before it in its text.
    """

    kind: str
    at: Cursor
    position: int = 0


def decides_on_machines(kind: str, group: str) -> bool:
    """Return whether an object is one of those; items of a list may omit the group."""
    return kind in _KUBEVIRT_KINDS and group in (_KUBEVIRT_KINDS[kind], "")


class WorkloadKind(Record):
    """``group`` is the API group of the kind; ``ordinals`` returns the replicas that a spec requests."""

    group: str
    ordinals: Callable[[Cursor], range]


def is_workload(kind: str, group: str) -> bool:
    """Return whether a kind is one of Kubernetes' own workloads; items of a list may omit the group."""
    return kind in WORKLOADS and group in (WORKLOADS[kind].group, "extensions", "")


def decode_workload(workload: Cursor, kind: str) -> tuple[Pod, ...]:
    """Read an object of a kind in ``WORKLOADS`` and expand its replicas: ``web-0``, ``web-1``, ..."""
    metadata, spec = workload.required("metadata"), workload.required("spec")
    name = decode_name(metadata)
    if kind == "CronJob":
        spec = spec.required("jobTemplate").required("spec")
    template = decode_spec(spec.required("template").required("spec"))._replace(
        namespace=decode_namespace(metadata),
        origin=workload.origin,
        owner=f"{kind}/{name}",
    )
    return tuple(template._replace(name=f"{name}-{n}") for n in WORKLOADS[kind].ordinals(spec))


def _replicas(spec: Cursor) -> range:
    return range(spec.optional("replicas", _count, 1))


def _stateful_replicas(spec: Cursor) -> range:
    ordinals = spec.get("ordinals")
    start = ordinals.optional("start", _start, 0) if ordinals is not None else 0
    return range(start, start + spec.optional("replicas", _count, 1))


def _one_per_node(_: Cursor) -> range:
    return range(1)


def _running_at_once(spec: Cursor) -> range:
    """Return the number of a Job's parallel pods, at most those still to be completed."""
    parallelism = spec.optional("parallelism", _count, 1)
    return range(min(parallelism, spec.optional("completions", _start, parallelism)))


def _count(number: Cursor) -> int:
    return number.integer(minimum=0, maximum=MAX_REPLICAS)


def _start(number: Cursor) -> int:
    return number.integer(minimum=0, maximum=_INT32_MAX)


WORKLOADS: Mapping[str, WorkloadKind] = {
    "Deployment": WorkloadKind("apps", _replicas),
    "ReplicaSet": WorkloadKind("apps", _replicas),
    "StatefulSet": WorkloadKind("apps", _stateful_replicas),
    "DaemonSet": WorkloadKind("apps", _one_per_node),
    "ReplicationController": WorkloadKind("", _replicas),
    "Job": WorkloadKind("batch", _running_at_once),
    "CronJob": WorkloadKind("batch", _running_at_once),
}
