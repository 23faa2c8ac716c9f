"""What is said of pods that a controller makes of a custom resource's templates.

The API server looks at a custom resource by a schema of the resource's own, which is not known here. It
validates the pods when they are created, and by then nobody but the controller hears of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cpuctl.diagnostics import Component, Severity
from cpuctl.pods.validation.draft import PodDraft
from cpuctl.pods.validation.finding import Finding
from cpuctl.pods.validation.objects import ManifestObject

_UNKNOWN_FIELD = "strict decoding error: "


def of_custom_resource(
    findings: Iterable[Finding], item: ManifestObject, draft: PodDraft
) -> Iterator[Finding]:
    """Word what is said of a Pod for the custom resource that it is made of; its own name is told once."""
    metadata = draft.metadata.path
    for finding in findings:
        if finding.place.path[: len(metadata)] != metadata:
            yield _of_pods(finding, item.kind)
        elif not item.number:
            yield finding


def refuses_pods_of(kind: str, which: str = "its pods") -> str:
    """Say who is rejected: *which* pods of an object of this kind."""
    return f"the API server rejects {which}, whatever it says of the {kind} itself"


def _of_pods(finding: Finding, kind: str) -> Finding:
    if finding.code == "unknown-field":
        what = finding.message.removeprefix(_UNKNOWN_FIELD)
        message = f"{what}: rejected or lost, as the schema of the {kind} has it"
        return finding._replace(severity=Severity.WARNING, rejected_by=None, message=message)
    if (finding.code, finding.message) == ("container-name", "Required value"):
        note = f"the controller of the {kind} may fill it in"
        return finding._replace(severity=Severity.NOTE, rejected_by=None, note=note)
    if finding.severity is Severity.ERROR and finding.rejected_by is Component.API_SERVER:
        whose = refuses_pods_of(kind)
        return finding._replace(note=f"{whose}; {finding.note}" if finding.note else whose)
    return finding
