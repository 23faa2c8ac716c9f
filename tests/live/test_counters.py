"""The kernel's counters of CPUs, run queues, pressure and interrupts."""

from __future__ import annotations

from pathlib import Path

from cpuctl.live.counters import (
    CounterFiles,
    CPUTimes,
    InterruptCounts,
    Stalled,
    parse_cpu_times,
    parse_pressure,
    parse_run_delays,
)
from cpuctl.root_directory import Root

STAT = b"""\
cpu  10 0 0 0 0 0 0 0 0 0
cpu0 1 2 3 4 5 6 7 8 9 10
cpu11 1 2 3 4 5 6 7
cpu300 10 20 30 40 50 60 70 80 0 0
intr 5 1 2 3
ctxt 9
"""


def test_cpu_times_are_read_by_cpu_number() -> None:
    """Lines without steal time, from an old kernel, are skipped: no values are made up."""
    assert parse_cpu_times(STAT) == {
        0: CPUTimes(1, 2, 3, 4, 5, 6, 7, 8),
        300: CPUTimes(10, 20, 30, 40, 50, 60, 70, 80),
    }


def test_run_delays_are_in_the_eighth_field() -> None:
    text = (
        b"version 17\ntimestamp 42\ncpu0 0 0 0 0 0 0 111 222 3\ndomain0 MC 03 1 2 3\ncpu5 0 0 0 0 0 0 7 8 9\n"
    )
    assert parse_run_delays(text) == {0: 222, 5: 8}


def test_pressure_of_an_older_kernel_has_no_full_line() -> None:
    some = b"some avg10=12.50 avg60=1.00 avg300=0.10 total=987654\n"
    assert parse_pressure(some) == Stalled(987654, None, 12.5)
    assert parse_pressure(some + b"full avg10=0.00 avg60=0.00 avg300=0.00 total=3\n") == Stalled(
        987654, 3, 12.5
    )
    assert parse_pressure(b"some avg10=x total=\n") is None


def interrupts(eth: tuple[int, int], timer: tuple[int, int]) -> InterruptCounts:
    lines = (
        "            CPU0       CPU7",
        f"  24:{eth[0]:>11}{eth[1]:>11}  PCI-MSIX-0000:00:04.0   1-edge      eth0-rx, eth0-tx",
        f" LOC:{timer[0]:>11}{timer[1]:>11}   Local timer interrupts",
        " ERR:          0",
    )
    return InterruptCounts("\n".join(lines).encode())


def test_only_interrupts_that_occurred_are_reported() -> None:
    before, after = interrupts((5, 6), (7, 8)), interrupts((5, 16), (7, 8))
    assert after.since(before) == {"24": {7: 10}}
    assert after.title("24") == "PCI-MSIX-0000:00:04.0 1-edge eth0-rx, eth0-tx"
    assert after.since(after) == {}


def test_counts_of_32_bits_wrap_around() -> None:
    before, after = interrupts((2**32 - 3, 0), (0, 0)), interrupts((4, 0), (0, 0))
    assert after.since(before) == {"24": {0: 7}}


def test_a_reloaded_driver_starts_counting_at_zero() -> None:
    """A count that has decreased a little has not wrapped around."""
    before, after = interrupts((9000, 5), (0, 0)), interrupts((4, 5), (0, 0))
    assert after.since(before) == {"24": {0: 4}}


def test_an_interrupt_without_a_previous_line_started_at_zero() -> None:
    none = InterruptCounts(b"            CPU0       CPU7\n")
    assert interrupts((5, 0), (0, 0)).since(none) == {"24": {0: 5}}


def test_a_cpu_that_came_online_in_between_has_no_counts_to_compare() -> None:
    other = InterruptCounts(b"   CPU0\n 24:  9  eth0\n")
    assert interrupts((50, 0), (0, 0)).since(other) == {}


def test_files_are_read_completely_each_time(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    file = tmp_path / "proc" / "stat"
    file.write_text("cpu0 " + "1" * 200_000)
    files = CounterFiles(Root(tmp_path))
    assert len(files.read("proc/stat") or b"") == 200_005
    file.write_text("cpu0 2")
    assert files.read("proc/stat") == b"cpu0 2"
    assert files.read("proc/none") is None
    assert files.read("proc") is None
    files.close()
    assert files.read("proc/stat") == b"cpu0 2"
