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
    str,
    typer.Option(
        "--kubelet-config",
        metavar="FILE",
        help="The KubeletConfiguration; with -m live, /var/lib/kubelet/config.yaml when it is there.",
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
OutputOption = Annotated[Output, typer.Option("-o", "--output", help="The form of the answer.")]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="No colour, as with NO_COLOR set.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Only the answer: no notes on stderr.")]
ExitZeroOption = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 also when the answer is no.")]
