"""A machine as a map on a page: nested boxes as wide as the page, each CPU with its owner.

Unlike the picture of a machine it is laid out by the browser, and its CPUs can be pointed at one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuctl.exports.machine_facts import CPU, CPUUse, MachineFacts, flags_of
from cpuctl.exports.machine_picture import (
    STATES,
    Core,
    Nested,
    cpu_label,
    cpu_words,
    nested,
    notes_of,
)
from cpuctl.exports.page import Attributes, Markup, element, joined, text
from cpuctl.exports.palette import DARK, HATCHES, LIGHT, OWNERS, Theme, owner_class, owner_hatch, text_on

_USES = {CPUUse.PLAIN: "sh"} | {use: look[0] for use, look in STATES.items()}
_STRIPES = {
    "rising": "repeating-linear-gradient(135deg, #000 0 2px, #fff 2px 5px)",
    "falling": "repeating-linear-gradient(45deg, #000 0 2px, #fff 2px 5px)",
    "dots": "repeating-linear-gradient(90deg, #000 0 3px, #fff 3px 9px)",
    "lines": "linear-gradient(#000 0 2px, #fff 2px)",
    "bars": "repeating-linear-gradient(90deg, #000 0 1px, #fff 1px 4px)",
}
"""The stripes below the letters of owners that share a colour: one for each hatching."""


def map_style() -> str:
    """Write the style sheet of the map: common rules, and colours for light and dark."""
    owners = (
        f".o{place} {{ background: {color}; color: {text_on(color)}; }}" for place, color in enumerate(OWNERS)
    )
    stripes = (
        f".{_hatch_class(name)}::after {{ background: {_STRIPES[name]}; }}" for name in HATCHES if name
    )
    return "\n".join(
        [
            _LAYOUT,
            *owners,
            *stripes,
            f":root {{ {_colors(LIGHT)} }}",
            f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_colors(DARK)} }} }}",
        ]
    )


_LAYOUT = """.map { display: flex; flex-wrap: wrap; gap: .6rem; align-items: flex-start; }
.map .box { border: 1px solid var(--frame-line); border-radius: .3rem; padding: .3rem .5rem .5rem;
  background: var(--frame-0); max-width: 100%; }
.map .box .box { background: var(--frame-1); } .map .box .box .box { background: var(--frame-2); }
.map .box > b { display: flex; gap: 1rem; justify-content: space-between; font-size: .75rem;
  padding: 0 0 .3rem; }
.map .box > b small { font-weight: normal; font-size: inherit; color: var(--muted); }
.map .in { display: flex; flex-wrap: wrap; gap: .4rem; align-items: flex-start; }
.core { display: inline-flex; flex-wrap: wrap; gap: 2px; padding: 2px; border-radius: 4px;
  background: var(--frame-3); }
.cpu, .swatch { position: relative; display: inline-flex; flex-direction: column; align-items: center;
  justify-content: center; min-width: 2.1rem; height: 2.1rem; padding: 0 2px; font-size: .6875rem;
  line-height: 1.05; font-weight: bold; border: 1px solid var(--edge); border-radius: 3px; cursor: default;
  font-variant-numeric: tabular-nums; print-color-adjust: exact; }
.swatch { height: 1.4rem; vertical-align: middle; }
.cpu i { font-style: normal; }
.cpu::after, .swatch::after { content: none; }
.cpu[class*=" h-"], .swatch[class*=" h-"] { padding-bottom: 4px; }
[class*=" h-"]::after { content: ""; position: absolute; left: 0; right: 0; bottom: 0; height: 4px;
  border-radius: 0 0 2px 2px; print-color-adjust: exact; }
.sh { background: var(--pool); color: var(--ink); } .rs { background: var(--reserved); color: var(--ink); }
.no { background: var(--pool); color: var(--bad); border: 2px solid var(--bad); }
.off { background: none; color: var(--muted); border-style: dashed; }
.cpu.two { box-shadow: 0 0 0 2px var(--bad); }
.cpu.iso::before { content: ""; position: absolute; top: 0; right: 0; border: 3px solid var(--edge);
  border-left-color: transparent; border-bottom-color: transparent; }
