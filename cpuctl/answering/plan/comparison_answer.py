"""The answer of ``cpuctl plan --compare`` as a plain document (schema: ``cpuctl schema plancomparison``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.answering import API_VERSION
from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.releases.changes import is_on, switched_since
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.version import KubeletVersion

if TYPE_CHECKING:
    from cpuctl.answers import plan as answers
    from cpuctl.answers.capacity import Fragmentation
    from cpuctl.answers.decisions import Block, ExclusiveContainer, Pod, Verdict
    from cpuctl.answers.dra import PodClaim
    from cpuctl.answers.values import ContainerKind, Sources
    from cpuctl.kubelet.gates.feature_gates import FeatureGates


class PlannedSide(NamedTuple):
    """One side: its own part of the report, and its pods with their verdicts, by UID."""

    answer: answers.Side
    pods: Mapping[str, Pod]
    verdicts: Mapping[str, Verdict]

    def verdict(self, uid: str) -> Verdict | None:
        """Return the verdict on a pod; None if this side has no such pod."""
        return self.verdicts.get(uid)

    def admitted(self, uid: str) -> Pod | None:
        """Return a pod if it is admitted: the temporary allocation of a rejected pod does not count."""
        pod = self.pods.get(uid)
        return pod if pod and pod["outcome"] == "Admitted" else None


def started_side(
    settings: str,
    plan: answers.StartedPlan,
    verdicts: Mapping[str, Verdict],
    fragmentation: Fragmentation | None,
    explain: str = "",
) -> PlannedSide:
    """Describe the side of a kubelet that starts; *explain* is the command that explains a rejected pod."""
    repeat: answers.RepeatPart = {"repeat": plan["repeat"]} if "repeat" in plan else {}
    following: answers.ExplainPart = {"explain": explain} if explain else {}
    capacity: answers.CapacityPart = {"capacity": plan["capacity"]} if "capacity" in plan else {}
    after = plan["after"]
    held: answers.HeldPart = {"heldByRejected": after["heldByRejected"]} if "heldByRejected" in after else {}
    answer: answers.StartedSide = {
        "settings": settings,
        "kubelet": plan["kubelet"],
        "start": plan["start"],
        "summary": plan["summary"],
        **repeat,
        "fragmentation": fragmentation,
        **capacity,
        "warnings": plan["warnings"],
        "totals": _totals(plan),
        **held,
        **following,
    }
    return PlannedSide(answer, {pod["uid"]: pod for pod in plan["pods"]}, verdicts)


def _totals(plan: answers.StartedPlan) -> answers.Totals:
    """Sum up, and count the containers whose exclusive CPUs are close together, as far as known."""
    containers = (each for pod in plan["pods"] for each in pod["containers"])
    placed: list[ExclusiveContainer] = [
        each for each in containers if "cpus" in each and each["exclusive"] is True
    ]
    kept = [each["alignment"] for each in placed]
    caches = [each["uncoreCache"] for each in kept]
    return {
        "exclusiveCPUs": plan["summary"]["exclusiveCPUs"],
        "free": plan["after"]["free"],
        "sharedPool": plan["after"]["sharedPool"],
        "exclusiveContainers": len(placed),
        "aligned": {
            "core": sum(each["core"] for each in kept),
            "uncoreCache": None if None in caches else caches.count(True),
            "numaNode": sum(each["numaNode"] for each in kept),
            "socket": sum(each["socket"] for each in kept),
        },
    }


def comparison_document(one: PlannedSide, other: PlannedSide, sources: Sources) -> answers.PlanComparison:
    """Compare two plans."""
    pods = [_pair(uid, one, other) for uid in {**one.pods, **other.pods}]
    moved = [container for pod in pods for container in pod["containers"] if container["moves"]]
    summary: answers.ComparisonSummary = {
        "pods": len(pods),
        "changed": sum(pod["changed"] for pod in pods),
        "verdicts": sum(pod["verdictDiffers"] for pod in pods),
        "containers": len(moved),
        "sharedPoolDiffers": _shared_pool_differs(one.answer, other.answer),
        "sharing": len({*_sharing(one), *_sharing(other)}),
        "undetermined": sum(_is_undetermined(pod) for pod in pods),
    }
    if any("claims" in pod for pod in pods):
        summary["claims"] = sum(claim["moves"] for pod in pods for claim in pod.get("claims", ()))
    return {
        "apiVersion": API_VERSION,
        "kind": "PlanComparison",
        "sources": sources,
        "a": one.answer,
        "b": other.answer,
        "summary": summary,
        "pods": pods,
    }


def difference_answer(name: str, version: KubeletVersion) -> answers.ReleaseDifference:
    """Describe a difference between the releases of the two sides; *version* is the first one."""
    difference = DIFFERENCES[name]
    sides = (difference.before, difference.after)
    one, other = reversed(sides) if difference.holds(*version) else sides
    return {
        "name": name,
        "since": difference.begin,
        "a": one,
        "b": other,
        "source": difference.source,
        "status": difference.evidence,
    }


def gate_answer(gate: str, one: FeatureGates, other: FeatureGates) -> answers.ReleaseDifference:
    """Describe a feature gate that is on for one of the two sides only."""
    verified = one.verified(gate) and other.verified(gate)
    return {
        "name": gate,
        "since": f"1.{switched_since(gate, one, other)}",
        "a": f"{gate} is {'on' if is_on(one, gate) else 'off'}",
        "b": f"{gate} is {'on' if is_on(other, gate) else 'off'}",
        "source": "feature gate",
        "status": "verified" if verified else "documented",
    }


def _is_undetermined(pod: answers.ComparedPod) -> bool:
    verdicts = (pod["a"], pod["b"])
    return any(verdict is not None and verdict["outcome"] == "Undetermined" for verdict in verdicts)


def _shared_pool_differs(one: answers.Side, other: answers.Side) -> bool:
    return (
        "totals" in one and "totals" in other and one["totals"]["sharedPool"] != other["totals"]["sharedPool"]
    )


def _sharing(side: PlannedSide) -> Iterator[tuple[str, str]]:
    """Name the containers that run in the node's shared pool."""
    for uid in side.pods:
        pod = side.admitted(uid)
        for each in pod["containers"] if pod else ():
            if "cpus" in each and each["isolation"] == "host":
                yield uid, each["name"]


