"""``cpuctl schema``: the published JSON Schemas."""

from typing import Annotated

import typer

from cpuctl.cli.app import command_group
from cpuctl.errors import UsageError

app = command_group()

HELP = """Print the JSON Schema of a command's output or input; without a name, list all schemas.

podresources describes manifests, as cpuctl pods lint checks them, for your editor. Write it to a file, and
start each manifest with this line:

\b
  # yaml-language-server: $schema=podresources.schema.json

Examples:

\b
  cpuctl schema
  cpuctl schema plan > plan.schema.json
  cpuctl schema podresources > podresources.schema.json
"""


@app.command(name="schema", help=HELP)
def schema(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The schema, e.g. plan.")] = "",
) -> None:
    """Print one schema or the list of them."""
    from cpuctl.schemas import schema_names, schema_text

    if not name:
        typer.echo("\n".join(schema_names()))
        return
    if name not in schema_names():
        from cpuctl.spelling import did_you_mean

        hint = did_you_mean(name, schema_names(), f"choose from {', '.join(schema_names())}")
        raise UsageError(f"unknown schema {name!r}", hint=hint)
    typer.echo(schema_text(name), nl=False)
