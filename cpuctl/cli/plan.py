"""``cpuctl plan``: what a kubelet would decide about pods, and why."""

from typing import TYPE_CHECKING, Any

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.inputs import Sources, load_kubelet, load_machine, load_pods
from cpuctl.cli.options import (
    ExitZeroOption,
    FeatureGatesOption,
    KubeletConfigOption,
    KubeletVersionOption,
    MachineOption,
    NoColorOption,
    OutputOption,
    PodFilesOption,
    QuietOption,
    TemplateOption,
)
from cpuctl.cli.output import Document, Output, Style, emit

if TYPE_CHECKING:
    from cpuctl.engine.start import Kubelet, StartResult
    from cpuctl.pods.model import Pod

app = command_group()

HELP = """Dry-run pods: which CPUs each container would get, and why.

Pods are admitted one after the other, in the order given, on a node that holds none yet. Nothing is
changed anywhere.

Examples:

\b
  cpuctl plan -f pods.yaml                  on this host, with its configuration
  cpuctl plan -m node7.tar.xz --kubelet-config kubelet.yaml -f pods/
  kubectl get pods -A -o json | cpuctl plan -f -
  cpuctl plan -m node7.tar.xz -T 'web=4/4,2Gi x3' -o json

Exit codes: 0 every pod is admitted, 3 one is not or the kubelet would not start (with --exit-zero 0),
2 usage, 4 unusable input.
"""


@app.command(name="plan", help=HELP)
def plan(
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    machine: MachineOption = "live",
    kubelet_config: KubeletConfigOption = "",
    kubelet_version: KubeletVersionOption = "",
    feature_gates: FeatureGatesOption = "",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read, decide, answer."""
    from cpuctl.engine.start import start_node

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    pods = load_pods(filename, template, sources)
    source = load_machine(machine, sources)
    kubelet = load_kubelet(kubelet_config, kubelet_version, feature_gates, sources, live=machine == "live")
    sources.tell(style)
    document = _decide(start_node(source.info, kubelet), pods, _head(kubelet, sources))
    emit(document, style)
    if not exit_zero and not _all_admitted(document):
        raise typer.Exit(EXIT_NO)


def _head(kubelet: "Kubelet", sources: Sources) -> dict[str, Any]:
    return {
        "sources": sources.entries,
        "kubelet": {
            "version": str(kubelet.version),
            "cpuManagerPolicy": kubelet.config.cpu_manager_policy,
            "cpuManagerPolicyOptions": dict(kubelet.config.cpu_manager_policy_options),
            "topologyManagerPolicy": kubelet.config.topology_manager_policy,
            "memoryManagerPolicy": kubelet.config.memory_manager_policy,
        },
    }


def _decide(started: "StartResult", pods: "tuple[Pod, ...]", head: dict[str, Any]) -> Document:
    from cpuctl.cli.answers.plan_answer import not_started_document, plan_document
    from cpuctl.engine.node import Node

    if not isinstance(started, Node):
        return not_started_document(started, head)
    return plan_document(started, [started.admit(pod) for pod in pods], head)


def _all_admitted(document: Document) -> bool:
    started = document["start"]["outcome"] == "Started"
    return started and all(pod["outcome"] == "Admitted" for pod in document["pods"])
