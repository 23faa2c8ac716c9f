"""ResourceClaims, their templates, DeviceClasses and ResourceSlices, read from manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.dra.driver import DRIVER
from cpuctl.dra.model import (
    Attribute,
    Capacity,
    Claim,
    Constraint,
    CPUConfig,
    Device,
    DeviceClass,
    DeviceRequest,
    NodeShare,
    RequestPolicy,
    Result,
    Version,
)
from cpuctl.pods.reading.manifests import DRAObject
from cpuctl.pods.reading.pods import decode_name, decode_namespace
from cpuctl.quantity import Quantity

_MOST_COUNT = 1 << 31
_ONE = Quantity.from_value(1)
_POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
_HOSTNAME = "kubernetes.io/hostname"


class Slices(NamedTuple):
    """The devices of slices that a node can reach, by driver, in the order of slices.

    ``drivers`` are all that publish slices, ``passed_over`` the slices of other nodes; ``undecided`` are
    drivers with slices that may or may not be for this node. ``incomplete`` pools (``driver/pool``) lack
    slices, ``invalid`` ones have two devices of the same name.
    """

    devices: tuple[Device, ...] = ()
    drivers: frozenset[str] = frozenset()
    passed_over: int = 0
    undecided: frozenset[str] = frozenset()
    incomplete: tuple[str, ...] = ()
    invalid: Mapping[str, str] = {}


class ClaimObjects(NamedTuple):
    """Claims in manifests: claims and templates by namespace and name, classes by name, slices.

    ``made`` are the pods' claims from templates, by the pod's UID and its name for them.
    """

    claims: Mapping[tuple[str, str], Claim] = {}
    templates: Mapping[tuple[str, str], Claim] = {}
    classes: Mapping[str, DeviceClass] = {}
    slices: tuple[Cursor, ...] = ()
    made: Mapping[tuple[str, str], Claim] = {}


def decode_claim_objects(objects: Iterable[DRAObject]) -> ClaimObjects:
    """Read the objects; raise InputError with the location of a missing or invalid value."""
    claims: dict[tuple[str, str], Claim] = {}
    templates: dict[tuple[str, str], Claim] = {}
    classes: dict[str, DeviceClass] = {}
    slices = []
    for kind, cursor in objects:
        match kind:
            case "ResourceClaim":
                claim = _existing(cursor)
                claims[claim.namespace, claim.name] = claim
            case "ResourceClaimTemplate":
                claim = _claim(cursor, cursor.required("spec").required("spec"))
                templates[claim.namespace, claim.name] = claim
            case "DeviceClass":
                spec = cursor.required("spec")
                name = decode_name(cursor.required("metadata"))
                classes[name] = DeviceClass(name, _selectors(spec))
            case _:
                slices.append(cursor)
    made = {(each.owner, each.pod_claim): each for each in claims.values() if each.pod_claim}
    return ClaimObjects(claims, templates, classes, tuple(slices), made)


def node_names(objects: Iterable[DRAObject]) -> set[str]:
    """Return the nodes that slices are for, and those whose CPUs are allocated to claims."""
    names = set()
    for kind, cursor in objects:
        if kind == "ResourceSlice":
            names.add(cursor.required("spec").optional("nodeName", Cursor.text, ""))
        elif kind == "ResourceClaim":
            results = _existing(cursor).results or ()
            names |= {each.pool for each in results if each.driver == DRIVER}
    return names - {""}


def _claim(cursor: Cursor, spec: Cursor) -> Claim:
    metadata = cursor.required("metadata")
    devices = spec.get("devices")
    members: dict[str, tuple[Cursor, ...]] = {
        name: tuple(devices.optional(name, Cursor.items, [])) if devices else ()
        for name in ("requests", "constraints", "config")
    }
    _refuse_repeated(members["requests"])
    return Claim(
        name=decode_name(metadata),
        namespace=decode_namespace(metadata),
        requests=tuple(_request(each) for each in members["requests"]),
        constraints=tuple(_constraint(each) for each in members["constraints"]),
        configs=tuple(_config(each) for each in members["config"] if _is_ours(each)),
        origin=cursor.origin,
    )


def _existing(cursor: Cursor) -> Claim:
    """Read a claim with its status: its devices, and the pods that use it."""
    claim, metadata = _claim(cursor, cursor.required("spec")), cursor.required("metadata")
    made_for = metadata.optional("annotations", Cursor.members, {}).get(_POD_CLAIM)
    claim = claim._replace(
        uid=metadata.optional("uid", Cursor.text, ""),
        owner=next(_pods_among(metadata.optional("ownerReferences", Cursor.items, [])), ""),
        pod_claim=made_for.text() if made_for is not None else "",
    )
    status = cursor.get("status")
    allocation = status.get("allocation") if status is not None else None
    if status is None or allocation is None:
        return claim
    devices = allocation.get("devices") or allocation
    configs = [each for each in devices.optional("config", Cursor.items, []) if _is_ours(each)]
    return claim._replace(
        results=tuple(_result(each) for each in devices.optional("results", Cursor.items, [])),
        users=tuple(_pods_among(status.optional("reservedFor", Cursor.items, []))),
        # An allocated claim uses the configuration that was copied into the allocation.
        configs=tuple(_of_class(_config(each), each) for each in configs),
    )


def _pods_among(references: Iterable[Cursor]) -> Iterator[str]:
    """Yield the UIDs of pods: owners have a kind, consumers a resource."""
    for each in references:
        kind = each.optional("kind", Cursor.text, "") or each.optional("resource", Cursor.text, "")
        if kind in ("Pod", "pods"):
            yield each.required("uid").text()


def _result(cursor: Cursor) -> Result:
    return Result(
        request=cursor.required("request").text(),
        driver=cursor.required("driver").text(),
        pool=cursor.required("pool").text(),
        device=cursor.required("device").text(),
        consumed=cursor.optional("consumedCapacity", _amounts, {}),
    )


def _of_class(config: CPUConfig, cursor: Cursor) -> CPUConfig:
    """Reject a configuration from a class, as the driver does."""
    if cursor.optional("source", Cursor.text, "FromClaim") == "FromClaim":
        return config
    return config._replace(problem="opaque config: configuration from DeviceClass is not supported")


def _refuse_repeated(requests: Iterable[Cursor]) -> None:
    names: set[str] = set()
    for each in requests:
        name = each.required("name").text()
        if name in names:
            raise each.error(f"another request is named {name}")
        names.add(name)


def _request(cursor: Cursor) -> DeviceRequest:
    name = cursor.required("name").text()
    alternatives = cursor.optional("firstAvailable", Cursor.items, [])
    if alternatives:
        return DeviceRequest(name, alternatives=tuple(_exact(each, each) for each in alternatives))
    # v1beta1 has no "exactly": its members are in the request.
    return _exact(cursor, cursor.get("exactly") or cursor)


def _exact(named: Cursor, cursor: Cursor) -> DeviceRequest:
    mode = cursor.optional("allocationMode", Cursor.text, "") or "ExactCount"
    capacity = cursor.get("capacity")
    admin = cursor.optional("adminAccess", Cursor.boolean, False)
    unsupported = "adminAccess" if admin else ""
    if mode not in ("ExactCount", "All"):
        unsupported = f"allocationMode {mode}"
    return DeviceRequest(
        name=named.required("name").text(),
        class_name=cursor.required("deviceClassName").text(),
        selectors=_selectors(cursor),
        number=cursor.optional("count", _count, 1),
        all_devices=mode == "All",
        capacity=capacity.optional("requests", _amounts, {}) if capacity is not None else {},
        unsupported=unsupported,
    )


def _count(cursor: Cursor) -> int:
    return cursor.integer(minimum=1, maximum=_MOST_COUNT)


def _selectors(cursor: Cursor) -> tuple[str, ...]:
    return tuple(
        each.required("cel").required("expression").text()
        for each in cursor.optional("selectors", Cursor.items, [])
    )


def _constraint(cursor: Cursor) -> Constraint:
    match, distinct = cursor.get("matchAttribute"), cursor.get("distinctAttribute")
    named = match or distinct
    if named is None:
        raise cursor.error("expected matchAttribute or distinctAttribute")
    return Constraint(named.text(), cursor.optional("requests", Cursor.texts, ()), distinct=match is None)


def _is_ours(config: Cursor) -> bool:
    opaque = config.get("opaque")
    return opaque is not None and opaque.required("driver").text() == DRIVER


def _config(cursor: Cursor) -> CPUConfig:
    """Read the CPUs that a claim names; values that the driver rejects are not input errors."""
    requests = cursor.optional("requests", Cursor.texts, ())
    parameters = cursor.required("opaque").required("parameters")
    version = parameters.optional("apiVersion", Cursor.text, "")
    if version != "v1alpha1":
        return CPUConfig(requests=requests, problem=f'unsupported opaque config apiVersion: "{version}"')
    config = parameters.get("cpuConfig")
    text = config.optional("cpuset", Cursor.text, "") if config is not None else ""
    if not text:
        return CPUConfig(requests=requests, problem="opaque config: cpuConfig.cpuset is empty or missing")
    try:
        return CPUConfig(CPUSet.parse(text), requests)
    except ValueError as error:
        problem = f'opaque config: failed to parse cpuset "{text}": {error}'
        return CPUConfig(requests=requests, problem=problem)


def _amounts(cursor: Cursor) -> Mapping[str, Quantity]:
    return {name: each.quantity() for name, each in cursor.members().items()}


class _Pool:
    """The slices of a pool's newest generation that reach the node; ``others`` counts the rest."""

    def __init__(self) -> None:
        self.generation = -1
        self.count = self.others = 0
        self.slices: list[tuple[str, Cursor]] = []

    def add(self, name: str, spec: Cursor, *, reached: bool) -> None:
        """Add a slice, unless there are newer ones."""
        pool = spec.required("pool")
        generation = pool.optional("generation", Cursor.integer, 0)
        if generation > self.generation:
            self.generation, self.slices, self.others = generation, [], 0
            self.count = pool.optional("resourceSliceCount", Cursor.integer, 1)
        if generation == self.generation and reached:
            self.slices.append((name, spec))
        self.others += generation == self.generation and not reached

    @property
    def is_whole(self) -> bool:
        """Whether all of its slices exist; a pool without slices for the node does not matter."""
        return not self.slices or len(self.slices) + self.others == self.count


