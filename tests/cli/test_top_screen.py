"""The screen of ``cpuctl top``, controlled by keys through Textual's pilot, with a replayed recording."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from textual.pilot import Pilot

from cpuctl.answering.top_answer import current
from cpuctl.cli.top_screen import Board, Playback, TopScreen
from cpuctl.errors import InputError
from cpuctl.inputs.sources import Sources
from cpuctl.operations.top_recording import Recorder, Recording, read_recording
from tests.audit.node_tree import WEB, entries, with_kubelet_files
from tests.cli.conftest import Cpuctl
from tests.support.running_node import Running, counting_node

NEVER = 3600.0
SMALL = (80, 24)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Record three samples of a node: CPU 1 is one third busy, then two thirds, then fully."""
    folder = tmp_path_factory.mktemp("top")
    tree = counting_node()
    entries(tree, WEB, front="2,6")
    running = Running(folder / "node", with_kubelet_files(tree))
    (folder / "node").mkdir()
    node, recorder = running.start(), Recorder(str(folder / "top.jsonl"))
    for third in (1, 2, 3):
        running.pass_time(1, {1: {"user": third / 3}, 2: {"user": 0.5}})
        running.used += 0.2
        running.came = {"24": {5: 40 * third}}
        running.tree.process(500, "stray", "/system.slice/backup.service", "0-7")
        running.on[500], running.ran[500] = 1, 0.3 * third
        running.write()
        window = node.take()
        assert window is not None
        recorder.write(current(node.top, window, Sources().entries))
    recorder.close()
    return read_recording(recorder.name)


def lines(pilot: Pilot[None]) -> list[str]:
    board = pilot.app.query_one(Board)
    return [board.render_line(y).text.rstrip() for y in range(board.size.height)]


def text(pilot: Pilot[None]) -> str:
    return "\n".join(lines(pilot))


Keys = Callable[[Pilot[None]], Awaitable[None]]


def drive(app: TopScreen, keys: Keys, size: tuple[int, int] = SMALL) -> None:
    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await keys(pilot)

    asyncio.run(run())


def screen(recording: Recording, *, color: bool = False, **more: Any) -> TopScreen:
    return TopScreen(Playback(recording), NEVER, color=color, **more)


def test_rows_and_map_on_a_small_terminal(recording: Recording) -> None:
    async def keys(pilot: Pilot[None]) -> None:
        shown = lines(pilot)
        assert all(len(line) <= 80 for line in shown)
        assert len(shown) == 24
        assert "8 CPUs, cgroup v2, CPU Manager policy static" in shown[0]
        assert shown[1].startswith("shared pool busy ")
        (server,) = (line for line in shown if line.startswith("a server 1,5"))
        assert "1!" in server, "the stray thread is marked without any colour"
        assert any(line.startswith("b front 2,6") for line in shown)
        assert any(line.startswith("S0 N0") and "a3" in line and "r0" in line for line in shown), text(pilot)

    drive(screen(recording), keys)


def test_colours_show_owner_and_load(recording: Recording) -> None:
    async def keys(pilot: Pilot[None]) -> None:
        board = pilot.app.query_one(Board)
        strips = [board.render_line(y) for y in range(24)]
        (first,) = (strip for strip in strips if strip.text.startswith("S0 N0"))
        styles = [segment.style for segment in first if segment.text == "3"]
        assert [str(each.bgcolor.name) for each in styles if each and each.bgcolor] == ["#166236"]
        assert all("a3" not in strip.text for strip in strips)

    drive(screen(recording, color=True), keys)


def test_keys_sort_filter_and_open(recording: Recording) -> None:
    async def keys(pilot: Pilot[None]) -> None:
        await pilot.press("S")  # PSI, the last column
        assert "by PSI" in text(pilot)
        await pilot.press("s", "s", "r")
        order = [line[0] for line in lines(pilot) if line[:8] in ("a server", "b front ")]
        assert (order, "by NAME, reversed" in text(pilot)) == (["b", "a"], True)
        await pilot.press("/", "f", "r", "x", "backspace", "o", "enter")
        assert [line[0] for line in lines(pilot) if line[:8] in ("a server", "b front ")] == ["b"]
        await pilot.press("escape", "r", "down", "enter")
        assert "shop/web-0/front" in text(pilot)
        assert "\nCPUs 2,6 on NUMA node 1, load" in text(pilot)
        assert "\nits threads used" in text(pilot)
        await pilot.press("escape", "up", "enter")
        assert "500 (stray), cgroup /system.slice/backup.service" in text(pilot)
        assert "24 PCI-MSI 524288-edge eth0" in text(pilot)
        app.document["containers"][0] |= {"cpus": "5", "numaNodes": "", "threads": 1}
        app.draw()
        await pilot.pause()
        assert "\nCPU 5 on unknown NUMA nodes, load" in text(pilot)
        assert "\n1 thread used" in text(pilot)

    app: Any = screen(recording)
    drive(app, keys)


