"""One ``cpuctl cgroups apply`` from reading the node to its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cli.answers.cgroups.apply_answer import apply_document
from cpuctl.cli.app import EXIT_NO
from cpuctl.cli.progress import ProgressBar
from cpuctl.cli.stop_signals import held_back
from cpuctl.inputs.live_node import NodeInputs, load_node
from cpuctl.inputs.sources import Sources
from cpuctl.operations.cgroups.asked import Asked, read_request
from cpuctl.operations.cgroups.log import write_log
from cpuctl.operations.cgroups.preparation import Insisted, Prepared, prepare, require_kernel
from cpuctl.operations.cgroups.writing import Watching, digests, perform

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from cpuctl.audit.picture import Picture
    from cpuctl.cgroups.changing.carrying_out import Outcome
    from cpuctl.cli.output import Document, Style

EXIT_UNCHANGED, EXIT_CHANGED = 5, 6
_SECOND = 1_000_000_000
_PERIODS = 2
_MARGIN = 1.0


class Session(NamedTuple):
    """What one command line says: which node, what for, and how."""

    words: NodeInputs
    asked: Asked
    insisted: Insisted
    root: Path
    style: Style
    yes: bool = False
    wait: bool = True
    log: str = ""

    def run(self, sources: Sources, until_answered: ExitStack) -> tuple[Document, int]:
        """Read, prepare and, with ``yes``, write; return the answer and the exit code of what was done.

        From the first write on a signal is held back *until_answered*: what it says has to be heard.
        """
        from cpuctl.audit.reading import take_group_picture

        node = load_node(self.words, sources)
        if self.yes:
            sources.require_configuration()
        with ProgressBar(self.style) as progress:
            picture = take_group_picture(node.files, node.known, progress)
        require_kernel(self.root, picture, quota=self.insisted.quota)
        request = read_request(self.asked, node, picture, sources)
        prepared = prepare(node, picture, request, self.insisted, self.root)
        if self.words.state:
            # That is not what the kubelet writes to: only from now on its own files are looked at.
            prepared = replace(prepared, digests=digests(self.root, prepared.state_directory))
        period = node.kubelet.config.cpu_manager_reconcile_period / _SECOND
        outcome, code = None, 0
        if prepared.objections:
            code = EXIT_NO
        elif self.yes and prepared.writes:
            seconds = _PERIODS * period + _MARGIN if self.wait else 0
            outcome, code = self._perform(prepared, seconds, until_answered)
        return self._answer(prepared, picture, outcome, sources), code

    def _perform(self, prepared: Prepared, seconds: float, until_answered: ExitStack) -> tuple[Outcome, int]:
        with write_log(self.log) as log, ProgressBar(self.style) as progress:
            stop = until_answered.enter_context(held_back())
            watching = Watching(seconds, lambda: progress("watching whether it holds", 0, 0))
            outcome = perform(prepared, log, stop, watching)
        if log.problem:
            prepared.warnings.append(log.problem)
        if outcome.left_over:
            return outcome, EXIT_CHANGED
        if outcome.failure:
            return outcome, stop.exit_code if stop else EXIT_UNCHANGED
        return outcome, 0

    @staticmethod
    def _answer(prepared: Prepared, picture: Picture, outcome: Outcome | None, sources: Sources) -> Document:
        sources.warnings.extend(prepared.warnings)
        return apply_document(prepared, picture, outcome, {"sources": sources.entries})
