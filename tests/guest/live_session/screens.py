"""The screens of a session as a terminal shows them: tmux gets the output up to certain moments."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.guest.harness.host_tools import installed

_BEFORE = 2.0
"""Seconds before a key press at which the screen is saved."""


def draw(out: Path) -> None:
    """Write the screen as it was before every key to ``screens.txt`` in *out*."""
    head, *lines = (out / "screen.cast").read_text(encoding="utf-8").splitlines()
    size = json.loads(head)
    drawn = [json.loads(line) for line in lines]
    keys = [at for at, kind, _ in drawn if kind == "i"]
    moments = [at for number, at in enumerate(keys) if not number or at - keys[number - 1] > _BEFORE]
    with tempfile.TemporaryDirectory(prefix="cpuctl-screens-") as name:
        screens = list(_screens(Path(name), (size["width"], size["height"]), drawn, moments))
    parts = [f"--- after {at:.0f} s\n{screen}" for at, screen in zip(moments, screens, strict=True)]
    (out / "screens.txt").write_text("\n".join(parts), encoding="utf-8")


def _screens(
    folder: Path, size: tuple[int, int], drawn: list[tuple[float, str, str]], moments: list[float]
) -> Iterator[str]:
    """Yield the terminal's content after the output up to each moment."""
    tmux = [str(installed("tmux")), "-S", str(folder / "socket"), "-f", "/dev/null"]
    fifo = folder / "drawn"
    subprocess.run(["mkfifo", str(fifo)], check=True)
    width, height = map(str, size)
    begin = ["new-session", "-d", "-x", width, "-y", height, f"stty -echo raw; exec cat {fifo}"]
    subprocess.run([*tmux, *begin], check=True)
    subprocess.run([*tmux, "set", "-g", "status", "off"], check=True)
    try:
        with fifo.open("w", encoding="utf-8") as terminal:
            for text in _parts(drawn, moments):
                terminal.write(text)
                terminal.flush()
                time.sleep(0.5)
                yield subprocess.run(
                    [*tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True
                ).stdout
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)


def _parts(drawn: list[tuple[float, str, str]], moments: list[float]) -> Iterator[str]:
    last = 0.0
    for moment in moments:
        yield "".join(text for at, kind, text in drawn if kind == "o" and last <= at < moment)
        last = moment