def _pair(uid: str, one: PlannedSide, other: PlannedSide) -> answers.ComparedPod:
    """Compare a pod that at least one side has."""
    pods = [side.pods[uid] for side in (one, other) if uid in side.pods]
    before, after = one.admitted(uid), other.admitted(uid)
    containers = [_container(name, kind, before, after) for name, kind in _kinds(pods).items()]
    claims = list(_claims(before, after))
    differs = _compared(one.verdict(uid)) != _compared(other.verdict(uid))
    return {
        **_claims_part(claims, before, after),
        "namespace": pods[0]["namespace"],
        "name": pods[0]["name"],
        "uid": uid,
        "changed": differs or any(each["moves"] for each in (*containers, *claims)),
        "verdictDiffers": differs,
        "a": one.verdict(uid),
        "b": other.verdict(uid),
        "containers": containers,
    }


def _claims(before: Pod | None, after: Pod | None) -> Iterator[answers.ComparedClaim]:
    """Compare the claims of a pod, by its names for them."""
    one, other = (
        {each["name"]: each for each in pod.get("claims", ())} if pod else {} for pod in (before, after)
    )
    for name in one | other:
        had, has = one.get(name), other.get(name)
        cpus = [CPUSet.parse(each["cpus"] or "") if each else CPUSet() for each in (had, has)]
        yield {
            "name": name,
            "moves": _held(had) != _held(has),
            "a": had,
            "b": has,
            "onlyA": str(cpus[0] - cpus[1]),
            "onlyB": str(cpus[1] - cpus[0]),
        }


