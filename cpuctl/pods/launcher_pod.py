"""The pod that a KubeVirt virtual machine runs in: its containers and their requests and limits.

Rules: KubeVirt v1.9.0, ``pkg/virt-controller/services`` (``template.go``, ``renderresources.go``),
``pkg/hypervisor/kvm``, ``pkg/container-disk``, ``pkg/virtiofs`` and ``pkg/network/resources``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements
from cpuctl.pods.virtual_machine import (
    EVEN_PARITY,
    RELEASE,
    SUPPLEMENTAL_POOL,
    Guest,
    Support,
    VirtualMachine,
)
from cpuctl.quantity import Format, Quantity
from cpuctl.records import replace

KUBEVIRT = "kubevirt.io"
DEVICES = "devices.kubevirt.io/"
PERMANENT_DEVICES = frozenset(DEVICES + name for name in ("kvm", "mshv", "tun", "vhost-net"))
"""The devices that virt-handler offers on every node, without a NUMA node."""
MOST_DEVICES = 1000
"""How many of each virt-handler offers by default (``--max-devices``)."""
GO_NAMES = {"x86_64": "amd64", "aarch64": "arm64", "s390x": "s390x"}
"""The names that Go and KubeVirt use for the kernel's architectures."""
COMPUTE = "compute"
RULE = f"computed by KubeVirt {RELEASE}"

_MEBI = 1 << 20
_PROCESSES = 220
"""MiB for virt-launcher-monitor, virt-launcher, virtlogd, virtqemud and qemu itself."""
_PER_VCPU = 8
_IO_THREAD = 8
_VIDEO = 32
_FIRMWARE_OF_ARM = 128
_VFIO = 1024
_METRICS_DISK = 1
_PROBES, _EACH_PROBE = 100, 10
_ENCRYPTED = 256
_TPM = 53
_GUARANTEED = 100
_PASST = 250
_EPHEMERAL = "ephemeral-storage"
_DISK_STORAGE = Quantity.parse("50M")
_NOTHING = Quantity()

Amounts = dict[str, Quantity]


def launcher_pod(machine: VirtualMachine) -> Pod:
    """Return the pod of a running virtual machine, named as ``generateName`` does."""
    guest = machine.guest
    disks = tuple(_disks(machine))
    inits = [*_console_log(machine)]
    containers = [Container(COMPUTE, resources=_compute(machine))]
    if machine.cluster.enabled("ImageVolume"):
        inits += [Container(name, ContainerKind.INIT, _disk(machine)) for name in disks]
    elif disks:
        inits.append(Container("container-disk-binary", ContainerKind.INIT, _binary(machine)))
        inits += [Container(f"{name}-init", ContainerKind.INIT, _disk(machine)) for name in disks]
        containers += [Container(name, resources=_disk(machine)) for name in disks]
    containers += [Container(f"virtiofs-{name}", resources=_virtiofs(machine)) for name in _shared(guest)]
    sidecars = range(_number_of_sidecars(machine))
    containers += [Container(f"hook-sidecar-{number}", resources=_sidecar(machine)) for number in sidecars]
    return Pod(
        name=f"virt-launcher-{machine.instance}-0",
        namespace=machine.namespace,
        containers=tuple(containers),
        init_containers=tuple(inits),
        priority_class_name=guest.priority_class,
        origin=machine.origin,
        owner=f"{machine.kind}.{KUBEVIRT}/{machine.name}",
        restart_policy="Never",
        virtual_machine=machine,
    )


def hotplug_pod(machine: VirtualMachine) -> Pod:
    """Return the additional pod that attaches hotplugged volumes."""
    amounts = _supported(machine, "hotplug-disk", ("10m", "2M"), ("100m", "80M"))
    return Pod(
        name=f"hp-volume-{machine.instance}-0",
        namespace=machine.namespace,
        containers=(Container("hotplug-disk", resources=amounts),),
        origin=machine.origin,
        owner=f"{machine.kind}.{KUBEVIRT}/{machine.name}",
        virtual_machine=machine,
    )


def pods_of_machine(machine: VirtualMachine) -> Iterator[Pod]:
    """Yield all pods of a running virtual machine."""
    yield launcher_pod(machine)
    if any(volume.hotplug for volume in machine.guest.volumes):
        yield hotplug_pod(machine)


