"""A container runtime that implements the other side of NRI: it asks, applies the answers, and counts.

It rejects what a real one rejects: late answers, and updates of containers that it does not know.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cpuctl.nri.protocol import (
    PLUGIN_SERVICE,
    ConnectionNumber,
    Message,
    MessageReader,
    MessageType,
    PieceReader,
    messages,
    pack_message,
    pack_piece,
)


@dataclass
class Running:
    """A container of the fake runtime: what a kernel would have in its cgroup."""

    id: str
    name: str
    pod: Any
    cpus: str = ""
    mems: str = ""
    shares: int | None = None
    quota: int | None = None
    memory: int | None = None
    state: int = 3

    def message(self) -> Any:
        found = messages()["Container"](
            id=self.id, name=self.name, pod_sandbox_id=self.pod.id, state=self.state
        )
        cpu = found.linux.resources.cpu
        cpu.cpus, cpu.mems = self.cpus, self.mems
        if self.shares is not None:
            cpu.shares.value, cpu.period.value = self.shares, 100_000
        if self.quota is not None:
            cpu.quota.value = self.quota
        if self.memory is not None:
            found.linux.resources.memory.limit.value = self.memory
        return found

    def apply(self, cpu: Any) -> None:
        self.cpus, self.mems = cpu.cpus or self.cpus, cpu.mems or self.mems


def pod(name: str, namespace: str = "default", parent: str = "", number: int = 0) -> Any:
    """Make a pod; *number* distinguishes pods of the same name."""
    found = messages()["PodSandbox"](
        id=f"sandbox-{namespace}-{name}-{number}", name=name, namespace=namespace, uid=f"uid-{name}-{number}"
    )
    found.linux.cgroup_parent = parent
    return found


@dataclass
class FakeRuntime:
    """Listens on *path*; ``connected`` means one plugin at a time."""

    path: Path
    timeout_ms: int = 20_000
    containers: dict[str, Running] = field(default_factory=dict)
    pods: dict[str, Any] = field(default_factory=dict)
    unsolicited: list[dict[str, str]] = field(default_factory=list)
    fails: set[str] = field(default_factory=set)
    per_event: bool = False
    """Whether every event has a separate method, as in newer releases."""
    limit: int = 1000
    """The number of containers in one Synchronize message."""

    def __post_init__(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._listener.settimeout(20)
        self.end: socket.socket | None = None
        self.registered: Any = None
        self.events = 0

    def accept(self) -> None:
        """Let a plugin connect; register, configure and synchronize it."""
        self.close()
        self.end, _ = self._listener.accept()
        self.end.settimeout(20)
        self._pieces, self._stream = PieceReader(), -1
        self._readers = {number: MessageReader() for number in ConnectionNumber}
        self._replies: dict[int, Any] = {}
        self._held: list[Message] = []
        self.registered = None
        while self.registered is None:
            self._pump()
            self._serve_held()
        configured = self.call(
            "Configure",
            messages()["ConfigureRequest"](
                runtime_name="fake", runtime_version="1.0", request_timeout=self.timeout_ms
            ),
            "ConfigureResponse",
        )
        self.events = configured.events
        everything = [each.message() for each in self.containers.values()]
        while True:
            now, everything = everything[: self.limit], everything[self.limit :]
            request = messages()["SynchronizeRequest"](
                pods=self.pods.values(), containers=now, more=bool(everything)
            )
            response = self.call("Synchronize", request, "SynchronizeResponse")
            if not everything:
                break
            assert (response.more, list(response.update)) == (True, [])
        self._update(response.update)

    def everything(self) -> Any:
        """Make the request that lists all pods and containers."""
        containers = [each.message() for each in self.containers.values()]
        return messages()["SynchronizeRequest"](pods=self.pods.values(), containers=containers)

    def close(self) -> None:
        if self.end is not None:
            self.end.close()
            self.end = None

    def stop(self) -> None:
        self.close()
        self._listener.close()
        self.path.unlink(missing_ok=True)

    def call(self, method: str, request: Any, response: str, service: str = PLUGIN_SERVICE) -> Any:
        """Call the plugin, and serve its own calls meanwhile; raise RuntimeError if it refuses."""
        whole = self.exchange(method, request.SerializeToString(), service)
        if whole.status.code:
            raise RuntimeError(f"{whole.status.code}: {whole.status.message}")
        return messages()[response].FromString(whole.payload)

    def exchange(self, method: str, payload: bytes, service: str = PLUGIN_SERVICE) -> Any:
        self.send(self.packed(method, payload, service))
        return self.reply()

    def packed(self, method: str, payload: bytes, service: str = PLUGIN_SERVICE) -> bytes:
        """Write a call."""
        self._stream += 2
        whole = messages()["Request"](service=service, method=method, payload=payload)
        message = Message(self._stream, MessageType.REQUEST, 0, whole.SerializeToString())
        return pack_piece(ConnectionNumber.PLUGIN, pack_message(message))

    def reply(self) -> Any:
        """Wait for the answer to the last call; as in a real one, the plugin's own calls wait meanwhile."""
        while self._stream not in self._replies:
            self._pump()
        return self._replies.pop(self._stream)

    def send(self, data: bytes) -> None:
        assert self.end is not None
        self.end.sendall(data)

    def serve(self, seconds: float = 0.3) -> None:
        """Serve unsolicited calls of the plugin until it is silent for a while."""
        assert self.end is not None
        self.end.settimeout(seconds)
        try:
            while True:
                self._serve_held()
                self._pump()
        except TimeoutError:
            pass
        finally:
            self.end.settimeout(20)

    def _pump(self) -> None:
        assert self.end is not None
        data = self.end.recv(1 << 16)
        if not data:
            raise EOFError
        for piece in self._pieces.feed(data):
            for message in self._readers[ConnectionNumber(piece.connection)].feed(piece.payload):
                if message.type == MessageType.RESPONSE:
                    self._replies[message.stream] = messages()["Response"].FromString(message.payload)
                else:
                    self._held.append(message)

    def requested(self) -> None:
        """Wait until the plugin sends an unsolicited call, which is not served yet."""
        while not self._held:
            self._pump()

    def _serve_held(self) -> None:
        while self._held:
            self._serve(self._held.pop(0))

    def _serve(self, message: Message) -> None:
        request = messages()["Request"].FromString(message.payload)
        if request.method == "RegisterPlugin":
            self.registered = messages()["RegisterPluginRequest"].FromString(request.payload)
            answer = messages()["Empty"]()
        else:
            assert request.method == "UpdateContainers"
            wanted = messages()["UpdateContainersRequest"].FromString(request.payload)
            answer = messages()["UpdateContainersResponse"]()
            self.unsolicited.append({each.container_id: _cpus(each) for each in wanted.update})
            for each in wanted.update:
                if each.container_id in self.fails:
                    answer.failed.add(container_id=each.container_id)
            self._update([each for each in wanted.update if each.container_id not in self.fails])
        whole = messages()["Response"](payload=answer.SerializeToString())
        reply = Message(message.stream, MessageType.RESPONSE, 0, whole.SerializeToString())
        self.send(pack_piece(ConnectionNumber.RUNTIME, pack_message(reply)))

    def _update(self, updates: Any) -> None:
        for each in updates:
            found = self.containers.get(each.container_id)
            if found is not None:
                found.apply(each.linux.resources.cpu)
            else:
                assert each.ignore_failure

    def run_pod(self, sandbox: Any) -> Any:
        self.pods[sandbox.id] = sandbox
        return sandbox

    def create(self, sandbox: Any, name: str, number: int = 0, **resources: Any) -> Running:
        """Create and start a container with the plugin's adjustments."""
        self.run_pod(sandbox)
        new = Running(f"{sandbox.id}-{name}-{number}", name, sandbox, **resources)
        request = messages()["ContainerEvent"](pod=sandbox, container=new.message())
        response = self.call("CreateContainer", request, "CreateContainerResponse")
        self._update(response.update)
        new.apply(response.adjust.linux.resources.cpu)
        self.containers[new.id] = new
        self.tell("PostCreateContainer", 5, new)
        self.tell("PostStartContainer", 7, new)
        return new

    def stop_container(self, each: Running, *, remove: bool = True) -> None:
        request = messages()["ContainerEvent"](pod=each.pod, container=each.message())
        each.state = 4
        response = self.call("StopContainer", request, "UpdatesResponse")
        self._update(response.update)
        if remove:
            self.tell("RemoveContainer", 11, each)
            del self.containers[each.id]

    def update(self, each: Running, cpus: str) -> None:
        """Update a container as the kubelet requests, unless the plugin overrides it."""
        request = messages()["UpdateContainerRequest"](pod=each.pod, container=each.message())
        request.linux_resources.cpu.cpus = cpus
        response = self.call("UpdateContainer", request, "UpdatesResponse")
        each.cpus = cpus
        self._update(response.update)

    def stop_pod(self, sandbox: Any) -> None:
        self.pods.pop(sandbox.id, None)
        for each in [each for each in self.containers.values() if each.pod.id == sandbox.id]:
            del self.containers[each.id]
        self.tell("StopPodSandbox", 2, None, sandbox)
        self.tell("RemovePodSandbox", 3, None, sandbox)

    def tell(self, method: str, number: int, each: Running | None, sandbox: Any = None) -> None:
        container = None if each is None else each.message()
        reported = sandbox if each is None else each.pod
        if self.per_event:
            request = messages()["ContainerEvent"](pod=reported, container=container)
            self.call(method, request, "Empty")
        else:
            request = messages()["StateChangeEvent"](event=number, pod=reported, container=container)
            self.call("StateChange", request, "Empty")

    def sets(self) -> Mapping[str, tuple[str, str]]:
        """Return CPUs and memory nodes of every container by namespace, pod and name."""
        return {
            f"{each.pod.namespace}/{each.pod.name}/{each.name}": (each.cpus, each.mems)
            for each in self.containers.values()
            if each.state != 4
        }


def _cpus(update: Any) -> str:
    return str(update.linux.resources.cpu.cpus)


@contextmanager
def in_background(work: Any, stop: Any) -> Iterator[threading.Thread]:
    """Run something in a thread, and end it."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop()
        thread.join(10)
        assert not thread.is_alive()
