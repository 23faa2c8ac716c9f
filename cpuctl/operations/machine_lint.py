"""What ``cpuctl pods lint`` finds in virtual machines: what KubeVirt refuses of them, and of their pods."""

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
from cpuctl.pods.validation.objects import ManifestObject, objects_of, refuses_pods_of
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.pods.namespace_limits import LimitRange, ResourceQuota

_COMPUTE = ("containers", 0)
"""The container of the guest; users do not set what KubeVirt's others request."""


class MachineSetting(NamedTuple):
    """By what rules launcher pods are looked at; ``trial`` is an empty node with KubeVirt's devices."""

    rules: PodRules
    kubelet: KubeletView
    trial: TrialNode | None = None
    architecture: str = ""
    limit_ranges: tuple[LimitRange, ...] = ()
    server: PodServer | None = None


def kubevirt_context(
    documents: Iterable[Document], quotas: Sequence[ResourceQuota]
) -> KubeVirtContext | None:
    """Collect what decides on virtual machines; None if there are none.

    Raise InputError for what cannot be read of it.
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
    """Report why a virtual machine makes no pods, or what there is to say about them, each text once."""
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
    """Report what LimitRanges and ResourceQuotas refuse of a pod."""
    if setting.server is None:
        return
    created = setting.server.create(pod)
    for code, texts in (("limit-range", created.beyond_limits), ("resource-quota", created.beyond_quotas)):
        yield from (place.rejected(code, text, note=refuses_pods_of(item.kind)) for text in texts)


def _on_node(pod: StoredPod, place: FieldPath, setting: MachineSetting) -> Iterator[Finding]:
    """Say of the guest's container, and of the pod as a whole, what a kubelet would."""
    subject = PodLintSubject(pod, FieldPath((), ""), setting.kubelet)
    for finding in lint_pod(subject, setting.trial):
        path = finding.place.path
        if path and path[:2] != _COMPUTE and finding.severity is not Severity.ERROR:
            continue
        where = _container(pod, path)
        message = f"{where}: {finding.message}" if where else f"its launcher pod: {finding.message}"
        # What to change are fields of the guest, which explain finds.
        yield replace(finding.at(place), message=message, fix="")


def _container(pod: Pod, path: tuple[str | int, ...]) -> str:
    if len(path) < 2 or not isinstance(path[1], int):
        return ""
    group = pod.containers if path[0] == "containers" else pod.init_containers
    return f"container {group[path[1]].name} of its launcher pod"
