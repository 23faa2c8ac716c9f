"""The plugin: it registers, receives events, and answers in time or passes containers through unchanged.

Rule: ``pkg/api/api.proto``, ``pkg/stub`` and ``pkg/adaptation`` of containerd/nri 8ec8b28. The runtime waits
for one answer at a time, and disconnects a plugin that is too slow; releases before 0.11 report most events
by ``StateChange``.
"""

from __future__ import annotations

import select
import signal
import socket
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cpuctl.errors import CpuctlError
from cpuctl.nri.model import EVENTS, Answer, Event, Setting, container_of, sandbox_of
from cpuctl.nri.protocol import PLUGIN_SERVICE, Call, Caller, Code, FramingError, Reply, messages, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cpuctl.answers.nri import NRIOutcome
    from cpuctl.nri.model import RuntimeContainer
    from cpuctl.nri.reconciler import Reconciler

USUAL_TIMEOUT = 2.0
"""The seconds that a runtime waits if it does not report its timeout."""
_SHARE, _LONGEST_TIMEOUT = 0.1, 600.0
_REGISTERS_WITHIN = 10.0
_EVENT_MASK = sum(1 << event - 1 for event in EVENTS)

_METHODS = {
    "RunPodSandbox": Event.RUN_POD_SANDBOX,
    "StopPodSandbox": Event.STOP_POD_SANDBOX,
    "RemovePodSandbox": Event.REMOVE_POD_SANDBOX,
    "CreateContainer": Event.CREATE_CONTAINER,
    "PostCreateContainer": Event.POST_CREATE_CONTAINER,
    "StartContainer": Event.START_CONTAINER,
    "PostStartContainer": Event.POST_START_CONTAINER,
    "UpdateContainer": Event.UPDATE_CONTAINER,
    "PostUpdateContainer": Event.POST_UPDATE_CONTAINER,
    "StopContainer": Event.STOP_CONTAINER,
    "RemoveContainer": Event.REMOVE_CONTAINER,
}
_ANSWERED = {
    Event.CREATE_CONTAINER: "CreateContainerResponse",
    Event.UPDATE_CONTAINER: "UpdatesResponse",
    Event.STOP_CONTAINER: "UpdatesResponse",
}
"""The events whose answers may change containers; the others are only notifications."""

_MUST_BE_READ = ("Configure", "Synchronize")
"""Calls that are required before any events."""


class Level(IntEnum):
    """The severity of a log line, with syslog's numbers."""

    ERROR = 3
    WARNING = 4
    INFO = 6


class Journal(Protocol):
    """A receiver of log lines and events."""

    def say(self, level: Level, text: str) -> None:
        """Log a line."""

    def event(self, name: str, answer: Answer, outcome: NRIOutcome) -> None:
        """Log an answer to an event, or an unsolicited request."""


class Identity(NamedTuple):
    """The name and two-digit index with which a plugin registers; plugins are called in index order."""

    name: str = "cpuctl"
    priority: str = "10"
    version: str = ""


