"""Changed fields of a virtual machine with which its launcher pod would be admitted.

Users do not set the requests of a guest's container: KubeVirt computes them. So fields of the guest are
changed, and the pod that results is tried on the node that the original pod found. If no single change is
enough, the guest gets fewer cores (or sockets) and less memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd

from cpuctl.engine.cpu.manager import request_step
from cpuctl.engine.explain.decision import Decision
from cpuctl.engine.explain.offers import memory_requested
from cpuctl.engine.explain.rules import OUT_OF
from cpuctl.engine.explain.scenario import Replay, SearchBudget
from cpuctl.engine.explain.searches.changes import Amount, FieldChange, RequestChange
from cpuctl.engine.explain.searches.reductions import PARTS
from cpuctl.engine.explain.searches.requests import amounts_below
from cpuctl.engine.explain.searches.trials import highest_admitted, is_admitted
from cpuctl.engine.memory.tables import MEMORY, is_memory
from cpuctl.engine.outcome import Rejected
from cpuctl.pods.launcher_pod import COMPUTE, pods_of_machine
from cpuctl.pods.model import Pod, StoredPod
from cpuctl.pods.virtual_machine import (
    EVEN_PARITY,
    SUPPLEMENTAL_POOL,
    Guest,
    Topology,
    VirtualMachine,
    page_bytes,
    refusals,
)
from cpuctl.quantity import Format, Quantity
from cpuctl.records import Record

_MEBI = 1 << 20
_NOTHING = Quantity()


class _Variant(Record):
    """A guest with some changed fields."""

    guest: Guest
    fields: tuple[FieldChange, ...]


def guest_changes(
    replay: Replay, decision: Decision, machine: VirtualMachine, runs: SearchBudget
) -> Iterator[RequestChange]:
    """Yield the nearest guests that are admitted: for each way to change the guest, the first that helps."""
    if replay.scenario.restarted:
        return
    verdict = replay.admission.verdict
    reason = verdict.reason if isinstance(verdict, Rejected) else ""
    resource = reason.removeprefix(OUT_OF) if reason.startswith(OUT_OF) else ""
    ways: list[tuple[str, Iterable[_Variant]]] = []
    if resource == "cpu" or (not resource and decision.provider in ("cpu", "")):
        emulator = ([variant] for variant in _emulator(machine))
        cpus = (*emulator, _vcpus(machine, replay, -1), _vcpus(machine, replay, 1), _io_threads(machine))
        ways += (("cpu", variants) for variants in cpus)
    if is_memory(resource) or (not resource and decision.provider in ("memory", "")):
        ways.append((_resource(machine.guest), _less_memory(machine, replay, decision)))
    found = False
    for name, variants in ways:
        for change in _first_admitted(replay, machine, variants, name, runs):
            found = True
            yield change
    if ways and not found:
        yield from _less_of_both(replay, machine, runs)


def _first_admitted(
    replay: Replay, machine: VirtualMachine, variants: Iterable[_Variant], resource: str, runs: SearchBudget
) -> Iterator[RequestChange]:
    for variant in variants:
        runs.note({resource})
        if change := _admitted(replay, machine, variant, runs):
            yield change
            return


def _admitted(
    replay: Replay, machine: VirtualMachine, variant: _Variant, runs: SearchBudget
) -> RequestChange | None:
    """Return the change to another guest if KubeVirt accepts it and its pod is admitted."""
    if any(refusals(variant.guest, machine.cluster)) or runs.cut:
        return None
    amounts = _amounts(replay.scenario.pod, machine._replace(guest=variant.guest))
    change = RequestChange(tuple(amounts), variant.fields, replay.scenario.shared_template)
    return change if is_admitted(replay, change, runs) else None


class _Smaller(Record):
    """A guest of which the pod is admitted: with so many cores (or sockets), and so many bytes less."""

    count: int
    less: int
    change: RequestChange


def _less_of_both(replay: Replay, machine: VirtualMachine, runs: SearchBudget) -> Iterator[RequestChange]:
    """Reduce cores (or sockets) and memory in proportion, then raise each again as far as possible."""
    now, step = _count(machine.guest), _step(replay, machine.guest)
    for part in range(PARTS - 1, 0, -1):
        most = max(now * part // PARTS, 1)
        less = _part(machine.guest, PARTS - part)
        for count in range(most, max(most - step, 0), -1):
            if smaller := _smaller(replay, machine, count, less, runs):
                yield _raised(replay, machine, smaller, runs).change
                return


def _raised(replay: Replay, machine: VirtualMachine, found: _Smaller, runs: SearchBudget) -> _Smaller:
    step, unit = _step(replay, machine.guest), _unit(machine.guest)
    # More cores add to the memory that the pod needs beyond the guest's.
    less = found.less + _part(machine.guest, 1)

    def with_more_cores(steps: int) -> _Smaller | None:
        return _smaller(replay, machine, found.count + steps * step, less, runs)

    steps = (_count(machine.guest) - found.count) // step
    wider = highest_admitted(with_more_cores, 0, steps + 1) or found

    def with_more_memory(units: int) -> _Smaller | None:
        return _smaller(replay, machine, wider.count, wider.less - units * unit, runs)

    return highest_admitted(with_more_memory, 0, wider.less // unit + 1) or wider


def _smaller(
    replay: Replay, machine: VirtualMachine, count: int, less: int, runs: SearchBudget
) -> _Smaller | None:
    variant = _Variant(machine.guest, ())
    if count != _count(machine.guest):
        variant = _with_count(machine, count)
    if less:
        smaller = _with_less(machine._replace(guest=variant.guest), less)
        if smaller is None:
            return None
        variant = _Variant(smaller.guest, (*variant.fields, *smaller.fields))
        runs.note_in_proportion({"cpu", _resource(machine.guest)})
    change = _admitted(replay, machine, variant, runs)
    return None if change is None else _Smaller(count, less, change)


def _step(replay: Replay, guest: Guest) -> int:
    """Return the step in which cores (or sockets) grow if the node allocates whole cores."""
    unit = request_step(replay.before.cpu.policy)
    return unit // gcd(unit, max(guest.topology.vcpus // max(_count(guest), 1), 1))


def _amounts(pod: StoredPod, machine: VirtualMachine) -> Iterator[Amount]:
    """Yield the changed requests of a changed guest's pod, in the form that an API server returns."""
    made: dict[str, Pod] = {each.name: each for each in pods_of_machine(machine)}
    before = {each.name: each.resources.requests for each in pod.all_containers}
    for container in made[pod.name].all_containers:
        for resource, amount in sorted(container.resources.requests.items()):
            change = Amount(
                container.name, resource, before[container.name].get(resource, _NOTHING), amount.canonical()
            )
            if change.differs:
                yield change


