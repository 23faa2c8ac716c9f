"""The root command, and the one place where errors become text and exit codes."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import takewhile
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType

from cpuctl import __version__
from cpuctl.cli.command_table import COMMANDS, GROUPS
from cpuctl.cli.output import complain, forget_written, unanswered
from cpuctl.cli.panels import HelpContext, PanelledCommand
from cpuctl.errors import MISSING, NO_MACHINE, CpuctlError, InputError, UsageError, unreadable

EXIT_INTERNAL = 1
EXIT_NO = 3
EXIT_INTERRUPTED = 130

WIDEST = 120
"""Columns of help on a wide terminal; longer lines are hard to read."""

_NEVER_CUT = 1000

HELP = """Inspect and plan what the kubelet's CPU, memory and topology managers do on a node.

Start here, on the node itself, or anywhere with -m and a recording of it:

\b
  sudo cpuctl plan -f pods.yaml                 # which CPUs would pods get
  sudo cpuctl explain shop/db --pods pods.json  # why was a pod rejected
  cpuctl explain --message 'TEXT'               # what does this message mean
  sudo cpuctl checkpoint verify                 # would the kubelet start
  sudo cpuctl config versions --to 1.37         # what does an upgrade change
  sudo cpuctl audit                             # what disturbs exclusive CPUs
  sudo cpuctl capture node7.tar.gz              # record the node, for -m

pods.json: kubectl get pods -A -o json --field-selector spec.nodeName=NODE

Defaults for -m and --kubelet-version: CPUCTL_MACHINE and CPUCTL_KUBELET_VERSION, or machine and
kubeletVersion in ~/.config/cpuctl/config.yaml.

Exit codes: 0 the answer is yes or there is nothing to report, 1 internal error, 2 usage, 3 the answer is no,
4 unusable input, 5 denied or not available: the node was not changed, 6 changed and not fully restored, 130
interrupted.
"""


class VerbGroup(TyperGroup):
    """A group that prints the whole first sentence of each verb's help."""

    context_class = HelpContext

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Print the first sentence of each verb's help."""
        verbs: list[tuple[str, Any]] = [
            (name, self.get_command(ctx, name)) for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.get_short_help_str(_NEVER_CUT)) for name, verb in verbs])


class LazyGroup(VerbGroup):
    """A group that imports a command's module only when that command is used."""

    modules: Mapping[str, str] = {}
    """The commands in the order of the help, and the module of each below ``cpuctl.cli``."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  # handed on to typer as they are
        super().__init__(**settings)
        self.commands = dict.fromkeys(self.modules, self)  # names, for typos

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002  # typer's context type is private
        """Return the names of the commands without importing them."""
        return list(self.modules)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002
        """Import the module of one command."""
        module = self.modules.get(cmd_name)
        return module and _built(module)


@cache
def _built(module: str) -> Any:  # noqa: ANN401  # typer's types are private
    """Make typer's command from a module, once: it keeps no state between command lines."""
    return typer.main.get_command(import_module(f"cpuctl.cli.{module}").app)


class Root(LazyGroup):
    """All commands; their help lines come from the table, so that printing help imports none of them."""

    modules: Mapping[str, str] = {name: entry.module for name, entry in COMMANDS.items()}

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Print the table's own help lines, all in two columns of the same width."""
        widest = max(map(len, COMMANDS))
        for group, entries in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(widest), entry.help) for name, entry in entries.items()])


class HelpByDefault(VerbGroup):
    """A group that prints its help if no verb is given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # typer's type is private
        """Ask for help if the command line is empty."""
        return super().parse_args(ctx, args or ["--help"])


class CommandGroup(typer.Typer):
    """A Typer whose commands print their help in panels."""

    def command(
        self,
        name: str | None = None,
        *,
        cls: type[TyperCommand] | None = PanelledCommand,
        **settings: Any,  # noqa: ANN401  # handed on to typer as they are
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Add a command, as Typer does."""
        return super().command(name, cls=cls, **settings)


def command_group(**settings: Any) -> CommandGroup:  # noqa: ANN401  # handed on to typer as they are
    """Make a Typer with the settings that all groups and commands of cpuctl share."""
    return CommandGroup(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
        **settings,
    )


def verb_group(name: str, help_text: str, modules: Mapping[str, str] | None = None) -> CommandGroup:
    """Make a group of verbs; each is in a module below ``cpuctl.cli`` or is added to the group directly."""
    group = type("Verbs", (HelpByDefault, LazyGroup), {"modules": modules}) if modules else HelpByDefault
    return command_group(cls=group, name=name, help=help_text, callback=lambda: None)


