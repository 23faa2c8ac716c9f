"""Pictures and pages as a real browser shows them: light, dark and printed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cpuctl.exports.palette import DARK, LIGHT, OWNERS
from tests.browser.chromium import Chromium, pixels
from tests.browser.conftest import PICTURES, TWO_NODES, Shown

pytestmark = pytest.mark.browser

# All coordinates are the page's, as laid out by the browser with its own fonts.
MEASURE = """
  const place = (element) => {
    const box = element.getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom];
  };
  const svg = document.querySelector('svg');
  const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent);
  const boxed = [...svg.querySelectorAll('g[data-cpu], g[data-use], g[data-node]')];
  return {
    page: place(svg),
    texts: texts.map((text) => [text.lastChild.textContent, ...place(text)]),
    boxes: boxed.map((group) => ({
      name: group.dataset.cpu || group.dataset.node || `${group.dataset.cpus} from ${group.dataset.from}`,
      box: place(group.querySelector('rect')),
      texts: [...group.querySelectorAll(':scope > text')].map((text) => place(text)),
      fill: getComputedStyle(group.querySelector('rect')).fill,
      ink: getComputedStyle(group.querySelector('text') || group).fill,
      use: group.dataset.use,
    })),
    paper: getComputedStyle(svg.querySelector('.bg')).fill,
    title: getComputedStyle(svg.querySelector('.h1')).fill,
    sizes: [...new Set(texts.map((text) => getComputedStyle(text).fontSize))],
  };
"""
SLACK = 1.0
"""Pixels by which a font may reach over its box: that of a letter holds its accents, too."""

Box = list[float]


def rgb(color: str) -> str:
    return "rgb({}, {}, {})".format(*(int(color[start : start + 2], 16) for start in (1, 3, 5)))


def inside(inner: Box, outer: Box) -> bool:
    return (
        inner[0] >= outer[0] - SLACK
        and inner[1] >= outer[1] - 3 * SLACK
        and inner[2] <= outer[2] + SLACK
        and inner[3] <= outer[3] + 3 * SLACK
    )


def overlap(one: Box, other: Box) -> bool:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    # A line's height is more than its letters': neighbouring lines may share that.
    return wide > SLACK and high > 4 * SLACK


@pytest.mark.parametrize("name", PICTURES)
def test_texts_fit_their_boxes_and_do_not_overlap(name: str, browser: Chromium, shown: Shown) -> None:
    found = browser.measured(shown(*PICTURES[name]), MEASURE)
    assert [text for text in found["texts"] if not inside(text[1:], found["page"])] == []
    out = [box["name"] for box in found["boxes"] for text in box["texts"] if not inside(text, box["box"])]
    assert out == []
    texts = sorted(found["texts"], key=lambda text: text[1])
    assert _covering(texts) == []
    assert set(found["sizes"]) <= {"11px", "12px", "20px"}


def _covering(texts: list[Any]) -> list[tuple[str, str]]:
    """Return the texts that overlap; *texts* are sorted from left to right."""
    bad = []
    for place, one in enumerate(texts):
        for other in texts[place + 1 :]:
            if other[1] > one[3]:
                break
            if overlap(one[1:], other[1:]):
                bad.append((one[0], other[0]))
    return bad


@pytest.mark.parametrize("name", PICTURES)
def test_boxes_do_not_overlap(name: str, browser: Chromium, shown: Shown) -> None:
    boxes = browser.measured(shown(*PICTURES[name]), MEASURE)["boxes"]
    names = Counter(box["name"] for box in boxes)
    assert max(names.values()) == 1
    ordered = sorted((box["box"] for box in boxes), key=lambda box: box[0])
    for place, one in enumerate(ordered):
        for other in ordered[place + 1 :]:
            if other[0] > one[2]:
                break
            assert not overlap(one, other)


def test_dark_mode_has_a_dark_background_and_the_same_owner_colours(browser: Chromium, shown: Shown) -> None:
    svg = shown(*PICTURES["plan"])
    light, dark = (browser.measured(svg, MEASURE, scheme=scheme) for scheme in ("light", "dark"))
    assert (light["paper"], light["title"]) == (rgb(LIGHT.paper), rgb(LIGHT.ink))
    assert (dark["paper"], dark["title"]) == (rgb(DARK.paper), rgb(DARK.ink))
    for one, other in zip(light["boxes"], dark["boxes"], strict=True):
        assert one["name"] == other["name"]
        assert (one["fill"] == other["fill"]) == (one["use"] == "owned")
        assert other["ink"] != other["fill"]
    assert {box["fill"] for box in light["boxes"] if box["use"] == "owned"} == {
        rgb(OWNERS[0]),
        rgb(OWNERS[1]),
    }


def test_an_svg_file_is_displayed(browser: Chromium, shown: Shown, tmp_path: Path) -> None:
    """An SVG file is parsed as XML, which is stricter than HTML."""
    path = tmp_path / "plan.svg"
    path.write_text(shown(*PICTURES["plan"]), encoding="ascii")
    dumped = browser.run(path, "--dump-dom")
    assert "parsererror" not in dumped
    assert dumped.count("data-cpu=") == 32
    assert browser.measured('<img src="plan.svg">', "return document.images[0].naturalWidth;") > 500


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_printed_background_is_white_and_owners_keep_their_colours(
    scheme: str, browser: Chromium, shown: Shown, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    page.write_text(shown("plan", *TWO_NODES, "-f", "fixtures/pods", option="--html"), encoding="ascii")
    colors = pixels(browser.printed(page, scheme=scheme))
    assert max(colors, key=lambda color: colors[color]) == (255, 255, 255)
    assert colors[255, 255, 255] > 0.7 * sum(colors.values())
    for color in OWNERS[:2]:
        drawn = tuple(int(color[start : start + 2], 16) for start in (1, 3, 5))
        near = sum(
            count
            for seen, count in colors.items()
            if max(abs(a - b) for a, b in zip(seen, drawn, strict=True)) <= 2
        )
        assert near > 500, color


PAGE = """
  const frame = document.querySelector('iframe');
  const page = frame.contentDocument;
  return {
    hit: window.hit || false,
    fetched: frame.contentWindow.performance.getEntriesByType('resource').length,
    scripts: page.scripts.length,
    headings: [...page.querySelectorAll('h2')].map((each) => each.textContent),
    cpus: page.querySelectorAll('[data-cpu]').length,
    cells: [...page.querySelectorAll('td')].map((each) => each.textContent),
    wide: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    paper: getComputedStyle(page.body).backgroundColor,
    ink: getComputedStyle(page.body).color,
  };