def _emulator(machine: VirtualMachine) -> Iterator[_Variant]:
    """Give the emulator a second CPU if that makes the number even, or let it share the guest's CPUs."""
    guest = machine.guest
    if not guest.isolated_emulator:
        return
    if EVEN_PARITY not in guest.annotations:
        even = guest._replace(annotations={**guest.annotations, EVEN_PARITY: ""})
        where = machine.field("metadata", f"annotations[{EVEN_PARITY}]")
        yield _Variant(even, (FieldChange(where, "", '""'),))
    field = machine.field("spec", "domain", "cpu", "isolateEmulatorThread")
    if machine.types_emulator:
        field = _in_type(machine, "cpu.isolateEmulatorThread")
    yield _Variant(guest._replace(isolated_emulator=False), (FieldChange(field, "true", "false"),))


def _vcpus(machine: VirtualMachine, replay: Replay, step: int) -> Iterator[_Variant]:
    """Remove or add cores or sockets one by one, up to the CPUs of the node."""
    topology, now = machine.guest.topology, _count(machine.guest)
    most = replay.before.topology.cpus.bit_count() // max(topology.vcpus // max(now, 1), 1)
    for count in range(min(now - 1, most), 0, -1) if step < 0 else range(now + 1, most + 1):
        yield _with_count(machine, count)


def _counted(guest: Guest) -> str:
    """Name what is changed: cores or sockets, of which there are more."""
    return "cores" if guest.topology.cores >= guest.topology.sockets else "sockets"


def _count(guest: Guest) -> int:
    count: int = getattr(guest.topology, _counted(guest))
    return count


def _with_count(machine: VirtualMachine, count: int) -> _Variant:
    name = _counted(machine.guest)
    return _with_topology(machine, machine.guest.topology._replace(**{name: count}), name)


def _with_topology(machine: VirtualMachine, topology: Topology, name: str) -> _Variant:
    """Change the processors where they are set: in an instancetype, in cpu, in the resources, or in both."""
    guest, amount = machine.guest, Quantity.from_value(topology.vcpus)
    fields = []
    if machine.instancetype:
        where = _in_type(machine, "cpu.guest")
        fields.append(FieldChange(where, str(guest.topology.vcpus), str(topology.vcpus)))
    elif "topology" not in guest.defaulted:
        was, now = str(getattr(guest.topology, name)), str(getattr(topology, name))
        fields.append(FieldChange(machine.field("spec", "domain", "cpu", name), was, now))
    requests, limits = dict(guest.requests), dict(guest.limits)
    for side, amounts in (("requests", requests), ("limits", limits)):
        if "cpu" in amounts and (guest.dedicated or "topology" in guest.defaulted):
            where = machine.field("spec", "domain", "resources", side, "cpu")
            fields.append(FieldChange(where, str(amounts["cpu"]), str(amount)))
            amounts["cpu"] = amount
    wanted = guest._replace(topology=topology, requests=requests, limits=limits)
    return _Variant(wanted, tuple(fields))


