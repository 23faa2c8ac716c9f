"""A machine as a picture: nested boxes down to its CPUs, each with its owner's colour and letters.

Lengths are in the picture's unit, a pixel at its original size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil, inf, log
from typing import TYPE_CHECKING, Final, Generic, Literal, NamedTuple, TypeVar

from cpuctl.exports.answer_text import GUESSED
from cpuctl.exports.machine_facts import CPU, CPUUse, MachineFacts, flags_of
from cpuctl.exports.page import Markup, element, joined, leaf, text
from cpuctl.exports.palette import owner_class, owner_hatch
from cpuctl.exports.sheet import SMALL, Drawing, LegendItem, Rectangle, Sheet, box, hatched, text_at
from cpuctl.exports.text_width import text_width
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.topology import PlacedCPU


Level = Literal["socket", "node", "l3"]
LEVELS: Final[tuple[tuple[Level, str], ...]] = (("socket", "Socket"), ("node", "NUMA node"), ("l3", "L3"))
"""The member of a row with the place, and the name of such a place."""


class Core(NamedTuple):
    """The CPUs of one core, or those of unknown cores."""

    rows: tuple[PlacedCPU, ...]


class TopologyDomain(NamedTuple):
    """A socket, NUMA node or L3 cache; ``level`` is its key in rows."""

    level: Level
    number: int
    name: str
    inside: tuple[Nested, ...]


Nested = Core | TopologyDomain


def nested(rows: Iterable[PlacedCPU], level: int = 0) -> Iterator[Nested]:
    """Sort CPUs into places; if a CPU's place is unknown, its core stands alone."""
    if level == len(LEVELS):
        yield from (Core(tuple(core)) for _, core in _grouped(rows, "core"))
        return
    key, name = LEVELS[level]
    for number, members in _grouped(rows, key):
        inside = nested(members, level + 1)
        if number is None:
            yield from inside
        else:
            yield TopologyDomain(key, number, f"{name} {number}", tuple(inside))


def _grouped(
    rows: Iterable[PlacedCPU], key: Literal[Level, "core"]
) -> Iterator[tuple[int | None, Iterator[PlacedCPU]]]:
    # Rows without a number come first; equal numbers keep their order.
    ordered = sorted(rows, key=lambda row: (row[key] is not None, row[key] or 0))
    return groupby(ordered, key=lambda row: row[key])


_CELL_WIDTH, _CELL_HEIGHT, _PLAIN_HEIGHT = 32.0, 30.0, 22.0
_FLAG_ROOM = 9.0
"""The space for flags, on both sides of a CPU's number."""
_CPUS_PER_ROW = 4
_CORE_PADDING, _CORE_GAP = 3.0, 6.0
_PADDING, _GAP, _HEADING = 10.0, 12.0, 24.0
_ASPECTS = {"socket": 1.4, "node": 1.5, "l3": 1.9}
_MACHINE_ASPECT, _OFFLINE_ASPECT = 1.6, 12.0
_PLACES: Final[Sequence[tuple[Literal["socket", "node", "l3", "core"], str]]] = (
    ("socket", "socket"),
    ("node", "NUMA node"),
    ("l3", "L3"),
    ("core", "core"),
)
_FRAMES = {"socket": "f0", "node": "f1", "l3": "f2"}


def machine_svg(facts: MachineFacts) -> Markup:
    """Draw a machine; the same facts give the same text."""
    sheet = legend_of(facts)
    return sheet.around(_Drawer(facts, _Cells.of(facts)).drawing())


class _Frame(NamedTuple):
    """A place's box, or the one around offline CPUs."""

    name: str
    caption: str
    classes: str


_Content = _Frame | Core | CPU | None
"""The content of an area; None: only the areas inside it."""


