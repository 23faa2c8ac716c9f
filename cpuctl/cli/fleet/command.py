"""``cpuctl fleet``: of many nodes what other commands tell of one."""

from cpuctl.cli.app import verb_group

HELP = """Ask many nodes at once: list them, find the odd ones, check and compare them, plan pods.

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
