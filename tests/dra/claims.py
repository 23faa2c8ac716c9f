"""Claims written as people write them, allocated and prepared on a machine."""

from __future__ import annotations

from cpuctl.dra.driver import DriverMachine, DriverSettings
from cpuctl.dra.model import Device
from cpuctl.inputs.dra import LoadedDriver
from cpuctl.inputs.pods import GivenPods
from cpuctl.inputs.sources import Sources
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.operations.claims import ClaimsPlan, own_devices, plan_claims
from cpuctl.pods.identity import with_uids
from cpuctl.pods.reading.manifests import decode_manifests

NODE = "node-a"


def loaded(machine: str | DriverMachine, settings: DriverSettings) -> LoadedDriver:
    if isinstance(machine, str):
        machine = DriverMachine.discover(parse_synthetic(machine))
    return LoadedDriver(settings, machine, NODE)


def devices(machine: str, settings: DriverSettings) -> tuple[Device, ...]:
    """Return the devices that the driver publishes on a machine."""
    return own_devices(loaded(machine, settings))


def plan(
    text: str,
    machine: str | DriverMachine,
    settings: DriverSettings | None = None,
    *,
    fixed: bool = False,
) -> ClaimsPlan:
    """Plan the pods and claims of a manifest."""
    found = decode_manifests(text, "test.yaml")
    given = GivenPods(tuple(with_uids(found.pods)), dra=found.dra)
    return plan_claims(given, loaded(machine, settings or DriverSettings()), Sources(), fixed=fixed)


def pod(name: str, *claims: str) -> str:
    """Write a pod with a container for each of its claims."""
    named = ", ".join(f"{{name: {claim}, resourceClaimName: {claim}}}" for claim in claims)
    containers = ", ".join(
        f"{{name: {claim}, resources: {{claims: [{{name: {claim}}}]}}}}" for claim in claims
    )
    return f"""
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec: {{resourceClaims: [{named}], containers: [{containers}]}}
"""


def claim(name: str, requests: str, more: str = "") -> str:
    """Write a claim with some requests, each a flow mapping, with constraints or configurations."""
    return f"""
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {name}}}
spec: {{devices: {{requests: [{requests}]{more}}}}}
"""


def allocated(
    name: str,
    *devices: str,
    consumed: int | None = None,
    users: str = "",
    pool: str = NODE,
    config: str = "",
) -> str:
    """Write a claim that has been allocated devices of the driver."""
    share = f', consumedCapacity: {{dra.cpu/cpu: "{consumed}"}}' if consumed else ""
    results = ", ".join(
        f"{{request: cpus, driver: dra.cpu, pool: {pool}, device: {each}{share}}}" for each in devices
    )
    reserved = f", reservedFor: [{{resource: pods, name: p, uid: {users}}}]" if users else ""
    return f"""
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {name}, uid: {name}-uid}}
spec: {{devices: {{requests: [{cpus(consumed or 1)}]}}}}
status: {{allocation: {{devices: {{results: [{results}]{config}}}}}{reserved}}}
"""


def gpu_class(driver: str = "gpu.example.com") -> str:
    """Write the class of all devices of a driver."""
    return f"""
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: gpu}}
spec: {{selectors: [{{cel: {{expression: device.driver == "{driver}"}}}}]}}
"""


def gpu_slice(
    *names: str, where: str = f"nodeName: {NODE}", generation: int = 1, count: int = 1, name: str = "s"
) -> str:
    """Write a slice of devices, each with its name and further members as a flow mapping."""
    devices = ", ".join(f"{{name: {each}}}" for each in names)
    return f"""
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: {name}}}
spec:
  driver: gpu.example.com
  {where}
  pool: {{name: gpus, generation: {generation}, resourceSliceCount: {count}}}
  devices: [{devices}]
"""


def cpus(count: int, more: str = "", name: str = "cpus") -> str:
    """Write a request for CPUs of one group."""
    return (
        f"{{name: {name}, exactly: {{deviceClassName: dra.cpu, "
        f'capacity: {{requests: {{dra.cpu/cpu: "{count}"}}}}{more}}}}}'
    )


def single_cpus(count: int, more: str = "", name: str = "cpus") -> str:
    """Write a request for individual CPUs."""
    return f"{{name: {name}, exactly: {{deviceClassName: dra.cpu, count: {count}{more}}}}}"


def selected(expression: str) -> str:
    """Write the selector of a request."""
    return f", selectors: [{{cel: {{expression: '{expression}'}}}}]"


def given(found: ClaimsPlan) -> list[str]:
    """Return the CPUs of every claim, in order."""
    return [str(each.cpus) for every in found.pods for each in every.claims]
