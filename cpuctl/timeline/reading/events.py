"""The events of a timeline, each a mapping of a time and the event."""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.engine.resize.running import POD
from cpuctl.machine.model import Machine
from cpuctl.phrases import all_of
from cpuctl.pods.model import ResourceRequirements
from cpuctl.quantity import Quantity
from cpuctl.state_names import CPU_FILE, MEMORY_FILE
from cpuctl.timeline.model import (
    Admit,
    ApiServer,
    ContainerEvent,
    Event,
    HotplugEvent,
    Remove,
    Resize,
    ServerEvent,
    StateFileEdit,
    StateFilePatch,
    TimelinePod,
    Update,
)
from cpuctl.timeline.reading.fields import (
    container_of,
    cpu_list,
    pod_name,
    refuse_others,
    require_container,
)
from cpuctl.timeline.reading.kubelets import KubeletReader, read_server

ACTIONS = (
    "admit",
    "schedule",
    "resize",
    "update",
    "remove",
    "start",
    "exit",
    "kubelet",
    "apiServer",
    "cpus",
    "stateFile",
)
_POD_LEVEL = "pod-level"
LARGEST_CODE = 255


class EventReader:
    """A reader of events in order of time: kubelets and API servers build on earlier ones."""

    def __init__(
        self, machine: Machine, pods: Mapping[str, TimelinePod], kubelet: KubeletReader, server: ApiServer
    ) -> None:
        self.machine = machine
        self.pods = pods
        self.kubelet = kubelet
        self.server = server

    def read(self, item: Cursor) -> Event | None:
        """Read the event of one moment; None if there is none.

        Raise InputError for several actions, and for an invalid one.
        """
        named = [name for name in ACTIONS if name in item.members()]
        if len(named) > 1:
            raise item.error(f"expected one action, found {all_of(named)}", hint="use one event per action")
        if not named:
            return None
        action = item.required(named[0])
        match named[0]:
            case "admit":
                return self._admit(action)
            case "schedule":
                return Admit(self.pods[pod_name(action, self.pods)], scheduled=True)
            case "start":
                return ContainerEvent(*container_of(action, action.text(), self.pods), starts=True)
            case "exit":
                return self._exit(action)
            case "remove":
                return Remove(pod_name(action, self.pods))
            case name:
                return self._other(name, action)

    def _other(self, name: str, action: Cursor) -> Event:
        match name:
            case "resize":
                return self._resize(action)
            case "update":
                return self._update(action)
            case "kubelet":
                return self.kubelet.change(action)
            case "apiServer":
                self.server = read_server(action, self.server)
                return ServerEvent(self.server)
            case "cpus":
                return self._cpus(action)
            case _:
                return self._state_file(action)

    def _admit(self, action: Cursor) -> Admit:
        if isinstance(action.value, str):
            return Admit(self.pods[pod_name(action, self.pods)])
        refuse_others(action, ("pod", "start"))
        pod = self.pods[pod_name(action.required("pod"), self.pods)]
        return Admit(pod, start=action.optional("start", Cursor.boolean, True))

    def _exit(self, action: Cursor) -> ContainerEvent:
        """Read ``pod/container``, or ``{container, code}``."""
        if isinstance(action.value, str):
            return ContainerEvent(*container_of(action, action.text(), self.pods), starts=False)
        refuse_others(action, ("container", "code"))
        named = action.required("container")
        code = action.optional("code", Cursor.integer, 0)
        if not 0 <= code <= LARGEST_CODE:
            raise action.required("code").expected(f"an exit code from 0 to {LARGEST_CODE}")
        return ContainerEvent(*container_of(named, named.text(), self.pods), starts=False, code=code)

    def _resize(self, action: Cursor) -> Resize:
        """Read ``{pod, cpu, memory}`` for a pod of one container, or ``{pod, containers}``."""
        name = pod_name(action.required("pod"), self.pods)
        pod = self.pods[name]
        named = action.get("containers")
        if named is None:
            only = pod.pod.containers
            if len(only) > 1 or pod.pod.init_containers:
                raise action.error("containers is missing: the pod has more than one")
            return Resize(name, {only[0].name: _amounts(action, ("pod",))})
        refuse_others(action, ("pod", "containers"))
        resources = {}
        for key, member in named.members().items():
            if key != _POD_LEVEL:
                require_container(member, pod, key)
            resources[POD if key == _POD_LEVEL else key] = _amounts(member, ())
        return Resize(name, resources)

    def _update(self, action: Cursor) -> Update:
        refuse_others(action, ("pod", "assignedCPUSet"))
        name = pod_name(action.required("pod"), self.pods)
        pod = self.pods[name]
        listed = action.get("assignedCPUSet")
        if listed is None:
            return Update(name, pod.exposed)
        for item in listed.items():
            require_container(item, pod, item.text())
        return Update(name, frozenset(listed.texts()))

    def _cpus(self, action: Cursor) -> HotplugEvent:
        refuse_others(action, ("offline", "online"))
        offline = action.optional("offline", self._known_cpus, CPUSet())
        online = action.optional("online", self._known_cpus, CPUSet())
        if not offline and not online:
            raise action.error("expected offline or online, with a CPU list")
        return HotplugEvent(offline.mask, online.mask)

    def _known_cpus(self, cursor: Cursor) -> CPUSet:
        cpus = cpu_list(cursor, self.machine)
        if unknown := cpus - self.machine.online:
            raise cursor.error(f"CPUs {unknown} are not described by the machine")
        return cpus

    def _state_file(self, action: Cursor) -> StateFileEdit | StateFilePatch:
        refuse_others(action, ("file", "delete", "text", "defaultCpuSet", "entries"))
        file = action.optional("file", _state_file_name, CPU_FILE)
        if action.optional("delete", Cursor.boolean, False):
            return StateFileEdit(file)
        if (text := action.get("text")) is not None:
            return StateFileEdit(file, text.text())
        pool, entries = action.get("defaultCpuSet"), action.get("entries")
        if file != CPU_FILE or (pool is None and entries is None):
            raise action.error(
                "expected delete: true, text, or defaultCpuSet and entries of cpu_manager_state"
            )
        return StateFilePatch(
            None if pool is None else cpu_list(pool, self.machine).mask,
            {} if entries is None else self._entries(entries),
        )

    def _entries(self, entries: Cursor) -> dict[tuple[str, str], int | None]:
        return {
            container_of(member, key, self.pods): None
            if member.value is None
            else cpu_list(member, self.machine).mask
            for key, member in entries.members().items()
        }


def _state_file_name(cursor: Cursor) -> str:
    return cursor.one_of((CPU_FILE, MEMORY_FILE))


def _amounts(cursor: Cursor, others: tuple[str, ...]) -> ResourceRequirements:
    """Read ``{cpu, memory}`` for both requests and limits, or ``{requests, limits}``."""
    if cursor.get("requests") is not None or cursor.get("limits") is not None:
        refuse_others(cursor, (*others, "requests", "limits"))
        return ResourceRequirements(
            requests=cursor.optional("requests", _quantities, {}),
            limits=cursor.optional("limits", _quantities, {}),
        )
    refuse_others(cursor, (*others, "cpu", "memory"))
    both = {key: member.quantity() for key, member in cursor.members().items() if key not in others}
    if not both:
        raise cursor.error("expected new amounts: cpu, memory, or requests and limits")
    return ResourceRequirements(requests=both, limits=both)


def _quantities(cursor: Cursor) -> dict[str, Quantity]:
    return {key: member.quantity() for key, member in cursor.members().items()}
