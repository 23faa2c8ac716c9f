"""Claims, classes and devices as frozen values: the part of ``resource.k8s.io/v1`` that matters here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.quantity import Quantity

MAX_RESULTS = 32
"""The maximum number of devices of one claim (resource/v1, AllocationResultsMaxSize)."""


class Version(NamedTuple):
    """A semantic version, which never equals a string."""

    text: str


Attribute: TypeAlias = "bool | int | str | Version | tuple[bool | int | str | Version, ...]"


class RequestPolicy(NamedTuple):
    """The amounts that a request may consume of a capacity: a default, and either some values or a range."""

    default: Quantity | None = None
    values: tuple[Quantity, ...] = ()
    minimum: Quantity | None = None
    maximum: Quantity | None = None
    step: Quantity | None = None


class Capacity(NamedTuple):
    """A capacity of a device, and the quantities that can be requested from it."""

    value: Quantity
    policy: RequestPolicy | None = None


class NodeShare(NamedTuple):
    """The amount of a node resource that a device counts as (KEP-5517): per device or per unit of a capacity.

    ``multiplier`` is None if there is only overhead, per pod and per container that names the claim.
    ``old``: in the format of 1.36 (``nodeAllocatableResourceMappings``); later releases have other members.
    """

    resource: str
    multiplier: Quantity | None = None
    capacity: str = ""
    old: bool = False
    per_pod: Quantity | None = None
    per_container: Quantity | None = None

    def known_to(self, minor: int) -> bool:
        """Return whether an API server of 1.*minor* keeps it."""
        return minor >= SHARES_SINCE and self.old == (minor == SHARES_SINCE)


SHARES_SINCE = 36
"""The first minor that counts devices as the node's resources, by a gate."""


class Device(NamedTuple):
    """One device of a slice; attributes have a domain in their names, capacities are named as published.

    ``allows_many`` devices are shared by claims, each of which consumes some capacity. ``unsupported`` names
    the part of the device that is not supported here, empty if everything is. ``shares`` are the node
    resources that it counts as.
    """

    driver: str
    pool: str
    name: str
    attributes: Mapping[str, Attribute] = {}
    capacity: Mapping[str, Capacity] = {}
    allows_many: bool = False
    unsupported: str = ""
    shares: tuple[NodeShare, ...] = ()

    @property
    def id(self) -> tuple[str, str, str]:
        """Driver, pool and name, which are unique to the device."""
        return self.driver, self.pool, self.name


class DeviceRequest(NamedTuple):
    """One request, or one of the alternatives (``firstAvailable``) of a request.

    ``selectors`` are CEL expressions. ``unsupported`` names the part of it that is not supported here.
    """

    name: str
    class_name: str = ""
    selectors: tuple[str, ...] = ()
    number: int = 1
    all_devices: bool = False
    capacity: Mapping[str, Quantity] = {}
    alternatives: tuple[DeviceRequest, ...] = ()
    unsupported: str = ""


class Constraint(NamedTuple):
    """Devices of these requests (or of all) have the same value of an attribute, or all distinct ones."""

    attribute: str
    requests: tuple[str, ...] = ()
    distinct: bool = False


class CPUConfig(NamedTuple):
    """The CPU set in a claim's opaque configuration; ``problem`` is the error in it, if any."""

    cpus: CPUSet = CPUSet()
    requests: tuple[str, ...] = ()
    problem: str = ""


class Result(NamedTuple):
    """One device allocated to a claim, as its status names it."""

    request: str
    driver: str
    pool: str
    device: str
    consumed: Mapping[str, Quantity] = {}


class Claim(NamedTuple):
    """A ResourceClaim, or one created from a template for a pod; ``str(origin)`` is where it was read.

    ``results`` are the devices that are already allocated to it, None if it is not allocated; ``users`` are
    the UIDs of the pods that it is reserved for. A claim created from a template belongs to a pod (``owner``,
    its UID), which calls it ``pod_claim``.
    """

    name: str
    namespace: str = "default"
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    configs: tuple[CPUConfig, ...] = ()
    origin: object = ""
    uid: str = ""
    results: tuple[Result, ...] | None = None
    users: tuple[str, ...] = ()
    owner: str = ""
    pod_claim: str = ""

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class DeviceClass(NamedTuple):
    """Selectors that every device of a request for the class must match."""

    name: str
    selectors: tuple[str, ...] = ()


class Grant(NamedTuple):
    """One device that a claim gets, the request it is for, and the capacity it consumes."""

    request: str
    device: Device
    consumed: Mapping[str, Quantity] = {}