"""


def framed(page: str) -> str:
    escaped = page.replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe style="width: 1200px; height: 900px" srcdoc="{escaped}"></iframe>'


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_fetches_nothing_and_is_complete(scheme: str, browser: Chromium, shown: Shown) -> None:
    words = ("plan", *TWO_NODES, "-f", "fixtures/pods", "-T", "odd=3/3,1Gi", "--capacity")
    found = browser.measured(framed(shown(*words, option="--html")), PAGE, scheme=scheme)
    assert (found["fetched"], found["scripts"], found["cpus"], found["wide"]) == (0, 0, 32, 0)
    assert found["headings"][:3] == ["Not admitted", "Machine", "Placements"]
    assert "telco/packet-gateway" in found["cells"]
    theme = LIGHT if scheme == "light" else DARK
    assert (found["paper"], found["ink"]) == (rgb(theme.paper), rgb(theme.ink))


def test_a_large_machine_stays_readable_in_a_report(browser: Chromium, shown: Shown) -> None:
    """A picture wider than the page has its own scroll bar, and is not scaled down."""
    script = """
      const page = document.querySelector('iframe').contentDocument;
      const svg = page.querySelector('svg');
      return {
        scale: svg.getBoundingClientRect().width / svg.viewBox.baseVal.width,
        page: page.documentElement.scrollWidth - page.documentElement.clientWidth,
        figure: svg.parentElement.scrollWidth - svg.parentElement.clientWidth,
      };
    """
    words = ("plan", "-m", "synthetic:2s8n192c2t", "-T", "web=4/4,1Gi")
    found = browser.measured(framed(shown(*words, option="--html")), script)
    assert found["scale"] == 1
    assert found["page"] == 0
    assert found["figure"] > 0


def test_a_script_in_a_name_does_not_run(browser: Chromium, shown: Shown) -> None:
    """Even if escaping failed, the page's Content-Security-Policy would block the script."""
    page = shown("plan", *TWO_NODES, "-T", "web=2/2,1Gi", option="--html")
    bad = "<script>parent.hit = 1</script><img src=x onerror='parent.hit = 2'>"
    broken = re.sub("default/web", lambda _: bad, page)
    assert broken != page
    assert browser.measured(framed(broken), PAGE)["hit"] is False
