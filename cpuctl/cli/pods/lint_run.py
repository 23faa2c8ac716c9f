"""Looking at all manifests that a command line names, file by file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpuctl.documents.document import Document, Syntax
from cpuctl.documents.places import Place
from cpuctl.engine.pod_lints.lints import lint_pod
from cpuctl.engine.pod_lints.subject import PodLintSubject
from cpuctl.errors import InputError
from cpuctl.named_tuple import NamedTuple
from cpuctl.pods.validation.finding import Finding, Refuser, Severity
from cpuctl.pods.validation.lint import MOST_FINDINGS, Linted, lint_document
from cpuctl.pods.validation.texts import Unreadable, documents_of

if TYPE_CHECKING:
    from cpuctl.cli.pods.lint_inputs import LintSetting
    from cpuctl.pods.reading.manifest_files import ManifestFile


class Remark(NamedTuple):
    """A finding, and where it stands; ``about`` is the object that it is about."""

    source: str
    place: Place
    about: Linted
    finding: Finding


@dataclass(slots=True)
class LintRun:
    """What has been looked at so far: ``objects`` are pods and workloads, ``others`` all the rest."""

    setting: LintSetting
    remarks: list[Remark] = field(default_factory=list)
    files: int = 0
    objects: int = 0
    others: int = 0

    def look_at(self, file: ManifestFile) -> None:
        """Look at one file; what is wrong in it is remarked, in the order of its lines.

        Raise InputError for more than MOST_FINDINGS remarks in all.
        """
        self.files += 1
        remarks: list[Remark] = []
        for document in documents_of(file.read(), file.source):
            if isinstance(document, Unreadable):
                remarks.append(_unreadable(document, file.source))
            else:
                remarks.extend(self._document(document))
            if len(self.remarks) + len(remarks) > MOST_FINDINGS:
                hint = "look at fewer manifests at once"
                raise InputError(f"more than {MOST_FINDINGS:,} findings", where=file.source, hint=hint)
        self.remarks.extend(sorted(remarks, key=lambda remark: remark.place))

    def _document(self, document: Document) -> Iterator[Remark]:
        yield from _repeats(document)
        for linted in lint_document(document, self.setting.rules):
            self.objects += linted.looked_at
            self.others += bool(linted.kind) and not linted.looked_at
            for finding in (*linted.findings, *self._on_node(linted)):
                yield Remark(document.source, document.nearest_place(finding.path), linted, finding)

    def _on_node(self, linted: Linted) -> Iterator[Finding]:
        if linted.pod is not None and linted.draft is not None:
            subject = PodLintSubject(linted.pod, linted.draft.spec, self.setting.kubelet)
            yield from lint_pod(subject, self.setting.trial)


def _repeats(document: Document) -> Iterator[Remark]:
    """Tell keys that are there twice: a YAML text does not get past ``kubectl`` then."""
    for repeat in document.repeats:
        key = str(repeat.path[-1])
        finding = Finding(
            severity=Severity.ERROR,
            code="repeated-key",
            refused_by=Refuser.KUBECTL if document.syntax is Syntax.YAML else Refuser.API_SERVER,
            path=repeat.path,
            field="",
            detail=f'key "{key}" already set in map',
        )
        yield Remark(document.source, repeat.place, Linted(), finding)


def _unreadable(found: Unreadable, source: str) -> Remark:
    finding = Finding(
        severity=Severity.ERROR,
        code="syntax",
        refused_by=Refuser.KUBECTL,
        path=(),
        field="",
        detail=found.message,
        hint=found.hint,
    )
    return Remark(source, found.place, Linted(), finding)
