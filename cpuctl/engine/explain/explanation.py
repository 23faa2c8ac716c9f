"""Why a kubelet decided about a pod as it did: everything an answer needs, read from one replay.

This includes what other pods hold, and who has the CPUs of each NUMA node.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.known_defects import KnownDefect, known_defects, release_notes
from cpuctl.engine.explain.offers import Round, round_of
from cpuctl.engine.explain.scenario import Replay
from cpuctl.engine.memory.state import nodes_of
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Forbidden, KubeletFault, Pending, Rejected, Undetermined
from cpuctl.pods.model import StoredPod
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.engine.explain.searches.searches import Search


_UID_LENGTH = 32
"""The least length of a UID: those of static pods have no dashes."""


class NodeShare(Record):
    """The CPUs (masks) of one NUMA node; those neither reserved nor free are held by containers."""

    node: int
    cpus: int
    reserved: int
    own: int
    held: int
    free: int


class Holder(Record):
    """A pod, the exclusive CPUs (mask) it holds, and what else by resource and NUMA nodes (a mask).

    ``memory`` is in bytes; ``devices`` are counted, of resources that the pod in question requests.
    ``running`` is False for one that the kubelet does not consider active: it has ended, was rejected, or is
    ``waiting`` to be processed after the restart.
    """

    uid: str
    name: str
    cpus: int
    memory: Mapping[tuple[str, int], int]
    running: bool
    waiting: bool = False
    devices: Mapping[tuple[str, int], int] = {}


def node_shares(node: Node, pod: StoredPod) -> tuple[NodeShare, ...]:
    """Return the shares of every NUMA node as the CPU Manager sees it; none without the static policy."""
    if node.cpu.policy is None:
        return ()
    reserved = node.cpu.policy.reserved
    own, free = node.cpu.state.held_by(pod.uid), node.cpu.state.default & ~reserved
    return tuple(
        NodeShare(
            node=number,
            cpus=cpus,
            reserved=cpus & reserved,
            own=cpus & own,
            held=cpus & ~(reserved | own | free),
            free=cpus & free,
        )
        for number, cpus in node.topology.numa_nodes.items()
    )


def known_name(pod: StoredPod) -> str:
    """Return the full name, or the UID of a pod known only from state files: its namespace is unknown."""
    return pod.uid if pod.name == pod.uid and len(pod.uid) >= _UID_LENGTH else pod.full_name


def holders(
    node: Node,
    pod: StoredPod,
    names: Mapping[str, str] = MappingProxyType({}),
    waiting: Collection[str] = (),
) -> Iterator[Holder]:
    """Yield the other pods that hold CPUs, memory or devices, in the order of their lowest CPU.

    *names* are the names of pods that may be inactive, by UID; those that are *waiting* have not been
    processed since the restart.
    """
    cpu, memory = node.cpu.state, node.memory.state
    devices = _devices_held(node, pod)
    uids = cpu.owners | memory.blocks.keys() | memory.pod_blocks.keys() | devices.keys()
    cpus = {uid: cpu.held_by(uid) for uid in sorted(uids - {pod.uid})}
    for uid, mask in sorted(cpus.items(), key=lambda each: each[1] & -each[1]):
        other = node.active.get(uid)
        yield Holder(
            uid=uid,
            name=known_name(other) if other else names.get(uid, uid),
            cpus=mask,
            memory=_memory_held(node, uid),
            running=other is not None,
            waiting=other is None and uid in waiting,
            devices=devices.get(uid, {}),
        )


def _devices_held(node: Node, pod: StoredPod) -> dict[str, dict[tuple[str, int], int]]:
    """Count the devices of each pod, of resources that *pod* requests, by resource and nearby NUMA nodes."""
    devices = node.devices
    requested = {name for each in pod.all_containers for name in each.resources.limits}
    held: dict[str, dict[tuple[str, int], int]] = {}
    for resource in sorted(requested & devices.pools.keys()):
        for uid in devices.state.held:
            for nodes, count in devices.pools[resource].counts(devices.state.of_pod(uid, resource)).items():
                held.setdefault(uid, {})[resource, nodes] = count
    return held


def _memory_held(node: Node, uid: str) -> dict[tuple[str, int], int]:
    """Add up a pod's blocks; its containers' parts of the pod's own blocks are not counted again."""
    state = node.memory.state
    whole = state.pod_blocks.get(uid)
    lists = state.blocks.get(uid, {}).values() if whole is None else (whole,)
    held: dict[tuple[str, int], int] = {}
    for block in chain.from_iterable(lists):
        key = block.type, nodes_of(block)
        held[key] = held.get(key, 0) + block.size
    return held


_NOTHING_HELPS = (Rule.INPUT_LACKS, Rule.FAILED_BEFORE, Rule.API_SERVER)


class Explanation(Record):
    """One explained decision.

    Shares and holders are those of the node (``node``) as the kubelet saw it when it decided, before it gave
    anything to a pod that it admitted. ``unaligned`` has the rules that kept an admitted pod from a preferred
    hint.
    """

    replay: Replay
    decision: Decision
    unaligned: tuple[Decision, ...]
    rounds: tuple[Round, ...]
    node: Node
    shares: tuple[NodeShare, ...]
    holders: tuple[Holder, ...]
    defects: tuple[KnownDefect, ...]
    searches: tuple["Search", ...]


