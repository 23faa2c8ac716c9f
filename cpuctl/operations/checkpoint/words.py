"""What command lines of ``cpuctl checkpoint`` say: what is read, and whether anything is written."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.documents.files import STDIN
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import LIVE_MACHINE, KubeletInputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpuctl.checkpoints.store import RunLock

_PROPOSED = re.compile(
    r"(?P<command>cpuctl checkpoint (?P<verb>verify|repair|migrate)(?: --to-kubelet \S+)?)"
    r"(?P<whose> --pods FILE)?"
)


class CheckpointInputs(NamedTuple):
    """The words of a command line: empty where one is left out.

    ``released`` is False where neither they nor the node tell the kubelet's release.
    """

    state: str = ""
    machine: str = ""
    kubelet: KubeletInputs = KubeletInputs()
    pods: str = ""
    root: str = "/"
    in_place: bool = False
    lock: RunLock | None = None
    released: bool = True

    def spelt_out(self, fix: str) -> str:
        """Give the commands of ``cpuctl checkpoint`` that a fix proposes the options that were given."""
        return _PROPOSED.sub(self._spelt_out, fix)

    def _spelt_out(self, proposed: re.Match[str]) -> str:
        command = shlex.join([*proposed["command"].split(), *self._options(proposed["verb"])])
        return command if self._pods else f"{command}{proposed['whose'] or ''}"

    @property
    def _pods(self) -> str:
        return "" if self.pods == STDIN else self.pods

    def _options(self, verb: str) -> Iterator[str]:
        kubelet = self.kubelet
        told = any((kubelet.config is not None, kubelet.config_dir, kubelet.arguments))
        migrates = verb == "migrate"
        below = self.root if self.root != "/" else ""
        machine = self.machine or (below if verb == "verify" else "")
        if migrates and told:
            machine = machine or LIVE_MACHINE
        options = {
            "-m": "" if machine == LIVE_MACHINE and not migrates else machine,
            "--root": "" if verb == "verify" else below,
            "--kubelet-config": kubelet.config,
            "--config-dir": kubelet.config_dir,
            "--kubelet-args": kubelet.arguments,
            "--kubelet-version": "" if migrates else kubelet.version or ("" if self.released else "VERSION"),
            "--feature-gates": kubelet.gates,
            "--pods": self._pods,
        }
        yield from (self.state,) if self.state else ()
        yield from (word for option, value in options.items() if value for word in (option, value))
        if kubelet.ignores_unknown_gates and not migrates:
            yield "--ignore-unknown-gates"


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
