"""The screens in the pages are from the session in fixtures/live, as cpuctl shows it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from cpuctl.cli.render.top_view import View, screen
from cpuctl.cli.render.watch_lines import line
from cpuctl.operations.top_recording import read_recording

ROOT = Path(__file__).parents[2]
LIVE = ROOT / "fixtures/live"
TEXT = re.compile(r'<text class="[^"]*-r\d+" x="[0-9.]+" y="([0-9.]+)"[^>]*>(.*?)</text>', re.DOTALL)


def drawn(picture: Path) -> list[str]:
    """Return the lines of a screen in a picture, without spaces: their positions are numbers."""
    lines: dict[float, str] = {}
    for y, words in TEXT.findall(picture.read_text(encoding="utf-8")):
        lines[float(y)] = lines.get(float(y), "") + "".join(html.unescape(words).split())
    return [lines[y] for y in sorted(lines) if lines[y]]


@pytest.mark.parametrize(
    ("name", "view", "height"),
    [("top", View(), 14), ("top-container", View(page="container"), 17)],
)
def test_every_screen_is_from_the_recording(name: str, view: View, height: int) -> None:
    recording = read_recording(str(LIVE / "top.jsonl.gz"))
    shown = []
    for number in range(len(recording.lines)):
        lines = screen(recording.moment(number), view, 100, height, color=True)
        texts = ("".join("".join(cell.text for cell in cells).split()) for cells in lines)
        shown.append([text for text in texts if text])
    assert drawn(ROOT / f"docs/screens/{name}.svg") in shown


def test_lines_of_a_watch_are_from_the_session() -> None:
    events = [json.loads(text) for text in (LIVE / "watch.jsonl").read_text(encoding="utf-8").splitlines()]
    text = (ROOT / "docs/watch.md").read_text(encoding="utf-8")
    block = text.partition("```text\n")[2].partition("```")[0].splitlines()
    written = iter(map(line, events))
    assert len(block) > 10
    assert all(each in written for each in block), "all of them, in order"
