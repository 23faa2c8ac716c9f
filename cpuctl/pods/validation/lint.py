"""All findings about the pods of a document, object by object."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.diagnostics import Component, Diagnostic, Severity
from cpuctl.documents.document import Document
from cpuctl.errors import InputError
from cpuctl.pods.model import StoredPod
from cpuctl.pods.rules import PodRules, ServerRules
from cpuctl.pods.runtime_classes import with_runtime_classes
from cpuctl.pods.stored import stored_pod
from cpuctl.pods.validation.draft import PodDraft
from cpuctl.pods.validation.field_refs import check_assigned_support, check_known_containers
from cpuctl.pods.validation.finding import FieldPath, Finding, Path
from cpuctl.pods.validation.objects import ManifestObject, objects_of, of_custom_resource
from cpuctl.pods.validation.pod_level_support import check_pod_level_meaning, check_pod_level_support
from cpuctl.pods.validation.raw import CONTAINER_LISTS, items_of, member_of
from cpuctl.pods.validation.reading import read_draft
from cpuctl.pods.validation.server import check_at_server
from cpuctl.pods.validation.shape import PodSchema, misspelling_of
from cpuctl.pods.validation.static_references import refused_reference
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.model import RuntimeClass

MOST_FINDINGS = 100_000
"""The maximum number of findings: more than anyone reads, while hostile input can cause any number."""

MOST_CONTAINERS = 1_000
"""The maximum number of containers checked per pod: sums over them take quadratic time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRules:
    """The rules by which manifests are checked.

    ``static`` manifests are files that a kubelet itself reads. ``resizable`` is the API server's gate
    InPlacePodLevelResourcesVerticalScaling. Of ``limit_ranges`` only the defaults count here.
    """

    pods: PodRules
    shapes: PodSchema = field(repr=False)
    static: bool = False
    cgroup_version: int = 2
    resizable: bool = True
    limit_ranges: tuple[LimitRange, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()

    @property
    def server(self) -> ServerRules:
        """The rules of the API server or kubelet: a kubelet checks static pods with the API server's code."""
        node = self.pods.node
        return ServerRules(minor=node.minor, pod_level=node.pod_level) if self.static else self.pods.server


class Linted(NamedTuple):
    """The findings about one object.

    ``pod`` is the pod as a kubelet gets it; None for objects without pods, and if it is refused earlier.
    """

    kind: str = ""
    namespace: str = ""
    name: str = ""
    draft: PodDraft | None = None
    pod: StoredPod | None = None
    findings: tuple[Finding, ...] = ()
    item: ManifestObject | None = None

    @property
    def looked_at(self) -> bool:
        """Whether it is a pod or creates some."""
        return self.draft is not None

    @property
    def again(self) -> bool:
        """Whether its object was yielded before: a custom resource, now for another of its templates."""
        return self.item is not None and self.item.number > 0


def lint_document(document: Document, rules: LintRules) -> Iterator[Linted]:
    """Check every object of a document; errors in one do not prevent checking the next.

    Raise InputError for a pod that is too large to check.
    """
    for item in objects_of(document):
        if isinstance(item, Diagnostic):
            yield Linted(findings=(item,))
            continue
        if rules.static and item.number:
            continue
        sent = item.sent
        if _containers(sent) > MOST_CONTAINERS:
            where = document.where(sent.place.path)
            raise InputError(f"more than {MOST_CONTAINERS:,} containers in one pod", where=where)
        yield _linted(item, rules)


def _containers(item: ManifestObject) -> int:
    spec = item.value
    for step in item.spec_steps:
        spec = member_of(spec, step)
    return sum(len(items_of(member_of(spec, name))) for name in CONTAINER_LISTS)


def _linted(item: ManifestObject, rules: LintRules) -> Linted:
    named = Linted(kind=item.kind, namespace=item.namespace, name=item.name, item=item)
    if rules.static and (item.kind != "Pod" or item.template is not None):
        return named._replace(findings=(_no_static_pod(item),))
    sent = item.sent
    if not sent.spec_steps:
        return named
    read = read_draft(sent.kind, sent.value, sent.place, sent.spec_steps)
    draft = replace(read.draft, metadata=item.place.child("metadata"))
    if rules.static:
        draft = replace(draft, pod=draft.pod._replace(static=True))
    pods = replace(rules.pods, server=rules.server)
    shapes = rules.shapes.check(sent.kind, sent.value, sent.place, sent.spec_steps)
    refused = _refused_references(sent, draft.spec, rules)
    checks = chain(shapes, read.findings, _checks(draft, rules, pods), refused)
    findings = _causes(list(islice(checks, MOST_FINDINGS + 1)))
    is_refused = any(finding.severity is Severity.ERROR for finding in findings)
    pod = None if is_refused else _stored(draft, pods, rules)
    if pod is not None:
        findings += check_pod_level_meaning(pod, draft.spec, pods)
    if item.template is not None:
        findings = list(of_custom_resource(findings, item, draft))
    if rules.static:
        findings = [_by_kubelet(finding) for finding in findings]
    return named._replace(draft=draft, pod=pod, findings=tuple(findings))


def _causes(findings: list[Finding]) -> list[Finding]:
    """Drop findings about fields missing only because they, or their parents, are misspelt or mistyped."""
    stated = {each.place.path for each in findings if each.code == "wrong-type"}
    stated |= {(*each.place.path[:-1], each.fix) for each in findings if each.code == "unknown-field"}
    return [each for each in findings if not (_is_missing(each) and _is_said(each.place.path, stated))]


def _is_missing(finding: Finding) -> bool:
    return finding.message.startswith("Required value")


def _is_said(path: Path, stated: Container[Path]) -> bool:
    above = (path[: at + 1] for at in range(len(path)))
    return any(each in stated or (*each[:-1], misspelling_of(str(each[-1]))) in stated for each in above)


def _checks(draft: PodDraft, rules: LintRules, pods: PodRules) -> Iterator[Finding]:
    yield from check_at_server(draft, pods.server, rules.limit_ranges)
    resizable = rules.resizable or rules.static
    yield from check_pod_level_support(draft, pods, cgroup_version=rules.cgroup_version, resizable=resizable)
    containers = (*draft.containers, *draft.inits)
    of_containers = (ref for each in containers for ref in each.field_refs)
    refs = (*of_containers, *draft.field_refs)
    yield from check_known_containers(refs, {each.name for each in containers})
    stored = draft.stored and not draft.is_template
    yield from check_assigned_support(draft.field_refs, pods, stored=stored, static=rules.static)


def _refused_references(item: ManifestObject, place: FieldPath, rules: LintRules) -> Iterator[Finding]:
    """Yield a kubelet's error for a static pod that names objects of the API server."""
    if not rules.static:
        return
    spec = item.value
    for step in item.spec_steps:
        spec = member_of(spec, step)
    words, member = refused_reference(spec, rules.pods.node)
    if words:
        yield place.child(member).rejected(
            "static-reference",
            words,
            by=Component.KUBELET,
            fix="remove it, or create the pod through the API server",
        )


def _no_static_pod(item: ManifestObject) -> Finding:
    return item.place.child("kind").rejected(
        "static-kind",
        f"static pods must be of kind Pod, but this is a {item.kind}",
        by=Component.KUBELET,
        fix="write a Pod instead, or create this object through the API server",
    )


def _stored(draft: PodDraft, pods: PodRules, rules: LintRules) -> StoredPod:
    if draft.exists:
        return stored_pod(draft.pod, pods, before=draft.pod)
    (pod,) = with_runtime_classes([draft.pod], rules.runtime_classes)
    return stored_pod(pod, pods, rules.limit_ranges)


def _by_kubelet(finding: Finding) -> Finding:
    by_server = finding.rejected_by is Component.API_SERVER
    return replace(finding, rejected_by=Component.KUBELET) if by_server else finding
