"""``cpuctl config``: the kubelet's configuration, and whether the kubelet would start with it."""

from cpuctl.cli.app import verb_group

HELP = """Show and check the kubelet's configuration; check an upgrade."""

app = verb_group(
    "config",
    HELP,
    {
        "reserve": "config.reserve",
        "show": "config.show",
        "check": "config.check",
        "versions": "config.versions",
    },
)
