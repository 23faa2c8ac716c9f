"""``cpuctl topology show -o lscpu``: a machine in the words of another tool, for programs that read these."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from cpuctl.cli.notes import tell_sources
from cpuctl.cli.output import Style, TopologyOutput
from cpuctl.errors import UsageError
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources

FOREIGN = frozenset({TopologyOutput.LSCPU, TopologyOutput.NUMACTL})


def refuse_beside(output: TopologyOutput, asked: Mapping[str, object]) -> None:
    """Raise UsageError for an option, by its name, that another tool's form has no place for."""
    for option in (option for option, value in asked.items() if value):
        raise UsageError(f"does not go with -o {output}, which is the whole machine", where=option)


def write_foreign(spec: str, style: Style) -> None:
    """Read a machine and write it as another tool does; raise InputError where that has nothing to tell."""
    from cpuctl.machine.foreign.writing import as_lscpu, as_numactl

    sources = Sources()
    source = load_machine(spec, sources)
    writers = {TopologyOutput.LSCPU: as_lscpu, TopologyOutput.NUMACTL: as_numactl}
    text = writers[TopologyOutput(style.output)](source.machine)
    tell_sources(sources, style)
    sys.stdout.write(text)
