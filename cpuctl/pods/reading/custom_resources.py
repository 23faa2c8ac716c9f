"""Pods of unknown kinds: any object with a pod template in its spec, found by its shape.

PyTorchJob, Rollout, JobSet, LeaderWorkerSet and similar kinds have in common that a member called
``template`` (``workerTemplate``, ...) holds a pod's spec, and that ``replicas`` or ``parallelism`` around it
are its count. Anything else depends on the controller: names and numbers are a guess.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Origin
from cpuctl.errors import InputError
from cpuctl.pods.model import Pod
from cpuctl.pods.reading.pods import LONGEST_NAME, decode_name, decode_namespace, decode_spec
from cpuctl.pods.reading.workloads import MAX_REPLICAS
from cpuctl.records import Record

_DEEPEST = 12
"""Maximum depth below an object: a JobSet's pod template is at level eight."""
_BUILT_IN_GROUPS = ("apps", "batch", "autoscaling", "policy", "extensions")
_TEMPLATE = "template"


class PodTemplate(Record):
    """The spec of a pod template, the name parts that distinguish it, and the number of its pods."""

    spec: Cursor
    name_parts: tuple[str, ...]
    number: int


class UnreadableTemplateError(InputError):
    """A custom resource's template that is not a valid pod template; its controller may still accept it."""


def is_custom(group: str) -> bool:
    """Return whether an API group is not one of Kubernetes' own."""
    own = group in _BUILT_IN_GROUPS or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))
    return "." in group and not own


def pod_templates(resource: Cursor) -> Iterator[PodTemplate]:
    """Yield the pod templates of a custom resource in document order."""
    spec = resource.get("spec")
    if spec is not None and isinstance(spec.value, dict):
        yield from _templates(spec, (), 1, 0)


def decode_custom_resource(resource: Cursor, kind: str, group: str) -> list[Pod]:
    """Return the pods of a custom resource; none without a pod template.

    Raise UnreadableTemplateError for a template that cannot be read, InputError for more pods than any
    workload has.
    """
    pods: list[Pod] = []
    for template in pod_templates(resource):
        pods += pods_of_template(resource, template, kind, group)
        if len(pods) > MAX_REPLICAS:
            raise _too_many(resource, kind)
    return pods


def pods_of_template(resource: Cursor, template: PodTemplate, kind: str, group: str) -> list[Pod]:
    """Return the pods of one template, which is their origin; an owner is ``Job.batch.volcano.sh/NAME``.

    Raise UnreadableTemplateError for an invalid template, InputError for more pods than any workload has.
    """
    if template.number > MAX_REPLICAS:
        raise _too_many(resource, kind)
    metadata = resource.required("metadata")
    name = decode_name(metadata)
    try:
        pod = decode_spec(template.spec)
    except InputError as error:
        raise UnreadableTemplateError(error.message, where=error.where, hint=error.hint) from None
    # Every replica has it: limited to the longest valid name, however long its parts are.
    stem = "-".join((name, *template.name_parts))[:LONGEST_NAME]
    pod = pod._replace(
        namespace=decode_namespace(metadata),
        origin=Origin(template.spec.document, template.spec.path[:-1]),
        owner=f"{kind}.{group}/{name}",
    )
    return [pod._replace(name=f"{stem}-{number}") for number in range(template.number)]


def _too_many(resource: Cursor, kind: str) -> InputError:
    return resource.error(f"expected at most {MAX_REPLICAS} pods per {kind}")


def _templates(at: Cursor, name_parts: tuple[str, ...], count: int, depth: int) -> Iterator[PodTemplate]:
    """Yield the pod templates below a mapping of which there are *count* instances."""
    if depth > _DEEPEST:
        return
    members = at.members()
    count *= _number(members)
    for key, member in members.items():
        below = (*name_parts, *_name_part(key))
        if isinstance(member.value, dict):
            number = count * _group_size(key, members)
            spec = member.value.get("spec")
            if key.lower().endswith(_TEMPLATE) and _is_pod_spec(spec):
                yield PodTemplate(member.required("spec"), below, number)
            else:
                yield from _templates(member, below, number, depth + 1)
        elif isinstance(member.value, list):
            for item in member.items():
                if isinstance(item.value, dict):
                    name = item.value.get("name")
                    named = (name,) if isinstance(name, str) and name else ()
                    yield from _templates(item, (*name_parts, *named), count, depth + 1)


def _is_pod_spec(spec: object) -> bool:
    containers = spec.get("containers") if isinstance(spec, dict) else None
    return isinstance(containers, list) and bool(containers) and all(isinstance(c, dict) for c in containers)


def _number(members: dict[str, Cursor]) -> int:
    """Return the number of instances of what a mapping describes: replicas, or a job's parallel pods."""
    number = 1
    for key in ("replicas", "parallelism"):
        value = members[key].value if key in members else None
        if isinstance(value, int) and not isinstance(value, bool):
            number *= min(max(value, 0), MAX_REPLICAS + 1)
    return number


def _group_size(key: str, members: dict[str, Cursor]) -> int:
    """Return the number of workers in a LeaderWorkerSet's group, whose ``size`` includes the leader."""
    size = members["size"].value if "size" in members else None
    if key != "workerTemplate" or not isinstance(size, int) or isinstance(size, bool):
        return 1
    leader = members["leaderTemplate"].value if "leaderTemplate" in members else None
    return min(max(size - bool(leader), 0), MAX_REPLICAS + 1)


def _name_part(key: str) -> tuple[str, ...]:
    """Return the part of a member's name that distinguishes it: ``worker`` of ``workerTemplate``."""
    word = key.removesuffix("Template").removesuffix("Spec")
    generic = key in (_TEMPLATE, "spec") or key.endswith(("Specs", "s"))
    return () if generic or word in ("pod", "job", "leaderWorker") else (word.lower(),)
