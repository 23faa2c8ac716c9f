from __future__ import annotations

import pytest

from cpuctl.pods.cgroups.files import (
    CgroupFile,
    CgroupHost,
    WeightFormula,
    formula_of_runtime,
    v1_files,
    v2_files,
)
from cpuctl.pods.cgroups.values import CgroupValues

LINEAR, CURVED = WeightFormula.LINEAR, WeightFormula.CURVED
HOST = CgroupHost()
VALUES = CgroupValues(
    shares=1024, quota=150_000, period=100_000, memory=(1 << 30) + 5, hugetlb={2 << 20: 4 << 20}, pids=100
)


def texts(files: dict[str, CgroupFile]) -> dict[str, str]:
    return {name: file.text for name, file in files.items()}


def test_version_2() -> None:
    assert texts(v2_files(VALUES, CURVED, HOST)) == {
        "cpu.weight": "100",
        "cpu.max": "150000 100000",
        "memory.max": "1073741824",
        "hugetlb.2MB.max": "4194304",
        "hugetlb.2MB.rsvd.max": "4194304",
        "pids.max": "100",
    }


def test_version_1() -> None:
    assert texts(v1_files(VALUES, HOST)) == {
        "cpu.shares": "1024",
        "cpu.cfs_quota_us": "150000",
        "cpu.cfs_period_us": "100000",
        "memory.limit_in_bytes": "1073741824",
        "hugetlb.2MB.limit_in_bytes": "4194304",
        "pids.max": "100",
    }


def test_unwritten_files_have_the_kernels_values() -> None:
    second, first = v2_files(CgroupValues(shares=2), LINEAR, HOST), v1_files(CgroupValues(shares=2), HOST)
    assert (second["cpu.max"].text, second["cpu.max"].written) == ("max 100000", False)
    assert (second["memory.max"].text, second["memory.max"].written) == ("max", False)
    assert (first["cpu.cfs_quota_us"].text, first["cpu.cfs_quota_us"].written) == ("-1", False)
    assert first["cpu.shares"].written
    assert "pids.max" not in second


def test_an_explicit_absence_of_a_quota() -> None:
    values = CgroupValues(shares=2, quota=-1, period=50_000)
    assert v2_files(values, LINEAR, HOST)["cpu.max"].text == "max 50000"
    assert v1_files(values, HOST)["cpu.cfs_quota_us"].written


def test_systemd_rounds_quotas() -> None:
    values = CgroupValues(shares=15, quota=1500, period=100_000)
    assert v2_files(values, LINEAR, CgroupHost(systemd=True))["cpu.max"].text == "2000 100000"


def test_memory_protection() -> None:
    values = CgroupValues(shares=2, memory_min=0, memory_low=5000, memory_high=8192)
    files = v2_files(values, LINEAR, HOST)
    assert [files[f"memory.{name}"].text for name in ("min", "low", "high")] == ["0", "4096", "8192"]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("runc-1.3.1", LINEAR),
        ("runc 1.3.2", CURVED),
        ("runc-1.4", CURVED),
        ("crun-1.22", LINEAR),
        ("crun-v1.23", CURVED),
        ("crun-1.23.1", CURVED),
    ],
)
def test_formula_of_a_runtime(text: str, want: WeightFormula) -> None:
    assert formula_of_runtime(text) is want


@pytest.mark.parametrize("text", ["runc", "kata-3.0", "runc-", "runc-1.x", "runc-1..2"])
def test_invalid_runtimes(text: str) -> None:
    with pytest.raises(ValueError, match="expected runc or crun and its version"):
        formula_of_runtime(text)