def _io_threads(machine: VirtualMachine) -> Iterator[_Variant]:
    """Remove one thread from the pool, or add one."""
    guest = machine.guest
    if guest.io_policy != SUPPLEMENTAL_POOL or guest.io_threads is None:
        return
    where = machine.field("spec", "domain", "ioThreads", "supplementalPoolThreadCount")
    for count in (guest.io_threads - 1, guest.io_threads + 1):
        field = FieldChange(where, str(guest.io_threads), str(count))
        yield _Variant(guest._replace(io_threads=count), (field,))


def _less_memory(machine: VirtualMachine, replay: Replay, decision: Decision) -> Iterator[_Variant]:
    """Reduce the guest's memory by the surplus, down to what some set of NUMA nodes has."""
    pod, resource = replay.scenario.pod, _resource(machine.guest)
    requested = next(each for each in pod.containers if each.name == COMPUTE).resources.requests.get(
        resource, _NOTHING
    )
    for less in _surplus(replay, decision, resource, requested.value):
        if variant := _with_less(machine, less):
            yield variant


def _resource(guest: Guest) -> str:
    """Name the resource that is the guest's memory."""
    return f"hugepages-{guest.page_size}" if guest.page_size else MEMORY


def _unit(guest: Guest) -> int:
    """Return the bytes in which the guest's memory changes."""
    page = page_bytes(guest)
    return page.value if page is not None else _MEBI


def _part(guest: Guest, parts: int) -> int:
    """Return some sixteenths of the guest's memory, rounded up to whole units."""
    sizes = (guest.memory, guest.requests.get(MEMORY), guest.limits.get(MEMORY))
    memory = next((size.value for size in sizes if size is not None), 0)
    unit = _unit(guest)
    return -(-memory * parts // (PARTS * unit)) * unit


def _surplus(replay: Replay, decision: Decision, resource: str, requested: int) -> Iterator[int]:
    """Yield reductions that might be enough, the smallest first."""
    verdict = replay.admission.verdict
    if isinstance(verdict, Rejected) and verdict.reason == f"{OUT_OF}{resource}":
        details = verdict.details
        yield details["requested"] - (details["capacity"] - details["used"])
        return
    total = memory_requested(replay.before, replay.scenario.pod, None) or {}
    # Hints for the whole pod are for the amount that its containers need at the same time.
    of_others = 0 if decision.container else total.get(resource, requested) - requested
    for amount in amounts_below(replay.after.memory.state.tables, resource, requested + of_others):
        yield requested + of_others - amount


def _with_less(machine: VirtualMachine, less: int) -> _Variant | None:
    """Reduce every memory amount that is set by *less* bytes, rounded up to whole units."""
    guest, unit = machine.guest, _unit(machine.guest)
    less = -(-less // unit) * unit
    requests, limits = dict(guest.requests), dict(guest.limits)
    fields: list[FieldChange] = []
    if machine.instancetype and MEMORY in requests:
        return None  # requests are only a part of its memory, which an instancetype overcommits
    memory = None if guest.memory is None else _reduced(guest.memory, less)
    if guest.memory is not None and "memory" not in guest.defaulted:
        named = _in_type(machine, "memory.guest") if machine.instancetype else ""
        where = named or machine.field("spec", "domain", "memory", "guest")
        fields.append(FieldChange(where, str(guest.memory), str(memory)))
    for side, amounts in (("requests", requests), ("limits", limits)):
        if MEMORY in amounts:
            where = machine.field("spec", "domain", "resources", side, MEMORY)
            before, amounts[MEMORY] = amounts[MEMORY], _reduced(amounts[MEMORY], less)
            fields.append(FieldChange(where, str(before), str(amounts[MEMORY])))
    sizes = (memory, requests.get(MEMORY), limits.get(MEMORY))
    if not fields or any(size is not None and size.sign <= 0 for size in sizes):
        return None
    return _Variant(guest._replace(memory=memory, requests=requests, limits=limits), tuple(fields))


def _reduced(amount: Quantity, less: int) -> Quantity:
    return Quantity.from_value(amount.value - less, Format.BINARY_SI)


def _in_type(machine: VirtualMachine, field: str) -> str:
    return f"spec.{field} of {machine.instancetype}"
