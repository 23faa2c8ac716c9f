"""Claims of pods on one node: what the scheduler gives them, and which CPUs the driver makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document, PlacedText, Syntax
from cpuctl.dra.allocation import Allocated, Books, Inventory, Unsatisfied, allocate
from cpuctl.dra.driver import DRIVER
from cpuctl.dra.model import Claim, Device, DeviceClass, Grant
from cpuctl.dra.prepare import Driver, NotPrepared, Prepared
from cpuctl.dra.reading import ClaimObjects, decode_claim_objects, decode_device, decode_slices
from cpuctl.dra.selectors import Selectors
from cpuctl.dra.slices import device_object, driver_devices
from cpuctl.engine.outcome import Undetermined

if TYPE_CHECKING:
    from cpuctl.inputs.dra import LoadedDriver
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.inputs.sources import Sources
    from cpuctl.pods.model import Pod, PodClaim

_OWN_CLASS = DeviceClass(DRIVER, (f'device.driver == "{DRIVER}"',))
"""The class that the driver's manifests bring."""


class ClaimOutcome(NamedTuple):
    """A claim of a pod: its name there and its own, its devices, and the CPUs that the driver gives for them.

    ``containers`` are those that name it. ``known`` is False where the driver prepares none of its devices.
    """

    name: str
    claim: str
    grants: tuple[Grant, ...] = ()
    prepared: Prepared | NotPrepared | None = None
    containers: tuple[str, ...] = ()

    @property
    def cpus(self) -> CPUSet:
        """The CPUs of the claim."""
        return self.prepared.cpus if isinstance(self.prepared, Prepared) else CPUSet()


class PodClaims(NamedTuple):
    """What comes of a pod's claims; where they are not satisfied, or nobody knows, ``why`` says so.

    ``problem`` is why the pod does not start although its claims are allocated.
    """

    pod: Pod
    claims: tuple[ClaimOutcome, ...] = ()
    why: Unsatisfied | Undetermined | None = None
    problem: str = ""


class ClaimsPlan(NamedTuple):
    """The pods in their order, and the driver after the last of them."""

    pods: tuple[PodClaims, ...]
    driver: Driver
    objects: ClaimObjects


class _MissingError(Exception):
    """The claims of a pod are not known: an object is not among those given."""


def plan_claims(
    given: GivenPods, loaded: LoadedDriver, sources: Sources, *, fixed: bool = False
) -> ClaimsPlan:
    """Allocate and prepare the claims of pods one after the other, as if each came to this node.

    Raise InputError for a claim, class or slice that makes no sense.
    """
    objects = decode_claim_objects(given.dra)
    slices = decode_slices(objects.slices, loaded.node)
    if slices.passed_over:
        sources.warnings.append(f"{slices.passed_over} ResourceSlices of other nodes are passed over")
    if DRIVER in slices.drivers:
        sources.warnings.append(f"ResourceSlices of {DRIVER} are passed over: the machine tells its devices")
    others = tuple(each for each in slices.devices if each.driver != DRIVER)
    inventory = Inventory((*own_devices(loaded), *others), {DRIVER: _OWN_CLASS, **objects.classes})
    if DRIVER not in objects.classes:
        sources.add("deviceClass", f"{DRIVER}, as the driver's manifests have it", "default")
    node = _Node(objects, inventory, Driver(loaded.machine, loaded.settings, fixed=fixed))
    return ClaimsPlan(tuple(node.admit(pod) for pod in given.pods), node.driver, objects)


def own_devices(loaded: LoadedDriver) -> tuple[Device, ...]:
    """Return the devices that the driver publishes for the machine, as the scheduler reads them."""
    placed = PlacedText("", Syntax.JSON)
    published = (
        device_object(each, loaded.machine, loaded.settings)
        for each in driver_devices(loaded.machine, loaded.settings)
    )
    cursors = (Cursor.at_root(Document(DRIVER, 0, each, placed)) for each in published)
    return tuple(decode_device(each, each, DRIVER, loaded.node) for each in cursors)