def explain(replay: Replay, tick: Callable[[], None] = lambda: None) -> Explanation:
    """Explain a replay; for a pod that was not admitted or aligned, search for what would change that.

    *tick* is called for every run of the engine.
    """
    pod = replay.scenario.pod
    rounds = tuple(round_of(requested, pod, replay.before) for requested in replay.admission.hint_rounds)
    decision, node = deciding_rule(replay, rounds), _as_decided(replay)
    admitted = isinstance(replay.admission.verdict, Admitted)
    unaligned = _unaligned(rounds, node, pod) if admitted else ()
    if unaligned:
        replay = replace(replay, scenario=replace(replay.scenario, aligned=True))
    return Explanation(
        replay=replay,
        decision=decision,
        unaligned=unaligned,
        rounds=rounds,
        node=node,
        shares=node_shares(node, pod),
        holders=tuple(holders(node, pod, *_inactive(replay))),
        defects=(*known_defects(replay, decision, rounds), *_departures(replay), *release_notes(replay)),
        searches=()
        if admitted and not unaligned
        else _searches(replay, unaligned[0] if unaligned else decision, tick),
    )


def _inactive(replay: Replay) -> tuple[dict[str, str], set[str]]:
    """Return the names of all pods, and the UIDs of those that the restarted kubelet has not processed."""
    scenario = replay.scenario
    names = {each.uid: each.full_name for each in scenario.pods}
    waiting = {each.uid for each in scenario.pods[scenario.position + 1 :]} if scenario.restarted else set()
    return names, waiting


def _departures(replay: Replay) -> Iterator[KnownDefect]:
    if replay.scenario.pod.resources is None:
        return iter(())

    from cpuctl.engine.explain.kep_departures import kep_departures

    return kep_departures(replay)


def _unaligned(rounds: Sequence[Round], node: Node, pod: StoredPod) -> tuple[Decision, ...]:
    if not rounds:
        return ()

    from cpuctl.engine.explain.rules import hint_decision

    return tuple(filter(None, (hint_decision(each, node, pod) for each in rounds)))


def _searches(replay: Replay, decision: Decision, tick: Callable[[], None]) -> tuple["Search", ...]:
    if decision.rule in _NOTHING_HELPS:
        return ()

    from cpuctl.engine.explain.searches.searches import search

    return search(replay, decision, tick)


def _as_decided(replay: Replay) -> Node:
    """Return the node behind the decision: cleaned up, and with what a refused pod already got."""
    if not isinstance(replay.admission.verdict, Admitted):
        return replay.after
    node = replay.before.copy()
    node.clean_up()
    return node


def deciding_rule(replay: Replay, rounds: Sequence[Round]) -> Decision:
    """Return the rule that decided; *rounds* are those of the Topology Manager."""
    match replay.admission.verdict:
        case Admitted():
            return Decision(rule=Rule.ADMITTED, why="all checks of the kubelet pass")
        case KubeletFault() as fault if replay.before.fault:
            return Decision(rule=Rule.FAILED_BEFORE, why=_failed_before(replay, fault))
        case KubeletFault() as fault:
            return Decision(rule=Rule.KUBELET_FAULT, why=f"{fault.kind} in {fault.where}: {fault.why}")
        case Forbidden(refusals=refusals):
            why = f"the API server rejects this pod, so it never reaches a kubelet: {'; '.join(refusals)}"
            return Decision(rule=Rule.API_SERVER, why=why)
        case Pending(message=why):
            return Decision(rule=Rule.CLAIMS, why=why)
        case Undetermined(text=why):
            return Decision(rule=Rule.INPUT_LACKS, why=why)
        case Rejected() as refused:
            from cpuctl.engine.explain.rules import refusal

            return _by_policy(replay, refused) or refusal(replay, refused, rounds)


def _by_policy(replay: Replay, refused: Rejected) -> Decision | None:
    """Blame the policy that decides in place of the kubelet, if the kubelet itself would admit the pod."""
    before, pod = replay.before, replay.scenario.pod
    if before.what_if is None or before.policy is None:
        return None
    if not isinstance(before.as_kubelet().admit(pod).verdict, Admitted):
        return None
    before.what_if.attend(before)
    free = before.state.default & ~before.policy.reserved
    left = before.policy.available(before.state, pod) & free
    leaves = f"it leaves the pod {left.bit_count()} of {free.bit_count()} free CPUs"
    why = f"the kubelet itself would admit the pod, but the policy used instead does not: {leaves}"
    return Decision(rule=Rule.POLICY, why=why, container=refused.container)


def _failed_before(replay: Replay, fault: KubeletFault) -> str:
    failing = (each.pod for each in replay.admissions if isinstance(each.verdict, KubeletFault))
    return f"the kubelet has crashed on {next(failing).full_name} ({fault.kind} in {fault.where})"