def test_the_map_alone_has_a_cursor_and_opens_a_cpu(recording: Recording) -> None:
    async def keys(pilot: Pilot[None]) -> None:
        await pilot.press("m")
        assert "CPU 0: reserved" in text(pilot)
        await pilot.press("right", "right")
        assert "CPU 1: shop/database-0/server, busy 33%" in text(pilot)
        await pilot.press("enter")
        assert "foreign thread: 500 (stray)" in text(pilot)
        await pilot.press("escape", "m")
        assert "a server" in text(pilot)

    drive(screen(recording), keys)


def test_a_recording_goes_back_and_forth_and_shows_its_end(recording: Recording) -> None:
    async def keys(pilot: Pilot[None]) -> None:
        await pilot.press("right", "right", "right")
        assert "sample 3 of 3" in text(pilot)
        await pilot.press("left")
        assert any("a6" in line for line in lines(pilot)), text(pilot)
        await pilot.press("space", "w")
        assert "cannot record the node" in text(pilot)
        app = pilot.app
        assert isinstance(app, TopScreen)
        for _ in range(3):
            app.look()
        assert "end of the recording" in text(pilot)
        await pilot.press("h")
        assert "write a recording of the node" in text(pilot)
        await pilot.press("q")

    drive(screen(recording), keys)


class Counting:
    """A feed of one sample after another, and then an error."""

    def __init__(self, recording: Recording, most: int) -> None:
        self.recording, self.count, self.most = recording, 0, most

    def ahead(self) -> Any:
        self.count += 1
        if self.count > self.most:
            raise InputError("it has gone", where="/proc/stat")
        return self.recording.moment((self.count - 1) % 3)


def test_a_frozen_screen_still_reads_the_node(recording: Recording) -> None:
    """The recording has no gap meanwhile; and an error ends the screen and is reported afterwards."""
    feed = Counting(recording, most=3)
    app = TopScreen(feed, NEVER, color=False)

    async def keys(pilot: Pilot[None]) -> None:
        before = text(pilot)
        await pilot.press("space")
        assert "FROZEN" in text(pilot)
        app.look()
        assert (feed.count, "a6" in text(pilot), "a3" in before) == (2, False, True)
        await pilot.press("space")
        app.look()
        assert "a9" in text(pilot)
        app.look()

    drive(app, keys)
    assert str(app.failure) == "/proc/stat: it has gone"


@pytest.mark.parametrize(
    ("fails", "reported"),
    [(False, "recording written to node7.tar.gz"), (True, "no recording written: no room")],
)
def test_a_capture_is_written_from_the_screen(fails: bool, reported: str, recording: Recording) -> None:
    def capture() -> str:
        if fails:
            raise InputError("no room")
        return "node7.tar.gz"

    async def keys(pilot: Pilot[None]) -> None:
        await pilot.press("w")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert reported in text(pilot)

    drive(screen(recording, capture=capture), keys)


def test_hundreds_of_cpus_and_containers_fit(recording: Recording) -> None:
    large = json.loads(json.dumps(recording.moment(0)))
    cpu, container = large["cpus"][1], large["containers"][0]
    large["cpus"] = [
        {
            **cpu,
            "cpu": at,
            "socket": at // 256,
            "numaNode": at // 64,
            "l3": at // 8 * 8,
            "core": at % 256,
            "containers": [at % 90],
        }
        for at in range(512)
    ]
    large["containers"] = [{**container, "pod": f"pod-{at}"} for at in range(90)]

    class One:
        def ahead(self) -> Any:
            return large

    async def keys(pilot: Pilot[None]) -> None:
        for _ in range(9):
            await pilot.press("pagedown")
        assert any("pod-89" in line for line in lines(pilot)), text(pilot)
        await pilot.press("m", *["pagedown"] * 60)
        assert "CPU 511:" in text(pilot)
        assert all(len(line) <= 80 for line in lines(pilot))

    drive(TopScreen(One(), NEVER, color=False), keys)


def test_without_the_extra_it_says_what_to_install(cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("cpuctl.cli.top.sys", _Terminal())
    result = cpuctl("top")
    assert (result.code, result.out) == (2, "")
    assert "pip install '.[top]' in cpuctl's source directory" in result.err


class _Terminal:
    """Replaces the module that the command uses to detect a terminal."""

    class _Stream:
        @staticmethod
        def isatty() -> bool:
            return True

    stdin = stdout = _Stream()


def test_a_dumb_terminal_gets_tables(
    recording: Recording, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("cpuctl.cli.top.sys", _Terminal())
    slept: list[float] = []
    monkeypatch.setattr("cpuctl.cli.top.time", SimpleNamespace(sleep=slept.append))
    result = cpuctl("top", "--replay", recording.name, "--interval", "5")
    assert (result.code, result.out.count("8 CPUs, cgroup v2")) == (0, 3)
    assert slept == [5.0, 5.0], "as slowly as on a screen"
    assert "\x1b" not in result.out
