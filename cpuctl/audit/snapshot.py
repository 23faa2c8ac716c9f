"""A node at one moment, with everything that an audit compares: values only, nothing is read here.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cpumanager`` and ``memorymanager``: a container gets the CPUs and the
NUMA nodes recorded for it, else the shared pool and no nodes; empty sets are not written.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cgroups.owners import ContainerRole, Owner
from cpuctl.cpuset import CPUSet, union
from cpuctl.pods.cgroups.values import CgroupSettings
from cpuctl.pods.rules import DEFAULT_NODE, NodeRules
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.capture.node.cpu_settings import CpuSetting
    from cpuctl.cgroups.groups import Cgroup, CpusetValues
    from cpuctl.cgroups.hierarchies import Hierarchies
    from cpuctl.checkpoints.model import (
        ClaimEntry,
        ClaimsStateFile,
        CPUStateFile,
        DevicesStateFile,
        MemoryStateFile,
    )
    from cpuctl.machine.model import Machine
    from cpuctl.machine.pod_resources.model import PodResources
    from cpuctl.pods.model import PodClaim, StoredPod

POLICY_NONE = "none"
_SHOWN = 3


class Task(NamedTuple):
    """One thread: its control group, and the CPUs it may run on.

    ``fixed``: the kernel does not allow moving it.
    """

    pid: int
    tid: int
    comm: str
    group: str
    cpus: CPUSet
    kernel: bool = False
    fixed: bool = False


class ContainerProcess(Record):
    """A process of a container: its start time, and its private memory by NUMA node, if known.

    ``started`` are clock ticks since boot; memory is in bytes.
    """

    pid: int
    started: int | None
    memory: Mapping[int, int] | None


class Interrupt(Record):
    """An interrupt with a handler; a set is None if the kernel does not report it.

    ``fired`` counts since boot, on exclusive CPUs only.
    """

    number: int
    actions: tuple[str, ...]
    allowed: CPUSet | None
    effective: CPUSet | None
    fired: int = 0


class Irqbalance(Record):
    """The daemon that spreads interrupts: from which CPUs it is configured to stay away (None: unknown)."""

    file: str
    banned: CPUSet | None


class Interrupts(Record):
    """All interrupts, and the CPUs for new ones and unbound kernel work; None if unknown.

    ``balancer`` is None if irqbalance does not run.
    """

    known: tuple[Interrupt, ...] = ()
    default: CPUSet | None = None
    workqueues: CPUSet | None = None
    balancer: Irqbalance | None = None


class ConfiguredKubelet(NamedTuple):
    """What the configured kubelet enforces.

    ``policy`` and ``memory_policy`` are the configured policies of the CPU Manager and the Memory Manager,
    empty if no configuration is known. It reads pods by ``rules``, and writes their values by ``cgroups``.
    ``has_assigned``: containers can read ``assigned.cpuset``, and ``takes_assigned`` is its gate;
    ``delays``: CPUs are taken from a container after a delay (KEP-6122). ``why_unknown`` is the reason why an
    existing configuration is unknown.
    """

    policy: str = ""
    memory_policy: str = ""
    reserved: CPUSet = CPUSet()
    strict_reservation: bool = False
    full_cores: bool = False
    rules: NodeRules = DEFAULT_NODE
    cgroups: CgroupSettings = CgroupSettings()
    has_assigned: bool = False
    takes_assigned: bool = False
    delays: bool = False
    why_unknown: str = ""


class KubeletState(NamedTuple):
    """The kubelet's state files; None if missing or unusable: the problem says why.

    ``lost`` are the names of files with unusable content, ``closed`` those that exist and could not be
    opened. ``own``: the node's own files were searched for, not files on the command line.
    """

    cpu: "CPUStateFile | None" = None
    memory: "MemoryStateFile | None" = None
    cpu_problem: str = ""
    memory_problem: str = ""
    devices: "DevicesStateFile | None" = None
    devices_problem: str = ""
    claims: "ClaimsStateFile | None" = None
    lost: frozenset[str] = frozenset()
    closed: tuple[str, ...] = ()
    own: bool = True

    @property
    def entries(self) -> Mapping[str, Mapping[str, CPUSet]]:
        """The exclusive CPUs of containers, by their pod's UID and their name."""
        return self.cpu.entries if self.cpu else {}

    @property
    def known_cpus(self) -> CPUSet:
        """All CPUs in the CPU Manager's state: those that the kubelet has counted."""
        held = (cpus for containers in self.entries.values() for cpus in containers.values())
        return union((self.cpu.default_cpu_set if self.cpu else CPUSet(), *held))


