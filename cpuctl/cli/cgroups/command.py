"""``cpuctl cgroups``: the kubelet's control groups on a node."""

from cpuctl.cli.app import HelpByDefault, command_group
from cpuctl.cli.cgroups import show
from cpuctl.cli.cgroups.apply import command as apply

HELP = """Look at the kubelet's control groups, and change their CPUs."""

app = command_group(cls=HelpByDefault, name="cgroups", help=HELP)
app.command(name="show", help=show.HELP)(show.show)
app.command(name="apply", help=apply.HELP)(apply.apply)
