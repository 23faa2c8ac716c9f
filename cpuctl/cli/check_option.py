"""The option that selects the checks of an audit."""

from collections.abc import Sequence
from typing import Annotated

import typer

from cpuctl.audit.check_names import CHECK_NAMES
from cpuctl.errors import UsageError

CheckOption = Annotated[
    str,
    typer.Option(
        "--check",
        metavar="CHECK,...",
        help=f"Run only these checks: {', '.join(CHECK_NAMES)}. answers compares with --pod-resources, "
        "volumes with the CPUs that containers read in downward API volumes (preview).",
    ),
]


def chosen_checks(text: str) -> Sequence[str]:
    """Return the checks that the user has named, or all; raise UsageError for an unknown name."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in CHECK_NAMES]
    if unknown:
        from cpuctl.spelling import did_you_mean

        hint = did_you_mean(unknown[0], CHECK_NAMES, f"choose from {', '.join(CHECK_NAMES)}")
        raise UsageError(f"unknown check {unknown[0]!r}", where="--check", hint=hint)
    return names or CHECK_NAMES
