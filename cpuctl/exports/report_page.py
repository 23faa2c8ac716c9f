"""The page of a report: cards on top, collapsible parts, a map of CPUs, findings, and a script.

One file that needs no network. Without the script, everything is visible, but nothing is highlighted or
filtered.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from cpuctl.exports.cpu_map import cpu_map, map_legend, map_style
from cpuctl.exports.machine_facts import MachineFacts
from cpuctl.exports.page import (
    BASE_STYLE,
    MARKS,
    POLICY,
    SEVERITY_TONES,
    Markup,
    Part,
    StyledText,
    element,
    footer,
    html_document,
    joined,
    leaf,
    part_markup,
    styled_markup,
    text,
    verdict_markup,
)


class Head(NamedTuple):
    """The top of the page: the title, the overall state, facts; ``above`` is the page that links here."""

    title: str
    verdict: StyledText
    facts: Sequence[str] = ()
    above: str = ""


class Card(NamedTuple):
    """The state of one part of a report, in a word and a sentence; ``link`` leads to the details."""

    title: str
    status: StyledText
    link: str


class Fact(NamedTuple):
    """A finding: its head (severity, name, subject), the problem, and what to do, or where to look."""

    severity: str
    code: str
    about: str
    message: str
    detail: str = ""
    fix: str = ""
    see: str = ""
    pod: str = ""


class Facts(NamedTuple):
    """Findings, one below the other."""

    facts: tuple[Fact, ...]


class Fold(NamedTuple):
    """A collapsible part inside another one; ``pod`` is the pod that it is about."""

    title: StyledText
    parts: tuple[Item, ...]
    pod: str = ""


class CPUMap(NamedTuple):
    """The CPUs of a machine, with details on hover, and rows of owners in the same chapter, with its id."""

    facts: MachineFacts
    name: str = "map"


class Unknowns(NamedTuple):
    """What is unknown, one item per line."""

    lines: tuple[str, ...]


Item = Part | Facts | Fold | CPUMap | Unknowns

_HINT = "Hover over a CPU or use the arrow keys; press Enter to show only its pod."


class Chapter(NamedTuple):
    """A part of the report under its heading; a ``folded`` one is closed until the reader opens it."""

    link: str
    title: str
    items: tuple[Item, ...]
    folded: bool = False


_STYLE = """
body { max-width: 100rem; padding: 1.5rem clamp(1rem, 3vw, 3rem); }
[hidden] { display: none !important; }
.skip { position: absolute; left: -100rem; } .skip:focus { left: 1rem; top: .5rem; background: var(--paper);
  padding: .3rem .6rem; z-index: 3; }
