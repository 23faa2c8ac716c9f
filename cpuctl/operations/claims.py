"""Claims of pods on one node: what the scheduler allocates, and which CPUs the driver assigns for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document, PlacedText, Syntax
from cpuctl.dra.accounting import ClaimRules
from cpuctl.dra.allocation import Inventory
from cpuctl.dra.driver import DRIVER
from cpuctl.dra.model import SHARES_SINCE, Device, DeviceClass
from cpuctl.dra.node import NodeClaims, PodClaims
from cpuctl.dra.prepare import Driver
from cpuctl.dra.published import differences
from cpuctl.dra.reading import Slices, decode_claim_objects, decode_device, decode_slices
from cpuctl.dra.slices import device_object, driver_devices
from cpuctl.engine.pod_rules import node_rules

if TYPE_CHECKING:
    from cpuctl.inputs.dra import LoadedDriver
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.model import Pod
    from cpuctl.pods.reading.manifests import DRAObject

_OWN_CLASS = DeviceClass(DRIVER, (f'device.driver == "{DRIVER}"',))
"""The class in the driver's manifests."""


class ClaimsPlan(NamedTuple):
    """The pods in their order, and all claims after the last of them."""

    pods: tuple[PodClaims, ...]
    claims: NodeClaims

    @property
    def driver(self) -> Driver:
        """The driver."""
        return self.claims.driver


def plan_claims(
    given: GivenPods,
    loaded: LoadedDriver,
    sources: Sources,
    *,
    fixed: bool = False,
) -> ClaimsPlan:
    """Allocate and prepare the claims of pods one after another, as if each were scheduled to this node.

    Raise InputError for an invalid claim, class or slice.
    """
    node = node_claims(given.dra, loaded, sources, fixed=fixed)
    for pod in given.pods:
        node.allocate(pod)
        node.prepare(pod)
    pods = (node.pods.get(pod.uid, PodClaims(pod)) for pod in given.pods)
    return ClaimsPlan(tuple(pods), node)


def claims_of_kubelet(
    arguments: str,
    dra: Sequence[DRAObject],
    source: MachineSource,
    kubelet: tuple[KubeletConfiguration | None, FeatureGates],
    sources: Sources,
    *,
    running: Iterable[Pod] = (),
) -> NodeClaims:
    """Start a driver with these *arguments* next to a kubelet (None if it is unknown), and read claims.

    Raise UsageError for invalid arguments, InputError for an invalid claim, class or slice.
    """
    from cpuctl.inputs.dra import driver_for_kubelet, read_driver_arguments

    flags = read_driver_arguments(arguments)
    shown = arguments or "none: CPUs grouped by NUMA node, none reserved"
    sources.add("driverArguments", shown, "given" if arguments else "default")
    config, gates = kubelet
    driver = driver_for_kubelet(flags, source, sources, config, dra)
    return node_claims(dra, driver._replace(gates=gates), sources, running=running)


def node_claims(
    dra: Iterable[DRAObject],
    loaded: LoadedDriver,
    sources: Sources,
    *,
    fixed: bool = False,
    running: Iterable[Pod] = (),
) -> NodeClaims:
    """Read claims, classes and slices, and adopt existing allocations.

    Raise InputError for an invalid claim, class or slice.
    """
    objects = decode_claim_objects(dra)
    slices, own = decode_slices(objects.slices, loaded.node), own_devices(loaded)
    _warn_of_slices(slices, own, sources)
    if DRIVER not in objects.classes:
        sources.add("deviceClass", f"{DRIVER}, as in the driver's manifests", "default")
    inventory = Inventory(
        # The scheduler uses what is published or, if nothing is, what the driver would publish.
        devices=slices.devices if DRIVER in slices.drivers else (*own, *slices.devices),
        classes={DRIVER: _OWN_CLASS, **objects.classes},
        incomplete=slices.incomplete,
        invalid=slices.invalid,
    )
    driver = Driver(loaded.machine, loaded.settings, fixed=fixed)
    rules = ClaimRules() if loaded.gates is None else ClaimRules.of(loaded.gates)
    node = NodeClaims(objects, inventory, driver, rules, loaded.node, slices.undecided - {DRIVER})
    # Its devices are published or computed: if there are none, all CPUs are reserved.
    node.know_drivers((DRIVER,))
    if loaded.gates is not None:
        node.kubelet = node_rules(loaded.gates)
    if loaded.settings.node_allocatable_mapping and not rules.counts:
        sources.warnings.append(
            "DRANodeAllocatableResources is disabled: the driver's mapping of devices to the node's CPUs has "
            "no effect"
        )
    elif loaded.settings.node_allocatable_mapping and rules.minor == SHARES_SINCE:
        sources.warnings.append(
            "the driver maps devices to the node's CPUs in the 1.37 format: API server 1.36 drops this "
            "mapping"
        )
    node.resume(running, loaded.prepared.get)
    return node


def _warn_of_slices(slices: Slices, own: Sequence[Device], sources: Sources) -> None:
    """Warn about ignored slices, incomplete pools, and slices that the driver would publish differently."""
    if slices.passed_over:
        sources.warnings.append(f"{slices.passed_over} ResourceSlices of other nodes are ignored")
    if DRIVER in slices.drivers:
        published = [each for each in slices.devices if each.driver == DRIVER]
        sources.add("driverDevices", f"{len(published)} in ResourceSlices of {DRIVER}", "given")
        sources.warnings += (
            f"ResourceSlices of {DRIVER} are not what the driver would publish with these flags: {each}"
            for each in differences(published, own)
        )
    sources.warnings += (
        f"pool {each} is incomplete: it has more ResourceSlices than are among the manifests, and the "
        "scheduler waits for them"
        for each in slices.incomplete
    )


def own_devices(loaded: LoadedDriver) -> tuple[Device, ...]:
    """Return the devices that the driver publishes for the machine, as the scheduler reads them."""
    placed = PlacedText("", Syntax.JSON)
    published = (
        device_object(each, loaded.machine, loaded.settings)
        for each in driver_devices(loaded.machine, loaded.settings)
    )
    cursors = (Cursor.at_root(Document(DRIVER, 0, each, placed)) for each in published)
    return tuple(decode_device(each, each, DRIVER, loaded.node) for each in cursors)
