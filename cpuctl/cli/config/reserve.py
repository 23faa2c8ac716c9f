"""``cpuctl config reserve``: reserved CPUs and memory with which the kubelet starts."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources, warn_of_flags
from cpuctl.cli.options import (
    CgroupVersionOption,
    EphemeralStorageOption,
    ExitZeroOption,
    MachineOption,
    MemoryOption,
    NoColorOption,
    OutputOption,
    QuietOption,
)
from cpuctl.cli.output import Output, Style, emit, note
from cpuctl.cli.subjects import Subject, about
from cpuctl.cpuset import CPUSet
from cpuctl.engine.reserve import Spread
from cpuctl.errors import UsageError
from cpuctl.exports.outcomes import failure_text
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.inputs.kubelet import load_cgroup_version, load_kubelet
from cpuctl.inputs.machine import load_machine, with_memory, with_storage
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

if TYPE_CHECKING:
    from cpuctl.answers.config import Proposal, Proposed, Rejection, Unproposed
    from cpuctl.engine.reserve import CPUReserve, MemoryReserve
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.machine.model import Machine
    from cpuctl.machine.sources import MachineSource

app = command_group()

HELP = """Propose reserved CPUs and memory that the kubelet accepts.

With the Memory Manager's Static policy, the kubelet starts only if reservedMemory is exactly the sum of
kubeReserved, systemReserved and the hard eviction threshold. Every proposal is tested: the kubelet accepts
it. State files are not considered: check them with the new settings (cpuctl checkpoint verify). If no
proposal works, the reason is shown.

With --cpu-count, CPUs are chosen by core and L3 cache, near CPU 0, isolated CPUs last; reserved memory is
unchanged unless memoryManagerPolicy is Static or --spread or --numa-node is given.

Examples:

\b
  cpuctl config reserve --kubelet-config kubelet.yaml
  cpuctl config reserve -m node7.tar.xz --spread proportional
  cpuctl config reserve --cpu-count 4 --per-numa --whole-cores
  cpuctl config reserve --snippet > kubelet.conf.d/90-reserved.conf
  cpuctl config reserve -o json | jq -r '.proposal.flags[]'

Exit codes: 0 the kubelet accepts this, 3 no proposal works (with --exit-zero 0), 2 usage, 4 unusable
input.
"""

CountOption = Annotated[
    int | None,
    typer.Option(
        option_names.CPU_COUNT,
        metavar="N",
        min=1,
        help="Choose N CPUs for reservedSystemCPUs.",
    ),
]
PerNumaOption = Annotated[
    bool,
    typer.Option("--per-numa", help="Choose the same number from each NUMA node: N in total, or a few more."),
]
WholeCoresOption = Annotated[
    bool, typer.Option("--whole-cores", help="Choose only whole cores: N CPUs, or a few more.")
]
KeepPCoresOption = Annotated[
    bool,
    typer.Option(
        "--keep-p-cores", help="Choose performance cores last, if the machine has several core types."
    ),
]
SpreadOption = Annotated[
    Spread | None,
    typer.Option(
        "--spread",
        help="Reserve the same memory on each NUMA node (even, the default), in proportion to its size "
        "(proportional), or all on one (one-node).",
    ),
]
NodeOption = Annotated[
    int | None,
    typer.Option(option_names.NUMA_NODE, metavar="N", min=0, help="Reserve all memory on this NUMA node."),
]
SnippetOption = Annotated[
    bool,
    typer.Option(
        "--snippet", help="Print only a KubeletConfiguration with the settings, for a drop-in file."
    ),
]


@app.command(name="reserve", help=HELP, cls=about(Subject.MACHINE, KubeletCommand))
def reserve(
    context: typer.Context,
    machine: MachineOption = "live",
    cgroup_version: CgroupVersionOption = "",
    ephemeral_storage: EphemeralStorageOption = "",
    memory: MemoryOption = "",
    reserved_cpus: CountOption = None,
    per_numa: PerNumaOption = False,
    whole_cores: WholeCoresOption = False,
    keep_p_cores: KeepPCoresOption = False,
    spread: SpreadOption = None,
    node: NodeOption = None,
    snippet: SnippetOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Propose settings with which the kubelet starts."""
    from cpuctl.operations.command_lines import kubelet_command

    kubelet = kubelet_inputs(context)
    refuse_stdin_twice(machine, kubelet.config)
    style = Style(
        output,
        color=not no_color,
        quiet=quiet,
        layout="config_reserve",
        view="snippet_blocks" if snippet else "blocks",
    )
    sources = Sources()
    source = with_storage(load_machine(machine, sources), ephemeral_storage, sources)
    source = with_memory(source, memory, sources)
    kept = _memory_reserve(source, spread, node)
    flags = {"--per-numa": per_numa, "--whole-cores": whole_cores, "--keep-p-cores": keep_p_cores}
    cpus = _cpu_reserve(source.machine, reserved_cpus, flags, sources)
    try:
        loaded = load_kubelet(kubelet, sources, machine=source)
    except ConfigRefusedError as refused:
        document: Proposed | Unproposed = _unloaded(refused, sources)
        alone = False
    else:
        alone = cpus is None and loaded.kubelet.config.memory_manager_policy == "None"
        loaded = loaded.on_cgroups(load_cgroup_version(cgroup_version, source, sources))
        document = _answer(source, loaded, cpus, kept, sources)
    command_of = partial(kubelet_command, machine=machine, kubelet=kubelet, memory=memory)
    _add_next(document, source, command_of, kubelet.arguments, alone=alone)
    print_sources(sources, style)
    _print(document, style, snippet=snippet)
    if "rejection" in document and not exit_zero:
        raise typer.Exit(EXIT_NO)


