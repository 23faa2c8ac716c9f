"""``cpuctl config``: what a kubelet is told, and whether it would start."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpuctl.cli.app import EXIT_NO, HelpByDefault, command_group
from cpuctl.cli.config import reserve
from cpuctl.cli.kubelet_options import NOTHING_TOLD, with_kubelet_options
from cpuctl.cli.options import (
    CgroupVersionOption,
    ConfigDirOption,
    EphemeralStorageOption,
    ExitZeroOption,
    FeatureGatesOption,
    KubeletArgsOption,
    KubeletConfigOption,
    MachineOption,
    NoColorOption,
    OutputOption,
    QuietOption,
)
from cpuctl.cli.output import Document, Output, Style, emit
from cpuctl.cli.sources.config_inputs import KubeletWords, ToldKubelet
from cpuctl.cli.sources.inputs import load_machine
from cpuctl.cli.sources.kubelet_inputs import load_cgroup_version, load_kubelet
from cpuctl.cli.sources.sources import Sources
from cpuctl.cli.sources.storage_inputs import with_storage

if TYPE_CHECKING:
    from cpuctl.engine.reservation_summary import ReservationSummary
    from cpuctl.machine.sources import MachineSource

HELP = """Show what a kubelet is told, and tell whether it would start."""

SHOW_HELP = """Show the configuration in force, with the origin of every value, and what it keeps from pods.

A table shows what somebody has set and the managers' policies; wide shows every field.

Examples:

\b
  cpuctl config show                                    # this host
  cpuctl config show --kubelet-config kubelet.yaml --config-dir kubelet.conf.d
  cpuctl config show -m node7.tar.xz --kubelet-args '--max-pods=200' -o wide
"""

CHECK_HELP = """Tell whether a kubelet with this configuration would start on this machine.

Answers with the kubelet's own error and where to mend it, and remarks on what is legal but wrong. State files
are looked at with --state, as cpuctl checkpoint verify looks at them.

Examples:

\b
  cpuctl config check && systemctl restart kubelet
  cpuctl config check -m node7.tar.xz --kubelet-version 1.37
  cpuctl config check --kubelet-config new.yaml -o json | jq .start.error

Exit codes: 0 it would start, 3 it would not or that cannot be said (with --strict also where there are
warnings; with --exit-zero 0), 2 usage, 4 unusable input.
"""

VERSIONS_HELP = """List what changes for this configuration between two minors of the kubelet.

Examples:

\b
  cpuctl config versions --to 1.37
  cpuctl config versions --from 1.34 --to 1.37 --kubelet-config kubelet.yaml
  cpuctl config versions --from 1.37 --to 1.36 --all -o json
"""


app = command_group(cls=HelpByDefault, name="config", help=HELP)
app.command(name="reserve", help=reserve.HELP)(reserve.reserve)

CheckedStateOption = Annotated[
    str,
    typer.Option("--state", metavar="DIR|FILE", help="Would it start on these state files of the kubelet?"),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit 3 also where there are warnings.")]
FromOption = Annotated[
    str, typer.Option("--from", metavar="VERSION", help="The minor to come from; else the kubelet's.")
]
ToOption = Annotated[str, typer.Option("--to", metavar="VERSION", help="The minor to go to; else the next.")]
AllOption = Annotated[bool, typer.Option("--all", help="Also what this configuration cannot notice.")]


@app.command(name="show", help=SHOW_HELP)
@with_kubelet_options
def show(
    machine: MachineOption = "live",
    kubelet: KubeletWords = NOTHING_TOLD,
    ephemeral_storage: EphemeralStorageOption = "",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show the effective configuration."""
    from cpuctl.cli.answers.config.show_answer import show_document
    from cpuctl.kubelet.gates.feature_gates import FeatureGates

    style, sources = _style(output, "config_show", color=not no_color, quiet=quiet), Sources()
    source = with_storage(load_machine(machine, sources), ephemeral_storage, sources)
    told = load_kubelet(kubelet, sources, machine=source)
    sources.tell(style)
    known = told.kubelet
    gates = FeatureGates(known.version.minor, {**known.config.feature_gates, **known.gate_flags})
    emit(show_document(told.loaded, gates, _reservation(source, told), _head(told, sources)), style)