class _Cells(NamedTuple):
    """The drawing of CPUs: the size of each, and the position of each mark's owner."""

    width: float
    height: float
    cpus: dict[int, CPU]
    owners: dict[str, int]
    names: dict[str, str]

    @classmethod
    def of(cls, facts: MachineFacts) -> _Cells:
        longest = max((text_width(str(cpu.number), SMALL, bold=True) for cpu in facts.cpus), default=0)
        marks = max((text_width(cpu_label(cpu), SMALL, bold=True) for cpu in facts.cpus), default=0)
        return cls(
            max(_CELL_WIDTH, longest + 2 * _FLAG_ROOM, marks + 6),
            _CELL_HEIGHT if marks else _PLAIN_HEIGHT,
            {cpu.number: cpu for cpu in facts.cpus},
            {owner.mark: place for place, owner in enumerate(facts.owners)},
            {owner.mark: owner.name for owner in facts.owners},
        )

    def drawn(self, cpu: CPU, x: float, y: float) -> Markup:
        classes, letters, hatch = self._look(cpu)
        label, middle = cpu_label(cpu), x + self.width / 2
        parts = [
            element("title", {}, text(cpu_words(cpu, self.names))),
            box(x, y, self.width, self.height, class_=f"k {classes}", rx=2),
            hatched(Rectangle(x, y, self.width, self.height), hatch, max(str(cpu.number), label, key=len)),
        ]
        if cpu.disputed:
            parts.append(box(x, y, self.width, self.height, class_="w", rx=2))
        parts += _flags(cpu, x, y, self.width)
        number_at = y + (13 if self.height == _CELL_HEIGHT else 15)
        parts.append(text_at(str(cpu.number), middle, number_at, f"b s c {letters}".rstrip()))
        if label:
            parts.append(text_at(label, middle, y + 25, f"b s c {letters}".rstrip()))
        attributes = {"data-cpu": cpu.number, "data-use": cpu.use.value, "data-owner": " ".join(cpu.marks)}
        return element("g", attributes, *parts)

    def _look(self, cpu: CPU) -> tuple[str, str, str]:
        """Return the classes of a CPU's box and of the letters in it, and its hatching."""
        match cpu.use:
            case CPUUse.OWNED:
                place = self.owners.get(cpu.marks[0], 0)
                hatch = owner_hatch(place)
                color = owner_class(place)
                return color, f"x{color[1:]}", f"h-{hatch}" if hatch else ""
            case CPUUse.RESERVED:
                return "rs", "", ""
            case CPUUse.OFFLINE:
                return "off", "m", ""
            case CPUUse.NONE:
                return "no", "", ""
            case CPUUse.SHARED | CPUUse.PLAIN:
                return "sh", "", ""


def cpu_words(cpu: CPU, names: Mapping[str, str]) -> str:
    """Describe a CPU's owner, use and place; *names* are those of owners by their marks."""
    row = cpu.row
    known = [f"{name} {row[place]}" for place, name in _PLACES if row[place] is not None]
    owner = [f"{mark} {names[mark]}" if names.get(mark) else mark for mark in cpu.marks]
    what = [*owner, *_state(cpu)]
    parts = [", ".join(what)] if what else []
    guess = [GUESSED] if row.get("type") == "efficiency" and row.get("typeGuessed") else []
    return "; ".join([f"CPU {cpu.number}", *parts, ", ".join(known), *flags_of(row), *guess])


_USE_WORDS = {
    CPUUse.SHARED: "in the shared pool",
    CPUUse.RESERVED: "reserved for the system",
    CPUUse.NONE: "neither shared nor exclusive",
    CPUUse.OFFLINE: "offline",
}


def _state(cpu: CPU) -> Iterator[str]:
    """Report the special properties of a CPU in addition to its owner, if known."""
    if cpu.use in _USE_WORDS:
        yield _USE_WORDS[cpu.use]
    if cpu.claimed_offline:
        yield _USE_WORDS[CPUUse.OFFLINE if cpu.marks else CPUUse.SHARED]


_LABELS = {CPUUse.RESERVED: "R", CPUUse.NONE: "?", CPUUse.OFFLINE: "off"}


def cpu_label(cpu: CPU) -> str:
    """Write the owner of a CPU, or its use, in one or two letters."""
    if cpu.marks:
        return f"{cpu.marks[0]}+" if cpu.disputed else cpu.marks[0]
    return _LABELS.get(cpu.use, "")


def _flags(cpu: CPU, x: float, y: float, width: float) -> Iterator[Markup]:
    flags = flags_of(cpu.row)
    if "isolated" in flags:
        yield leaf("path", {"class": "ink", "d": f"M{x + width - 8:.1f} {y:.1f}h8v8z"})
    if "efficiency" in flags:
        yield leaf("circle", {"class": "ink", "cx": x + 5, "cy": y + 5, "r": 2.5})


