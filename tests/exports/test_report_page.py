"""The page of a report: one file, with one script allowed by its hash, and complete without it."""

from __future__ import annotations

import base64
import hashlib
import re
from cProfile import Profile
from html.parser import HTMLParser
from pstats import Stats
from typing import Any

from cpuctl.exports.cpu_map import cpu_map
from cpuctl.exports.machine_facts import CPU, CPUOwner, CPUUse, MachineFacts
from cpuctl.exports.page import Grid, Heading, StyledText, as_bytes
from cpuctl.exports.report_page import (
    SCRIPT,
    Card,
    Chapter,
    CPUMap,
    Fact,
    Facts,
    Fold,
    Head,
    Unknowns,
    report_page,
)

ATTACK = "</script><script>hit()</script><img src=x onerror=hit()>\u202e\u2066\x1b[31m\x00"


def row(cpu: int, owner: str = "") -> CPU:
    placed: Any = {
        "cpu": cpu,
        "online": True,
        "node": cpu // 64,
        "socket": cpu // 256,
        "core": cpu // 2,
        "l3": cpu // 16,
        "shared": not owner,
        "marks": [owner] if owner else [],
    }
    return CPU(placed, CPUUse.OWNED if owner else CPUUse.SHARED, (owner,) if owner else ())


def machine(cpus: int, name: str = "shop/db server") -> MachineFacts:
    found = tuple(row(cpu, "a" if cpu < 2 else "") for cpu in range(cpus))
    return MachineFacts(title="M", lines=(), cpus=found, owners=(CPUOwner("a", name, "0-1"),))


def example(name: str = "shop/db", cpus: int = 4) -> str:
    grid = Grid(
        (Heading("POD"), Heading("COUNT", numbers=True)),
        ((StyledText(name), StyledText("2")),),
        ({"data-pod": name, "data-o": "a"},),
    )
    fact = Fact("error", "Audit: wrong", name, f"{name} is wrong", "expected 1, found 2", name, name)
    chapters = [
        Chapter("findings", "Findings", (Facts((fact,)),)),
        Chapter("holders", "CPU owners", (CPUMap(machine(cpus, name)), grid)),
        Chapter("pods", "Pods", (Fold(StyledText(name, "bad"), (grid,), name),), folded=True),
        Chapter("state", "State files", (Unknowns((f"not recorded: {name}",)),)),
    ]
    cards = [Card("Pods", StyledText(name, "bad"), "pods")]
    page = report_page(Head(name, StyledText(f"1 error on {name}", "bad"), [name]), cards, chapters)
    return as_bytes(page).decode("ascii")


class Elements(HTMLParser):
    """Collects elements with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_only_the_hashed_script_runs_and_nothing_is_fetched() -> None:
    text = example()
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].replace("&#39;", "'") == (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{digest}'"
    )
    assert text.count("<script>") == 1
    assert f"<script>{SCRIPT}</script>" in text
    elements = Elements(text).found
    assert not {name for name, _ in elements} & {"img", "link", "iframe", "object", "embed", "base"}
    assert all(
        value and value.startswith("#") for _, has in elements for key, value in has.items() if key == "href"
    )
    assert not [key for _, has in elements for key in has if key.startswith("on") or key in ("src", "style")]


def test_names_are_escaped_everywhere() -> None:
    text, plain = example(ATTACK), example()
    assert text.count("<script") == plain.count("<script") == 1
    assert "<img" not in text
    assert [name for name, _ in Elements(text).found] == [name for name, _ in Elements(plain).found]
    assert not set(text) & {"\x1b", "\x00", "\u202e"}
    assert "&#8238;" not in text
    assert "\\u202e" in text
    assert not re.search(r"[\"'=][^<>]*onerror=hit[^&]*<", text)


def test_everything_is_visible_without_the_script() -> None:
    text = example()
    elements = Elements(text).found
    assert all("open" in has for name, has in elements if name == "details")
    assert [has.get("title") for _, has in elements if "data-cpu" in has] == [
        "CPU 0; a shop/db; socket 0, NUMA node 0, L3 0, core 0",
        "CPU 1; a shop/db; socket 0, NUMA node 0, L3 0, core 0",
        "CPU 2; in the shared pool; socket 0, NUMA node 0, L3 0, core 1",
        "CPU 3; in the shared pool; socket 0, NUMA node 0, L3 0, core 1",
    ]
    # Controls that need the script are hidden, and roles that promise interaction are absent.
    assert next(has for name, has in elements if name == "form")["hidden"] == "hidden"
    assert not [has for _, has in elements if has.get("role") in ("listbox", "option")]
    assert "role=status" not in text.split("<main")[1]


def test_the_page_has_an_accessible_structure() -> None:
    elements = Elements(example()).found
    names = [name for name, _ in elements]
    assert (names.count("main"), names.count("h1"), names.count("nav"), names.count("header")) == (1, 1, 1, 1)
    assert [has["lang"] for name, has in elements if name == "html"] == ["en"]
    assert all(has.get("scope") == "col" for name, has in elements if name == "th")
    ids = [has["id"] for _, has in elements if "id" in has]
    assert len(ids) == len(set(ids))
    assert {has["href"] for name, has in elements if name == "a"} <= {f"#{each}" for each in ids}
    sections = [has for name, has in elements if name == "section"]
    assert {has["aria-labelledby"] for has in sections} <= set(ids)
    first = next(has for name, has in elements if name == "a")
    assert (first["class"], first["href"]) == ("skip", "#main")


def test_a_page_of_several_links_to_the_index() -> None:
    clean = StyledText("No problems found", "good")
    alone, one_of_many = (
        as_bytes(report_page(Head("node7", clean, above=above), [], [])).decode()
        for above in ("", "index.html")
    )
    assert [has["href"] for name, has in Elements(alone).found if name == "a"] == ["#main"]
    assert [has["href"] for name, has in Elements(one_of_many).found if name == "a"] == [
        "#main",
        "index.html",
    ]


def test_the_same_content_gives_the_same_text() -> None:
    assert example() == example()


def test_a_large_machine_costs_as_much_as_two_of_half_its_size() -> None:
    sizes, calls = [], []
    for cpus in (256, 512, 1024):
        facts, profile = machine(cpus), Profile()
        text = profile.runcall(cpu_map, facts)
        sizes.append(len(text))
        calls.append(Stats(profile).total_calls)  # type: ignore[attr-defined]
    for counts in (sizes, calls):
        assert counts[2] - counts[1] < 2.2 * (counts[1] - counts[0])
    assert sizes[1] < 512 * 250
