"""``cpuctl pods``: the resources in manifests, without a cluster."""

from cpuctl.cli.app import verb_group

HELP = """Show the effects of pods' resources, and compare and check manifests."""

app = verb_group(
    "pods",
    HELP,
    {
        "show": "pods.show",
        "diff": "pods.diff",
        "lint": "pods.lint",
    },
)
