"""``cpuctl cgroups``: the kubelet's control groups on a node."""

from cpuctl.cli.app import verb_group

HELP = """Look at the kubelet's control groups, and change their CPUs."""

app = verb_group(
    "cgroups",
    HELP,
    {
        "show": "cgroups.show",
        "apply": "cgroups.apply",
    },
)
