"""The page of a report in a real browser: hovered, navigated by keys, filtered, folded, printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import SECONDS, Chromium
from tests.browser.conftest import ROOT
from tests.browser.driver import Driver, driven

pytestmark = pytest.mark.browser

NODE = ROOT / "fixtures/nodes/v2-2-numa/node.tar.xz"
PODS = ROOT / "fixtures/nodes/v2-2-numa/pods.json"
TIMELINE = ROOT / "fixtures/timelines/scenario-2.yaml"
STATIC = "--cpu-manager-policy=static --reserved-cpus=0"
SMALL = ("-m", "synthetic:2s2n8c2t", "--kubelet-version", "1.36", "--kubelet-args", STATIC)
LARGE = ("-m", "synthetic:2s8n128c2t,l3=32", "--kubelet-version", "1.36", "--kubelet-args", STATIC)
OWNER = "default/db-0"


def cpuctl(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cpuctl", *words], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode in (0, 3), done.stderr


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write reports of a node with faults, of a small one with pods, and of one with 512 CPUs."""
    folder = tmp_path_factory.mktemp("pages")
    planned = ("-T", "big=40/40,1Gi", "-T", "web=2/2,1Gi")
    faults = ("--pods", str(PODS), "--timeline", str(TIMELINE))
    cpuctl("report", str(NODE), *faults, "--html", str(folder / "faults.html"))
    for name, machine, copies in (("small", SMALL, 3), ("large", LARGE, 60)):
        pods = folder / f"{name}.json"
        pods.write_text(json.dumps({"kind": "PodList", "apiVersion": "v1", "items": running(copies)}))
        state = str(folder / f"{name}-state")
        cpuctl("checkpoint", "new", *machine, "-f", str(pods), "--write-state", state)
        words = (*machine, "--state", state, "--pods", str(pods), *planned)
        cpuctl("report", *words, "--html", str(folder / f"{name}.html"))
    return folder


