"""``cpuctl pods lint``: why an API server or a kubelet would reject manifests, before they see them."""

from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    CgroupVersionOption,
    ExitZeroOption,
    NoColorOption,
    PodFilesOption,
    QuietOption,
    ServerGatesOption,
    ServerVersionOption,
    StrictOption,
)
from cpuctl.cli.output import ListOutput, Style, emit
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.cli.subjects import Subject, about
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import ServerInputs
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.operations.pod_lint import LintInputs

if TYPE_CHECKING:
    from cpuctl.answers.pods import LintSummary

app = command_group()

HELP = """Check, before kubectl apply, whether the cluster would reject pods.

Checks everything about resources in Pods, Lists, workloads and custom resources with a pod template: names,
quantities, requests and limits, huge pages, claims, overhead, pod-level resources. All problems are reported
at once, in the words of the component that rejects the pod, with file, line and column. Errors mean that the
pod is rejected, warnings that it does not do what it seems to; notes are informational. With a machine (-m),
also checks whether its kubelet admits each pod, alone on the empty node.

LimitRanges, ResourceQuotas and RuntimeClasses in the manifests apply; pods are created in the order given.

To check manifests in an editor, see cpuctl schema --help.

Examples:

\b
  cpuctl pods lint -f pods.yaml && kubectl apply -f pods.yaml
  cpuctl pods lint -f shop/ --apiserver-version 1.37 --kubelet-version 1.34
  helm template shop | cpuctl pods lint -f - -m node7.tar.xz --strict
  cpuctl pods lint -f /etc/kubernetes/manifests --static -o jsonl

Exit codes: 0 no pod is rejected, 3 one is (with --strict also for warnings; with --exit-zero 0), 2 usage, 4
unusable input.
"""

MachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="Also check admission on this machine, as for other commands. Default: none.",
        rich_help_panel=INPUT,
    ),
]
StaticOption = Annotated[
    bool,
    typer.Option(
        "--static", help="Check static pods: manifests that the kubelet reads from files, by its own rules."
    ),
]
OutputOption = Annotated[
    ListOutput,
    typer.Option(
        "-o", "--output", help="Output format; jsonl is one finding per line.", rich_help_panel=OUTPUT
    ),
]


@app.command(name="lint", help=HELP, cls=about(Subject.PODS, KubeletCommand))
def lint(
    context: typer.Context,
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    machine: MachineOption = "",
    apiserver_version: ServerVersionOption = "",
    apiserver_feature_gates: ServerGatesOption = "",
    cgroup_version: CgroupVersionOption = "",
    static: StaticOption = False,
    strict: StrictOption = False,
    output: OutputOption = ListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read rules and manifests, and report what is wrong."""
    from cpuctl.answering.pods.lint_answer import lint_document
    from cpuctl.cli.progress import ProgressBar
    from cpuctl.operations.pod_lint import lint_manifests

    kubelet = kubelet_inputs(context)
    refuse_stdin_twice(machine, kubelet.config, *filename)
    if not filename:
        raise UsageError("found no manifests to check", hint="add manifests with -f PODS, or -f - for stdin")
    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    inputs = LintInputs(
        kubelet=kubelet,
        machine=machine,
        server=ServerInputs(apiserver_version, apiserver_feature_gates),
        cgroup_version=cgroup_version,
        static=static,
    )
    with ProgressBar(style) as progress:
        run = lint_manifests(filename, inputs, sources, progress)
    document = lint_document(run, sources.entries)
    print_sources(sources, style)
    emit(document, style)
    if not exit_zero and _is_rejected(document["summary"], strict=strict):
        raise typer.Exit(EXIT_NO)


def _is_rejected(summary: "LintSummary", *, strict: bool) -> bool:
    return bool(summary["error"] or (strict and summary["warning"]))
