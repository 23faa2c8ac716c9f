"""``cpuctl checkpoint``: the kubelet's state files, looked at and changed without a kubelet."""

from cpuctl.cli.app import HelpByDefault, command_group
from cpuctl.cli.checkpoint import diff, dump, migrate, new, repair, verify, versions

HELP = """Look at the kubelet's state files, tell whether it would start on them, and change them.

cpu_manager_state, memory_manager_state, allocated_pods_state and actuated_pods_state are internals of the
kubelet. Their formats belong to releases, are no interface, and may change with the next one. cpuctl knows

\b
  cpu_manager_state     V1 (1.12 to 1.17), V2 (to 1.36), V4 (1.37 on)
  memory_manager_state  V1 (1.21 to 1.36), V3 (1.37 on)

and the formats between them, V3 and V2, of 1.36 with PodLevelResourceManagers; cpuctl checkpoint versions
says who reads which. Nothing is written without being told to, nothing is replaced in place without a backup,
nor under a running kubelet.
"""

app = command_group(cls=HelpByDefault, name="checkpoint", help=HELP)
app.command(name="dump", help=dump.HELP)(dump.dump)
app.command(name="verify", help=verify.HELP)(verify.verify)
app.command(name="diff", help=diff.HELP)(diff.diff)
app.command(name="migrate", help=migrate.HELP)(migrate.migrate)
app.command(name="repair", help=repair.HELP)(repair.repair)
app.command(name="new", help=new.HELP)(new.new)
app.command(name="versions", help=versions.HELP)(versions.versions)
