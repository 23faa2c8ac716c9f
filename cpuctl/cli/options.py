"""The words for inputs and outputs that mean the same on every command."""

from typing import Annotated

import typer

from cpuctl.cli.output import Output

MachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The machine: live, a directory that holds sys/, a .tar[.gz|.xz|.zst] of one, synthetic:..., "
        "or cAdvisor machine information (JSON).",
    ),
]
KubeletConfigOption = Annotated[
    str | None,
    typer.Option(
        "--kubelet-config",
        metavar="FILE",
        help="The KubeletConfiguration; without it the recording's own, or with -m live "
        "/var/lib/kubelet/config.yaml.",
    ),
]
ConfigDirOption = Annotated[
    str | None,
    typer.Option(
        "--config-dir", metavar="DIR", help="The kubelet's drop-in directory, as its flag of that name."
    ),
]
KubeletArgsOption = Annotated[
    str,
    typer.Option(
        "--kubelet-args",
        metavar="'--FLAG=VALUE ...'",
        help="The kubelet's command line: its flags win over files.",
    ),
]
KubeletVersionOption = Annotated[
    str, typer.Option("--kubelet-version", metavar="VERSION", help="The kubelet's minor, 1.27 to 1.38.")
]
FeatureGatesOption = Annotated[
    str,
    typer.Option("--feature-gates", metavar="A=true,B=false", help="Gates on top of the configuration's."),
]
PodFilesOption = Annotated[
    list[str],
    typer.Option("-f", "--filename", metavar="PODS", help="Manifests: files, directories, or - for stdin."),
]
TemplateOption = Annotated[
    list[str],
    typer.Option(
        "-T", "--template", metavar="NAME=CPU[,MEM]", help="A pod without YAML, e.g. 'web=4/4,2Gi x3'."
    ),
]
StateOption = Annotated[
    str,
    typer.Option(
        "--state",
        metavar="DIR|FILE",
        help="Start from the kubelet's state file: cpu_manager_state, or the directory that holds it.",
    ),
]
RunningPodsOption = Annotated[
    str,
    typer.Option(
        "--pods",
        metavar="FILE",
        help="The pods that run on the node, as kubectl get pods -o json prints them.",
    ),
]
WriteStateOption = Annotated[
    str,
    typer.Option(
        "--write-state", metavar="DIR", help="Write the state files that the kubelet would have afterwards."
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
OutputOption = Annotated[Output, typer.Option("-o", "--output", help="The form of the answer.")]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="No colour, as with NO_COLOR set.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Only the answer: no notes on stderr.")]
ExitZeroOption = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 also when the answer is no.")]