a { color: inherit; }
.up { margin: 0 0 .3rem; font-size: .9rem; }
:focus-visible { outline: 2px solid var(--ink); outline-offset: 2px; border-radius: 3px; }
header h1 { overflow-wrap: anywhere; } header .muted { margin: .1rem 0; }
.muted { color: var(--muted); } .unknown { color: var(--unknown); }
:root { --unknown: #6a4a8c; } .small { font-size: .85rem; }
@media screen and (prefers-color-scheme: dark) { :root { --unknown: #c8a8f0; } }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(11rem, 100%), 1fr)); gap: .6rem;
  margin: 1rem 0; padding: 0; list-style: none; }
.cards a { display: block; font-size: .93rem; height: 100%; padding: .5rem .7rem;
  border: 1px solid var(--line);
  border-left: 4px solid var(--line); border-radius: .35rem; text-decoration: none; }
.cards a:hover { background: var(--head); }
.cards b { display: block; font-size: .8rem; letter-spacing: .03em; text-transform: uppercase;
  color: var(--muted); }
.cards a.good, .cards a.warn, .cards a.bad, .cards a.unknown { color: var(--ink); }
.cards a.good { border-left-color: var(--good); } .cards a.warn { border-left-color: var(--warn); }
.cards a.bad { border-left-color: var(--bad); } .cards a.unknown { border-left-color: var(--unknown); }
.bar { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: .4rem .6rem;
  align-items: center; margin: 0 -.5rem; padding: .45rem .5rem; background: var(--paper);
  border-bottom: 1px solid var(--line); font-size: .9rem; }
.bar input, .bar button { font: inherit; color: inherit; background: var(--paper); padding: .2rem .6rem;
  border: 1px solid var(--muted); border-radius: .3rem; }
.bar input { width: 16rem; max-width: 100%; } .bar button:hover { background: var(--head); }
.bar .far { margin-left: auto; display: flex; gap: .4rem; }
section { scroll-margin-top: 3.5rem; }
section > details > summary { margin: 1.6rem 0 .5rem; padding-bottom: .25rem; cursor: pointer;
  border-bottom: 1px solid var(--line); }
summary h2 { display: inline; margin: 0; padding: 0; border: 0; }
summary h3 { display: inline; margin: 0; font-size: 1rem; }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
details details { margin: .4rem 0; padding: .3rem .7rem; border: 1px solid var(--line);
  border-radius: .35rem; }
details details > summary { cursor: pointer; }
table { margin-bottom: .3rem; } th, td { padding: .22rem .6rem; }
tbody tr:hover, tr.same { background: var(--head); }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(34rem, 100%), 1fr)); gap: .5rem;
  margin: .5rem 0; padding: 0; list-style: none; }
.facts li { padding: .4rem .7rem; color: var(--ink); border-left: 4px solid var(--line);
  background: var(--tint); border-radius: .2rem; break-inside: avoid; }
