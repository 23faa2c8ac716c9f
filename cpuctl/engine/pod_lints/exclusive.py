"""Containers that look as if they were to get exclusive CPUs, and will not.

Rule: kubelet v1.36 ``policy_static.go``: a Guaranteed pod, and a whole number of CPUs in the container.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.engine.cpu.exclusive_advice import advise
from cpuctl.engine.pod_lints.subject import PodLintSubject
from cpuctl.pods.model import Container, QosClass
from cpuctl.pods.validation.finding import Finding
from cpuctl.quantity import Quantity

_CODE = "no-exclusive-cpus"
_CHANGES_SHOWN = 4


def lint_exclusive_cpus(subject: PodLintSubject) -> Iterator[Finding]:
    """Look at every container of a pod without pod-level resources."""
    if not subject.kubelet.may_pin or subject.seen.resources is not None:
        return
    for container in subject.seen.all_containers:
        if subject.qos.qos_class is not QosClass.GUARANTEED:
            yield from _lint_whole(subject, container)
        else:
            yield from _lint_fraction(subject, container)


def whole_cpus(container: Container) -> int:
    """Count the CPUs of a container that requests whole ones, and is limited to just those; else 0."""
    request, limit = container.resources.requests.get("cpu"), container.resources.limits.get("cpu")
    if request is None or request != limit or not request.is_integral_cpu:
        return 0
    return max(request.value, 0)


def _lint_whole(subject: PodLintSubject, container: Container) -> Iterator[Finding]:
    """Tell of whole CPUs in a pod that is not Guaranteed: that looks like a slip."""
    count, qos = whole_cpus(container), subject.qos
    if count:
        detail = (
            f"requests and limits are {count} whole CPUs, and none becomes exclusive: the pod is "
            f"{qos.qos_class}, not Guaranteed, because {qos.reason}"
        )
        yield subject.spot(container).warning(_CODE, detail, hint=_advice(subject, container))


def _lint_fraction(subject: PodLintSubject, container: Container) -> Iterator[Finding]:
    """Tell of a part of a CPU: below one CPU seldom meant to be exclusive, and only under a static policy."""
    request = container.resources.requests.get("cpu", Quantity())
    if request.is_integral_cpu:
        return
    spot, hint = subject.spot(container), _advice(subject, container)
    detail = f"the pod is Guaranteed, and {request} is no whole number of CPUs: none becomes exclusive"
    more_than_one = request.milli_value > 1000
    if more_than_one and subject.kubelet.pins:
        yield spot.warning(_CODE, detail, hint=hint)
    elif more_than_one or subject.kubelet.pins:
        yield spot.note(_CODE, detail, hint=hint)


def _advice(subject: PodLintSubject, container: Container) -> str:
    """Word the smallest change after which the container would get its CPUs."""
    amounts = {
        (change.place.container, change.place.resource): change.after
        for change in advise(subject.seen, container, qos=subject.qos).changes
    }
    words = [f"{resource} of {name} to {amount}" for (name, resource), amount in amounts.items()]
    if not words:
        return ""
    more = f" and {len(words) - _CHANGES_SHOWN} more" if len(words) > _CHANGES_SHOWN else ""
    return f"set {', '.join(words[:_CHANGES_SHOWN])}{more}, in requests and limits"