class Plugin:
    """One plugin across connections; its state is in its reconciler.

    The reconciler works in its own thread: this one must always answer the runtime in time.
    """

    def __init__(
        self, reconciler: Reconciler, journal: Journal, identity: Identity, *, dry_run: bool = False
    ) -> None:
        self._reconciler, self._journal, self._identity, self._dry_run = (
            reconciler,
            journal,
            identity,
            dry_run,
        )
        self._worker = ThreadPoolExecutor(1, "nri")
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self.stopping = False
        self.synchronized = False
        self._budget = USUAL_TIMEOUT * _SHARE
        self._collected: tuple[list[Any], list[Any]] = [], []
        self._requested: dict[int, Answer | None] = {}
        self._unsettled = False
        self._done: deque[tuple[int, Future[Answer]]] = deque()
        self._latest = 0
        self._others: dict[str, Callable[[Caller, Call], None]] = {
            "Configure": self._configure,
            "Synchronize": self._synchronize,
            "StateChange": self._state_change,
            "Shutdown": self._shutdown,
        }

    def stop(self) -> None:
        """Stop as soon as possible; can be called from any thread."""
        self.stopping = True
        self._wake()

    @contextmanager
    def woken_by_signals(self) -> Iterator[None]:
        """Wake up when a signal arrives, regardless of the thread that the kernel chooses."""
        before = signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)

    def _wake(self) -> None:
        """Wake waiting threads."""
        # The buffer is full, or it was closed before a second signal or a late decision.
        with suppress(OSError):
            self._waker.send(b"\0")

    def close(self) -> None:
        """Release all resources; when Python exits, it waits only for the current decision."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._woken.close()
        self._waker.close()

    def pause(self, seconds: float) -> None:
        """Wait unless the plugin is being stopped."""
        deadline = time.monotonic() + seconds
        while not self.stopping and (left := deadline - time.monotonic()) > 0:
            select.select([self._woken], [], [], left)
            self._drain()

    def serve(self, end: socket.socket) -> None:
        """Serve a runtime until it disconnects, or until the plugin is stopped.

        Raise EOFError, OSError or FramingError if the connection ends.
        """
        self.synchronized, self._unsettled = False, False
        self._collected = [], []
        self._requested.clear()
        caller = Caller(end)
        name, priority, version = self._identity
        register = messages()["RegisterPluginRequest"]
        request = register(plugin_name=name, plugin_idx=priority, NRI_version=version)
        self._requested[caller.call("RegisterPlugin", request)] = None
        deadline = time.monotonic() + _REGISTERS_WITHIN
        while not self.stopping:
            left = None if self.synchronized else max(deadline - time.monotonic(), 0)
            ready, _, _ = select.select([end, self._woken], [], [], left)
            if not ready:
                raise TimeoutError(f"the runtime has not synchronized within {_REGISTERS_WITHIN:g} s")
            if self._woken in ready:
                self._drain()
                self._send_finished(caller)
            if end in ready:
                for each in caller.received():
                    self._take(caller, each)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass

    def _take(self, caller: Caller, each: Call | Reply) -> None:
        """Process a call or a reply; errors in one do not affect the next."""
        try:
            if isinstance(each, Reply):
                self._replied(each)
            else:
                self._serve_call(caller, each)
        except FramingError as error:
            # The frame is whole: the next call can be read.
            self._failed(caller, each, str(error), Level.WARNING)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001  # a defect of ours must not keep containers from running
            self._failed(caller, each, _internal(error), Level.ERROR)

    def _failed(self, caller: Caller, each: Call | Reply, why: str, level: Level) -> None:
        """Pass through calls that cannot be answered: an error would fail the runtime's operation."""
        if isinstance(each, Reply):
            self._journal.say(level, f"reply from the runtime: {why}")
            return
        passes = caller.is_unanswered(each) and each.method not in _MUST_BE_READ
        self._journal.say(level, f"{each.method}: {why}" + (": passed through unchanged" if passes else ""))
        if passes:
            caller.answer(each, messages()["Empty"]())
            self._put_right_later()
        elif caller.is_unanswered(each):
            caller.refuse(each.stream, Code.INVALID_ARGUMENT, why)

    def _serve_call(self, caller: Caller, call: Call) -> None:
        event = _METHODS.get(call.method)
        if call.service != PLUGIN_SERVICE:
            caller.refuse(call.stream, Code.UNIMPLEMENTED, f"service {call.service}")
        elif event is not None:
            request = "UpdateContainerRequest" if event is Event.UPDATE_CONTAINER else "ContainerEvent"
            self._handle(caller, call, event, parsed(request, call.payload))
        elif handler := self._others.get(call.method):
            handler(caller, call)
        else:
            caller.refuse(call.stream, Code.UNIMPLEMENTED, f"method {call.method}")

    def _configure(self, caller: Caller, call: Call) -> None:
        request = parsed("ConfigureRequest", call.payload)
        timeout = min(request.request_timeout / 1000, _LONGEST_TIMEOUT)
        timeout = timeout if timeout > 0 else USUAL_TIMEOUT
        self._budget = timeout * _SHARE
        caller.answer(call, messages()["ConfigureResponse"](events=_EVENT_MASK))
        runtime = f"{request.runtime_name} {request.runtime_version}".strip() or "a runtime"
        usual = "" if request.request_timeout > 0 else " by default"
        self._journal.say(
            Level.INFO,
            f"registered as {self._identity.priority}-{self._identity.name} with {runtime}, whose timeout"
            f" is {timeout:g} s{usual}: answering within {self._budget:g} s",
        )

    def _synchronize(self, caller: Caller, call: Call) -> None:
        request = parsed("SynchronizeRequest", call.payload)
        pods, containers = self._collected
        pods += request.pods
        containers += request.containers
        response = messages()["SynchronizeResponse"](more=request.more)
        if request.more:
            caller.answer(call, response)
            return
        self._collected = [], []
        known = {pod.id: sandbox_of(pod) for pod in pods}
        listed = [
            container_of(each, known[each.pod_sandbox_id])
            for each in containers
            if each.pod_sandbox_id in known
        ]
        self._journal.say(Level.INFO, f"synchronizing: {len(known)} pods, {len(listed)} containers")
        self._respond(caller, call, response, "SYNCHRONIZE", lambda: self._reconciler.synchronize(listed))
        self.synchronized = True

    def _shutdown(self, caller: Caller, call: Call) -> None:
        caller.answer(call, messages()["Empty"]())
        self._journal.say(Level.INFO, "the runtime is shutting down")

    def _state_change(self, caller: Caller, call: Call) -> None:
        request = parsed("StateChangeEvent", call.payload)
        caller.answer(call, messages()["Empty"]())
        # In all releases with this call, events whose answers may change containers have separate calls.
        if request.event in tuple(Event) and request.event not in _ANSWERED:
            self._note(Event(request.event), request)

    def _handle(self, caller: Caller, call: Call, event: Event, request: Any) -> None:  # noqa: ANN401
        response = messages()[_ANSWERED.get(event, "Empty")]()
        decide: Callable[[], Answer]
        if event is Event.CREATE_CONTAINER:
            decide = partial(self._reconciler.create, _container(request))
        elif event is Event.UPDATE_CONTAINER:
            cpu = request.linux_resources.cpu
            decide = partial(self._reconciler.update, _container(request), Setting(cpu.cpus, cpu.mems))
        elif event is Event.STOP_CONTAINER:
            decide = partial(self._reconciler.stop, request.container.id)
        else:
            caller.answer(call, response)
            self._note(event, request)
            return
        self._respond(caller, call, response, event.name, decide)

    def _note(self, event: Event, request: Any) -> None:  # noqa: ANN401
        """Process an event that needs no answer; resulting changes are sent once they are known."""
        container, pod = request.container.id, request.pod.id
        if event in (Event.POST_CREATE_CONTAINER, Event.POST_START_CONTAINER):
            self._learn(partial(self._reconciler.created, container))
            if self._unsettled:
                self._unsettled = False
                self._settle(self._reconciler.behind)
        elif event is Event.REMOVE_CONTAINER:
            self._settle(lambda: self._reconciler.stop(container))
        elif event in (Event.STOP_POD_SANDBOX, Event.REMOVE_POD_SANDBOX):
            self._settle(lambda: self._reconciler.pod_gone(pod))

    def _learn(self, work: Callable[[], object]) -> None:
        """Pass work to the reconciler without waiting."""
        self._worker.submit(work).add_done_callback(self._log_failure)

    def _log_failure(self, future: Future[Any]) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            self._journal.say(Level.ERROR, _internal(error))

    def _log_late_answer(self, future: Future[Answer]) -> None:
        """Log the notes of a late answer."""
        self._log_failure(future)
        if not future.cancelled() and future.exception() is None:
            self._warn(future.result())

    def _warn(self, answer: Answer) -> None:
        for note in answer.notes:
            self._journal.say(Level.WARNING, note)

    def _settle(self, decide: Callable[[], Answer]) -> None:
        """Decide in the background; send the result when it is ready.

        Nothing is sent if another decision was requested in the meantime: it covers all unsent changes.
        """
        self._latest += 1
        number = self._latest

        def done(future: Future[Answer]) -> None:
            self._done.append((number, future))
            self._wake()

        self._worker.submit(decide).add_done_callback(done)

    def _respond(
        self,
        caller: Caller,
        call: Call,
        response: Any,  # noqa: ANN401
        name: str,
        decide: Callable[[], Answer],
    ) -> None:
        """Answer within the budget; if that fails, answer without changes: the container passes unchanged."""
        answer, outcome = self._decided(name, decide)
        if outcome == "Answered" and not self._dry_run:
            _fill(response, answer)
        caller.answer(call, response)
        if outcome == "Answered":
            self._learn(partial(self._reconciler.delivered, answer))
            outcome = "DryRun" if self._dry_run else outcome
        self._warn(answer)
        self._journal.event(name, answer, outcome)

    def _decided(self, name: str, decide: Callable[[], Answer]) -> tuple[Answer, NRIOutcome]:
        self._latest += 1
        future = self._worker.submit(decide)
        if not wait([future], self._budget).done:
            future.add_done_callback(self._log_late_answer)
            self._journal.say(
                Level.WARNING,
                f"{name}: no answer within {self._budget:g} s: passed through unchanged, to be corrected "
                "later",
            )
            self._put_right_later()
            return Answer(), "Late"
        try:
            return future.result(), "Answered"
        except Exception as error:  # noqa: BLE001  # a defect of ours must not keep containers from running
            self._journal.say(Level.ERROR, f"{name}: {_internal(error)}: passed through unchanged")
        self._put_right_later()
        return Answer(), "Failed"

    def _put_right_later(self) -> None:
        self._unsettled = True
        self._settle(self._reconciler.behind)

    def _send_finished(self, caller: Caller) -> None:
        while self._done:
            number, future = self._done.popleft()
            error = future.exception()
            if error is not None:
                self._journal.say(Level.ERROR, _internal(error))
            elif number == self._latest:
                self._send(caller, future.result())

    def _send(self, caller: Caller, answer: Answer) -> None:
        """Send the runtime an unsolicited update."""
        if not answer.updates or not self.synchronized:
            return
        if self._dry_run:
            self._learn(partial(self._reconciler.delivered, answer))
            self._journal.event("UPDATE_CONTAINERS", answer, "DryRun")
            return
        request = messages()["UpdateContainersRequest"]()
        _fill(request, answer)
        self._requested[caller.call("UpdateContainers", request)] = answer
        self._journal.event("UPDATE_CONTAINERS", answer, "Answered")

    def _replied(self, reply: Reply) -> None:
        answer = self._requested.pop(reply.stream, None)
        if reply.error:
            self._unsettled = True
            self._journal.say(Level.ERROR, f"the runtime rejected the request: {reply.error}")
        elif answer is not None:
            failed = [each.container_id for each in parsed("UpdateContainersResponse", reply.payload).failed]
            if failed:
                self._unsettled = True
                self._journal.say(Level.WARNING, f"the runtime could not update {', '.join(failed)}")
            self._settle(partial(self._reconciler.confirmed, answer, frozenset(failed)))


def _internal(error: BaseException) -> str:
    """Return the text of an error; unexpected ones are reported as internal errors."""
    return (
        str(error) if isinstance(error, CpuctlError) else f"internal error: {type(error).__name__}: {error}"
    )


def _container(request: Any) -> RuntimeContainer:  # noqa: ANN401
    return container_of(request.container, sandbox_of(request.pod))


def _fill(response: Any, answer: Answer) -> None:  # noqa: ANN401
    """Write an answer into a message; only that for a new container has an adjustment."""
    if answer.adjust is not None:
        _write(response.adjust.linux.resources.cpu, answer.adjust)
    for each in answer.updates:
        # A container that has just ended must not prevent the creation of another.
        update = response.update.add(container_id=each.container.id, ignore_failure=True)
        _write(update.linux.resources.cpu, each.setting)


def _write(cpu: Any, setting: Setting) -> None:  # noqa: ANN401
    cpu.cpus, cpu.mems = setting
