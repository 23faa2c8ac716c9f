"""``cpuctl pods diff``: the differences between two manifests, or for one manifest between two kubelets."""

from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    CgroupVersionOption,
    ExitCodeOption,
    FeatureGatesOption,
    KubeletConfigOption,
    KubeletVersionOption,
    NoColorOption,
    PodsOutputOption,
    QuietOption,
    RuntimeOption,
    ServerGatesOption,
    ServerVersionOption,
)
from cpuctl.cli.output import ListOutput, Style, emit
from cpuctl.cli.panels import INPUT
from cpuctl.cli.pods.options import MachineOrNoneOption, MemoryOption, ToGatesOption, ToVersionOption
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import KubeletInputs, ServerInputs
from cpuctl.inputs.kubelet import read_gates
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.pods import load_pods
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.operations.pod_view import PodViewInputs, view_on
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answering.pods.diff_answer import Side
    from cpuctl.answers.pods import ComparedSide
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.machine.sources import MachineSource

app = command_group()

HELP = """Compare two manifests, or one manifest on two kubelets.

Compares admission, QoS class, defaults, the scheduler's totals, cgroup files, OOM scores, exclusive CPUs and
what autoscalers read. Pods are matched by name. On each side, the API server has the kubelet's version unless
--apiserver-version sets one for both.

Examples:

\b
  cpuctl pods diff old.yaml new.yaml
  cpuctl pods diff pods.yaml --kubelet-version 1.36 --to 1.37
  cpuctl pods diff shop/ --to-feature-gates MemoryQoS=true --exit-code

Exit codes: 0 compared, 3 anything differs (with --exit-code), 2 usage, 4 unusable input.
"""

OldArgument = Annotated[str, typer.Argument(metavar="[OLD]", help="Manifests: a file, a directory, or -.")]
NewArgument = Annotated[
    str, typer.Argument(metavar="[NEW]", help="The manifests to compare with OLD. Default: OLD itself.")
]
SidesOption = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--filename",
        metavar="PODS",
        help="Same as OLD; given a second time, same as NEW.",
        rich_help_panel=INPUT,
    ),
]


@app.command(name="diff", help=HELP)
def diff(
    old: OldArgument = "",
    new: NewArgument = "",
    filename: SidesOption = [],  # noqa: B006  # typer copies it
    machine: MachineOrNoneOption = "",
    memory: MemoryOption = "",
    kubelet_config: KubeletConfigOption = None,
    kubelet_version: KubeletVersionOption = "",
    to_kubelet_version: ToVersionOption = "",
    feature_gates: FeatureGatesOption = "",
    to_feature_gates: ToGatesOption = "",
    apiserver_version: ServerVersionOption = "",
    apiserver_feature_gates: ServerGatesOption = "",
    cgroup_version: CgroupVersionOption = "",
    oci_runtime: RuntimeOption = "",
    exit_code: ExitCodeOption = False,
    output: PodsOutputOption = ListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read both sides and compare them.

    Raise UsageError if nothing defines the other side.
    """
    from cpuctl.answering.pods.diff_answer import diff_document

    old, new = _sides([each for each in (old, new) if each], filename)
    refuse_stdin_twice(machine, kubelet_config, old, new)
    if not (new or to_kubelet_version or to_feature_gates):
        hint = "add a second manifest, or another kubelet with --to or --to-feature-gates"
        raise UsageError("found nothing to compare with", hint=hint)
    read_gates(to_feature_gates, option_names.TO_FEATURE_GATES)
    style = Style(output, color=not no_color, quiet=quiet, layout="pods_diff")
    inputs = PodViewInputs(
        kubelet=KubeletInputs(config=kubelet_config, version=kubelet_version, gates=feature_gates),
        machine=machine,
        memory=memory,
        cgroup_version=cgroup_version,
        server=ServerInputs(apiserver_version, apiserver_feature_gates),
        runtime=oci_runtime,
    )
    sources, other_sources = Sources(), Sources()
    found = load_pods([old], [], sources, purpose="to compare")
    source = load_machine(machine, sources) if machine else None
    before = _side(found, inputs, source, old, sources)
    kubelet = replace(
        inputs.kubelet,
        version=to_kubelet_version or kubelet_version,
        version_option=option_names.TO if to_kubelet_version else option_names.KUBELET_VERSION,
        gates=",".join(filter(None, (feature_gates, to_feature_gates))),
    )
    others = load_pods([new], [], other_sources, purpose="to compare") if new else found
    after = _side(others, inputs._replace(kubelet=kubelet), source, new or old, other_sources)
    document = diff_document(before, after, sources.entries)
    sources.warnings = list(dict.fromkeys((*sources.warnings, *other_sources.warnings)))
    print_sources(sources, style)
    emit(document, style)
    if exit_code and document["summary"]["same"] != len(document["pods"]):
        raise typer.Exit(EXIT_NO)


def _sides(arguments: list[str], options: list[str]) -> tuple[str, str]:
    """Return the names of both sides; raise UsageError for none, for too many, and for conflicting ones."""
    named = arguments or list(options)
    if arguments and options and arguments != list(options):
        raise UsageError(
            f"conflicts with the arguments {' '.join(arguments)}",
            where=" ".join(f"-f {each}" for each in options),
            hint="use arguments for OLD and NEW, or -f for both",
        )
    if not 1 <= len(named) <= 2:
        raise UsageError("expected one or two manifests", hint="cpuctl pods diff old.yaml new.yaml")
    return named[0], named[1] if len(named) > 1 else ""


def _side(
    found: "GivenPods", inputs: PodViewInputs, machine: "MachineSource | None", name: str, sources: Sources
) -> "Side":
    from cpuctl.answering.pods.diff_answer import Side
    from cpuctl.answering.pods.show_answer import cgroup_view
    from cpuctl.documents.files import source_name
    from cpuctl.engine.pod_facts import pod_facts

    view = view_on(machine, inputs, sources)
    found = found if machine is None else found.on(machine.machine)
    node = view.node._replace(limit_ranges=found.limit_ranges)
    header: ComparedSide = {
        "pods": source_name(name),
        "kubelet": {"version": str(view.kubelet.version)},
        "apiServer": {"version": view.server_version},
        "featureGates": dict(
            sorted({**view.kubelet.config.feature_gates, **view.kubelet.gate_flags}.items())
        ),
    }
    return Side(header=header, pods=[pod_facts(pod, node) for pod in found.pods], view=cgroup_view(view))
