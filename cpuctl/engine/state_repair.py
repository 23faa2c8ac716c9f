"""Repair of state files so that a kubelet starts with them: a list of actions, each with its reason.

In the CPU Manager's state every container keeps its CPUs as far as possible; what the kubelet requires is in
``cpuctl.engine.cpu.state.validate``. A pod that lost CPUs (no longer on the machine, now reserved, or another
pod's as well) gets others instead, one for one in everything that it holds, so that its containers still
share what they shared, and baselines stay inside; a container that holds more than it requests releases them
instead. A pod moves as a whole only if a kubelet rejects some pod otherwise. In the Memory Manager's state
nothing is moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from cpuctl.checkpoints.model import DRAIN, CPUStateFile, MemoryNode, MemoryStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.memory.manager import StaticMemoryPolicy
from cpuctl.engine.memory.restart import restored
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.outcome import KubeletFault, Undetermined
from cpuctl.engine.state_checks.cpu_findings import holders, union
from cpuctl.engine.state_checks.findings import REMOVE_ONE
from cpuctl.engine.state_checks.memory_findings import DriftKind, memory_drift
from cpuctl.engine.state_checks.memory_misfits import amounts, no_room, pods_to_remove, replayed
from cpuctl.engine.state_checks.owners import GONE, Owners, gone, kept
from cpuctl.engine.state_moves import Moves, NotRepaired, first, moved, moves_of
from cpuctl.phrases import are
from cpuctl.pods.model import Container, StoredPod
from cpuctl.records import replace

_State = TypeVar("_State")


class ActionKind(StrEnum):
    """What was done."""

    REMOVED = "removed"
    MOVED = "moved"
    RELEASED = "released"
    POOL = "pool"
    POD = "pod"
    BASELINE = "baseline"
    POLICY = "policy"
    TABLES = "tables"
    CHECKSUM = "checksum"
    FORMAT = "format"


class RepairAction(NamedTuple):
    """One thing that was done, for which pod, and why; ``before`` and ``after`` list CPUs or amounts."""

    did: ActionKind
    reason: str
    pod_uid: str = ""
    container: str = ""
    before: str = ""
    after: str = ""


class Repaired(NamedTuple, Generic[_State]):
    """A state that fits, and how it was made; without actions it is the one that was given."""

    state: _State
    actions: tuple[RepairAction, ...] = ()


# A state of the CPU Manager.


class PlacedPod(NamedTuple):
    """CPUs of a pod's containers, by name; ``rejected``: a kubelet rejects the pod where it is."""

    cpus: Mapping[str, CPUSet]
    rejected: bool


Placed = Mapping[str, PlacedPod]
"""Pods that get other CPUs, by UID."""
AS_NEEDED: Placed = {}
"""No pod gets other CPUs as a whole."""


class CPURules(NamedTuple):
    """The CPU Manager that is to start: ``policy`` is None for the policy ``none``.

    ``keeps_pods`` and ``keeps_baselines`` show whether it reads what pods hold as a whole, and baselines.
    ``due`` counts the exclusive CPUs that a container requests, None if that is unknown.
    """

    policy: StaticPolicy | None
    keeps_pods: bool = False
    keeps_baselines: bool = False
    due: Callable[[StoredPod, Container], int] | None = None


def repair_cpu_state(
    state: CPUStateFile, rules: CPURules, owners: Owners, placed: Placed = AS_NEEDED
) -> Repaired[CPUStateFile] | NotRepaired:
    """Make a state fit the machine and the configuration; if *owners* are known, remove others' entries.

    The containers of some pods get the CPUs in *placed*, instead of keeping as many as they can.
    """
    work = _Work(state, rules, owners)
    if rules.policy is None:
        work.give_up()
        return Repaired(work.state, tuple(work.actions))
    if state.policy_name != "static":
        work.start_from_empty()
    work.remove_gone()
    work.settle_pods()
    work.place(placed, rules.policy)
    work.release_surplus(rules.policy)
    moves = moves_of(holders(work.state), owners, rules.policy)
    if isinstance(moves, NotRepaired):
        return moves
    work.move(moves, rules.policy)
    work.fill_pool(rules.policy)
    if rules.keeps_baselines:
        work.settle_baselines()
    elif work.actions:
        work.give_up_baselines()
    if not work.state.default_cpu_set:
        return NotRepaired(
            "pods hold all CPUs that are not reserved: with strict-cpu-reservation, the kubelet rejects a "
            "state with an empty shared pool (kubernetes issue 141196)",
            REMOVE_ONE,
        )
    return Repaired(work.state, tuple(work.actions))


