"""The CPU Manager's state: the owners of CPUs, how CPUs are released, and what a restart accepts.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cpumanager`` (``state``, ``validateState``,
``RemoveContainer``). CPU sets are masks throughout.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import Changeable
from cpuctl.engine.masks import NO_CPUS, CPUMask
from cpuctl.golang.durations import SECOND
from cpuctl.pods.model import ContainerKind, StoredPod
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import CPUStateFile


class DelayRules(Record):
    """The source of delays: the node's option, in nanoseconds, or (``by_pod``, a preview) a field of pods."""

    of_node: int = 0
    by_pod: bool = False


NO_DELAY = DelayRules()


def delay_of(pod: StoredPod, rules: DelayRules) -> int:
    """Return the least nanoseconds before CPUs are taken from a container of *pod*, 0 without a delay.

    Rule: KEP-6122. Its option ``scale-delay-time`` applies to the whole node; a field of the pod,
    ``scaleDownGracePeriodSeconds``, is announced as its replacement.
    """
    if pod.has_pod_level_resources:
        return 0
    return (pod.scale_down_grace or 0) * SECOND if rules.by_pod else rules.of_node


class _Joined(Record):
    """The CPUs of containers (``once``), and those of several pods (``twice``), valid for *of* only."""

    of: Mapping[str, Mapping[str, CPUMask]] | None
    once: CPUMask
    twice: CPUMask


_NOTHING = _Joined(None, NO_CPUS, NO_CPUS)


def _join(assignments: Mapping[str, Mapping[str, CPUMask]]) -> _Joined:
    once = twice = NO_CPUS
    for held in assignments.values():
        cpus = reduce(or_, held.values(), NO_CPUS)
        twice |= once & cpus
        once |= cpus
    return _Joined(assignments, once, twice)


def _joined_with(joined: _Joined, cpus: CPUMask) -> _Joined:
    return _Joined(joined.of, joined.once | cpus, joined.twice | (joined.once & cpus))


def _joined_without(joined: _Joined, cpus: CPUMask) -> _Joined:
    """Remove CPUs; if several pods held one of them, all are counted again on the next request."""
    return _NOTHING if cpus & joined.twice else _Joined(joined.of, joined.once & ~cpus, joined.twice)


