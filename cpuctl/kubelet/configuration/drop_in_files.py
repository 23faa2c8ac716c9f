"""The drop-in directory of a kubelet (``--config-dir``): which files count, and in what order.

Rule: ``filepath.WalkDir`` in ``cmd/kubelet/app/server.go``, 1.36.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from cpuctl.documents.files import read_member
from cpuctl.errors import InputError, unreadable
from cpuctl.kubelet.configuration.head import STAGE
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError, Refusal

EXTENSION = ".conf"
_OTHERS = (".yaml", ".yml", ".json")
WALK = "failed to walk through kubelet dropin directory"


class DropInSource(Protocol):
    """A directory of drop-in files, wherever it is kept."""

    @property
    def name(self) -> str:
        """What to call the directory."""

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the files that count, in the order in which the kubelet reads them."""

    def left_out(self) -> Iterable[tuple[str, str]]:
        """Yield the path of what looks as if it counted and does not, and why."""


class DropInDirectory(NamedTuple):
    """A directory of this host.

    The kubelet walks directories by the bytes of their names and does not follow links to directories; of
    files only those count whose name ends in ``.conf``, hidden ones and links among them.
    """

    name: str

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Read the files one by one; raise as ``merge_drop_ins`` does."""
        for path in _walk(self.name):
            if counts_as_drop_in(path):
                yield path, read_member(path)

    def left_out(self) -> Iterable[tuple[str, str]]:
        """Yield files with an extension that such files have elsewhere, and links to directories."""
        for path in _walk(self.name):
            if _extension(path) in _OTHERS:
                yield path, f"the kubelet reads files of its drop-in directory whose names end in {EXTENSION}"
            elif os.path.isdir(path):  # noqa: PTH112
                yield path, "the kubelet does not follow links to directories"


def merge_refused(error: InputError, text: str, others: Iterable[InputError] = ()) -> ConfigRefusedError:
    """Add the kubelet's words about its drop-ins to an error of ours."""
    refusal = Refusal(STAGE, text, f"failed to merge kubelet configs: {text}")
    return ConfigRefusedError.from_error(error, refusal, tuple(others))


def counts_as_drop_in(path: str) -> bool:
    """Tell by a file's name whether the kubelet reads it."""
    return _extension(path) == EXTENSION


def _extension(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    return name[name.rfind(".") :]


def _walk(directory: str) -> Iterator[str]:
    """Yield everything below a directory that is none itself; a directory comes where its name does."""
    waiting = [directory]
    while waiting:
        path = waiting.pop()
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                yield path
                continue
            names = sorted(os.listdir(path), key=os.fsencode, reverse=True)  # noqa: PTH208
        except FileNotFoundError as error:
            missing = unreadable(error, path)
            assert isinstance(missing, InputError)
            text = f'{WALK} "{directory}": lstat {path}: no such file or directory'
            raise merge_refused(missing, text) from None
        except OSError as error:
            raise unreadable(error, path) from None
        waiting.extend(os.path.join(path, name) for name in names)  # noqa: PTH118  # names may be no text
