"""``cpuctl top`` on a real kernel, with 110 pods and disturbed exclusive CPUs: its output and its cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cli.render.top_view import View, screen
from cpuctl.operations.top_recording import read_recording
from tests.guest.calibration import calibration
from tests.guest.conftest import HERE, ROOT
from tests.guest.harness.guest import run_in_guest
from tests.guest.harness.machine import GuestMachine, even_nodes
from tests.guest.live_session.guest import LIBRARIES, library
from tests.support.schemas import follow_schema

pytestmark = pytest.mark.guest

MACHINE = GuestMachine(sockets=2, dies=2, cores=2, threads=2, nodes=even_nodes(4, cpus=4, mib=384))
MOST = 0.02
"""Of one CPU, with one moment per second."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The output of top, the kernel's values before and after, and the planted faults."""

    folder: Path
    top: Any
    reported: dict[str, int]
    before: Any
    after: Any

    @property
    def slack(self) -> float:
        """Seconds between the kernel's two readings that are not between those of top."""
        return float(self.after["at"] - self.before["at"] - self.top["seconds"])

    def row(self, name: str) -> Any:
        (row,) = (each for each in self.top["containers"] if each["container"] == name)
        return row

    def holds(self, rate: float, before: float, after: float, most: float, what: str) -> None:
        """Compare a rate with a counter that grows by at most *most* per second."""
        grown, reported = after - before, rate * self.top["seconds"]
        margin = 0.03 * max(grown, 1)
        assert grown - most * self.slack - margin <= reported <= grown + margin, (
            f"{what}: {reported} of {grown}"
        )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    files = ("top_node.py", "calibration.py", "audit_node.py", "audit-kubelet.yaml", "audit-pods.yaml")
    result = run_in_guest(
        "python3 top_node.py",
        MACHINE,
        tmp_path_factory.mktemp("top"),
        share=[ROOT / "cpuctl", *(HERE / name for name in files), *map(library, LIBRARIES)],
    )
    assert result.code == 0, f"{result.stdout}\n{result.stderr}"
    reported, before, after = json.loads((result.out_dir / "kernel.json").read_text())
    top = json.loads((result.out_dir / "top.json").read_text())
    follow_schema(top)
    return Seen(result.out_dir, top, reported, before, after)


def test_cpu_loads_match_the_kernel(seen: Seen) -> None:
    assert len(seen.top["cpus"]) == MACHINE.cpus
    for cpu in seen.top["cpus"]:
        number = str(cpu["cpu"])
        before, after = seen.before["idle"][number], seen.after["idle"][number]
        seen.holds(1 - cpu["busy"], before, after, 1.0, f"CPU {number}")


def test_cpu_time_of_containers_and_of_others_on_their_cpus(seen: Seen) -> None:
    row = seen.row("server")
    before, after = (each["groups"]["server"]["usage_usec"] / 1e6 for each in (seen.before, seen.after))
    seen.holds(row["used"], before, after, 1.0, "used")
    assert row["used"] > 0.05
    assert row["others"] > 0.05, "the stray thread runs there"
    assert seen.row("forwarder")["used"] > 0.03


def test_the_stray_thread_is_found_on_its_cpu(seen: Seen) -> None:
    (stray,) = (each for each in seen.row("server")["foreign"] if each["tid"] == seen.reported["stray"])
    assert (stray["cpu"], stray["kernel"], stray["cgroup"]) == (seen.reported["strayCPU"], False, "/")
    seen.holds(stray["used"], seen.before["stray"], seen.after["stray"], 1.0, "stray")


def test_interrupts_are_counted_on_their_cpu(seen: Seen) -> None:
    (serial,) = (each for each in seen.row("forwarder")["interrupts"]["mostFrequent"] if each["name"] == "4")
    before, after = seen.before["interrupts"], seen.after["interrupts"]
    seen.holds(serial["rate"], before, after, 200.0, "interrupts")
    assert "ttyS0" in serial["title"]
    assert seen.row("server")["interrupts"]["devices"] < serial["rate"]


def test_throttling_and_waiting(seen: Seen) -> None:
    row = seen.row("forwarder")
    before, after = (each["groups"]["forwarder"] for each in (seen.before, seen.after))
    seen.holds(row["throttledPeriods"], before["nr_throttled"], after["nr_throttled"], 10.0, "periods")
    seen.holds(
        row["throttled"], before["throttled_usec"] / 1e6, after["throttled_usec"] / 1e6, 1.0, "throttled"
    )
    assert row["throttled"] > 0
    assert seen.row("server")["throttled"] == 0
    seen.holds(row["runQueueDelay"], seen.before["waited"], seen.after["waited"], 1.0, "waited")


def test_values_that_this_kernel_does_not_provide_are_absent(seen: Seen) -> None:
    assert bool(seen.top["pressure"]) == seen.before["pressure"]
    assert all((each["runQueueDelay"] is not None) == seen.before["schedstat"] for each in seen.top["cpus"])
    assert all((each["migrations"] is not None) == seen.before["sched"] for each in seen.top["containers"])


def test_the_screen_was_drawn_on_a_terminal(seen: Seen) -> None:
    drawn = (seen.folder / "drawn.txt").read_text()
    assert "server" in drawn
    assert "\x1b[?1049h" in drawn, "on the alternate screen"
    assert drawn.rstrip().endswith("\x1b[?25h") or "\x1b[?1049l" in drawn, "which it leaves at the end"
    recording = read_recording(str(seen.folder / "top.jsonl.gz"))
    assert len(recording.lines) > 20
    last = recording.moment(len(recording.lines) - 1)
    lines = ["".join(cell.text for cell in line) for line in screen(last, View(), 80, 24, color=False)]
    assert any("server" in line for line in lines)


@pytest.mark.parametrize("way", ["stream", "screen"])
def test_it_takes_less_than_two_percent_of_a_cpu(way: str, seen: Seen) -> None:
    """The slowdown of emulation is measured by the same work at the same time."""
    share, there = json.loads((seen.folder / "cost.json").read_text())[way]
    here = min(calibration() for _ in range(10))
    slower = max(there / here, 1.0)
    assert share / slower < MOST, f"{share:.3f} of a CPU, which is {slower:.1f} times slower there"