def _held(claim: PodClaim | None) -> tuple[str | None, list[tuple[str, str]]]:
    """Return the CPUs and devices of a claim."""
    if claim is None:
        return None, []
    return claim["cpus"], sorted((each["driver"], each["device"]) for each in claim["devices"])


def _claims_part(
    claims: list[answers.ComparedClaim], before: Pod | None, after: Pod | None
) -> answers.ComparedClaimsPart:
    part: answers.ComparedClaimsPart = {"claims": claims} if claims else {}
    one, other = (pod.get("claimProblem") if pod else None for pod in (before, after))
    if one or other:
        part["claimProblems"] = {"a": one, "b": other}
    return part


def _compared(verdict: Verdict | None) -> tuple[str, str]:
    """Return the parts that must be equal; messages contain numbers that always differ."""
    return (verdict["outcome"], verdict.get("reason", "")) if verdict else ("", "")


def _kinds(pods: Sequence[Pod]) -> dict[str, ContainerKind]:
    """Return the kinds of all containers that either side placed, by name, in the order of their pod."""
    placed = sorted(pods, key=lambda pod: len(pod["containers"]), reverse=True)
    return {each["name"]: each["kind"] for pod in placed for each in pod["containers"]}


def _container(
    name: str, kind: ContainerKind, one: Pod | None, other: Pod | None
) -> answers.ComparedContainer:
    before, after = _placement(name, one), _placement(name, other)
    had, has = _own(before), _own(after)
    return {
        "name": name,
        "kind": kind,
        "moves": list(_moves(before, after)),
        "a": before,
        "b": after,
        "onlyA": str(had - has),
        "onlyB": str(has - had),
    }


def _moves(before: answers.Placement | None, after: answers.Placement | None) -> Iterator[answers.Move]:
    if _exclusive(before) != _exclusive(after):
        yield "cpus"
    if _in_pod_pool(before) != _in_pod_pool(after):
        yield "podPool"
    if _blocks(before) != _blocks(after):
        yield "memory"
    if (before.get("devices") if before else None) != (after.get("devices") if after else None):
        yield "devices"


def _blocks(placement: answers.Placement | None) -> list[Block]:
    """Return the memory that is reserved for a container; without the static policy, as with none for it."""
    return placement["memory"]["blocks"] if placement and "memory" in placement else []


def _placement(name: str, pod: Pod | None) -> answers.Placement | None:
    """Return where a container of an admitted pod runs."""
    containers = pod["containers"] if pod else ()
    found = next((each for each in containers if each["name"] == name and "cpus" in each), None)
    if found is None:
        return None
    placement: answers.Placement
    if found["exclusive"]:
        placement = {
            "exclusive": True,
            "isolation": found["isolation"],
            "cpus": found["cpus"],
            "count": found["count"],
            "alignment": found["alignment"],
        }
    else:
        placement = {
            "exclusive": False,
            "isolation": found["isolation"],
            "cpus": found["cpus"],
            "whyShared": found["whyShared"],
        }
    if "memory" in found:
        placement["memory"] = found["memory"]
    if "devices" in found:
        placement["devices"] = found["devices"]
    return placement


def _own(placement: answers.Placement | None) -> CPUSet:
    """Return the CPUs that only the container or its pod has (KEP-5526)."""
    return _exclusive(placement) | _in_pod_pool(placement)


def _in_pod_pool(placement: answers.Placement | None) -> CPUSet:
    pool = placement is not None and placement["isolation"] == "pod"
    return CPUSet.parse(placement["cpus"]) if placement and pool else CPUSet()


def _exclusive(placement: answers.Placement | None) -> CPUSet:
    return CPUSet.parse(placement["cpus"]) if placement and placement["exclusive"] else CPUSet()
