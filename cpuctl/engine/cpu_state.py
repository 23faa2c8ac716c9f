"""The CPU Manager's state: who owns which CPUs, how they come back, and what a restart accepts.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cpumanager`` (``state``, ``validateState``,
``RemoveContainer``). CPU sets are masks throughout.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.pods.model import ContainerKind


@dataclass(slots=True)
class CPUManagerState:
    """What the kubelet keeps in ``cpu_manager_state``, and the CPUs one pod may use again.

    ``default`` is the shared pool, ``assignments`` the exclusive CPUs by pod UID and container. The CPUs
    of an ordinary init container may go to later containers of its pod (``reusable``); they are kept in
    memory only, and for the pod that was last allocated to.
    """

    default: int
    assignments: dict[str, dict[str, int]] = field(default_factory=dict)
    reusable_by: str = ""
    reusable: int = 0

    def copy(self) -> CPUManagerState:
        """Return a state of its own with the same content."""
        assignments = {uid: dict(containers) for uid, containers in self.assignments.items()}
        return CPUManagerState(self.default, assignments, self.reusable_by, self.reusable)

    def assigned(self, uid: str, container: str) -> int | None:
        """Tell a container's exclusive CPUs, None when it runs in the shared pool."""
        return self.assignments.get(uid, {}).get(container)

    def reusable_for(self, uid: str) -> int:
        """Tell the CPUs a container of this pod may use although they are assigned already."""
        return self.reusable if self.reusable_by == uid else 0

    def remember_reuse(self, uid: str, kind: ContainerKind, cpus: int) -> None:
        """Lend an ordinary init container's CPUs to its successors; others keep what they take."""
        reusable = self.reusable_for(uid)
        self.reusable_by = uid
        self.reusable = reusable | cpus if kind is ContainerKind.INIT else reusable & ~cpus

    def remove_container(self, uid: str, container: str) -> None:
        """Release a container's CPUs, but for those that others of its pod still use."""
        containers = self.assignments.get(uid, {})
        cpus = containers.pop(container, 0)
        for used in containers.values():
            cpus &= ~used
        self.default |= cpus
        if not containers:
            self.assignments.pop(uid, None)

    def keep_only(self, containers: Mapping[str, Collection[str]]) -> None:
        """Release everything that is not held by one of these containers, by pod UID."""
        for uid, assigned in list(self.assignments.items()):
            for name in set(assigned) - set(containers.get(uid, ())):
                self.remove_container(uid, name)

    def as_file(self, policy_name: str) -> CPUStateFile:
        """Return what the kubelet writes for this state."""
        return CPUStateFile(
            policy_name=policy_name,
            default_cpu_set=CPUSet(self.default),
            entries={
                uid: {name: CPUSet(cpus) for name, cpus in containers.items()}
                for uid, containers in self.assignments.items()
            },
        )

    @classmethod
    def of_file(cls, saved: CPUStateFile) -> CPUManagerState:
        """Return the state that a file holds."""
        assignments = {
            uid: {name: cpus.mask for name, cpus in containers.items()}
            for uid, containers in saved.entries.items()
        }
        return cls(saved.default_cpu_set.mask, assignments)


def validate(state: CPUManagerState, *, machine: int, reserved: int, strict: bool) -> str:
    """Check a loaded state as the static policy does at start; return the kubelet's error, or nothing.

    *machine* are all CPUs. An empty shared pool without assignments is no error: it becomes a fresh one.
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
    # The kubelet walks maps here: which of several overlaps it names is random, this is the first by name.
    for uid, containers in sorted(state.assignments.items()):
        for name, cpus in sorted(containers.items()):
            if cpus & state.default:
                return (
                    f'pod: {uid}, container: {name} cpuset: "{CPUSet(cpus)}" '
                    f'overlaps with default cpuset "{CPUSet(state.default)}"'
                )
    return ""


def _missing_or_extra(state: CPUManagerState, expected: int) -> str:
    known = state.default
    for containers in state.assignments.values():
        for cpus in containers.values():
            known |= cpus
    if known == expected:
        return ""
    return (
        f'current set of available CPUs "{CPUSet(expected)}" '
        f'doesn\'t match with CPUs in state "{CPUSet(known)}"'
    )
