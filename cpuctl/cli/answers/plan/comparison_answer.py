"""The answer of ``cpuctl plan --compare`` as a plain document (schema: ``cpuctl schema plancomparison``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cpuctl.cli.answers.plan.plan_answer import OUTCOMES
from cpuctl.cli.output import API_VERSION, Document
from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.version import KubeletVersion

Json = Mapping[str, Any]

_LEVELS = ("core", "uncoreCache", "numaNode", "socket")
_OF_VERDICT = ("outcome", "reason", "message", "refusals", "container", "details", "fault", "where", "why")
_HELD = ("memory", "devices")
_OF_CONTAINER = ("exclusive", "isolation", "cpus", "count", "alignment", "whyShared", *_HELD)
_OF_SIDE = ("settings", "kubelet", "start", "summary", "repeat", "fragmentation", "capacity", "warnings")


def comparison_document(one: Json, other: Json, sources: Json) -> Document:
    """Set two plans side by side; each may lack everything but its settings, kubelet, start and no pods."""
    pods = [_pair(*pair) for pair in _pairs(one["pods"], other["pods"])]
    moved = [container for pod in pods for container in pod["containers"] if container["moves"]]
    return {
        "apiVersion": API_VERSION,
        "kind": "PlanComparison",
        "sources": sources,
        "a": _side(one),
        "b": _side(other),
        "summary": {
            "pods": len(pods),
            "changed": sum(pod["changed"] for pod in pods),
            "verdicts": sum(pod["verdictDiffers"] for pod in pods),
            "containers": len(moved),
            **_shared_pool(one, other),
        },
        "pods": pods,
    }


def difference_answer(name: str, version: KubeletVersion) -> dict[str, Any]:
    """Describe a difference between the releases of the two sides, of which *version* is the first."""
    difference = DIFFERENCES[name]
    sides = (difference.before, difference.after)
    one, other = reversed(sides) if difference.holds(*version) else sides
    return {
        "name": name,
        "begin": difference.begin,
        "a": one,
        "b": other,
        "source": difference.source,
        "standing": str(difference.standing),
    }


def _shared_pool(one: Json, other: Json) -> dict[str, Any]:
    """Tell whether the node's shared pool is another, and how many containers run there on either side."""
    pools = {plan["after"]["sharedPool"] for plan in (one, other) if "after" in plan}
    sharing = {
        (pod["uid"], each["name"])
        for plan in (one, other)
        for pod in plan["pods"]
        if _admitted(pod)
        for each in pod["containers"]
        if each["isolation"] == "host"
    }
    return {"sharedPoolDiffers": len(pools) > 1, "sharing": len(sharing)}


def _side(plan: Json) -> dict[str, Any]:
    side = {name: plan[name] for name in _OF_SIDE if name in plan}
    if "after" not in plan:
        return side
    after = plan["after"]
    side["totals"] = {
        "exclusiveCPUs": plan["summary"]["exclusiveCPUs"],
        "free": after["free"],
        "sharedPool": after["sharedPool"],
        **_aligned(plan["pods"]),
    }
    return side


def _aligned(pods: Sequence[Json]) -> dict[str, Any]:
    """Count the containers with exclusive CPUs, and those of them that keep together, as far as is known."""
    placed = [each for pod in pods if _admitted(pod) for each in pod["containers"] if each["exclusive"]]
    kept = {level: [each["alignment"][level] for each in placed] for level in _LEVELS}
    counts = {level: None if None in each else sum(each) for level, each in kept.items()}
    return {"exclusiveContainers": len(placed), "aligned": counts}


def _admitted(pod: Json | None) -> bool:
    return pod is not None and pod["outcome"] == OUTCOMES[0]


def _pairs(one: Sequence[Json], other: Sequence[Json]) -> Iterator[tuple[Json | None, Json | None]]:
    """Match pods by UID; those that only the other side has come last."""
    ours, theirs = {pod["uid"]: pod for pod in one}, {pod["uid"]: pod for pod in other}
    for uid in ours | theirs:
        yield ours.get(uid), theirs.get(uid)


def _pair(one: Json | None, other: Json | None) -> dict[str, Any]:
    pod = one or other
    assert pod is not None
    containers = [_container(name, kind, one, other) for name, kind in _names(one, other).items()]
    differs = _verdict(one) != _verdict(other)
    return {
        **{key: pod[key] for key in ("namespace", "name", "uid")},
        "changed": differs or any(each["moves"] for each in containers),
        "verdictDiffers": differs,
        "a": _outcome(one),
        "b": _outcome(other),
        "containers": containers,
    }


def _verdict(pod: Json | None) -> tuple[str, str]:
    """Return what must agree; messages hold figures that differ all the time."""
    return (pod["outcome"], pod.get("reason", "")) if pod else ("", "")


def _outcome(pod: Json | None) -> dict[str, Any] | None:
    return None if pod is None else {key: pod[key] for key in _OF_VERDICT if key in pod}


def _names(*pods: Json | None) -> dict[str, str]:
    """Name all containers that either side placed, with their kinds, in the order of their pod."""
    placed = sorted(filter(None, pods), key=lambda pod: len(pod["containers"]), reverse=True)
    return {each["name"]: each["kind"] for pod in placed for each in pod["containers"]}


def _container(name: str, kind: str, one: Json | None, other: Json | None) -> dict[str, Any]:
    before, after = _placement(name, one), _placement(name, other)
    had, has = _own(before), _own(after)
    moves = ["cpus"] if _exclusive(before) != _exclusive(after) else []
    moves += ["podPool"] if _in_pod_pool(before) != _in_pod_pool(after) else []
    moves += [what for what in _HELD if (before or {}).get(what) != (after or {}).get(what)]
    return {
        "name": name,
        "kind": kind,
        "moves": moves,
        "a": before,
        "b": after,
        "onlyA": str(had - has),
        "onlyB": str(has - had),
    }


def _placement(name: str, pod: Json | None) -> dict[str, Any] | None:
    """Tell where a container of an admitted pod runs: what a refused pod got for a while does not count."""
    if pod is None or not _admitted(pod):
        return None
    found = next((each for each in pod["containers"] if each["name"] == name), None)
    return found and {key: found[key] for key in _OF_CONTAINER if key in found}


def _own(placement: Json | None) -> CPUSet:
    """Return the CPUs that are the container's or its pod's (KEP-5526), and no other pod's."""
    return _exclusive(placement) | _in_pod_pool(placement)


def _in_pod_pool(placement: Json | None) -> CPUSet:
    pool = placement is not None and placement["isolation"] == "pod"
    return CPUSet.parse(placement["cpus"]) if placement and pool else CPUSet()


def _exclusive(placement: Json | None) -> CPUSet:
    return CPUSet.parse(placement["cpus"]) if placement and placement["exclusive"] else CPUSet()
