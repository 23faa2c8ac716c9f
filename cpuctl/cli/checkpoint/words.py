"""What command lines of ``cpuctl checkpoint`` say: what is read, and whether anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cli.sources.config_inputs import KubeletWords
from cpuctl.errors import UsageError
from cpuctl.named_tuple import NamedTuple

if TYPE_CHECKING:
    from cpuctl.checkpoints.store import RunLock


class CheckpointWords(NamedTuple):
    """The words of a command line: empty where one is left out."""

    state: str = ""
    machine: str = ""
    kubelet: KubeletWords = KubeletWords()
    pods: str = ""
    root: str = "/"
    in_place: bool = False
    lock: RunLock | None = None


class CommitWords(NamedTuple):
    """The words of a command line that say whether and where anything is written."""

    write_state: str = ""
    force: bool = False
    yes: bool = False
    force_running: bool = False
    root: str = "/"
    exit_code: bool = False

    @property
    def writes(self) -> bool:
        """Whether anything is to be written at all."""
        return bool(self.yes or self.write_state)

    def check(self) -> None:
        """Raise UsageError for words that contradict each other."""
        if self.write_state and self.yes:
            hint = "--yes writes in place of what was read, --write-state somewhere else"
            raise UsageError("both say where to write", where="--yes and --write-state", hint=hint)
        if self.force and not self.write_state:
            hint = "files are replaced in place with --yes, which keeps a backup"
            raise UsageError("is for --write-state only", where="--force", hint=hint)
