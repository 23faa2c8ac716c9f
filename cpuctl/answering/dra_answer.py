"""The devices of the driver ``dra.cpu`` as plain data, each with the CPUs that it represents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.dra.accounting import advice, driver_cpus
from cpuctl.dra.allocation import Unsatisfied, number_text
from cpuctl.dra.driver import DRIVER
from cpuctl.dra.prepare import Prepared
from cpuctl.dra.slices import NUMA_NODE, driver_devices, most_devices
from cpuctl.engine.outcome import Undetermined

if TYPE_CHECKING:
    from cpuctl.answers import dra as answers
    from cpuctl.answers.dra import DeviceRow, DriverDevices
    from cpuctl.answers.values import Source
    from cpuctl.dra.accounting import Accounts
    from cpuctl.dra.driver import DriverMachine
    from cpuctl.dra.model import Grant
    from cpuctl.dra.node import ClaimOutcome, NodeClaims, PodClaims
    from cpuctl.dra.slices import DriverDevice
    from cpuctl.inputs.dra import LoadedDriver
    from cpuctl.operations.claims import ClaimsPlan
    from cpuctl.pods.cgroups.values import CgroupValues
    from cpuctl.pods.model import Pod

_FIXED = "add --fixed to see what it should get"


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
    plan: ClaimsPlan,
    driver: LoadedDriver,
    sources: Mapping[str, Source],
    explain: Callable[[str], str] = lambda _: "",
) -> answers.ClaimAllocation:
    """Describe what pods get and what is left for others; *explain* returns the command about a pod."""
    pods = [_pod(each, driver.machine) for each in plan.pods]
    command = next((explain(each["pod"]) for each in pods if each["outcome"] == "Unsatisfied"), "")
    document: answers.ClaimAllocation = {
        "apiVersion": API_VERSION,
        "kind": "ClaimAllocation",
        "sources": dict(sources),
        "node": driver.node,
        "pods": pods,
        "available": str(plan.driver.available),
        "shared": str(plan.driver.shared),
        "reserved": str(driver.settings.reserved),
        "warnings": [text for _, text in claim_warnings(plan.claims, plan.pods)],
    }
    if command:
        document["next"] = command
    return document


def claims_of_pod(claims: NodeClaims, pod: Pod) -> answers.ClaimsPart:
    """Describe what a pod has for its claims; return nothing if it has no allocated claims."""
    known = claims.pods.get(pod.uid)
    if known is None or not (known.claims or known.problem):
        return {}
    part: answers.ClaimsPart = {}
    if known.claims:
        part["claims"] = [_claim(each, claims.driver.machine) for each in known.claims]
    if (accounts := claims.accounts(pod)) is not None:
        part["accounting"] = _accounting(accounts)
    return {**part, "claimProblem": known.problem} if known.problem else part


def _accounting(accounts: Accounts) -> answers.ClaimAccounting:
    groups: list[tuple[str | None, CgroupValues]] = [(None, accounts.pod), *accounts.containers.items()]
    return {
        "claims": number_text(accounts.claims),
        "footprint": number_text(accounts.footprint),
        "cgroups": [
            {"container": name, "shares": each.shares, "quota": each.quota, "period": each.period}
            for name, each in groups
        ],
    }


def _advice(pod: PodClaims, claims: NodeClaims) -> Iterator[str]:
    """Yield the problems of the CPU that a pod requests in addition to its claims."""
    cpus = driver_cpus((each.containers, len(each.cpus)) for each in pod.distinct)
    counts, raises = claims.counts_cpus(pod.pod), claims.kubelet.writes_claims
    yield from advice(pod.pod, cpus, counts=counts, raises=raises)


def claim_devices(claims: NodeClaims, pod: Pod) -> answers.ClaimDevicesPart:
    """Describe which devices match the requests of a pod's claims."""
    from cpuctl.dra.availability import device_availability

    return {
        "claimDevices": [
            {
                "claim": each.claim,
                "request": each.request,
                "driver": each.driver,
                "numaNode": each.numa_node,
                "devices": each.devices,
                "matching": each.matching,
                "free": each.free,
                "capacities": [
                    {
                        "name": one.name,
                        "requested": number_text(one.requested.nano),
                        "largestOnOneDevice": number_text(one.most),
                        "left": number_text(one.left),
                        "total": number_text(one.total),
                    }
                    for one in each.capacities
                ],
                "heldBy": list(each.holders),
            }
            for each in device_availability(claims, pod)
        ]
    }


def driver_answer(claims: NodeClaims) -> answers.ClaimDriver:
    """Describe the driver's state after the last pod."""
    return {
        "node": claims.name,
        "available": str(claims.driver.available),
        "shared": str(claims.driver.shared),
        "reserved": str(claims.driver.settings.reserved),
    }


def claim_warnings(claims: NodeClaims, pods: Iterable[PodClaims]) -> Iterator[tuple[str, str]]:
    """Yield warnings, each with its pod; that it does not start is part of its outcome."""
    for pod in pods:
        name = pod.pod.full_name
        yield from ((name, f"pod {name}: {text}") for text in _advice(pod, claims))
        for claim in pod.distinct:
            named = f"claim {claim.claim} of pod {name}"
            if isinstance(claim.prepared, Undetermined):
                yield name, f"which CPUs {named} gets is unknown: {claim.prepared.text}"
            if isinstance(claim.prepared, Prepared) and claim.prepared.strays:
                text = f"{named} gets CPUs {claim.prepared.strays}, which are not among its devices"
                yield name, f"{text}: core IDs repeat across sockets ({_FIXED})"
            if claim.cpus and not claim.containers:
                yield name, f"{named} is used by no container, but its CPUs are unavailable to others"


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
            return "Unsatisfied", pod.why.text
        case None if pod.problem:
            return "NotPrepared", pod.problem
        case None:
            return ("Undetermined", pod.unknown.text) if pod.unknown else ("Allocated", None)


def _claim(claim: ClaimOutcome, machine: DriverMachine) -> answers.PodClaim:
    prepared = claim.prepared if isinstance(claim.prepared, Prepared) else None
    nodes = {machine.cpus[cpu].numa_node for cpu in claim.cpus if cpu in machine.cpus}
    answer: answers.PodClaim = {
        "name": claim.name,
        "claim": claim.claim,
        "containers": list(claim.containers),
        "devices": [_device(each) for each in claim.grants],
        "cpus": str(prepared.cpus) if prepared else None,
        "numaNodes": sorted(nodes),
        "aligned": _aligned(claim, nodes),
        "extraCPUs": str(prepared.strays) if prepared else "",
    }
    if isinstance(claim.prepared, Undetermined):
        answer["whyUnknown"] = claim.prepared.text
    return answer


def _aligned(claim: ClaimOutcome, nodes: set[int]) -> bool | None:
    """Return whether CPUs and other drivers' devices, by their attributes, are all on one NUMA node."""
    others = [each.device.attributes.get(NUMA_NODE) for each in claim.grants if each.device.driver != DRIVER]
    known = {each for each in others if isinstance(each, int)} | nodes
    if not known or None in others:
        return None
    return len(known) == 1


def _device(grant: Grant) -> answers.ClaimDevice:
    node = grant.device.attributes.get(NUMA_NODE)
    return {
        "request": grant.request,
        "driver": grant.device.driver,
        "device": grant.device.name,
        "consumed": {name: str(amount) for name, amount in grant.consumed.items()},
        "numaNode": node if isinstance(node, int) else None,
    }