class _Work:
    """The state as repaired so far, and what was done to it."""

    def __init__(self, state: CPUStateFile, rules: CPURules, owners: Owners) -> None:
        self.state = state
        self.written_baselines = state.baselines
        self.rules = rules
        self.owners = owners
        self.actions: list[RepairAction] = []

    def give_up(self) -> None:
        """Remove all entries: the policy none has no exclusive CPUs."""
        if (before := self.state.policy_name) == "none":
            return
        self._do(ActionKind.POLICY, "policy none is configured", before=before, after="none")
        self._remove_all(
            "policy none has no exclusive CPUs; the container keeps running on them until it is restarted"
        )
        self.state = CPUStateFile(policy_name="none", default_cpu_set=CPUSet())

    def start_from_empty(self) -> None:
        """Take over no entries of another policy, which has no exclusive CPUs."""
        before = self.state.policy_name
        self._do(ActionKind.POLICY, "policy static is configured", before=before, after="static")
        self._remove_all(f"policy {before} has no entries" if before else "the file names no policy")
        self.state = CPUStateFile(policy_name="static", default_cpu_set=self.state.default_cpu_set)

    def _remove_all(self, why: str) -> None:
        for uid, containers in sorted(self.state.entries.items()):
            for name, cpus in sorted(containers.items()):
                self._do(ActionKind.REMOVED, why, uid, name, before=str(cpus))

    def remove_gone(self) -> None:
        """Remove the entries whose pod or container is gone."""
        for uid, name, status in gone(self.state.entries, self.owners):
            self._do(ActionKind.REMOVED, GONE[status], uid, name, before=str(self.state.entries[uid][name]))
        self.state = replace(self.state, entries=kept(self.state.entries, self.owners))

    def settle_pods(self) -> None:
        """Let pods hold as a whole at least what their containers hold, and nothing if these hold nothing."""
        pods, entries = {}, self.state.entries
        for uid, whole in sorted(self.state.pod_entries.items()):
            covered = union(entries.get(uid, {}).values())
            if not self.rules.keeps_pods:
                if whole <= covered:
                    pods[uid] = whole
                    continue
                why = (
                    "this kubelet does not read pod-level CPUs: containers keep theirs, and "
                    f"the remaining {are(whole - covered)} released"
                )
                self._do(ActionKind.POD, why, uid, before=str(whole))
            elif not covered:
                why = "no container of the pod holds any of them: the kubelet never releases them"
                self._do(ActionKind.POD, why, uid, before=str(whole))
            else:
                pods[uid] = whole | covered
                if pods[uid] != whole:
                    why = "its containers hold more than the pod"
                    self._do(ActionKind.POD, why, uid, before=str(whole), after=str(pods[uid]))
        self.state = replace(self.state, pod_entries=pods)

    def place(self, placed: Placed, policy: StaticPolicy) -> None:
        """Give the containers of pods other CPUs, all at once."""
        usable = CPUSet(policy.allocatable)
        baselines = {uid: dict(containers) for uid, containers in self.state.baselines.items()}
        for uid, pod in sorted(placed.items()):
            lost = _why_lost(union(self.state.entries[uid].values()) - usable, policy)
            for name, cpus in sorted(pod.cpus.items()):
                if (before := self.state.entries[uid][name]) != cpus:
                    why_all = _WHY_REJECTED if pod.rejected else _WHY_IN_THE_WAY
                    why = "" if before & usable <= cpus else why_all
                    reason = "; ".join(filter(None, (lost, why)))
                    self._do(ActionKind.MOVED, reason, uid, name, before=str(before), after=str(cpus))
                    if promised := baselines.get(uid, {}).get(name):
                        baselines[uid][name] = first(cpus, len(promised))
        entries = {**self.state.entries, **{uid: pod.cpus for uid, pod in placed.items()}}
        self.state = replace(self.state, entries=entries, baselines=baselines)

    def release_surplus(self, policy: StaticPolicy) -> None:
        """Take from containers that hold more than they request what they cannot keep anyway.

        Otherwise a CPU that a damaged file adds to one pod would be taken from the pod that it belongs to.
        """
        usable = CPUSet(policy.allocatable)
        for uid in sorted(self.state.entries.keys() - self.state.pod_entries.keys()):
            too_many = [
                (name, cpus, due)
                for name, cpus in sorted(self.state.entries[uid].items())
                if (due := self._due(uid, name)) is not None and len(cpus) > due
            ]
            if not too_many:
                continue
            others = union(held.cpus for held in holders(self.state) if held.uid != uid)
            for name, cpus, due in too_many:
                if cpus.isdisjoint(others) and cpus <= usable:
                    continue
                own = union(held for other, held in self.state.entries[uid].items() if other != name)
                promised = self.state.baselines.get(uid, {}).get(name, CPUSet())
                lost = first(
                    sorted(
                        (cpus & others | cpus - usable) - own,
                        # What belongs to another pod comes first: what nobody can have is replaced later.
                        key=lambda cpu: (cpu not in others, cpu in promised, cpu),
                    ),
                    len(cpus) - due,
                )
                if lost:
                    self._release(uid, name, lost, _why_released(lost, policy, due))

    def _due(self, uid: str, name: str) -> int | None:
        """Return how many exclusive CPUs a container requests, None if that is unknown."""
        pod, container = (self.owners.pods or {}).get(uid), self.owners.container(uid, name)
        if pod is None or container is None or self.rules.due is None:
            return None
        return self.rules.due(pod, container)

    def _release(self, uid: str, name: str, lost: CPUSet, why: str) -> None:
        """Let a container hold fewer CPUs; if its baseline loses some, others of its CPUs replace them."""
        containers, baselines = dict(self.state.entries[uid]), dict(self.state.baselines.get(uid, {}))
        before = containers[name]
        after = containers[name] = before - lost
        if promised := baselines.get(name):
            rest = promised - lost
            baselines[name] = rest | first(after - rest, len(promised) - len(rest))
        if not after:
            del containers[name]
            baselines.pop(name, None)
        self.state = replace(
            self.state,
            entries=_with(self.state.entries, uid, containers),
            baselines=_with(self.state.baselines, uid, baselines),
        )
        self._do(ActionKind.RELEASED, why, uid, name, before=str(before), after=str(after))

    def move(self, moves: Moves, policy: StaticPolicy) -> None:
        """Replace the CPUs that pods cannot keep with others."""
        for uid, own in sorted(moves.items()):
            leaving = CPUSet.of(own)
            why = _why_lost(leaving, policy)
            whole = {"": self.state.pod_entries[uid]} if uid in self.state.pod_entries else {}
            for name, cpus in (*sorted(self.state.entries[uid].items()), *whole.items()):
                if (after := moved(cpus, own, leaving)) != cpus:
                    self._do(ActionKind.MOVED, why, uid, name, before=str(cpus), after=str(after))
        whole_pods = {uid: {"": cpus} for uid, cpus in self.state.pod_entries.items()}
        self.state = replace(
            self.state,
            entries=_moved_entries(self.state.entries, moves),
            pod_entries={uid: each[""] for uid, each in _moved_entries(whole_pods, moves).items()},
            baselines=_moved_entries(self.state.baselines, moves),
        )

    def settle_baselines(self) -> None:
        """Keep the baselines of containers that still hold CPUs, as far as they hold what was promised."""
        baselines: dict[str, dict[str, CPUSet]] = {}
        removed = {(each.pod_uid, each.container) for each in self.actions}
        for uid, guaranteed in sorted(self.state.baselines.items()):
            for name, baseline in sorted(guaranteed.items()):
                written = str(self.written_baselines[uid][name])
                now = self.state.entries.get(uid, {}).get(name)
                if now is not None:
                    right = baseline & now or now
                    baselines.setdefault(uid, {})[name] = right
                    if right != baseline:
                        why = "it does not hold all of them"
                        self._do(ActionKind.BASELINE, why, uid, name, before=written, after=str(right))
                elif (uid, name) not in removed:
                    self._do(ActionKind.BASELINE, "it holds no CPUs", uid, name, before=written)
        self.state = replace(self.state, baselines=baselines)

    def give_up_baselines(self) -> None:
        """Drop the baselines, which this kubelet does not keep, and report what is lost."""
        for uid, guaranteed in sorted(self.state.baselines.items()):
            for name, baseline in sorted(guaranteed.items()):
                now = self.state.entries.get(uid, {}).get(name)
                if now is not None and now != baseline:
                    lost = "this kubelet does not keep the CPUs guaranteed at admission"
                    why = f"{lost}: the container can no longer shrink below {now}"
                    before = str(self.written_baselines[uid][name])
                    self._do(ActionKind.BASELINE, why, uid, name, before=before)
        self.state = replace(self.state, baselines={})

    def fill_pool(self, policy: StaticPolicy) -> None:
        """Put what no pod holds into the shared pool, except reserved CPUs if they are kept apart."""
        held = union(holder.cpus for holder in holders(self.state))
        strict = policy.options.strict_cpu_reservation
        pool = CPUSet(policy.allocatable if strict else policy.topology.cpus) - held
        old = self.state.default_cpu_set
        if pool != old:
            why = _why_pool(old, pool, held, policy)
            self._do(ActionKind.POOL, why, before=str(old), after=str(pool))
        self.state = replace(self.state, default_cpu_set=pool)

    def _do(
        self, did: ActionKind, why: str, uid: str = "", container: str = "", *, before: str, after: str = ""
    ) -> None:
        self.actions.append(
            RepairAction(did=did, reason=why, pod_uid=uid, container=container, before=before, after=after)
        )


