"""Changed fields of a virtual machine with which its launcher pod would be admitted.

Users do not set the requests of a guest's container: KubeVirt computes them. So fields of the guest are
changed, and the pod that results is tried on the node that the original pod found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cpuctl.engine.explain.decision import Decision
from cpuctl.engine.explain.offers import memory_requested
from cpuctl.engine.explain.rules import OUT_OF
from cpuctl.engine.explain.scenario import Replay, SearchBudget
from cpuctl.engine.explain.searches.changes import Amount, FieldChange, RequestChange
from cpuctl.engine.explain.searches.requests import amounts_below
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
    ways: list[Iterable[_Variant]] = []
    if resource == "cpu" or (not resource and decision.provider in ("cpu", "")):
        emulator = ([variant] for variant in _emulator(machine))
        ways += (*emulator, _vcpus(machine, replay, -1), _vcpus(machine, replay, 1), _io_threads(machine))
    if is_memory(resource) or (not resource and decision.provider in ("memory", "")):
        ways.append(_less_memory(machine, replay, decision))
    for variants in ways:
        yield from _first_admitted(replay, machine, variants, runs)


def _first_admitted(
    replay: Replay, machine: VirtualMachine, variants: Iterable[_Variant], runs: SearchBudget
) -> Iterator[RequestChange]:
    pod = replay.scenario.pod
    for variant in variants:
        if any(refusals(variant.guest, machine.cluster)):
            continue
        if not runs.allow():
            return
        change = RequestChange(tuple(_amounts(pod, machine._replace(guest=variant.guest))), variant.fields)
        runs.resources.update(each.resource for each in change.amounts)
        admission = runs.admit(replay.before.copy(), change.changed_pod(pod))
        same_class = admission.qos.qos_class is replay.admission.qos.qos_class
        if change.amounts and same_class and runs.reaches(replay.scenario, admission):
            yield change
            return


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
    topology = machine.guest.topology
    name = "cores" if topology.cores >= topology.sockets else "sockets"
    now: int = getattr(topology, name)
    most = replay.before.topology.cpus.bit_count() // max(topology.vcpus // max(now, 1), 1)
    for count in range(min(now - 1, most), 0, -1) if step < 0 else range(now + 1, most + 1):
        yield _with_topology(machine, topology._replace(**{name: count}), name)


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
    guest, pod = machine.guest, replay.scenario.pod
    resource = f"hugepages-{guest.page_size}" if guest.page_size else MEMORY
    requested = next(each for each in pod.containers if each.name == COMPUTE).resources.requests.get(
        resource, _NOTHING
    )
    for less in _surplus(replay, decision, resource, requested.value):
        if variant := _with_less(machine, less):
            yield variant


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
    guest, page = machine.guest, page_bytes(machine.guest)
    unit = page.value if page is not None else _MEBI
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