class PreparedClaims(Record):
    """What the driver ``dra.cpu`` has prepared: the CPUs of claims by UID, and the file with them.

    ``problem`` is why the file cannot be used.
    """

    path: str
    cpus: Mapping[str, CPUSet] = {}
    problem: str = ""

    @property
    def claimed(self) -> CPUSet:
        """The CPUs of all claims."""
        return union(self.cpus.values())


class Expected(Record):
    """The CPUs and NUMA nodes that the kubelet gives a container; None if it sets none, or if unknown.

    ``choices`` are the sets that it may have as long as its name is unknown. ``claimed``: the driver
    assigns its CPUs, for its resource claims.
    """

    cpus: CPUSet | None = None
    exclusive: bool = False
    mems: CPUSet | None = None
    choices: tuple[CPUSet, ...] = ()
    claimed: bool = False


class DownwardFile(NamedTuple):
    """A file in which a container reads its CPUs (``assigned.cpuset``); ``text`` is None if missing.

    ``looked_at`` is False if it is unknown whether it exists. The path has no leading slash.
    """

    uid: str
    container: str
    path: str
    text: str | None = None
    looked_at: bool = True


class _Container(Record):
    owner: Owner
    group: "Cgroup"
    expected: Expected
    below: tuple["Cgroup", ...] = ()
    tasks: Sequence[Task] = ()
    processes: Sequence[ContainerProcess] = ()


class ObservedContainer(_Container):
    """An observed container on the node, with the groups below its own."""

    @property
    def sleeps(self) -> bool:
        """Whether it is a pod's sandbox, which stays idle."""
        return self.owner.part is ContainerRole.SANDBOX

    @property
    def fits_none(self) -> bool:
        """Whether no container of its pod should have its CPUs; only if its name is unknown."""
        return bool(self.expected.choices) and self.group.cpuset.cpus not in self.expected.choices

    @property
    def effective(self) -> CPUSet | None:
        """The CPUs that the kernel gives the group."""
        cpuset = self.group.cpuset
        return cpuset.effective if cpuset.effective is not None else cpuset.cpus

    @cached_property
    def running_on(self) -> CPUSet:
        """The CPUs that all its threads together may run on."""
        return union(task.cpus for task in self.tasks)


class _Parts(NamedTuple):
    machine: "Machine"
    hierarchies: "Hierarchies | None" = None
    groups: Mapping[str, "Cgroup"] = {}
    host_groups: Mapping[str, "CpusetValues"] = {}
    owners: Mapping[str, Owner] = {}
    containers: tuple[ObservedContainer, ...] = ()
    others: Sequence[Task] = ()
    pods: Mapping[str, "StoredPod"] = {}
    pods_known: bool = False
    state: KubeletState = KubeletState()
    configured: ConfiguredKubelet = ConfiguredKubelet()
    interrupts: Interrupts = Interrupts()
    downward_files: tuple[DownwardFile, ...] = ()
    cpu_settings: "tuple[CpuSetting, ...] | None" = None
    answers: "PodResources | None" = None
    prepared: PreparedClaims | None = None