def on_architecture(pod: Pod, architecture: str) -> Pod:
    """Derive a pod again for the node's architecture, if neither guest nor cluster names one."""
    machine = pod.virtual_machine
    if machine is None or machine.architecture or not architecture:
        return pod
    with_architecture = machine._replace(guest=machine.guest._replace(architecture=architecture))
    made = {each.name: each for each in pods_of_machine(with_architecture)}
    return made[pod.name]._replace(uid=pod.uid, phase=pod.phase)


# The container of the guest


def _compute(machine: VirtualMachine) -> ResourceRequirements:
    """Return requests and limits: those in the guest's manifest take precedence over calculated ones."""
    guest, overhead = machine.guest, memory_overhead(machine)
    requests, limits = dict(guest.requests), dict(guest.limits)
    more_requests: Amounts = {}
    more_limits: Amounts = {}
    requests[_EPHEMERAL] = requests.get(_EPHEMERAL, _NOTHING) + _DISK_STORAGE
    if _EPHEMERAL in limits:
        limits[_EPHEMERAL] += _DISK_STORAGE
    limits.update(dict.fromkeys(_virtualization(machine), _one()))
    if not guest.requests.get("memory", _NOTHING).sign:
        _request_memory(machine, requests, limits)
    if guest.dedicated:
        _pin(guest, requests, limits)
    else:
        _share_cpus(machine, more_requests, more_limits)
    if guest.page_size:
        pages = _pages(guest, requests)
        more_requests.update(pages)
        more_limits.update(pages)
        _leave_overhead(guest, overhead, requests, limits)
    else:
        _add_overhead(guest, overhead, requests, limits)
    if machine.limits.memory_ratio is not None:
        requested = requests["memory"]
        limit = int(float(requested.value) * machine.limits.memory_ratio)
        more_limits["memory"] = Quantity.from_value(limit, requested.format)
    for resource in _devices(machine):
        for more, own in ((more_requests, requests), (more_limits, limits)):
            more[resource] = more.get(resource, own.get(resource, _NOTHING)) + _one()
    return ResourceRequirements(
        requests=more_requests | requests, limits=more_limits | limits, claims=tuple(_claims(machine))
    )


def _one() -> Quantity:
    return Quantity.from_value(1)


def _virtualization(machine: VirtualMachine) -> Iterator[str]:
    """Yield the node's devices that running a guest requires."""
    guest, emulation = machine.guest, machine.cluster.emulation
    if guest.interfaces or guest.autoattach.get("PodInterface", True):
        yield f"{DEVICES}tun"
    if any(each.virtio for each in guest.interfaces) and not emulation:
        yield f"{DEVICES}vhost-net"
    if not emulation:
        yield DEVICES + machine.cluster.hypervisor
    if guest.autoattach.get("VSOCK", False):
        yield f"{DEVICES}vhost-vsock"


def _request_memory(machine: VirtualMachine, requests: Amounts, limits: Mapping[str, Quantity]) -> None:
    """Request the limit, or the guest's visible memory reduced by the cluster's overcommit."""
    guest, overcommit = machine.guest, machine.cluster.memory_overcommit
    if limits.get("memory", _NOTHING).sign:
        requests["memory"] = limits["memory"]
    if "memory" in requests or guest.memory is None or guest.memory.value <= 0:
        return
    if overcommit == 100:
        requests["memory"] = guest.memory
    else:
        amount = guest.memory.value * 100 // overcommit
        requests["memory"] = Quantity.from_value(amount, guest.memory.format)


def _pin(guest: Guest, requests: Amounts, limits: Amounts) -> None:
    """Request whole CPUs: one for each vCPU and I/O thread, and one or two for the emulator.

    Two make the total even if the annotation requires that. As in KubeVirt, I/O threads of a supplemental
    pool are counted twice for this: an odd number of them leaves the sum odd.
    """
    threads = guest.io_threads or 0
    count = guest.topology.vcpus + threads
    if guest.isolated_emulator:
        pool = threads if guest.io_policy == SUPPLEMENTAL_POOL else 0
        even = EVEN_PARITY in guest.annotations and (count + pool) % 2 == 0
        count += 2 if even else 1
    requests["cpu"] = limits["cpu"] = Quantity.from_value(count, Format.BINARY_SI)
    if "memory" in requests:
        limits["memory"] = requests["memory"]


