"""The objects of a text, document by document: pods and objects that create pods, alone or in lists.

A document that is not YAML does not prevent the others from being read. The API server checks a custom
resource against the resource's own schema, which is not known here. It validates the pods that a controller
creates from it only when they are created, and only the controller sees the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from cpuctl.diagnostics import Component, Severity
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document
from cpuctl.documents.loading import EMPTY, load_documents
from cpuctl.documents.positions import Position
from cpuctl.documents.text_errors import describe
from cpuctl.errors import InputError
from cpuctl.pods.reading.custom_resources import PodTemplate, is_custom, pod_templates
from cpuctl.pods.reading.workloads import is_workload
from cpuctl.pods.validation.draft import PodDraft
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.pods.validation.raw import mapping_of, member_of, text_of
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.documents.document import Value

_BETWEEN = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_MOST_TEXT = 64 << 20
"""Characters read in total to separate valid documents from invalid ones, each at its place in the text."""
_PLACE = re.compile(r":([0-9]+):([0-9]+)")


class Unreadable(NamedTuple):
    """Why a text, or one of its documents, cannot be read, and where."""

    place: Position
    message: str
    hint: str = ""


def documents_of(content: bytes, source: str) -> Iterator[Document | Unreadable]:
    """Yield the documents of a text; of repeated keys the last one counts, and the others are recorded."""
    try:
        documents = load_documents(content, source, last_wins=True)
    except InputError as error:
        yield from _one_by_one(content, source, error)
    else:
        yield from documents


def _one_by_one(content: bytes, source: str, error: InputError) -> Iterator[Document | Unreadable]:
    """Read the documents between lines of ``---`` separately, as ``kubectl`` does."""
    text = content.decode(errors="replace")
    starts = [0, *(found.start() for found in _BETWEEN.finditer(text))]
    if len(starts) < 2 or len(starts) * len(text) > _MOST_TEXT or "\ufffd" in text:
        yield _unreadable(error, source)
        return
    anything = False
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        try:
            # Empty lines replace the preceding text so that line numbers stay correct.
            part = "\n" * text.count("\n", 0, start) + text[start:end]
            yield from load_documents(part, source, last_wins=True)
        except InputError as wrong:
            if wrong.message == EMPTY:
                continue
            yield _unreadable(wrong, source)
        anything = True
    if not anything:
        yield _unreadable(error, source)


def _unreadable(error: InputError, source: str) -> Unreadable:
    found = _PLACE.fullmatch(error.where.removeprefix(source))
    place = Position(int(found[1]), int(found[2])) if found else Position(1, 1)
    return Unreadable(place, error.message, error.hint)


_UNKNOWN_FIELD = "strict decoding error: "


def of_custom_resource(
    findings: Iterable[Finding], item: ManifestObject, draft: PodDraft
) -> Iterator[Finding]:
    """Reword findings about a Pod for its custom resource; those about the resource's name appear once."""
    metadata = draft.metadata.path
    for finding in findings:
        if finding.place.path[: len(metadata)] != metadata:
            yield _of_pods(finding, item.kind)
        elif not item.number:
            yield finding


def rejects_pods_of(kind: str, which: str = "its pods") -> str:
    """Return the text that *which* pods of an object of this kind are rejected."""
    return f"the API server rejects {which}, even if it accepts the {kind} itself"


def _of_pods(finding: Finding, kind: str) -> Finding:
    if finding.code == "unknown-field":
        what = finding.message.removeprefix(_UNKNOWN_FIELD)
        message = f"{what}: rejected or dropped, depending on the schema of the {kind}"
        return replace(finding, severity=Severity.WARNING, rejected_by=None, message=message)
    if (finding.code, finding.message) == ("container-name", "Required value"):
        note = f"the {kind} controller may set it"
        return replace(finding, severity=Severity.NOTE, rejected_by=None, note=note)
    if finding.severity is Severity.ERROR and finding.rejected_by is Component.API_SERVER:
        owner = rejects_pods_of(kind)
        return replace(finding, note=f"{owner}; {finding.note}" if finding.note else owner)
    return finding


