"""Pods and containers as a plugin receives them, and its answers about their CPUs and memory nodes."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cpuctl.cpuset import CPUSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Event(IntEnum):
    """The events of the protocol, by number."""

    RUN_POD_SANDBOX = 1
    STOP_POD_SANDBOX = 2
    REMOVE_POD_SANDBOX = 3
    CREATE_CONTAINER = 4
    POST_CREATE_CONTAINER = 5
    START_CONTAINER = 6
    POST_START_CONTAINER = 7
    UPDATE_CONTAINER = 8
    POST_UPDATE_CONTAINER = 9
    STOP_CONTAINER = 10
    REMOVE_CONTAINER = 11


EVENTS = (
    Event.STOP_POD_SANDBOX,
    Event.REMOVE_POD_SANDBOX,
    Event.CREATE_CONTAINER,
    Event.POST_CREATE_CONTAINER,
    Event.POST_START_CONTAINER,
    Event.UPDATE_CONTAINER,
    Event.STOP_CONTAINER,
    Event.REMOVE_CONTAINER,
)
"""The events that a plugin for CPUs subscribes to."""

SHARES = 1024
"""The shares of a container for one CPU."""

STOPPED = 4
"""The state of a container that has ended."""


class Setting(NamedTuple):
    """CPUs and memory nodes, in the list format; empty if unchanged."""

    cpus: str = ""
    mems: str = ""

    def over(self, other: Setting) -> Setting:
        """Return the settings that result from applying these over *other*."""
        return Setting(self.cpus or other.cpus, self.mems or other.mems)

    @property
    def cpu_set(self) -> CPUSet:
        """The CPUs as a set; empty if the list is invalid."""
        try:
            return CPUSet.parse(self.cpus)
        except ValueError:
            return CPUSet()


class Sandbox(NamedTuple):
    """A pod in a runtime: ``id`` is the runtime's, ``uid`` the API server's."""

    id: str
    uid: str
    namespace: str
    name: str
    cgroup_parent: str = ""


class RuntimeContainer(NamedTuple):
    """A container as the runtime describes it; missing values are None, ``memory`` is in bytes."""

    id: str
    name: str
    pod: Sandbox
    setting: Setting = Setting()
    shares: int | None = None
    quota: int | None = None
    period: int | None = None
    memory: int | None = None
    ended: bool = False

    @property
    def full_name(self) -> str:
        """Namespace, pod and container."""
        return f"{self.pod.namespace}/{self.pod.name}/{self.name}"


class Update(NamedTuple):
    """The new settings of a running container."""

    container: RuntimeContainer
    setting: Setting


class Answer(NamedTuple):
    """A plugin's answer for the new container (None: no change) and for others.

    ``own`` shows whether the new container's CPUs are exclusive. ``notes`` are for the log.
    """

    container: RuntimeContainer | None = None
    adjust: Setting | None = None
    own: bool = False
    updates: tuple[Update, ...] = ()
    notes: tuple[str, ...] = ()


class Assignment(NamedTuple):
    """Where a container should run: on exclusive CPUs, or in the changing pool; ``why`` is for the log.

    ``cpus`` is None for a container that is left unchanged.
    """

    cpus: CPUSet | None
    mems: str = ""
    own: bool = False
    why: str = ""


class Placer(Protocol):
    """The component that decides where containers run: a plan or a policy."""

    def synchronize(self, containers: Sequence[RuntimeContainer]) -> Iterable[str]:
        """Process the complete list of existing containers; yield notes for the log."""

    def arrive(self, container: RuntimeContainer) -> Iterable[str]:
        """Process a container that is about to be created; yield notes for the log."""

    def leave(self, container: RuntimeContainer) -> None:
        """Process a container that has ended: its CPUs become free."""

    def pod_gone(self, sandbox: str) -> None:
        """Process a pod (by its runtime's ID) that has ended with all its containers."""

    def place(self, container: RuntimeContainer) -> Assignment:
        """Return where an existing container runs now."""


def sandbox_of(pod: Any) -> Sandbox:  # noqa: ANN401  # a message of protobuf
    """Read a pod from a message."""
    return Sandbox(pod.id, pod.uid, pod.namespace, pod.name, pod.linux.cgroup_parent)


def container_of(container: Any, pod: Sandbox) -> RuntimeContainer:  # noqa: ANN401
    """Read a container of a pod from a message."""
    resources = container.linux.resources
    cpu = resources.cpu

    def number(holder: Any, name: str) -> int | None:  # noqa: ANN401
        return int(getattr(holder, name).value) if holder.HasField(name) else None

    return RuntimeContainer(
        id=container.id,
        name=container.name,
        pod=pod,
        setting=Setting(cpu.cpus, cpu.mems),
        shares=number(cpu, "shares"),
        quota=number(cpu, "quota"),
        period=number(cpu, "period"),
        memory=number(resources.memory, "limit"),
        ended=container.state == STOPPED,
    )