def _share_cpus(machine: VirtualMachine, requests: Amounts, limits: Amounts) -> None:
    """Request a fraction of a CPU for every vCPU and I/O thread, by the cluster's ratio."""
    guest, ratio = machine.guest, machine.cluster.cpu_allocation_ratio
    count = guest.topology.vcpus + (guest.io_threads or 0)
    if not count or ratio <= 0:
        return
    share = count / ratio
    # Formatted as in Go, with all digits of the division's result.
    requests["cpu"] = Quantity.parse(f"{share * 1000!r}m" if share < 1 else f"{share!r}")
    if machine.limits.cpu:
        limits["cpu"] = Quantity.from_value(count)


def _pages(guest: Guest, requests: Mapping[str, Quantity]) -> Amounts:
    """Request huge pages: the requested memory, at most the memory that the guest sees."""
    memory = requests.get("memory", _NOTHING)
    if guest.memory is not None and memory.value > guest.memory.value:
        memory = guest.memory
    return {f"hugepages-{guest.page_size}": memory}


def _leave_overhead(guest: Guest, overhead: Quantity, requests: Amounts, limits: Amounts) -> None:
    """Reduce ordinary memory to the overhead and what is requested beyond the guest's memory."""
    for amounts in (requests, limits):
        if amounts is limits and "memory" not in limits:
            continue
        memory = amounts.get("memory", _NOTHING)
        beyond = _NOTHING
        if guest.memory is not None and memory.value > guest.memory.value:
            beyond = beyond + memory - guest.memory
        amounts["memory"] = beyond + overhead


def _add_overhead(guest: Guest, overhead: Quantity, requests: Amounts, limits: Amounts) -> None:
    memory = requests.get("memory", _NOTHING)
    requests["memory"] = memory if guest.overcommits_overhead else memory + overhead
    if "memory" in limits:
        limits["memory"] += overhead


def _devices(machine: VirtualMachine) -> Iterator[str]:
    """Yield the host's devices, each as often as it is requested."""
    guest = machine.guest
    yield from machine.network_resources
    for device in (*guest.gpus, *guest.host_devices):
        if device.resource and not device.claim:
            yield device.resource
    if guest.security & {"sev", "snp"}:
        yield f"{DEVICES}sev"
    if "tdx" in guest.security:
        yield f"{DEVICES}tdx"
    if guest.persistent_reservation:
        yield f"{DEVICES}pr-helper"
    if machine.cluster.enabled("IOMMUFD"):
        yield f"{DEVICES}iommufd"


def _claims(machine: VirtualMachine) -> Iterator[str]:
    """Yield the container's resource claims whose feature gate is on."""
    guest, cluster = machine.guest, machine.cluster
    if cluster.enabled("GPUsWithDRA"):
        yield from (each.claim for each in guest.gpus if each.claim and not each.resource)
    if cluster.enabled("HostDevicesWithDRA"):
        yield from (each.claim for each in guest.host_devices if each.claim and not each.resource)
    if cluster.enabled("NetworkDevicesWithDRA"):
        yield from (each.claim for each in guest.networks if each.claim)


def memory_overhead(machine: VirtualMachine) -> Quantity:
    """Return KubeVirt's estimate of what it and qemu need beyond the guest's memory (``GetMemoryOverhead``).

    The page tables are counted from the memory in ``resources.requests`` alone.
    """
    guest = machine.guest
    tables = _kilo(guest.requests.get("memory", _NOTHING)) * 1000 // 512
    overhead = Quantity.from_value(tables) + _mebi(sum(_overheads(machine)))
    if guest.added_overhead is not None:
        overhead += guest.added_overhead
    overhead = _multiplied(overhead, machine.cluster.overhead_ratio)
    # Networks come last: the ratio does not apply to them.
    if any(each.binding == "passtBinding" for each in guest.interfaces):
        overhead += _mebi(_PASST)
    for plugin in dict.fromkeys(each.plugin for each in guest.interfaces if each.plugin):
        if plugin in machine.cluster.bindings:
            overhead += machine.cluster.bindings[plugin].memory
    return overhead


def _overheads(machine: VirtualMachine) -> Iterator[int]:
    """Yield parts of the overhead in MiB."""
    guest = machine.guest
    yield _PROCESSES + _IO_THREAD + _PER_VCPU * max(guest.topology.vcpus, 1)
    if guest.autoattach.get("GraphicsDevice", True):
        yield _VIDEO
    if machine.architecture == "arm64":
        yield _FIRMWARE_OF_ARM
    if guest.uses_vfio:
        yield _VFIO
    if any(volume.source == "downwardMetrics" for volume in guest.volumes):
        yield _METRICS_DISK
    if guest.exec_probes:
        yield _PROBES + _EACH_PROBE * guest.exec_probes
    if guest.security & {"sev", "snp"}:
        yield _ENCRYPTED
    if guest.tpm:
        yield _TPM
    if guest.guaranteed:
        yield _GUARANTEED