.cpu.eff { background-image: radial-gradient(circle at 5px 5px, currentcolor 2px, transparent 2.5px); }
.legend { display: flex; flex-wrap: wrap; gap: .35rem 1.1rem; margin: .6rem 0; padding: 0; list-style: none;
  font-size: .85rem; }"""


def _colors(theme: Theme) -> str:
    frames = (f"--frame-{depth}: {color};" for depth, color in enumerate(theme.frames))
    return " ".join(
        [
            *frames,
            f"--frame-line: {theme.frame_line};",
            f"--pool: {theme.pool};",
            f"--reserved: {theme.reserved};",
            f"--edge: {theme.line};",
        ]
    )


def cpu_map(facts: MachineFacts, name: str = "map") -> Markup:
    """Write the map of a machine, with an id on its page; the same facts give the same text.

    Every CPU has its number in ``data-cpu``, the marks of its owners in ``data-o``, and its full
    description as its title.
    """
    drawer = _Drawer(
        {cpu.number: cpu for cpu in facts.cpus},
        {owner.mark: place for place, owner in enumerate(facts.owners)},
        {owner.mark: owner.name for owner in facts.owners},
        facts,
    )
    boxes = list(drawer.boxes(nested(cpu.row for cpu in facts.cpus if cpu.row["online"])))
    if offline := [cpu for cpu in facts.cpus if not cpu.row["online"]]:
        boxes.append(_box("Offline", "", joined(map(drawer.cell, offline))))
    return element("div", {"class": "map", "id": name}, joined(boxes, "\n"))


def map_legend(facts: MachineFacts) -> Markup:
    """Explain what a map uses in addition to the letters of owners, which are in a table."""
    notes = (element("p", {"class": "muted"}, text(note)) for note in (*notes_of(facts), *facts.notes))
    return joined([_legend(facts), *notes], "\n")


class _Drawer(NamedTuple):
    """What is known about every CPU by its number, and about every owner by its mark."""

    cpus: dict[int, CPU]
    owners: dict[str, int]
    names: dict[str, str]
    facts: MachineFacts

    def boxes(self, content: Iterable[Nested]) -> Iterator[Markup]:
        for member in content:
            if isinstance(member, Core):
                cells = joined(self.cell(self.cpus[row["cpu"]]) for row in member.rows)
                yield element("span", {"class": "core"}, cells)
            else:
                caption = self.facts.captions.get(member.number, "") if member.level == "node" else ""
                yield _box(member.name, caption, joined(self.boxes(member.inside)))

    def cell(self, cpu: CPU) -> Markup:
        label, classes = cpu_label(cpu), ["cpu", *self._look(cpu)]
        flags = flags_of(cpu.row)
        classes += [name for name, flag in (("iso", "isolated"), ("eff", "efficiency")) if flag in flags]
        classes += ["two"] if cpu.disputed else []
        attributes: Attributes = {
            "class": " ".join(classes),
            "data-cpu": cpu.number,
            "data-o": " ".join(cpu.marks),
            "title": self._words(cpu),
        }
        letters = element("i", {}, text(label)) if label else Markup("")
        return element("span", attributes, text(f"{cpu.number} "), letters)

    def _words(self, cpu: CPU) -> str:
        """Describe a CPU completely, visible facts first, for screen readers."""
        number, *more = cpu_words(cpu, self.names).split("; ")
        label = cpu_label(cpu)
        if label and not cpu.marks and more:
            more[0] = f"{label}: {more[0]}"
        return "; ".join([number, *filter(None, more)])

    def _look(self, cpu: CPU) -> list[str]:
        if cpu.use is not CPUUse.OWNED:
            return [_USES[cpu.use]]
        return owner_classes(self.owners.get(cpu.marks[0], 0))


def owner_classes(place: int) -> list[str]:
    """Return the classes of the owner at this position."""
    hatch = owner_hatch(place)
    return [owner_class(place), *([_hatch_class(hatch)] if hatch else [])]


def _hatch_class(hatch: str) -> str:
    return f"h-{hatch}"


def _box(name: str, caption: str, inside: Markup) -> Markup:
    small = element("small", {}, text(caption)) if caption else Markup("")
    head = element("b", {}, element("span", {}, text(name)), small)
    return element("div", {"class": "box"}, head, element("div", {"class": "in"}, inside))


def _legend(facts: MachineFacts) -> Markup:
    """Explain CPUs without an owner; owners are in the table below."""
    items = [
        element(
            "li",
            {},
            element("span", {"class": f"swatch {classes}", "aria-hidden": "true"}, text(mark)),
            text(f" {meaning}: {cpus}"),
        )
        for use, (classes, mark, meaning) in STATES.items()
        if (cpus := facts.having(use))
    ]
    return element("ul", {"class": "legend"}, joined(items)) if items else Markup("")