class NodeSnapshot(_Parts):
    """Everything that an audit compares.

    ``pods`` are those that the API server knows, by UID; empty if unknown (``pods_known``). ``host_groups``
    are the CPU sets of groups outside the kubelet's that have their own list. ``others`` are the threads that
    belong to no container, ``downward_files`` where pods read their CPUs. ``cpu_settings`` are those of
    systemd, None if unknown. ``answers`` are the kubelet's own answers, None if it was not queried.
    ``prepared`` are the claims of the driver for CPUs, None if no such driver runs.
    """

    @cached_property
    def uids(self) -> frozenset[str]:
        """The pods that have a control group."""
        return frozenset(group.role.uid for group in self.groups.values() if group.role.uid)

    @cached_property
    def container_at(self) -> Mapping[str, ObservedContainer]:
        """Every container by the path of its group."""
        return {observed.group.path: observed for observed in self.containers}

    @cached_property
    def partitions(self) -> Mapping[str, CPUSet]:
        """The CPUs that each valid partition on the node has taken from all other groups, by its path."""
        sets = {path: group.cpuset for path, group in self.groups.items()} | dict(self.host_groups)
        return {path: cpuset.taken for path, cpuset in sets.items() if cpuset.taken}

    @cached_property
    def isolated(self) -> CPUSet:
        """The CPUs between which the kernel does not move threads: isolated at boot, or by a partition."""
        sets = {path: group.cpuset for path, group in self.groups.items()} | dict(self.host_groups)
        return self.machine.isolated | union(
            each.taken for each in sets.values() if each.partition == "isolated"
        )

    @cached_property
    def shared_pool(self) -> CPUSet | None:
        """The CPUs of all containers without exclusive CPUs; None under the policy none."""
        cpu = self.state.cpu
        return None if cpu is None or cpu.policy_name == POLICY_NONE else cpu.default_cpu_set

    @cached_property
    def held(self) -> Mapping[str, CPUSet]:
        """The exclusive CPUs of every existing pod, by UID."""
        return {
            uid: union(containers.values())
            for uid, containers in self.state.entries.items()
            if uid in self.uids or not self.groups
        }

    @cached_property
    def exclusive(self) -> CPUSet:
        """The exclusive CPUs of all pods together."""
        return union(self.held.values())

    @cached_property
    def claims(self) -> Mapping[str, "ClaimEntry"]:
        """The claims that the kubelet's state file has, by UID."""
        state = self.state.claims
        return {entry.uid: entry for entry in state.claims} if state is not None else {}

    @cached_property
    def housekeeping(self) -> CPUSet:
        """The CPUs for everything outside pods: the reserved CPUs, else all that are not exclusive."""
        online = self.machine.online
        return (self.configured.reserved & online) - self.exclusive or online - self.exclusive

    @cached_property
    def _pod_names(self) -> Mapping[str, str]:
        observed = {owner.uid: owner.pod_name for owner in self.owners.values()}
        return observed | {uid: pod.full_name for uid, pod in self.pods.items()}

    def pod_name(self, uid: str) -> str:
        """Return the best known name of a pod."""
        return self._pod_names.get(uid, uid)

    @cached_property
    def _holder_of_cpu(self) -> Mapping[int, str]:
        """The pod that holds each exclusive CPU; if there are several, which no kubelet allows, the first."""
        holders: dict[int, str] = {}
        known = CPUSet()
        for uid, held in self.held.items():
            holders |= dict.fromkeys(held - known, uid)
            known |= held
        return holders

    def holders(self, cpus: CPUSet, *, but: str = "") -> str:
        """List the first pods that hold some of these CPUs, without the pod *but*."""
        rest = cpus & self.exclusive
        names: list[str] = []
        if but in self.held:
            rest -= self.held[but]
        while rest:
            uid = self._holder_of_cpu[rest.lowest]
            if len(names) == _SHOWN:
                return f"{', '.join(names)} and others"
            names.append(self.pod_name(uid))
            rest -= self.held[uid]
        return ", ".join(names)


