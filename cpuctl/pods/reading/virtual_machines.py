"""The guest of a VirtualMachineInstance as written, and with instancetypes and preferences applied.

Rules: KubeVirt v1.9.0, ``kubevirt.io/api/core/v1/schema.go`` and ``pkg/instancetype``. Only fields that
determine the resources of the launcher pod are read and checked.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from cpuctl.documents.cursor import Cursor
from cpuctl.pods.virtual_machine import Guest, HostDevice, Interface, Network, Topology, Volume
from cpuctl.quantity import Quantity

_T = TypeVar("_T")
_UINT32_MAX = (1 << 32) - 1
_AUTOATTACH = ("GraphicsDevice", "PodInterface", "SerialConsole", "VSOCK")
_PREFERRED = ("GraphicsDevice", "PodInterface", "SerialConsole")
_HOTPLUGGABLE = ("persistentVolumeClaim", "dataVolume")
_SPREAD = ("SocketsCores", "CoresThreads", "SocketsCoresThreads")


def decode_guest(spec: Cursor, annotations: Mapping[str, str]) -> Guest:
    """Read the spec of a VirtualMachineInstance; raise InputError with the location of an invalid value."""
    domain = spec.required("domain")
    devices, cpu, memory = step_to(domain, "devices"), step_to(domain, "cpu"), step_to(domain, "memory")
    resources, io_threads = step_to(domain, "resources"), step_to(domain, "ioThreads")
    pages, reserved = step_to(memory, "hugepages"), step_to(memory, "reservedOverhead")
    guest = Guest(
        requests=_optional(resources, "requests", Cursor.quantities) or {},
        limits=_optional(resources, "limits", Cursor.quantities) or {},
        overcommits_overhead=_is(resources, "overcommitGuestOverhead"),
        memory=_optional(memory, "guest", Cursor.quantity),
        page_size="" if pages is None else pages.required("pageSize").text(),
        reserves_overhead=reserved is not None,
        added_overhead=_optional(reserved, "addedOverhead", Cursor.quantity),
        io_policy=domain.optional("ioThreadsPolicy", Cursor.text, ""),
        io_threads=_optional(io_threads, "supplementalPoolThreadCount", _uint32),
        architecture=spec.optional("architecture", Cursor.text, ""),
        annotations=annotations,
        networks=tuple(map(_network, spec.optional("networks", Cursor.items, []))),
        volumes=tuple(map(_volume, spec.optional("volumes", Cursor.items, []))),
        security=_security(step_to(domain, "launchSecurity")),
        kernel_boot=step_to(domain, "firmware", "kernelBoot", "container") is not None,
        exec_probes=sum(
            step_to(spec, name, "exec") is not None for name in ("livenessProbe", "readinessProbe")
        ),
        priority_class=spec.optional("priorityClassName", Cursor.text, ""),
    )
    return _with_cpu(_with_devices(guest, devices), cpu)


def _with_cpu(guest: Guest, cpu: Cursor | None) -> Guest:
    if cpu is None:
        return guest
    return guest._replace(
        topology=Topology(*(cpu.optional(name, _uint32, 0) for name in Topology._fields)),
        max_sockets=cpu.optional("maxSockets", _uint32, 0),
        dedicated=_is(cpu, "dedicatedCpuPlacement"),
        isolated_emulator=_is(cpu, "isolateEmulatorThread"),
        numa_passthrough=step_to(cpu, "numa", "guestMappingPassthrough") is not None,
        realtime=cpu.get("realtime") is not None,
    )


def _with_devices(guest: Guest, devices: Cursor | None) -> Guest:
    if devices is None:
        return guest
    tpm = devices.get("tpm")
    autoattach = {name: devices.optional(f"autoattach{name}", Cursor.boolean, None) for name in _AUTOATTACH}
    return guest._replace(
        gpus=_host_devices(devices, "gpus"),
        host_devices=_host_devices(devices, "hostDevices"),
        interfaces=tuple(map(_interface, devices.optional("interfaces", Cursor.items, []))),
        virtiofs=frozenset(
            each.required("name").text()
            for each in devices.optional("filesystems", Cursor.items, [])
            if each.get("virtiofs") is not None
        ),
        autoattach={name: each for name, each in autoattach.items() if each is not None},
        logs_console=devices.optional("logSerialConsole", Cursor.boolean, None),
        tpm_given=tpm is not None,
        tpm=_tpm(tpm),
        persistent_reservation=any(
            _is(step_to(disk, "lun"), "reservation") for disk in devices.optional("disks", Cursor.items, [])
        ),
    )


def _tpm(tpm: Cursor | None) -> bool:
    return tpm is not None and tpm.optional("enabled", Cursor.boolean, True)


def _host_devices(parent: Cursor, name: str) -> tuple[HostDevice, ...]:
    return tuple(
        HostDevice(
            resource=device.optional("deviceName", Cursor.text, ""),
            claim=device.optional("claimName", Cursor.text, ""),
        )
        for device in parent.optional(name, Cursor.items, [])
    )


def _interface(interface: Cursor) -> Interface:
    plugin = interface.get("binding")
    methods = ("bridge", "masquerade", "sriov", "passtBinding", "slirp", "macvtap", "passt")
    return Interface(
        network=interface.required("name").text(),
        model=interface.optional("model", Cursor.text, ""),
        binding=next((each for each in methods if interface.get(each) is not None), ""),
        plugin="" if plugin is None else plugin.required("name").text(),
    )


def _network(network: Cursor) -> Network:
    multus, claim = network.get("multus"), network.get("resourceClaim")
    return Network(
        name=network.required("name").text(),
        attachment="" if multus is None else multus.required("networkName").text(),
        claim="" if claim is None else claim.optional("claimName", Cursor.text, ""),
    )


def _volume(volume: Cursor) -> Volume:
    members = volume.members()
    source = next((key for key, member in members.items() if key != "name" and member.value is not None), "")
    hotplug = source in _HOTPLUGGABLE and _is(members[source], "hotpluggable")
    return Volume(name=volume.required("name").text(), source=source, hotplug=hotplug)


def _security(security: Cursor | None) -> frozenset[str]:
    return frozenset(
        () if security is None else (k for k, v in security.members().items() if v.value is not None)
    )


class Conflict(NamedTuple):
    """Fields that a guest and its instancetype both set, so KubeVirt does not run the guest."""

    fields: tuple[str, ...]


def with_instancetype(guest: Guest, spec: Cursor, preference: Cursor | None) -> Guest | Conflict:
    """Give a guest the CPUs, the memory and the devices of an instancetype (``pkg/instancetype/apply``)."""
    cpu, memory = spec.required("cpu"), spec.required("memory")
    pages = step_to(memory, "hugepages")
    devices = {"gpus": _host_devices(spec, "gpus"), "hostDevices": _host_devices(spec, "hostDevices")}
    security, policy = (
        _security(spec.get("launchSecurity")),
        spec.optional("ioThreadsPolicy", Cursor.text, ""),
    )
    threads = _optional(step_to(spec, "ioThreads"), "supplementalPoolThreadCount", _uint32)
    annotations = _texts(spec, "annotations")
    conflicts = {
        "domain.cpu": any(guest.topology)
        or (guest.dedicated and cpu.get("dedicatedCPUPlacement") is not None)
        or (guest.isolated_emulator and cpu.get("isolateEmulatorThread") is not None)
        or (guest.numa_passthrough and cpu.get("numa") is not None)
        or (guest.realtime and cpu.get("realtime") is not None),
        "domain.memory": guest.memory is not None or bool(guest.page_size and pages),
        "domain.resources": not {"cpu", "memory"}.isdisjoint((*guest.requests, *guest.limits)),
        "domain.devices.gpus": bool(guest.gpus and devices["gpus"]),
        "domain.devices.hostDevices": bool(guest.host_devices and devices["hostDevices"]),
        "domain.launchSecurity": bool(guest.security and security),
        "domain.ioThreadsPolicy": bool(guest.io_policy and policy),
        "domain.ioThreads": guest.io_threads is not None and threads is not None,
        "metadata.annotations": any(
            guest.annotations.get(key, text) != text for key, text in annotations.items()
        ),
    }
    if any(conflicts.values()):
        return Conflict(tuple(field for field, both in conflicts.items() if both))
    size = memory.required("guest").quantity()
    percent = memory.optional("overcommitPercent", _percent, 0)
    return guest._replace(
        topology=spread_vcpus(cpu.required("guest").integer(minimum=1, maximum=_UINT32_MAX), preference),
        max_sockets=cpu.optional("maxSockets", _uint32, guest.max_sockets),
        dedicated=cpu.optional("dedicatedCPUPlacement", Cursor.boolean, guest.dedicated),
        isolated_emulator=cpu.optional("isolateEmulatorThread", Cursor.boolean, guest.isolated_emulator),
        numa_passthrough=guest.numa_passthrough
        or step_to(cpu, "numa", "guestMappingPassthrough") is not None,
        realtime=guest.realtime or cpu.get("realtime") is not None,
        memory=size,
        page_size=guest.page_size if pages is None else pages.required("pageSize").text(),
        requests={**guest.requests, "memory": _less(size, percent)} if percent else guest.requests,
        gpus=guest.gpus or devices["gpus"],
        host_devices=guest.host_devices or devices["hostDevices"],
        security=guest.security or security,
        io_policy=guest.io_policy or policy,
        io_threads=guest.io_threads if threads is None else threads,
        annotations={**annotations, **guest.annotations},
    )


def _less(size: Quantity, percent: int) -> Quantity:
    """Subtract a percentage, in 32-bit floating point like KubeVirt."""
    part = _single(1 - _single(_single(percent) / 100))
    return Quantity.from_value(int(_single(_single(size.value) * part)), size.format)


def _single(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


def spread_vcpus(count: int, preference: Cursor | None) -> Topology:
    """Divide vCPUs into sockets, cores and threads by a preference; without one, into sockets."""
    cpu = None if preference is None else preference.get("cpu")
    word = "" if cpu is None else cpu.optional("preferredCPUTopology", Cursor.text, "")
    kind = (word or "sockets").removeprefix("prefer").lower()
    if count == 1 or kind not in ("cores", "sockets", "any", "threads", "spread"):
        return Topology(1, 1, 1)
    if kind != "spread":
        field = "sockets" if kind == "any" else kind
        return Topology(1, 1, 1)._replace(**{field: count})
    assert preference is not None
    options = step_to(cpu, "spreadOptions")
    ratio = preference.optional("preferSpreadSocketToCoreRatio", _uint32, 0) or 2
    ratio = ratio if options is None else options.optional("ratio", _ratio, ratio)
    across = _SPREAD[0] if options is None else options.optional("across", _across, _SPREAD[0])
    if across == "SocketsCores":
        return Topology(cores=ratio, sockets=count // ratio, threads=1)
    if across == "CoresThreads":
        return Topology(cores=count // ratio, sockets=1, threads=ratio)
    return Topology(cores=ratio, sockets=count // 2 // ratio, threads=2)


def with_attached(guest: Guest, preference: Cursor) -> Guest:
    """Add the devices that a preference attaches automatically; this precedes the default networks."""
    devices = step_to(preference, "devices")
    if devices is None:
        return guest
    attached = {
        name: devices.optional(f"preferredAutoattach{name}", Cursor.boolean, None) for name in _PREFERRED
    }
    preferred = {name: each for name, each in attached.items() if each is not None}
    return guest._replace(autoattach={**preferred, **guest.autoattach})


def with_preference(guest: Guest, preference: Cursor) -> Guest:
    """Fill in a preference's values that the guest does not set (``pkg/instancetype/preference/apply``)."""
    guest = with_attached(guest, preference)
    tpm, model = step_to(preference, "devices", "preferredTPM"), ""
    if (devices := preference.get("devices")) is not None:
        model = devices.optional("preferredInterfaceModel", Cursor.text, "")
    if tpm is not None and not guest.tpm_given:
        guest = guest._replace(tpm=_tpm(tpm))
    return guest._replace(
        interfaces=tuple(each._replace(model=each.model or model) for each in guest.interfaces),
        architecture=guest.architecture or preference.optional("preferredArchitecture", Cursor.text, ""),
        security=guest.security or _security(preference.get("preferredLaunchSecurity")),
        annotations={**_texts(preference, "annotations"), **guest.annotations},
    )


