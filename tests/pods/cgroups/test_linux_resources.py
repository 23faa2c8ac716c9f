from __future__ import annotations

import pytest

from cpuctl.pods.cgroups.linux_resources import (
    curved_weight,
    linear_weight,
    page_size,
    page_size_name,
    quota_of,
    shares_of,
    shares_of_weight,
    systemd_quota,
)

# milli-CPUs, shares, linear weight, curved weight, quota in 100 ms
CONVERSIONS = [
    (0, 2, 1, 1, 0),
    (1, 2, 1, 1, 1000),
    (10, 10, 1, 4, 1000),
    (15, 15, 1, 5, 1500),
    (100, 102, 4, 17, 10_000),
    (250, 256, 10, 35, 25_000),
    (500, 512, 20, 59, 50_000),
    (1000, 1024, 39, 100, 100_000),
    (1500, 1536, 59, 138, 150_000),
    (2000, 2048, 79, 174, 200_000),
    (4000, 4096, 157, 303, 400_000),
    (8000, 8192, 313, 532, 800_000),
    (64_000, 65_536, 2500, 3023, 6_400_000),
    (256_000, 262_144, 10_000, 10_000, 25_600_000),
    (512_000, 262_144, 10_000, 10_000, 51_200_000),
]


@pytest.mark.parametrize(("milli", "shares", "linear", "curved", "quota"), CONVERSIONS)
def test_conversions(milli: int, shares: int, linear: int, curved: int, quota: int) -> None:
    assert (shares_of(milli), quota_of(milli)) == (shares, quota)
    assert (linear_weight(shares), curved_weight(shares)) == (linear, curved)


def test_quota_follows_the_period() -> None:
    assert (quota_of(1500, 10_000), quota_of(50, 10_000)) == (15_000, 1000)


def test_no_shares_have_no_curved_weight() -> None:
    assert (curved_weight(0), curved_weight(1)) == (0, 1)


def test_conversion_of_weights_is_not_reversible() -> None:
    assert (shares_of_weight(39), shares_of_weight(1), shares_of_weight(10_000)) == (998, 2, 262_144)


@pytest.mark.parametrize(
    ("quota", "period", "want"),
    [
        (1500, 100_000, 2000),
        (2000, 100_000, 2000),
        (150_001, 100_000, 151_000),
        (0, 100_000, 0),
        (-1, 100_000, -1),
        (15_000, 10_000, 15_000),
    ],
)
def test_systemd_takes_hundredths_of_a_cpu(quota: int, period: int, want: int) -> None:
    assert systemd_quota(quota, period) == want


@pytest.mark.parametrize(
    ("resource", "size", "name"),
    [
        ("hugepages-2Mi", 2 << 20, "2MB"),
        ("hugepages-1Gi", 1 << 30, "1GB"),
        ("hugepages-64Ki", 64 << 10, "64KB"),
        ("hugepages-1000", 1000, "1000B"),
    ],
)
def test_page_sizes(resource: str, size: int, name: str) -> None:
    assert page_size(resource) == size
    assert page_size_name(size) == name


@pytest.mark.parametrize("resource", ["hugepages-", "hugepages-big", "hugepages-0", "hugepages--2Mi"])
def test_names_without_a_size(resource: str) -> None:
    assert page_size(resource) is None
