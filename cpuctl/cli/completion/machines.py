"""Completion of CPU sets and of ``synthetic:`` descriptions of machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl.machine.sources import LIVE, SYNTHETIC

if TYPE_CHECKING:
    from cpuctl.cli.completion.command_line import CommandLine
    from cpuctl.machine.tree import Tree

_LARGEST_ARCHIVE = 8 << 20
_USUAL = ("1s1n8c2t", "1s4n64c2t", "2s2n16c2t", "2s8n64c2t", "4s4n28c2t", "8p2t+12e1t")
_KINDS = ("node", "socket", "l3", "core")


def complete_machines(typed: CommandLine) -> Iterator[str]:
    """Complete ``synthetic:2s4n16c2t,l3=8``: usual figures first, options after a comma."""
    done, comma, _ = typed.current.rpartition(",")
    if not comma:
        yield from (f"{SYNTHETIC}{figures}" for figures in _USUAL)
        return
    from cpuctl.machine.synthetic_description import CPU_OPTIONS, FLAGS, GROUP_OPTIONS

    names = [*(f"{each}=" for each in (*GROUP_OPTIONS, "mem", "distances", *CPU_OPTIONS))]
    names += ["hugepages=-", "hugepages-2Mi=", "hugepages-1Gi=", *FLAGS]
    yield from (f"{done},{each}" for each in names if f",{each}" not in done)


def complete_cpus(typed: CommandLine, before: str = "") -> Iterator[str]:
    """Complete a CPU list with the names of sets; *before* is the text before the list."""
    done, comma, part = typed.current.removeprefix(before).rpartition(",")
    before += done + comma
    kind, colon, _ = part.partition(":")
    if not colon:
        yield from (f"{before}{each}:" for each in _KINDS)
    elif kind in _KINDS:
        yield from (f"{before}{kind}:{number}" for number in _numbers(typed, kind))


def _numbers(typed: CommandLine, kind: str) -> list[int]:
    from cpuctl.machine.set_names import named_sets
    from cpuctl.machine.sources import read_machine

    spec = _modest(typed.value("-m", "--machine") or typed.value("--root") or LIVE)
    return sorted(named_sets(kind, read_machine(spec).machine) or ()) if spec else []


def node_files(typed: CommandLine) -> Tree:
    """Return the files of the node that a command is about, an empty tree if it has none."""
    from cpuctl.machine.archive import read_archive
    from cpuctl.machine.tree import DirectoryTree, MemoryTree

    spec = _modest(typed.value("--root") or typed.value("-m", "--machine") or LIVE)
    path = Path("/" if spec == LIVE else spec)
    if not spec or spec.startswith(SYNTHETIC):
        return MemoryTree({})
    return DirectoryTree(path) if path.is_dir() else read_archive(path)


def _modest(spec: str) -> str:
    """Return the spec, or None if reading it would take too long while the user types."""
    if spec == LIVE or spec.startswith(SYNTHETIC):
        return spec
    path = Path(spec)
    readable = path.is_dir() or (path.is_file() and path.stat().st_size <= _LARGEST_ARCHIVE)
    return spec if readable else ""
