"""A headless browser that renders a page and returns measurements, a PDF or pixels."""

from __future__ import annotations

import html
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 120
_RESULT = re.compile(r'<pre id="result">(.*?)</pre>', re.DOTALL)
_PREFERS = {"dark": "0", "light": "1"}


@dataclass(frozen=True, slots=True)
class Chromium:
    """Starts a browser for each page, with its own profile below *folder*."""

    folder: Path

    def run(self, page: Path, *options: str, scheme: str = "light") -> str:
        """Open a page with this preferred colour scheme; return the browser's output."""
        # The tests run as root, and everything in the pages is our own.
        words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        words += ["--disable-background-networking", "--disable-dev-shm-usage"]
        words += [f"--user-data-dir={self.folder / 'profile'}"]
        words += [f"--blink-settings=preferredColorScheme={_PREFERS[scheme]}", *options, page.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=SECONDS)
        return done.stdout

    def measured(self, content: str, script: str, *, scheme: str = "light") -> Any:
        """Put *content* on a page, run a script, and return its JSON result."""
        page = self.folder / "measured.html"
        page.write_text(
            f'<!DOCTYPE html><meta charset="utf-8"><body>{content}<pre id="result"></pre><script>\n'
            f"const measure = () => {{ {script} }};\n"
            "addEventListener('load', () => {\n"
            "  document.getElementById('result').textContent = JSON.stringify(measure());\n"
            "});</script>",
            encoding="utf-8",
        )
        # Virtual time: the dump waits for pending work of the page.
        dumped = self.run(page, "--dump-dom", "--virtual-time-budget=5000", scheme=scheme)
        found = _RESULT.search(dumped)
        assert found, dumped[-2000:]
        return json.loads(html.unescape(found[1]))

    def printed(self, page: Path, *, scheme: str = "light") -> Path:
        """Print a page to PDF."""
        pdf = self.folder / "printed.pdf"
        self.run(page, f"--print-to-pdf={pdf}", "--no-pdf-header-footer", scheme=scheme)
        return pdf


def pixels(pdf: Path) -> dict[tuple[int, int, int], int]:
    """Count the colours of a PDF's first page."""
    words = ["pdftoppm", "-r", "100", "-l", "1", str(pdf)]
    image = subprocess.run(words, capture_output=True, check=True, timeout=SECONDS).stdout
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", image)
    assert head, image[:40]
    counts: dict[tuple[int, int, int], int] = {}
    values = iter(image[head.end() :])
    for color in zip(values, values, values, strict=True):
        counts[color] = counts.get(color, 0) + 1
    return counts
