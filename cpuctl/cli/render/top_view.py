"""The screen of ``cpuctl top`` as lines of styled text, for any terminal; a ``View`` is its state.

Every line fits the width. Without colour, marks replace it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cli.render.blocks import Cell
from cpuctl.cli.render.tables.running import (
    DISTURBED,
    UNKNOWN,
    amount,
    container_name,
    full_name,
    loads_text,
    pod_name,
    pressure_text,
    rate,
    seconds,
    share,
    top_heading,
)
from cpuctl.cli.render.top_map import (
    RESERVED,
    SHARED,
    Line,
    colour,
    cpu_line,
    foreground,
    legend,
    letter,
    map_lines,
    owner,
)
from cpuctl.cpuset import CPUSet
from cpuctl.phrases import counted, named
from cpuctl.visible_text import printable

if TYPE_CHECKING:
    from cpuctl.answers.top import CPU, Container, CPUs, ForeignThread, Interrupts, Top

_HEAD = "reverse"
_LEAST_ROWS = 4
_NAMES = 34
"""The minimum width for names and CPUs."""


class _Field(NamedTuple):
    """A column of the containers: its heading and width, its format, and its sort key."""

    name: str
    width: int
    text: Callable[[Container], str]
    key: Callable[[Container], float]
    alarm: float | None
    """The value is marked if it is greater than this; None: never."""


def _number(value: float | None) -> float:
    """Sort unknown values below all others."""
    return -1.0 if value is None else value


def _devices(container: Container) -> float | None:
    return container["interrupts"]["devices"] if container["interrupts"] else None


def _foreign(container: Container) -> float | None:
    return None if container["foreign"] is None else float(len(container["foreign"]))


def _load(container: Container) -> float | None:
    known = [each for each in container["loads"] if each is not None]
    return sum(known) / len(known) if known else None


def _whole(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"


def _psi(container: Container) -> float | None:
    return container["pressure"]["some"] if container["pressure"] else None


def _field(
    name: str,
    width: int,
    value: Callable[[Container], float | None],
    text: Callable[[float | None], str],
    alarm: float | None = None,
) -> _Field:
    return _Field(name, width, lambda each: text(value(each)), lambda each: _number(value(each)), alarm)


_FIELDS = (
    _field("LOAD", 5, _load, share),
    _field("USED", 6, lambda each: each["used"], amount),
    _field("OTHERS", 7, lambda each: each["others"], amount, DISTURBED),
    _field("FOREIGN", 8, _foreign, _whole, 0),
    _field("IRQ/S", 6, _devices, rate, 0),
    _field("STEAL", 6, lambda each: each["steal"], share, 0),
    _field("THROTTLED", 10, lambda each: each["throttled"], share, 0),
    _field("WAIT", 6, lambda each: each["runQueueDelay"], seconds),
    _field("MIGR/S", 7, lambda each: each["migrations"], rate),
    _field("NUMA/S", 7, lambda each: each["numaMisses"], rate),
    _field("PSI", 5, _psi, share),
)
SORTS = ("CPUS", "NAME", *(field.name for field in _FIELDS))


class View(NamedTuple):
    """The state of the screen: page, sort order, cursor; ``status`` is the last line.

    ``page`` is one of containers, map, container, cpu and help; ``back`` the one that Esc leads to.
    """

    page: str = "containers"
    back: str = "containers"
    sort: str = "CPUS"
    reverse: bool = False
    text: str = ""
    row: int = 0
    cpu: int = 0
    frozen: bool = False
    status: str = ""


def shown_containers(document: Top, view: View) -> list[int]:
    """Return the visible containers, by their index in the answer, in the order of the view."""
    text = view.text.lower()
    containers = document["containers"]
    found = [number for number, each in enumerate(containers) if text in full_name(each).lower()]
    if view.sort == "NAME":
        found.sort(key=lambda number: (pod_name(containers[number]), container_name(containers[number])))
    elif view.sort != "CPUS":
        key = next(field.key for field in _FIELDS if field.name == view.sort)
        found.sort(key=lambda number: -key(containers[number]))
    return found[::-1] if view.reverse else found


def screen(document: Top, view: View, width: int, height: int, *, color: bool) -> list[Line]:
    """Draw a view in at most *height* lines."""
    head, body = _head(document, color=color), max(height - 1, 1)
    if view.page == "help":
        lines = [*head[:1], *help_page()]
    elif view.page == "container":
        lines = [*head[:1], *_chosen_container(document, view, color=color)]
    elif view.page == "cpu":
        lines = [*head[:1], *(cpu_page(document, document["cpus"][view.cpu]) if document["cpus"] else ())]
    elif view.page == "map":
        lines = [*head[:1], *_map_page(document, view, width, body - 1, color=color)]
    else:
        lines = [*head, *_containers_page(document, view, width, body - len(head), color=color)]
    lines = [_fitted(line, width) for line in lines[:body]]
    lines += [[] for _ in range(body - len(lines))]
    return [*lines, _fitted([Cell(_status(view), _HEAD)], width, fill=True)][:height]


def _status(view: View) -> str:
    if view.status:
        return f" {view.status}"
    order = f"by {view.sort}{', reversed' if view.reverse else ''}"
    wanted = f" ({view.text!r})" if view.text else ""
    keys = f"h help  q quit  s sort ({order})  / filter{wanted}  m map  Space freeze"
    return f" {'FROZEN  ' if view.frozen else ''}{keys}"


def _fitted(line: Line, width: int, *, fill: bool = False) -> Line:
    """Cut a line at the width of the terminal; escape control characters."""
    fitted, left = [], width
    for cell in line:
        text = printable(cell.text)[:left]
        if text:
            fitted.append(Cell(text, cell.style))
        left -= len(text)
    if fill and left:
        fitted.append(Cell(" " * left, line[-1].style if line else ""))
    return fitted


def _head(document: Top, *, color: bool) -> list[Line]:
    lines: list[Line] = [[Cell(top_heading(document), "bold")]]
    for name, part, of in (
        ("shared pool", document["sharedPool"], SHARED),
        ("reserved", document["reserved"], RESERVED),
    ):
        if part is not None:
            lines.append([Cell(f"{name:<12}", foreground(of) if color else ""), Cell(_part(part))])
    if document["pressure"]:
        lines.append([Cell(pressure_text(document))])
    if not document["containers"]:
        why = next((each["why"] for each in document["unknown"] if "containers" in each["what"]), "")
        lines.append([Cell(f"no container has exclusive CPUs{f': {why}' if why else ''}", "dim")])
    return lines


def _part(part: CPUs) -> str:
    steal = f", steal {share(part['steal'])}" if part["steal"] else ""
    waits = "" if part["runQueueDelay"] is None else f", waited {seconds(part['runQueueDelay'])}"
    often = f"{rate(part['interrupts'])} interrupts/s"
    return f"busy {share(part['busy'])}{steal}, {often}{waits}, CPUs {part['cpus'] or 'none'}"


def _containers_page(document: Top, view: View, width: int, height: int, *, color: bool) -> Iterator[Line]:
    """Yield the rows, and below them as much of the map as fits."""
    shown = shown_containers(document, view)
    drawn = list(map_lines(document, width, None, color=color))
    rows = max(min(len(shown), max(height - len(drawn) - 2, _LEAST_ROWS)), 0)
    if document["containers"]:
        fields = _fields_for(width)
        name_width = width - sum(field.width + 1 for field in fields) - 2
        yield [Cell(_heading(fields, name_width, view), _HEAD)]
        first = _first_shown(view.row, rows, len(shown))
        for place in range(first, min(first + rows, len(shown))):
            number = shown[place]
            line = _row(
                document["containers"][number], fields, name_width, selected=place == view.row, color=color
            )
            mark = foreground(colour(number)) if color else "bold"
            yield [Cell(f"{letter(number)} ", mark), *line]
    yield []
    yield from drawn


def _fields_for(width: int) -> tuple[_Field, ...]:
    """Choose the first columns that leave space for names and CPUs."""
    fields: list[_Field] = []
    left = width - _NAMES
    for field in _FIELDS:
        left -= field.width + 1
        if left < 0:
            break
        fields.append(field)
    return tuple(fields)


def _heading(fields: Sequence[_Field], name_width: int, view: View) -> str:
    def name(text: str) -> str:
        return text if text != view.sort else f"{text}{'^' if view.reverse else '*'}"

    cells = "".join(f" {name(field.name)[: field.width]:>{field.width}}" for field in fields)
    first = f"{name('NAME')} ({name('CPUS')})"
    return f"  {first:<{name_width}}{cells}"


def _first_shown(row: int, rows: int, count: int) -> int:
    return max(0, min(row - rows // 2, count - rows))


def _row(container: Container, fields: Sequence[_Field], width: int, *, selected: bool, color: bool) -> Line:
    text = f"{container_name(container)} {container['cpus']}  {pod_name(container)}"
    style = _HEAD if selected else ""
    line = [Cell(f"{text[:width]:<{width}}", style)]
    for field in fields:
        value = field.text(container)
        alarmed = field.alarm is not None and field.key(container) > field.alarm
        shown = f"{value}!" if alarmed and not color else value
        line.append(
            Cell(f" {shown:>{field.width}}", "bold red" if alarmed and color and not selected else style)
        )
    return line


def _chosen_container(document: Top, view: View, *, color: bool) -> Iterator[Line]:
    shown = shown_containers(document, view)
    if shown:
        yield from container_page(document["containers"][shown[view.row]], color=color)


def _map_page(document: Top, view: View, width: int, height: int, *, color: bool) -> Iterator[Line]:
    """Yield as much of the map as fits, around the chosen CPU."""
    lines = list(map_lines(document, width, view.cpu, color=color))
    at = next(
        (place for place, line in enumerate(lines) if any("underline" in cell.style for cell in line)), 0
    )
    space = max(height - 2, 1)
    first = _first_shown(at, space, len(lines))
    yield [Cell(cpu_line(document, view.cpu))]
    yield [Cell(legend(color=color), "dim")]
    yield from lines[first : first + space]


# Single containers and CPUs of a running node, each on a page; and the help of the screen.


_BAR = 40
_KEYS = (
    ("up, down", "select a container, or a CPU on the map"),
    ("Enter, Esc", "open the selected row or CPU, or go back"),
    ("m", "show only the map; the arrow keys select a CPU"),
    ("s, S", "sort by the next or previous column"),
    ("r", "reverse the sort order"),
    ("/", "filter containers and pods by name"),
    ("Space", "freeze or resume (pause or play a recording)"),
    ("left, right", "previous or next sample of a recording"),
    ("w", "write a recording of the node to the current directory"),
    ("h, ?", "this help"),
    ("q", "quit"),
)
_MEANINGS = (
    "LOAD: how busy its CPUs are. STEAL: CPU time taken by the hypervisor.",
    "THROTTLED: share of time in which its quota stopped it.",
    "USED: CPU time of the container, in CPUs.",
    "OTHERS: CPU time of others on its CPUs.",
    "FOREIGN: threads of others seen on its CPUs.",
    "IRQ/S: device interrupts per second.",
    "WAIT: time its threads waited to run, per second.",
    "MIGR/S: moves between CPUs.",
    "NUMA/S: pages per second meant for its NUMA nodes, but allocated on others.",
    "PSI: share of time in which a thread waited for a CPU. A dash: unknown.",
)


def help_page() -> Iterator[Line]:
    """Explain keys and columns."""
    for keys, meaning in _KEYS:
        yield [Cell(f"  {keys:<12}", "bold"), Cell(meaning)]
    yield []
    for text in _MEANINGS:
        yield [Cell(f"  {text}")]


def cpu_page(document: Top, cpu: CPU) -> Iterator[Line]:
    """Describe one CPU in full."""
    places = {
        "socket": cpu["socket"],
        "NUMA node": cpu["numaNode"],
        "L3 of CPU": cpu["l3"],
        "core of CPU": cpu["core"],
    }
    yield [Cell(f"CPU {cpu['cpu']}: {owner(document, cpu)}", "bold")]
    yield [Cell(", ".join(f"{name} {UNKNOWN if at is None else at}" for name, at in places.items()))]
    yield []
    shares = {"busy": cpu["busy"], "user": cpu["user"], "system": cpu["system"], "interrupts": cpu["irq"]}
    for name, value in {**shares, "iowait": cpu["iowait"], "steal": cpu["steal"]}.items():
        bar = "" if value is None else "#" * round(_BAR * min(value, 1))
        yield [Cell(f"{name:<18}{share(value):>6}  {bar}")]
    yield [Cell(f"{'run queue delay':<18}{seconds(cpu['runQueueDelay']):>6}  per second")]
    yield [Cell(f"{'device interrupts':<18}{rate(cpu['interrupts']):>6}  per second")]
    seen = [
        each for row in document["containers"] for each in row["foreign"] or () if each["cpu"] == cpu["cpu"]
    ]
    for each in {each["tid"]: each for each in seen}.values():
        thread = f"{each['tid']} ({each['comm']}), {_kind(each)}"
        yield [Cell(f"foreign thread: {thread}, {share(each['used'])} of a CPU")]


def container_page(container: Container, *, color: bool) -> Iterator[Line]:
    """Describe one container in full."""
    name, known = full_name(container), (container["containerID"] or UNKNOWN)[:12]
    yield [Cell(name, "bold")]
    yield [Cell(f"UID {container['uid']}, container ID {known}")]
    yield [Cell(f"cgroup {container['path'] or UNKNOWN}")]
    nodes, load = CPUSet.parse(container["numaNodes"]), loads_text(container["loads"])
    where = f"on {named(nodes, 'NUMA node')}" if nodes else "on unknown NUMA nodes"
    yield [Cell(f"{named(CPUSet.parse(container['cpus']))} {where}, load {load}")]
    threads = "its threads" if container["threads"] is None else counted(container["threads"], "thread")
    used, others = amount(container["used"]), amount(container["others"])
    yield [Cell(f"{threads} used {used} CPUs; others used {others} of its CPUs")]
    often, throttled = rate(container["throttledPeriods"]), share(container["throttled"])
    steal = share(container["steal"])
    yield [Cell(f"throttled {throttled} of the time ({often} periods per second); steal {steal}")]
    waited, moved = seconds(container["runQueueDelay"]), rate(container["migrations"])
    yield [Cell(f"its threads waited to run {waited} per second, and changed CPUs {moved} times per second")]
    pages = rate(container["numaMisses"])
    yield [Cell(f"{pages} pages per second meant for its NUMA nodes were allocated on others")]
    if pressure := container["pressure"]:
        now, average = (
            f"some {share(pressure['some'])}, full {share(pressure['full'])}",
            share(pressure["average"]),
        )
        yield [Cell(f"CPU pressure (PSI): {now}, 10 s average {average}")]
    yield []
    if (interrupts := container["interrupts"]) is not None:
        yield from _interrupts(interrupts)
    yield from _foreign_threads(container, color=color)


def _interrupts(interrupts: Interrupts) -> Iterator[Line]:
    devices, timer, others = (rate(interrupts[key]) for key in ("devices", "timer", "others"))
    sources = f"{devices} from devices, {timer} from the timer, {others} from other CPUs"
    yield [Cell(f"interrupts per second: {sources}")]
    for each in interrupts["mostFrequent"]:
        yield [Cell(f"  {rate(each['rate']):>6}  {each['name']} {each['title']}")]


def _foreign_threads(container: Container, *, color: bool) -> Iterator[Line]:
    foreign = container["foreign"]
    if foreign is None:
        yield [Cell("foreign threads: unknown")]
        return
    yield [Cell(f"foreign threads: {len(foreign) or 'none seen'}", "bold red" if foreign and color else "")]
    for each in foreign:
        thread = f"{each['tid']} ({each['comm']}), {_kind(each)}"
        yield [Cell(f"  CPU {each['cpu']}: {thread}, {share(each['used'])} of a CPU")]


def _kind(thread: ForeignThread) -> str:
    return "kernel thread" if thread["kernel"] else f"cgroup {thread['cgroup']}"
