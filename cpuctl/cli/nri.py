"""``cpuctl nri``: a plugin of the container runtime."""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from queue import Full, Queue
from threading import Thread
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from cpuctl import option_names
from cpuctl.cli.app import verb_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import MachineOption, QuietOption
from cpuctl.cli.output import Style
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.cli.process import read_by_journal
from cpuctl.errors import UsageError, os_reason
from cpuctl.inputs.configuration import LIVE_MACHINE, KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.visible_text import printable

if TYPE_CHECKING:
    from cpuctl.answers.nri import NRIOutcome
    from cpuctl.nri.model import Answer
    from cpuctl.nri.plugin import Level, Plugin
    from cpuctl.operations.nri_policy import PolicyInputs

HELP = """Set the CPUs of containers as a plugin of the container runtime (Node Resource Interface)."""

app = verb_group("nri", HELP)

_MOST_WAITING = 10_000
_READ_WITHIN = 2.0
_STATE_FILE = "--state-file"


class EventOutput(StrEnum):
    """The output while the plugin runs: a log for people, optionally every answer as a line of JSON."""

    LOG = "log"
    JSONL = "jsonl"


PlanOption = Annotated[
    str,
    typer.Option(
        option_names.PLAN,
        metavar="FILE",
        help="Apply this plan (output of cpuctl plan -o json); - for stdin.",
        rich_help_panel=INPUT,
    ),
]
AllocatingOption = Annotated[
    str,
    typer.Option(
        option_names.POLICY,
        metavar="POLICY",
        help="Assign CPUs when containers are created: static (the kubelet's), another NAME (see cpuctl "
        "policies list) or FILE.py:CLASS, with ,OPTION=VALUE for its options.",
    ),
]
StateFileOption = Annotated[
    str,
    typer.Option(
        _STATE_FILE, metavar="FILE", help="File in which a policy keeps its assignments between runs."
    ),
]
SocketOption = Annotated[
    str,
    typer.Option("--socket", metavar="PATH", help="The runtime's socket for plugins."),
]
IndexOption = Annotated[
    str,
    typer.Option("--index", metavar="NN", help="Two digits: runtimes call plugins in order of their index."),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Only log the answers; containers stay unchanged.")
]
EventsOutputOption = Annotated[
    EventOutput,
    typer.Option(
        "-o",
        "--output",
        help="Output format; log is lines on stderr, jsonl is also every answer on stdout, one per line.",
        rich_help_panel=OUTPUT,
    ),
]

RUN_HELP = """Run as a plugin of containerd or CRI-O that sets CPUs of containers.

Registers on the runtime's NRI socket and sets the CPUs of each new container: with --plan, the CPUs and
NUMA nodes that the plan has for its namespace, pod and container; with --policy, free CPUs that the
kubelet's static policy or another one would choose. All other containers run in the shared pool, which
shrinks before a container gets exclusive CPUs, and grows when that container stops. Running containers are
corrected immediately, and again after the runtime restarts.

A policy assigns exclusive CPUs to containers of Guaranteed pods with a whole number of CPUs, as derived from
their cgroup settings (shares, quota, memory limit). If there are not enough free CPUs, the container runs in
the shared pool, which is logged. The policy uses the kubelet's settings (reserved CPUs, options, topology and
memory managers) except cpuManagerPolicy.

The plugin does not block the runtime: if a decision takes longer than a tenth of the runtime's timeout, the
container starts unchanged, which is logged, and is corrected as soon as possible. When the plugin stops,
containers keep their CPUs.

The kubelet's own static policy also writes CPU sets: do not use both on one node. Needs root, and protobuf:
pip install '.[nri]' in cpuctl's source directory.

Examples:

\b
  cpuctl plan --kubelet-args '--cpu-manager-policy=static --reserved-cpus=0' \\
      --state none -f pods.yaml -o json > plan.json
  sudo cpuctl nri run --plan plan.json --dry-run       # what it would answer
  sudo cpuctl nri run --plan plan.json
  sudo cpuctl nri run --plan plan.json -o jsonl > answers.jsonl
  sudo cpuctl nri run --policy static --kubelet-args '--reserved-cpus=0'
  sudo cpuctl nri run --policy koordinator,bind=spread --index 90

Exit codes: 0 ended by SIGTERM, SIGINT or SIGHUP, 2 usage, 4 unusable input, or the plan is for another
machine, 5 not root, no runtime is listening, or the state file is in use by another plugin.
"""


