"""``cpuctl fleet``: the answers of other commands for many nodes."""

from cpuctl.cli.app import verb_group

HELP = """List, check, compare and plan many nodes at once.

Nodes are recordings (cpuctl capture): files, directories or patterns.
"""

VERBS = {
    "list": "fleet.list",
    "check": "fleet.check",
    "diff": "fleet.diff",
    "plan": "fleet.plan",
    "report": "fleet.report",
}

app = verb_group("fleet", HELP, VERBS)