def step_to(cursor: Cursor | None, *names: str) -> Cursor | None:
    """Return the cursor below along *names*; None if a step is missing."""
    for name in names:
        cursor = None if cursor is None else cursor.get(name)
    return cursor


def _is(cursor: Cursor | None, name: str) -> bool:
    return cursor is not None and cursor.optional(name, Cursor.boolean, False)


def _optional(cursor: Cursor | None, name: str, read: Callable[[Cursor], _T]) -> _T | None:
    return None if cursor is None else cursor.optional(name, read, None)


def _texts(cursor: Cursor, name: str) -> Mapping[str, str]:
    members = cursor.optional(name, Cursor.members, {})
    return {key: "" if member.value is None else member.text() for key, member in members.items()}


def annotations_of(metadata: Cursor | None) -> Mapping[str, str]:
    """Read the annotations of an object, or of a template that may have no metadata."""
    return {} if metadata is None else _texts(metadata, "annotations")


def _uint32(number: Cursor) -> int:
    return number.integer(minimum=0, maximum=_UINT32_MAX)


def _ratio(number: Cursor) -> int:
    return number.integer(minimum=1, maximum=_UINT32_MAX)


def _percent(number: Cursor) -> int:
    return number.integer(minimum=0, maximum=100)


def _across(word: Cursor) -> str:
    return word.one_of(_SPREAD)
