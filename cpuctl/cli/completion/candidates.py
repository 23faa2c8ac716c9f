"""``cpuctl __complete KIND SHELL WORD...``: candidates that depend on the files given on the command line.

A shell runs this while the user types. So it is quick (no typer, no rich), silent in every case, reads
only regular files of modest size, never standard input, and offers only what is a single word in every shell.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cpuctl.cli.completion.command_line import CommandLine

_PLAIN = re.compile(r"[A-Za-z0-9._:=,/+-]+", re.ASCII)
_MOST = 2000


def main(arguments: Sequence[str]) -> None:
    """Print candidates for the last word, one per line; print nothing if there are none."""
    try:
        sys.stdout.write("".join(f"{word}\n" for word in candidates(arguments)))
        sys.stdout.flush()
    except Exception:  # noqa: BLE001, S110  # an error here would be text in the middle of a line being typed
        pass
    except KeyboardInterrupt:
        pass


def candidates(arguments: Sequence[str]) -> list[str]:
    """Return the completions of the last word; *arguments* are kind, shell, and the line up to that word.

    Words with special characters are left out: a pod called ``$(date)`` must not reach a shell.
    """
    kind, shell, *line = arguments
    typed = CommandLine.from_line(line, quoted=shell == "bash")
    found = _COMPLETERS[kind](typed)
    fitting = (each for each in found if each.startswith(typed.current) and _PLAIN.fullmatch(each))
    return list(dict.fromkeys(fitting))[:_MOST]


def _pod(typed: CommandLine) -> Iterable[str]:
    from cpuctl.cli.completion.named_pods import complete_pods

    return complete_pods(typed)


def _resize(typed: CommandLine) -> Iterable[str]:
    from cpuctl.cli.completion.named_pods import complete_resizes

    return complete_resizes(typed)


def _container(typed: CommandLine) -> Iterable[str]:
    from cpuctl.cli.completion.named_pods import complete_containers

    return complete_containers(typed)


def _machine(typed: CommandLine) -> Iterable[str]:
    from cpuctl.cli.completion.machines import complete_machines

    return complete_machines(typed)


def _cpus(typed: CommandLine) -> Iterable[str]:
    from cpuctl.cli.completion.machines import complete_cpus

    return complete_cpus(typed)


def _gates(typed: CommandLine) -> Iterator[str]:
    from cpuctl.kubelet.gates.manager_gates import MANAGER_GATES

    done, comma, part = typed.current.rpartition(",")
    gate, equals, _ = part.partition("=")
    if equals:
        yield from (f"{done}{comma}{gate}={value}" for value in ("true", "false"))
        return
    gates = (line.split()[0] for line in MANAGER_GATES.splitlines() if line)
    yield from (f"{done}{comma}{each}=" for each in gates if f"{each}=" not in done)


def _checks(typed: CommandLine) -> Iterator[str]:
    from cpuctl.audit.check_names import CHECK_NAMES

    return _listed(typed, CHECK_NAMES)


def _columns(typed: CommandLine) -> Iterator[str]:
    from cpuctl.answering.cpu_columns import ALL_COLUMNS

    return _listed(typed, ALL_COLUMNS)


def _listed(typed: CommandLine, names: Iterable[str]) -> Iterator[str]:
    done, comma, _ = typed.current.rpartition(",")
    return (f"{done}{comma}{each}" for each in names if each not in done.split(","))


_COMPLETERS: Mapping[str, Callable[[CommandLine], Iterable[str]]] = {
    "pod": _pod,
    "resize": _resize,
    "container": _container,
    "machine": _machine,
    "cpus": _cpus,
    "gates": _gates,
    "checks": _checks,
    "columns": _columns,
}
