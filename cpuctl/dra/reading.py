"""ResourceClaims, templates of them, DeviceClasses and ResourceSlices, read from manifests."""

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
    RequestPolicy,
    Version,
)
from cpuctl.pods.reading.manifests import DRAObject
from cpuctl.pods.reading.pods import decode_name, decode_namespace
from cpuctl.quantity import Quantity

_MOST_COUNT = 1 << 31


class Slices(NamedTuple):
    """The devices of slices that a node can reach, by driver, in the order of slices.

    ``drivers`` are all that publish something, ``passed_over`` the slices of other nodes.
    """

    devices: tuple[Device, ...] = ()
    drivers: frozenset[str] = frozenset()
    passed_over: int = 0


class ClaimObjects(NamedTuple):
    """What manifests tell of claims: claims and templates by namespace and name, classes by name, slices."""

    claims: Mapping[tuple[str, str], Claim] = {}
    templates: Mapping[tuple[str, str], Claim] = {}
    classes: Mapping[str, DeviceClass] = {}
    slices: tuple[Cursor, ...] = ()


def decode_claim_objects(objects: Iterable[DRAObject]) -> ClaimObjects:
    """Read them; raise InputError with the place of what is missing or wrong."""
    claims: dict[tuple[str, str], Claim] = {}
    templates: dict[tuple[str, str], Claim] = {}
    classes: dict[str, DeviceClass] = {}
    slices = []
    for kind, cursor in objects:
        match kind:
            case "ResourceClaim":
                claim = _claim(cursor, cursor.required("spec"))
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
    return ClaimObjects(claims, templates, classes, tuple(slices))


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
    # v1beta1 has no "exactly": its members stand in the request.
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
    """Read the CPUs that a claim names; what the driver refuses of it is its error, no error of the input."""
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


def decode_slices(slices: Iterable[Cursor], node: str) -> Slices:
    """Read the devices that a node can reach, slices by name; raise InputError for what makes no sense.

    Of a pool only the newest generation counts. Slices for other nodes, or for some by a selector, are passed
    over.
    """
    found: dict[tuple[str, str], tuple[int, list[tuple[str, Cursor]]]] = {}
    drivers: set[str] = set()
    passed_over = 0
    for cursor in slices:
        spec = cursor.required("spec")
        if not _reaches(spec, node):
            passed_over += 1
            continue
        driver, pool = spec.required("driver").text(), spec.required("pool")
        drivers.add(driver)
        generation = pool.optional("generation", Cursor.integer, 0)
        kept, members = found.setdefault((driver, pool.required("name").text()), (generation, []))
        if generation > kept:
            kept, members = found[driver, pool.required("name").text()] = (generation, [])
        if generation == kept:
            members.append((decode_name(cursor.required("metadata")), spec))
    devices = tuple(
        device
        for (driver, pool_name), (_, members) in sorted(found.items())
        for _, spec in sorted(members, key=lambda each: each[0])
        for device in _devices(spec, driver, pool_name)
    )
    return Slices(devices, frozenset(drivers), passed_over)


def _reaches(spec: Cursor, node: str) -> bool:
    name = spec.optional("nodeName", Cursor.text, "")
    return name == node if name else spec.optional("allNodes", Cursor.boolean, False)


def _devices(spec: Cursor, driver: str, pool: str) -> Iterator[Device]:
    for each in spec.optional("devices", Cursor.items, []):
        # v1beta1 has all but the name in "basic".
        yield decode_device(each, each.get("basic") or each, driver, pool)


def decode_device(named: Cursor, cursor: Cursor, driver: str, pool: str) -> Device:
    """Read one device; raise InputError for an attribute that has no value."""
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
            _qualified(name, driver): _capacity(each)
            for name, each in cursor.optional("capacity", Cursor.members, {}).items()
        },
        allows_many=cursor.optional("allowMultipleAllocations", Cursor.boolean, False),
        unsupported=", ".join(odd),
    )


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
    raise cursor.expected("int, bool, string or version, or several of these")


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