_WHY_REJECTED = "a restarted kubelet would reject the pod if it kept its other CPUs"
_WHY_IN_THE_WAY = "it makes room for a pod that a restarted kubelet would reject otherwise"


def _with(
    entries: Mapping[str, Mapping[str, CPUSet]], uid: str, containers: Mapping[str, CPUSet]
) -> dict[str, Mapping[str, CPUSet]]:
    rest = {other: held for other, held in entries.items() if other != uid}
    return {**rest, uid: containers} if containers else rest


def _why_released(lost: CPUSet, policy: StaticPolicy, due: int) -> str:
    requests = f"requests {due}" if due else "requests no exclusive CPUs"
    return f"{_why_lost(lost, policy)}, and the container {requests}"


def _moved_entries(entries: Mapping[str, Mapping[str, CPUSet]], moves: Moves) -> dict[str, dict[str, CPUSet]]:
    return {
        uid: _moved(containers, moves[uid]) if uid in moves else dict(containers)
        for uid, containers in entries.items()
    }


def _moved(containers: Mapping[str, CPUSet], own: Mapping[int, int]) -> dict[str, CPUSet]:
    leaving = CPUSet.of(own)
    return {name: moved(cpus, own, leaving) for name, cpus in containers.items()}


def _why_lost(lost: CPUSet, policy: StaticPolicy) -> str:
    machine, reserved = CPUSet(policy.topology.cpus), CPUSet(policy.reserved)
    reasons = {
        "not online": lost - machine,
        "reserved": lost & reserved,
        "also held by another pod": lost & machine - reserved,
    }
    return "; ".join(f"{are(cpus)} {why}" for why, cpus in reasons.items() if cpus)


