"""Pods of kinds that nobody told us of: whatever carries a pod template in its spec, found by its shape.

PyTorchJob, Rollout, JobSet, LeaderWorkerSet and their like have in common that a member called ``template``
(``workerTemplate``, ...) holds a pod's spec, and that ``replicas`` or ``parallelism`` around it count. What
a controller makes of them beyond that is its own business: names and numbers are a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.documents.cursor import Cursor
from cpuctl.errors import InputError
from cpuctl.pods.model import Pod
from cpuctl.pods.reading.pods import LONGEST_NAME, decode_name, decode_namespace, decode_spec
from cpuctl.pods.reading.workloads import MAX_REPLICAS

_DEEPEST = 12
"""Levels below an object: a JobSet's pod template is on the eighth."""
_BUILT_IN_GROUPS = ("apps", "batch", "autoscaling", "policy", "extensions")
_TEMPLATE = "template"


class _Found(NamedTuple):
    """A pod template, the words that tell it from its neighbours, and how many pods it makes."""

    spec: Cursor
    words: tuple[str, ...]
    number: int


def is_custom(group: str) -> bool:
    """Tell whether an API group is none of Kubernetes' own."""
    own = group in _BUILT_IN_GROUPS or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))
    return bool(group) and not own


def decode_custom_resource(resource: Cursor, kind: str, group: str) -> list[Pod]:
    """Read the pods of a custom resource, owned by ``Job.batch.volcano.sh/NAME`` say.

    There are none where it has no pod template, or one that cannot be read. Raise InputError for more pods
    than any workload has.
    """
    spec, metadata = resource.get("spec"), resource.get("metadata")
    if spec is None or metadata is None or not isinstance(spec.value, dict):
        return []
    name, namespace = decode_name(metadata), decode_namespace(metadata)
    pods: list[Pod] = []
    for found in _templates(spec, (), 1, 0):
        if len(pods) + found.number > MAX_REPLICAS:
            raise resource.error(f"expected at most {MAX_REPLICAS} pods of one {kind}")
        try:
            pod = decode_spec(found.spec)
        except InputError:
            return []
        # Every replica carries it: as long as any name may be, however long the words are.
        stem = "-".join((name, *found.words))[:LONGEST_NAME]
        pod = pod._replace(namespace=namespace, origin=resource.origin, owner=f"{kind}.{group}/{name}")
        pods += [pod._replace(name=f"{stem}-{number}") for number in range(found.number)]
    return pods


def _templates(at: Cursor, words: tuple[str, ...], count: int, depth: int) -> Iterator[_Found]:
    """Yield the pod templates below a mapping, *count* being how often what is there comes."""
    if depth > _DEEPEST:
        return
    members = at.members()
    count *= _number(members)
    for key, member in members.items():
        below = (*words, *_told_by(key))
        if isinstance(member.value, dict):
            number = count * _group_size(key, members)
            spec = member.value.get("spec")
            if key.lower().endswith(_TEMPLATE) and _is_pod_spec(spec):
                yield _Found(member.required("spec"), below, number)
            else:
                yield from _templates(member, below, number, depth + 1)
        elif isinstance(member.value, list):
            for item in member.items():
                if isinstance(item.value, dict):
                    name = item.value.get("name")
                    named = (name,) if isinstance(name, str) and name else ()
                    yield from _templates(item, (*words, *named), count, depth + 1)


def _is_pod_spec(spec: object) -> bool:
    containers = spec.get("containers") if isinstance(spec, dict) else None
    return isinstance(containers, list) and bool(containers) and all(isinstance(c, dict) for c in containers)


def _number(members: dict[str, Cursor]) -> int:
    """Count how often what a mapping describes comes: its replicas, or a job's pods that run at once."""
    number = 1
    for key in ("replicas", "parallelism"):
        value = members[key].value if key in members else None
        if isinstance(value, int) and not isinstance(value, bool):
            number *= min(max(value, 0), MAX_REPLICAS + 1)
    return number


def _group_size(key: str, members: dict[str, Cursor]) -> int:
    """Count a LeaderWorkerSet's pods of a group: its ``size`` includes the leader."""
    size = members["size"].value if "size" in members else None
    if key != "workerTemplate" or not isinstance(size, int) or isinstance(size, bool):
        return 1
    leader = members["leaderTemplate"].value if "leaderTemplate" in members else None
    return min(max(size - bool(leader), 0), MAX_REPLICAS + 1)


def _told_by(key: str) -> tuple[str, ...]:
    """Take the word of a member that tells it from its neighbours: ``worker`` of ``workerTemplate``."""
    word = key.removesuffix("Template").removesuffix("Spec")
    generic = key in (_TEMPLATE, "spec") or key.endswith(("Specs", "s"))
    return () if generic or word in ("pod", "job", "leaderWorker") else (word.lower(),)
