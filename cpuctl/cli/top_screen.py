"""The screen of ``cpuctl top``, with Textual: it draws lines, handles keys, and requests the next moment."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from rich.segment import Segment  # noqa: TID253  # Textual, without which this is not imported, has loaded it
from rich.style import Style  # noqa: TID253
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from cpuctl.cli.render.blocks import Cell
from cpuctl.cli.render.top_map import Line, map_order
from cpuctl.cli.render.top_view import SORTS, View, screen, shown_containers
from cpuctl.errors import CpuctlError

if TYPE_CHECKING:
    from textual.events import Key

    from cpuctl.answers.top import Top
    from cpuctl.operations.top_recording import Recording

_PAGE = 10
_SAID = 8.0
"""Seconds for which the last line shows a message."""


class Feed(Protocol):
    """A source of moments."""

    def ahead(self) -> Top | None:
        """Return the next moment; None if it is not available yet, or after the last one."""


class Playback:
    """The moments of a recording, in both directions."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._at = -1

    def ahead(self) -> Top | None:
        """Return the next moment; None at the end."""
        return self._go(self._at + 1)

    def back(self) -> Top | None:
        """Return the previous moment; None at the beginning."""
        return self._go(self._at - 1)

    def _go(self, at: int) -> Top | None:
        if not 0 <= at < len(self._recording.lines):
            return None
        self._at = at
        return self._recording.moment(at)

    @property
    def place(self) -> str:
        """The number of this moment, and the total."""
        return f"{self._at + 1} of {len(self._recording.lines)}"


class Board(Widget):
    """The whole screen as lines; only those that have changed are sent to the terminal."""

    DEFAULT_CSS = "Board { width: 100%; height: 100%; }"

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Line] = []

    def show(self, lines: list[Line]) -> None:
        """Show new lines."""
        changed = [at for at, line in enumerate(lines) if at >= len(self._lines) or self._lines[at] != line]
        self._lines = lines
        if changed:
            self.refresh(*(Region(0, at, self.size.width, 1) for at in changed))

    def on_resize(self) -> None:
        """Request lines for the new width and height."""
        self._lines = []
        if isinstance(self.app, TopScreen):
            self.app.draw()

    def render_line(self, y: int) -> Strip:
        """Return a line in Textual's form."""
        line = self._lines[y] if y < len(self._lines) else []
        segments = [Segment(cell.text, Style.parse(cell.style) if cell.style else None) for cell in line]
        return Strip(segments).adjust_cell_length(self.size.width)


