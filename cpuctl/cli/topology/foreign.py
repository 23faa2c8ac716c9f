"""``cpuctl topology show -o lscpu``: a machine in the words of another tool, for programs that read these."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cpuctl.cli.notes import tell_sources
from cpuctl.cli.output import Style, TopologyOutput
from cpuctl.errors import UsageError
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from cpuctl.machine.model import Machine

FOREIGN = frozenset({TopologyOutput.LSCPU, TopologyOutput.NUMACTL, TopologyOutput.HWLOC_XML})


def refuse_beside(output: TopologyOutput, asked: Mapping[str, object]) -> None:
    """Raise UsageError for an option, by its name, that another tool's form has no place for."""
    for option in (option for option, value in asked.items() if value):
        raise UsageError(f"does not go with -o {output}, which is the whole machine", where=option)


def write_foreign(spec: str, style: Style) -> None:
    """Read a machine and write it as another tool does; raise InputError where that has nothing to tell."""
    sources = Sources()
    machine = load_machine(spec, sources).machine
    text, remarks = _written(machine, TopologyOutput(style.output))
    sources.warnings.extend(remarks)
    tell_sources(sources, style)
    sys.stdout.write(text)


def _written(machine: Machine, form: TopologyOutput) -> tuple[str, tuple[str, ...]]:
    if form is TopologyOutput.HWLOC_XML:
        from cpuctl.machine.foreign.hwloc_writing import as_hwloc_xml

        return as_hwloc_xml(machine)

    from cpuctl.machine.foreign.writing import as_lscpu, as_numactl

    return (as_lscpu if form is TopologyOutput.LSCPU else as_numactl)(machine), ()
