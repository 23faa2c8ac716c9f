"""The objects of a document: pods and what makes pods, alone or in lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.documents.document import Document
from cpuctl.documents.text_errors import describe
from cpuctl.pods.reading.workloads import WORKLOADS
from cpuctl.pods.validation.finding import Finding, Refuser, Spot
from cpuctl.pods.validation.raw import items_of, member_of, text_of

_TEMPLATE = ("spec", "template", "spec")
_SPECS = {"Pod": ("spec",), "CronJob": ("spec", "jobTemplate", *_TEMPLATE)}


class ManifestObject(NamedTuple):
    """An object with the pod spec that it holds; ``spec_steps`` is empty where it holds none."""

    kind: str
    value: object
    place: Spot
    spec_steps: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The object's name, or what it is generated from."""
        metadata = member_of(self.value, "metadata")
        return text_of(member_of(metadata, "name")) or text_of(member_of(metadata, "generateName"))

    @property
    def namespace(self) -> str:
        """The object's namespace as given."""
        return text_of(member_of(member_of(self.value, "metadata"), "namespace"))


def objects_of(document: Document) -> Iterator[ManifestObject | Finding]:
    """Yield every object of a document, and what is no object as a finding."""
    yield from _objects(document.value, Spot((), ""), "")


def _objects(value: object, place: Spot, kind_in_list: str) -> Iterator[ManifestObject | Finding]:
    if not isinstance(value, dict):
        detail = f"expected a Kubernetes object, found {describe(value)}"
        yield place.refused("not-an-object", detail, by=Refuser.KUBECTL)
        return
    kind = text_of(value.get("kind")) or kind_in_list
    version = text_of(value.get("apiVersion"))
    for name, given in (("kind", kind), ("apiVersion", version or kind_in_list)):
        if not given:
            detail = f"error validating data: {name} not set"
            yield place.refused(f"{name.lower()}-missing", detail, by=Refuser.KUBECTL)
    if kind.endswith("List") and isinstance(value.get("items"), list):
        for number, item in enumerate(items_of(value["items"])):
            # Items are sent one by one: the API server's names for their fields begin anew.
            inside = Spot((*place.path, "items", number), "")
            yield from _objects(item, inside, kind.removesuffix("List"))
    elif kind:
        yield ManifestObject(kind, value, place, _spec_steps(kind, version))


def _spec_steps(kind: str, version: str) -> tuple[str, ...]:
    """Tell where an object of this kind has its pod spec; nowhere if it makes no pods."""
    group = version.rpartition("/")[0]
    if kind == "Pod":
        return () if group else _SPECS["Pod"]
    if kind in WORKLOADS and group in (WORKLOADS[kind].group, "extensions", ""):
        return _SPECS.get(kind, _TEMPLATE)
    return ()
