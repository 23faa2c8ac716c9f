"""Asking every node of a fleet a question: once for equal recordings, in parallel, in a stable order."""

from __future__ import annotations

import json
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from cpuctl import __version__
from cpuctl.errors import CpuctlError, NodeAccessError, unreadable
from cpuctl.fleet.collection import Recording
from cpuctl.machine.sources import short_name
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers.fleet import UnreadableNode
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.sources import Sources

NOTHING_KNOWN: Mapping[str, list[Any]] = MappingProxyType({})

Row: TypeAlias = Mapping[str, Any]
"""One node's answer, as plain data; its members ``node`` and ``source`` identify the node."""

Mapper: TypeAlias = Callable[["Answering", Sequence[Recording]], Iterator[list[Row]]]
"""Asks every recording, in any process, and yields the answers in the order of the recordings."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of answered recordings and their total."""

_FILE = "@"
_AHEAD = 4
"""Batches queued for each process: enough to keep it busy, few enough to keep memory use small."""
_BATCH = 8
"""The most recordings in a batch: each takes a hundredth of a second, and handing it over a fortieth of
that."""


class Question(Protocol):
    """A question to each node; other processes get a copy."""

    def asks(self, name: str) -> str:
        """Name the question to a node, with everything that the answer depends on besides the recording."""

    @property
    def files(self) -> Sequence[str]:
        """The files and directories that it reads in addition to recordings."""

    def reading(self, places: Mapping[str, str]) -> Self:
        """Return the question with other paths for these files, if they are elsewhere."""

    def __call__(self, recording: Recording) -> Row:
        """Ask one node; raise CpuctlError if it cannot be read."""


class KubeletFiles:
    """The files with kubelets' settings, for questions about kubelets."""

    _kubelet: KubeletInputs
    _releases: Mapping[str, str] = {}
    """The kubelets' releases by node name, for recordings without one."""

    def _inputs_of(self, name: str) -> KubeletInputs:
        """Return the settings of a node's kubelet."""
        return replace(self._kubelet, fallback_version=self._releases.get(name, ""))

    def _asks_kubelet(self, name: str) -> str:
        """Name the settings of a node's kubelet, or of all kubelets that a recording may contain."""
        return f"{self._kubelet} {self._asks_release(name)}"

    def _asks_release(self, name: str) -> str:
        # A recording of several nodes has a name different from theirs.
        return self._releases.get(name) or self._all_releases

    @cached_property
    def _all_releases(self) -> str:
        return str(sorted(self._releases.items()))

    @property
    def files(self) -> Sequence[str]:
        """The files and directories named in the kubelets' settings."""
        own = self._kubelet
        named = (text[1:] for text in (own.arguments or "", own.version) if text.startswith(_FILE))
        return [name for name in (own.config, own.config_dir, *named) if name and os.path.exists(name)]  # noqa: PTH110

    def reading(self, places: Mapping[str, str]) -> Self:
        """Return the question with other paths for these files."""
        own, other = self._kubelet, copy(self)
        other._kubelet = replace(  # noqa: SLF001  # a copy of this one
            own,
            config=places.get(own.config or "", own.config),
            config_dir=places.get(own.config_dir or "", own.config_dir),
            arguments=None if own.arguments is None else _moved(own.arguments, places),
            version=_moved(own.version, places),
        )
        return other


def assumed_of(sources: Sources, source: str) -> dict[str, str]:
    """Return what is assumed about a node's kubelet, in the same words for all such kubelets."""
    return {name: value.replace(f"{source}: ", "") for name, value in sources.assumed.items()}


def _moved(text: str, places: Mapping[str, str]) -> str:
    return _FILE + places[text[1:]] if text.startswith(_FILE) and text[1:] in places else text


