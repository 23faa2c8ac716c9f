"""Asking a fleet's nodes on many machines: Dask distributes recordings to its workers.

Workers only need cpuctl, in the same version. A worker that finds a recording under its path, with the same
content, reads it there; all others are sent the bytes. Directories, the live node and nodes inside archives
are read in this process: it is unknown whether a worker sees the same.
"""

from __future__ import annotations

import logging
import signal
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import compress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import finalize

from cpuctl import __version__, option_names
from cpuctl.errors import NodeAccessError, UsageError
from cpuctl.fleet.asking import contents
from cpuctl.fleet.collection import Recording, file_digest
from cpuctl.machine.sources import SYNTHETIC
from cpuctl.phrases import installing

if TYPE_CHECKING:
    from distributed import Client, Future

    from cpuctl.fleet.asking import Answering, Mapper, Row

LOCAL = "local"
_SILENT = logging.CRITICAL + 1
_CHUNK = 8
"""Recordings in one task: a tenth of a second of work, much more than it takes to hand the task over."""
_AHEAD = 4
"""Tasks queued for each worker thread."""
_PATIENCE = 10
"""Seconds to wait for a scheduler to answer, and for a worker."""

_Answers = list["list[Row] | None"]
"""The answers for each recording of a task; None if the worker does not see the same file."""


class _Task(NamedTuple):
    """Some recordings, and their contents if these are sent."""

    recordings: tuple[Recording, ...]
    contents: tuple[bytes | None, ...]


class _Waiting(NamedTuple):
    """A task in flight; its recordings that are ``away`` are with a worker, all others are read here."""

    chunk: Sequence[Recording]
    away: Sequence[bool]
    future: Future


def on_dask(address: str, jobs: int) -> Mapper:
    """Ask on the workers of the scheduler at *address*; ``local`` starts *jobs* workers on this machine.

    A task whose worker dies is given to another. Raise UsageError if Dask is not installed,
    NodeAccessError for a scheduler that cannot be reached, has no workers, or has some of another version.
    """
    try:
        import distributed  # noqa: F401  # to report at once what is missing
    except ImportError:
        hint = installing("fleet")
        raise UsageError("Dask is not installed", where=option_names.DASK_SCHEDULER, hint=hint) from None

    def mapped(answering: Answering, recordings: Sequence[Recording]) -> Iterator[list[Row]]:
        if recordings:
            with _connected(address, min(jobs, len(recordings))) as client:
                yield from _Handing(client, answering, shared=address == LOCAL).answers(recordings)

    return mapped


@contextmanager
def _connected(address: str, jobs: int) -> Iterator[Client]:
    """Yield a client of a scheduler with usable workers; errors replace the logs of distributed."""
    from dask import config
    from distributed import Client
    from distributed.client import FutureCancelledError

    _silence()
    try:
        with ExitStack() as stack:
            stack.enter_context(config.set({"distributed.comm.timeouts.connect": _PATIENCE}))
            where: Any = stack.enter_context(_local_cluster(jobs)) if address == LOCAL else address
            client = stack.enter_context(Client(where, timeout=_PATIENCE, set_as_default=False))
            _check_workers(client)
            yield client
    # Timeouts and lost connections are OSErrors.
    except (OSError, ValueError, FutureCancelledError) as error:
        text = f"the scheduler cannot be reached: {error or type(error).__name__}"
        raise NodeAccessError(text, where=f"{option_names.DASK_SCHEDULER} {address}") from None