.facts li.bad { border-left-color: var(--bad); } .facts li.warn { border-left-color: var(--warn); }
.facts p { margin: 0; } .facts .head { font-weight: bold; } .facts .head span { font-weight: normal; }
:root { --tint: #f6f7f9; } @media screen and (prefers-color-scheme: dark) { :root { --tint: #1e2024; } }
.unknowns { margin: .5rem 0; padding: 0; list-style: none; }
@media screen and (max-width: 44rem) { .bar { position: static; } }
code { font: .92em/1.45 'Liberation Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace;
  overflow-wrap: anywhere; white-space: pre-wrap; }
.said { position: sticky; bottom: .5rem; z-index: 1; min-height: 2.4em; border: 1px solid var(--line);
  padding: .35rem .6rem; margin: .5rem 0; background: var(--head);
  border-radius: .3rem; }
.map.lit .cpu:not(.same), .map.some .cpu:not(.hit) { background: var(--paper); color: var(--muted); }
.map.lit .cpu:not(.same)::after, .map.some .cpu:not(.hit)::after { display: none; }
.cpu.same, .cpu.hit { box-shadow: 0 0 0 2px var(--ink); } .cpu:focus-visible { z-index: 1; }
@media screen and (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
@media print {
  .bar, .skip { display: none; } .said { display: none; }
  details { display: block; } details::details-content { content-visibility: visible; display: block; }
  .cards a, .core, .box, .facts li { break-inside: avoid; }
  section > details > summary { break-after: avoid; }
  .box .box .box { break-inside: auto; } .table { font-size: 9pt; } td { overflow-wrap: anywhere; }
  summary::marker { content: ""; } summary { list-style: none; }
}
"""


def report_page(head: Head, cards: Sequence[Card], chapters: Sequence[Chapter], alone: str = "pod") -> Markup:
    """Write the page; the same content gives the same text. *alone* lists what can be shown separately."""
    back = element("p", {"class": "up"}, element("a", {"href": head.above}, text("All nodes")))
    top = element(
        "header",
        {},
        *([back] if head.above else []),
        element("h1", {}, element("bdi", {}, text(head.title))),
        verdict_markup(head.verdict),
        *(element("p", {"class": "muted"}, element("bdi", {}, text(each))) for each in head.facts),
    )
    nav = element("nav", {"aria-label": "Sections of the report"}, _cards(cards))
    main = element("main", {"id": "main", "tabindex": -1}, joined(map(_chapter, chapters), "\n"))
    skip = element("a", {"class": "skip", "href": "#main"}, text("Skip to the sections"))
    script = element("script", {}, Markup(SCRIPT))
    # This one script is known by its hash: no other runs, even if one got in through a name.
    digest = b64encode(sha256(SCRIPT.encode()).digest()).decode()
    return html_document(
        head.title,
        [skip, top, nav, _bar(alone), main, footer(), script],
        policy=f"{POLICY}; script-src 'sha256-{digest}'",
        style=f"{BASE_STYLE}{map_style()}{_STYLE}",
        metas=[leaf("meta", {"name": "color-scheme", "content": "light dark"})],
    )


def _bar(alone: str) -> Markup:
    """Write the tools, which are shown by the script that implements them."""
    pod = joined(
        [
            element("label", {"for": "pod"}, text(f"Filter by {alone}")),
            text(" "),
            leaf("input", {"id": "pod", "type": "search", "list": "pod-names", "autocomplete": "off"}),
            element("datalist", {"id": "pod-names"}),
            text(" "),
            _button("clear", "Show all"),
        ]
    )
    folding = joined(
        [_button("unfold", "Expand all"), _button("fold", "Collapse all"), _button("print", "Print")]
    )
    return element(
        "form",
        {
            "class": "bar",
            "id": "bar",
            "role": "search",
            "aria-label": "Filter and layout",
            "hidden": "hidden",
        },
        element("span", {"id": "by-pod"}, pod),
        element("span", {"id": "told", "role": "status"}),
        element("span", {"class": "far"}, folding),
    )


def _button(name: str, words: str) -> Markup:
    return element("button", {"type": "button", "id": name}, text(words))


def _cards(cards: Sequence[Card]) -> Markup:
    items = (
        element(
            "li",
            {},
            element(
                "a",
                {"href": f"#{card.link}", "class": card.status.tone},
                element("b", {}, text(card.title)),
                _marked(card.status),
            ),
        )
        for card in cards
    )
    return element("ul", {"class": "cards"}, joined(items, "\n"))


def _marked(words: StyledText) -> Markup:
    """Write text with only its mark coloured: if most of a page is red, nothing stands out."""
    mark = element("span", {"class": words.tone}, text(MARKS[words.tone])) if words.tone else Markup("")
    return joined([mark, styled_markup(StyledText(words.text))])


def _chapter(chapter: Chapter) -> Markup:
    heading = element("summary", {}, element("h2", {"id": f"{chapter.link}-title"}, text(chapter.title)))
    folded = {"data-folded": ""} if chapter.folded else {}
    details = element(
        "details", {"open": "open", **folded}, joined([heading, *map(_item, chapter.items)], "\n")
    )
    return element("section", {"id": chapter.link, "aria-labelledby": f"{chapter.link}-title"}, details)


def _item(item: Item) -> Markup:
    match item:
        case Facts(facts=facts):
            return element("ul", {"class": "facts"}, joined(map(_fact, facts), "\n"))
        case Fold():
            return _fold(item)
        case Unknowns(lines=lines):
            items = (element("li", {}, _marked(StyledText(line, "unknown"))) for line in lines)
            return element("ul", {"class": "unknowns"}, joined(items, "\n"))
        case CPUMap(facts=machine, name=name):
            hint = element("p", {"class": "said"}, text(_HINT))
            return joined([cpu_map(machine, name), hint, map_legend(machine)], "\n")
        case _:
            return part_markup(item)


def _fold(fold: Fold) -> Markup:
    heading = element("summary", {}, element("h3", {}, _marked(fold.title)))
    owner = {"data-pod": fold.pod} if fold.pod else {}
    return element(
        "details",
        {"open": "open", "data-folded": "", **owner},
        joined([heading, *map(_item, fold.parts)], "\n"),
    )


def _fact(fact: Fact) -> Markup:
    tone = SEVERITY_TONES[fact.severity]
    head = [
        element("span", {"class": tone}, styled_markup(StyledText(fact.severity, tone))),
        text(" "),
        element("bdi", {}, text(fact.about)),
        text(" "),
        element("span", {"class": "muted small"}, text(fact.code)),
    ]
    lines = [element("p", {"class": "head"}, *head), element("p", {}, element("bdi", {}, text(fact.message)))]
    if fact.detail:
        lines.append(element("p", {"class": "muted small"}, element("bdi", {}, text(fact.detail))))
    for label, command in (("Fix: ", fact.fix), ("See: ", fact.see)):
        if command:
            lines.append(element("p", {"class": "small"}, text(label), element("code", {}, text(command))))
    return element("li", {"class": tone, "data-pod": fact.pod}, joined(lines))


SCRIPT = """'use strict';
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const by = (id) => document.getElementById(id);
  const counted = (count, one, more) => `${count} ${count === 1 ? one : more}`;
  const bar = by('bar'), pod = by('pod'), told = by('told');
  const rows = all('[data-pod]');

  // What is worth a look only now and then is folded; without this script, and on paper, it is open.
  const folded = all('details[data-folded]');
  folded.forEach((each) => { each.open = false; });
  const folds = all('main details');
  let before = [];
  addEventListener('beforeprint', () => {
    before = folds.filter((each) => !each.open);
    before.forEach((each) => { each.open = true; });
  });
  addEventListener('afterprint', () => before.forEach((each) => { each.open = false; }));
  const unfold = (id) => {
    const found = id && by(id);
    if (found) all(':scope > details', found).forEach((each) => { each.open = true; });
    for (let each = found && found.closest('details'); each; each = each.parentElement.closest('details')) {
      each.open = true;
    }
  };
  const follow = () => unfold(decodeURIComponent(location.hash.slice(1)));
  addEventListener('hashchange', follow);
  all('a[href^="#"]').forEach((each) => each.addEventListener('click', () => unfold(each.hash.slice(1))));
  follow();

  // A map: CPUs of one owner light up together, by mouse, touch or keys. Its owners stand in its section.
  const marks = (each) => (each.dataset.o || '').split(' ').filter(Boolean);
  const wire = (map) => {
    const section = map.closest('section'), said = section.querySelector('.said');
    const cells = all('.cpu', map), owners = all('tr[data-o]', section);
    const byMark = new Map();
    [...cells, ...owners].forEach((each) => marks(each).forEach((mark) => {
      if (!byMark.has(mark)) byMark.set(mark, []);
      byMark.get(mark).push(each);
    }));
    const hint = said.textContent;
    let lit = [];
    const light = (wanted) => {
      lit.forEach((each) => each.classList.remove('same'));
      lit = wanted.flatMap((mark) => byMark.get(mark) || []);
      lit.forEach((each) => each.classList.add('same'));
      map.classList.toggle('lit', wanted.length > 0);
    };
    const show = (cell) => {
      said.textContent = cell ? cell.getAttribute('aria-label') : hint;
      light(cell ? marks(cell) : []);
    };
    let current = 0;
    const stand = (place) => {
      cells[current].tabIndex = -1;
      current = place;
      cells[current].tabIndex = 0;
      cells[current].focus();
    };
    const above = (step) => {
      const here = cells[current].getBoundingClientRect();
      let best = current, cost = Infinity;
      cells.forEach((each, place) => {
        const there = each.getBoundingClientRect();
        const down = (there.top - here.top) * step;
        const found = down + 2 * Math.abs(there.left - here.left);
        if (down > 4 && found < cost) { best = place; cost = found; }
      });
      return best;
    };
    const ways = {
      ArrowRight: () => Math.min(current + 1, cells.length - 1),
      ArrowLeft: () => Math.max(current - 1, 0),
      ArrowDown: () => above(1),
      ArrowUp: () => above(-1),
      Home: () => 0,
      End: () => cells.length - 1,
    };
    const choose = (cell) => {
      const mine = marks(cell).flatMap((mark) => byMark.get(mark)).find((each) => each.dataset.pod);
      filter(mine && pod.value !== mine.dataset.pod ? mine.dataset.pod : '');
    };
    const words = section.querySelector('h2').textContent;
    map.setAttribute('role', 'listbox');
    map.setAttribute('aria-label', `${words}: CPUs by location, each with its owner`);
    cells.forEach((each, place) => {
      each.setAttribute('role', 'option');
      each.setAttribute('aria-selected', 'false');
      each.setAttribute('aria-label', each.title);
      each.removeAttribute('title');
      each.tabIndex = place ? -1 : 0;
      each.addEventListener('mouseenter', () => show(each));
      each.addEventListener('focus', () => { current = place; show(each); });
      each.addEventListener('blur', () => show(null));
      each.addEventListener('click', () => { stand(place); choose(each); });
    });
    map.addEventListener('mouseleave', () => show(null));
    map.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (ways[event.key]) { event.preventDefault(); stand(ways[event.key]()); }
      if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(cells[current]); }
      if (event.key === 'Escape') filter('');
    });
    owners.forEach((each) => {
      each.addEventListener('mouseenter', () => light(marks(each)));
      each.addEventListener('mouseleave', () => light([]));
    });
    return (wanted, is) => {
      const named = wanted ? owners.filter((each) => each.dataset.pod && is(each)) : [];
      const mine = new Set(named.flatMap(marks));
      map.classList.toggle('some', Boolean(wanted));
      return cells.filter((each) => {
        const hit = marks(each).some((mark) => mine.has(mark));
        each.classList.toggle('hit', hit);
        each.setAttribute('aria-selected', String(hit));
        return hit;
      });
    };
  };

  // One pod alone: rows of others go away, and CPUs of others lose their colours.
  const filter = (text) => {
    pod.value = text;
    const wanted = text.trim().toLowerCase();
    const is = (each) => !wanted || each.dataset.pod.toLowerCase().includes(wanted);
    let seen = 0;
    rows.forEach((each) => { each.hidden = !is(each); seen += !each.hidden; });
    const hits = maps.flatMap((mark) => mark(wanted, is)).map((each) => each.dataset.cpu);
    const cpus = new Set(hits).size;
    const found = [counted(seen, 'entry', 'entries'), ...(maps.length ? [counted(cpus, 'CPU', 'CPUs')] : [])];
    told.textContent = wanted ? `${found.join(', ')} found` : '';
  };
  const maps = all('.map').filter((each) => each.querySelector('.cpu')).map(wire);
  const names = [...new Set(rows.map((each) => each.dataset.pod).filter(Boolean))].sort();
  names.slice(0, 500).forEach((name) => by('pod-names').append(new Option(name)));
  by('by-pod').hidden = !names.length;
  pod.addEventListener('input', () => filter(pod.value));
  by('clear').addEventListener('click', () => { filter(''); pod.focus(); });
  by('fold').addEventListener('click', () => folds.forEach((each) => { each.open = false; }));
  by('unfold').addEventListener('click', () => folds.forEach((each) => { each.open = true; }));
  by('print').addEventListener('click', () => print());
  bar.addEventListener('submit', (event) => event.preventDefault());
  bar.hidden = false;

  // What is wider than the page is scrolled by keys, too.
  const reach = () => all('.table, figure').forEach((each) => {
    const wide = each.scrollWidth > each.clientWidth + 1;
    const fold = each.closest('section');
    if (!wide) { ['tabindex', 'role', 'aria-label'].forEach((name) => each.removeAttribute(name)); return; }
    each.tabIndex = 0;
    each.setAttribute('role', 'group');
    const title = fold ? fold.querySelector('h2').textContent : 'Table';
    each.setAttribute('aria-label', `${title}, scrollable`);
  });
  addEventListener('resize', reach);
  addEventListener('toggle', reach, true);
  reach();
})();
"""