def _why_pool(old: CPUSet, new: CPUSet, held: CPUSet, policy: StaticPolicy) -> str:
    machine = CPUSet(policy.topology.cpus)
    reasons = {
        "added": new - old,
        "exclusive": old & held & machine,
        "reserved": (old - new - held) & machine,
        "not online": old - machine,
    }
    return "; ".join(f"{are(cpus)} {why}" for why, cpus in reasons.items() if cpus)


# A state of the Memory Manager with which its kubelet starts: the same entries, on the machine as it is now.
# Nothing is moved: memory stays where it is, whatever a file says. A block that does not fit is a reason not
# to repair.

_RECOMPUTED = "recomputed without the removed entries"
_REASONS = {
    None: "the totals do not match the entries",
    DriftKind.BENIGN: "memory has changed only by an amount that is normal after a reboot",
    DriftKind.REAL: "the machine's memory or its reservations have changed",
}


class MemoryRules(NamedTuple):
    """The Memory Manager that is to start: ``fresh`` are the tables of the machine, None for the policy None.

    ``keeps_pods`` shows whether it reads what pods hold as a whole, ``compares_groups`` whether it compares
    groups of NUMA nodes with the machine, or every node separately.
    """

    fresh: Mapping[int, MemoryNode] | None
    keeps_pods: bool = False
    compares_groups: bool = True

    @staticmethod
    def of(policy: StaticMemoryPolicy | None, *, keeps_pods: bool) -> MemoryRules:
        """Return the rules of a kubelet that starts with this policy."""
        if policy is None:
            return MemoryRules(fresh=None, keeps_pods=keeps_pods)
        return MemoryRules(policy.tables, keeps_pods, policy.compares_groups)


