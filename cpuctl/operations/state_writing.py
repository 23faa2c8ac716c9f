"""Writing the state files of a node after a plan or a change into a directory: all or none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cpuctl.errors import NotRestoredError, UsageError, os_reason, unwritable
from cpuctl.inputs.starting_state import state_reader
from cpuctl.state_names import CPU_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import StateFileName
    from cpuctl.checkpoints.store import RunLock
    from cpuctl.engine.node import Node
    from cpuctl.engine.start import StartResult
    from cpuctl.kubelet.kubelet import Kubelet


@contextmanager
def changing(directory: str = "", *, in_place: bool = False) -> Iterator[RunLock | None]:
    """Lock other cpuctl runs out of what a run changes, from before its first read to its last check.

    This is the *directory* into which files are written, and what the run itself locks if it writes
    *in_place*; None for a run that changes nothing. Raise NodeAccessError if another cpuctl holds a lock.
    """
    if not (directory or in_place):
        yield None
        return

    from cpuctl.checkpoints.store import RunLock
    from cpuctl.root_directory import HOST

    with RunLock() as lock:
        if directory and os.path.isdir(directory):  # noqa: PTH112
            lock.hold(Path(directory), HOST, directory)
        yield lock


def write_state(
    directory: str, node: StartResult | None, kubelet: Kubelet, *, force: bool
) -> Mapping[Path, Path | None]:
    """Write the files that a started kubelet would have now into a directory, if one is named.

    Return their paths with their backups, as ``save_states`` does.
    """
    from cpuctl.engine.node import Node

    if not directory or not isinstance(node, Node):
        return {}
    return save_states(directory, state_texts(node, kubelet), force=force)


def save_states(
    directory: str, texts: Mapping[StateFileName, str], *, force: bool
) -> Mapping[Path, Path | None]:
    """Write state files, by their name, into a directory; *force* permits replacing existing files.

    Return the written paths, each with the backup of what it replaced. If one cannot be written, all files
    are restored; raise NotRestoredError if that fails, UsageError if *directory* is not a directory.
    """
    from cpuctl.capture.saving import check_target, save
    from cpuctl.checkpoints.store import RunLock
    from cpuctl.root_directory import HOST

    _make(directory)
    paths = {Path(directory) / name: text.encode() for name, text in texts.items()}
    saved: dict[Path, Path | None] = {}
    with RunLock() as lock:
        handle = lock.hold(Path(directory), HOST, directory)
        for path in paths:
            check_target(path, replace=force, directory=handle)
        for path, content in paths.items():
            put = partial(_put, content)
            try:
                saved[path] = save(path, put, replace=force, backup=True, directory=handle)
            except BaseException as error:
                _take_back(saved, handle, error)
                raise
    return saved


def _make(directory: str) -> None:
    try:
        os.makedirs(directory, exist_ok=True)  # noqa: PTH103
    except FileExistsError:
        hint = "specify another directory"
        raise UsageError("exists and is not a directory", where=directory, hint=hint) from None
    except OSError as error:
        raise unwritable(error, directory) from None


def _take_back(saved: Mapping[Path, Path | None], directory: int, cause: BaseException) -> None:
    """Undo what was written before a file that failed: half a state is worse than none."""
    for path, backup in saved.items():
        try:
            if backup is None:
                os.unlink(path.name, dir_fd=directory)
            else:
                os.rename(backup.name, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError as error:
            message = f"{str(cause) or 'interrupted'}; and {path} is written and could not be restored"
            hint = f"its old content is in {backup}" if backup else ""
            raise NotRestoredError(f"{message}: {os_reason(error)}", hint=hint) from None


def state_texts(node: Node, kubelet: Kubelet) -> dict[StateFileName, str]:
    """Return the texts of the state files that the kubelet would have now, by file name."""
    from cpuctl.checkpoints.cpu_state import write_cpu_state
    from cpuctl.checkpoints.memory_state import write_memory_state

    writer = state_reader(kubelet)
    return {
        CPU_FILE: write_cpu_state(node.cpu.state_file(), writer),
        MEMORY_FILE: write_memory_state(node.memory.state_file(), writer),
    }


def _put(content: bytes, file: IO[bytes]) -> None:
    file.write(content)
