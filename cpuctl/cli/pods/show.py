"""``cpuctl pods show``: the effects of pods' resources, and by which rule."""

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    CgroupVersionOption,
    NoColorOption,
    PodFilesOption,
    PodsOutputOption,
    QuietOption,
    RuntimeOption,
    ServerGatesOption,
    ServerVersionOption,
    TemplateOption,
)
from cpuctl.cli.output import ListOutput, Style, emit
from cpuctl.cli.pods.options import MachineOrNoneOption, MemoryOption, UsageOption
from cpuctl.cli.subjects import Subject, about
from cpuctl.inputs.configuration import ServerInputs
from cpuctl.inputs.pods import load_pods, load_usage
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.operations.pod_view import PodViewInputs, load_view, show_pods

app = command_group()

HELP = """Show the effects of pods' resources: QoS class, totals, cgroups.

Every value is shown with its rule and its origin: written, defaulted or derived. For each container, shows
whether it gets exclusive CPUs if the kubelet admits the pod (cpuctl plan shows that) and, if not, why, and
the smallest change that would help. LimitRanges, ResourceQuotas and RuntimeClasses in the manifests apply.
-o wide adds what autoscalers and the downward API read.

Examples:

\b
  cpuctl pods show -f pods.yaml
  cpuctl pods show -f shop/ -m node7.tar.xz -o wide
  kubectl get pods -A -o json | cpuctl pods show -f - --usage usage.yaml
  cpuctl pods show -T 'web=500m/1,1Gi' --kubelet-version 1.37 -o json

Exit codes: 0 shown, 2 usage, 4 unusable input.
"""


@app.command(name="show", help=HELP, cls=about(Subject.PODS, KubeletCommand))
def show(
    context: typer.Context,
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    machine: MachineOrNoneOption = "",
    memory: MemoryOption = "",
    apiserver_version: ServerVersionOption = "",
    apiserver_feature_gates: ServerGatesOption = "",
    cgroup_version: CgroupVersionOption = "",
    oci_runtime: RuntimeOption = "",
    usage: UsageOption = "",
    output: PodsOutputOption = ListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read the pods and the node, and show what follows."""
    from cpuctl.answering.pods.show_answer import cgroup_view, show_document, view_header

    kubelet = kubelet_inputs(context)
    refuse_stdin_twice(machine, kubelet.config, usage, *filename)
    style, sources = Style(output, color=not no_color, quiet=quiet, layout="pods_show"), Sources()
    found = load_pods(filename, template, sources, purpose="to show")
    inputs = PodViewInputs(
        kubelet=kubelet,
        machine=machine,
        memory=memory,
        cgroup_version=cgroup_version,
        server=ServerInputs(apiserver_version, apiserver_feature_gates),
        runtime=oci_runtime,
    )
    view = load_view(inputs, sources)
    shown = show_pods(found, view, load_usage(usage, sources), sources)
    document = show_document(shown, cgroup_view(view), view_header(view, sources))
    print_sources(sources, style)
    emit(document, style)
