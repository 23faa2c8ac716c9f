"""The answer of ``cpuctl pods lint`` as a plain document (schema: ``cpuctl schema podslint``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.parts import found, graded
from cpuctl.diagnostics import counts
from cpuctl.documents.positions import path_text
from cpuctl.operations.pod_lint import LintRun, PlacedFinding

if TYPE_CHECKING:
    from cpuctl.answers.pods import Finding, PodsLint
    from cpuctl.answers.values import Sources


def lint_document(run: LintRun, sources: Sources) -> PodsLint:
    """List every finding with its place, and count them."""
    versions = run.setting.versions
    return {
        "apiVersion": API_VERSION,
        "kind": "PodsLint",
        "sources": sources,
        "apiServer": {"version": versions["apiserver"]},
        "kubelet": {"version": versions["kubelet"]},
        "summary": {
            "files": run.files,
            "objects": run.objects,
            "others": run.others,
            **counts(note.finding for note in run.notes),
        },
        "findings": [_finding(note) for note in run.notes],
    }


def _finding(note: PlacedFinding) -> Finding:
    finding, about = note.finding, note.about
    return {
        **graded(finding),
        "rejectedBy": finding.rejected_by.value if finding.rejected_by else "none",
        "file": note.source,
        "line": note.place.line,
        "column": note.place.column,
        "path": path_text(finding.place.path),
        "object": (
            {"kind": about.kind, "namespace": about.namespace, "name": about.name} if about.kind else None
        ),
        **found(finding),
        "message": str(finding),
        "note": finding.note,
    }
