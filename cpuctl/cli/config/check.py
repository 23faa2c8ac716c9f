"""``cpuctl config check``: whether a kubelet would start with a configuration."""

from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.command_lines import checkpoint_commands
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_words
from cpuctl.cli.notes import tell_sources
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
from cpuctl.cli.output import Output, Style, emit
from cpuctl.cli.panels import INPUT
from cpuctl.cli.subjects import Subject, about
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.kubelet import load_cgroup_version, load_kubelet, release_is_known
from cpuctl.inputs.machine import load_machine, with_memory, with_storage
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.operations.checkpoint.states import CheckpointInputs

if TYPE_CHECKING:
    from cpuctl.answers.config import ConfigCheck
    from cpuctl.machine.sources import MachineSource

app = command_group()

HELP = """Tell whether a kubelet with this configuration would start on this machine.

Answers with the kubelet's own error and where to mend it, and remarks on what is legal but wrong. The node's
state files are looked at as cpuctl checkpoint verify looks at them, or those of --state; what is not looked
at is named.

Examples:

\b
  cpuctl config check && systemctl restart kubelet
  cpuctl config check -m node7.tar.xz --kubelet-version 1.37
  cpuctl config check --kubelet-config new.yaml -o json | jq .start.error

Exit codes: 0 it would start, 3 it would not, that cannot be said or there are errors (with --strict
also where there are warnings; with --exit-zero 0), 2 usage, 4 unusable input.
"""

CheckedStateOption = Annotated[
    str,
    typer.Option(
        "--state",
        metavar="DIR|FILE",
        help="Would it start on these state files of the kubelet?",
        rich_help_panel=INPUT,
    ),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit 3 also where there are warnings.")]


@app.command(name="check", help=HELP, cls=about(Subject.MACHINE, KubeletCommand))
def check(
    context: typer.Context,
    machine: MachineOption = "live",
    cgroup_version: CgroupVersionOption = "",
    ephemeral_storage: EphemeralStorageOption = "",
    memory: MemoryOption = "",
    state: CheckedStateOption = "",
    strict: StrictOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Tell whether the kubelet would start."""
    from cpuctl.answering.diagnostics import spell_out_fixes

    kubelet = kubelet_words(context)
    refuse_stdin_twice(machine, kubelet.config, state)
    style, sources = Style(output, color=not no_color, quiet=quiet, layout="config_check"), Sources()
    source = with_storage(load_machine(machine, sources), ephemeral_storage, sources)
    source = with_memory(source, memory, sources)
    cgroup = load_cgroup_version(cgroup_version, source, sources)
    document = _checked(kubelet, source, sources, cgroup, state)
    given = CheckpointInputs(state=state, machine=machine, memory=memory, kubelet=kubelet)
    commands = checkpoint_commands(given, released=release_is_known(sources))
    spell_out_fixes(document["findings"], commands)
    tell_sources(sources, style)
    emit(document, style)
    if not exit_zero and not _is_clean(document, strict=strict):
        raise typer.Exit(EXIT_NO)


def _checked(
    words: KubeletInputs, source: "MachineSource", sources: Sources, cgroup_version: int, state: str
) -> "ConfigCheck":
    from cpuctl.answering.config.check_answer import check_document, unloaded_document
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
    from cpuctl.kubelet.releases.recorded import Topic
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.operations.configuration import check_kubelet, states_of_node, verdict_on

    try:
        loaded = load_kubelet(words, sources, machine=source)
    except ConfigRefusedError as refused:
        known = sources.entries.get("kubeletVersion")
        release = KubeletVersion.parse(known["value"]) if known else None
        return unloaded_document(refused, sources.entries, release)
    # Warnings of the configuration are findings here, and need no line of their own on stderr.
    findings = set(map(str, loaded.configuration.warnings))
    sources.warnings[:] = [text for text in sources.warnings if text not in findings]
    loaded = loaded._replace(kubelet=loaded.kubelet._replace(cgroup_version=cgroup_version))
    states, unseen = states_of_node(source, loaded, sources, state)
    outcome, lints = check_kubelet(source, loaded)
    sources.add_unrecorded(loaded.kubelet.version.minor, (Topic.CONFIGURATION,))
    if not states:
        return check_document(loaded, outcome, lints, sources.entries, unseen)

    from cpuctl.answering.checkpoint.verdict_answer import as_remarks, shortened_start

    verdict = verdict_on(source, loaded, states)
    remarks = as_remarks(verdict, states)
    document = check_document(loaded, verdict.start, lints, sources.entries, unseen, remarks)
    document["start"] = shortened_start(document["start"])
    return document


def _is_clean(document: "ConfigCheck", *, strict: bool) -> bool:
    started = document["start"]["outcome"] == "Started" and not document["summary"]["error"]
    return started and not (strict and document["summary"]["warning"])
