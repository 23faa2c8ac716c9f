"""Single containers and CPUs of a node as it runs, each on a page; and the help of the screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell
from cpuctl.cli.render.tables.running import (
    UNKNOWN,
    amount,
    full_name,
    loads_text,
    rate,
    seconds,
    share,
)
from cpuctl.cli.render.top_map import Line, whose

if TYPE_CHECKING:
    from cpuctl.answers.top import CPU, Container, Interrupts, Top

_BAR = 40
_KEYS = (
    ("up, down", "choose a container, or a CPU on the map"),
    ("Enter, Esc", "open it, and go back"),
    ("m", "the map of CPUs alone, with arrows through it"),
    ("s, S", "sort by the next column, or the one before"),
    ("r", "sort the other way round"),
    ("/", "show only containers and pods with this in their names"),
    ("Space", "freeze, and go on (a recording: halt, and play)"),
    ("left, right", "of a recording: a moment back, or ahead"),
    ("w", "write a capture of the node as it is now"),
    ("h, ?", "this help"),
    ("q", "end"),
)
_MEANINGS = (
    "USED: CPU time of the container, in CPUs. OTHERS: what its CPUs spent on others.",
    "FOREIGN: threads seen there that are not its own. IRQ/S: interrupts of devices.",
    "WAIT: how long its threads waited to run, a second. MIGR/S: how often they moved.",
    "NUMA/S: pages that were wanted from its NUMA nodes and came from others.",
    "PSI: how much of the time a thread of its group waited. A dash: not told.",
)


def help_page() -> Iterator[Line]:
    """Explain keys and columns."""
    for keys, meaning in _KEYS:
        yield [Cell(f"  {keys:<12}", "bold"), Cell(meaning)]
    yield []
    for text in _MEANINGS:
        yield [Cell(f"  {text}")]


def cpu_page(document: Top, cpu: CPU) -> Iterator[Line]:
    """Report all of one CPU."""
    places = {
        "socket": cpu["socket"],
        "NUMA node": cpu["numaNode"],
        "L3 of": cpu["l3"],
        "core of": cpu["core"],
    }
    yield [Cell(f"CPU {cpu['cpu']}: {whose(document, cpu)}", "bold")]
    yield [Cell(", ".join(f"{name} {UNKNOWN if at is None else at}" for name, at in places.items()))]
    yield []
    shares = {"busy": cpu["busy"], "user": cpu["user"], "system": cpu["system"], "interrupts": cpu["irq"]}
    for name, value in {**shares, "waiting for disks": cpu["iowait"], "steal": cpu["steal"]}.items():
        bar = "" if value is None else "#" * round(_BAR * min(value, 1))
        yield [Cell(f"{name:<18}{share(value):>6}  {bar}")]
    yield [Cell(f"{'threads waited':<18}{seconds(cpu['runQueueDelay']):>6}  a second")]
    yield [Cell(f"{'of devices':<18}{rate(cpu['interrupts']):>6}  interrupts a second")]
    seen = [
        each for row in document["containers"] for each in row["foreign"] or () if each["cpu"] == cpu["cpu"]
    ]
    for each in {each["tid"]: each for each in seen}.values():
        thread = f"{each['tid']} ({each['comm']}) of {each['cgroup']}"
        yield [Cell(f"foreign: {thread}, {share(each['ran'])} of a CPU")]


def container_page(container: Container, *, color: bool) -> Iterator[Line]:
    """Report all of one container."""
    name, known = full_name(container), (container["containerID"] or UNKNOWN)[:12]
    yield [Cell(name, "bold")]
    yield [Cell(f"UID {container['uid']}, id {known}")]
    yield [Cell(f"group {container['path'] or UNKNOWN}")]
    nodes, load = container["numaNodes"] or UNKNOWN, loads_text(container["loads"])
    yield [Cell(f"CPUs {container['cpus']} on NUMA nodes {nodes}, load {load}")]
    threads = UNKNOWN if container["threads"] is None else container["threads"]
    used, others = amount(container["used"]), amount(container["others"])
    yield [Cell(f"{threads} threads used {used} CPUs; others used {others} of its CPUs")]
    often, throttled = rate(container["throttledPeriods"]), share(container["throttled"])
    steal = share(container["steal"])
    yield [Cell(f"throttled {throttled} of the time, in {often} periods a second; steal {steal}")]
    waited, moved = seconds(container["runQueueDelay"]), rate(container["migrations"])
    yield [Cell(f"its threads waited {waited} a second, and moved {moved} times a second")]
    yield [
        Cell(f"{rate(container['numaMisses'])} pages a second wanted from its NUMA nodes came from others")
    ]
    if pressure := container["pressure"]:
        now, average = (
            f"some {share(pressure['some'])}, full {share(pressure['full'])}",
            share(pressure["average"]),
        )
        yield [Cell(f"waiting for CPUs (PSI): {now}, over 10 s {average}")]
    yield []
    if (interrupts := container["interrupts"]) is not None:
        yield from _interrupts(interrupts)
    yield from _foreign(container, color=color)


def _interrupts(interrupts: Interrupts) -> Iterator[Line]:
    parts = {"devices": "of devices", "timer": "of the timer", "others": "between CPUs"}
    counts = {"devices": interrupts["devices"], "timer": interrupts["timer"], "others": interrupts["others"]}
    yield [
        Cell(
            "interrupts a second: " + ", ".join(f"{rate(counts[key])} {word}" for key, word in parts.items())
        )
    ]
    for each in interrupts["most"]:
        yield [Cell(f"  {rate(each['rate']):>6}  {each['name']} {each['title']}")]


def _foreign(container: Container, *, color: bool) -> Iterator[Line]:
    foreign = container["foreign"]
    if foreign is None:
        yield [Cell("foreign threads: not known")]
        return
    yield [Cell(f"foreign threads: {len(foreign) or 'none seen'}", "bold red" if foreign and color else "")]
    for each in foreign:
        kind = "kernel" if each["kernel"] else each["cgroup"]
        thread = f"{each['tid']} ({each['comm']}), {kind}"
        yield [Cell(f"  CPU {each['cpu']}: {thread}, {share(each['ran'])} of a CPU")]