@app.command(name="run", help=RUN_HELP, cls=KubeletCommand)
def run(
    context: typer.Context,
    plan: PlanOption = "",
    policy: AllocatingOption = "",
    state_file: StateFileOption = "/var/lib/cpuctl/nri_state",
    machine: MachineOption = LIVE_MACHINE,
    socket: SocketOption = "/var/run/nri/nri.sock",
    index: IndexOption = "10",
    dry_run: DryRunOption = False,
    output: EventsOutputOption = EventOutput.LOG,
    quiet: QuietOption = False,
) -> None:
    """Read the plan or inputs, connect, and serve until a signal ends the plugin."""
    from cpuctl import __version__
    from cpuctl.nri.plugin import Identity, Plugin
    from cpuctl.nri.protocol import messages
    from cpuctl.nri.reconciler import Reconciler
    from cpuctl.operations.nri import Connecting, planned_places, refuse_others_than_root, serve
    from cpuctl.operations.nri_policy import PolicyInputs, allocated_places

    source = context.get_parameter_source("state_file")
    names_state = source is not None and source.name == "COMMANDLINE"
    # State that was saved on this machine does not apply to another.
    state = state_file if names_state or machine == LIVE_MACHINE else ""
    inputs = PolicyInputs(policy, machine, kubelet_inputs(context), state, dry_run=dry_run)
    _refuse_clash(plan, inputs, index)
    if plan and names_state:
        message = "requires --policy: a plan has no state"
        raise UsageError(message, where=_STATE_FILE, hint=f"omit {_STATE_FILE}")
    refuse_others_than_root(socket)
    messages()
    sources = Sources()
    placer = planned_places(plan, machine, sources) if plan else allocated_places(inputs, sources)
    print_sources(sources, Style(output, quiet=quiet))
    journal = _Journal(output)
    plugin = Plugin(
        Reconciler(placer), journal, Identity(priority=index, version=__version__), dry_run=dry_run
    )
    try:
        with _ended_by_signals(plugin):
            serve(plugin, journal, Connecting(socket))
    finally:
        journal.close()


def _refuse_clash(plan: str, inputs: "PolicyInputs", index: str) -> None:
    if bool(plan) == bool(inputs.policy):
        hint = f"use either {option_names.PLAN} FILE or {option_names.POLICY} static"
        raise UsageError("expected a plan or a policy", hint=hint)
    if plan and inputs.kubelet != KubeletInputs():
        hint = "omit the kubelet options: the plan was made with them"
        message = "kubelet options require --policy"
        raise UsageError(message, where=option_names.PLAN, hint=hint)
    if not re.fullmatch("[0-9]{2}", index):
        raise UsageError(f"expected two digits, found {index!r}", where="--index")
    if inputs.machine != LIVE_MACHINE and not inputs.dry_run:
        hint = "add --dry-run to try another machine"
        raise UsageError("containers run on this machine only", where="--machine", hint=hint)


@contextmanager
def _ended_by_signals(plugin: "Plugin") -> Iterator[None]:
    """Let signals end the plugin, which waits for the runtime most of the time, immediately."""
    from cpuctl.cli.process import held_back

    with held_back(then=plugin.stop):
        try:
            with plugin.woken_by_signals():
                yield
        finally:
            plugin.close()


class _Journal:
    """Writes lines to stderr, with their level if the journal reads them, and answers to stdout.

    It writes in its own thread, and without the locks of Python's streams: a pager that waits, or
    a suspended terminal, blocks neither the runtime nor the end of the plugin.
    """

    def __init__(self, output: EventOutput) -> None:
        self._writes_events = output is EventOutput.JSONL
        self._marks_levels = read_by_journal(2)
        self._waiting: Queue[tuple[TextIO, bytes]] = Queue(_MOST_WAITING)
        self._lost = 0
        Thread(target=self._write, name="journal", daemon=True).start()

    def say(self, level: "Level", text: str) -> None:
        """Write a line to the log."""
        from cpuctl.nri.plugin import Level

        if self._marks_levels:
            line = f"<{level.value}>{text}"
        else:
            line = text if level is Level.INFO else f"{level.name.lower()}: {text}"
        self._put(sys.stderr, printable(line))

    def event(self, name: str, answer: "Answer", outcome: "NRIOutcome") -> None:
        """Write an answer."""
        import json

        from cpuctl.answering.plan.nri_answer import event_document, event_line
        from cpuctl.nri.plugin import Level

        if line := event_line(answer, outcome):
            self.say(Level.INFO, line)
        if self._writes_events:
            self._put(sys.stdout, json.dumps(event_document(name, answer, outcome, time.time())))

    def close(self) -> None:
        """Wait until everything is written, but not if the reader does not read."""
        done = self._waiting.all_tasks_done
        with done:
            done.wait_for(lambda: not self._waiting.unfinished_tasks, _READ_WITHIN)

    def _put(self, stream: TextIO | None, line: str) -> None:
        if stream is None:
            return  # closed from the start: its number may now belong to another file
        try:
            self._waiting.put_nowait((stream, f"{line}\n".encode(stream.encoding, "backslashreplace")))
        except Full:
            self._lost += 1

    def _write(self) -> None:
        from cpuctl.nri.plugin import Level

        while True:
            stream, line = self._waiting.get()
            try:
                while line:
                    line = line[os.write(stream.fileno(), line) :]
            except OSError as error:
                # A reader that has closed the pipe must not end the plugin.
                if stream is sys.stdout and self._writes_events:
                    self._writes_events = False
                    self.say(Level.WARNING, f"answers can no longer be written: {os_reason(error)}")
            if self._lost:
                lost, self._lost = self._lost, 0
                self.say(Level.WARNING, f"{lost} lines were lost: the reader is too slow")
            self._waiting.task_done()