def _print(document: "Proposed | Unproposed", style: Style, *, snippet: bool) -> None:
    for_file = snippet and style.for_people
    if for_file and "rejection" in document:
        # Nothing is written to stdout: a file of sentences is not a drop-in file.
        note(f"error: {_reason(document['rejection'])}", style)
        return
    if for_file and "proposal" in document:
        _warn_of_flags(document["proposal"])
    emit(document, style)


def _warn_of_flags(proposal: "Proposal") -> None:
    """Warn if the snippet has no effect, because flags set what it sets."""
    places = (place["where"] or "" for place in proposal["replaces"])
    warn_of_flags([where for where in places if where.startswith("--")])


def _add_next(
    document: "Proposed | Unproposed",
    source: "MachineSource",
    command_of: Callable[..., str],
    arguments: str | None,
    *,
    alone: bool,
) -> None:
    """Add the command that checks the node's state files with the proposal, or shows why there is none."""
    from cpuctl.inputs.starting_state import has_state_files

    if "rejection" in document:
        if verb := _next_verb(document["rejection"], source.info.threads_per_core, alone=alone):
            document["rejection"]["next"] = command_of(verb)
        return
    proposal = document["proposal"]
    # Flags of the node's own kubelet cannot be replaced on the command line: reservations add up.
    if has_state_files(source) and (
        arguments or all(each["from"] != "flag" for each in proposal["replaces"])
    ):
        command = command_of(("checkpoint", "verify"), flags=proposal["flags"])
        proposal["next"] = f"sudo {command}" if source.origin == LIVE_MACHINE else command


def _next_verb(rejection: "Rejection", core: int, *, alone: bool) -> tuple[str, ...]:
    """Return the next command: check what fails even without a reservation, or reserve a *core* of CPUs."""
    if "start" in rejection:
        return ("config", "check")
    return ("config", "reserve", option_names.CPU_COUNT, str(core)) if alone else ()


def _unloaded(refused: ConfigRefusedError, sources: Sources) -> "Unproposed":
    from cpuctl.answering.config.parts import unloaded_header
    from cpuctl.answering.config.reserve_answer import unloaded_document

    return unloaded_document(refused, unloaded_header(sources))


def _reason(rejection: "Rejection") -> str:
    kubelets = failure_text(rejection["start"]) if "start" in rejection else ""
    return f"{rejection['why']}: {kubelets}" if kubelets else rejection["why"]


def _memory_reserve(
    source: "MachineSource", spread: Spread | None, node: int | None
) -> "MemoryReserve | None":
    from cpuctl.engine.reserve import MemoryReserve
    from cpuctl.operations.reserve import memory_of_node

    if node is None:
        return None if spread is None else MemoryReserve(spread)
    if spread not in (None, Spread.ONE_NODE):
        hint = f"omit --spread {spread}"
        message = f"requires --spread {Spread.ONE_NODE}, found {spread}"
        raise UsageError(message, where=option_names.NUMA_NODE, hint=hint)
    try:
        return memory_of_node(source.info, node)
    except ValueError as error:
        raise UsageError(str(error), where=option_names.NUMA_NODE) from None


def _cpu_reserve(
    machine: "Machine", count: int | None, flags: dict[str, bool], sources: Sources
) -> "CPUReserve | None":
    from cpuctl.engine.reserve import CPUReserve
    from cpuctl.operations.reserve import performance_cpus

    if count is None:
        for name in (name for name, given in flags.items() if given):
            raise UsageError("requires --cpu-count", where=name, hint="add --cpu-count N")
        return None
    performance, uncertain = performance_cpus(machine) if flags["--keep-p-cores"] else (CPUSet(), "")
    if uncertain:
        sources.warnings.append(f"--keep-p-cores: {uncertain}")
    return CPUReserve(
        count=count,
        per_numa=flags["--per-numa"],
        whole_cores=flags["--whole-cores"],
        performance=performance.mask,
        isolated=machine.isolated.mask,
    )


def _answer(
    source: "MachineSource",
    loaded: "LoadedKubelet",
    cpus: "CPUReserve | None",
    memory: "MemoryReserve | None",
    sources: Sources,
) -> "Proposed | Unproposed":
    from cpuctl.answering.config.parts import answer_header
    from cpuctl.answering.config.reserve_answer import reserve_document
    from cpuctl.operations.reserve import reserve as reserved

    try:
        found = reserved(source, loaded, cpus, memory)
    except ValueError as error:
        hint = f"use a smaller {option_names.CPU_COUNT}"
        raise UsageError(str(error), where=option_names.CPU_COUNT, hint=hint) from None
    return reserve_document(loaded.configuration, found, answer_header(loaded, sources))