app = command_group(cls=Root)


def _print_version(wanted: bool) -> None:  # typer calls it so
    if wanted:
        typer.echo(f"cpuctl {__version__}")
        raise typer.Exit


@app.callback(help=HELP)
def root(
    version: bool = typer.Option(
        False, "--version", "-V", help="Print the version and exit.", callback=_print_version, is_eager=True
    ),
) -> None:
    """Accept the options that precede the command."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; no other code in cpuctl catches errors or exits."""
    command = typer.main.get_command(app)
    forget_written()
    try:
        _refuse_second_machine(arguments)
        code = command.main(list(arguments) or ["--help"], prog_name="cpuctl", standalone_mode=False)
        sys.stdout.flush()
    except CpuctlError as error:
        return _report(error, _meant(error, arguments))
    except typer.TyperException as error:
        return _report_usage(error, command, arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except SystemExit as error:  # click and rich exit on their own when a reader has closed the pipe
        return _report(unanswered(error))
    except OSError as error:
        return _report_refusal(error)
    except MemoryError as error:
        return _report_shortage(error)
    except Exception as error:  # noqa: BLE001  # a bug in cpuctl must not look like an answer
        return _report_defect(error)
    return code if isinstance(code, int) else 0


def _refuse_second_machine(arguments: Sequence[str]) -> None:
    """Raise UsageError for a second machine: the parser would silently use the last one."""
    if arguments[:1] == ["__complete"]:
        return
    before = takewhile(lambda word: word != "--", arguments)
    named = [word for word in before if word == "--machine" or word.startswith(("-m", "--machine="))]
    if len(named) > 1:
        raise UsageError("expected one machine, found two", where=named[1])


def _meant(error: CpuctlError, arguments: Sequence[str]) -> str:
    """Return a hint at the file or option that a misspelt name on the command line probably means."""
    if error.message == NO_MACHINE:
        from cpuctl.cli.usage import with_configuration

        return with_configuration(error.where, typer.main.get_command(app), arguments)
    if error.message != MISSING or not any(word.endswith(error.where or "?") for word in arguments):
        return ""
    from cpuctl.documents.files import nearest_path

    found = nearest_path(error.where)
    return f"did you mean {found}?" if found else ""


def _report(error: CpuctlError, meant: str = "") -> int:
    complain(f"error: {error}")
    for later in getattr(error, "others", ()):
        complain(f"error: {later} (once the first is fixed)")
    if hint := meant or error.hint:
        complain(f"hint: {hint}")
    return error.exit_code


def _report_usage(error: Any, command: Any, arguments: Sequence[str]) -> int:  # noqa: ANN401  # private types
    """Report the parser's errors in the same form as all others."""
    from cpuctl.cli.usage import explained

    return _report(explained(error, command, arguments))


def _report_refusal(error: OSError) -> int:
    """Report a system error: name the file, or stdout if the answer cannot be written (a full disk)."""
    if isinstance(error.filename, str | bytes):
        return _report(unreadable(error, os.fsdecode(error.filename)))
    return _report(unanswered(error))


_WORK = {
    "cpuctl.pods": "reading pods",
    "cpuctl.machine": "reading the machine",
    "cpuctl.kubelet": "reading the kubelet's configuration",
    "cpuctl.checkpoints": "reading state files",
    "cpuctl.documents": "reading a document",
    "cpuctl.timeline": "replaying",
    "cpuctl.engine": "deciding",
    "cpuctl.capture": "reading the node's files",
    "cpuctl.cgroups": "reading cgroups",
    "cpuctl.audit": "comparing",
    "cpuctl.answering": "preparing the answer",
    "cpuctl.cli.render": "writing the answer",
    "cpuctl.exports": "drawing",
}


def _report_shortage(error: MemoryError) -> int:
    """Report a lack of memory (RLIMIT_AS, a control group's limit), which is not a bug in cpuctl."""
    work, trace = "", error.__traceback__
    while trace is not None and not work:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        work = next((each for package, each in _WORK.items() if f"{name}.".startswith(f"{package}.")), "")
        trace = trace.tb_next
    message = f"out of memory while {work or 'starting'}"
    return _report(InputError(message, hint="raise the limit (ulimit -v) or use less input"))


def _report_defect(error: Exception) -> int:
    if os.environ.get("CPUCTL_DEBUG"):
        raise error
    complain(f"error: internal error: {type(error).__name__}: {error}")
    complain("hint: this is a bug in cpuctl: please report it with the output of CPUCTL_DEBUG=1")
    return EXIT_INTERNAL
