"""``cpuctl pods show``: what follows from pods' resources, and by which rule."""

from typing import TYPE_CHECKING

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_words
from cpuctl.cli.notes import tell_sources
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
from cpuctl.cli.output import Document, ListOutput, Style, emit
from cpuctl.cli.pods.options import MachineOrNoneOption, MemoryOption, UsageOption
from cpuctl.inputs.pods import load_pods, load_usage
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.operations.pod_view import NodeView, PodViewInputs, load_view

if TYPE_CHECKING:
    from cpuctl.answering.pods.facts_answer import CgroupView
    from cpuctl.answers.pods import ViewHead
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.pods.eviction_rank import Ranked
    from cpuctl.pods.model import Pod

app = command_group()

HELP = """Show what follows from pods' resources: defaults, QoS class, requests, cgroups, OOM scores.

Every value comes with its rule, and whether somebody wrote it, a default filled it in, or it was derived. For
every container: whether it is due exclusive CPUs, and if not, why, and the smallest change that would help.
LimitRanges and ResourceQuotas among the manifests have their say. wide adds what autoscalers and the downward
API read.

Examples:

\b
  cpuctl pods show -f pods.yaml
  cpuctl pods show -f shop/ -m node7.tar.xz -o wide
  kubectl get pods -A -o json | cpuctl pods show -f - --usage usage.yaml
  cpuctl pods show -T 'web=500m/1,1Gi' --kubelet-version 1.37 -o json

Exit codes: 0 shown, 2 usage, 4 unusable input.
"""


@app.command(name="show", help=HELP, cls=KubeletCommand)
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
    """Read pods and node, and show what follows."""
    kubelet = kubelet_words(context)
    refuse_stdin_twice(machine, kubelet.config, usage, *filename)
    style, sources = Style(output, color=not no_color, quiet=quiet, layout="pods_show"), Sources()
    found = load_pods(filename, template, sources, purpose="to look at")
    words = PodViewInputs(
        kubelet=kubelet,
        machine=machine,
        memory=memory,
        cgroup_version=cgroup_version,
        server_version=apiserver_version,
        server_gates=apiserver_feature_gates,
        runtime=oci_runtime,
    )
    view = load_view(words, sources)
    document = _shown(found, view, load_usage(usage, sources), sources)
    tell_sources(sources, style)
    emit(document, style)


def _shown(found: "GivenPods", view: NodeView, usage: dict[str, int] | None, sources: Sources) -> Document:
    from cpuctl.answering.pods.show_answer import Shown, show_document
    from cpuctl.engine.pod_facts import pod_facts
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.pods.stored import stored_pod

    node = view.node._replace(limit_ranges=found.limit_ranges)
    server = PodServer(node.rules.server, found.limit_ranges, found.quotas)
    server.count(stored_pod(pod, node.rules) for pod in found.pods if pod.phase)
    facts = [pod_facts(pod, node, server) for pod in found.pods]
    shown = Shown(
        pods=facts,
        limit_ranges=found.limit_ranges,
        quotas=list(zip(found.quotas, server.used, strict=True)),
        eviction=None if usage is None else _eviction([each.view for each in facts], usage, sources),
    )
    return show_document(shown, cgroup_view(view), view_head(view, sources))


def _eviction(pods: "list[Pod]", usage: dict[str, int], sources: Sources) -> "list[Ranked]":
    from cpuctl.pods.eviction_rank import eviction_order

    running = [pod for pod in pods if not pod.terminal]
    unknown = sorted(usage.keys() - {pod.full_name for pod in running})
    if unknown:
        sources.warnings.append(f"usage is given for pods that are not: {', '.join(unknown[:3])}")
    return eviction_order((pod, usage.get(pod.full_name)) for pod in running)


def cgroup_view(view: NodeView) -> "CgroupView":
    """Return how a node's cgroup values are written down."""
    from cpuctl.answering.pods.facts_answer import CgroupView
    from cpuctl.pods.cgroups.files import CgroupHost

    host = CgroupHost(systemd=view.systemd, memory_page=view.node.settings.memory_page)
    return CgroupView(version=view.node.cgroup_version, host=host, formula=view.formula)


def view_head(view: NodeView, sources: Sources) -> "ViewHead":
    """Return the members that answers begin with: origins of inputs, releases, what is known of the node."""
    from cpuctl.answering.config.show_answer import known_amount
    from cpuctl.quantity import Format, Quantity

    memory, allocatable = view.node.memory, view.node.allocatable
    return {
        "sources": sources.entries,
        "kubelet": {"version": str(view.kubelet.version)},
        "apiServer": {"version": view.server_version},
        "differences": [
            {
                "name": name,
                "since": f"1.{each.since}",
                "behaviour": each.after,
                "source": each.source,
                "standing": each.standing.value,
            }
            for name, each in view.differences.items()
        ],
        "cgroupVersion": view.node.cgroup_version,
        "node": {
            "memory": None if memory is None else known_amount(Quantity.from_value(memory, Format.BINARY_SI)),
            "allocatable": None
            if allocatable is None
            else {name: known_amount(each) for name, each in allocatable.items()},
        },
    }
