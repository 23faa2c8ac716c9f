"""Shortcuts to lint manifests in tests: the spec of a pod as YAML in, messages out."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from cpuctl.documents.loading import load_documents
from cpuctl.pods.rules import NodeRules, PodRules, ServerRules
from cpuctl.pods.validation.finding import Finding
from cpuctl.pods.validation.lint import Linted, LintRules, lint_document
from cpuctl.pods.validation.shape import PodSchema
from cpuctl.schemas import schema_text

HEADS = {"Pod": "v1", "ReplicationController": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}


@cache
def shapes() -> PodSchema:
    return PodSchema(json.loads(schema_text("podresources")))


def rules(minor: int = 36, *, server: int = 0, node: int = 0, **words: Any) -> LintRules:
    """Return the rules of a release; *server* and *node* override it."""
    pods = PodRules(server=server_rules(server or minor), node=node_rules(node or minor))
    return LintRules(pods=pods, shapes=shapes(), **words)


def server_rules(minor: int, *, pod_level: bool = True) -> ServerRules:
    return ServerRules(minor=minor, pod_level=minor >= 32 and pod_level, pod_level_limits=minor >= 37)


def node_rules(minor: int, *, pod_level: bool = True) -> NodeRules:
    return NodeRules(minor=minor, pod_level=minor >= 32 and pod_level, empty_counts=minor < 37)


def linted(text: str, by: LintRules | None = None) -> list[Linted]:
    document, *others = load_documents(text, "pods.yaml", last_wins=True)
    assert not others
    return list(lint_document(document, by or rules()))


def findings(spec: str, by: LintRules | None = None, *, metadata: str = "{name: web}") -> list[Finding]:
    """Lint a Pod whose spec is *spec*, a YAML mapping in braces."""
    (one,) = linted(f"apiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec: {spec}", by)
    return list(one.findings)


def template_findings(spec: str, kind: str = "Deployment", by: LintRules | None = None) -> list[Finding]:
    """Lint a workload whose pods have the spec *spec*."""
    template = f"{{template: {{spec: {spec}}}}}"
    inside = f"{{jobTemplate: {{spec: {template}}}}}" if kind == "CronJob" else template
    head = f"apiVersion: {HEADS.get(kind, 'apps/v1')}\nkind: {kind}\nmetadata: {{name: web}}"
    (one,) = linted(f"{head}\nspec: {inside}", by)
    return list(one.findings)


def container(resources: str) -> str:
    """Write the spec of a pod with one container that has these resources."""
    return f"{{containers: [{{name: main, resources: {resources}}}]}}"


def messages(found: list[Finding]) -> list[str]:
    return [str(finding) for finding in found]