def _mebi(count: int) -> Quantity:
    return Quantity.from_value(count * _MEBI, Format.BINARY_SI)


def _kilo(amount: Quantity) -> int:
    """Count an amount in thousands, rounded up."""
    return -(-amount.nano // 10**12)


def _multiplied(overhead: Quantity, ratio: str) -> Quantity:
    try:
        times = float(ratio)
    except ValueError:
        return overhead
    if not math.isfinite(times):
        return overhead
    return overhead + Quantity.from_value(int(_kilo(overhead) * (times - 1.0)) * 1000)


# The other containers


def _supported(
    machine: VirtualMachine, kind: str, requests: tuple[str, str], limits: tuple[str, str]
) -> ResourceRequirements:
    """Return the default cpu and memory, or the cluster's settings for this kind of container."""
    given = machine.cluster.support.get(kind, Support())
    return ResourceRequirements(
        requests=_chosen(requests, given.requests), limits=_chosen(limits, given.limits)
    )


def _chosen(defaults: tuple[str, str], given: Mapping[str, Quantity]) -> Amounts:
    return {
        name: given[name] if given.get(name, _NOTHING).sign else Quantity.parse(default)
        for name, default in zip(("cpu", "memory"), defaults, strict=True)
    }


def _equalized(machine: VirtualMachine, amounts: ResourceRequirements) -> ResourceRequirements:
    """Set requests to the limits if the guest is to be Guaranteed."""
    return replace(amounts, requests=amounts.limits) if machine.guest.guaranteed else amounts


def _disks(machine: VirtualMachine) -> Iterator[str]:
    """Yield the names of the containers for disks that are container images."""
    for volume in machine.guest.volumes:
        if volume.source == "containerDisk":
            yield f"volume{volume.name}"
    if machine.guest.kernel_boot:
        yield "volumekernel-boot-volume"


def _disk(machine: VirtualMachine) -> ResourceRequirements:
    amounts = _equalized(machine, _supported(machine, "container-disk", ("1m", "1M"), ("10m", "40M")))
    return replace(amounts, requests={**amounts.requests, _EPHEMERAL: _DISK_STORAGE})


def _binary(machine: VirtualMachine) -> ResourceRequirements:
    """Return the resources of the container that copies a binary: less CPU in a Guaranteed pod."""
    limits = ("10m" if machine.guest.guaranteed else "100m", "40M")
    return _equalized(machine, _supported(machine, "container-disk", ("10m", "1M"), limits))


def _console_log(machine: VirtualMachine) -> Iterable[Container]:
    """Return the sidecar that logs the serial console, if enabled: it is by default."""
    guest, cluster = machine.guest, machine.cluster
    logged = not cluster.console_log_disabled if guest.logs_console is None else guest.logs_console
    if not logged or not guest.autoattach.get("SerialConsole", True):
        return ()
    amounts = _equalized(machine, _supported(machine, "guest-console-log", ("5m", "35M"), ("15m", "60M")))
    return (Container("guest-console-log", ContainerKind.SIDECAR, amounts, restart_policy="Always"),)


def _shared(guest: Guest) -> Iterator[str]:
    for volume in guest.volumes:
        if volume.name in guest.virtiofs and volume.source != "containerPath":
            yield volume.name


def _virtiofs(machine: VirtualMachine) -> ResourceRequirements:
    return _equalized(machine, _supported(machine, "virtiofs", ("10m", "1M"), ("100m", "80M")))


def _sidecar(machine: VirtualMachine) -> ResourceRequirements:
    """Return the resources of a hook's container: the cluster's settings, more with a Guaranteed guest."""
    given = machine.cluster.support.get("sidecar", Support())
    if machine.guest.guaranteed:
        limits = _chosen(("200m", "64M"), given.limits)
        return ResourceRequirements(requests=limits, limits=limits)
    requests, limits = (
        {name: side[name] for name in ("cpu", "memory") if side.get(name, _NOTHING).sign}
        for side in (given.requests, given.limits)
    )
    return ResourceRequirements(requests=requests, limits=limits)


def _number_of_sidecars(machine: VirtualMachine) -> int:
    plugins = {each.plugin for each in machine.guest.interfaces if each.plugin}
    known = [binding for name, binding in machine.cluster.bindings.items() if name in plugins]
    return machine.guest.hooks + sum(binding.sidecar for binding in known)