def ask(
    question: Question,
    recordings: Sequence[Recording],
    mapper: Mapper,
    progress: Progress,
    known: Mapping[str, list[Row]] = NOTHING_KNOWN,
) -> Generator[Row, None, None]:
    """Yield the answer of every node, in the order of the recordings; *known* has answers by their keys.

    A recording that cannot be read answers with its error, a must-gather once for each of its nodes. If there
    are several nodes with the same name, the others are named by their sources.
    """
    files_hash = sha256(
        repr([sorted(contents(name).items()) for name in question.files]).encode()
    ).hexdigest()
    keys = [answer_key(question, each, files_hash) for each in recordings]
    firsts: dict[str, Recording] = {}
    for key, recording in zip(keys, recordings, strict=True):
        if key not in known:
            firsts.setdefault(key, recording)
    answers = mapper(Answering(question), list(firsts.values()))
    found: dict[str, list[Row]] = {}
    share = _Shared()
    names = {each.name: each for each in recordings}
    for done, (key, recording) in enumerate(zip(keys, recordings, strict=True)):
        if key not in known and key not in found:
            found[key] = [share(row) for row in next(answers)]
        progress(done, len(recordings))  # only now, after forking: the bar has a thread
        for row in known.get(key) or found[key]:
            named = _of(row, recording, key)
            node, source = named["node"], named["source"]
            yield named if names.setdefault(node, recording) is recording else {**named, "node": source}
    progress(len(recordings), len(recordings))