def running(copies: int) -> list[dict[str, Any]]:
    """Describe Guaranteed pods with four CPUs each."""
    requested = {"cpu": "4", "memory": "1Gi"}
    container = {"name": "server", "image": "db", "resources": {"requests": requested, "limits": requested}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"db-{n}", "namespace": "default", "uid": f"uid-{n}"},
            "spec": {"containers": [container]},
            "status": {"phase": "Running", "qosClass": "Guaranteed"},
        }
        for n in range(copies)
    ]


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    with driven(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


LIT = "return [...document.querySelectorAll('#map .cpu.same')].map((each) => Number(each.dataset.cpu));"
SAID = "return document.querySelector('#holders .said').textContent;"
MINE = f"""
  const row = [...document.querySelectorAll('tr[data-o]')].find((each) => each.dataset.pod === '{OWNER}');
  const cells = [...document.querySelectorAll('#map .cpu')].filter((one) => one.dataset.o === row.dataset.o);
  return [row.dataset.o, cells.map((each) => Number(each.dataset.cpu))];
"""


def test_hovering_over_a_cpu_shows_its_owner_and_all_cpus_of_that_owner(pages: Path, window: Driver) -> None:
    window.open(pages / "small.html")
    mark, mine = window.run(MINE)
    assert len(mine) == 4
    window.hover(f".cpu[data-cpu='{mine[0]}']")
    assert window.run(SAID).startswith(f"CPU {mine[0]}; {mark} {OWNER} server; socket 0, NUMA node 0")
    assert window.run(LIT) == mine
    rows = "return [...document.querySelectorAll('tr.same')].map((each) => each.dataset.pod);"
    assert window.run(rows) == [OWNER]
    window.hover(f"tr[data-o='{mark}'] td")
    assert window.run(LIT) == mine
    window.hover("h1")
    assert window.run(LIT) == []
    assert window.run(SAID).startswith("Hover over a CPU")
    assert window.log() == []


def test_the_map_is_one_tab_stop_and_arrow_keys_move_within_it(pages: Path, window: Driver) -> None:
    window.open(pages / "small.html")
    focus = "const at = document.activeElement; return at.dataset.cpu || at.id || at.className || at.tagName;"
    stops = []
    for _ in range(30):
        window.press("Tab")
        stops.append(window.run(focus))
    assert stops[0] == "skip"
    assert [stop for stop in stops if stop.isdigit()] == ["0", "0"], "one per map"
    # In the order of the page.
    bar = [stop for stop in stops if stop in ("pod", "clear", "unfold", "fold", "print")]
    assert bar == ["pod", "clear", "unfold", "fold", "print"]
    window.run("document.querySelector('.cpu').focus();")
    window.press("Right")
    assert window.run(focus) == "16"
    window.press("Down")
    below = window.run(focus)
    tops = (
        "return [16, %s].map((n) => document.querySelector(`.cpu[data-cpu='${n}']`).getBoundingClientRect());"
    )
    first, second = window.run(tops % below)
    assert second["top"] > first["top"]
    window.press("Up")
    assert window.run(focus) == "16"
    window.press("Home")
    assert window.run(focus) == "0"
    window.press("End")
    assert window.run(focus) == "31"
    assert window.run("return document.querySelectorAll('#map .cpu[tabindex=\"0\"]').length;") == 1


SHOWN = """
  const seen = (each) => each.checkVisibility();
  return [...document.querySelectorAll('[data-pod]')].filter(seen).map((each) => each.dataset.pod);
"""
HITS = "return [...document.querySelectorAll('#map .cpu.hit')].map((each) => Number(each.dataset.cpu));"


def test_a_pod_is_filtered_by_name_or_by_its_cpu(pages: Path, window: Driver) -> None:
    window.open(pages / "small.html")
    _, mine = window.run(MINE)
    everything = window.run(SHOWN)
    assert {OWNER, "default/db-1", "default/big"} <= set(everything)
    window.click("#pod")
    window.press("db-0")
    assert set(window.run(SHOWN)) == {OWNER}
    assert window.run(HITS) == mine
    reported = window.run("return document.getElementById('told').textContent;")
    assert reported.endswith("entries, 4 CPUs found")
    window.click("#clear")
    assert (window.run(SHOWN), window.run(HITS)) == (everything, [])
    window.click(f".cpu[data-cpu='{mine[1]}']")
    assert window.run("return document.getElementById('pod').value;") == OWNER
    assert set(window.run(SHOWN)) == {OWNER}
    window.press("Escape")
    assert window.run(SHOWN) == everything
    window.press("Enter")
    assert window.run(HITS) == mine


AFTER = """
  const after = (selector) => [...document.querySelectorAll(`#after ${selector}`)];
  const place = (each) => Number(each.dataset.cpu);
  const row = after('tr[data-o]').find((each) => each.dataset.pod === 'default/web');
  const mine = after('.cpu').filter((each) => each.dataset.o === row.dataset.o);
  const others = document.querySelectorAll('#holders .same').length;
  return [mine.map(place), after('.cpu.same').map(place), after('.cpu.hit').map(place), others];
"""


def test_planned_placements_have_a_separate_map(pages: Path, window: Driver) -> None:
    """It has its own letters: hovering over one map does not highlight anything in the other."""
    window.open(pages / "small.html")
    (first, second), _, _, _ = window.run(AFTER)
    assert first != second
    window.hover(f"#map-after .cpu[data-cpu='{first}']")
    stated = "return document.querySelector('#after .said').textContent;"
    assert "default/web" in window.run(stated)
    assert window.run(AFTER) == [[first, second], [first, second], [], 0]
    window.click(f"#map-after .cpu[data-cpu='{first}']")
    assert window.run("return document.getElementById('pod').value;") == "default/web"
    assert window.run(AFTER)[2] == [first, second]
    assert window.run(HITS) == []
    assert window.run("return document.getElementById('told').textContent;").endswith(", 2 CPUs found")


def test_sections_fold_and_a_link_opens_its_target(pages: Path, window: Driver) -> None:
    window.open(pages / "small.html")
    closed = "return [...document.querySelectorAll('main details')].filter((each) => !each.open).length;"
    folds = window.run("return document.querySelectorAll('main details').length;")
    at_first = window.run(closed)
    assert 0 < at_first < folds
    window.click("#holders summary")
    assert window.run(closed) == at_first + 1
    assert window.run("return document.querySelector('.map').checkVisibility();") is False
    window.click("#fold")
    assert window.run(closed) == folds
    window.click("nav a[href='#holders']")
    assert window.run(closed) == folds - 1
    assert window.run("return document.querySelector('.map').checkVisibility();") is True
    window.click("#unfold")
    assert window.run(closed) == 0


WIDTH = "return document.documentElement.scrollWidth - document.documentElement.clientWidth;"
BOXES = """
  const box = (each) => {
    const at = each.getBoundingClientRect();
    return [at.left, at.top, at.right, at.bottom];
  };
  return [...document.querySelectorAll('#map .cpu')].map((each) => [each.dataset.cpu, ...box(each)]);
"""


@pytest.mark.parametrize("width", [400, 800, 1600])
@pytest.mark.parametrize("name", ["faults", "large"])
def test_the_page_fits_narrow_and_wide_windows(name: str, width: int, pages: Path, window: Driver) -> None:
    window.open(pages / f"{name}.html", width)
    assert window.run(WIDTH) == 0
    boxes = window.run(BOXES)
    assert len(boxes) == (512 if name == "large" else 16)
    assert all(left >= 0 and right <= width for _, left, _, right, _ in boxes)
    by_row: dict[float, list[list[float]]] = {}
    for _, left, top, right, _ in boxes:
        by_row.setdefault(top, []).append([left, right])
    for row in by_row.values():
        row.sort()
        assert all(one[1] <= other[0] for one, other in pairwise(row))


CONTRAST = """
  const parts = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = (color) => {
    const [r, g, b] = parts(color).map((each) => each / 255)
      .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const found = getComputedStyle(at).backgroundColor;
      if (parts(found).length === 3 || parts(found)[3] > 0) return found;
    }
    return 'rgb(255, 255, 255)';
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const low = [];
  let seen = 0;
  while (walker.nextNode()) {
    const each = walker.currentNode.parentElement;
    const hidden = !each.checkVisibility() || each.closest('script, style, svg');
    if (hidden || !walker.currentNode.textContent.trim()) continue;
    const style = getComputedStyle(each), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const [one, other] = [light(style.color), light(ground(each))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    seen += 1;
    if (ratio < (large ? 3 : 4.5)) low.push([walker.currentNode.textContent.trim().slice(0, 40), ratio]);
  }
  return [seen, low];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["faults", "large"])
def test_all_text_has_enough_contrast(name: str, scheme: str, pages: Path, window: Driver) -> None:
    """WCAG 2.2, 1.4.3: a contrast of 4.5, or 3 for large text; also when only one pod is shown."""
    window.open(pages / f"{name}.html", scheme=scheme)
    window.click("#unfold")
    seen, low = window.run(CONTRAST)
    assert seen > 200
    assert low == []
    window.run("document.querySelector('.cpu[data-o]:not([data-o=\"\"])').click();")
    assert window.run(HITS)
    assert window.run(CONTRAST)[1] == []


@pytest.mark.parametrize("name", ["faults", "small"])
def test_a_screen_reader_gets_the_whole_report(name: str, pages: Path, window: Driver) -> None:
    """The accessibility tree: landmarks, names of all focusable elements, headings."""
    window.open(pages / f"{name}.html")
    window.click("#unfold")
    nodes = window.cdp("Accessibility.getFullAXTree", {})["nodes"]
    heard = [each for each in nodes if not each["ignored"]]
    roles = [each["role"]["value"] for each in heard]
    for landmark in ("banner", "navigation", "search", "main", "contentinfo"):
        assert roles.count(landmark) == 1, landmark
    reached = [
        each for each in heard if any(has["name"] == "focusable" for has in each.get("properties", ()))
    ]
    reached = [each for each in reached if each["role"]["value"] not in ("RootWebArea", "main")]
    assert len(reached) > 20
    assert [each for each in reached if not each.get("name", {}).get("value")] == []
    options = [each for each in heard if each["role"]["value"] == "option"]
    assert len([each for each in options if each["name"]["value"].startswith("CPU ")]) in (16, 64)
    levels = window.run(
        "return [...document.querySelectorAll('h1, h2, h3')].map((each) => Number(each.tagName[1]));"
    )
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    loose = "return [...document.querySelectorAll('th')].filter((each) => !each.scope).length;"
    assert window.run(loose) == 0


def test_a_horizontally_scrolled_list_is_reachable_by_keyboard(pages: Path, window: Driver) -> None:
    window.open(pages / "faults.html", 400)
    window.click("#unfold")
    wide = """
      return [...document.querySelectorAll('.table, figure')]
        .filter((each) => each.scrollWidth > each.clientWidth + 1)
        .map((each) => [each.tabIndex, each.getAttribute('role'), each.getAttribute('aria-label')]);
    """
    found = window.run(wide)
    assert found
    assert all((index, role) == (0, "group") for index, role, _ in found)
    assert [reported for _, _, reported in found if not reported.endswith(", scrollable")] == []


def printed_text(pdf: Path) -> str:
    words = ["pdftotext", "-layout", str(pdf), "-"]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=SECONDS).stdout


@pytest.mark.parametrize("script", [True, False], ids=["with the script", "without"])
def test_printing_includes_folded_sections_and_omits_controls(
    script: bool, pages: Path, browser: Chromium
) -> None:
    """Also without scripts, and including the parts that the script folds on screens."""
    page = browser.folder / "small.html"
    whole = (pages / "small.html").read_text("ascii")
    page.write_text(whole if script else re.sub("<script>.*?</script>", "", whole, flags=re.DOTALL), "ascii")
    text = " ".join(printed_text(browser.printed(page)).split())
    for words in ("CPU owners", "default/db-2", "NUMA node 1", "Remaining resources", "Inputs"):
        assert words in text
    # From the explanation of a rejected pod, and from the last table.
    assert "simulated run" in text
    assert "kubeletArguments" in text
    assert "Expand all" not in text
    assert "Hover over a CPU" not in text


def test_a_report_fetches_nothing_and_runs_no_other_script(
    pages: Path, window: Driver, tmp_path: Path
) -> None:
    """Even if escaping failed, the page's Content-Security-Policy would block the script."""
    whole = (pages / "small.html").read_text("ascii")
    bad = "<script>window.hit = 1</script><img src=http://127.0.0.1:9/ onerror='window.hit = 2'>"
    broken = tmp_path / "broken.html"
    broken.write_text(whole.replace("<footer>", f"<footer>{bad}", 1), "ascii")
    window.open(broken)
    assert window.run("return window.hit || 0;") == 0
    assert len(window.log()) >= 2
    window.open(pages / "small.html")
    assert window.run("return performance.getEntriesByType('resource').length;") == 0
    assert window.log() == []
