"""Which CPUs and columns a table of the machine shows."""

from typing import TYPE_CHECKING

from cpuctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from cpuctl.answers.topology import ColumnName
    from cpuctl.machine.model import Machine


def wanted_cpus(cpus: str, machine: "Machine") -> "frozenset[int] | None":
    """Read --cpus, None if it is not used; raise UsageError for CPUs that the machine does not have."""
    from cpuctl.machine.set_names import parse_cpu_names
    from cpuctl.phrases import named

    if not cpus:
        return None
    try:
        wanted = parse_cpu_names(cpus, machine)
    except InputError as error:
        raise UsageError(error.message, where="--cpus", hint=error.hint) from None
    known = machine.online | machine.offline
    if not wanted <= known:
        missing = f"this machine has no {named(wanted - known)}"
        raise UsageError(f"{missing}: expected CPUs from {known}", where="--cpus")
    return frozenset(wanted)


def selected_columns(text: str, *, implied: bool) -> "list[ColumnName]":
    """Return the selected columns; by default none, or the usual ones if a table is *implied*.

    Raise UsageError for an unknown one.
    """
    if not text and not implied:
        return []

    from cpuctl.answering.cpu_columns import ALL_COLUMNS, DEFAULT_COLUMNS

    if not text:
        return list(DEFAULT_COLUMNS)
    if text == "all":
        return list(ALL_COLUMNS)
    columns = {str(name): name for name in ALL_COLUMNS}
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in wanted if name.upper() not in columns]
    if unknown:
        from cpuctl.spelling import did_you_mean

        known = [name.lower() for name in columns]
        hint = did_you_mean(unknown[0], known, f"choose from {', '.join(known)}")
        raise UsageError(f"unknown column {unknown[0]!r}", where="--columns", hint=hint)
    return [columns[name.upper()] for name in wanted]