class CPUManagerState(Changeable):
    """The kubelet's ``cpu_manager_state``, and the CPUs one pod may reuse.

    ``default`` is the shared pool, ``assignments`` the exclusive CPUs by pod UID and container. The CPUs
    of an ordinary init container may go to later containers of its pod (``reusable``); they are kept only
    in memory, and only for the pod that was last allocated to. ``baselines`` are the CPUs that a container
    got first and keeps across every resize (KEP-5554); they are removed with its assignment. ``pod_entries``
    are the CPUs that pods hold as a whole (KEP-5526), including those of their containers. ``pending`` are
    the CPUs that a container will keep when its delay has passed (KEP-6122), only in memory; until then it
    has those assigned to it. The mapping of a pod's containers is only replaced as a whole: copies share it.
    """

    def __init__(self, default: CPUMask) -> None:
        self.default = default
        self.assignments: dict[str, dict[str, CPUMask]] = {}
        self.reusable_by = ""
        self.reusable = NO_CPUS
        self.baselines: dict[str, dict[str, CPUMask]] = {}
        self.pod_entries: dict[str, CPUMask] = {}
        self.pending: dict[str, dict[str, CPUMask]] = {}

    @property
    def owned(self) -> CPUMask:
        """The CPUs with a known owner: the shared pool, a pod, or a container."""
        return reduce(or_, map(self.held_by, self.owners), self.default)

    @property
    def owners(self) -> frozenset[str]:
        """The UIDs of the pods that hold something."""
        return frozenset((*self.assignments, *self.pod_entries))

    @property
    def exclusive(self) -> CPUMask:
        """The CPUs that are recorded for containers, including those that share their pod's."""
        return self._up_to_date.once

    @property
    def doubly_assigned(self) -> CPUMask:
        """The CPUs that are recorded for containers of several pods."""
        return self._up_to_date.twice

    @property
    def _up_to_date(self) -> _Joined:
        if self._joined.of is not self.assignments:
            self._joined = _join(self.assignments)
        return self._joined

    @cached_property
    def _joined(self) -> _Joined:
        return _join(self.assignments)

    def held_by(self, uid: str) -> CPUMask:
        """Return all CPUs that a pod holds: its own pool, and those of its containers."""
        return reduce(or_, self.assignments.get(uid, {}).values(), self.pod_entries.get(uid, NO_CPUS))

    def assigned(self, uid: str, container: str) -> CPUMask | None:
        """Return a container's exclusive CPUs, None if it runs in the shared pool."""
        return self.assignments.get(uid, {}).get(container)

    def assign(self, uid: str, container: str, cpus: CPUMask) -> None:
        """Record a container's exclusive CPUs; the first ones become its baseline."""
        held, joined = self.assignments.get(uid, {}), self._joined
        added = cpus & ~reduce(or_, held.values(), NO_CPUS)
        self._joined = _NOTHING if container in held else _joined_with(joined, added)
        self.assignments[uid] = {**held, container: cpus}
        guaranteed = self.baselines.get(uid, {})
        self.baselines[uid] = {**guaranteed, container: guaranteed.get(container, cpus)}

    def baseline(self, uid: str, container: str) -> CPUMask | None:
        """Return the CPUs that a container keeps across every resize, None if it has none."""
        return self.baselines.get(uid, {}).get(container)

    def postpone(self, uid: str, container: str, cpus: CPUMask) -> None:
        """Record the CPUs that a container will keep when its delay has passed, replacing earlier ones."""
        self.pending[uid] = {**self.pending.get(uid, {}), container: cpus}

    def awaited(self, uid: str, container: str) -> CPUMask | None:
        """Return the CPUs that a container will keep after its delay, None if it keeps all."""
        return self.pending.get(uid, {}).get(container)

    def call_off(self, uid: str, container: str) -> None:
        """Cancel a pending release: the container keeps what it has."""
        self._call_off(uid, {container})

    def _call_off(self, uid: str, containers: AbstractSet[str]) -> None:
        if waiting := _without(containers, self.pending.pop(uid, {})):
            self.pending[uid] = waiting

    def settle(self, uid: str, container: str) -> CPUMask:
        """Take the CPUs that a container was to give up, and return them; none if it no longer exists."""
        kept, held = self.awaited(uid, container), self.assigned(uid, container)
        self.call_off(uid, container)
        if kept is None or held is None:
            return NO_CPUS
        self.default |= held & ~kept
        self.assign(uid, container, kept)
        return held & ~kept

    def reusable_for(self, uid: str) -> CPUMask:
        """Return the CPUs a container of this pod may use although they are already assigned."""
        return self.reusable if self.reusable_by == uid else NO_CPUS

    def remember_reuse(self, uid: str, kind: ContainerKind, cpus: CPUMask) -> None:
        """Lend an ordinary init container's CPUs to its successors; others keep what they take."""
        reusable = self.reusable_for(uid)
        self.reusable_by = uid
        self.reusable = reusable | cpus if kind is ContainerKind.INIT else reusable & ~cpus

    def remove_container(self, uid: str, container: str) -> CPUMask:
        """Release and return a container's CPUs, except those that others of its pod still use.

        A pod that holds CPUs as a whole releases all of them with its last container.
        """
        return self._release(uid, {container}) if container in self.assignments.get(uid, {}) else NO_CPUS

    def keep_only(
        self, containers: Mapping[str, Collection[str]], gone: Collection[str] | None = None
    ) -> CPUMask:
        """Release and return everything that is not held by one of these containers, by pod UID.

        *gone* are the pods that may hold such CPUs, if known, as a full node can have thousands of pods.
        """
        looked_at = self.assignments
        if gone is not None:
            looked_at = {uid: self.assignments[uid] for uid in gone if uid in self.assignments}
        released = NO_CPUS
        for uid in beyond(looked_at, containers):
            released |= self._release(uid, self.assignments[uid].keys() - set(containers.get(uid, ())))
        return released

    def _release(self, uid: str, gone: AbstractSet[str]) -> CPUMask:
        """Release what some containers of a pod hold, all together: a file may name thousands."""
        held, left = self.assignments[uid], _without(gone, self.assignments[uid])
        used = reduce(or_, left.values(), NO_CPUS)
        cpus = reduce(or_, (held[name] for name in gone)) & ~used
        self._joined = _joined_without(self._joined, cpus)
        if uid in self.pod_entries:
            cpus = NO_CPUS if left else self.pod_entries.pop(uid)
        self.default |= cpus
        self._call_off(uid, gone)
        guaranteed = self.baselines.pop(uid, None)
        if not left:
            del self.assignments[uid]
            return cpus
        self.assignments[uid] = left
        if guaranteed is not None:
            self.baselines[uid] = _without(gone, guaranteed)
        return cpus

    def forget(self, uid: str) -> None:
        """Drop the records of a pod's containers; releasing their CPUs is left to the caller."""
        if self.assignments.pop(uid, None) is not None:
            self._joined = _NOTHING
        self.baselines.pop(uid, None)

    def as_file(
        self, policy_name: str, *, pod_level: bool = False, baselines: bool = False
    ) -> "CPUStateFile":
        """Return the file that the kubelet writes for this state; gates decide on the optional parts."""
        from cpuctl.checkpoints.model import CPUStateFile

        return CPUStateFile(
            policy_name=policy_name,
            default_cpu_set=CPUSet(self.default),
            entries=_sets(self.assignments),
            pod_entries={uid: CPUSet(cpus) for uid, cpus in self.pod_entries.items()} if pod_level else {},
            baselines=_sets(self.baselines) if baselines else {},
        )

    @classmethod
    def of_file(cls, saved: "CPUStateFile") -> "CPUManagerState":
        """Return the state in a file; without baselines, the CPUs of each container become its baseline."""
        state = cls(CPUMask(saved.default_cpu_set.mask))
        state.assignments = _masks(saved.entries)
        state.baselines = _masks(saved.baselines or saved.entries)
        state.pod_entries = {uid: CPUMask(cpus.mask) for uid, cpus in saved.pod_entries.items()}
        return state


