"""``cpuctl watch``: an audit that keeps running, and reports changes."""

import errno
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.atomic_file import sync_directory, temporary_file
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.check_option import CheckOption, chosen_checks
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_doubts, print_sources
from cpuctl.cli.options import PodResourcesOption, QuietOption, RootOption, RunningPodsOption
from cpuctl.cli.output import Style, complain, takes_every_character
from cpuctl.cli.panels import OUTPUT
from cpuctl.cli.process import notify_manager, read_by_journal, watchdog_seconds
from cpuctl.errors import NodeAccessError, UsageError, unwritable

if TYPE_CHECKING:
    from cpuctl.answers.watch import WatchEvent
    from cpuctl.operations.watch import Look, Observation, WatchInputs

app = command_group()

HELP = """Watch a node and report each change: findings, pods, state files.

Starts with an audit, and reports what it finds. From then on it reports each change once: a finding that
appears, changes or is resolved; a pod that is added, with its CPUs, or removed; a state file that is written;
a kubelet that restarts. Findings are those of cpuctl audit.

Changes to state files and cgroups are noticed immediately (inotify), those to threads and interrupts by
sampling (--every). Each change triggers an audit. Without changes, an audit runs every five minutes (--full).

A difference that the kubelet corrects itself is reported only if it still exists one
cpuManagerReconcilePeriod after the state was written or a pod was removed. A finding is resolved when it has
been gone for 10 seconds (--settle). If it keeps coming back, that time doubles, up to five minutes.

Next, run cpuctl audit for the commands that fix what was found.

Examples:

\b
  sudo cpuctl watch
  sudo cpuctl watch -o jsonl >> changes.jsonl
  sudo cpuctl watch --fail-on error --for 10m   # in a test: exit 3 on error
  sudo cpuctl watch --check cpusets,threads
  sudo cpuctl watch --textfile /var/lib/node_exporter/cpuctl_audit.prom
  cpuctl watch --root /host                       # in a debugging pod

Exit codes: 0 ended by --for, SIGTERM, SIGINT or SIGHUP, 2 usage, 3 a finding matches --fail-on, 4 unusable
input, 5 the node denied access.
"""


class WatchOutput(StrEnum):
    """How changes are written: one per line, for people or as JSON."""

    LINES = "lines"
    JSONL = "jsonl"


