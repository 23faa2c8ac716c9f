"""``cpuctl dra``: CPUs as devices, by dynamic resource allocation."""

from cpuctl.cli.app import verb_group

HELP = """Show CPUs as devices of dynamic resource allocation, as the driver dra.cpu has them."""

app = verb_group("dra", HELP, {"slices": "dra.slices", "allocate": "dra.allocate"})
