"""What a plugin hears of pods and containers, and what it says of their CPUs and memory nodes."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cpuctl.cpuset import CPUSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Event(IntEnum):
    """What a plugin may be told of, by the number that the protocol gives it."""

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


HEARD = (
    Event.STOP_POD_SANDBOX,
    Event.REMOVE_POD_SANDBOX,
    Event.CREATE_CONTAINER,
    Event.POST_CREATE_CONTAINER,
    Event.POST_START_CONTAINER,
    Event.UPDATE_CONTAINER,
    Event.STOP_CONTAINER,
    Event.REMOVE_CONTAINER,
)
"""What a plugin for CPUs wants to be told."""

SHARES = 1024
"""What a whole CPU stands for in a container's shares."""

STOPPED = 4
"""The state of a container that has ended."""


class Setting(NamedTuple):
    """CPUs and memory nodes, in the list format; empty is what is left as it is."""

    cpus: str = ""
    mems: str = ""

    def over(self, other: Setting) -> Setting:
        """Return what is in force where this is said of what had *other*."""
        return Setting(self.cpus or other.cpus, self.mems or other.mems)

    @property
    def cpu_set(self) -> CPUSet:
        """The CPUs as a set, empty for what is none."""
        try:
            return CPUSet.parse(self.cpus)
        except ValueError:
            return CPUSet()


class Sandbox(NamedTuple):
    """A pod as a runtime knows it: ``id`` is the runtime's, ``uid`` the API server's."""

    id: str
    uid: str
    namespace: str
    name: str
    cgroup_parent: str = ""


class RuntimeContainer(NamedTuple):
    """A container as the runtime describes it; what it does not say is None, ``memory`` is in bytes."""

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
    """What is to become of a container that runs."""

    container: RuntimeContainer
    setting: Setting


class Answer(NamedTuple):
    """What a plugin says: of the container that comes (None: nothing), and of others.

    ``own`` says whether the CPUs of the one that comes are its own. ``notes`` are for the log.
    """

    container: RuntimeContainer | None = None
    adjust: Setting | None = None
    own: bool = False
    updates: tuple[Update, ...] = ()
    notes: tuple[str, ...] = ()


class Assignment(NamedTuple):
    """Where a container is to run: on CPUs of its own, or in the pool that moves; ``why`` is for the log.

    ``cpus`` is None for one that is left alone.
    """

    cpus: CPUSet | None
    mems: str = ""
    own: bool = False
    why: str = ""


class Placer(Protocol):
    """Who decides where containers run: a plan, or a policy."""

    def synchronize(self, containers: Sequence[RuntimeContainer]) -> Iterable[str]:
        """Learn which containers there are, the only ones; yield remarks for the log."""

    def arrive(self, container: RuntimeContainer) -> Iterable[str]:
        """Learn that a container is about to be created; yield remarks for the log."""

    def leave(self, container: RuntimeContainer) -> None:
        """Learn that a container has ended: what it held comes back."""

    def pod_gone(self, sandbox: str) -> None:
        """Learn that a pod (by its runtime's ID) has ended, with all its containers."""

    def place(self, container: RuntimeContainer) -> Assignment:
        """Return where a container that is there runs now."""


def sandbox_of(pod: Any) -> Sandbox:  # noqa: ANN401  # a message of protobuf
    """Read what is told of a pod."""
    return Sandbox(pod.id, pod.uid, pod.namespace, pod.name, pod.linux.cgroup_parent)


def container_of(container: Any, pod: Sandbox) -> RuntimeContainer:  # noqa: ANN401
    """Read what is told of a container of a pod."""
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
