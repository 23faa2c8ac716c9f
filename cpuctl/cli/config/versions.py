"""``cpuctl config versions``: what another release of the kubelet changes for a configuration."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.config.check import CheckedStateOption
from cpuctl.cli.config.head import answer_head
from cpuctl.cli.notes import tell_sources
from cpuctl.cli.options import (
    ConfigDirOption,
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
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.inputs.machine import load_machine, with_memory
from cpuctl.inputs.pods import GivenPods, load_pods
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

if TYPE_CHECKING:
    from cpuctl.answers.config import ConfigVersions, VersionsHead
    from cpuctl.machine.sources import MachineSource

app = command_group()

HELP = """List what changes for this configuration between two releases of the kubelet.

Both kubelets start on the node's state files, or those of --state. With pods they decide on them, too: again
on those that run (--pods), as after a restart, then on those that come (-f, -T). Each difference is tried
alone, and marked where these files or pods show it.

Examples:

\b
  cpuctl config versions --to 1.37
  cpuctl config versions --from 1.34 --to 1.37 --kubelet-config kubelet.yaml
  cpuctl config versions --from 1.37 --to 1.36 --all -o json
  cpuctl config versions --from 1.33.4 --to 1.33.13 -T web=7/7,1Gi
  cpuctl config versions -m node7.tar.xz --pods running.json --to 1.32
"""

FromOption = Annotated[
    str, typer.Option("--from", metavar="VERSION", help="The release to come from; else the kubelet's.")
]
ToOption = Annotated[
    str, typer.Option("--to", metavar="VERSION", help="The release to go to; else the next minor.")
]
AllOption = Annotated[bool, typer.Option("--all", help="Also what this configuration cannot notice.")]


@app.command(name="versions", help=HELP)
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
    kubelet_config: KubeletConfigOption = None,
    config_dir: ConfigDirOption = None,
    kubelet_args: KubeletArgsOption = "",
    feature_gates: FeatureGatesOption = "",
    ignore_unknown_gates: IgnoreUnknownGatesOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """List what changes between two releases."""
    refuse_stdin_twice(machine, kubelet_config, *filename)
    style, sources = Style(output, color=not no_color, quiet=quiet, layout="config_versions"), Sources()
    words = KubeletInputs(
        config=kubelet_config,
        config_dir=config_dir,
        arguments=kubelet_args,
        version=from_version,
        version_option="--from",
        gates=feature_gates,
        ignores_unknown_gates=ignore_unknown_gates,
    )
    source = with_memory(load_machine(machine, sources), memory, sources)
    node = _Node(source, state, pods, load_pods(filename, template, sources, needed=False))
    document = _compared(words, to_version, node, sources, everything=everything)
    tell_sources(sources, style)
    emit(document, style)


class _Node(NamedTuple):
    """The machine, the words about state files and pods that run, and the pods that come."""

    source: "MachineSource"
    state: str
    running: str
    coming: "GivenPods"


def _compared(
    words: KubeletInputs, to_version: str, node: _Node, sources: Sources, *, everything: bool
) -> "ConfigVersions":
    from cpuctl.answering.config.versions_answer import versions_document
    from cpuctl.inputs.pods import load_running, rules_of_pods
    from cpuctl.kubelet.releases.recorded import Topic
    from cpuctl.operations.configuration import (
        Trial,
        compare_versions,
        effects_between,
        next_version,
        states_of_node,
    )

    loaded = load_kubelet(words, sources, machine=node.source)
    target = next_version(to_version, loaded.kubelet.version)
    states, unseen = states_of_node(node.source, loaded, sources, node.state)
    running = load_running(node.running, rules_of_pods(loaded.kubelet), sources)
    changes, starts, other = compare_versions(node.source, loaded, target, states)
    effects, trial = None, Trial(node.source, states, running, node.coming)
    if other is not None and not trial.is_empty:
        effects = effects_between(trial, (loaded.kubelet, other), changes, sources)
    sources.add_unrecorded(target.minor, (Topic.CONFIGURATION, *([Topic.STATE_FILES] if states else [])))
    head: VersionsHead = {
        **answer_head(loaded, sources),
        "from": str(loaded.kubelet.version),
        "to": str(target),
    }
    return versions_document(changes, starts, head, everything=everything, effects=effects, unseen=unseen)