@app.command(name="check", help=CHECK_HELP)
@with_kubelet_options
def check(
    machine: MachineOption = "live",
    kubelet: KubeletWords = NOTHING_TOLD,
    cgroup_version: CgroupVersionOption = "",
    ephemeral_storage: EphemeralStorageOption = "",
    state: CheckedStateOption = "",
    strict: StrictOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Tell whether the kubelet would start."""
    style, sources = _style(output, "config_check", color=not no_color, quiet=quiet), Sources()
    source = with_storage(load_machine(machine, sources), ephemeral_storage, sources)
    cgroup = load_cgroup_version(cgroup_version, source, sources)
    document = _checked(kubelet, source, sources, cgroup, state)
    # Warnings of the configuration are findings here, and need no line of their own on stderr.
    sources.warnings.clear()
    sources.tell(style)
    emit(document, style)
    if not exit_zero and not _is_clean(document, strict=strict):
        raise typer.Exit(EXIT_NO)


@app.command(name="versions", help=VERSIONS_HELP)
def versions(
    from_version: FromOption = "",
    to_version: ToOption = "",
    everything: AllOption = False,
    machine: MachineOption = "live",
    kubelet_config: KubeletConfigOption = None,
    config_dir: ConfigDirOption = None,
    kubelet_args: KubeletArgsOption = "",
    feature_gates: FeatureGatesOption = "",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """List what changes between two minors."""
    style, sources = _style(output, "config_versions", color=not no_color, quiet=quiet), Sources()
    words = KubeletWords(
        config=kubelet_config,
        config_dir=config_dir,
        arguments=kubelet_args,
        version=from_version,
        version_option="--from",
        gates=feature_gates,
    )
    source = load_machine(machine, sources)
    document = _compared(words, to_version, source, sources, everything=everything)
    sources.tell(style)
    emit(document, style)


def _style(output: Output, layout: str, *, color: bool, quiet: bool) -> Style:
    return Style(output, color=color, quiet=quiet, layout=layout)


def _head(told: ToldKubelet, sources: Sources) -> dict[str, Any]:
    return {"sources": sources.entries, "kubelet": {"version": str(told.kubelet.version)}}


def _reservation(source: "MachineSource", told: ToldKubelet) -> "ReservationSummary | str":
    from cpuctl.engine.node_resources import node_capacity, node_reservations
    from cpuctl.engine.reservation_summary import summarize

    config = told.kubelet.config
    try:
        kept = node_reservations(source.info, config)
    except ValueError as error:
        return str(error)
    return summarize(source.info, config, kept, node_capacity(source.info))


def _checked(
    words: KubeletWords, source: "MachineSource", sources: Sources, cgroup_version: int, state: str
) -> Document:
    from cpuctl.cli.answers.config.check_answer import check_document, unloaded_document
    from cpuctl.cli.config.checks import check_told
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

    load = _load_known if state else load_kubelet
    try:
        told = load(words, sources, machine=source)
    except ConfigRefusedError as refused:
        known = sources.entries.get("kubeletVersion")
        version = {"kubelet": {"version": known["value"]}} if known else {}
        return unloaded_document(refused, {"sources": sources.entries} | version)
    told = told._replace(kubelet=told.kubelet._replace(cgroup_version=cgroup_version))
    outcome, lints = check_told(source, told)
    if not state:
        return check_document(told.loaded, outcome, lints, _head(told, sources))
    from cpuctl.cli.answers.checkpoint.verdict_answer import with_states
    from cpuctl.cli.checkpoint.inputs import Node, read_case
    from cpuctl.cli.checkpoint.words import CheckpointWords

    case = read_case(CheckpointWords(state=state), Node(source=source, told=told), sources)
    verdict = case.verdict()
    document = check_document(told.loaded, verdict.start, lints, _head(told, sources))
    return with_states(document, verdict, case.states)


def _load_known(words: KubeletWords, sources: Sources, *, machine: "MachineSource") -> ToldKubelet:
    from cpuctl.cli.sources.known_kubelet import load_known_kubelet

    return load_known_kubelet(words, sources, machine=machine)


def _is_clean(document: Document, *, strict: bool) -> bool:
    started = document["start"]["outcome"] == "Started"
    return started and not (strict and document["summary"]["warning"])


def _compared(
    words: KubeletWords,
    to_version: str,
    source: "MachineSource",
    sources: Sources,
    *,
    everything: bool,
) -> Document:
    from cpuctl.cli.answers.config.versions_answer import versions_document
    from cpuctl.cli.config.checks import compare_versions, next_version

    told = load_kubelet(words, sources, machine=source)
    target = next_version(to_version, told.kubelet.version)
    changes, starts = compare_versions(source, told, target)
    head = _head(told, sources) | {"from": str(told.kubelet.version), "to": str(target)}
    return versions_document(changes, starts, head, everything=everything)
