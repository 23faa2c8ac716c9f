"""Support of ``spec.resources`` by an API server and a kubelet, and its meaning.

Releases, gates, systems and cgroups: KEP-2837 on version skew; ``pkg/kubelet/lifecycle`` in 1.36
(``isPodLevelResourcesSupported``). Accepted, but not with the meaning that it appears to have:
``ComputePodQOS`` in 1.36, which checks whether ``spec.resources`` is present, even if empty; since 1.37 (gate
PodLevelResourcesFixKubeletQOSClass) an empty one is ignored. Its valid content is in ``pod_resources``.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.diagnostics import Component
from cpuctl.pods.model import Pod, QosClass
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.rules import POD_LEVEL_SINCE, PodRules, ServerRules
from cpuctl.pods.validation.draft import PodDraft
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.pods.validation.resource_requirements import is_hugepages
from cpuctl.pods.validation.server import defaulted_pod
from cpuctl.records import replace

_REFUSED = "PodLevelResourcesNotSupported"
_CHECKS_WINDOWS_SINCE = _HUGEPAGES_SINCE = 34
_RESIZE_SINCE = 33
_QOS_WORDS = "QoS class, cgroups and scheduling only depend on the containers' requests and limits"
_FIXED_SINCE = 37
_FIX = "PodLevelResourcesFixKubeletQOSClass"


def check_pod_level_support(
    draft: PodDraft, rules: PodRules, *, cgroup_version: int = 2, resizable: bool = True
) -> Iterator[Finding]:
    """Report where pod-level resources are dropped or refused on their way to the node.

    *resizable* is the API server's gate InPlacePodLevelResourcesVerticalScaling.
    """
    if draft.pod.resources is None:
        return
    field_path = draft.spec.child("resources")
    lost = list(_check_server(draft, field_path, rules.server))
    yield from lost
    if lost and not draft.stored:
        return
    yield from _check_kubelet(draft, field_path, rules)
    if cgroup_version == 1 and draft.pod.has_pod_level_resources:
        detail = "pod-level resources require cgroup v2 (KEP-2837)"
        fix, note = "use a node with cgroup v2", "kubelets up to 1.36 do not check this"
        yield field_path.warning("pod-level-on-cgroup-v1", detail, fix=fix, note=note)
    if not resizable and rules.server.minor >= _RESIZE_SINCE:
        yield field_path.note("pod-level-not-resizable", _resize_refusal(rules.server))


def _check_server(draft: PodDraft, field_path: FieldPath, rules: ServerRules) -> Iterator[Finding]:
    if rules.minor < POD_LEVEL_SINCE:
        note = f"the field exists from 1.{POD_LEVEL_SINCE} on"
        detail = f'strict decoding error: unknown field "{field_path.field}"'
        yield FieldPath(field_path.path, "").rejected("unknown-field", detail, note=note)
    elif not rules.pod_level:
        gate = f"feature gate PodLevelResources is disabled in API server 1.{rules.minor}"
        if draft.stored:
            detail = f"{gate}: existing pods keep the field, but it has no effect; {_QOS_WORDS}"
            yield field_path.warning("pod-level-without-effect", detail)
        else:
            detail = f"{gate}: the field is dropped when the {draft.kind} is created; {_QOS_WORDS}"
            yield field_path.warning("pod-level-dropped", detail)


def _check_kubelet(draft: PodDraft, field_path: FieldPath, rules: PodRules) -> Iterator[Finding]:
    node, pod = rules.node, defaulted_pod(draft, rules.server)
    if node.minor < POD_LEVEL_SINCE:
        detail = f"kubelet 1.{node.minor} does not know the field: {_QOS_WORDS}"
        yield field_path.warning("pod-level-unknown-to-kubelet", detail)
    elif node.rejects_resources_of(pod):
        detail = f"{_REFUSED}: PodLevelResources feature gate is disabled"
        fix = f"enable feature gate PodLevelResources in kubelet 1.{node.minor}"
        yield field_path.rejected("pod-level-gate-off", detail, by=Component.KUBELET, fix=fix)
    elif not node.pod_level and not node.rejects_pod_level:
        detail = f"kubelet 1.{node.minor} ignores it while PodLevelResources is disabled: {_QOS_WORDS}"
        yield field_path.warning("pod-level-unknown-to-kubelet", detail)
    elif node.minor < _HUGEPAGES_SINCE and _has_hugepages(pod):
        detail = f"kubelet 1.{node.minor} ignores huge pages here"
        yield field_path.warning("pod-level-hugepages-unknown-to-kubelet", detail)
    elif pod.os_name == "windows" and rules.server.minor < _CHECKS_WINDOWS_SINCE:
        detail = f"{_REFUSED}: pod-level resources are not supported on Windows"
        yield field_path.rejected("pod-level-on-windows", detail, by=Component.KUBELET)


def _has_hugepages(pod: Pod) -> bool:
    resources = pod.resources
    return resources is not None and any(map(is_hugepages, (*resources.requests, *resources.limits)))


def _resize_refusal(rules: ServerRules) -> str:
    """Return the message with which a later resize is refused."""
    if rules.minor < 35:
        return "a later resize is rejected: pods with pod-level resources cannot be resized"
    return (
        "a later resize is rejected: resize of pods with pod-level resources is forbidden when "
        "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
    )


def check_pod_level_meaning(pod: Pod, spec: FieldPath, rules: PodRules) -> Iterator[Finding]:
    """Report containers whose requests do not count because the pod level has neither cpu nor memory."""
    # The API server writes the class into the status, and the kubelet takes it from there.
    node = replace(rules.node, empty_counts=rules.node.empty_counts or rules.server.minor < _FIXED_SINCE)
    kubelet_pod = node.view(pod)._replace(qos_class=None)
    if kubelet_pod.resources is None:
        return
    inside = pod_qos(kubelet_pod._replace(resources=None)).qos_class
    if pod_qos(kubelet_pod).qos_class is not QosClass.BEST_EFFORT or inside is QosClass.BEST_EFFORT:
        return
    field_path = spec.child("resources")
    effect = f"the pod is BestEffort, although its containers alone would make it {inside}"
    if kubelet_pod.resources.requests or kubelet_pod.resources.limits:
        detail = f"sets neither cpu nor memory: {effect}"
        yield field_path.warning("pod-level-best-effort", detail, fix="set cpu and memory, too")
    else:
        detail = f"present but empty: {effect} (up to 1.36, and without feature gate {_FIX})"
        yield field_path.warning("pod-level-best-effort", detail, fix="remove it")