def repair_memory_state(
    state: MemoryStateFile, rules: MemoryRules, owners: Owners
) -> Repaired[MemoryStateFile] | NotRepaired:
    """Make a state fit the machine and the configuration; if *owners* are known, remove others' entries."""
    if rules.fresh is None:
        return _given_up(state)
    if state.policy_name != "Static":
        fresh = MemoryStateFile(policy_name="Static", machine_state=dict(rules.fresh))
        why = (
            f"policy {state.policy_name} has no entries" if state.policy_name else "the file names no policy"
        )
        return Repaired(fresh, (_policy(state, "Static"), *_all_removed(state, why)))
    entries = kept(state.entries, owners)
    pods = {uid: blocks for uid, blocks in state.pod_entries.items() if rules.keeps_pods and uid in entries}
    new = replace(state, entries=entries, pod_entries=pods)
    restore = partial(restored, fresh=rules.fresh, compares_groups=rules.compares_groups)
    starts = isinstance(restore(new), MemoryManagerState)
    removed = [*_removed(state, owners)]
    if starts and not removed and not rules.keeps_pods:
        return Repaired(state)
    actions = [*removed, *_pods_passed_over(state, rules, owners)]
    if starts:
        return Repaired(new, tuple(actions))
    again = replayed(new, rules.fresh)
    if again.misfits:
        leaving = pods_to_remove(new, rules.fresh, compares_groups=rules.compares_groups)
        return NotRepaired(*no_room(again.misfits, leaving, owners))
    new = replace(new, machine_state=again.tables)
    verdict = restore(new)
    if isinstance(verdict, MemoryManagerState):
        drift = memory_drift(state, rules.fresh)
        matched = isinstance(restore(state), MemoryManagerState)
        why = _RECOMPUTED if matched else _REASONS[drift.kind if drift else None]
        return Repaired(new, (*actions, RepairAction(did=ActionKind.TABLES, reason=why)))
    return NotRepaired(_why_not(verdict), DRAIN)


def _given_up(state: MemoryStateFile) -> Repaired[MemoryStateFile]:
    if state.policy_name == "None":
        return Repaired(state)
    removed = _all_removed(state, "policy None does not assign memory")
    return Repaired(MemoryStateFile(policy_name="None"), (_policy(state, "None"), *removed))


def _all_removed(state: MemoryStateFile, why: str) -> Iterator[RepairAction]:
    for uid, containers in sorted(state.entries.items()):
        for name, blocks in sorted(containers.items()):
            before = amounts(blocks)
            yield RepairAction(did=ActionKind.REMOVED, reason=why, pod_uid=uid, container=name, before=before)


def _policy(state: MemoryStateFile, configured: str) -> RepairAction:
    why = f"policy {configured} is configured"
    return RepairAction(did=ActionKind.POLICY, reason=why, before=state.policy_name, after=configured)


def _removed(state: MemoryStateFile, owners: Owners) -> Iterator[RepairAction]:
    for uid, name, status in gone(state.entries, owners):
        before = amounts(state.entries[uid][name])
        yield RepairAction(
            did=ActionKind.REMOVED, reason=GONE[status], pod_uid=uid, container=name, before=before
        )


def _pods_passed_over(state: MemoryStateFile, rules: MemoryRules, owners: Owners) -> Iterator[RepairAction]:
    entries = kept(state.entries, owners)
    for uid, blocks in sorted(state.pod_entries.items()):
        if not rules.keeps_pods:
            why = "this kubelet does not read pod-level memory; containers keep theirs"
        elif uid not in entries:
            why = "no container of the pod holds any of it: the kubelet never releases it"
        else:
            continue
        yield RepairAction(did=ActionKind.POD, reason=why, pod_uid=uid, before=amounts(blocks))


def _why_not(verdict: str | KubeletFault | Undetermined) -> str:
    if isinstance(verdict, KubeletFault):
        return f"the kubelet crashes in the {verdict.where}: {verdict.why}"
    return verdict.text if isinstance(verdict, Undetermined) else verdict
