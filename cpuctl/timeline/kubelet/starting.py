"""A kubelet starts: on the machine as it is now, on the files that the last one left, with the pods that run.

Rule: kubelet v1.36, ``cmd/kubelet/app/server.go`` and ``HandlePodAdditions``.
"""

from __future__ import annotations

from cpuctl.checkpoints.reader import StateReader
from cpuctl.engine.cpu.resizing.delay import DelayRules
from cpuctl.engine.node import Node
from cpuctl.engine.resize.obstacles import whole_node
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import same_resources
from cpuctl.engine.start import start_node
from cpuctl.kubelet.gates.at_start import gates_at_start
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.cadvisor.machine_info import MachineInfo
from cpuctl.machine.cadvisor.view import kubelet_view
from cpuctl.timeline.kubelet.readmitting import take_back
from cpuctl.timeline.model import KubeletSetup
from cpuctl.timeline.pods.admitting import admit, forget
from cpuctl.timeline.pods.resizing import handle_resize
from cpuctl.timeline.world.back_off import BackOffs
from cpuctl.timeline.world.failing import NotRunning, kubelet_fails
from cpuctl.timeline.world.happenings import What
from cpuctl.timeline.world.kubelet_process import KubeletProcess
from cpuctl.timeline.world.offline import without
from cpuctl.timeline.world.world import World


def start_kubelet(world: World) -> None:
    """Start the kubelet that is installed; where it does not come up, say why."""
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
    world.tell(
        What.KUBELET_STARTED,
        f"kubelet {setup.version} starts, CPU Manager policy {policy}{delay}",
        version=setup.version,
        policy=policy,
    )
    _readmit(world, process)


def _process(world: World, setup: KubeletSetup, kubelet: Kubelet) -> KubeletProcess | NotRunning:
    """Start the managers on the files; or return what keeps them from starting."""
    info = machine_info(world)
    told = kubelet._replace(cgroup_version=world.timeline.cgroup_version)
    node = start_node(info, told, fit=True)
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
    if setup.grace_of_pods:
        node.delays = DelayRules(by_pod=True)
    assert node.allocatable is not None
    period = max(kubelet.config.cpu_manager_reconcile_period, 1) + world.timeline.timing.reconcile_pass
    return KubeletProcess(
        setup=setup,
        node=node,
        rules=ResizeRules.of(
            gates, kubelet.config, cgroup_version=told.cgroup_version, preview=setup.preview
        ),
        reader=reader,
        started=world.now,
        period=period,
        capacity=whole_node(info, kubelet.config, node.allocatable, gates.release),
        back_offs=BackOffs.of(kubelet.config, gates),
        written=node.state_file() if world.disk.cpu is not None else None,
        written_memory=node.memory.state_file() if world.disk.memory is not None else None,
    )


def machine_info(world: World) -> MachineInfo:
    """Return what a kubelet is told of the machine as it is now."""
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
    """Take all pods of the node, the oldest first; those that waited for a kubelet come in their turn."""
    for life in [life for life in world.pods.values() if life.deleted]:
        world.tell(What.REMOVED, "is gone: the kubelet ends its containers", life)
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
