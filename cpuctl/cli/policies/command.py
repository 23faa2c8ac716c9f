"""``cpuctl policies``: policies to try in the kubelet's place."""

from cpuctl.cli.app import verb_group

HELP = """Policies (plug-ins) that choose CPUs in the kubelet's place, to see what would come of it.

Try one with cpuctl plan --policy NAME. No kubelet behaves like these."""

app = verb_group(
    "policies", HELP, {"list": "policies.listing", "show": "policies.show", "new": "policies.new"}
)
"""The group of verbs."""
