"""One question to every node of a fleet: once for equal recordings, several at a time, in a stable order."""

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
from cpuctl.fleet.collection import Recording, short_name
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers.fleet import UnreadableNode
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.sources import Sources

NOTHING_KNOWN: Mapping[str, list[Any]] = MappingProxyType({})

Row: TypeAlias = Mapping[str, Any]
"""What one node answers, as plain data; its members ``node`` and ``source`` say which node it is."""

Mapper: TypeAlias = Callable[["Answering", Sequence[Recording]], Iterator[list[Row]]]
"""Asks every recording, in any process, and yields the answers in the order of the recordings."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many of how many recordings are answered."""

_FILE = "@"
_AHEAD = 4
"""Batches that wait for each process: enough that none is idle, few enough that memory stays small."""
_BATCH = 8
"""Recordings that a process gets at once at most: a hundredth of a second each, to hand one over a fortieth
of that."""


class Question(Protocol):
    """What each node is asked; other processes get a copy."""

    def asks(self, name: str) -> str:
        """Name the question to a node with all that the answer depends on apart from the recording."""

    @property
    def files(self) -> Sequence[str]:
        """Files and directories that it reads in addition to recordings."""

    def reading(self, places: Mapping[str, str]) -> Self:
        """Return the question with other names for these files, if they are elsewhere."""

    def __call__(self, recording: Recording) -> Row:
        """Ask one node; raise CpuctlError if it cannot be read."""


class KubeletFiles:
    """The files with kubelets' settings, for questions about kubelets."""

    _kubelet: KubeletInputs
    _releases: Mapping[str, str] = {}
    """Of kubelets by the names of their nodes, for recordings that do not tell theirs."""

    def _inputs_of(self, name: str) -> KubeletInputs:
        """Return the settings of a node's kubelet."""
        return replace(self._kubelet, fallback_version=self._releases.get(name, ""))

    def _asks_kubelet(self, name: str) -> str:
        """Name the settings of a node's kubelet, of all that a recording of this name may contain."""
        return f"{self._kubelet} {self._asks_release(name)}"

    def _asks_release(self, name: str) -> str:
        # A recording that holds several nodes has another name than they have.
        return self._releases.get(name) or self._all_releases

    @cached_property
    def _all_releases(self) -> str:
        return str(sorted(self._releases.items()))

    @property
    def files(self) -> Sequence[str]:
        """Files and directories that are named in the kubelets' settings."""
        own = self._kubelet
        named = (text[1:] for text in (own.arguments, own.version) if text.startswith(_FILE))
        return [name for name in (own.config, own.config_dir, *named) if name and os.path.exists(name)]  # noqa: PTH110

    def reading(self, places: Mapping[str, str]) -> Self:
        """Return the question with other names for these files."""
        own, other = self._kubelet, copy(self)
        other._kubelet = replace(  # noqa: SLF001  # a copy of this one
            own,
            config=places.get(own.config or "", own.config),
            config_dir=places.get(own.config_dir or "", own.config_dir),
            arguments=_moved(own.arguments, places),
            version=_moved(own.version, places),
        )
        return other


def assumed_of(sources: Sources, source: str) -> dict[str, str]:
    """Return what is assumed about a node's kubelet, in words that are equal for all such kubelets."""
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
    """Yield what every node answers, in the order of the recordings; *known* has answers by their keys.

    A recording that cannot be read answers with its error, one that holds several nodes once for each.
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
    for done, (key, recording) in enumerate(zip(keys, recordings, strict=True)):
        if key not in known and key not in found:
            found[key] = [share(row) for row in next(answers)]
        progress(done, len(recordings))  # now: the bar has a thread, and the processes are copies of this one
        for row in known.get(key) or found[key]:
            yield _of(row, recording, key)
    progress(len(recordings), len(recordings))


class _Shared:
    """Keeps one copy of what many answers have in common: each came complete from another process."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def __call__(self, row: Row) -> Row:
        return {
            name: self._one(value) if isinstance(value, dict | list) else value for name, value in row.items()
        }

    def _one(self, value: object) -> object:
        return self._known.setdefault(sha256(repr(value).encode(errors="surrogateescape")).digest(), value)


