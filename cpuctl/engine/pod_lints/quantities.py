"""Amounts that the Memory Manager cannot count, because of how they are written.

Rule: kubelet v1.36 ``memorymanager/policy_static.go``. An API server writes ``1.5Gi`` as ``1536Mi``; a
static pod comes as it is in the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.engine.pod_lints.subject import PodLintSubject
from cpuctl.pods.model import Container, QosClass
from cpuctl.pods.validation.finding import Finding, Refuser
from cpuctl.quantity import Quantity

_CODE = "uncountable-memory"
_WORDS = "Allocate failed due to [memorymanager] failed to represent quantity as int64, which is unexpected"


def lint_static_quantities(subject: PodLintSubject) -> Iterator[Finding]:
    """Look at the memory requests of a static pod that is Guaranteed."""
    policy = subject.kubelet.memory_policy
    guaranteed = subject.qos.qos_class is QosClass.GUARANTEED
    if not subject.pod.static or not guaranteed or policy not in ("", "Static"):
        return
    rules = subject.kubelet.rules
    if rules.passes_over and subject.seen.has_pod_level_resources and not rules.managers:
        return
    for container in subject.seen.all_containers:
        yield from _lint_container(subject, container)


def _lint_container(subject: PodLintSubject, container: Container) -> Iterator[Finding]:
    spot = subject.spot(container).child("requests")
    for name, amount in container.resources.requests.items():
        if name == "memory" or name.startswith("hugepages-"):
            if amount.exact_int64 is not None:
                continue
            hint = _hint(amount)
            if subject.kubelet.memory_policy:
                detail = f"UnexpectedAdmissionError: {_WORDS}"
                yield spot.key(name).refused(_CODE, detail, by=Refuser.KUBELET, hint=hint)
            else:
                detail = f"a kubelet with memoryManagerPolicy Static refuses it as it is written: {_WORDS}"
                yield spot.key(name).warning(_CODE, detail, hint=hint)


def _hint(amount: Quantity) -> str:
    written = str(amount.rounded_up_to_milli().canonical())
    countable = Quantity.from_value(amount.value, amount.format)
    better = written if Quantity.parse(written).exact_int64 is not None else str(countable)
    return f"write {better}"
