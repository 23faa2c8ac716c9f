"""Conversion of KubeVirt objects to launcher pods: virtual machines and the objects that affect them.

A KubeVirt object has the cluster's settings, instancetypes and preferences are referred to by name, a
Namespace and its ResourceQuotas require limits, NetworkAttachmentDefinitions name devices. All of these may
be in other files or follow the machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuctl.documents.cursor import Cursor
from cpuctl.golang.json_values import parsed_json
from cpuctl.phrases import not_among_manifests
from cpuctl.pods.launcher_pod import KUBEVIRT, pods_of_machine
from cpuctl.pods.model import Pod
from cpuctl.pods.reading.pods import LONGEST_NAME, decode_name, decode_namespace
from cpuctl.pods.reading.virtual_machines import (
    Conflict,
    annotations_of,
    decode_guest,
    step_to,
    with_attached,
    with_instancetype,
    with_preference,
)
from cpuctl.pods.reading.workloads import KUBEVIRT_MACHINES, MAX_REPLICAS, KubeVirtObject
from cpuctl.pods.resource_quotas import ResourceQuota
from cpuctl.pods.virtual_machine import (
    RELEASE,
    Binding,
    Cluster,
    Guest,
    LabelTerm,
    NamespaceLimits,
    Support,
    VirtualMachine,
    refusals,
    with_defaults,
    with_interface,
)
from cpuctl.quantity import Quantity

_RESOURCE_NAME = "k8s.v1.cni.cncf.io/resourceName"
_MEMORY_RATIO = "alpha.kubevirt.io/auto-memory-limits-ratio"
_DEFAULT_MEMORY_RATIO = 2.0
_HOOKS = "hooks.kubevirt.io/hookSidecars"
_HYPERVISORS = {"hyperv-direct": "mshv"}
_ENDED = ("Succeeded", "Failed")
_NOTHING = Quantity()


class LauncherPods(NamedTuple):
    """The pods of one object, or why it has none; ``notes`` are findings about them.

    ``refused`` shows whether KubeVirt refuses it; otherwise information about its pods is missing.
    """

    pods: tuple[Pod, ...] = ()
    why: str = ""
    refused: bool = False
    notes: tuple[str, ...] = ()


class _Named(NamedTuple):
    """Objects that others refer to by name."""

    objects: Mapping[tuple[str, str, str], Cursor]

    def find(self, kind: str, namespace: str, name: str) -> Cursor | None:
        return self.objects.get((kind, "" if "Cluster" in kind else namespace, name))


class KubeVirtContext:
    """Everything in the manifests that affects virtual machines."""

    def __init__(
        self, objects: Sequence[KubeVirtObject], quotas: Sequence[ResourceQuota], pods: Sequence[Pod]
    ) -> None:
        self.cluster = _cluster(objects)
        self._quotas = quotas
        self._labels = {
            decode_name(each.at.required("metadata")): _labels(each.at)
            for each in objects
            if each.kind == "Namespace"
        }
        named = (each for each in objects if each.kind not in KUBEVIRT_MACHINES and each.kind != "KubeVirt")
        self._named = _Named({_key(each): each.at for each in named})
        self._instances = {_full_name(each.at) for each in objects if each.kind == "VirtualMachineInstance"}
        self._running = {(pod.namespace, owner) for pod in pods if (owner := _owner(pod))}

    @property
    def computed(self) -> str:
        """The rules by which the pods are computed, and the settings that the cluster is assumed to have."""
        where = self.cluster.where
        settings = f"the settings of {where}" if where else "KubeVirt's default settings"
        return f"launcher pods as created by KubeVirt {RELEASE}, with {settings}"

    @property
    def notes(self) -> tuple[str, ...]:
        """A note if the cluster runs a release other than the one computed with."""
        minor = ".".join(self.cluster.version.removeprefix("v").split(".")[:2])
        if minor in ("", RELEASE):
            return ()
        text = (
            f"the cluster runs KubeVirt {self.cluster.version}, but launcher pods are computed as "
            f"KubeVirt {RELEASE} creates them"
        )
        return (text,)

    def pods_of(self, item: KubeVirtObject) -> LauncherPods:
        """Return the pods of a virtual machine, or of an object that creates some.

        Raise InputError with the location of a value that cannot be stored.
        """
        namespace, name = _full_name(item.at)
        if item.kind == "VirtualMachine" and (namespace, name) in self._instances:
            return LauncherPods()
        if item.kind == "VirtualMachineInstance" and (namespace, name) in self._running:
            return LauncherPods()
        match item.kind:
            case "VirtualMachineInstance":
                made = self._instance(item.at, item, name)
                phase = step_to(item.at, "status")
                ended = "" if phase is None else phase.optional("phase", Cursor.text, "")
                pods = made.pods if ended not in _ENDED else tuple(p._replace(phase=ended) for p in made.pods)
                return made._replace(pods=pods)
            case "VirtualMachine":
                made = self._machine(item.at.required("spec"), item, name, "spec.template")
                halted = made.pods and _is_halted(item.at.required("spec"))
                note = (
                    f"VirtualMachine {namespace}/{name} is not running, but is planned as if it were started"
                )
                return made._replace(notes=(*made.notes, note)) if halted else made
            case _:
                return self._replicas(item)

    def _replicas(self, item: KubeVirtObject) -> LauncherPods:
        """Return the pods of identical machines."""
        spec, (_, name) = item.at.required("spec"), _full_name(item.at)
        number = spec.optional("replicas", _count, 1)
        if item.kind == "VirtualMachinePool":
            template = spec.required("virtualMachineTemplate").required("spec")
            way = "spec.virtualMachineTemplate.spec.template"
            first = self._machine(template, item, f"{name}-0", way)
        else:
            first = self._instance(spec.required("template"), item, f"{name}-0", "spec.template")
        machine = first.pods[0].virtual_machine if first.pods else None
        if machine is None or not number:
            return first._replace(pods=())
        equivalent = (machine._replace(instance=f"{name}-{each}"[:LONGEST_NAME]) for each in range(1, number))
        return first._replace(
            pods=(*first.pods, *(pod for each in equivalent for pod in pods_of_machine(each)))
        )

    def _machine(self, spec: Cursor, item: KubeVirtObject, name: str, way: str) -> LauncherPods:
        """Resolve the references of a VirtualMachine, and start it."""
        namespace = decode_namespace(item.at.required("metadata"))
        instancetype, preference = (
            self._referred(spec.get(each), each, namespace) for each in ("instancetype", "preference")
        )
        for found in (instancetype, preference):
            if isinstance(found, str):
                return LauncherPods(why=found)
        template = spec.required("template")
        guest = decode_guest(template.required("spec"), annotations_of(template.get("metadata")))
        wanted = preference if isinstance(preference, Cursor) else None
        if wanted is not None:
            guest = with_attached(guest, wanted)
        guest = with_interface(guest, self.cluster)
        if isinstance(instancetype, Cursor):
            typed = with_instancetype(guest, instancetype, wanted)
            if isinstance(typed, Conflict):
                fields = ", ".join(typed.fields)
                why = f"KubeVirt does not start it: it sets {fields}, which its instancetype also sets"
                return LauncherPods(why=why, refused=True)
            guest = typed
        if wanted is not None:
            guest = with_preference(guest, wanted)
        made = self._started(guest, item, name, way)
        return made if not isinstance(instancetype, Cursor) else _typed(made, spec, instancetype)

    def _instance(self, at: Cursor, item: KubeVirtObject, name: str, way: str = "") -> LauncherPods:
        guest = decode_guest(at.required("spec"), annotations_of(at.get("metadata")))
        return self._started(guest, item, name, way)

    def _started(self, guest: Guest, item: KubeVirtObject, instance: str, way: str) -> LauncherPods:
        namespace, name = _full_name(item.at)
        guest = with_defaults(guest, self.cluster)
        if not guest.architecture and self.cluster.architecture:
            guest = guest._replace(architecture=self.cluster.architecture)
        hooks = _hooks(guest)
        if hooks is None:
            why = f"KubeVirt does not start it: its annotation {_HOOKS} is not a JSON list"
            return LauncherPods(why=why, refused=True)
        refused = next(refusals(guest, self.cluster), None)
        if refused is not None:
            field = ".".join(filter(None, (way, "spec", *refused.field)))
            return LauncherPods(why=f"KubeVirt rejects it: {field}: {refused.why}", refused=True)
        resources, unknown = self._networks(guest, namespace)
        machine = VirtualMachine(
            kind=item.kind,
            name=name,
            namespace=namespace,
            instance=instance[:LONGEST_NAME],
            guest=guest._replace(hooks=hooks),
            cluster=self.cluster,
            limits=self._limits(guest, namespace),
            network_resources=resources,
            prefix=way,
            origin=str(item.at.origin),
        )
        return LauncherPods(tuple(pods_of_machine(machine)), notes=tuple(unknown))

    def _referred(self, matcher: Cursor | None, role: str, namespace: str) -> Cursor | str | None:
        """Return the spec of an instancetype or preference, why it is unknown, or None for no reference."""
        if matcher is None:
            return None
        name = matcher.optional("name", Cursor.text, "")
        if not name:
            return f"its {role} is inferred from the labels of a volume, which are not among the manifests"
        kind = _kind_of(matcher, role)
        if kind is None:
            return f"KubeVirt does not start it: {matcher.required('kind').text()} is not a kind of {role}"
        found = self._named.find(kind, namespace, name)
        if found is None:
            missing = not_among_manifests(kind, name, "" if "Cluster" in kind else namespace)
            return f"its {role} {name} {missing}"
        return found.required("spec")

    def _networks(self, guest: Guest, namespace: str) -> tuple[tuple[str, ...], list[str]]:
        """Return the devices that networks need, and notes about unknown networks."""
        resources, unknown = [], []
        for network in guest.networks:
            if not network.attachment:
                continue
            of, _, name = network.attachment.rpartition("/")
            found = self._named.find("NetworkAttachmentDefinition", of or namespace, name)
            if found is None:
                unknown.append(network.attachment)
            elif resource := annotations_of(found.get("metadata")).get(_RESOURCE_NAME):
                resources.append(resource)
        text = (
            "networks are counted without devices, because their NetworkAttachmentDefinition is not "
            f"among the manifests: {', '.join(unknown)}"
        )
        return tuple(resources), [text] if unknown else []

    def _limits(self, guest: Guest, namespace: str) -> NamespaceLimits:
        """Return the limits that the pod gets because its namespace has quotas for limits, or a label."""
        labels = self._labels.get(namespace, {})
        limited = {name for quota in self._quotas if quota.namespace == namespace for name in quota.hard}
        selector = self.cluster.cpu_limit_selector
        known = selector is not None and namespace in self._labels
        selected = known and all(each.matches(labels) for each in selector or ())
        return NamespaceLimits(
            cpu="cpu" not in guest.limits and ("limits.cpu" in limited or selected),
            memory_ratio=_ratio(labels.get(_MEMORY_RATIO))
            if "limits.memory" in limited and "memory" not in guest.limits
            else None,
        )


def _key(item: KubeVirtObject) -> tuple[str, str, str]:
    namespace, name = _full_name(item.at)
    return item.kind, "" if "Cluster" in item.kind or item.kind == "Namespace" else namespace, name


def _full_name(at: Cursor) -> tuple[str, str]:
    metadata = at.required("metadata")
    return decode_namespace(metadata), decode_name(metadata)


def _labels(at: Cursor) -> Mapping[str, str]:
    labels = at.required("metadata").optional("labels", Cursor.members, {})
    return {key: member.text() for key, member in labels.items()}


def _owner(pod: Pod) -> str:
    """Return the name of the VirtualMachineInstance that a pod belongs to."""
    from cpuctl.pods.manifest import owner_of

    kind, _, name = (owner_of(pod) or "").partition("/")
    return name if kind == f"VirtualMachineInstance.{KUBEVIRT}" else ""


def _is_halted(spec: Cursor) -> bool:
    return not spec.optional("running", Cursor.boolean, True) or (
        spec.optional("runStrategy", Cursor.text, "") == "Halted"
    )


def _kind_of(matcher: Cursor, role: str) -> str | None:
    word = "Instancetype" if role == "instancetype" else "Preference"
    kinds = (f"VirtualMachineCluster{word}", f"VirtualMachine{word}")
    given = matcher.optional("kind", Cursor.text, "").lower()
    return next((kind for kind in kinds if not given or given.removesuffix("s") == kind.lower()), None)


def _typed(made: LauncherPods, spec: Cursor, instancetype: Cursor) -> LauncherPods:
    """Set the instancetype of pods, and which of their settings come from it."""
    matcher = spec.required("instancetype")
    named = f"{_kind_of(matcher, 'instancetype')} {matcher.required('name').text()}"
    emulator = step_to(instancetype, "cpu", "isolateEmulatorThread") is not None
    pods = tuple(
        pod._replace(
            virtual_machine=machine._replace(instancetype=named, types_emulator=emulator)
            if (machine := pod.virtual_machine)
            else None
        )
        for pod in made.pods
    )
    return made._replace(pods=pods)


def _hooks(guest: Guest) -> int | None:
    """Count the sidecars in an annotation; None if it is not a JSON list."""
    text = guest.annotations.get(_HOOKS)
    if text is None:
        return 0
    try:
        hooks = parsed_json(text)
    except ValueError:
        return None
    return len(hooks) if isinstance(hooks, list) else None


def _ratio(label: str | None) -> float:
    """Read the label of a namespace; anything but a number of at least 1 is ignored."""
    try:
        ratio = float(label or "")
    except ValueError:
        return _DEFAULT_MEMORY_RATIO
    return ratio if 1.0 <= ratio < float("inf") else _DEFAULT_MEMORY_RATIO


def _count(number: Cursor) -> int:
    return number.integer(minimum=0, maximum=MAX_REPLICAS)


# The KubeVirt object


def _cluster(objects: Sequence[KubeVirtObject]) -> Cluster:
    found = [each for each in objects if each.kind == "KubeVirt"]
    if not found:
        return Cluster()
    if len(found) > 1:
        raise found[1].at.error("expected a single KubeVirt object per cluster")
    at = found[0].at
    metadata, configuration, status = (
        at.required("metadata"),
        step_to(at, "spec", "configuration"),
        at.get("status"),
    )
    cluster = Cluster(
        where=str(at.origin),
        annotations=frozenset(annotations_of(metadata)),
        version="" if status is None else status.optional("observedKubeVirtVersion", Cursor.text, ""),
        architecture="" if status is None else status.optional("defaultArchitecture", Cursor.text, ""),
    )
    if configuration is None:
        return cluster
    return _with_developer(_with_configuration(cluster, configuration), configuration)


def _with_configuration(cluster: Cluster, configuration: Cursor) -> Cluster:
    options, network = configuration.get("virtualMachineOptions"), configuration.get("network")
    return cluster._replace(
        cpu_request=configuration.optional("cpuRequest", Cursor.quantity, cluster.cpu_request),
        overhead_ratio=configuration.optional("additionalGuestMemoryOverheadRatio", Cursor.text, ""),
        support=dict(map(_support, configuration.optional("supportContainerResources", Cursor.items, []))),
        console_log_disabled=step_to(options, "disableSerialConsoleLog") is not None,
        network_interface="bridge"
        if network is None
        else network.optional("defaultNetworkInterface", Cursor.text, "") or "bridge",
        bindings={} if network is None else network.optional("binding", _bindings, {}),
        cpu_limit_selector=configuration.optional("autoCPULimitNamespaceLabelSelector", _selector, None),
        permitted_devices=configuration.optional("permittedHostDevices", _permitted, None),
    )


def _with_developer(cluster: Cluster, configuration: Cursor) -> Cluster:
    developer = configuration.get("developerConfiguration")
    if developer is not None:
        on, off = (
            dict.fromkeys(developer.optional(name, Cursor.texts, ()), value)
            for name, value in (("featureGates", True), ("disabledFeatureGates", False))
        )
        cluster = cluster._replace(
            gates=off | on,
            cpu_allocation_ratio=developer.optional("cpuAllocationRatio", _whole, 10),
            memory_overcommit=developer.optional("memoryOvercommit", _positive, 100),
            emulation=developer.optional("useEmulation", Cursor.boolean, False),
        )
    hypervisors = configuration.optional("hypervisors", Cursor.items, [])
    if hypervisors and cluster.enabled("ConfigurableHypervisor"):
        name = hypervisors[0].optional("name", Cursor.text, "")
        cluster = cluster._replace(hypervisor=_HYPERVISORS.get(name, "kvm"))
    return cluster


def _support(item: Cursor) -> tuple[str, Support]:
    resources = item.required("resources")
    return item.required("type").text(), Support(
        requests=resources.optional("requests", Cursor.quantities, {}),
        limits=resources.optional("limits", Cursor.quantities, {}),
    )


def _bindings(bindings: Cursor) -> Mapping[str, Binding]:
    return {name: _binding(binding) for name, binding in bindings.members().items()}


def _binding(binding: Cursor) -> Binding:
    requests = step_to(binding, "computeResourceOverhead", "requests")
    return Binding(
        sidecar=bool(binding.optional("sidecarImage", Cursor.text, "")),
        memory=_NOTHING if requests is None else requests.optional("memory", Cursor.quantity, _NOTHING),
    )


def _selector(selector: Cursor) -> tuple[LabelTerm, ...]:
    labels = selector.optional("matchLabels", Cursor.members, {})
    expressions = selector.optional("matchExpressions", Cursor.items, [])
    return (
        *(LabelTerm(key, "In", (member.text(),)) for key, member in labels.items()),
        *(
            LabelTerm(
                each.required("key").text(),
                each.required("operator").one_of(("In", "NotIn", "Exists", "DoesNotExist")),
                each.optional("values", Cursor.texts, ()),
            )
            for each in expressions
        ),
    )


def _permitted(devices: Cursor) -> frozenset[str]:
    names = ("pciHostDevices", "mediatedDevices", "usb")
    listed = (item for name in names for item in devices.optional(name, Cursor.items, []))
    return frozenset(item.required("resourceName").text() for item in listed)


def _whole(number: Cursor) -> int:
    return number.integer(minimum=0, maximum=1 << 31)


def _positive(number: Cursor) -> int:
    return number.integer(minimum=1, maximum=1 << 31)
