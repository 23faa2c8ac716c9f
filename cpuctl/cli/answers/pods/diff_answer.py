"""The answer of ``cpuctl pods diff`` as a plain document (schema: ``cpuctl schema podsdiff``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuctl.cli.answers.pods.facts_answer import CgroupView, pod_answer
from cpuctl.cli.output import API_VERSION, Document
from cpuctl.engine.pod_facts import PodFacts

_AREAS = ("admission", "QoS", "spec", "scheduling", "cgroup", "OOM", "pinning", "readers")
_UNPROTECTED = ("memory.min", "memory.low")


class _Item(NamedTuple):
    """One thing that a pod comes to; items are the same where ``value`` is, whatever is told of it."""

    area: str
    name: str
    value: str
    text: str = ""

    @property
    def told(self) -> str:
        """What people read."""
        return self.text or self.value


class Side(NamedTuple):
    """One side of a comparison: what it is called, its pods and how their cgroups are written down."""

    head: Mapping[str, Any]
    pods: Sequence[PodFacts]
    view: CgroupView


def diff_document(before: Side, after: Side, sources: Mapping[str, Any]) -> Document:
    """Compare pods by their names; single ones also where the names differ."""
    pods = [_compared(pair, before, after) for pair in _pairs(before.pods, after.pods)]
    statuses = [pod["status"] for pod in pods]
    return {
        "apiVersion": API_VERSION,
        "kind": "PodsDiff",
        "sources": sources,
        "before": before.head,
        "after": after.head,
        "summary": {status: statuses.count(status) for status in ("same", "changed", "added", "removed")},
        "pods": pods,
    }


def _pairs(
    before: Sequence[PodFacts], after: Sequence[PodFacts]
) -> Iterator[tuple[PodFacts | None, PodFacts | None]]:
    if len(before) == len(after) == 1:
        yield before[0], after[0]
        return
    rest: dict[str, list[PodFacts]] = {}
    for facts in after:
        rest.setdefault(facts.written.full_name, []).append(facts)
    for facts in before:
        same = rest.get(facts.written.full_name)
        yield facts, same.pop(0) if same else None
    for left in rest.values():
        for facts in left:
            yield None, facts


def _compared(pair: tuple[PodFacts | None, PodFacts | None], before: Side, after: Side) -> dict[str, Any]:
    old, new = pair
    named = old or new
    assert named is not None
    entry = {"namespace": named.written.namespace, "name": named.written.name}
    if old is None or new is None:
        return entry | {"status": "added" if old is None else "removed", "changes": []}
    changes = list(_changes(pod_answer(old, before.view), pod_answer(new, after.view)))
    return entry | {"status": "changed" if changes else "same", "changes": changes}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    old, new = ({(item.area, item.name): item for item in _items(pod)} for pod in (before, after))
    for area, name in sorted(dict.fromkeys((*old, *new)), key=lambda place: _AREAS.index(place[0])):
        was, then = old.get((area, name)), new.get((area, name))
        if (was and was.value) != (then and then.value):
            told = {"before": was.told if was else None, "after": then.told if then else None}
            yield {"area": area, "item": name, **told}


def _items(pod: Mapping[str, Any]) -> Iterator[_Item]:
    """List what a pod comes to."""
    for text in pod["apiServer"]["refusals"]:
        yield _Item("admission", "API server", text)
    if pod["kubelet"]["rejected"]:
        yield _Item("admission", "kubelet", f"{pod['kubelet']['reason']}: {pod['kubelet']['message']}")
    yield _Item("QoS", "class", pod["qosClass"])
    for entry in pod["amounts"]:
        where = entry["container"] or "(pod)"
        yield _Item("spec", f"{where} {entry['side']}.{entry['resource']}", *_amount(entry))
    for side in ("requests", "limits"):
        for entry in pod["effective"][side]:
            yield _Item("scheduling", f"{entry['resource']} {side}", *_amount(entry))
    yield from _cgroup("(pod)", pod["cgroup"])
    for container in pod["containers"]:
        yield from _cgroup(container["name"], container["cgroup"])
        yield _Item("OOM", container["name"], _known(container["oomScoreAdj"]))
        yield _pinning(container["name"], container["exclusiveCPUs"])
    for each in pod["readers"]:
        where = f"{each['reader']}, {each['container']}" if each["container"] else each["reader"]
        amount = ("not known",) if each["amount"] is None else _amount(each["amount"])
        yield _Item("readers", f"{where}: {each['item']}", *((each["error"],) if each["error"] else amount))
    for each in pod["downwardAPI"]:
        variable, file = each["variable"], each["file"]
        where = (
            f"variable {variable['name']} of {variable['container']}" if variable else f"file {file['path']}"
        )
        item = f"downward API, {where}: {each['resource']} of {each['container']}"
        yield _Item(
            "readers", item, each["error"] or (each["text"] if each["text"] is not None else "not known")
        )


def _cgroup(name: str, cgroup: Mapping[str, Any]) -> Iterator[_Item]:
    """List what files show; to protect no memory is what the kernel does anyway."""
    for file, content in cgroup["files"].items():
        if not file.endswith(".rsvd.max") and not (file in _UNPROTECTED and content["text"] == "0"):
            yield _Item("cgroup", f"{name} {file}", content["text"])


def _pinning(name: str, claim: Mapping[str, Any]) -> _Item:
    if claim["given"]:
        return _Item("pinning", name, f"{claim['count']} exclusive CPUs")
    return _Item("pinning", name, "shared", f"shared, because {claim['whyShared']}")


def _amount(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Compare by the number, tell as it is written."""
    return str(entry["number"]), str(entry["quantity"])


def _known(score: int | None) -> str:
    return "not known" if score is None else str(score)
