"""What a kubelet says to each pod alone on an empty node."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from cpuctl.diagnostics import Component
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Forbidden, KubeletFault, Rejected, Undetermined, Verdict
from cpuctl.engine.pod_lints.subject import PodLintSubject
from cpuctl.pods.model import ResourceRequirements, StoredPod
from cpuctl.pods.validation.finding import Finding
from cpuctl.quantity import Quantity

_NOTE = "on an empty node of this kind"
_WORD = re.compile("[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@dataclass(slots=True)
class Trial:
    """An empty node that pods are tried on; pods that ask for the same get the same answer."""

    node: Node
    _verdicts: dict[Hashable, Verdict] = field(default_factory=dict)

    def lint(self, subject: PodLintSubject) -> Iterator[Finding]:
        """Tell whether and why the kubelet refuses a pod."""
        match self._verdict(subject.pod):
            case Admitted():
                pass
            case Rejected(reason=reason, message=message, container=container):
                spot = subject.spot_of(container)
                yield spot.rejected(_code(reason), f"{reason}: {message}", by=Component.KUBELET, note=_NOTE)
            case Forbidden(refusals=refusals):
                yield from (subject.spec.rejected("never-stored", text) for text in refusals)
            case KubeletFault(kind=kind, where=where, why=why):
                detail = f"the kubelet does not survive this pod ({kind} in {where}): {why}"
                yield subject.spec.rejected("kubelet-fault", detail, by=Component.KUBELET, note=_NOTE)
            case Undetermined(text=why):
                yield subject.spec.note("not-decided", f"whether the node takes it is not known: {why}")

    def _verdict(self, pod: StoredPod) -> Verdict:
        asked = _asked(pod)
        if asked not in self._verdicts:
            self._verdicts[asked] = self.node.copy().admit(pod).verdict
        return self._verdicts[asked]


def _asked(pod: StoredPod) -> Hashable:
    """Tell everything that the answer depends on; whether an amount can be counted is not in its text."""
    return (
        tuple((each.name, each.kind, *_amounts(each.resources)) for each in pod.all_containers),
        None if pod.resources is None else _amounts(pod.resources),
        tuple(_written(pod.overhead)),
        pod.static,
        pod.qos_class,
    )


def _amounts(resources: ResourceRequirements) -> tuple[Hashable, ...]:
    return (*_written(resources.requests), None, *_written(resources.limits), resources.claims)


def _written(amounts: Mapping[str, Quantity]) -> Iterator[Hashable]:
    for name, amount in amounts.items():
        yield name, str(amount), amount.short


def _code(reason: str) -> str:
    """Make a code of a reason: ``smt-alignment`` of ``SMTAlignmentError``, ``out-of-cpu`` of ``OutOfcpu``."""
    if reason.startswith("OutOf"):
        return f"out-of-{reason.removeprefix('OutOf').lower()}"
    return "-".join(_WORD.findall(reason.removesuffix("Error"))).lower()