class _Shared:
    """Keeps one copy of what many answers share: each arrived complete from another process."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def __call__(self, row: Row) -> Row:
        return {
            name: self._one(value) if isinstance(value, dict | list) else value for name, value in row.items()
        }

    def _one(self, value: object) -> object:
        return self._known.setdefault(sha256(repr(value).encode(errors="surrogateescape")).digest(), value)


def contents(name: str) -> dict[str, bytes]:
    """Return the content of all files below a directory, by relative path, or of a file, under an empty path.

    Raise InputError for a file that cannot be read.
    """
    path = Path(name)
    files = [path] if path.is_file() else [each for each in sorted(path.rglob("*")) if each.is_file()]
    try:
        return {"" if each == path else str(each.relative_to(path)): each.read_bytes() for each in files}
    except OSError as error:
        raise unreadable(error, name) from None


def answer_key(question: Question, recording: Recording, files_hash: str) -> str:
    """Return a text that is equal for equal content, question and files (*files_hash*)."""
    content = recording.digest or recording.source
    requested = f"{__version__}\n{question.asks(recording.name)}\n{files_hash}\n{content}"
    return sha256(requested.encode(errors="surrogateescape")).hexdigest()


def _of(row: Row, recording: Recording, key: str) -> Row:
    """Return an answer for a recording with the same content as the one it was computed for."""
    before, sign, node = row["source"].rpartition("#")
    inside = bool(sign) and node == row["node"] and row["source"] != recording.source
    names = {
        "node": node if inside else recording.name,
        "source": f"{recording.source}#{node}" if inside else recording.source,
        "answerKey": key if recording.digest else None,
    }
    error = row.get("error")
    text = {"error": error.replace(before if inside else row["source"], recording.source)} if error else {}
    return {**row, **names, **text}


class Answering:
    """A question that always gets an answer, for all nodes of a recording."""

    def __init__(self, question: Question) -> None:
        self.question = question

    def __call__(self, recording: Recording) -> list[Row]:
        """Answer for every node in a recording, or with the error that prevents it."""
        from cpuctl.machine.sources import nodes_in

        source = recording.source
        try:
            nodes = [Recording(node, f"{source}#{node}") for node in nodes_in(source)]
            return [row for node in nodes for row in self(node)] or [self.question(recording)]
        except CpuctlError as error:
            return [_unreadable(source, str(error), error.hint)]
        except OSError as error:
            return [_unreadable(source, str(unreadable(error, source)))]
        except Exception as error:  # a failing node must not prevent the answers of all others
            if os.environ.get("CPUCTL_DEBUG"):
                raise
            return [_unreadable(source, f"{source}: internal error: {type(error).__name__}: {error}")]


def _unreadable(source: str, error: str, hint: str = "") -> UnreadableNode:
    return {
        "node": short_name(source),
        "source": source,
        "answerKey": None,
        "outcome": "Unreadable",
        "error": error,
        "hint": hint,
    }


def processors() -> int:
    """Return how many CPUs this process may run on."""
    return len(os.sched_getaffinity(0))


def in_this_process(answering: Answering, recordings: Sequence[Recording]) -> Iterator[list[Row]]:
    """Ask one recording after another."""
    return map(answering, recordings)


def in_processes(jobs: int) -> Mapper:
    """Ask in this many parallel processes; with one, in this process."""

    def mapped(answering: Answering, recordings: Sequence[Recording]) -> Iterator[list[Row]]:
        workers = min(jobs, len(recordings))
        requested = in_this_process if workers < 2 else _pooled(workers)
        return requested(answering, recordings)

    return mapped


def _pooled(workers: int) -> Mapper:
    """Hand out recordings as answers arrive, so that only a few are in flight at any time."""

    def mapped(answering: Answering, recordings: Sequence[Recording]) -> Iterator[list[Row]]:
        from concurrent.futures import Future, ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        # A fork of this process has all modules loaded, and there are no threads yet that it would lack.
        pool = ProcessPoolExecutor(workers, get_context("fork"), initializer=_begin, initargs=(answering,))
        size = min(_BATCH, -(-len(recordings) // (workers * _AHEAD)))
        rest = (recordings[at : at + size] for at in range(0, len(recordings), size))
        waiting: deque[Future[list[list[Row]]]] = deque()
        answered = False
        try:
            waiting.extend(pool.submit(_answers, each) for each in islice(rest, workers * _AHEAD))
            while waiting:
                found = waiting.popleft().result()
                waiting.extend(pool.submit(_answers, each) for each in islice(rest, 1))
                yield from found
            answered = True
        except BrokenProcessPool:
            problem = "a process that reads recordings was killed"
            hint = "use fewer processes (--jobs) to reduce memory use"
            raise NodeAccessError(problem, where="--jobs", hint=hint) from None
        finally:
            # Idle workers end at once; an interpreter that ends beside the pool's thread prints a traceback.
            pool.shutdown(wait=answered, cancel_futures=True)

    return mapped


_requested: list[Answering] = []
"""The question in a worker process; it stays there, with what it remembers of equal nodes."""


def _begin(answering: Answering) -> None:
    """Initialize a worker process: its parent handles Ctrl-C, and ends it, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _requested.append(answering)


def _answers(recordings: Sequence[Recording]) -> list[list[Row]]:
    return list(map(_requested[-1], recordings))


def earlier_answers(text: str) -> dict[str, list[Row]]:
    """Read the output lines of an earlier run, as ``ask`` expects them; a truncated line is ignored.

    Answers without a key, and nodes that could not be read, are asked again; also if a node is named by its
    source, because it is unknown which part of that names the recording.
    """
    found: dict[str, list[Row]] = {}
    unclear: set[str] = set()
    recordings: dict[str, str] = {}
    for line in text.splitlines():
        with suppress(ValueError):
            row = json.loads(line)
            if not (isinstance(row, dict) and row.get("answerKey") and row.get("outcome") != "Unreadable"):
                continue
            # The answers for one recording apply to all with equal content.
            key, recording = row["answerKey"], _recording_of(row)
            if row.get("node") == row.get("source") and "#" in str(row["node"]):
                unclear.add(key)
            if recordings.setdefault(key, recording) == recording:
                found.setdefault(key, []).append(row)
    return {key: rows for key, rows in found.items() if key not in unclear}


def _recording_of(row: Row) -> str:
    return str(row.get("source")).removesuffix(f"#{row.get('node')}")