@dataclass(frozen=True, slots=True)
class _Drawer:
    """Lays out and draws; ``columns`` are those of the largest place of each level, for all of them."""

    facts: MachineFacts
    cells: _Cells
    columns: dict[str, int] = field(default_factory=dict)

    def drawing(self) -> Drawing:
        """Lay out online CPUs by their places, and the others separately; then draw."""
        rows = [cpu.row for cpu in self.facts.cpus]
        content = tuple(nested(row for row in rows if row["online"]))
        self._choose_columns(content)
        machine = in_rows(self._areas(content), _GAP, _MACHINE_ASPECT)
        areas = [_bare(machine)] if content else []
        offline = [cpu for cpu in self.facts.cpus if not cpu.row["online"]]
        if offline:
            loose = in_rows([self._cell(cpu) for cpu in offline], _CORE_GAP, _OFFLINE_ASPECT)
            areas.append(_framed(_Frame("Offline", "", "f0"), loose))
        drawn = in_columns(areas, 1, _GAP)
        parts = [part for x, y, area in drawn.placed for part in self._drawn(area, x, y)]
        return Drawing(joined(parts, "\n"), drawn.width, drawn.height)

    def _choose_columns(self, content: Sequence[Nested]) -> None:
        """Choose from the inside out: equal places must look the same, even if one lacks a core."""
        groups = list(_groups(content, ""))
        cores = max((_cores(inside) for _, inside in groups), key=len)
        self.columns["core"] = in_rows(
            [self._core(core) for core in cores], _CORE_GAP, _ASPECTS["l3"]
        ).columns
        for level in reversed([key for key, _ in LEVELS]):
            found = [inside for key, inside in groups if key == level]
            if found:
                largest = self._areas(max(found, key=len))
                self.columns[level] = in_rows(largest, _GAP, _ASPECTS[level]).columns

    def _areas(self, content: Sequence[Nested]) -> list[SizedArea[_Content]]:
        """Lay out places; group cores without a place."""
        loose = in_columns([self._core(core) for core in _cores(content)], self.columns["core"], _CORE_GAP)
        areas = [_bare(loose)] if loose.placed else []
        return areas + [self._place(member) for member in content if isinstance(member, TopologyDomain)]

    def _place(self, place: TopologyDomain) -> SizedArea[_Content]:
        caption = self.facts.captions.get(place.number, "") if place.level == "node" else ""
        inside = in_columns(self._areas(place.inside), self.columns[place.level], _GAP)
        return _framed(_Frame(place.name, caption, _FRAMES[place.level]), inside)

    def _core(self, core: Core) -> SizedArea[_Content]:
        cells = [self._cell(self.cells.cpus[row["cpu"]]) for row in core.rows]
        inside = in_columns(cells, min(len(cells), _CPUS_PER_ROW), 2.0)
        return _padded(core, inside, _CORE_PADDING, _CORE_PADDING)

    def _cell(self, cpu: CPU) -> SizedArea[_Content]:
        return SizedArea(cpu, self.cells.width, self.cells.height)

    def _drawn(self, area: SizedArea[_Content], x: float, y: float) -> Iterator[Markup]:
        match area.content:
            case CPU() as cpu:
                yield self.cells.drawn(cpu, x, y)
            case _Frame() as frame:
                yield box(x, y, area.width, area.height, class_=f"fr {frame.classes}", rx=5)
                yield text_at(frame.name, x + _PADDING, y + 16, "b")
                if frame.caption:
                    yield text_at(frame.caption, x + area.width - _PADDING, y + 16, "m e")
            case Core():
                yield box(x, y, area.width, area.height, class_="fr f3", rx=4)
            case None:
                pass
        for dx, dy, inner in area.inside:
            yield from self._drawn(inner, x + dx, y + dy)


def _bare(rows: Rows[_Content]) -> SizedArea[_Content]:
    return SizedArea(None, rows.width, rows.height, rows.placed)


def _cores(content: Sequence[Nested]) -> list[Core]:
    return [member for member in content if isinstance(member, Core)]


def _groups(content: Sequence[Nested], level: str) -> Iterator[tuple[str, Sequence[Nested]]]:
    """Yield the groups of every level; the machine's own group has no name."""
    yield level, content
    for member in content:
        if isinstance(member, TopologyDomain):
            yield from _groups(member.inside, member.level)


def _framed(frame: _Frame, inside: Rows[_Content]) -> SizedArea[_Content]:
    """Put a frame around areas, wide enough for its own words."""
    heading = text_width(frame.name, 12, bold=True)
    if frame.caption:
        heading += 16 + text_width(frame.caption, 12)
    width = max(inside.width, heading)
    area = _padded(frame, inside, _PADDING, _HEADING)
    return SizedArea(area.content, width + 2 * _PADDING, area.height, area.inside)


def _padded(content: _Content, inside: Rows[_Content], padding: float, top: float) -> SizedArea[_Content]:
    placed = tuple((x + padding, y + top, area) for x, y, area in inside.placed)
    return SizedArea(content, inside.width + 2 * padding, inside.height + top + padding, placed)


MOST_OWNERS = 60
"""The maximum number of owners in the legend: the answer's table has all, and each CPU shows its owner.
"""

STATES = {
    CPUUse.SHARED: ("sh", "", "shared pool"),
    CPUUse.RESERVED: ("rs", "R", "reserved for the system"),
    CPUUse.NONE: ("no", "?", "neither shared nor exclusive"),
    CPUUse.OFFLINE: ("off", "off", "offline"),
}
"""How CPUs without an owner are drawn: class, letters, and meaning."""
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
        notes=[*_more_owners(facts), *notes_of(facts), *facts.notes],
        description=_description(facts),
    )


