"""``cpuctl plan``: what a kubelet would decide about pods, and why."""

from typing import TYPE_CHECKING, Any

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.config_inputs import KubeletWords
from cpuctl.cli.inputs import Sources, load_kubelet, load_machine, load_pods, refuse_stdin_twice
from cpuctl.cli.options import (
    ConfigDirOption,
    ExitZeroOption,
    FeatureGatesOption,
    ForceOption,
    KubeletArgsOption,
    KubeletConfigOption,
    KubeletVersionOption,
    MachineOption,
    NoColorOption,
    OutputOption,
    PodFilesOption,
    QuietOption,
    RunningPodsOption,
    StateOption,
    TemplateOption,
    WriteStateOption,
)
from cpuctl.cli.output import Document, Output, Style, emit

if TYPE_CHECKING:
    from cpuctl.cli.node_state import Past
    from cpuctl.engine.start import Kubelet, StartResult
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.model import Pod

app = command_group()

HELP = """Dry-run pods: which CPUs each container would get, and why.

Pods are admitted one after the other, in the order given, on an empty node or, with --state, on the node
as its kubelet left it. Nothing is changed on the node.

Examples:

\b
  cpuctl plan -f pods.yaml        on this host, with its own configuration
  cpuctl plan -m node7.tar.xz --kubelet-config kubelet.yaml -f pods/
  kubectl get pods -A -o json | cpuctl plan -f -
  cpuctl plan -m node7.tar.xz -T 'web=4/4,2Gi x3' -o json
  cpuctl plan --state /var/lib/kubelet --pods running.json -f new.yaml

Exit codes: 0 every pod is admitted, 3 one is not or the kubelet would not start (with --exit-zero 0),
2 usage, 4 unusable input.
"""


@app.command(name="plan", help=HELP)
def plan(
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    machine: MachineOption = "live",
    kubelet_config: KubeletConfigOption = None,
    config_dir: ConfigDirOption = None,
    kubelet_args: KubeletArgsOption = "",
    kubelet_version: KubeletVersionOption = "",
    feature_gates: FeatureGatesOption = "",
    state: StateOption = "",
    pods: RunningPodsOption = "",
    write_state: WriteStateOption = "",
    force: ForceOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read, decide, answer."""
    from cpuctl.cli import node_state

    refuse_stdin_twice(kubelet_config, state, pods, *filename)
    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    wanted = load_pods(filename, template, sources, needed=not state)
    source = load_machine(machine, sources)
    words = KubeletWords(
        config=kubelet_config,
        config_dir=config_dir,
        arguments=kubelet_args,
        version=kubelet_version,
        gates=feature_gates,
    )
    kubelet = load_kubelet(words, sources, machine=source).kubelet
    node_state.check_write_state(write_state, kubelet.version)
    saved = node_state.load_state(state, source, sources)
    started = _start(source, kubelet, node_state.Past(saved, node_state.load_running(pods, sources)), sources)
    document = _decide(started, wanted, _head(kubelet, sources))
    sources.tell(style)
    node_state.write_state(write_state, started, force=force)
    emit(document, style)
    if not exit_zero and not _all_admitted(document):
        raise typer.Exit(EXIT_NO)


def _start(source: "MachineSource", kubelet: "Kubelet", past: "Past", sources: Sources) -> "StartResult":
    from cpuctl.cli.node_state import resume
    from cpuctl.engine.node import Node
    from cpuctl.engine.start import start_node

    started = start_node(source.info, kubelet, fit=True)
    refused = resume(started, past, sources) if isinstance(started, Node) else None
    return refused or started


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
