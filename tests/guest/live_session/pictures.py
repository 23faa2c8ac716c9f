"""The pictures of a session in the texts, and the part of it from which they are drawn: a fixture.

The pictures are two screens of ``cpuctl top --replay``, and the page of a report in a browser.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.browser.driver import driven
from tests.guest.conftest import ROOT
from tests.guest.live_session import events
from tests.guest.live_session.rates import Spell, read_spells

KEPT = ROOT / "fixtures/live"
SCREENS = ROOT / "docs/screens"
TOP: dict[str, tuple[Sequence[str], tuple[int, int]]] = {
    "top": ((), (100, 14)),
    "top-container": (("enter",), (100, 17)),
}
"""The pictures of screens: keys to press, columns and lines."""
PAGE = 900, 1050
"""The width and height of the picture of a report."""
_AROUND = 20
"""Moments that are kept before and after the drawn one."""


def keep(out: Path) -> int:
    """Write the kept part of a session, and return the index of the drawn moment."""
    spells = read_spells(out / "top.jsonl.gz")
    moments = events.by_name(json.loads((out / "session.json").read_text(encoding="utf-8"))["moments"])
    at = _telling(spells, moments["interrupt"]["until"], moments["stray ends"]["at"])
    first = max(at - _AROUND, 0)
    lines = [json.dumps(spell.document, separators=(",", ":")) for spell in spells[first : at + _AROUND]]
    KEPT.mkdir(exist_ok=True)
    text = "\n".join(lines) + "\n"
    (KEPT / "top.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (KEPT / "watch.jsonl").write_bytes((out / "watch.jsonl").read_bytes())
    return at - first


def _telling(spells: Sequence[Spell], begin: float, end: float) -> int:
    """Choose the moment that shows most: a stray thread, an interrupt, and load."""

    def shown(number: int) -> tuple[bool, bool, float]:
        spell = spells[number]
        rows: Any = spell.document["containers"]
        if not begin <= spell.begin or not spell.end <= end:
            return False, False, 0.0
        stray = any(not each["kernel"] for row in rows for each in row["foreign"])
        came = any(row["interrupts"]["devices"] for row in rows)
        whole = all(row["others"] is not None for row in rows)
        return stray and came, whole, max(row["others"] or 0.0 for row in rows)

    return max(range(len(spells)), key=shown)


async def _drawn(number: int, keys: Sequence[str], size: tuple[int, int]) -> str:
    from cpuctl.cli.top_screen import Playback, TopScreen
    from cpuctl.operations.top_recording import read_recording

    feed = Playback(read_recording(str(KEPT / "top.jsonl.gz")))
    app = TopScreen(feed, 3600.0, color=True)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        for key in [*["right"] * number, *keys]:
            await pilot.press(key)
        # The message on the last line has to go before the screen is drawn.
        app.view = app.view._replace(status="", frozen=False)
        app.draw()
        await pilot.pause()
        # A picture fetches no fonts.
        return re.sub(r"@font-face {.*?}", "", app.export_screenshot(title="cpuctl top"), flags=re.DOTALL)


def draw(out: Path) -> None:
    """Draw everything again from a session."""
    number = keep(out)
    for name, (keys, size) in TOP.items():
        svg = asyncio.run(_drawn(number, keys, size))
        (SCREENS / f"{name}.svg").write_text(svg, encoding="utf-8")
    page = out / "report-strays.html"  # while a stray thread ran and an interrupt came, with their fixes
    with tempfile.TemporaryDirectory() as folder, driven(Path(folder)) as browser:
        browser.open(page.resolve(), *PAGE)
        shot = browser.cdp("Page.captureScreenshot", {"format": "png"})
        (SCREENS / "report.png").write_bytes(base64.b64decode(shot["data"]))