class TopScreen(App[None]):
    """The program on the screen; ``failure`` is the error that ended it, if there was one."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { background: ansi_default; color: ansi_default; }"
    _MOVES: ClassVar[dict[str, int]] = {
        "up": -1,
        "k": -1,
        "down": 1,
        "j": 1,
        "pageup": -_PAGE,
        "pagedown": _PAGE,
    }

    def __init__(
        self, feed: Feed, interval: float, *, color: bool, capture: Callable[[], str] | None = None
    ) -> None:
        super().__init__(ansi_color=True)
        self.view = View()
        self.document: Top | None = None
        self.failure: CpuctlError | None = None
        self._feed = feed
        self._interval = interval
        self._colored = color
        self._capture = capture
        self._typing = False
        self._said_until = 0.0

    def compose(self) -> ComposeResult:
        """Fill the screen."""
        yield Board()

    def on_mount(self) -> None:
        """Start the observation."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit)
        self.set_interval(self._interval, self.look)
        self.look()

    def look(self) -> None:
        """Take the next moment; a frozen one stays on the screen, while a recording continues."""
        played = isinstance(self._feed, Playback)
        if played and self.view.frozen:
            return
        try:
            document = self._feed.ahead()
        except CpuctlError as error:
            self.failure = error
            self.exit()
            return
        if document is None:
            if played:
                self.say("end of the recording")
                self._change(frozen=True)
            return
        if not self.view.frozen:
            self.document = document
        if self.view.status and time.monotonic() > self._said_until and not self._typing:
            self.view = self.view._replace(status="")
        self.draw()

    def say(self, text: str) -> None:
        """Show a message on the last line, until another key is pressed or some seconds have passed."""
        self._said_until = time.monotonic() + _SAID
        self._change(status=text)

    def on_key(self, event: Key) -> None:
        """Handle a key."""
        event.stop()
        if self._typing:
            self._type(event)
            return
        self.view = self.view._replace(status="")
        if event.key in self._MOVES:
            self._move(self._MOVES[event.key])
        elif event.key in ("left", "right"):
            self._sideways(ahead=event.key == "right")
        elif event.key == "q":
            self.exit()
        elif act := self._acts().get(event.character or event.key) or self._acts().get(event.key):
            act()

    def _acts(self) -> dict[str, Callable[[], None]]:
        return {
            "enter": self._open,
            "escape": self._back,
            "m": lambda: self._turn("map" if self.view.page != "map" else "containers"),
            "h": lambda: self._turn("help"),
            "?": lambda: self._turn("help"),
            "s": lambda: self._sort(1),
            "S": lambda: self._sort(-1),
            "r": lambda: self._change(reverse=not self.view.reverse),
            "/": self._filter,
            "space": lambda: self._change(frozen=not self.view.frozen),
            "w": self._write,
        }

    def _change(self, **parts: Any) -> None:  # noqa: ANN401  # parts of a View
        self.view = self.view._replace(**parts)
        self.draw()

    def draw(self) -> None:
        """Draw the moment according to the view."""
        board = self.query_one(Board)
        width, height = board.size
        if self.document is None:
            board.show([[Cell("reading the node ...")]])
        elif height:
            board.show(screen(self.document, self._clamped(), width, height, color=self._colored))

    def _clamped(self) -> View:
        """Keep the cursor on an existing item: containers and CPUs come and go."""
        assert self.document is not None
        rows, cpus = len(shown_containers(self.document, self.view)), len(self.document["cpus"])
        row, cpu = max(0, min(self.view.row, rows - 1)), max(0, min(self.view.cpu, cpus - 1))
        self.view = self.view._replace(row=row, cpu=cpu)
        return self.view

    def _move(self, by: int) -> None:
        if self.view.page == "map":
            self._move_on_map(by)
        else:
            self._change(row=max(self.view.row + by, 0))

    def _move_on_map(self, by: int) -> None:
        if self.document is not None:
            order = map_order(self.document)
            at = order.index(self.view.cpu) if self.view.cpu in order else 0
            self._change(cpu=order[max(0, min(at + by, len(order) - 1))])

    def _sideways(self, *, ahead: bool) -> None:
        if self.view.page == "map":
            self._move_on_map(1 if ahead else -1)
        elif isinstance(self._feed, Playback):
            document = self._feed.ahead() if ahead else self._feed.back()
            if document is not None:
                self.document = document
            self.view = self.view._replace(frozen=True)
            self.say(f"sample {self._feed.place}")

    def _turn(self, page: str) -> None:
        back = self.view.page if self.view.page in ("containers", "map") else self.view.back
        self._change(page=page, back=back)

    def _open(self) -> None:
        if self.view.page == "map":
            self._turn("cpu")
        elif self.view.page == "containers":
            self._turn("container")

    def _back(self) -> None:
        if self.view.page in ("containers", "map"):
            self._change(page="containers", text="")
        else:
            self._change(page=self.view.back)

    def _sort(self, by: int) -> None:
        at = SORTS.index(self.view.sort)
        self._change(sort=SORTS[(at + by) % len(SORTS)], row=0)

    def _filter(self) -> None:
        self._typing = True
        self._change(text="", status="filter: ", page="containers", row=0)

    def _type(self, event: Key) -> None:
        text = self.view.text
        if event.key in ("enter", "escape"):
            self._typing = False
            self._change(status="", text=text if event.key == "enter" else "")
            return
        if event.key == "backspace":
            text = text[:-1]
        elif event.character and event.is_printable:
            text += event.character
        self._change(text=text, status=f"filter: {text}", row=0)

    def _write(self) -> None:
        if self._capture is None:
            self.say("cannot record the node: this is a recording, not a live node")
            return
        self.say("recording the node ...")
        self.run_worker(partial(self._written, self._capture), thread=True, exclusive=True)

    def _written(self, capture: Callable[[], str]) -> None:
        try:
            text = f"recording written to {capture()}"
        except (CpuctlError, OSError) as error:
            text = f"no recording written: {error}"
        self.call_from_thread(self.say, text)
