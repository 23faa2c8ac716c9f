"""What stands around the picture of a machine: its title, what the colours mean, and all of it in words."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.exports.machine.facts import MachineFacts, Use
from cpuctl.exports.palette import owner_class, owner_hatch
from cpuctl.exports.sheet import Item, Sheet
from cpuctl.exports.wording import GUESSED, counted

MOST_OWNERS = 60
"""More are not in the legend: the letters stand in the table of the answer, and each CPU tells its owner."""

_STATES = {
    Use.SHARED: ("sh", "", "shared pool"),
    Use.RESERVED: ("rs", "R", "reserved for the system"),
    Use.NOBODY: ("no", "?", "neither shared nor held"),
    Use.OFFLINE: ("off", "off", "offline"),
}
_FLAGS = {
    "isolated": "a corner: isolated from the scheduler (isolcpus)",
    "efficiency": "a dot: efficiency core",
}


def legend_of(facts: MachineFacts) -> Sheet:
    """Explain everything that the picture uses, and nothing else."""
    return Sheet(
        title=facts.title,
        lines=facts.lines,
        legend=[*_states(facts), *_owners(facts)],
        notes=[*_notes(facts), *facts.notes],
        description=_description(facts),
    )


def _states(facts: MachineFacts) -> Iterator[Item]:
    for use, (classes, mark, meaning) in _STATES.items():
        if cpus := facts.having(use):
            mark_class = "m" if use is Use.OFFLINE else ""
            yield Item(classes, "", mark, mark_class, f"{meaning}: {cpus}")


def _owners(facts: MachineFacts) -> Iterator[Item]:
    for place, owner in enumerate(facts.owners[:MOST_OWNERS]):
        color, hatch = owner_class(place), owner_hatch(place)
        yield Item(
            color,
            f"h-{hatch}" if hatch else "",
            owner.mark,
            f"x{color[1:]}",
            f"{owner.name}: {owner.cpus or 'no CPUs'}",
        )


def _notes(facts: MachineFacts) -> Iterator[str]:
    more = facts.owners[MOST_OWNERS:]
    if more:
        which = f"{counted(len(more), 'more owner')}, {more[0].mark} to {more[-1].mark}"
        yield f"and {which}: point at a CPU for its owner"
    if any(cpu.row.get("shared") for cpu in facts.cpus if cpu.use is Use.RESERVED):
        yield "R: the reserved CPUs are part of the shared pool, too"
    if disputed := [cpu.number for cpu in facts.cpus if cpu.disputed]:
        yield f"+: {counted(len(disputed), 'CPU')} held by more than one, or held and shared or reserved"
    for flag, meaning in _FLAGS.items():
        if cpus := facts.flagged(flag):
            guess = flag == "efficiency" and any(cpu.row.get("typeGuessed") for cpu in facts.cpus)
            yield f"{meaning}{f' ({GUESSED})' if guess else ''}: {cpus}"


def _description(facts: MachineFacts) -> str:
    """Say in words what the picture shows."""
    states = [
        f"{meaning}: CPUs {cpus}" for use, (_, _, meaning) in _STATES.items() if (cpus := facts.having(use))
    ]
    owners = [f"{owner.mark} {owner.name}: CPUs {owner.cpus or 'none'}" for owner in facts.owners]
    return ". ".join([*facts.lines, *states, *owners, *_notes(facts), *facts.notes])
