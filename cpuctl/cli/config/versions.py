"""``cpuctl config versions``: what another release of the kubelet changes for a configuration."""

import re
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.config.check import CheckedStateOption
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    AssumeDevicesOption,
    ConfigDirOption,
    DevicesOption,
    ExitZeroOption,
    FeatureGatesOption,
    IgnoreUnknownGatesOption,
    KubeletArgsOption,
    KubeletConfigOption,
    MachineOption,
    MemoryOption,
    NoColorOption,
    OutputOption,
    PodFilesOption,
    QuietOption,
    RunningPodsOption,
    TemplateOption,
)
from cpuctl.cli.output import Output, Style, emit
from cpuctl.cli.subjects import Subject, about
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.machine import load_machine, with_memory
from cpuctl.inputs.pods import load_pods
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

app = command_group()

_VERSION = re.compile(r"v?1\.[0-9]+(\.[0-9]+)?")

HELP = """Check an upgrade: what changes for this configuration.

Simulates the start of both kubelets with the node's state files (or --state). If pods are given, both
kubelets admit or reject them: running pods (--pods) again, as after a restart, then new ones (-f, -T). Each
difference that can be simulated alone is marked if it affects these files or pods.

Next, check the state files, the pods that would move, and all recorded nodes:

\b
  sudo cpuctl checkpoint verify --kubelet-version 1.37
  sudo cpuctl plan -f pods.yaml --compare 1.36 1.37
  cpuctl fleet check nodes/ --kubelet-version 1.37

Examples:

\b
  sudo cpuctl config versions --to 1.37
  cpuctl config versions --from 1.34 --to 1.37 --kubelet-config kubelet.yaml
  cpuctl config versions --from 1.37 --to 1.36 --all -o json
  sudo cpuctl config versions --from 1.33.4 --to 1.33.13 -T web=7/7,1Gi
  cpuctl config versions -m node7.tar.xz --pods running.json --to 1.32

Exit codes: 0 the new kubelet would start and admit every pod that the old one admits, 3 it would not, this
cannot be determined, or the old kubelet cannot decode the configuration (with --exit-zero 0), 2 usage, 4
unusable input.
"""

FromOption = Annotated[
    str,
    typer.Option(
        "--from", metavar="VERSION", help="The kubelet version to upgrade from. Default: the node's."
    ),
]
ToOption = Annotated[
    str,
    typer.Option(
        option_names.TO,
        metavar="VERSION",
        help="The kubelet version to upgrade to. Default: the next minor version.",
    ),
]
AllOption = Annotated[
    bool, typer.Option("--all", help="Also show changes that do not affect this configuration.")
]


@app.command(name="versions", help=HELP, cls=about(Subject.MACHINE))
def versions(
    from_version: FromOption = "",
    to_version: ToOption = "",
    everything: AllOption = False,
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    machine: MachineOption = "live",
    memory: MemoryOption = "",
    state: CheckedStateOption = "",
    pods: RunningPodsOption = "",
    devices: DevicesOption = "",
    assume_devices: AssumeDevicesOption = False,
    kubelet_config: KubeletConfigOption = None,
    config_dir: ConfigDirOption = None,
    kubelet_args: KubeletArgsOption = None,
    feature_gates: FeatureGatesOption = "",
    ignore_unknown_gates: IgnoreUnknownGatesOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """List what changes between two releases."""
    refuse_stdin_twice(machine, kubelet_config, devices, *filename)
    from cpuctl.answering.config.parts import answer_header
    from cpuctl.answering.config.versions_answer import uncompared_document, versions_document
    from cpuctl.operations.command_lines import pods_diff_command
    from cpuctl.operations.configuration import Uncompared, VersionsInputs, compare_on
    from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs

    style, sources = Style(output, color=not no_color, quiet=quiet, layout="config_versions"), Sources()
    kubelet = KubeletInputs(
        config=kubelet_config,
        config_dir=config_dir,
        arguments=kubelet_args,
        version=from_version,
        version_option="--from",
        gates=feature_gates,
        ignores_unknown_gates=ignore_unknown_gates,
    )

    asked = PlanningInputs(machine=machine, kubelet=kubelet, state=state, pods=pods, memory=memory)
    if _VERSION.fullmatch(machine) and not Path(machine).exists():
        raise UsageError(f"unexpected argument: {machine}", hint=f"use --to {machine}")
    source = with_memory(load_machine(machine, sources), memory, sources)
    incoming = load_pods(filename, template, sources, needed=False)
    inputs = VersionsInputs(kubelet, to_version, state, pods, incoming, NodeOptions(devices, assume_devices))
    comparison = compare_on(source, inputs, sources)
    if isinstance(comparison, Uncompared):
        print_sources(sources, style)
        emit(uncompared_document(comparison, sources, asked), style)
        raise typer.Exit(0 if exit_zero else EXIT_NO)
    header, files = answer_header(comparison.loaded, sources), tuple(filter(None, (*filename, pods)))
    diff_of = partial(pods_diff_command, () if template else files, machine, kubelet, memory)
    document = versions_document(comparison, header, asked, diff_of, everything=everything)
    print_sources(sources, style)
    emit(document, style)
    if not exit_zero and not comparison.can_change:
        raise typer.Exit(EXIT_NO)
