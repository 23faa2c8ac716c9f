"""The answer of ``cpuctl pods diff`` as a plain document (schema: ``cpuctl schema podsdiff``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.answering import API_VERSION
from cpuctl.answering.pods.show_answer import CgroupView, pod_answer
from cpuctl.engine.pod_facts import PodFacts
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers import pods as answers
    from cpuctl.answers.downward import DownwardItem
    from cpuctl.answers.values import Amount, Sources

_AREAS = ("admission", "QoS", "spec", "scheduling", "cgroup", "OOM", "pinning", "readers")
_UNPROTECTED = ("memory.min", "memory.low")


class _Item(NamedTuple):
    """One result for a pod; items are the same if ``value`` is, regardless of the displayed text."""

    area: answers.Area
    name: str
    value: str
    text: str = ""

    @property
    def shown_text(self) -> str:
        """The text for people."""
        return self.text or self.value


class Side(NamedTuple):
    """One side of a comparison: its name, its pods and how their cgroups are written."""

    header: answers.ComparedSide
    pods: Sequence[PodFacts]
    view: CgroupView


def diff_document(before: Side, after: Side, sources: Sources) -> answers.PodsDiff:
    """Compare pods by name; single pods also if their names differ."""
    pods = [_compared(pair, before, after) for pair in _pairs(before.pods, after.pods)]
    statuses = [pod["status"] for pod in pods]
    return {
        "apiVersion": API_VERSION,
        "kind": "PodsDiff",
        "sources": sources,
        "before": before.header,
        "after": after.header,
        "summary": {
            "same": statuses.count("same"),
            "changed": statuses.count("changed"),
            "added": statuses.count("added"),
            "removed": statuses.count("removed"),
        },
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


def _compared(
    pair: tuple[PodFacts | None, PodFacts | None], before: Side, after: Side
) -> answers.ComparedPod:
    old, new = pair
    named = old or new
    assert named is not None
    changes: list[answers.Difference] = []
    if old is not None and new is not None:
        changes = list(_changes(pod_answer(old, before.view), pod_answer(new, after.view)))
    return {
        "namespace": named.written.namespace,
        "name": named.written.name,
        "status": _status(old, new, changes),
        "changes": changes,
    }


def _status(
    old: PodFacts | None, new: PodFacts | None, changes: Sequence[answers.Difference]
) -> answers.Status:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    return "changed" if changes else "same"


def _changes(before: answers.PodFacts, after: answers.PodFacts) -> Iterator[answers.Difference]:
    old, new = ({(item.area, item.name): item for item in _items(pod)} for pod in (before, after))
    for area, name in sorted(dict.fromkeys((*old, *new)), key=lambda place: _AREAS.index(place[0])):
        was, then = old.get((area, name)), new.get((area, name))
        if (was and was.value) != (then and then.value):
            yield {
                "area": area,
                "item": name,
                "before": was.shown_text if was else None,
                "after": then.shown_text if then else None,
            }


def _items(pod: answers.PodFacts) -> Iterator[_Item]:
    """List the results for a pod."""
    for text in pod["apiServer"]["rejections"]:
        yield _Item("admission", "API server", text)
    if pod["kubelet"]["rejected"]:
        yield _Item("admission", "kubelet", f"{pod['kubelet']['reason']}: {pod['kubelet']['message']}")
    yield _Item("QoS", "class", pod["qosClass"])
    for entry in pod["amounts"]:
        where = entry["container"] or "(pod)"
        yield _Item("spec", f"{where} {entry['side']}.{entry['resource']}", *_amount(entry))
    for side, effective in (
        ("requests", pod["effective"]["requests"]),
        ("limits", pod["effective"]["limits"]),
    ):
        for each in effective:
            yield _Item("scheduling", f"{each['resource']} {side}", *_amount(each))
    yield from _cgroup("(pod)", pod["cgroup"])
    for container in pod["containers"]:
        yield from _cgroup(container["name"], container["cgroup"])
        yield _Item("OOM", container["name"], _known(container["oomScoreAdj"]))
        yield _pinning(container["name"], container["exclusiveCPUs"])
    yield from map(_read, pod["readers"])
    yield from map(_read_inside, pod["downwardAPI"])


def _read(read: answers.Read) -> _Item:
    where = f"{read['reader']}, {read['container']}" if read["container"] else read["reader"]
    item = f"{where}: {read['item']}"
    if read["error"]:
        return _Item("readers", item, read["error"])
    if read["amount"] is None:
        return _Item("readers", item, "unknown")
    return _Item("readers", item, *_amount(read["amount"]))


def _read_inside(read: DownwardItem) -> _Item:
    if read["file"] is None:
        where = f"variable {read['variable']['name']} of {read['variable']['container']}"
    else:
        where = f"file {read['file']['path']}"
    item = f"downward API, {where}: {read['resource']} of {read['container']}"
    return _Item("readers", item, read["error"] or (read["text"] if read["text"] is not None else "unknown"))


def _cgroup(name: str, cgroup: answers.Cgroup) -> Iterator[_Item]:
    """List the contents of files; leave out the default, protecting no memory."""
    for file, content in cgroup["files"].items():
        if not file.endswith(".rsvd.max") and not (file in _UNPROTECTED and content["text"] == "0"):
            yield _Item("cgroup", f"{name} {file}", content["text"])


def _pinning(name: str, claim: answers.ExclusiveCPUs) -> _Item:
    if claim["assigned"]:
        return _Item("pinning", name, f"{counted(claim['count'], 'exclusive CPU')} if admitted")
    return _Item("pinning", name, "shared", f"shared, because {claim['whyShared']}")


def _amount(entry: Amount) -> tuple[str, str]:
    """Return the number to compare by, and the text as written."""
    return str(entry["number"]), str(entry["quantity"])


def _known(score: int | None) -> str:
    return "unknown" if score is None else str(score)
