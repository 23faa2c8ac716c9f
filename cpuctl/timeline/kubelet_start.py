"""The start of a kubelet on the current machine, with its predecessor's files and the running pods.

Rule: kubelet v1.36, ``cmd/kubelet/app/server.go`` and ``HandlePodAdditions``. KEP-6122 for pending
scale-downs: the kubelet sees that a container has more CPUs than its pod requests, allocates again, and the
whole delay starts over. A kubelet that cannot resize exclusive CPUs rejects the change instead, and the
container keeps them (scenario 8 of the KEP's tests). With the announced per-pod delay, a pending scale-down
survives the restart.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.state import DelayRules
from cpuctl.engine.node import Node
from cpuctl.engine.pod_rules import reports_allocated_resources
from cpuctl.engine.provider import Candidate
from cpuctl.engine.resize.obstacles import whole_node
from cpuctl.engine.resize.outcome import Condition
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import same_resources, with_requirements
from cpuctl.engine.start import start_node
from cpuctl.kubelet.gates.feature_gates import FeatureGates, gates_at_start
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.machine_info import MachineInfo, kubelet_view
from cpuctl.machine.model import CPU, Machine
from cpuctl.pods.model import Container, ResourceRequirements, StoredPod
from cpuctl.pods.qos import pod_qos
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from cpuctl.timeline.model import KubeletSetup
from cpuctl.timeline.pods.containers import end, start
from cpuctl.timeline.pods.lifecycle import admit, fail, forget, take_verdict
from cpuctl.timeline.pods.resize import IN_PROGRESS, handle_resize
from cpuctl.timeline.world.disk import SavedWait
from cpuctl.timeline.world.entries import EntryKind
from cpuctl.timeline.world.kubelet_process import BackOffs, JobKind, KubeletProcess
from cpuctl.timeline.world.scale_downs import Key
from cpuctl.timeline.world.world import NotRunning, PodLife, World, kubelet_fails, pod_with_status

KILLED = 137
"""The exit code of a container whose end was not observed."""
_SWITCHED_OFF = (
    "the scale-down delay of pods is disabled (announced for a later kubelet, whose message is unknown)"
)


def start_kubelet(world: World) -> None:
    """Start the installed kubelet; if that fails, record why."""
    world.why_down = ""
    setup = world.setup
    if not isinstance(setup.kubelet, Kubelet):
        kubelet_fails(world, setup.kubelet)
        return
    process = _process(world, setup, setup.kubelet)
    if not isinstance(process, KubeletProcess):
        kubelet_fails(world, process)
        return
    world.kubelet = process
    world.allocatable = process.node.allocatable
    delay = ", scale-down delay" if process.node.delays != DelayRules() else ""
    policy = "static" if process.node.policy is not None else "none"
    world.record(
        EntryKind.KUBELET_STARTED,
        f"kubelet {setup.version} starts, CPU Manager policy {policy}{delay}",
        version=setup.version,
        policy=policy,
    )
    _readmit(world, process)


def _process(world: World, setup: KubeletSetup, kubelet: Kubelet) -> KubeletProcess | NotRunning:
    """Start the managers on the state files, or return what prevents it."""
    info = machine_info(world)
    started = replace(kubelet, cgroup_version=world.timeline.cgroup_version)
    node = start_node(info, started, fit=True)
    if not isinstance(node, Node):
        return node
    gates = gates_at_start(
        setup.minor,
        [kubelet.gates_of_main_file, kubelet.config.feature_gates],
        kubelet.gate_flags,
        patch=kubelet.version.patch,
    )
    reader = state_reader(gates)
    if refused := node.restore(world.disk.read_cpu(reader), world.disk.read_memory(reader)):
        return refused
    node.claims = world.claims
    if world.timeline.in_place is not None:
        world.timeline.in_place.attach(node, world.timeline.machine, started)
    if setup.grace_of_pods:
        node.delays = DelayRules(by_pod=True)
    assert node.allocatable is not None
    period = max(kubelet.config.cpu_manager_reconcile_period, 1) + world.timeline.timing.reconcile_pass
    return KubeletProcess(
        setup=setup,
        node=node,
        rules=ResizeRules.of(
            gates, kubelet.config, cgroup_version=started.cgroup_version, preview=setup.preview
        ),
        reader=reader,
        started=world.now,
        period=period,
        capacity=whole_node(info, kubelet.config, node.allocatable, gates.release),
        back_offs=BackOffs.of(kubelet.config, gates),
        reports_allocated_resources=reports_allocated_resources(gates),
        written=node.state_file() if world.disk.cpu is not None else None,
        written_memory=node.memory.state_file() if world.disk.memory is not None else None,
    )


def machine_info(world: World) -> MachineInfo:
    """Return the machine as a kubelet currently sees it."""
    source = world.timeline.machine
    offline = source.machine.online.mask & ~world.online
    return kubelet_view(without(source.machine, offline)) if offline else source.info


def state_reader(gates: FeatureGates) -> StateReader:
    """Return how a kubelet with these gates reads and writes its files."""
    return StateReader(
        minor=gates.minor,
        pod_level_managers=gates.enabled("PodLevelResourceManagers"),
        exclusive_resize=gates.enabled("InPlacePodVerticalScalingExclusiveCPUs"),
    )


def _readmit(world: World, kubelet: KubeletProcess) -> None:
    """Admit all pods of the node, oldest first, including those that waited for a kubelet."""
    for life in [life for life in world.pods.values() if life.deleted]:
        world.record(EntryKind.REMOVED, "is removed: the kubelet stops its containers", life)
        forget(world, life)
    kubelet.node.resume(())
    kubelet.node.sources_ready = False
    for life in list(world.on_node()):
        if world.kubelet is not kubelet:
            return
        if life.admitted:
            take_back(world, kubelet, life)
        else:
            admit(world, kubelet, life)
    kubelet.node.sources_ready = True
    for life in list(world.on_node()):
        wanted = life.uid in kubelet.node.active and not same_resources(
            life.running.spec, life.running.allocated
        )
        if wanted and world.kubelet is kubelet:
            handle_resize(world, kubelet, life)


def without(machine: Machine, offline: int) -> Machine:
    """Return the machine with these CPUs (a mask) offline."""
    gone = CPUSet(offline)
    cpus = tuple(_cpu(cpu, gone) for cpu in machine.cpus if cpu.number not in gone)
    caches = tuple(cache._replace(cpus=cache.cpus - gone) for cache in machine.caches)
    sockets = {cpu.package_id for cpu in cpus}
    return replace(
        machine,
        cpus=cpus,
        numa_nodes=tuple(
            replace(
                node,
                cpus=node.cpus - gone,
                directory_cpus=None if node.directory_cpus is None else node.directory_cpus - gone,
            )
            for node in machine.numa_nodes
        ),
        caches=tuple(cache for cache in caches if cache.cpus),
        offline=machine.offline | gone,
        cpuinfo_sockets=min(machine.cpuinfo_sockets, len(sockets)),
    )


def _cpu(cpu: CPU, gone: CPUSet) -> CPU:
    packages = None if cpu.package_cpus is None else cpu.package_cpus - gone
    return cpu._replace(siblings=cpu.siblings - gone, package_cpus=packages)


def take_back(world: World, kubelet: KubeletProcess, life: PodLife) -> None:
    """Admit a running pod again."""
    waits = {key[1]: wait for key, wait in world.disk.waits.items() if key[0] == life.uid}
    if waits and not kubelet.setup.grace_of_pods:
        fail(world, life, "UnexpectedAdmissionError", _SWITCHED_OFF)
        return
    granted, as_held = life.running.allocated, _as_held(kubelet, life.running.allocated)
    allocates = kubelet.rules.allocates
    pod = pod_with_status(life, as_held if allocates else granted)
    if not take_verdict(world, life, kubelet.node.admit(pod)):
        return
    if as_held != granted and (allocates or IN_PROGRESS in life.conditions):
        life.running = replace(life.running, allocated=as_held)
        life.conditions.pop(IN_PROGRESS, None)
    if waits:
        _go_on(world, kubelet, life, granted, waits)
    for container in granted.all_containers:
        if life.containers[container.name].returns:
            life.containers[container.name].returns = False
            if granted.restarts(container, KILLED):
                start(world, kubelet, life, container)
            else:
                # How it ended is unknown, so it counts as failed (ContainerStatusUnknown).
                end(world, life, container.name, KILLED)
    kubelet.plan(world.now + world.timeline.timing.pod_sync, JobKind.SYNC, life)


def _as_held(kubelet: KubeletProcess, pod: StoredPod) -> StoredPod:
    """Return the pod with the CPUs that each container holds, where that differs from its entitlement."""
    held, rules = kubelet.node.state.assignments.get(pod.uid, {}), kubelet.node.pod_rules
    if not held or kubelet.node.cpu.rules.divides(pod):
        return pod
    candidate = Candidate(pod, pod_qos(rules.view(pod)))
    changed = {
        each.name: _with_cpus(each, held[each.name].bit_count())
        for each in pod.all_containers
        if each.name in held and kubelet.node.cpu.claim(candidate, each).cpus != held[each.name].bit_count()
    }
    return with_requirements(pod, changed) if changed else pod


def _with_cpus(container: Container, count: int) -> ResourceRequirements:
    """Return a container's resources with this number of CPUs."""
    cpus = {"cpu": Quantity.from_value(count)}
    resources = container.resources
    return replace(resources, requests={**resources.requests, **cpus}, limits={**resources.limits, **cpus})