def _silence() -> None:
    """Silence the logs of distributed: parts of it have their own levels and handlers."""
    for name in tuple(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(_SILENT)


@contextmanager
def _local_cluster(jobs: int) -> Iterator[Any]:
    from distributed import LocalCluster

    # This process handles Ctrl-C: workers inherit that it is ignored.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        cluster = LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit=0,  # as for our own processes
            silence_logs=_SILENT,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with cluster:
        yield cluster


def _check_workers(client: Client) -> None:
    from distributed.utils import TimeoutError as NobodyCameError

    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except NobodyCameError:
        raise NodeAccessError("the scheduler has no workers", where=option_names.DASK_SCHEDULER) from None
    try:
        versions = client.run(_version)
    except ImportError:
        hint = f"install it where they run: pip install cpuctl=={__version__}"
        raise NodeAccessError(
            "workers do not have cpuctl", where=option_names.DASK_SCHEDULER, hint=hint
        ) from None
    for worker, version in sorted(versions.items()):
        if version != __version__:
            text = f"the worker {worker} has cpuctl {version}, but this is {__version__}"
            raise NodeAccessError(text, where=option_names.DASK_SCHEDULER)


def _version() -> str:
    return __version__


class _Handing:
    """Hands out recordings as answers arrive, so that only a few are in flight at any time."""

    def __init__(self, client: Client, answering: Answering, *, shared: bool) -> None:
        self._client = client
        self._answering = answering
        self._shared = shared
        files = {} if shared else {name: contents(name) for name in answering.question.files}
        # A task, not data: if the worker that holds it dies, it is computed again.
        self._requested = client.submit(_Side, answering, files, pure=False)
        self._sends = False

    def answers(self, recordings: Sequence[Recording]) -> Iterator[list[Row]]:
        """Yield the answers in the order of the recordings."""
        from distributed import KilledWorker

        chunks = (recordings[at : at + _CHUNK] for at in range(0, len(recordings), _CHUNK))
        ahead = _AHEAD * max(sum(self._client.nthreads().values()), 1)
        waiting: deque[_Waiting] = deque()
        try:
            for chunk in chunks:
                waiting.append(self._submitted(chunk, sends=self._sends))
                if len(waiting) >= ahead:
                    yield from self._received(waiting.popleft())
            while waiting:
                yield from self._received(waiting.popleft())
        except KilledWorker:
            text = "workers that read the same recordings were killed one after the other"
            raise NodeAccessError(
                text, where=option_names.DASK_SCHEDULER, hint="give workers more memory"
            ) from None

    def _submitted(self, chunk: Sequence[Recording], *, sends: bool) -> _Waiting:
        sent = [_sent(each) if sends and each.digest else None for each in chunk]
        away = [self._reachable(each) and content != b"" for each, content in zip(chunk, sent, strict=True)]
        task = _Task(tuple(compress(chunk, away)), tuple(compress(sent, away)))
        future = self._client.submit(_answers, self._requested, task, self._shared, pure=False)
        return _Waiting(chunk, away, future)

    def _reachable(self, recording: Recording) -> bool:
        """Return whether a worker can read a recording."""
        return self._shared or bool(recording.digest) or recording.source.startswith(SYNTHETIC)

    def _received(self, waiting: _Waiting) -> Iterator[list[Row]]:
        answers = waiting.future.result()
        if None in answers:
            self._sends = True
            waiting = self._submitted(waiting.chunk, sends=True)
            answers = waiting.future.result()
        rest = iter(answers)
        for each, away in zip(waiting.chunk, waiting.away, strict=True):
            yield next(rest) if away else self._answering(each)


def _sent(recording: Recording) -> bytes:
    """Return the content of a recording; empty if it can no longer be read, which this process reports."""
    try:
        return Path(recording.source).read_bytes()
    except OSError:
        return b""


class _Side:
    """The question to recordings, on a worker, with additional files, which get their own directory."""

    def __init__(self, answering: Answering, files: Mapping[str, Mapping[str, bytes]]) -> None:
        self._given = (answering, files)
        self._answering = answering
        self._places: dict[str, str] = {}
        if files:
            directory = mkdtemp(prefix="cpuctl-")
            finalize(self, rmtree, directory, ignore_errors=True)
            for number, (name, parts) in enumerate(files.items()):
                self._places[name] = _written(Path(directory, str(number), Path(name).name), parts)
            self._answering = type(answering)(answering.question.reading(self._places))

    def __reduce__(self) -> tuple[type[Self], tuple[Answering, Mapping[str, Mapping[str, bytes]]]]:
        """Give a worker that gets it from another one its own files: it may be on another machine."""
        return type(self), self._given

    def __call__(self, recording: Recording) -> list[Row]:
        rows = self._answering(recording)
        return [_renamed(row, {place: name for name, place in self._places.items()}) for row in rows]


def _written(path: Path, parts: Mapping[str, bytes]) -> str:
    """Write a file, or a directory of files."""
    for below, content in parts.items():
        file = path / below if below else path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return str(path)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401  # plain data
    """Replace paths of files by those where the question comes from."""
    match value:
        case str():
            for place, name in names.items():
                value = value.replace(place, name)
            return value
        case dict():
            return {key: _renamed(each, names) for key, each in value.items()}
        case list():
            return [_renamed(each, names) for each in value]
        case _:
            return value


_one_at_a_time = Lock()
"""A worker may have several threads, but only several processes are faster than one thread."""


def _answers(requested: _Side, task: _Task, shared: bool) -> _Answers:  # noqa: FBT001  # Dask hands it on
    with _one_at_a_time:
        return [
            requested(recording) if shared or _sees(recording) else _of_content(requested, recording, content)
            for recording, content in zip(task.recordings, task.contents, strict=True)
        ]


def _sees(recording: Recording) -> bool:
    return not recording.digest or file_digest(recording.source) == recording.digest


def _of_content(requested: _Side, recording: Recording, content: bytes | None) -> list[Row] | None:
    if content is None:
        return None
    with TemporaryDirectory(prefix="cpuctl-") as directory:
        place = str(Path(directory, Path(recording.source).name))
        Path(place).write_bytes(content)
        rows = requested(recording._replace(source=place))
        return [_renamed(row, {place: recording.source}) for row in rows]
