"""KubeVirt's virtual machines and the cluster's settings, as far as they determine the pods' resources.

Rules: KubeVirt v1.9.0, ``pkg/defaults`` and the admitters of ``pkg/virt-api/webhooks``; the pod itself is in
``launcher_pod``.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuctl.quantity import Quantity
from cpuctl.records import Record

RELEASE = "1.9"
"""The KubeVirt release whose rules are used."""
EVEN_PARITY = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
SUPPLEMENTAL_POOL = "supplementalPool"
_GATES_ON = frozenset({"ExternalNetResourceInjection", "GPUsWithDRA", "HostDevicesWithDRA", "ImageVolume"})
"""The beta gates, enabled by default, among those that are checked here."""
_DEFAULT_CPU_REQUEST = Quantity.parse("100m")
_LEAST_MEMORY = Quantity.parse("1M")
_IO_POLICIES = ("shared", "auto", SUPPLEMENTAL_POOL)
_UINT32 = 0xFFFFFFFF
_NOTHING = Quantity()


class HostDevice(Record):
    """A GPU or another device of the host: a device plugin's ``resource`` or a pod's ``claim``."""

    resource: str = ""
    claim: str = ""


class Interface(NamedTuple):
    """A guest's network interface; ``binding`` is its member of the manifest, ``plugin`` its plugin."""

    network: str
    model: str = ""
    binding: str = ""
    plugin: str = ""

    @property
    def virtio(self) -> bool:
        """Whether vhost-net can serve it."""
        return self.model in ("", "virtio")


class Volume(Record):
    """A volume with the member of the manifest that is its type; ``hotplug`` if it is attached later."""

    name: str
    source: str
    hotplug: bool = False


class Network(Record):
    """A network of the guest: the pod's, a NetworkAttachmentDefinition's, or one of a resource claim."""

    name: str
    attachment: str = ""
    claim: str = ""


class Topology(NamedTuple):
    """The guest's processors; 0 for unset values."""

    cores: int = 0
    sockets: int = 0
    threads: int = 0

    @property
    def vcpus(self) -> int:
        """The product of the values that are set, in 32 bits (``hardware.GetNumberOfVCPUs``)."""
        count = 0
        for factor in self:
            count = (count * factor & _UINT32 if count else factor) if factor else count
        return count


