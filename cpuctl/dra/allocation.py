"""The devices that claims get: the scheduler's choice on one node, the first fit in the order of slices.

Rule: kubernetes ``dynamic-resource-allocation/structured`` at 3d03671. Claims, their requests and the devices
of a request are tried in order, with backtracking. If too few matching devices are left, this search
backtracks at once; the scheduler gets the same result later. It processes pools in random order, but here
they are in the order of their slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuctl.dra.model import (
    MAX_RESULTS,
    Attribute,
    Capacity,
    Claim,
    Constraint,
    Device,
    DeviceClass,
    DeviceRequest,
    Grant,
)
from cpuctl.dra.selectors import SelectorFailedError, Selectors, SelectorUnknownError
from cpuctl.engine.changeable import Copied
from cpuctl.engine.outcome import Undetermined
from cpuctl.phrases import counted
from cpuctl.quantity import Quantity

MOST_TRIED = 400_000
"""The maximum number of devices tried for one pod, which takes a few seconds. A scheduler also gives up,
after its timeout.
"""


class Allocated(NamedTuple):
    """The devices of every claim, in the order of claims."""

    grants: tuple[tuple[Grant, ...], ...]


class Unsatisfied(NamedTuple):
    """No choice of devices satisfies all claims: the failing claim and request, and the reason in numbers.

    ``scheduler`` is the scheduler's own message, if it is more specific than that it cannot allocate all
    claims.
    """

    claim: str
    request: str
    why: str
    scheduler: str = ""

    @property
    def text(self) -> str:
        """The claim, the request and the reason."""
        return f"claim {self.claim}{f', request {self.request}' if self.request else ''}: {self.why}"


Allocation = Allocated | Unsatisfied | Undetermined


class Books(Copied):
    """The devices, and the parts of shared devices, that claims use."""

    def __init__(self) -> None:
        self.taken: set[tuple[str, str, str]] = set()
        self.consumed: dict[tuple[str, str, str], Mapping[str, int]] = {}

    def book(self, grant: Grant) -> None:
        """Reserve a device, or the capacity that a claim consumes of it."""
        if not grant.device.allows_many:
            self.taken.add(grant.device.id)
            return
        self._consume(grant, 1)

    def release(self, grant: Grant) -> None:
        """Release the device or capacity."""
        if not grant.device.allows_many:
            self.taken.discard(grant.device.id)
            return
        self._consume(grant, -1)

    def _consume(self, grant: Grant, sign: int) -> None:
        # In a new mapping, as copies of the books share their contents.
        consumed = dict(self.consumed.get(grant.device.id, {}))
        for name, amount in grant.consumed.items():
            consumed[name] = consumed.get(name, 0) + sign * amount.nano
        self.consumed[grant.device.id] = consumed

    def left(self, device: Device, name: str) -> int:
        """Return the remaining amount of a capacity, in billionths."""
        return device.capacity[name].value.nano - self.consumed.get(device.id, {}).get(name, 0)


class Inventory(NamedTuple):
    """All devices that the node can reach, in the order of their slices, and the classes of devices.

    ``incomplete`` are pools that lack slices, ``invalid`` (with the reason) those with two devices of one
    name. A scheduler that ``skips`` uses neither; others use incomplete ones, and fail on invalid ones.
    """

    devices: tuple[Device, ...]
    classes: Mapping[str, DeviceClass]
    incomplete: tuple[str, ...] = ()
    invalid: Mapping[str, str] = {}
    skips: bool = False

    def of_whole_pools(self, devices: Iterable[Device]) -> tuple[Device, ...]:
        """Return the devices without those of incomplete or invalid pools."""
        broken = {*self.incomplete, *self.invalid}
        return tuple(each for each in devices if f"{each.driver}/{each.pool}" not in broken)


class _TooManyTriedError(Exception):
    pass


class _UnsatisfiableError(Exception):
    """No other choice of devices helps: the scheduler gives up."""

    def __init__(self, found: Unsatisfied) -> None:
        super().__init__(found.why)
        self.found = found


class _Need(NamedTuple):
    """One request with the devices that match it; ``label`` is its name in results and constraints."""

    request: DeviceRequest
    label: str
    parent: str
    matching: tuple[Device, ...]

    @property
    def wanted(self) -> int:
        """The number of devices."""
        return len(self.matching) if self.request.all_devices else self.request.number


def allocate(claims: Sequence[Claim], inventory: Inventory, books: Books, selectors: Selectors) -> Allocation:
    """Choose devices for all claims of a pod, without allocating them.

    The result is undetermined if a selector or request is not supported here.
    """
    try:
        needs = [[_needs(claim, each, inventory, selectors) for each in claim.requests] for claim in claims]
        for claim, each in zip(claims, needs, strict=True):
            _refuse_too_many(claim, each)
        return _Search(claims, needs, books).run()
    except SelectorUnknownError as error:
        return Undetermined(str(error))
    except _UnsatisfiableError as error:
        return error.found
    except (_TooManyTriedError, RecursionError):
        return Undetermined("too many combinations of devices were tried without success for these claims")


def _needs(
    claim: Claim, request: DeviceRequest, inventory: Inventory, selectors: Selectors
) -> tuple[_Need, ...]:
    """Return the alternatives of a request with their matching devices; only one without alternatives."""
    if not request.alternatives:
        return (_need(claim, request, "", inventory, selectors),)
    return tuple(_need(claim, each, request.name, inventory, selectors) for each in request.alternatives)


def _need(
    claim: Claim, request: DeviceRequest, parent: str, inventory: Inventory, selectors: Selectors
) -> _Need:
    label = f"{parent}/{request.name}" if parent else request.name
    if request.unsupported:
        raise SelectorUnknownError(
            f"request {label} of claim {claim.full_name} has {request.unsupported}, which is not supported "
            "by cpuctl"
        )
    if (device_class := inventory.classes.get(request.class_name)) is None:
        why = f"could not retrieve device class {request.class_name}: not found"
        raise _UnsatisfiableError(Unsatisfied(claim.full_name, label, why))
    if request.all_devices and (pool := next(iter((*inventory.incomplete, *inventory.invalid)), "")):
        is_ = "currently being updated" if pool in inventory.incomplete else "currently invalid"
        why = f"requests all devices, but resource pool {pool} is {is_}"
        raise _UnsatisfiableError(Unsatisfied(claim.full_name, label, why))
    expressions = (*device_class.selectors, *request.selectors)
    try:
        matching = tuple(each for each in inventory.devices if selectors.match(each, expressions))
    except SelectorFailedError as error:
        raise _UnsatisfiableError(Unsatisfied(claim.full_name, label, str(error))) from None
    if inventory.skips and (inventory.incomplete or inventory.invalid):
        matching = inventory.of_whole_pools(matching)
    elif inventory.invalid:
        pool, reason = next(iter(inventory.invalid.items()))
        why = f"pool {pool} is invalid: {reason}"
        if inventory.of_whole_pools(matching):
            raise SelectorUnknownError(
                f"{why}: the scheduler stops at this pool, and the order of pools is random"
            )
        raise _UnsatisfiableError(Unsatisfied(claim.full_name, label, why))
    if odd := next((each for each in matching if each.unsupported), None):
        raise SelectorUnknownError(
            f"device {odd.name} of {odd.driver} has {odd.unsupported}, which is not supported"
        )
    if request.all_devices:
        matching = tuple(each for each in matching if _fits(request, each, Books()))
    return _Need(request, label, parent, matching)


def _refuse_too_many(claim: Claim, needs: Sequence[tuple[_Need, ...]]) -> None:
    least = sum(min(each.wanted for each in alternatives) for alternatives in needs)
    if least > MAX_RESULTS:
        largest = max(needs, key=lambda each: min(one.wanted for one in each))[0]
        why = f"number of requested devices {least} exceeds the claim limit of {MAX_RESULTS}"
        raise _UnsatisfiableError(Unsatisfied(claim.full_name, largest.label, why))


class _Search:
    """The choice so far: the devices of every claim, and where the search stopped."""

    def __init__(
        self, claims: Sequence[Claim], needs: Sequence[Sequence[tuple[_Need, ...]]], books: Books
    ) -> None:
        self.claims = claims
        self.books = books
        self.taken_before = frozenset(books.taken)
        self.tried = 0
        self.grants: list[list[tuple[_Need, Grant]]] = [[] for _ in claims]
        self.requests = [(number, alternatives) for number, each in enumerate(needs) for alternatives in each]
        self.furthest = -1
        self.stop: Unsatisfied | None = None

    def run(self) -> Allocated | Unsatisfied:
        try:
            if self._satisfied(0):
                return Allocated(tuple(tuple(grant for _, grant in each) for each in self.grants))
        finally:
            self._release()  # even if the search was given up
        assert self.stop is not None
        return self.stop

    def _release(self) -> None:
        for each in self.grants:
            for _, grant in each:
                self.books.release(grant)

    def _satisfied(self, place: int) -> bool:
        """Satisfy the request at a place, by any of its alternatives, and all that follow."""
        if place == len(self.requests):
            return True
        number, alternatives = self.requests[place]
        return self._may_succeed(place) and any(
            self._taken(place, number, need, need.wanted, 0) for need in alternatives
        )

    def _taken(self, place: int, number: int, need: _Need, missing: int, start: int) -> bool:
        """Take the missing number of devices, starting at an index of the list, then continue."""
        if need.request.all_devices and not need.matching:
            return self._stopped(place, number, need, missing, 0)
        if not missing:
            return self._satisfied(place + 1)
        if len(self.grants[number]) + missing > MAX_RESULTS:
            return self._stopped(place, number, need, missing, 0)
        able = [
            (index, times)
            for index in range(start, len(need.matching))
            if (times := self._times(number, need, need.matching[index]))
        ]
        left = sum(times for _, times in able)
        if left < missing:
            return self._stopped(place, number, need, missing, left)
        for index, times in able:
            if left < missing:
                break
            left -= times
            device = need.matching[index]
            grant = Grant(need.label, device, _consumed(need.request, device))
            self.books.book(grant)
            self.grants[number].append((need, grant))
            # If a device can be shared, one claim may have several shares.
            after = index if device.allows_many and not need.request.all_devices else index + 1
            if self._may_succeed(place + 1) and self._taken(place, number, need, missing - 1, after):
                return True
            self.grants[number].pop()
            self.books.release(grant)
            if need.request.all_devices:
                break
        return False

    def _may_succeed(self, place: int) -> bool:
        """Return whether each request from a place on would find devices if it were the only one left."""
        for later in range(place, len(self.requests)):
            number, alternatives = self.requests[later]
            able = [self._count_able(number, need) for need in alternatives]
            if all(count < max(need.wanted, 1) for count, need in zip(able, alternatives, strict=True)):
                first = alternatives[0]
                return self._stopped(later, number, first, first.wanted, able[0])
        return True

    def _count_able(self, number: int, need: _Need) -> int:
        """Count the devices that a request could get, at most the number it requests."""
        count = 0
        for each in need.matching:
            count += self._times(number, need, each)
            if count >= need.wanted:
                return need.wanted
        return count

    def _times(self, number: int, need: _Need, device: Device) -> int:
        """Return how many of a request's devices a single device can provide."""
        self.tried += 1
        if self.tried > MOST_TRIED:
            raise _TooManyTriedError
        if not self._able(number, need, device):
            return 0
        constraints = self.claims[number].constraints
        apart = any(each.distinct and _concerns(each, need) for each in constraints)
        if not device.allows_many or apart or need.request.all_devices:
            return 1
        amounts = _consumed(need.request, device).items()
        shares = [self.books.left(device, name) // amount.nano for name, amount in amounts if amount.nano]
        return min((need.wanted, *shares))

    def _able(self, number: int, need: _Need, device: Device) -> bool:
        """Return whether a device is free, has enough capacity left, and meets its claim's constraints."""
        if device.id in self.books.taken or not _fits(need.request, device, self.books):
            return False
        return all(
            _keeps(constraint, device, self._others(number, constraint))
            for constraint in self.claims[number].constraints
            if _concerns(constraint, need)
        )

    def _others(self, number: int, constraint: Constraint) -> Iterator[Device]:
        return (grant.device for need, grant in self.grants[number] if _concerns(constraint, need))

    def _stopped(self, place: int, number: int, need: _Need, missing: int, able: int) -> bool:
        """Record why the furthest request could not be satisfied; return False."""
        if place > self.furthest:
            self.furthest = place
            why = self._why(number, need, missing, able)
            self.stop = Unsatisfied(self.claims[number].full_name, need.label, why)
        return False

    def _why(self, number: int, need: _Need, missing: int, able: int) -> str:
        held = len(self.grants[number])
        if held + missing > MAX_RESULTS:
            return f"{held + missing} devices exceed the claim limit of {MAX_RESULTS}"
        own = sum(1 for kept, _ in self.grants[number] if kept is need)
        free = [each for each in need.matching if each.id not in self.taken_before]
        enough = [each for each in free if _fits(need.request, each, self.books)]
        parts = [f"requests {counted(need.wanted, 'device') if need.wanted else 'at least 1 device'}"]
        parts.append(f"{len(need.matching)} {'matches' if len(need.matching) == 1 else 'match'}")
        if len(free) < len(need.matching):
            parts.append(f"{len(free)} of these {'is' if len(free) == 1 else 'are'} free")
        if len(enough) < len(free):
            has = "has" if len(enough) == 1 else "have"
            parts.append(f"{len(enough)} {has} enough capacity left ({_capacities(need, free, self.books)})")
        names = [each.attribute for each in self.claims[number].constraints if _concerns(each, need)]
        if names and own + able < len(enough):
            satisfy = "satisfies" if own + able == 1 else "satisfy"
            parts.append(f"{own + able} {satisfy} the constraint on {', '.join(names)}")
        return ", ".join(parts)


class CapacityLeft(NamedTuple):
    """A capacity of devices, the ``requested`` quantity, and the remaining amounts in billionths.

    These are the ``most`` on one device, and the sum that is ``left`` on all devices, of a ``total``.
    """

    name: str
    requested: Quantity
    most: int
    left: int
    total: int


def capacities_left(
    request: DeviceRequest, devices: Sequence[Device], books: Books, names: Iterable[str]
) -> Iterator[CapacityLeft]:
    """Report the remaining capacities of these *names*, each of which some device has.

    The consumption of a request may differ: without a quantity, it is a device's default or full capacity.
    """
    for name in dict.fromkeys(names):
        equivalent: dict[Quantity, list[Device]] = {}
        for device in devices:
            if (capacity := device.capacity.get(name)) is not None:
                equivalent.setdefault(_amount_of(request.capacity.get(name), capacity), []).append(device)
        for requested, having in equivalent.items():
            left = [books.left(device, name) for device in having]
            total = sum(device.capacity[name].value.nano for device in having)
            yield CapacityLeft(name, requested, max(left), sum(left), total)


def _capacities(need: _Need, devices: Sequence[Device], books: Books) -> str:
    """Describe the amounts requested from each device, and the most that is left on one."""
    names = (name for device in devices for name in device.capacity)
    shortages = (
        f"{each.name}: {each.requested} requested, at most {number_text(each.most)} left on one device"
        for each in capacities_left(need.request, devices, books, names)
    )
    missing = [name for name in need.request.capacity if not any(name in each.capacity for each in devices)]
    return "; ".join([*shortages, *(f"{name}: no device has it" for name in missing)])


def number_text(nano: int) -> str:
    """Format a number of billionths as a decimal number."""
    return str(nano // 10**9) if nano % 10**9 == 0 else f"{nano / 10**9:g}"


def _fits(request: DeviceRequest, device: Device, books: Books) -> bool:
    """Return whether a device has the requested capacities, with enough left."""
    if any(name not in device.capacity for name in request.capacity):
        return False
    for name, capacity in device.capacity.items():
        amount = _amount_of(request.capacity.get(name), capacity)
        if _against_policy(amount, capacity) or amount.nano > books.left(device, name):
            return False
    return True


def _consumed(request: DeviceRequest, device: Device) -> dict[str, Quantity]:
    """Return the capacities that a claim consumes of a device; empty if the device cannot be shared."""
    if not device.allows_many:
        return {}
    return {name: _amount_of(request.capacity.get(name), each) for name, each in device.capacity.items()}


def _amount_of(requested: Quantity | None, capacity: Capacity) -> Quantity:
    """Return the consumed amount: the default or all without a request, else rounded up by the policy."""
    policy = capacity.policy
    if requested is None:
        return policy.default if policy and policy.default is not None else capacity.value
    if policy is None:
        return requested
    if policy.minimum is not None:
        if requested < policy.minimum:
            return policy.minimum
        if policy.step is None:
            return requested
        least, step = policy.minimum.value, policy.step.value
        return Quantity.from_value(least + -(-(requested.value - least) // step) * step)
    return next((each for each in policy.values if requested <= each), requested)


def _against_policy(amount: Quantity, capacity: Capacity) -> bool:
    policy = capacity.policy
    if policy is None or amount == policy.default:
        return False
    if policy.values:
        return amount not in policy.values
    if policy.maximum is not None and policy.maximum < amount:
        return True
    if policy.step is None or policy.minimum is None:
        return False
    return (amount.value - policy.minimum.value) % policy.step.value != 0


def _concerns(constraint: Constraint, need: _Need) -> bool:
    names = constraint.requests
    return not names or need.label in names or (need.parent != "" and need.parent in names)


def _keeps(constraint: Constraint, device: Device, others: Iterator[Device]) -> bool:
    """Return whether a device meets the constraint together with the others.

    Lists of values match if they all have a common value (KEP-5491), and are distinct if no two have one.
    """
    values = _values(constraint.attribute, device)
    if not values:
        return False
    if constraint.distinct:
        return all(values.isdisjoint(_values(constraint.attribute, other)) for other in others)
    for other in others:
        values &= _values(constraint.attribute, other)
    return bool(values)


def _values(name: str, device: Device) -> frozenset[tuple[type, Attribute]]:
    """Return the values of an attribute, each with its type: 1 is not true."""
    domain, _, id_ = name.partition("/")
    value = device.attributes.get(name)
    if value is None and domain == device.driver:
        value = device.attributes.get(id_)
    if value is None:
        return frozenset()
    # A version is also a tuple, but a single value.
    several = value if type(value) is tuple else (value,)
    return frozenset((type(each), each) for each in several)
