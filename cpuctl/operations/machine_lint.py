"""What ``cpuctl pods lint`` finds in virtual machines: what KubeVirt rejects, and issues of their pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.diagnostics import Severity
from cpuctl.documents.document import Document
from cpuctl.engine.pod_lints import KubeletView, PodLintSubject, TrialNode, lint_pod
from cpuctl.errors import InputError
from cpuctl.pods.launcher_pod import on_architecture
from cpuctl.pods.model import Pod, StoredPod
from cpuctl.pods.reading.kubevirt import KubeVirtContext, LauncherPods
from cpuctl.pods.reading.workloads import KUBEVIRT_MACHINES, KubeVirtObject, decides_on_machines
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.pods.validation.objects import ManifestObject, objects_of, rejects_pods_of
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.resource_quotas import ResourceQuota

_COMPUTE = ("containers", 0)
"""The container of the guest; users do not set the requests of KubeVirt's other containers."""


class MachineSetting(NamedTuple):
    """The rules for launcher pods; ``trial`` is an empty node with KubeVirt's devices."""

    rules: PodRules
    kubelet: KubeletView
    trial: TrialNode | None = None
    architecture: str = ""
    limit_ranges: tuple[LimitRange, ...] = ()
    server: PodServer | None = None


def kubevirt_context(
    documents: Iterable[Document], quotas: Sequence[ResourceQuota]
) -> KubeVirtContext | None:
    """Collect the objects that affect virtual machines; return None if there are no virtual machines.

    Raise InputError for objects that cannot be read.
    """
    objects = [
        KubeVirtObject(item.kind, item.cursor(document))
        for document in documents
        for item in objects_of(document)
        if isinstance(item, ManifestObject) and decides_on_machines(item.kind, item.group)
    ]
    if not any(each.kind in KUBEVIRT_MACHINES for each in objects):
        return None
    return KubeVirtContext(objects, quotas, ())


def machine_findings(
    document: Document, item: ManifestObject, around: KubeVirtContext, setting: MachineSetting
) -> Iterator[Finding]:
    """Report why a virtual machine creates no pods, or the findings about its pods, each text once."""
    place = FieldPath(item.place.path, "")
    try:
        made = around.pods_of(KubeVirtObject(item.kind, item.cursor(document)))
    except InputError as error:
        yield place.rejected("bad-virtual-machine", str(error), fix=error.hint)
        return
    if made.why:
        yield _no_pods(place, made)
        return
    seen_messages: set[str] = set()
    for pod in made.pods:
        stored = stored_pod(on_architecture(pod, setting.architecture), setting.rules, setting.limit_ranges)
        for finding in (*_created(stored, item, place, setting), *_on_node(stored, place, setting)):
            if finding.message not in seen_messages:
                seen_messages.add(finding.message)
                yield finding


def _no_pods(place: FieldPath, made: LauncherPods) -> Finding:
    if made.refused:
        return place.rejected("virtual-machine", made.why)
    return place.note("not-decided", f"its pod's requests are unknown: {made.why}")


def _created(
    pod: StoredPod, item: ManifestObject, place: FieldPath, setting: MachineSetting
) -> Iterator[Finding]:
    """Report how a pod violates LimitRanges and ResourceQuotas."""
    if setting.server is None:
        return
    created = setting.server.create(pod)
    for code, texts in (("limit-range", created.beyond_limits), ("resource-quota", created.beyond_quotas)):
        yield from (place.rejected(code, text, note=rejects_pods_of(item.kind)) for text in texts)


def _on_node(pod: StoredPod, place: FieldPath, setting: MachineSetting) -> Iterator[Finding]:
    """Report a kubelet's findings about the guest's container, and about the pod as a whole."""
    subject = PodLintSubject(pod, FieldPath((), ""), setting.kubelet)
    for finding in lint_pod(subject, setting.trial):
        path = finding.place.path
        if path and path[:2] != _COMPUTE and finding.severity is not Severity.ERROR:
            continue
        where = _container(pod, path)
        message = f"{where}: {finding.message}" if where else f"its launcher pod: {finding.message}"
        # The fields to change are those of the guest, which explain finds.
        yield replace(finding.at(place), message=message, fix="")


def _container(pod: Pod, path: tuple[str | int, ...]) -> str:
    if len(path) < 2 or not isinstance(path[1], int):
        return ""
    group = pod.containers if path[0] == "containers" else pod.init_containers
    return f"container {group[path[1]].name} of its launcher pod"
