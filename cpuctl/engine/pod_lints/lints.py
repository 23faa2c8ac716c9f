"""Everything there is to remark on a pod for the kubelet that gets it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cpuctl.engine.pod_lints.admission import Trial
from cpuctl.engine.pod_lints.exclusive import lint_exclusive_cpus
from cpuctl.engine.pod_lints.pod_level import lint_pod_level
from cpuctl.engine.pod_lints.quantities import lint_static_quantities
from cpuctl.engine.pod_lints.subject import PodLintSubject
from cpuctl.pods.validation.finding import Finding, Severity

_LINTS: tuple[Callable[[PodLintSubject], Iterator[Finding]], ...] = (
    lint_exclusive_cpus,
    lint_pod_level,
    lint_static_quantities,
)


def lint_pod(subject: PodLintSubject, trial: Trial | None = None) -> Iterator[Finding]:
    """Look at a pod that the API server takes; on a known node the kubelet itself is asked, too."""
    found = [finding for lint in _LINTS for finding in lint(subject)]
    yield from found
    if trial is not None and all(finding.severity is not Severity.ERROR for finding in found):
        yield from trial.lint(subject)
