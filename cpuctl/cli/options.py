"""The options for inputs and outputs that mean the same in every command."""

from typing import Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.output import ListOutput, Output
from cpuctl.cli.panels import INPUT, KUBELET, OUTPUT
from cpuctl.kubelet.version import RELEASES

PolicyOption = Annotated[
    str,
    typer.Option(
        option_names.POLICY,
        metavar="POLICY",
        help="What if: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies "
        "list) or FILE.py:CLASS, with ,OPTION=VALUE for its options.",
    ),
]
MachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a "
        "sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the "
        "output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.",
        rich_help_panel=INPUT,
    ),
]
KubeletConfigOption = Annotated[
    str | None,
    typer.Option(
        option_names.KUBELET_CONFIG,
        metavar="FILE",
        help="KubeletConfiguration file. Default: the recorded kubelet's; with -m live, the running "
        "kubelet's, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.",
        rich_help_panel=KUBELET,
    ),
]
ConfigDirOption = Annotated[
    str | None,
    typer.Option(
        option_names.CONFIG_DIR,
        metavar="DIR",
        help="The kubelet's drop-in directory (its flag --config-dir).",
        rich_help_panel=KUBELET,
    ),
]
KubeletArgsOption = Annotated[
    str | None,
    typer.Option(
        option_names.KUBELET_ARGS,
        metavar="'--FLAG=VALUE ...'",
        help="The kubelet's flags, or @FILE with its command line; flags override files.",
        rich_help_panel=KUBELET,
    ),
]
KubeletVersionOption = Annotated[
    str,
    typer.Option(
        option_names.KUBELET_VERSION,
        metavar="VERSION",
        help=f"The kubelet's version, {RELEASES}: a minor or a patch (1.33.4), or @FILE with its Node "
        "(kubectl get node -o json).",
        rich_help_panel=KUBELET,
    ),
]
IgnoreUnknownGatesOption = Annotated[
    bool,
    typer.Option(
        option_names.IGNORE_UNKNOWN_GATES,
        help="Ignore feature gates that Kubernetes does not know, as OpenShift's kubelet does.",
        rich_help_panel=KUBELET,
    ),
]
FeatureGatesOption = Annotated[
    str,
    typer.Option(
        option_names.FEATURE_GATES,
        metavar="A=true,B=false",
        help="Feature gates in addition to those of the configuration.",
        rich_help_panel=KUBELET,
    ),
]
CgroupVersionOption = Annotated[
    str,
    typer.Option(
        option_names.CGROUP_VERSION,
        metavar="1|2",
        help="The host's cgroup version. Default: the machine's, or 2.",
        rich_help_panel=INPUT,
    ),
]
EphemeralStorageOption = Annotated[
    str,
    typer.Option(
        option_names.STORAGE,
        metavar="QUANTITY",
        help="Size of the kubelet's file system. Default: the live host's; otherwise storage is ignored.",
        rich_help_panel=INPUT,
    ),
]
MemoryOption = Annotated[
    str,
    typer.Option(
        option_names.MEMORY,
        metavar="QUANTITY",
        help="Memory of a machine that was recorded without it.",
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
        help="A pod without YAML, NAME=REQUEST/LIMIT: 'web=4/4,2Gi x3' is three pods; a single value sets "
        "both. web=4/4 (no memory), web=1/2 (request below limit) and web=1/ (no limit) are Burstable, "
        "web alone is BestEffort. These pods come after those of -f.",
        rich_help_panel=INPUT,
    ),
]
StateOption = Annotated[
    str,
    typer.Option(
        option_names.STATE,
        metavar="STATE",
        help="The kubelet's state files to start from: cpu_manager_state, memory_manager_state, the "
        "directory with both, or none for an empty node. Default: the node's own, from the recording or, on "
        "the node itself, the kubelet's root directory; none with --kubelet-config, or if there are none.",
        rich_help_panel=INPUT,
    ),
]
RunningPodsOption = Annotated[
    str,
    typer.Option(
        option_names.PODS,
        metavar="FILE",
        help=f"The pods running on the node ({option_names.PODS_OF_NODE}), or MUST-GATHER#NODE.",
        rich_help_panel=INPUT,
    ),
]
PodResourcesOption = Annotated[
    str,
    typer.Option(
        option_names.POD_RESOURCES,
        metavar="[SOCKET]",
        help="Query the kubelet's pod resources socket, or read its answers (List, GetAllocatableResources) "
        "from a JSON file. Without a value, or with 'live': the socket in the kubelet's directory.",
        rich_help_panel=INPUT,
    ),
]
EventsOption = Annotated[
    str,
    typer.Option(
        option_names.EVENTS,
        metavar="FILE",
        help="Events (kubectl get events -o json): explain the pod that was rejected last.",
        rich_help_panel=INPUT,
    ),
]
DevicesOption = Annotated[
    str,
    typer.Option(
        option_names.DEVICES,
        metavar="FILE",
        help="Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl "
        "schema devices), or the answers of the pod resources API (GetAllocatableResources, List).",
        rich_help_panel=INPUT,
    ),
]
AssumeDevicesOption = Annotated[
    bool,
    typer.Option(
        option_names.ASSUME_DEVICES,
        help="Assume that every NUMA node has enough of the devices that pods request and --devices does "
        "not list.",
        rich_help_panel=INPUT,
    ),
]
DriverArgsOption = Annotated[
    str,
    typer.Option(
        option_names.DRIVER_ARGS,
        metavar="FLAGS",
        help="Flags of the dra.cpu driver, for pods with resource claims: '--cpu-device-mode individual "
        "--reserved-cpus 0,32'. Default: CPUs grouped by NUMA node, none reserved.",
        rich_help_panel=INPUT,
    ),
]
IncludeCompletedOption = Annotated[
    bool,
    typer.Option(
        option_names.INCLUDE_COMPLETED,
        help="Treat completed pods (Succeeded, Failed) as new ones.",
        rich_help_panel=INPUT,
    ),
]
SkipApiServerOption = Annotated[
    bool,
    typer.Option(
        option_names.SKIP_API_SERVER,
        help="Skip the API server's validation of the pods.",
        rich_help_panel=INPUT,
    ),
]
WriteStateOption = Annotated[
    str,
    typer.Option(
        "--write-state",
        metavar="DIR",
        help="Write the new state files to DIR.",
        rich_help_panel=OUTPUT,
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Overwrite existing files.", rich_help_panel=OUTPUT)
]
ForceStateOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Overwrite existing files; state files are backed up.",
        rich_help_panel=OUTPUT,
    ),
]
OutputOption = Annotated[
    Output, typer.Option("-o", "--output", help="Output format.", rich_help_panel=OUTPUT)
]
NoColorOption = Annotated[
    bool, typer.Option("--no-color", help="Disable colour, as NO_COLOR does.", rich_help_panel=OUTPUT)
]
QuietOption = Annotated[
    bool, typer.Option("-q", "--quiet", help="Suppress notes and warnings on stderr.", rich_help_panel=OUTPUT)
]
ExitZeroOption = Annotated[
    bool,
    typer.Option("--exit-zero", help="Exit 0 even if the answer is no.", rich_help_panel=OUTPUT),
]
ServerVersionOption = Annotated[
    str,
    typer.Option(
        option_names.API_SERVER_VERSION,
        metavar="VERSION",
        help="The API server's version. Default: the kubelet's.",
        rich_help_panel=KUBELET,
    ),
]
ServerGatesOption = Annotated[
    str,
    typer.Option(
        option_names.API_SERVER_GATES,
        metavar="A=true,B=false",
        help="The API server's feature gates. Default: the kubelet's.",
        rich_help_panel=KUBELET,
    ),
]
RuntimeOption = Annotated[
    str,
    typer.Option(
        option_names.OCI_RUNTIME,
        metavar="NAME-VERSION",
        help="The OCI runtime, e.g. runc-1.2.6 or crun-1.23; the CPU weight of containers depends on it.",
        rich_help_panel=INPUT,
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit 3 also for warnings.", rich_help_panel=OUTPUT)
]
ExitCodeOption = Annotated[
    bool, typer.Option("--exit-code", help="Exit 3 if anything differs.", rich_help_panel=OUTPUT)
]
PodsOutputOption = Annotated[
    ListOutput,
    typer.Option("-o", "--output", help="Output format; jsonl is one pod per line.", rich_help_panel=OUTPUT),
]
NodeMachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The node: live, a directory with sys/, or a recording.",
        rich_help_panel=INPUT,
    ),
]
RootOption = Annotated[
    str,
    typer.Option(
        option_names.ROOT,
        metavar="DIR",
        help="Root of the node's file system, e.g. /host in a debugging pod, or a mounted disk.",
        rich_help_panel=INPUT,
    ),
]
NODE_STATE = "The kubelet's state files. Default: the node's own."
NodeStateOption = Annotated[
    str,
    typer.Option(
        option_names.STATE,
        metavar="STATE",
        help=NODE_STATE,
        rich_help_panel=INPUT,
    ),
]