class Until(StrEnum):
    """The severity of a finding that ends a watch."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


EveryOption = Annotated[
    str,
    typer.Option(
        "--every", metavar="DURATION", help="How often threads and interrupts are sampled; 100ms or more."
    ),
]
FullOption = Annotated[
    str,
    typer.Option(
        "--full", metavar="DURATION", help="How often the node is audited when nothing changes; 1s or more."
    ),
]
SettleOption = Annotated[
    str,
    typer.Option(
        "--settle",
        metavar="DURATION",
        help="How long a finding must be gone, or different, before that is reported.",
    ),
]
MaxCPUOption = Annotated[
    float,
    typer.Option(
        "--max-cpu",
        metavar="PERCENT",
        min=0.1,
        max=100,
        help="Share of one CPU that audits may use on average; sampling may use the same share in addition.",
    ),
]
UntilOption = Annotated[
    Until | None,
    typer.Option("--fail-on", help="Exit with code 3 on the first finding of this severity or worse."),
]
ForOption = Annotated[
    str, typer.Option("--for", metavar="DURATION", help="Exit with code 0 after this time.")
]
TextfileOption = Annotated[
    str,
    typer.Option(
        "--textfile",
        metavar="FILE",
        help="Write the metrics of cpuctl audit -o prom to this file after each audit, atomically: for "
        "node_exporter's textfile collector.",
        rich_help_panel=OUTPUT,
    ),
]
WatchOutputOption = Annotated[
    WatchOutput,
    typer.Option(
        "-o",
        "--output",
        help="Output format: text lines, or jsonl with one change per line.",
        rich_help_panel=OUTPUT,
    ),
]


@app.command(name="watch", help=HELP, cls=KubeletCommand)
def watch(
    context: typer.Context,
    root: RootOption = "",
    pods: RunningPodsOption = "",
    pod_resources: PodResourcesOption = "",
    check: CheckOption = "",
    every: EveryOption = "2s",
    full: FullOption = "5m",
    settle: SettleOption = "10s",
    max_cpu: MaxCPUOption = 2,
    until: UntilOption = None,
    for_: ForOption = "",
    textfile: TextfileOption = "",
    output: WatchOutputOption = WatchOutput.LINES,
    quiet: QuietOption = False,
) -> None:
    """Audit the node, and write what changes, until something ends the watch."""
    from cpuctl.inputs.live_node import NodeInputs
    from cpuctl.operations.watch import WatchInputs

    if pods == "-":
        hint = "use a file: it is read again whenever it changes"
        raise UsageError("stdin cannot be read again", where="--pods", hint=hint)
    inputs = WatchInputs(
        NodeInputs(root=root, kubelet=kubelet_inputs(context), pods=pods, pod_resources=pod_resources),
        tuple(chosen_checks(check)),
        every=_seconds(every, "--every", least=0.1),
        full=_seconds(full, "--full", least=1),
        settle=_seconds(settle, "--settle"),
        share=max_cpu / 100,
    )
    end = time.monotonic() + _seconds(for_, "--for") if for_ else float("inf")
    teller = _Teller(inputs, Style(output, quiet=quiet), until, textfile)
    with _notified_of_signals() as waker:
        _follow(inputs, teller, end, waker)
    notify_manager("STOPPING=1")
    if teller.ends:
        raise typer.Exit(EXIT_NO)


def _follow(inputs: "WatchInputs", teller: "_Teller", end: float, waker: int) -> None:
    from cpuctl.operations.watch import Watch

    # Half the time that the service manager allows, as sd_watchdog_enabled(3) recommends.
    watch = Watch(inputs, waker, silence=watchdog_seconds() / 2, output=_pipe())
    try:
        teller.begin(watch.begin())
        while not teller.ends and (seen := watch.wait(end)) is not None:
            teller.tell(seen)
    finally:
        watch.close()
    if watch.unread:
        signal.raise_signal(signal.SIGPIPE)
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))  # if that signal is ignored


def _pipe() -> int | None:
    """Return the descriptor of stdout if it is a pipe: its reader may exit long before the next change."""
    try:
        handle = sys.stdout.fileno()
        return handle if stat.S_ISFIFO(os.fstat(handle).st_mode) else None
    except (AttributeError, OSError):
        return None


def _seconds(text: str, option: str, *, least: float = 0.0) -> float:
    from cpuctl.golang.durations import SECOND, parse_duration
    from cpuctl.golang.text import GoError

    try:
        seconds = parse_duration(text) / SECOND
    except GoError:
        hint = "use a number with a unit: 500ms, 10s, 5m, 1h30m"
        raise UsageError(f"expected a duration, found {text!r}", where=option, hint=hint) from None
    if seconds < least:
        raise UsageError(f"{text} is too short, expected at least {least:g}s", where=option)
    return seconds


@contextmanager
def _notified_of_signals() -> Iterator[int]:
    """Let signals that would end the process only make the yielded descriptor readable."""
    from cpuctl.cli.process import noted

    woken, waker = socket.socketpair()
    with woken, waker:
        for end in (woken, waker):
            end.setblocking(False)
        with noted():
            before = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
            try:
                yield woken.fileno()
            finally:
                signal.set_wakeup_fd(before)


class _Teller:
    """Writes findings and changes, and decides whether they end the watch."""

    def __init__(self, inputs: "WatchInputs", style: Style, until: Until | None, textfile: str) -> None:
        self._inputs = inputs
        self._style = style
        self._ending = tuple(Until)[: tuple(Until).index(until) + 1] if until else ()
        self._textfile = Path(textfile) if textfile else None
        self._unwritten = ""
        self._line = _json_line if style.output is WatchOutput.JSONL else _line_for_readers()
        self.ends = False

    def begin(self, observation: "Observation") -> None:
        """Report the start of the watch, and the initial findings."""
        from cpuctl.answering.node_checks import audit_commands
        from cpuctl.answering.watch_events import watching_event

        look = observation.look
        assert look is not None
        print_sources(look.sources, self._style)
        print_doubts(look.node, self._style)
        self._spelt_out = audit_commands(self._inputs.node, look.sources, look.node)
        self._write_metrics(look)
        self._write(watching_event(look, time.time()))
        self.tell(observation._replace(look=None))
        notify_manager("READY=1")

    def tell(self, observation: "Observation") -> None:
        """Write new events, and the metrics if the node was read."""
        from cpuctl.answering.watch_events import watch_events

        notify_manager("WATCHDOG=1")
        if observation.look:
            try:
                self._write_metrics(observation.look)
                self._unwritten = ""
            except NodeAccessError as error:  # for example, a full disk: changes are reported even then
                if str(error) != self._unwritten:
                    complain(f"warning: {error}")
                self._unwritten = str(error)
        for event in watch_events(observation, time.time(), self._spelt_out):
            self._write(event)
            if event["event"] in ("Found", "Changed") and event["finding"]["severity"] in self._ending:
                self.ends = True
                break

    def _write(self, event: "WatchEvent") -> None:
        sys.stdout.write(f"{self._line(event)}\n")
        sys.stdout.flush()

    def _write_metrics(self, look: "Look") -> None:
        """Write the metrics of a check; raise NodeAccessError if the system refuses."""
        if self._textfile is None:
            return
        from cpuctl.answering.metrics import audit_metrics
        from cpuctl.answering.node_checks import audited_node
        from cpuctl.cli.render.as_prom import metrics_text

        audited = audited_node(look.node, look.snapshot, look.findings, self._inputs.checks, look.sources)
        text = metrics_text({"metrics": list(audit_metrics(audited))}).encode()
        try:
            # Completely or not at all, and under another suffix than the collector's until then.
            with temporary_file(
                self._textfile, lambda file: file.write(text), like=None, mode=_READABLE
            ) as temporary:
                temporary.replace(self._textfile)
            sync_directory(self._textfile.parent)
        except OSError as error:
            raise unwritable(error, str(self._textfile)) from None


_READABLE = 0o644


def _json_line(event: "WatchEvent") -> str:
    import json

    return json.dumps(event, ensure_ascii=not takes_every_character())


def _line_for_readers() -> Callable[["WatchEvent"], str]:
    """Return the function that formats an event: with its time or, for the journal, with its level."""
    from cpuctl.cli.render.watch_lines import journal_line, line

    return journal_line if read_by_journal(1) else line
