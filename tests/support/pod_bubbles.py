"""Pods that get their CPUs as a whole, on a small machine."""

from __future__ import annotations

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.pod_level import BubbleRequest, CPUBubble
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import NodeMask
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from cpuctl.pods.model import Container, ContainerKind, Pod
from tests.support.pods import stored
from tests.support.topologies import regular

EIGHT = regular(cores=4, threads=2)  # siblings c and c+4
KINDS = {"i": ContainerKind.INIT, "s": ContainerKind.SIDECAR, "a": ContainerKind.APP}


def policy(topology: CPUTopology = EIGHT, *, reserved: str = "0", **options: bool) -> StaticPolicy:
    kept = CPUSet.parse(reserved)
    return StaticPolicy.construct(
        topology, CPUPolicyOptions(**options), CPUReservation(len(kept), kept), behaviours(36)
    )


def request(total: int, words: str, affinity: NodeMask | None = None) -> BubbleRequest:
    """``i3 s1 s0 a2``: kinds and exclusive counts of the containers, which are named as they are written."""
    counts = {word: int(word[1]) for word in words.split()}
    containers = [Container(name=word, kind=KINDS[word[0]]) for word in counts]
    apps = tuple(each for each in containers if each.kind is ContainerKind.APP)
    inits = tuple(each for each in containers if each.kind is not ContainerKind.APP)
    pod = stored(Pod(name="pod", uid="pod", containers=apps, init_containers=inits))
    return BubbleRequest(
        pod=pod, claims=lambda container: counts[container.name], total=total, affinity=affinity
    )


def shown(bubble: object) -> dict[str, str]:
    assert isinstance(bubble, CPUBubble), bubble
    return {name: str(CPUSet(cpus)) for name, cpus in bubble.containers.items()}