_TEMPLATE = ("spec", "template", "spec")
_NAMES = ("name", "generateName", "namespace")
_SPECS = {"Pod": ("spec",), "CronJob": ("spec", "jobTemplate", *_TEMPLATE)}


class ManifestObject(NamedTuple):
    """An object with the pod spec that it holds; ``spec_steps`` is empty if it holds none.

    A custom resource may hold several: it is repeated for each *template*, and *number* counts them.
    """

    kind: str
    value: object
    place: FieldPath
    spec_steps: tuple[str, ...] = ()
    template: PodTemplate | None = None
    number: int = 0

    def cursor(self, document: Document) -> Cursor:
        """Return a cursor at the object in *document*."""
        return Cursor(document, cast("Value", self.value), self.place.path)

    @property
    def own_name(self) -> str:
        """The object's name as given, empty if it is generated."""
        return text_of(member_of(member_of(self.value, "metadata"), "name"))

    @property
    def name(self) -> str:
        """The object's name, or the prefix that it is generated from."""
        return self.own_name or text_of(member_of(member_of(self.value, "metadata"), "generateName"))

    @property
    def namespace(self) -> str:
        """The object's namespace as given."""
        return text_of(member_of(member_of(self.value, "metadata"), "namespace"))

    @property
    def group(self) -> str:
        """The API group of the object's kind; empty for the core group and without a version."""
        return text_of(member_of(self.value, "apiVersion")).rpartition("/")[0]

    @property
    def sent(self) -> ManifestObject:
        """The object whose pods the API server validates: for a custom resource's template, a Pod."""
        if self.template is None:
            return self
        metadata, spec = mapping_of(member_of(self.value, "metadata")), self.template.spec
        named = {name: metadata[name] for name in _NAMES if name in metadata}
        pod = {"metadata": named, "spec": spec.value}
        return ManifestObject("Pod", pod, FieldPath(spec.path[:-1], ""), _SPECS["Pod"])


def objects_of(document: Document) -> Iterator[ManifestObject | Finding]:
    """Yield every object of a document, and a finding for every value that is not an object."""
    yield from _objects(Cursor.at_root(document), "")


def _objects(at: Cursor, kind_in_list: str) -> Iterator[ManifestObject | Finding]:
    # Items of lists are sent one by one: the API server's field names start at the item.
    value, place = at.value, FieldPath(at.path, "")
    if not isinstance(value, dict):
        detail = f"expected a Kubernetes object, found {describe(value)}"
        yield place.rejected("not-an-object", detail, by=Component.KUBECTL)
        return
    kind = text_of(value.get("kind")) or kind_in_list
    version = text_of(value.get("apiVersion"))
    for name, given in (("kind", kind), ("apiVersion", version or kind_in_list)):
        if not given:
            detail = f"error validating data: {name} not set"
            fix = at.misspelling_of(name)
            yield place.rejected(f"{name.lower()}-missing", detail, by=Component.KUBECTL, fix=fix)
    if kind.endswith("List") and isinstance(value.get("items"), list):
        for item in at.required("items").items():
            yield from _objects(item, kind.removesuffix("List"))
    elif kind:
        yield from _with_specs(ManifestObject(kind, value, place), at)


def _with_specs(item: ManifestObject, at: Cursor) -> Iterator[ManifestObject]:
    """Yield an object with its pod spec, without one, or once for each of its pod templates."""
    templates = tuple(pod_templates(at)) if is_custom(item.group) else ()
    for number, template in enumerate(templates):
        yield item._replace(template=template, number=number)
    if item.kind == "Pod" and not item.group:
        yield item._replace(spec_steps=_SPECS["Pod"])
    elif is_workload(item.kind, item.group):
        yield item._replace(spec_steps=_SPECS.get(item.kind, _TEMPLATE))
    elif not templates:
        yield item