class _Node:
    """A node to which pods come, with what they have taken so far."""

    def __init__(self, objects: ClaimObjects, inventory: Inventory, driver: Driver) -> None:
        self.objects = objects
        self.inventory = inventory
        self.driver = driver
        self.books = Books()
        self.selectors = Selectors()
        self.shared: dict[tuple[str, str], ClaimOutcome] = {}
        self.holders: dict[tuple[str, str], str] = {}

    def admit(self, pod: Pod) -> PodClaims:
        """Allocate what is not allocated yet, book it, and prepare it."""
        try:
            claims = [(each, self._claim(pod, each)) for each in pod.resource_claims]
        except _MissingError as error:
            return PodClaims(pod, why=Undetermined(str(error)))
        by_key = {self._key(pod, each): claim for each, claim in claims}
        new = [claim for key, claim in by_key.items() if key not in self.shared]
        if strangers := self._strangers(new):
            return PodClaims(pod, why=Undetermined(strangers))
        found = allocate(new, self.inventory, self.books, self.selectors)
        if not isinstance(found, Allocated):
            return PodClaims(pod, why=found)
        grants = iter(found.grants)
        outcomes, problems = [], []
        for each, claim in claims:
            outcome, problem = self._outcome(pod, each, claim, grants)
            outcomes.append(outcome)
            problems.append(problem)
        return PodClaims(pod, tuple(outcomes), problem=next(filter(None, problems), ""))

    def _outcome(
        self, pod: Pod, each: PodClaim, claim: Claim, grants: Iterable[tuple[Grant, ...]]
    ) -> tuple[ClaimOutcome, str]:
        key, containers = self._key(pod, each), _users(pod, each.name)
        if held := self.shared.get(key):
            # The driver ties a claim to the first container that starts with it.
            problem = f"claim {claim.full_name} is {self.holders[key]}'s already: a claim is one container's"
            return held._replace(name=each.name, containers=containers), problem if held.cpus else ""
        given = next(iter(grants))
        for grant in given:
            self.books.book(grant)
        outcome = ClaimOutcome(each.name, claim.full_name, given, containers=containers)
        if any(grant.device.driver == DRIVER for grant in given):
            outcome = outcome._replace(prepared=self.driver.prepare(claim.full_name, given, claim.configs))
        self.shared[key], self.holders[key] = outcome, f"pod {pod.full_name}"
        if isinstance(outcome.prepared, NotPrepared):
            return outcome, outcome.prepared.error
        if outcome.cpus and len(containers) > 1:
            return outcome, (
                f"claim {claim.full_name} is named by containers {', '.join(containers)}: a claim is one "
                "container's, and only the first of them starts"
            )
        return outcome, ""

    def _key(self, pod: Pod, each: PodClaim) -> tuple[str, str]:
        """Tell claims apart: one made from a template is the pod's own."""
        return pod.namespace, each.claim or f"{pod.uid}/{each.name}"

    def _claim(self, pod: Pod, each: PodClaim) -> Claim:
        name, kind = (each.claim, "ResourceClaim") if each.claim else (each.template, "ResourceClaimTemplate")
        known: Mapping[tuple[str, str], Claim] = self.objects.claims if each.claim else self.objects.templates
        if (claim := known.get((pod.namespace, name))) is None:
            raise _MissingError(f"{kind} {pod.namespace}/{name} is not among the manifests")
        return claim if each.claim else claim._replace(name=f"{pod.name}-{each.name}")

    def _strangers(self, claims: Sequence[Claim]) -> str:
        """Name the first class of devices that no manifest tells of; its driver may offer anything."""
        for claim in claims:
            for request in claim.requests:
                for each in request.alternatives or (request,):
                    text = self._stranger(claim, each.class_name)
                    if text:
                        return text
        return ""

    def _stranger(self, claim: Claim, name: str) -> str:
        asked = f"claim {claim.full_name} asks for devices of class {name}"
        if name not in self.inventory.classes:
            return f"{asked}, and there is no such DeviceClass among the manifests"
        known = {device.driver for device in self.inventory.devices}
        drivers = self.selectors.drivers(self.inventory.classes[name].selectors)
        if missing := ", ".join(sorted(drivers - known)):
            return f"{asked}, and no ResourceSlice tells of the devices of its driver {missing}"
        return ""


def _users(pod: Pod, name: str) -> tuple[str, ...]:
    return tuple(each.name for each in pod.all_containers if name in each.resources.claims)
