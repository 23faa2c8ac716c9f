"""The words for inputs and outputs that mean the same on every command."""

from typing import Annotated

import typer

from cpuctl.cli.output import ListOutput, Output
from cpuctl.cli.panels import INPUT, KUBELET, OUTPUT
from cpuctl.inputs import option_names
from cpuctl.kubelet.version import RELEASES

PolicyOption = Annotated[
    str,
    typer.Option(
        option_names.POLICY,
        metavar="POLICY",
        help="What if: a policy (a plug-in) chooses CPUs in the kubelet's place. NAME (cpuctl policies list "
        "has them) or FILE.py:CLASS, and ,OPTION=VALUE for each of its options.",
    ),
]
MachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The machine: live, a directory that holds sys/, a .tar[.gz|.bz2|.xz|.zst] of one, a sosreport, "
        "a must-gather (PATH#NODE), synthetic:... (its forms: cpuctl topology synthetic -h), or what lscpu "
        "-e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.",
        rich_help_panel=INPUT,
    ),
]
KubeletConfigOption = Annotated[
    str | None,
    typer.Option(
        option_names.KUBELET_CONFIG,
        metavar="FILE",
        help="The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the "
        "running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.",
        rich_help_panel=KUBELET,
    ),
]
ConfigDirOption = Annotated[
    str | None,
    typer.Option(
        option_names.CONFIG_DIR,
        metavar="DIR",
        help="The kubelet's drop-in directory, as its flag of that name.",
        rich_help_panel=KUBELET,
    ),
]
KubeletArgsOption = Annotated[
    str,
    typer.Option(
        option_names.KUBELET_ARGS,
        metavar="'--FLAG=VALUE ...'",
        help="The kubelet's command line, or @FILE that holds it: its flags win over files.",
        rich_help_panel=KUBELET,
    ),
]
KubeletVersionOption = Annotated[
    str,
    typer.Option(
        option_names.KUBELET_VERSION,
        metavar="VERSION",
        help=f"The kubelet's release, {RELEASES}: a minor, or with its patch (1.33.4), or @FILE with its "
        "Node (kubectl get node -o json).",
        rich_help_panel=KUBELET,
    ),
]
IgnoreUnknownGatesOption = Annotated[
    bool,
    typer.Option(
        option_names.IGNORE_UNKNOWN_GATES,
        help="Pass over gates that Kubernetes does not know, as OpenShift's kubelet does.",
        rich_help_panel=KUBELET,
    ),
]
FeatureGatesOption = Annotated[
    str,
    typer.Option(
        option_names.FEATURE_GATES,
        metavar="A=true,B=false",
        help="Gates on top of the configuration's.",
        rich_help_panel=KUBELET,
    ),
]
CgroupVersionOption = Annotated[
    str,
    typer.Option(
        option_names.CGROUP_VERSION,
        metavar="1|2",
        help="The host's cgroup version; else the machine's own, or 2.",
        rich_help_panel=INPUT,
    ),
]
EphemeralStorageOption = Annotated[
    str,
    typer.Option(
        option_names.STORAGE,
        metavar="QUANTITY",
        help="The size of the kubelet's file system; default: the live host's, else storage is ignored.",
        rich_help_panel=INPUT,
    ),
]
MemoryOption = Annotated[
    str,
    typer.Option(
        option_names.MEMORY,
        metavar="AMOUNT",
        help="The memory of a machine that was recorded without it.",
        rich_help_panel=INPUT,
    ),
]
PodFilesOption = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--filename",
        metavar="PODS",
        help="Manifests: files, directories, or - for stdin.",
        rich_help_panel=INPUT,
    ),
]
TemplateOption = Annotated[
    list[str],
    typer.Option(
        "-T",
        "--template",
        metavar="NAME[=CPU[,MEM]]",
        help="A pod without YAML: 'web=4/4,2Gi x3' are three of requests/limits, one amount stands for both; "
        "web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.",
        rich_help_panel=INPUT,
    ),
]
StateOption = Annotated[
    str,
    typer.Option(
        option_names.STATE,
        metavar="DIR|FILE",
        help="Start from a state file of the kubelet, cpu_manager_state or memory_manager_state, or from the "
        "directory that holds both.",
        rich_help_panel=INPUT,
    ),
]
RunningPodsOption = Annotated[
    str,
    typer.Option(
        option_names.PODS,
        metavar="FILE",
        help="The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.",
        rich_help_panel=INPUT,
    ),
]
PodResourcesOption = Annotated[
    str,
    typer.Option(
        option_names.POD_RESOURCES,
        metavar="[SOCKET]",
        help="Ask the kubelet at its pod resources socket, or read a file of its answers (List, "
        "GetAllocatableResources) as JSON. Alone, or with 'live': the socket in the kubelet's directory.",
        rich_help_panel=INPUT,
    ),
]
DevicesOption = Annotated[
    str,
    typer.Option(
        option_names.DEVICES,
        metavar="FILE",
        help="The devices of device plugins: free and healthy ones by resource and NUMA node (schema: cpuctl "
        "schema devices), or what the pod resources API answers to GetAllocatableResources and List.",
        rich_help_panel=INPUT,
    ),
]
AssumeDevicesOption = Annotated[
    bool,
    typer.Option(
        option_names.ASSUME_DEVICES,
        help="Take for granted that every NUMA node has enough of the devices that pods ask for and "
        "--devices does not tell of.",
        rich_help_panel=INPUT,
    ),
]
DriverArgsOption = Annotated[
    str,
    typer.Option(
        option_names.DRIVER_ARGS,
        metavar="FLAGS",
        help="The flags of the driver dra.cpu, for pods with resource claims: '--cpu-device-mode individual "
        "--reserved-cpus 0,32'. Without it, CPUs are grouped by NUMA node, and none is reserved.",
        rich_help_panel=INPUT,
    ),
]
IncludeCompletedOption = Annotated[
    bool,
    typer.Option(
        option_names.INCLUDE_COMPLETED,
        help="Take pods that have ended (Succeeded, Failed) for new ones.",
        rich_help_panel=INPUT,
    ),
]
SkipApiServerOption = Annotated[
    bool,
    typer.Option(
        option_names.SKIP_API_SERVER,
        help="Ask the kubelet also about pods that no API server would store.",
        rich_help_panel=INPUT,
    ),
]
WriteStateOption = Annotated[
    str,
    typer.Option(
        "--write-state",
        metavar="DIR",
        help="Write the state files that the kubelet would have afterwards.",
        rich_help_panel=OUTPUT,
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace files that exist.", rich_help_panel=OUTPUT)
]
ForceStateOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace files that exist; what state files hold is kept as a backup.",
        rich_help_panel=OUTPUT,
    ),
]
OutputOption = Annotated[
    Output, typer.Option("-o", "--output", help="Output format.", rich_help_panel=OUTPUT)
]
NoColorOption = Annotated[
    bool, typer.Option("--no-color", help="No colour, as with NO_COLOR set.", rich_help_panel=OUTPUT)
]
QuietOption = Annotated[
    bool, typer.Option("-q", "--quiet", help="Only the answer: no notes on stderr.", rich_help_panel=OUTPUT)
]
ExitZeroOption = Annotated[
    bool, typer.Option("--exit-zero", help="Exit 0 also when the answer is no.", rich_help_panel=OUTPUT)
]
ServerVersionOption = Annotated[
    str,
    typer.Option(
        option_names.API_SERVER_VERSION,
        metavar="VERSION",
        help="The API server's minor; else the kubelet's.",
        rich_help_panel=KUBELET,
    ),
]
ServerGatesOption = Annotated[
    str,
    typer.Option(
        option_names.API_SERVER_GATES,
        metavar="A=true,B=false",
        help="The API server's; else the kubelet's.",
        rich_help_panel=KUBELET,
    ),
]
RuntimeOption = Annotated[
    str,
    typer.Option(
        option_names.OCI_RUNTIME,
        metavar="NAME-VERSION",
        help="runc-1.2.6, crun-1.23, ...: the weights of containers depend on it.",
        rich_help_panel=INPUT,
    ),
]
ExitCodeOption = Annotated[
    bool, typer.Option("--exit-code", help="Exit 3 where something differs.", rich_help_panel=OUTPUT)
]
PodsOutputOption = Annotated[
    ListOutput,
    typer.Option("-o", "--output", help="Output format; jsonl is one pod a line.", rich_help_panel=OUTPUT),
]
NodeMachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The node: live, a directory that holds sys/, a recording.",
        rich_help_panel=INPUT,
    ),
]
RootOption = Annotated[
    str,
    typer.Option(
        option_names.ROOT,
        metavar="DIR",
        help="The node whose file system is mounted at DIR, not this one.",
        rich_help_panel=INPUT,
    ),
]
NodeStateOption = Annotated[
    str,
    typer.Option(
        option_names.STATE,
        metavar="DIR|FILE",
        help="The kubelet's state files; else those of the node itself.",
        rich_help_panel=INPUT,
    ),
]