def decode_slices(slices: Iterable[Cursor], node: str) -> Slices:
    """Read the devices that a node can reach, with slices sorted by name; raise InputError for invalid ones.

    Only the newest generation of a pool is used. Slices for other nodes are ignored; if a selector needs more
    than the node's name, the result is unknown (``undecided``).

    Rule: kubernetes ``dynamic-resource-allocation/structured``, ``pools_incubating.go``.
    """
    found: dict[tuple[str, str], _Pool] = {}
    drivers: set[str] = set()
    undecided: set[str] = set()
    passed_over = 0
    for cursor in slices:
        spec = cursor.required("spec")
        driver, pool = spec.required("driver").text(), spec.required("pool").required("name").text()
        reached = _slice_reaches(spec, node)
        if reached is None:
            undecided.add(driver)
        name = decode_name(cursor.required("metadata"))
        found.setdefault((driver, pool), _Pool()).add(name, spec, reached=bool(reached))
        if reached:
            drivers.add(driver)
        passed_over += reached is False
    pools = {
        (driver, name): [
            device
            for _, spec in sorted(pool.slices, key=lambda each: each[0])
            for device in _devices(spec, driver, name, node)
        ]
        for (driver, name), pool in sorted(found.items())
    }
    return Slices(
        devices=tuple(device for each in pools.values() for device in each),
        drivers=frozenset(drivers),
        passed_over=passed_over,
        undecided=frozenset(undecided),
        incomplete=tuple("/".join(key) for key, pool in found.items() if not pool.is_whole),
        invalid={"/".join(key): twice for key, each in pools.items() if (twice := _repeated(each))},
    )


