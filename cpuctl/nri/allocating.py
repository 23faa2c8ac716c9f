"""The assignment of CPUs as containers are created, with the kubelet's static policy or another one.

Requests are derived from a container's cgroup settings, because a runtime does not know requests: 1024 shares
per CPU, the quota, the memory limit. A container of a Guaranteed pod with a whole number of CPUs gets
exclusive CPUs if there are enough; all others run in the pool. Assignments are saved before the runtime
gets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from cpuctl.cgroups.names import role_of
from cpuctl.cpuset import CPUSet
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.placement import cpuset_mems
from cpuctl.nri.model import SHARES, Assignment, RuntimeContainer
from cpuctl.phrases import named
from cpuctl.pods.model import Container, Pod, QosClass, ResourceRequirements
from cpuctl.pods.stored import stored_pod
from cpuctl.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpuctl.engine.node import Node
    from cpuctl.engine.outcome import Verdict
    from cpuctl.pods.model import StoredPod
    from cpuctl.pods.rules import PodRules

_USUAL_PERIOD = 100_000

ContainerKey = tuple[str, str]
"""The UID of a pod and the name of a container."""


class Store(Protocol):
    """Storage for assignments between runs."""

    def save(self, node: Node, held: Mapping[ContainerKey, str]) -> None:
        """Store the state of a node, and the runtime's IDs of the containers with assignments."""


class LeftNode(NamedTuple):
    """A node's stored state, with the runtime's ID of each container that has an assignment."""

    node: Node
    held: Mapping[ContainerKey, str]


