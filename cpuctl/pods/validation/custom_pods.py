"""What is said of pods that a controller makes of a custom resource's templates.

The API server looks at a custom resource by a schema of the resource's own, which is not known here. It
validates the pods when they are created, and by then nobody but the controller hears of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cpuctl.pods.validation.draft import PodDraft
from cpuctl.pods.validation.finding import Finding, Refuser, Severity
from cpuctl.pods.validation.objects import ManifestObject

_UNKNOWN_FIELD = "strict decoding error: "


def of_custom_resource(
    findings: Iterable[Finding], item: ManifestObject, draft: PodDraft
) -> Iterator[Finding]:
    """Word what is said of a Pod for the custom resource that it is made of; its own name is told once."""
    metadata = draft.metadata.path
    for finding in findings:
        if finding.path[: len(metadata)] != metadata:
            yield _of_pods(finding, item.kind)
        elif not item.number:
            yield finding


def refuses_pods_of(kind: str, which: str = "its pods") -> str:
    """Say who is refused: *which* pods of an object of this kind."""
    return f"the API server refuses {which}, whatever it says of the {kind} itself"


def _of_pods(finding: Finding, kind: str) -> Finding:
    if finding.code == "unknown-field":
        what = finding.detail.removeprefix(_UNKNOWN_FIELD)
        detail = f"{what}: refused or lost, as the schema of the {kind} has it"
        return finding._replace(severity=Severity.WARNING, refused_by=Refuser.NOBODY, detail=detail)
    if (finding.code, finding.detail) == ("container-name", "Required value"):
        hint = f"the controller of the {kind} may fill it in"
        return finding._replace(severity=Severity.NOTE, refused_by=Refuser.NOBODY, hint=hint)
    if finding.severity is Severity.ERROR and finding.refused_by is Refuser.API_SERVER:
        whose = refuses_pods_of(kind)
        return finding._replace(hint=f"{whose}; {finding.hint}" if finding.hint else whose)
    return finding