def _go_on(
    world: World, kubelet: KubeletProcess, life: PodLife, granted: StoredPod, waits: Mapping[str, SavedWait]
) -> None:
    """Keep pending scale-downs that are still valid; the others start again if they are still requested.

    Rule: the announced redesign of KEP-6122: a reboot, or another size requested since, starts a new wait.
    """
    kept = {
        each.name: each.resources
        for each in granted.all_containers
        if each.name in waits and _makes_sense(world, kubelet, each, (life.uid, each.name))
    }
    for name in waits:
        wait = world.disk.waits.pop((life.uid, name))
        if name in kept:
            world.disk.waits[life.uid, name] = wait
            kubelet.node.state.postpone(life.uid, name, wait.cpus)
            kubelet.timers.due[life.uid, name] = wait.due
    if kept:
        allocated = with_requirements(life.running.allocated, kept)
        life.running = replace(life.running, allocated=allocated)
        life.conditions[IN_PROGRESS] = Condition(type=IN_PROGRESS)
        kubelet.node.active[life.uid] = kubelet.node.pod_rules.known(allocated)


def _makes_sense(world: World, kubelet: KubeletProcess, container: Container, key: Key) -> bool:
    wait, held = world.disk.waits[key], kubelet.node.state.assigned(*key) or 0
    wanted = container.resources.requests.get("cpu", Quantity()).value
    return wait.boot == world.boot and held.bit_count() != wanted == wait.cpus.bit_count()