class ClaimedCPUs:
    """The containers that have CPUs by claims, from the driver's file, the kubelet's, and pods."""

    def __init__(
        self, prepared: PreparedClaims, claims: "ClaimsStateFile | None", pods: "Mapping[str, StoredPod]"
    ) -> None:
        self._prepared = prepared
        self._pods = pods
        self._by_pod: dict[str, list[ClaimEntry]] = {}
        for entry in claims.claims if claims is not None else ():
            for uid in entry.pod_uids if entry.uid in prepared.cpus else ():
                self._by_pod.setdefault(uid, []).append(entry)

    def of_pod(self, uid: str) -> tuple[CPUSet, ...]:
        """Return the CPUs of each claim of a pod."""
        return tuple(self._prepared.cpus[entry.uid] for entry in self._by_pod.get(uid, ()))

    def of(self, owner: Owner) -> CPUSet | None:
        """Return the CPUs of the claims that a container names; None if it has none, or if unknown."""
        pod, names = self._pods.get(owner.uid), self._named(owner)
        if pod is None or not names:
            return None
        claims = [claim for claim in pod.resource_claims if claim.name in names]
        entries = self._by_pod.get(owner.uid, ())
        found = (each for each in entries if any(_is_claim(each, claim, pod) for claim in claims))
        return union(self._prepared.cpus[each.uid] for each in found) or None

    def names_none(self, owner: Owner) -> bool:
        """Return whether a container is known to name no claim."""
        return self._named(owner) == ()

    def _named(self, owner: Owner) -> tuple[str, ...] | None:
        """Return a container's names of its claims; None if its manifest is unknown."""
        pod = self._pods.get(owner.uid)
        containers = pod.all_containers if pod is not None else ()
        return next((each.resources.claims for each in containers if each.name == owner.container), None)


def _is_claim(entry: "ClaimEntry", claim: "PodClaim", pod: "StoredPod") -> bool:
    """Return whether a prepared claim is the one that a pod refers to; generated names share a prefix."""
    made = entry.name.startswith(f"{pod.name}-{claim.name}-")
    return entry.name == claim.claim if claim.claim else made


MOST_CHOICES = 64
"""The maximum number of different sets in one pod; beyond, a container without a name cannot be checked."""


class Expectations:
    """What the kubelet gives containers, according to one state."""

    def __init__(self, state: KubeletState, claims: "ClaimedCPUs | None" = None) -> None:
        self._state = state
        self._claims = claims
        self._choices: dict[str, tuple[CPUSet, ...]] = {}

    def of(self, owner: Owner) -> Expected:
        """Return what the kubelet gives a container."""
        if owner.part is ContainerRole.SANDBOX:
            return Expected()
        mems = _mems(owner, self._state.memory) if self._state.memory else None
        cpu = self._state.cpu
        if cpu is None or cpu.policy_name == POLICY_NONE:
            claimed = self._claims.of(owner) if self._claims is not None else None
            return Expected(cpus=claimed, exclusive=bool(claimed), mems=mems, claimed=bool(claimed))
        entries, pool = cpu.entries.get(owner.uid, {}), cpu.default_cpu_set
        if owner.container:
            own = entries.get(owner.container)
            return Expected(cpus=own or pool or None, exclusive=bool(own), mems=mems)
        if not entries:
            return Expected(cpus=pool or None, mems=mems)
        return Expected(choices=self._choices_of(owner.uid, pool), mems=mems)

    def _choices_of(self, uid: str, pool: CPUSet) -> tuple[CPUSet, ...]:
        if uid not in self._choices:
            sets = tuple(dict.fromkeys(cpus for cpus in (*self._state.entries[uid].values(), pool) if cpus))
            self._choices[uid] = sets if len(sets) <= MOST_CHOICES else ()
        return self._choices[uid]


def _mems(owner: Owner, state: "MemoryStateFile") -> CPUSet | None:
    blocks = state.entries.get(owner.uid, {}).get(owner.container, ())
    return CPUSet.of(node for block in blocks for node in block.numa_affinity if node >= 0) or None
