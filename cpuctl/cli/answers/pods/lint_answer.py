"""The answer of ``cpuctl pods lint`` as a plain document (schema: ``cpuctl schema podslint``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpuctl.cli.output import API_VERSION
from cpuctl.diagnostics import counts
from cpuctl.documents.paths import path_text
from cpuctl.operations.pods.lint import LintRun, Remark


def lint_document(run: LintRun, sources: Mapping[str, Any]) -> dict[str, Any]:
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
            **counts(remark.finding for remark in run.remarks),
        },
        "findings": [_finding(remark) for remark in run.remarks],
    }


def _finding(remark: Remark) -> dict[str, Any]:
    finding, about = remark.finding, remark.about
    return {
        "severity": str(finding.severity),
        "code": finding.code,
        "refusedBy": str(finding.rejected_by or "nobody"),
        "file": remark.source,
        "line": remark.place.line,
        "column": remark.place.column,
        "path": path_text(finding.place.path),
        "object": (
            {"kind": about.kind, "namespace": about.namespace, "name": about.name} if about.kind else None
        ),
        "message": str(finding),
        "hint": finding.fix,
    }
