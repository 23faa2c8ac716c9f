"""Looking at all manifests that a command line names, file by file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.diagnostics import Component
from cpuctl.documents.document import Document, Syntax
from cpuctl.documents.places import Place
from cpuctl.engine.pod_lints.lints import lint_pod
from cpuctl.engine.pod_lints.subject import PodLintSubject
from cpuctl.engine.pod_server import PodServer
from cpuctl.errors import InputError
from cpuctl.operations.pods.lint_governed import (
    governed_findings,
    governing_findings,
    governing_objects,
    is_governing,
    running_pods,
)
from cpuctl.pods.reading.manifests import refuse_kubectl_table
from cpuctl.pods.validation.finding import Finding, Spot
from cpuctl.pods.validation.lint import MOST_FINDINGS, Linted, lint_document
from cpuctl.pods.validation.texts import Unreadable, documents_of

if TYPE_CHECKING:
    from cpuctl.operations.pods.lint_rules import LintSetting
    from cpuctl.pods.reading.manifest_files import ManifestFile


class Remark(NamedTuple):
    """A finding, and where it stands; ``about`` is the object that it is about."""

    source: str
    place: Place
    about: Linted
    finding: Finding


@dataclass(slots=True)
class LintRun:
    """What has been looked at so far: ``objects`` are pods and workloads, ``others`` all the rest.

    Of ``custom_resources`` only the pod templates were looked at.
    """

    setting: LintSetting
    server: PodServer | None = None
    remarks: list[Remark] = field(default_factory=list)
    files: int = 0
    objects: int = 0
    others: int = 0
    custom_resources: dict[str, None] = field(default_factory=dict)

    def govern(self, parts: Iterable[Document | Unreadable]) -> None:
        """Let LimitRanges and ResourceQuotas of all documents have their say; static pods meet none."""
        documents = [part for part in parts if isinstance(part, Document)]
        found = governing_objects(documents)
        if self.setting.rules.static or not (found.limit_ranges or found.quotas):
            return
        rules = replace(self.setting.rules, limit_ranges=found.limit_ranges)
        self.setting = self.setting._replace(rules=rules)
        self.server = PodServer(rules.server, found.limit_ranges, found.quotas)
        if found.quotas:
            self.server.count(running_pods(documents, rules.pods))

    def look_at(self, source: str, parts: Iterable[Document | Unreadable]) -> None:
        """Look at the documents of one file; what is wrong is remarked, in the order of its lines.

        Raise InputError for more than MOST_FINDINGS remarks in all.
        """
        self.files += 1
        remarks: list[Remark] = []
        for document in parts:
            if isinstance(document, Unreadable):
                remarks.append(_unreadable(document, source))
            else:
                remarks.extend(self._document(document))
            if len(self.remarks) + len(remarks) > MOST_FINDINGS:
                hint = "look at fewer manifests at once"
                raise InputError(f"more than {MOST_FINDINGS:,} findings", where=source, hint=hint)
        self.remarks.extend(sorted(remarks, key=lambda remark: remark.place))

    def _document(self, document: Document) -> Iterator[Remark]:
        yield from _repeats(document)
        for linted in lint_document(document, self.setting.rules):
            self._count(linted)
            governed = list(self._governed(document, linted))
            on_node = () if governed and linted.kind == "Pod" else self._on_node(linted)
            for finding in (*linted.findings, *governed, *on_node):
                yield Remark(document.source, document.nearest_place(finding.place.path), linted, finding)

    def _count(self, linted: Linted) -> None:
        item = linted.item
        if item is not None and item.template is not None and linted.looked_at:
            self.custom_resources[f"{item.kind}.{item.group}/{item.name}"] = None
        self.objects += linted.looked_at and not linted.again
        governing = item is not None and is_governing(item)
        self.others += bool(linted.kind) and not linted.looked_at and not governing

    def _governed(self, document: Document, linted: Linted) -> Iterator[Finding]:
        if linted.item is not None and not self.setting.rules.static:
            yield from governing_findings(document, linted.item)
        if self.server is not None:
            yield from governed_findings(document, linted, self.setting.rules.pods, self.server)

    def _on_node(self, linted: Linted) -> Iterator[Finding]:
        if linted.pod is not None and linted.draft is not None:
            subject = PodLintSubject(linted.pod, linted.draft.spec, self.setting.kubelet)
            yield from lint_pod(subject, self.setting.trial)


def parts_of(file: ManifestFile) -> list[Document | Unreadable]:
    """Read the documents of a file; raise InputError for what kubectl prints to people."""
    content = file.read()
    refuse_kubectl_table(content, file.source)
    return list(documents_of(content, file.source))


def _repeats(document: Document) -> Iterator[Remark]:
    """Tell keys that are there twice: a YAML text does not get past ``kubectl`` then."""
    for repeat in document.repeats:
        key = str(repeat.path[-1])
        by = Component.KUBECTL if document.syntax is Syntax.YAML else Component.API_SERVER
        finding = Spot(repeat.path, "").rejected("repeated-key", f'key "{key}" already set in map', by=by)
        yield Remark(document.source, repeat.place, Linted(), finding)


def _unreadable(found: Unreadable, source: str) -> Remark:
    finding = Spot((), "").rejected("syntax", found.message, by=Component.KUBECTL, fix=found.hint)
    return Remark(source, found.place, Linted(), finding)