class AllocatedPlaces:
    """A placer that follows a node's policy."""

    def __init__(self, left: LeftNode, rules: PodRules, store: Store) -> None:
        self._node, self._rules, self._store = left.node, rules, store
        self._held = dict(left.held)
        self._there: dict[str, RuntimeContainer] = {}

    @property
    def pool(self) -> CPUSet:
        """The CPUs that are not assigned exclusively."""
        return CPUSet(self._node.state.default)

    def synchronize(self, containers: Sequence[RuntimeContainer]) -> Iterator[str]:
        """Release the CPUs of removed containers, and assign CPUs to those created in the meantime.

        A container that has exactly as many CPUs as it requests, none of them used by another, keeps them:
        they were assigned to it before, even if the state file is lost.
        """
        self._there = {each.id: each for each in containers}
        for key, container in list(self._held.items()):
            known = self._there.get(container)
            if known is None or _key(known) != key:
                self._release(key)
        self._forget_pods()
        new = [each for each in containers if self._held.get(_key(each)) != each.id]
        yield from self._adopt(new)
        for each in new:
            if self._held.get(_key(each)) != each.id:
                yield from self._give(each)
        self._save()

    def _adopt(self, containers: Sequence[RuntimeContainer]) -> Iterator[str]:
        """Keep the exclusive CPUs of running containers that the node's state does not contain."""
        policy = self._node.policy
        assert policy is not None, "a policy gives CPUs away"
        free, claimed, wanted = CPUSet(policy.allocatable & self._node.state.default), CPUSet(), CPUSet()
        candidates = []
        for each in containers:
            requested, has = _requested(each), each.setting.cpu_set
            if requested is None or requested.requests["cpu"].milli_value != len(has) * 1000 or has - free:
                continue
            claimed |= wanted & has
            wanted |= has
            candidates.append((each, requested, has))
        for each, requested, has in candidates:
            if not has & claimed and _key(each) not in self._held:
                yield from self._leave_to(each, requested, has)

    def _leave_to(
        self, container: RuntimeContainer, requested: ResourceRequirements, has: CPUSet
    ) -> Iterator[str]:
        """Record the CPUs of a container, as if the policy had chosen them."""
        pod, trial = self._pod(container, requested), self._node.copy()
        taken = CPUMask(has.mask)
        trial.state.default &= ~taken
        trial.state.assign(pod.uid, container.name, taken)
        known, trial.sources_ready = trial.copy(), True
        verdict, why = trial.admit_once(pod).verdict, ""
        if not isinstance(verdict, Admitted):
            why = f", although the policy would not allow it: {_reason(verdict)}"
        elif container.setting.mems not in ("", _mems(trial, pod.uid, container.name)):
            why = f", with its memory on {named(CPUSet.parse(container.setting.mems), 'NUMA node')}"
        if why:
            # A running container is not moved because of rules that did not apply when it was created.
            trial = known
            trial.active[pod.uid] = pod
        self._node, self._held[_key(container)] = trial, container.id
        yield f"{container.full_name} already runs on CPUs {has}, and keeps them exclusively{why}"

    def arrive(self, container: RuntimeContainer) -> Iterator[str]:
        """Assign CPUs to a new container, if they are available."""
        before = self._node
        yield from self._give(container)
        if self._node is not before:
            self._save()

    def _give(self, container: RuntimeContainer) -> Iterator[str]:
        self._there[container.id] = container
        requested = _requested(container)
        if requested is None:
            return
        trial = self._node.copy()
        trial.sources_ready = True
        admission = trial.admit_once(self._pod(container, requested))
        if isinstance(admission.verdict, Admitted):
            self._node = trial
            self._held[_key(container)] = container.id
            return
        why = _reason(admission.verdict)
        yield f"{container.full_name} gets no exclusive CPUs and runs in the shared pool: {why}"

    def leave(self, container: RuntimeContainer) -> None:
        """Release the CPUs of a container."""
        self._let_go([container])

    def pod_gone(self, sandbox: str) -> None:
        """Release the CPUs of a pod's containers."""
        self._let_go([each for each in self._there.values() if each.pod.id == sandbox])

    def _let_go(self, containers: Sequence[RuntimeContainer]) -> None:
        """Release the CPUs of containers, and save once."""
        held = [each for each in containers if self._held.get(_key(each)) == each.id]
        for each in containers:
            self._there.pop(each.id, None)
        for each in held:
            self._release(_key(each))
        if held:
            self._forget_pods()
            self._save()

    def place(self, container: RuntimeContainer) -> Assignment:
        """Return where a container runs."""
        uid, name = _key(container)
        if self._held.get((uid, name)) != container.id:
            return Assignment(self.pool)
        mems = _mems(self._node, uid, name)
        own = self._node.state.assigned(uid, name)
        return Assignment(self.pool, mems) if own is None else Assignment(CPUSet(own), mems, own=True)

    def _release(self, key: ContainerKey) -> None:
        del self._held[key]
        self._node.remove_container(*key)

    def _forget_pods(self) -> None:
        """Remove pods whose containers no longer hold any CPUs."""
        for uid in set(self._node.active) - {uid for uid, _ in self._held}:
            self._node.remove(uid)
        self._node.clean_up()

    def _save(self) -> None:
        self._store.save(self._node, self._held)

    def _pod(self, new: RuntimeContainer, requested: ResourceRequirements) -> StoredPod:
        """Return the pod of a new container, with those of its containers that hold CPUs."""
        uid = _key(new)[0]
        parts = {new.name: Container(name=new.name, resources=requested)}
        for (owner, name), container in self._held.items():
            known = self._there.get(container)
            resources = _requested(known) if known and owner == uid else None
            if resources is not None:
                parts.setdefault(name, Container(name=name, resources=resources))
        pod = Pod(name=new.pod.name, namespace=new.pod.namespace, uid=uid, containers=tuple(parts.values()))
        return stored_pod(pod, self._rules)


def _mems(node: Node, uid: str, name: str) -> str:
    return cpuset_mems(node.memory.state.assigned(uid, name) or ())


def _reason(verdict: Verdict) -> str:
    return verdict.message if isinstance(verdict, Rejected) else type(verdict).__name__


def _key(container: RuntimeContainer) -> ContainerKey:
    # Pods that were not created by a kubelet may lack a UID.
    return container.pod.uid or container.pod.id, container.name


def _requested(container: RuntimeContainer) -> ResourceRequirements | None:
    """Return the resources of a container of a Guaranteed pod; None for any other.

    The kubelet places pods of other classes below a cgroup of that class; without the kubelet, a container
    whose quota matches its shares counts as one of a Guaranteed pod.
    """
    role = role_of(container.pod.cgroup_parent)
    if role is not None and role.qos is not QosClass.GUARANTEED:
        return None
    shares, quota, period = container.shares or 0, container.quota or 0, container.period or _USUAL_PERIOD
    if not container.memory or container.memory < 0 or shares < 2:
        return None
    milli = -(-shares * 1000 // SHARES)
    throttled = quota > 0
    if throttled and abs(quota * 1000 - milli * period) > period:
        return None
    if role is None and not throttled:
        return None
    amounts = {"cpu": Quantity.parse(f"{milli}m"), "memory": Quantity.parse(str(container.memory))}
    return ResourceRequirements(requests=amounts, limits=amounts)