def _repeated(devices: Iterable[Device]) -> str:
    seen: set[str] = set()
    for each in devices:
        if each.name in seen:
            return f"duplicate device name {each.name}"
        seen.add(each.name)
    return ""


def _slice_reaches(spec: Cursor, node: str) -> bool | None:
    if not spec.optional("perDeviceNodeSelection", Cursor.boolean, False):
        return _reaches(spec, node)
    found = [_reaches(each, node) for each in spec.optional("devices", Cursor.items, [])]
    return True if True in found else None if None in found else False


def _reaches(spec: Cursor, node: str) -> bool | None:
    """Return whether a slice or device is for the node; None if that depends on labels, which are unknown."""
    name = spec.optional("nodeName", Cursor.text, "")
    if name:
        return name == node
    if spec.optional("allNodes", Cursor.boolean, False):
        return True
    selector = spec.get("nodeSelector")
    if selector is None:
        return False
    found = [_term_matches(each, node) for each in selector.required("nodeSelectorTerms").items()]
    return True if True in found else None if None in found else False


def _term_matches(term: Cursor, node: str) -> bool | None:
    fields = term.optional("matchFields", Cursor.items, [])
    labels = term.optional("matchExpressions", Cursor.items, [])
    found = [_requirement(each, node, "metadata.name") for each in fields]
    found += [_requirement(each, node, _HOSTNAME) for each in labels]
    # A term without requirements matches no node.
    return False if False in found or not found else None if None in found else True