def beyond(held: Mapping[str, Mapping[str, object]], containers: Mapping[str, Collection[str]]) -> list[str]:
    """Return the UIDs of pods for which containers other than these hold something."""
    found = []
    for uid, names in held.items():
        kept = containers.get(uid, ())
        for name in names:
            if name not in kept:
                found.append(uid)
                break
    return found


def _without(gone: AbstractSet[str], masks: Mapping[str, CPUMask]) -> dict[str, CPUMask]:
    return {name: cpus for name, cpus in masks.items() if name not in gone}


def _sets(masks: Mapping[str, Mapping[str, CPUMask]]) -> dict[str, dict[str, CPUSet]]:
    return {
        uid: {name: CPUSet(cpus) for name, cpus in containers.items()} for uid, containers in masks.items()
    }


def _masks(entries: Mapping[str, Mapping[str, CPUSet]]) -> dict[str, dict[str, CPUMask]]:
    return {
        uid: {name: CPUMask(cpus.mask) for name, cpus in containers.items()}
        for uid, containers in entries.items()
    }


def validate(state: CPUManagerState, *, machine: CPUMask, reserved: CPUMask, strict: bool) -> str:
    """Check a loaded state as the static policy does at start; return the kubelet's error, or "".

    *machine* is the mask of all CPUs. An empty shared pool without assignments is not an error: it is reset.
    """
    expected = machine & ~reserved if strict else machine
    if not state.default:
        if state.assignments:
            return "default cpuset cannot be empty"
        state.default = expected
        return ""
    default = CPUSet(state.default)
    if strict and state.default & reserved:
        misplaced = CPUSet(state.default & reserved)
        return f'some of strictly reserved cpus: "{misplaced}" are present in defaultCpuSet: "{default}"'
    if not strict and reserved & ~state.default:
        return f'not all reserved cpus: "{CPUSet(reserved)}" are present in defaultCpuSet: "{default}"'
    return _overlap(state) or _missing_or_extra(state, expected)


def _overlap(state: CPUManagerState) -> str:
    # The kubelet iterates over maps here: which of several overlaps it names is random; this is the first.
    for uid, containers in sorted(state.assignments.items()):
        for name, cpus in sorted(containers.items()):
            if cpus & state.default:
                return (
                    f'pod: {uid}, container: {name} cpuset: "{CPUSet(cpus)}" '
                    f'overlaps with default cpuset "{CPUSet(state.default)}"'
                )
    return ""


def _missing_or_extra(state: CPUManagerState, expected: int) -> str:
    known = state.owned
    if known == expected:
        return ""
    return (
        f'current set of available CPUs "{CPUSet(expected)}" '
        f'doesn\'t match with CPUs in state "{CPUSet(known)}"'
    )