def _states(facts: MachineFacts) -> Iterator[LegendItem]:
    for use, (classes, mark, meaning) in STATES.items():
        if cpus := facts.having(use):
            mark_class = "m" if use is CPUUse.OFFLINE else ""
            yield LegendItem(classes, "", mark, mark_class, f"{meaning}: {cpus}")


def _owners(facts: MachineFacts) -> Iterator[LegendItem]:
    for place, owner in enumerate(facts.owners[:MOST_OWNERS]):
        color, hatch = owner_class(place), owner_hatch(place)
        yield LegendItem(
            color,
            f"h-{hatch}" if hatch else "",
            owner.mark,
            f"x{color[1:]}",
            f"{owner.name}: {owner.cpus or 'no CPUs'}",
        )


def _more_owners(facts: MachineFacts) -> Iterator[str]:
    more = facts.owners[MOST_OWNERS:]
    if more:
        which = f"{counted(len(more), 'more owner')}, {more[0].mark} to {more[-1].mark}"
        yield f"and {which}: hover over a CPU to see its owner"


def notes_of(facts: MachineFacts) -> Iterator[str]:
    """Explain the signs in addition to colours and letters, if there are any."""
    if any(cpu.row.get("shared") for cpu in facts.cpus if cpu.use is CPUUse.RESERVED):
        yield "R: the reserved CPUs are also part of the shared pool"
    if disputed := [cpu.number for cpu in facts.cpus if cpu.disputed]:
        many = counted(len(disputed), "CPU")
        yield f"+: {many} exclusive to several owners, or exclusive and shared or reserved"
    for flag, meaning in _FLAGS.items():
        if cpus := facts.flagged(flag):
            guess = flag == "efficiency" and any(cpu.row.get("typeGuessed") for cpu in facts.cpus)
            yield f"{meaning}{f' ({GUESSED})' if guess else ''}: {cpus}"


def _description(facts: MachineFacts) -> str:
    """Describe in words what the picture shows."""
    states = [
        f"{meaning}: CPUs {cpus}" for use, (_, _, meaning) in STATES.items() if (cpus := facts.having(use))
    ]
    owners = [f"{owner.mark} {owner.name}: CPUs {owner.cpus or 'none'}" for owner in facts.owners]
    return ". ".join([*facts.lines, *states, *owners, *_more_owners(facts), *notes_of(facts), *facts.notes])


T = TypeVar("T")

_EMPTY_COSTS = 2.5
"""The penalty of an arrangement whose last row would be completely empty."""


@dataclass(frozen=True, slots=True)
class SizedArea(Generic[T]):
    """Something with a size and content: areas with their places, relative to its corner."""

    content: T
    width: float
    height: float
    inside: tuple[tuple[float, float, SizedArea[T]], ...] = ()


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """Areas in rows and columns, and the size of all."""

    placed: tuple[tuple[float, float, SizedArea[T]], ...]
    width: float
    height: float
    columns: int


def in_rows(areas: Sequence[SizedArea[T]], gap: float, aspect: float) -> Rows[T]:
    """Arrange areas in even rows, so that the total is *aspect* times as wide as high."""
    if not areas:
        return Rows((), 0, 0, 1)
    return min((_grid(areas, columns, gap) for columns in _columns(len(areas))), key=_Cost(areas, aspect))


def in_columns(areas: Sequence[SizedArea[T]], columns: int, gap: float) -> Rows[T]:
    """Arrange areas in rows of this many columns."""
    return _grid(areas, max(columns, 1), gap) if areas else Rows((), 0, 0, 1)


@dataclass(frozen=True, slots=True)
class _Cost(Generic[T]):
    areas: Sequence[SizedArea[T]]
    aspect: float

    def __call__(self, rows: Rows[T]) -> float:
        if not rows.width or not rows.height:
            return inf
        lines = ceil(len(self.areas) / rows.columns)
        empty = (lines * rows.columns - len(self.areas)) / rows.columns
        return abs(log(rows.width / rows.height / self.aspect)) + _EMPTY_COSTS * empty


def _columns(count: int) -> Iterator[int]:
    """Yield the numbers of columns that fill as many rows as they need."""
    yield from sorted({ceil(count / lines) for lines in range(1, count + 1)})


def _grid(areas: Sequence[SizedArea[T]], columns: int, gap: float) -> Rows[T]:
    lines = [areas[start : start + columns] for start in range(0, len(areas), columns)]
    widths = [
        max(line[column].width for line in lines if column < len(line)) for column in range(len(lines[0]))
    ]
    placed: list[tuple[float, float, SizedArea[T]]] = []
    y = 0.0
    for line in lines:
        x = 0.0
        for area, width in zip(line, widths, strict=False):
            placed.append((x, y, area))
            x += width + gap
        y += max(area.height for area in line) + gap
    return Rows(tuple(placed), sum(widths) + gap * (len(widths) - 1), y - gap, columns)
