"""``cpuctl nri``: a plug-in of the container runtime."""

from cpuctl.cli.app import verb_group

HELP = """Tell a container runtime which CPUs containers get (Node Resource Interface)."""

app = verb_group("nri", HELP, {"run": "nri.run"})
