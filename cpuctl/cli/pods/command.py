"""``cpuctl pods``: what manifests say of resources, without a cluster."""

from cpuctl.cli.app import verb_group

HELP = """Look at pods' resources: what follows from them, and what differs."""

app = verb_group(
    "pods",
    HELP,
    {
        "show": "pods.show",
        "diff": "pods.diff",
        "lint": "pods.lint",
    },
)
