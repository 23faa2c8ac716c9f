"""The devices of the driver ``dra.cpu`` for people, each with the CPUs it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.dra.allocation import Unsatisfied
from cpuctl.dra.prepare import Prepared
from cpuctl.dra.slices import NUMA_NODE, driver_devices, most_devices
from cpuctl.engine.outcome import Undetermined

if TYPE_CHECKING:
    from cpuctl.answers import dra as answers
    from cpuctl.answers.dra import DeviceRow, DriverDevices
    from cpuctl.answers.sources import Source
    from cpuctl.dra.driver import DriverMachine
    from cpuctl.dra.model import Grant
    from cpuctl.dra.slices import DriverDevice
    from cpuctl.inputs.dra import LoadedDriver
    from cpuctl.operations.claims import ClaimOutcome, ClaimsPlan, PodClaims


def devices_document(driver: LoadedDriver, sources: Mapping[str, Source]) -> DriverDevices:
    """Describe the devices in the order of their slices."""
    settings, most = driver.settings, most_devices(driver.settings)
    devices = driver_devices(driver.machine, settings)
    return {
        "sources": dict(sources),
        "node": driver.node,
        "devices": [_row(each, index // most, driver) for index, each in enumerate(devices)],
        "available": str(driver.machine.all_cpus - settings.reserved),
        "reserved": str(settings.reserved),
    }


def _row(device: DriverDevice, number: int, driver: LoadedDriver) -> DeviceRow:
    cpu = device.cpu
    exposed = driver.settings.expose_pcie_roots
    return {
        "name": device.name,
        "slice": number,
        "cpus": str(device.cpus),
        "count": len(device.cpus),
        "socket": device.socket,
        "numaNode": device.numa_node,
        "core": cpu.core if cpu else None,
        "l3": cpu.cache if cpu else None,
        "coreType": cpu.core_type if cpu else None,
        "pcieRoots": list(driver.machine.roots_near(device.cpus)) if exposed else [],
    }


def claims_document(
    plan: ClaimsPlan, driver: LoadedDriver, sources: Mapping[str, Source]
) -> answers.ClaimAllocation:
    """Describe what pods get, and what is left for others."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ClaimAllocation",
        "sources": dict(sources),
        "node": driver.node,
        "pods": [_pod(each, driver.machine) for each in plan.pods],
        "available": str(plan.driver.available),
        "shared": str(plan.driver.shared),
        "reserved": str(driver.settings.reserved),
        "warnings": list(_warnings(plan)),
    }


def _pod(pod: PodClaims, machine: DriverMachine) -> answers.PodClaims:
    outcome, reason = _outcome(pod)
    return {
        "pod": pod.pod.full_name,
        "outcome": outcome,
        "reason": reason,
        "claims": [_claim(each, machine) for each in pod.claims],
    }


def _outcome(pod: PodClaims) -> tuple[answers.ClaimOutcomeName, str | None]:
    match pod.why:
        case Undetermined():
            return "Undetermined", pod.why.text
        case Unsatisfied():
            return "Unsatisfied", f"claim {pod.why.claim}, request {pod.why.request}: {pod.why.why}"
        case None:
            return ("NotPrepared", pod.problem) if pod.problem else ("Allocated", None)


def _claim(claim: ClaimOutcome, machine: DriverMachine) -> answers.PodClaim:
    prepared = claim.prepared if isinstance(claim.prepared, Prepared) else None
    return {
        "name": claim.name,
        "claim": claim.claim,
        "containers": list(claim.containers),
        "devices": [_device(each) for each in claim.grants],
        "cpus": str(prepared.cpus) if prepared else None,
        "numaNodes": sorted({machine.cpus[cpu].numa_node for cpu in claim.cpus if cpu in machine.cpus}),
        "strays": str(prepared.strays) if prepared else "",
    }


def _device(grant: Grant) -> answers.ClaimDevice:
    node = grant.device.attributes.get(NUMA_NODE)
    return {
        "request": grant.request,
        "driver": grant.device.driver,
        "device": grant.device.name,
        "consumed": {name: str(amount) for name, amount in grant.consumed.items()},
        "numaNode": node if isinstance(node, int) else None,
    }


def _warnings(plan: ClaimsPlan) -> Iterator[str]:
    for pod in plan.pods:
        for claim in pod.claims:
            named = f"claim {claim.claim} of pod {pod.pod.full_name}"
            if isinstance(claim.prepared, Prepared) and claim.prepared.strays:
                yield (
                    f"{named} gets CPUs {claim.prepared.strays}, which are outside its devices: core ids "
                    "repeat across sockets (--fixed shows what it should get)"
                )
            if claim.cpus and not claim.containers:
                yield f"{named} is named by no container, and keeps its CPUs from others"