class Guest(NamedTuple):
    """The spec of a VirtualMachineInstance.

    ``requests`` and ``limits`` are ``spec.domain.resources``, ``memory`` is ``spec.domain.memory.guest``,
    ``page_size`` as written, empty without huge pages. ``autoattach`` maps the suffixes of set fields
    (``GraphicsDevice``) to their values, ``hooks`` counts the sidecars of an annotation. ``defaulted`` shows
    whether the ``topology`` or the ``memory`` was omitted.
    """

    topology: Topology = Topology()
    max_sockets: int = 0
    dedicated: bool = False
    isolated_emulator: bool = False
    numa_passthrough: bool = False
    realtime: bool = False
    memory: Quantity | None = None
    page_size: str = ""
    added_overhead: Quantity | None = None
    reserves_overhead: bool = False
    requests: Mapping[str, Quantity] = {}
    limits: Mapping[str, Quantity] = {}
    overcommits_overhead: bool = False
    io_policy: str = ""
    io_threads: int | None = None
    architecture: str = ""
    annotations: Mapping[str, str] = {}
    gpus: tuple[HostDevice, ...] = ()
    host_devices: tuple[HostDevice, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    networks: tuple[Network, ...] = ()
    volumes: tuple[Volume, ...] = ()
    virtiofs: frozenset[str] = frozenset()
    autoattach: Mapping[str, bool] = {}
    logs_console: bool | None = None
    tpm: bool = False
    tpm_given: bool = False
    security: frozenset[str] = frozenset()
    persistent_reservation: bool = False
    kernel_boot: bool = False
    exec_probes: int = 0
    hooks: int = 0
    defaulted: frozenset[str] = frozenset()
    priority_class: str = ""

    @property
    def wants_guaranteed(self) -> bool:
        """Whether the guest's own requests and limits are those of a Guaranteed pod."""
        memory, cpu = (
            (self.requests.get(name, _NOTHING), self.limits.get(name, _NOTHING)) for name in ("memory", "cpu")
        )
        same_memory = bool(memory[1].sign) if not memory[0].sign else memory[0] == memory[1]
        return same_memory and bool(cpu[0].sign) and cpu[0] == cpu[1]

    @property
    def guaranteed(self) -> bool:
        """Whether KubeVirt gives the pod's other containers equal requests and limits."""
        return self.dedicated or self.wants_guaranteed

    @property
    def uses_vfio(self) -> bool:
        """Whether devices of the host are passed through."""
        return bool(self.gpus or self.host_devices) or any(
            each.binding == "sriov" for each in self.interfaces
        )


class LabelTerm(Record):
    """One requirement of a label selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels meets this requirement."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


class Binding(Record):
    """A cluster's network binding plugin: whether it needs a sidecar, and memory for it."""

    sidecar: bool = False
    memory: Quantity = _NOTHING


class Support(Record):
    """A cluster's requests and limits for one kind of container besides the guest's."""

    requests: Mapping[str, Quantity] = {}
    limits: Mapping[str, Quantity] = {}


class Cluster(NamedTuple):
    """The settings of a KubeVirt object with defaults; ``where`` is empty without an object."""

    where: str = ""
    version: str = ""
    gates: Mapping[str, bool] = {}
    annotations: frozenset[str] = frozenset()
    cpu_allocation_ratio: int = 10
    memory_overcommit: int = 100
    emulation: bool = False
    cpu_request: Quantity = _DEFAULT_CPU_REQUEST
    overhead_ratio: str = ""
    support: Mapping[str, Support] = {}
    console_log_disabled: bool = False
    hypervisor: str = "kvm"
    architecture: str = ""
    network_interface: str = "bridge"
    bindings: Mapping[str, Binding] = {}
    cpu_limit_selector: tuple[LabelTerm, ...] | None = None
    permitted_devices: frozenset[str] | None = None

    def enabled(self, gate: str) -> bool:
        """Return whether a feature gate is on: as set, otherwise if it is beta."""
        return self.gates.get(gate, gate in _GATES_ON)


class NamespaceLimits(Record):
    """Whether the pod gets an automatic CPU limit, and the ratio of its memory limit to the request."""

    cpu: bool = False
    memory_ratio: float | None = None


class VirtualMachine(NamedTuple):
    """A guest with its defaults in its cluster.

    ``kind`` and ``name`` are those of the object that contains it, ``prefix`` the path of the guest there:
    ``spec.template``, empty for a VirtualMachineInstance. ``instancetype`` is the source of its CPUs and
    memory, as ``Kind NAME``, and ``types_emulator`` whether the emulator thread is set there, too.
    ``network_resources`` are the resources of its networks' devices.
    """

    kind: str
    name: str
    namespace: str
    instance: str
    guest: Guest
    cluster: Cluster = Cluster()
    limits: NamespaceLimits = NamespaceLimits()
    network_resources: tuple[str, ...] = ()
    prefix: str = ""
    instancetype: str = ""
    types_emulator: bool = False
    origin: str = ""

    @property
    def architecture(self) -> str:
        """The guest's architecture; empty if it is not given."""
        return self.guest.architecture or self.cluster.architecture

    def field(self, *names: str) -> str:
        """Return the path of a field of the guest as written: ``spec.template.spec.domain.cpu.cores``."""
        return ".".join(filter(None, (self.prefix, *names)))


def with_defaults(guest: Guest, cluster: Cluster) -> Guest:
    """Fill in the webhook's defaults that affect resources."""
    requests = dict(guest.requests)
    if guest.limits.get("cpu", _NOTHING).sign and not requests.get("cpu", _NOTHING).sign:
        requests["cpu"] = guest.limits["cpu"]
    if cluster.cpu_request != _DEFAULT_CPU_REQUEST and "cpu" not in requests and not guest.dedicated:
        requests["cpu"] = cluster.cpu_request
    guest = guest._replace(requests=requests)
    return with_interface(
        guest._replace(
            memory=_default_memory(guest),
            topology=_default_topology(guest),
            annotations=_default_annotations(guest, cluster),
            defaulted=frozenset(
                name
                for name, given in (("topology", any(guest.topology)), ("memory", guest.memory is not None))
                if not given
            ),
        ),
        cluster,
    )


def with_interface(guest: Guest, cluster: Cluster) -> Guest:
    """Add the pod network to a guest without any network."""
    if guest.autoattach.get("PodInterface") is False or guest.networks or guest.interfaces:
        return guest
    default = Interface("default", binding=cluster.network_interface)
    return guest._replace(interfaces=(default,), networks=(Network("default"),))


def _default_memory(guest: Guest) -> Quantity | None:
    if guest.memory is not None:
        return guest.memory
    for amounts in (guest.requests, guest.limits):
        if (amount := amounts.get("memory", _NOTHING)).sign:
            return amount
    return page_bytes(guest)


def _default_topology(guest: Guest) -> Topology:
    if any(guest.topology):
        return guest.topology
    amount = guest.limits.get("cpu", guest.requests.get("cpu"))
    return Topology(cores=1, sockets=1 if amount is None else amount.value & _UINT32, threads=1)


def _default_annotations(guest: Guest, cluster: Cluster) -> Mapping[str, str]:
    copied = guest.isolated_emulator and EVEN_PARITY in cluster.annotations and cluster.enabled("AlignCPUs")
    return {**guest.annotations, EVEN_PARITY: ""} if copied else guest.annotations


def page_bytes(guest: Guest) -> Quantity | None:
    """Return the size of huge pages; None if it is missing or unreadable."""
    try:
        return Quantity.parse(guest.page_size) if guest.page_size else None
    except ValueError:
        return None


class Refusal(Record):
    """A reason why KubeVirt does not store a guest: the field, as path below its spec, and the problem."""

    field: tuple[str, ...]
    why: str


def refusals(guest: Guest, cluster: Cluster) -> Iterator[Refusal]:
    """Yield the objections of KubeVirt's webhook to CPUs and memory of a guest that has its defaults."""
    yield from _cpu_refusals(guest)
    yield from _memory_refusals(guest)
    if guest.dedicated:
        yield from _pinning_refusals(guest)
    if guest.io_policy and guest.io_policy not in _IO_POLICIES:
        known = ", ".join(_IO_POLICIES)
        yield Refusal(("domain", "ioThreadsPolicy"), f"expected one of {known}, found {guest.io_policy}")
    if guest.io_policy == SUPPLEMENTAL_POOL and (guest.io_threads or 0) < 1:
        yield Refusal(
            ("domain", "ioThreads", "supplementalPoolThreadCount"),
            "the policy supplementalPool needs at least one thread",
        )
    if guest.reserves_overhead and not cluster.enabled("ReservedOverheadMemlock"):
        yield Refusal(
            ("domain", "memory", "reservedOverhead"), "feature gate ReservedOverheadMemlock is disabled"
        )
    if cluster.permitted_devices is not None:
        for device in (*guest.gpus, *guest.host_devices):
            if not device.claim and device.resource not in cluster.permitted_devices:
                why = f"{device.resource} is not among the cluster's permittedHostDevices"
                yield Refusal(("domain", "devices"), why)
    for interface in guest.interfaces:
        if interface.plugin and cluster.where and interface.plugin not in cluster.bindings:
            why = f"the cluster has no network binding {interface.plugin}"
            yield Refusal(("domain", "devices", "interfaces"), why)


def _cpu_refusals(guest: Guest) -> Iterator[Refusal]:
    cpu = ("domain", "cpu")
    if guest.isolated_emulator and not guest.dedicated:
        yield Refusal((*cpu, "isolateEmulatorThread"), "needs dedicatedCpuPlacement: true")
    if guest.numa_passthrough and not guest.dedicated:
        why = "needs dedicatedCpuPlacement: true"
        yield Refusal((*cpu, "numa", "guestMappingPassthrough"), why)
    if guest.numa_passthrough and not guest.page_size:
        yield Refusal((*cpu, "numa", "guestMappingPassthrough"), "needs memory.hugepages")
    if guest.realtime and not guest.dedicated:
        yield Refusal((*cpu, "realtime"), "needs dedicatedCpuPlacement: true")
    if guest.realtime and not guest.numa_passthrough:
        yield Refusal((*cpu, "realtime"), "needs numa.guestMappingPassthrough")
    if guest.max_sockets and guest.topology.sockets > guest.max_sockets:
        why = f"{guest.topology.sockets} sockets exceed maxSockets, which is {guest.max_sockets}"
        yield Refusal((*cpu, "sockets"), why)
    if guest.architecture == "arm64" and guest.dedicated and guest.topology.threads > 1:
        yield Refusal((*cpu, "threads"), "expected one thread per core for arm64")


def _memory_refusals(guest: Guest) -> Iterator[Refusal]:
    resources = ("domain", "resources")
    for side, amounts in (("requests", guest.requests), ("limits", guest.limits)):
        for name in ("cpu", "memory"):
            if amounts.get(name, _NOTHING).sign < 0:
                yield Refusal((*resources, side, name), f"must not be negative, found {amounts[name]}")
    for name in ("cpu", "memory"):
        request, limit = guest.requests.get(name, _NOTHING), guest.limits.get(name, _NOTHING)
        if limit.sign > 0 and limit < request:
            yield Refusal((*resources, "requests", name), f"{request} exceeds the limit of {limit}")
    memory = guest.requests.get("memory", _NOTHING)
    if memory.sign > 0 and memory < _LEAST_MEMORY:
        yield Refusal((*resources, "requests", "memory"), f"expected at least 1M, found {memory}")
    if guest.page_size:
        yield from _page_refusals(guest)


def _page_refusals(guest: Guest) -> Iterator[Refusal]:
    page, where = page_bytes(guest), ("domain", "memory", "hugepages", "pageSize")
    if page is None or page.value <= 0:
        yield Refusal(where, f"{guest.page_size} is not a valid page size")
        return
    sizes = (guest.requests.get("memory"), guest.memory, guest.limits.get("memory"))
    memory = next((each for each in sizes if each is not None and each.value), _NOTHING)
    if memory.value % page.value:
        yield Refusal(where, f"the memory of {memory} is not a multiple of {guest.page_size}")


def _pinning_refusals(guest: Guest) -> Iterator[Refusal]:
    where, vcpus = ("domain", "cpu", "dedicatedCpuPlacement"), guest.topology.vcpus
    given = [side["cpu"] for side in (guest.requests, guest.limits) if side.get("cpu", _NOTHING).value > 0]
    if any(each.value * 1000 != each.milli_value for each in given):
        yield Refusal(where, "cpu in resources is not a whole number")
    elif len({each.value for each in given}) > 1:
        yield Refusal(where, "cpu differs between resources.requests and resources.limits")
    elif given and vcpus and vcpus not in {each.value for each in given}:
        yield Refusal(
            where, f"cpu in resources is {given[0]}, but cpu.cores, sockets and threads result in {vcpus}"
        )
    memory = {
        side["memory"] for side in (guest.requests, guest.limits) if side.get("memory", _NOTHING).value > 0
    }
    if len(memory) > 1:
        yield Refusal(where, "memory differs between resources.requests and resources.limits")
    if not memory and not guest.page_size and not (guest.memory or _NOTHING).sign:
        yield Refusal(where, "needs memory.guest, memory.hugepages or memory in resources")
    if guest.topology.threads > 2:
        yield Refusal(where, f"expected at most two threads per core, found {guest.topology.threads}")
