"""``cpuctl pods``: what manifests say of resources, without a cluster."""

from cpuctl.cli.app import HelpByDefault, command_group
from cpuctl.cli.pods import diff, lint, show

HELP = """Look at pods' resources: what follows from them, and what differs."""

app = command_group(cls=HelpByDefault, name="pods", help=HELP)
app.command(name="show", help=show.HELP)(show.show)
app.command(name="diff", help=diff.HELP)(diff.diff)
app.command(name="lint", help=lint.HELP)(lint.lint)
