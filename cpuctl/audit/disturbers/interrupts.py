"""Interrupts that come to exclusive CPUs, and the daemon that may send them there."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.audit.commands import MOST
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import Interrupt, Picture
from cpuctl.capture.node.interrupts import DEFAULT_AFFINITY
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.wording import count, named

_SHOWN = 3


def check_interrupts(picture: Picture) -> Iterator[Finding]:
    """Tell every interrupt that comes to an exclusive CPU, and in one sentence those that could."""
    possible, came = [], []
    for interrupt in picture.interrupts.known:
        if interrupt.allowed is None and interrupt.fired:
            came.append(interrupt)
        if (interrupt.allowed or CPUSet()).isdisjoint(picture.exclusive):
            continue
        comes = _comes_to(interrupt, picture.exclusive)
        if comes.isdisjoint(picture.exclusive):
            possible.append(interrupt)
        else:
            yield _coming(picture, interrupt, comes)
    if possible:
        yield _possible(picture, possible)
    if came:
        yield _came(picture, came)
    yield from _default(picture)


def _comes_to(interrupt: Interrupt, exclusive: CPUSet) -> CPUSet:
    """Return where it comes to; one that was sent elsewhere moves with its next event, not before."""
    allowed = interrupt.allowed or CPUSet()
    now = allowed if interrupt.effective is None else interrupt.effective & allowed
    return now or (allowed if allowed <= exclusive else CPUSet())


def check_irqbalance(picture: Picture) -> Iterator[Finding]:
    """Tell when irqbalance runs and is not told to stay away from exclusive CPUs.

    Untold, it stays away from isolated and nohz_full CPUs (*irqbalance(1)*).
    """
    balancer, machine = picture.interrupts.balancer, picture.machine
    if balancer is None:
        return
    banned = machine.isolated | machine.nohz_full if balancer.banned is None else balancer.banned
    missing = picture.exclusive - banned
    if missing:
        wanted = banned | picture.exclusive
        line = f"IRQBALANCE_BANNED_CPULIST={wanted}"
        yield Finding(
            severity=Severity.WARNING,
            code="irqbalance",
            place=NodePart("irqbalance"),
            message=f"it runs, and may send interrupts to exclusive {named(missing)}",
            expected=f"{wanted} banned",
            detected=f"{banned} banned" if banned else "none banned",
            # Not every package brings the file.
            fix=f"touch {balancer.file}; sed -i /^IRQBALANCE_BANNED_CPU/d {balancer.file}; "
            f"echo {line} >>{balancer.file}; systemctl restart irqbalance",
        )


def _coming(picture: Picture, interrupt: Interrupt, comes: CPUSet) -> Finding:
    often = f", {count(interrupt.fired, 'time')} since boot" if interrupt.fired else ""
    kept = (interrupt.allowed or comes) - picture.exclusive or picture.housekeeping
    return Finding(
        severity=Severity.WARNING,
        code="interrupt",
        place=NodePart(f"IRQ {interrupt.number} ({', '.join(interrupt.actions)})"),
        message=f"it comes to exclusive {named(comes & picture.exclusive)} of "
        f"{picture.holders(comes)}{often}",
        expected=str(kept),
        detected=str(comes),
        fix=f"echo {kept} > /proc/irq/{interrupt.number}/smp_affinity_list",
    )


def _possible(picture: Picture, interrupts: list[Interrupt]) -> Finding:
    shown = ", ".join(f"{each.number} ({', '.join(each.actions)})" for each in interrupts[:_SHOWN])
    more = f" and {len(interrupts) - _SHOWN} more" if len(interrupts) > _SHOWN else ""
    commands = [
        f"echo {(each.allowed or CPUSet()) - picture.exclusive} > /proc/irq/{each.number}/smp_affinity_list"
        for each in interrupts[:MOST]
    ]
    return Finding(
        severity=Severity.NOTE,
        code="interrupts-allowed",
        place=NodePart("interrupts"),
        message=f"{count(len(interrupts), 'interrupt')} may be sent to exclusive CPUs, but "
        f"{'are' if len(interrupts) > 1 else 'is'} handled elsewhere now: {shown}{more}",
        expected=f"none on {picture.exclusive}",
        detected="all CPUs" if _anywhere(picture, interrupts) else "some",
        fix="; ".join(commands),
    )


def _came(picture: Picture, interrupts: list[Interrupt]) -> Finding:
    often = sorted(interrupts, key=lambda each: -each.fired)
    shown = ", ".join(f"{each.number} ({', '.join(each.actions)}): {each.fired}" for each in often[:_SHOWN])
    more = f" and {len(often) - _SHOWN} more" if len(often) > _SHOWN else ""
    return Finding(
        severity=Severity.NOTE,
        code="interrupts-came",
        place=NodePart("interrupts"),
        message=f"{count(len(often), 'interrupt')} came to exclusive CPUs since boot, and where "
        f"{'they' if len(often) > 1 else 'it'} may come now is not recorded: {shown}{more}",
        expected=f"none on {picture.exclusive}",
        detected=count(sum(each.fired for each in often), "time"),
        fix="cat /proc/irq/*/effective_affinity_list",
    )


def _anywhere(picture: Picture, interrupts: list[Interrupt]) -> bool:
    return all(picture.machine.online <= (each.allowed or CPUSet()) for each in interrupts)


def _default(picture: Picture) -> Iterator[Finding]:
    default, exclusive = picture.interrupts.default, picture.exclusive
    # The mask has bits for CPUs that are not there, too.
    if default is None or default.isdisjoint(exclusive):
        return
    kept = (default & picture.machine.online) - exclusive or picture.housekeeping
    yield Finding(
        severity=Severity.NOTE,
        code="interrupts-default",
        place=NodePart("new interrupts"),
        message=f"an interrupt that comes into being may be sent to exclusive {named(default & exclusive)}",
        expected=str(kept),
        detected=str(default & picture.machine.online),
        fix=f"echo {kept.kernel_mask} > /{DEFAULT_AFFINITY}",
    )