def _requirement(cursor: Cursor, node: str, known: str) -> bool | None:
    operator = cursor.required("operator").text()
    if cursor.required("key").text() != known or operator not in ("In", "NotIn"):
        return None
    return (node in cursor.optional("values", Cursor.texts, ())) is (operator == "In")


def _devices(spec: Cursor, driver: str, pool: str, node: str) -> Iterator[Device]:
    by_device = spec.optional("perDeviceNodeSelection", Cursor.boolean, False)
    for each in spec.optional("devices", Cursor.items, []):
        # v1beta1 has everything but the name in "basic".
        body = each.get("basic") or each
        if not by_device or _reaches(body, node):
            yield decode_device(each, body, driver, pool)


def decode_device(named: Cursor, cursor: Cursor, driver: str, pool: str) -> Device:
    """Read one device; raise InputError for an attribute without a value."""
    odd = (name for name in ("taints", "consumesCounters") if cursor.optional(name, Cursor.items, []))
    return Device(
        driver=driver,
        pool=pool,
        name=named.required("name").text(),
        attributes={
            _qualified(name, driver): _attribute(each)
            for name, each in cursor.optional("attributes", Cursor.members, {}).items()
        },
        capacity={
            name: _capacity(each) for name, each in cursor.optional("capacity", Cursor.members, {}).items()
        },
        allows_many=cursor.optional("allowMultipleAllocations", Cursor.boolean, False),
        unsupported=", ".join(odd),
        shares=tuple(_shares(cursor)),
    )


def _shares(cursor: Cursor) -> Iterator[NodeShare]:
    for resource, each in cursor.optional("nodeAllocatableResourceMappings", Cursor.members, {}).items():
        multiplier = each.optional("allocationMultiplier", Cursor.quantity, _ONE)
        yield NodeShare(resource, multiplier, each.optional("capacityKey", Cursor.text, ""), old=True)
    for resource, each in cursor.optional("nodeAllocatableResources", Cursor.members, {}).items():
        yield _share(resource, each)


def _share(resource: str, cursor: Cursor) -> NodeShare:
    share, mapping, overhead = NodeShare(resource), cursor.get("mapping"), cursor.get("overhead")
    if mapping is not None:
        name = "capacityMultiplier" if mapping.get("capacityKey") is not None else "deviceMultiplier"
        share = share._replace(
            multiplier=mapping.optional(name, Cursor.quantity, _ONE),
            capacity=mapping.optional("capacityKey", Cursor.text, ""),
        )
    if overhead is not None:
        share = share._replace(
            per_pod=overhead.optional("perPod", Cursor.quantity, None),
            per_container=overhead.optional("perContainer", Cursor.quantity, None),
        )
    return share


def _qualified(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _attribute(cursor: Cursor) -> Attribute:
    for name, value in cursor.members().items():
        match name:
            case "int":
                return value.integer()
            case "bool":
                return value.boolean()
            case "string":
                return value.text()
            case "version":
                return Version(value.text())
            case "strings":
                return value.texts()
            case "versions":
                return tuple(Version(each.text()) for each in value.items())
            case "ints":
                return tuple(each.integer() for each in value.items())
            case "bools":
                return tuple(each.boolean() for each in value.items())
            case _:
                continue
    raise cursor.expected("int, bool, string, version or a list of these")


def _capacity(cursor: Cursor) -> Capacity:
    policy = cursor.get("requestPolicy")
    # v1beta1 has the amount itself, as text.
    if isinstance(cursor.value, str | int | float):
        return Capacity(cursor.quantity())
    return Capacity(cursor.required("value").quantity(), None if policy is None else _policy(policy))


def _policy(cursor: Cursor) -> RequestPolicy:
    valid = cursor.get("validRange")

    def bound(name: str) -> Quantity | None:
        return valid.optional(name, Cursor.quantity, None) if valid is not None else None

    return RequestPolicy(
        default=cursor.optional("default", Cursor.quantity, None),
        values=tuple(each.quantity() for each in cursor.optional("validValues", Cursor.items, [])),
        minimum=bound("min"),
        maximum=bound("max"),
        step=bound("step"),
    )
