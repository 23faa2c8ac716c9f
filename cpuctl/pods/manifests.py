"""Manifests to pods: Pod objects, lists of them, and every workload that carries a pod template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cpuctl.documents import Cursor, Document, Origin, load_documents
from cpuctl.errors import InputError
from cpuctl.pods.decoding import decode_pod
from cpuctl.pods.identity import with_uids
from cpuctl.pods.model import Pod
from cpuctl.pods.workloads import WORKLOADS, decode_workload

MAX_PODS = 100_000
"""Pods accepted in all: a bound for manifests that multiply, not for honest ones."""
MAX_PARTS = 2_000_000
"""Containers, amounts and skipped objects accepted in all, those of every replica counted."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """An object that makes no pods; ``str(origin)`` is its file and line."""

    kind: str
    name: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Manifests:
    """The pods of some manifests, in their order, and the objects that were none."""

    pods: tuple[Pod, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(slots=True)
class Allowance:
    """How much may still be read, of one text or of several together."""

    pods: int = field(default_factory=lambda: MAX_PODS)
    parts: int = field(default_factory=lambda: MAX_PARTS)

    def spend(self, item: tuple[Pod, ...] | Skipped, document: Document) -> None:
        """Count what one object made; raise InputError with the place of its document beyond the limits."""
        pods, parts = (0, 1) if isinstance(item, Skipped) else (len(item), _parts(item))
        self.pods, self.parts = self.pods - pods, self.parts - parts
        if self.pods < 0:
            raise InputError(f"more than {MAX_PODS:,} pods", where=document.where(()))
        if self.parts < 0:
            message = f"more than {MAX_PARTS:,} containers, amounts and other objects"
            raise InputError(message, where=document.where(()))


def _parts(replicas: tuple[Pod, ...]) -> int:
    """Count the containers and amounts of pods that are all alike."""
    if not replicas:
        return 0
    pod = replicas[0]
    requirements = [each.resources for each in pod.all_containers]
    if pod.resources is not None:
        requirements.append(pod.resources)
    amounts = sum(len(each.requests) + len(each.limits) for each in requirements) + len(pod.overhead)
    return len(replicas) * (len(pod.all_containers) + amounts)


def read_pods(text: str | bytes, source: str) -> Manifests:
    """Read the pods of one YAML or JSON text and give those without UID one.

    Raise InputError with file, line and path for what is not usable, and for a text without any pod.
    """
    found = decode_manifests(text, source)
    if not found.pods:
        raise no_pods(found, source)
    return finished([found], source)


def decode_manifests(text: str | bytes, source: str, allowance: Allowance | None = None) -> Manifests:
    """Read one text, which may hold no pod at all; UIDs are left as they are."""
    allowance = allowance or Allowance()
    pods: list[Pod] = []
    skipped: list[Skipped] = []
    for document in load_documents(text, source):
        for item in _objects(Cursor.at_root(document), ""):
            allowance.spend(item, document)
            if isinstance(item, Skipped):
                skipped.append(item)
            else:
                pods.extend(item)
    return Manifests(tuple(pods), tuple(skipped))


def finished(parts: Iterable[Manifests], source: str) -> Manifests:
    """Join what several texts gave and fill in UIDs; raise InputError where two pods share one."""
    parts = list(parts)
    try:
        pods = with_uids(pod for part in parts for pod in part.pods)
    except ValueError as error:
        raise InputError(str(error), where=source) from None
    return Manifests(pods, tuple(item for part in parts for item in part.skipped))


def no_pods(found: Manifests, source: str) -> InputError:
    """Make the error for input without a pod, naming what was there instead."""
    kinds = ", ".join(sorted({item.kind for item in found.skipped}))
    hint = f"found only {kinds}" if kinds else ""
    return InputError("no pods: expected a Pod, a list of pods or a workload", where=source, hint=hint)


def _objects(cursor: Cursor, kind_in_list: str) -> Iterator[tuple[Pod, ...] | Skipped]:
    """Decode one object; the items of a typed list (``PodList``) may leave out their kind."""
    kind = cursor.optional("kind", Cursor.text, "") or kind_in_list
    if not kind:
        raise cursor.error("kind is missing: expected a Kubernetes object")
    group = cursor.optional("apiVersion", Cursor.text, "").rpartition("/")[0]
    if kind.endswith("List") and cursor.get("items") is not None:
        for item in cursor.required("items").items():
            yield from _objects(item, kind.removesuffix("List"))
    elif kind == "Pod" and not group:
        yield (decode_pod(cursor),)
    elif kind in WORKLOADS and group in (WORKLOADS[kind].group, "extensions", ""):
        yield decode_workload(cursor, kind)
    else:
        yield Skipped(kind, _name(cursor), cursor.origin)


def _name(cursor: Cursor) -> str:
    metadata = cursor.get("metadata")
    return metadata.optional("name", Cursor.text, "") if metadata is not None else ""
