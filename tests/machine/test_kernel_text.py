from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.machine.kernel_text import (
    MemoryTotals,
    ProcessorSummary,
    parse_cpu_list,
    parse_cpu_map,
    parse_cpuinfo,
    parse_distances,
    parse_flag,
    parse_meminfo,
    parse_number,
    parse_size,
    parse_word,
)
from tests.support.costs import bytes_below


@dataclass(frozen=True)
class Case:
    parse: Callable[[str], object]
    text: str
    want: object


READABLE = [
    Case(parse_cpu_list, "0-3,8\n", CPUSet.parse("0-3,8")),
    Case(parse_cpu_list, "\n", CPUSet()),
    Case(parse_cpu_list, "      (null)\n", CPUSet()),
    Case(parse_cpu_list, "\0\n", CPUSet()),
    Case(parse_cpu_map, "0000,00000000,80000001\n", CPUSet.parse("0,31")),
    Case(parse_cpu_map, "f,00000000\n", CPUSet.parse("32-35")),
    Case(parse_cpu_map, "03", CPUSet.parse("0-1")),
    Case(parse_cpu_map, "00000000,00000000\n", CPUSet()),
    Case(parse_number, "-1\n", -1),
    Case(parse_number, " 42 ", 42),
    Case(parse_flag, "1\n", True),
    Case(parse_flag, "0\n", False),
    Case(parse_word, "Unified\n", "Unified"),
    Case(parse_size, "32K\n", 32 << 10),
    Case(parse_size, "16M", 16 << 20),
    Case(parse_distances, "10 21\n", (10, 21)),
    Case(parse_distances, "\n", ()),
    Case(parse_meminfo, "MemTotal:  16 kB\nMemFree: 4 kB\n", MemoryTotals(16384, 4096)),
    Case(parse_meminfo, "\nNode 3 MemTotal:  16 kB\nNode 3 MemUsed: 1 kB\n", MemoryTotals(16384, None)),
    Case(parse_cpuinfo, "", ProcessorSummary()),
    Case(
        parse_cpuinfo,
        "vendor_id\t: GenuineIntel\nmodel name\t: A\n",
        ProcessorSummary("A", 0, "GenuineIntel"),
    ),
    Case(parse_cpuinfo, "model name\t: A\nmodel name\t: B\n", ProcessorSummary("A", 0)),
    Case(parse_cpuinfo, "physical id : 0\nphysical id : 1\nphysical id : 0\n", ProcessorSummary(None, 2)),
    Case(parse_cpuinfo, "physical id\t: 0\r\n  physical id:1\nmy physical id : 2", ProcessorSummary(None, 2)),
    Case(parse_cpuinfo, "model name\nmodel name :\n\nmodel name : A: B \n", ProcessorSummary("A: B", 0)),
    Case(parse_cpuinfo, "physical id\t: -1\n", ProcessorSummary(None, 0)),
    Case(
        parse_cpuinfo,
        "vendor_id : IBM/S390\nprocessor 0: version = FF\n",
        ProcessorSummary("IBM/S390", 0, "IBM/S390"),
    ),
    Case(parse_cpuinfo, "cpu\t: POWER9\nmodel\t: 9006\n", ProcessorSummary("POWER9", 0)),
]


@pytest.mark.parametrize("case", READABLE, ids=lambda case: f"{case.parse.__name__}-{case.text[:20]!r}")
def test_reads_what_kernels_print(case: Case) -> None:
    assert case.parse(case.text) == case.want


def test_irrelevant_lines_of_cpuinfo_use_no_memory() -> None:
    text = "ab\n" * 1_000_000
    with bytes_below(1_000_000):
        assert parse_cpuinfo(text) == ProcessorSummary()


UNREADABLE = [
    Case(parse_cpu_list, "0-", "found '0-', expected a list such as 0-3,8"),
    Case(parse_cpu_list, "3-1", 'invalid range "3-1"'),
    Case(parse_cpu_list, "0;1", "expected a list such as 0-3,8"),
    Case(parse_cpu_list, "0-8192", "found number 8192, expected at most 8191"),
    Case(parse_cpu_list, "99999999999", "expected a list such as 0-3,8"),
    Case(parse_cpu_list, "x" * 50, f"found '{'x' * 37}...', expected"),
    Case(parse_cpu_map, "", "found '', expected a CPU map"),
    Case(parse_cpu_map, "0x3", "expected a CPU map"),
    Case(parse_cpu_map, "1_1", "expected a CPU map"),
    Case(parse_cpu_map, "00000000,0003", "expected a CPU map"),
    Case(parse_cpu_map, "1" + ",00000000" * 256, "found number 8192, expected at most 8191"),
    Case(parse_number, "", "found '', expected a number"),
    Case(parse_number, "1.5", "expected a number"),
    Case(parse_number, "1_0", "expected a number"),
    Case(parse_number, "\u0661", "expected a number"),
    Case(parse_number, "9" * 20, "expected a number"),
    Case(parse_flag, "2", "found '2', expected 0 or 1"),
    Case(parse_word, "a\x1b[2Jb", "expected one word"),
    Case(parse_size, "32", "found '32', expected a size such as 32K"),
    Case(parse_size, "", "expected a size"),
    Case(parse_size, "xK", "expected a size"),
    Case(parse_distances, "10 x", "found '10 x', expected distances such as 10 21"),
    Case(parse_distances, "10 " * 1025, "found more than 1024 distances, expected one for each NUMA node"),
    Case(parse_meminfo, "MemTotal: 16 MB", "expected MemTotal: and a number in kB"),
    Case(parse_meminfo, "MemTotal: many kB", "found 'many', expected a number"),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: f"{case.parse.__name__}-{case.text[:20]!r}")
def test_errors_report_found_and_expected_text(case: Case) -> None:
    with pytest.raises(ValueError, match=re.escape(str(case.want))):
        case.parse(case.text)