def contents(name: str) -> dict[str, bytes]:
    """Return the content of a file, or of all files below a directory, by relative path (a file: empty).

    Raise InputError for what cannot be read.
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
    """Give an answer to a recording of the same content as the one it was found for."""
    before, sign, node = row["source"].rpartition("#")
    inside = bool(sign) and node == row["node"]
    names = {
        "node": node if inside else recording.name,
        "source": f"{recording.source}#{node}" if inside else recording.source,
        "answerKey": key if recording.digest else None,
    }
    error = row.get("error")
    text = {"error": error.replace(before if inside else row["source"], recording.source)} if error else {}
    return {**row, **names, **text}


class Answering:
    """A question that always has an answer, for all nodes of a recording."""

    def __init__(self, question: Question) -> None:
        self.question = question

    def __call__(self, recording: Recording) -> list[Row]:
        """Answer for every node that is there, or tell why that cannot be."""
        from cpuctl.machine.support.must_gather import SeveralNodesError

        source = recording.source
        try:
            return [self.question(recording)]
        except SeveralNodesError as several:
            nodes = (Recording(node, f"{source}#{node}") for node in several.nodes)
            return [row for node in nodes for row in self(node)]
        except CpuctlError as error:
            return [_unreadable(source, str(error), error.hint)]
        except OSError as error:
            return [_unreadable(source, str(unreadable(error, source)))]
        except Exception as error:  # one node's answer must not end all others'
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
    """Ask one recording after the other."""
    return map(answering, recordings)


def in_processes(jobs: int) -> Mapper:
    """Ask in this many processes at a time; with one, in this process."""

    def mapped(answering: Answering, recordings: Sequence[Recording]) -> Iterator[list[Row]]:
        workers = min(jobs, len(recordings))
        requested = in_this_process if workers < 2 else _pooled(workers)
        return requested(answering, recordings)

    return mapped


def _pooled(workers: int) -> Mapper:
    """Hand recordings out as answers come back, so that never more than some are under way."""

    def mapped(answering: Answering, recordings: Sequence[Recording]) -> Iterator[list[Row]]:
        from concurrent.futures import Future, ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        # A copy of this process has all modules loaded, and no thread of ours runs yet that it would miss.
        pool = ProcessPoolExecutor(workers, get_context("fork"), initializer=_begin, initargs=(answering,))
        size = min(_BATCH, -(-len(recordings) // (workers * _AHEAD)))
        rest = (recordings[at : at + size] for at in range(0, len(recordings), size))
        waiting: deque[Future[list[list[Row]]]] = deque()
        try:
            waiting.extend(pool.submit(_answers, each) for each in islice(rest, workers * _AHEAD))
            while waiting:
                found = waiting.popleft().result()
                waiting.extend(pool.submit(_answers, each) for each in islice(rest, 1))
                yield from found
        except BrokenProcessPool:
            problem = "a process that reads recordings was killed"
            hint = "use fewer processes (--jobs) to reduce memory use"
            raise NodeAccessError(problem, where="--jobs", hint=hint) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    return mapped


_requested: list[Answering] = []
"""In a process that answers, what it is asked; it stays there, with what it remembers of equal nodes."""


def _begin(answering: Answering) -> None:
    """Begin a process: Ctrl-C is the business of the one that started it, with which it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _requested.append(answering)


def _answers(recordings: Sequence[Recording]) -> list[list[Row]]:
    return list(map(_requested[-1], recordings))


def earlier_answers(text: str) -> dict[str, list[Row]]:
    """Read the lines of an earlier run, as ``ask`` takes them; a truncated line is ignored.

    Answers without a key, and nodes that could not be read, are asked again.
    """
    found: dict[str, list[Row]] = {}
    recordings: dict[str, str] = {}
    for line in text.splitlines():
        with suppress(ValueError):
            row = json.loads(line)
            if not (isinstance(row, dict) and row.get("answerKey") and row.get("outcome") != "Unreadable"):
                continue
            # The answers for one recording stand for all of equal content.
            key, recording = row["answerKey"], _recording_of(row)
            if recordings.setdefault(key, recording) == recording:
                found.setdefault(key, []).append(row)
    return found


def _recording_of(row: Row) -> str:
    return str(row.get("source")).removesuffix(f"#{row.get('node')}")
