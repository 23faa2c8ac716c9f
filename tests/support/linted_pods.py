"""The findings about a pod, in words that tests can compare."""

from __future__ import annotations

from dataclasses import dataclass, field

from cpuctl.diagnostics import Component, Severity
from cpuctl.engine.pod_lints import KubeletView, PodLintSubject, TrialNode, lint_pod
from cpuctl.pods.model import StoredPod
from cpuctl.pods.validation.finding import FieldPath

UNKNOWN, STATIC, NONE = KubeletView(), KubeletView(cpu_policy="static"), KubeletView(cpu_policy="none")


def linted(subject: StoredPod, kubelet: KubeletView = UNKNOWN, trial: TrialNode | None = None) -> list[str]:
    """Return severity, code, path, detail and hint of every finding; errors are the kubelet's."""
    seen = PodLintSubject(subject, FieldPath(("spec",), "spec"), kubelet)
    found = list(lint_pod(seen, trial))
    for each in found:
        assert each.rejected_by == (Component.KUBELET if each.severity is Severity.ERROR else None)
    return [
        " | ".join(filter(None, (f"{each.severity} {each.code} {each}", each.note, each.fix)))
        for each in found
    ]


@dataclass(frozen=True)
class Case:
    """A pod, a kubelet, and the expected findings."""

    name: str
    pod: StoredPod
    kubelet: KubeletView = UNKNOWN
    want: list[str] = field(default_factory=list)
