"""What a kubelet of one release, with its gates and policies, does with a resize before any allocator.

Rule: KEP-1287, KEP-5419 and KEP-5554; kubelet ``canResizePod`` (1.27 to 1.33), then
``pkg/kubelet/allocation/handlers.go``.
"""

from typing import Self

from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.releases.behaviours import Behaviours, behaviours
from cpuctl.pods.model import Container, ContainerKind
from cpuctl.records import Record

EXCLUSIVE_CPUS = "InPlacePodVerticalScalingExclusiveCPUs"
EXCLUSIVE_MEMORY = "InPlacePodVerticalScalingExclusiveMemory"
IN_PLACE = "InPlacePodVerticalScaling"
INIT_CONTAINERS = "InPlacePodVerticalScalingInitContainers"
POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"
OBSERVED_GENERATION = "PodObservedGenerationTracking"


class ResizeRules(Record):
    """A kubelet 1.*minor*.*patch*: the gates that are on, and the managers with a static policy.

    ``exclusive_cpus`` and ``exclusive_memory`` are the gates that allow resizing exclusive CPUs and memory
    of static managers; with ``preview`` the former have an allocator in every release. ``swap`` means that
    Burstable pods may swap; ``minds_static_memory`` that a static Memory Manager is an obstacle, as 1.32
    intended (it compared the policy with a different spelling).
    """

    minor: int = 36
    patch: int | None = None
    turned: frozenset[str] = frozenset()
    in_place: bool = True
    init_containers: bool = True
    pod_level: bool = True
    pod_level_resources: bool = True
    exclusive_cpus: bool = False
    exclusive_memory: bool = False
    preview: bool = False
    static_cpus: bool = False
    static_memory: bool = False
    swap: bool = False
    observes_generation: bool = True
    minds_static_memory: bool = True

    @classmethod
    def of(
        cls,
        gates: FeatureGates,
        config: KubeletConfiguration,
        *,
        cgroup_version: int = 2,
        preview: bool = False,
    ) -> Self:
        """Return the rules of a release; with *preview* its gate enables the allocator, released or not."""
        release = gates.release
        return cls(
            minor=gates.minor,
            patch=gates.patch,
            turned=gates.turned,
            in_place=gates.enabled(IN_PLACE),
            init_containers=gates.enabled(INIT_CONTAINERS),
            pod_level=gates.enabled(POD_LEVEL),
            pod_level_resources=_takes_effect(gates, "PodLevelResources"),
            exclusive_cpus=gates.enabled(EXCLUSIVE_CPUS),
            exclusive_memory=_frees_memory(gates),
            preview=preview,
            static_cpus=config.cpu_manager_policy == "static",
            static_memory=config.memory_manager_policy == "Static",
            swap=_swaps(gates, config, cgroup_version),
            minds_static_memory=release.rejects_memory_resizes_with_static_manager,
            observes_generation=gates.enabled(OBSERVED_GENERATION),
        )

    @property
    def release(self) -> Behaviours:
        """The behaviours that are specific to this release."""
        return behaviours(self.minor, self.patch, self.turned)

    @property
    def has_allocator(self) -> bool:
        """Whether exclusive CPUs can follow a container's size, if their gate is on."""
        return self.preview or self.release.resizes_exclusive_cpus

    @property
    def allocates(self) -> bool:
        """Whether exclusive CPUs follow a container's size."""
        return self.exclusive_cpus and self.has_allocator

    @property
    def conditions(self) -> bool:
        """Whether resizes are reported in conditions; before that, ``status.resize`` had one word."""
        return self.release.reports_resizes_in_conditions

    @property
    def checks_capacity(self) -> bool:
        """Whether the kubelet compares a resize with what the whole node has for pods."""
        return not self.release.leaves_resize_capacity_to_server

    def resizable(self, container: Container) -> bool:
        """Return whether a container's resources may change while its pod runs."""
        match container.kind:
            case ContainerKind.APP:
                return True
            case ContainerKind.SIDECAR:
                return self.release.resizes_sidecars
            case ContainerKind.INIT:
                return self.init_containers


DEFAULT_RULES = ResizeRules()
"""Release 1.36 with its defaults."""


def keeps_baselines(gates: FeatureGates) -> bool:
    """Return whether the CPU Manager's state file records what was guaranteed at admission."""
    return gates.release.keeps_baselines and gates.enabled(EXCLUSIVE_CPUS)


def _frees_memory(gates: FeatureGates) -> bool:
    """Return whether a static Memory Manager is not an obstacle; it got its own gate in 1.34."""
    return gates.enabled(EXCLUSIVE_MEMORY if gates.release.has_gate_of_exclusive_memory else EXCLUSIVE_CPUS)


def _takes_effect(gates: FeatureGates, name: str) -> bool:
    """Return whether a feature is on; setting a gate that a release does not have has no effect."""
    return gates.enabled(name) and (gates.stage(name) is not None or name not in gates.settings)


def _swaps(gates: FeatureGates, config: KubeletConfiguration, cgroup_version: int) -> bool:
    return config.swap_behavior == "LimitedSwap" and gates.enabled("NodeSwap") and cgroup_version == 2
