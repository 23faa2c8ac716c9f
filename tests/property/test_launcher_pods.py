"""Launcher pods of drawn guests: what KubeVirt's rules guarantee for any guest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.pods.launcher_pod import launcher_pod, memory_overhead
from cpuctl.pods.model import QosClass
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.pods.virtual_machine import (
    EVEN_PARITY,
    SUPPLEMENTAL_POOL,
    Cluster,
    Guest,
    Topology,
    VirtualMachine,
    refusals,
    with_defaults,
)
from cpuctl.quantity import Format, Quantity

COUNTS = st.integers(0, 16)


@st.composite
def dedicated_guests(draw: st.DrawFn) -> Guest:
    """Draw guests with dedicated CPUs that KubeVirt accepts."""
    topology = Topology(draw(COUNTS), draw(COUNTS), draw(st.integers(0, 2)))
    threads = draw(st.none() | st.integers(1, 5))
    memory = Quantity.from_value(draw(st.integers(1, 512)) << 30, Format.BINARY_SI)
    guest = Guest(
        topology=topology,
        dedicated=True,
        isolated_emulator=draw(st.booleans()),
        memory=memory,
        page_size=draw(st.sampled_from(["", "2Mi", "1Gi"])),
        io_policy=SUPPLEMENTAL_POOL if threads else "",
        io_threads=threads,
        annotations={EVEN_PARITY: ""} if draw(st.booleans()) else {},
        architecture=draw(st.sampled_from(["", "amd64", "arm64", "s390x"])),
    )
    guest = with_defaults(guest, Cluster())
    return guest if not any(refusals(guest, Cluster())) else guest._replace(topology=Topology(1, 1, 1))


def machine_of(guest: Guest) -> VirtualMachine:
    return VirtualMachine("VirtualMachineInstance", "vm", "default", "vm", guest)


@given(dedicated_guests())
def test_dedicated_cpus_make_a_guaranteed_pod_of_whole_cpus(guest: Guest) -> None:
    pod = stored_pod(launcher_pod(machine_of(guest)), PodRules())
    assert pod_qos(pod).qos_class is QosClass.GUARANTEED
    cpus = pod.containers[0].resources.requests["cpu"].value
    extra = cpus - guest.topology.vcpus - (guest.io_threads or 0)
    assert extra in ({1, 2} if guest.isolated_emulator else {0})
    if guest.isolated_emulator and EVEN_PARITY in guest.annotations and not guest.io_threads:
        assert cpus % 2 == 0


@given(dedicated_guests())
def test_memory_and_pages_add_up_to_the_guest_and_its_overhead(guest: Guest) -> None:
    machine = machine_of(guest)
    requests = launcher_pod(machine).containers[0].resources.requests
    pages = requests.get(f"hugepages-{guest.page_size}", Quantity())
    assert guest.memory is not None
    assert requests["memory"] + pages == guest.memory + memory_overhead(machine)
    assert pages == (guest.memory if guest.page_size else Quantity())


@given(dedicated_guests(), st.integers(1, 8))
def test_one_more_vcpu_costs_eight_mebibytes_and_never_fewer_cpus(guest: Guest, more: int) -> None:
    before, after = (
        machine_of(guest),
        machine_of(guest._replace(topology=Topology(1, guest.topology.vcpus + more, 1))),
    )
    cost = memory_overhead(after).value - memory_overhead(before).value
    assert cost == more * (8 << 20)
    cpus = [launcher_pod(each).containers[0].resources.requests["cpu"] for each in (before, after)]
    assert cpus[0] <= cpus[1]
