from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.config import KubeletConfiguration, SettingError
from cpuctl.kubelet.reservations import (
    CPUReservation,
    Reservations,
    check_capacity,
    check_qos_reserved,
    hard_thresholds,
    kube_reserved,
    listed_cpus,
    parse_thresholds,
    require_cpu_reservation,
    system_reserved,
)
from cpuctl.quantity import Format, Quantity

ONLINE = CPUSet.parse("0-7")
GIB = 1 << 30
CAPACITY = {"cpu": Quantity.from_milli(8000), "memory": Quantity.from_value(16 * GIB, Format.BINARY_SI)}


def config(kube: str = "", system: str = "", cpus: str = "") -> KubeletConfiguration:
    return KubeletConfiguration(
        kube_reserved={"cpu": kube} if kube else {},
        system_reserved={"cpu": system} if system else {},
        reserved_system_cpus=cpus,
    )


def reservations(given: KubeletConfiguration) -> Reservations:
    listed = listed_cpus(given, ONLINE)
    return Reservations(
        kube=kube_reserved(given, listed),
        system=system_reserved(given, listed),
        thresholds=hard_thresholds(given),
        listed=listed,
    )


@pytest.mark.parametrize(
    ("given", "count", "cpus", "setting"),
    [
        (config(), 0, None, "reservedSystemCPUs"),
        (config(kube="2"), 2, None, "kubeReserved.cpu"),
        (config(kube="600m", system="600m"), 2, None, "kubeReserved.cpu"),
        (config(kube="600m", system="601m"), 2, None, "systemReserved.cpu"),
        (config(kube="1u"), 1, None, "kubeReserved.cpu"),
        (config(kube="0", system="0"), 0, None, "reservedSystemCPUs"),
        (config(cpus="0-1,4"), 3, "0-1,4", "reservedSystemCPUs"),
        (config(kube="not a quantity", system="7", cpus="0"), 1, "0", "reservedSystemCPUs"),
    ],
)
def test_cpus(given: KubeletConfiguration, count: int, cpus: str | None, setting: str) -> None:
    """A list replaces cpu in both maps, which is then not even parsed."""
    listed = None if cpus is None else CPUSet.parse(cpus)
    found = reservations(given).cpus
    assert found == CPUReservation(count, listed, count > 0, tuple(setting.split(".")))


def test_more_cpus_than_64_bits_hold_are_still_a_reservation() -> None:
    """The kubelet's count is truncated, but there is a reservation."""
    assert reservations(config(kube="1e30")).cpus.given


def texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def test_everything_reserved_adds_up() -> None:
    given = KubeletConfiguration(
        kube_reserved={"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "2Gi"},
        system_reserved={"cpu": "1", "memory": "512Mi", "pid": "0"},
        eviction_hard={"memory.available": "100Mi", "nodefs.available": "10%"},
    )
    assert texts(reservations(given).total(CAPACITY)) == {"cpu": "1500m", "memory": "1636Mi"}


def test_zero_reserves_nothing() -> None:
    given = KubeletConfiguration(kube_reserved={"cpu": "0", "memory": "0"})
    assert reservations(given).total(CAPACITY) == {}


def test_percentages_count_only_for_known_capacities() -> None:
    kept = Reservations(thresholds=parse_thresholds({"memory.available": "1%", "nodefs.available": "10%"}))
    assert texts(kept.kept_by_eviction(CAPACITY)) == {"memory": "171798688"}


def test_eviction_can_be_ignored() -> None:
    given = KubeletConfiguration(
        eviction_hard={"memory.available": "100Mi"}, ignores_eviction_thresholds=True
    )
    assert reservations(given).total(CAPACITY) == {}


@dataclass(frozen=True)
class Refusal:
    """A configuration with which a kubelet does not start, its words, and the setting to fix."""

    check: Callable[[], object]
    want: str
    path: tuple[str, ...]


PARSE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
QOS = "--qos-reserved value failed to parse: "
REFUSALS = [
    Refusal(
        lambda: reservations(config(cpus="6-8")),
        "reserved-cpus: 6-8 is not a subset of online-cpus: 0-7",
        ("reservedSystemCPUs",),
    ),
    Refusal(
        lambda: reservations(config(cpus="0-9999999999")),
        "reserved-cpus: 0-9999999999 is not a subset of online-cpus: 0-7",
        ("reservedSystemCPUs",),
    ),
    Refusal(
        lambda: reservations(config(cpus="0-")),
        'unable to parse reserved-cpus list: strconv.Atoi: parsing "": invalid syntax',
        ("reservedSystemCPUs",),
    ),
    Refusal(
        lambda: reservations(config(kube="1x")),
        f'--kube-reserved value failed to parse: failed to parse quantity "1x" for "cpu" resource: {PARSE}',
        ("kubeReserved", "cpu"),
    ),
    Refusal(
        lambda: reservations(config(system="-1")),
        '--system-reserved value failed to parse: resource quantity for "cpu" cannot be negative: -1',
        ("systemReserved", "cpu"),
    ),
    Refusal(
        lambda: reservations(KubeletConfiguration(kube_reserved={"hugepages-2Mi": "2Mi"})),
        '--kube-reserved value failed to parse: cannot reserve "hugepages-2Mi" resource',
        ("kubeReserved", "hugepages-2Mi"),
    ),
    Refusal(
        lambda: check_qos_reserved({"cpu": "50%"}),
        f'{QOS}cannot reserve "cpu" resource',
        ("qosReserved", "cpu"),
    ),
    Refusal(
        lambda: check_qos_reserved({"memory": "50"}),
        f"""{QOS}failed to parse percentage "50" for "memory" resource: percentage expected, got '50'""",
        ("qosReserved", "memory"),
    ),
    Refusal(
        lambda: check_qos_reserved({"memory": "x%"}),
        f"""{QOS}failed to parse percentage "x%" for "memory" resource: invalid number in percentage 'x%'""",
        ("qosReserved", "memory"),
    ),
    Refusal(
        lambda: check_qos_reserved({"memory": "101%"}),
        f'{QOS}failed to parse percentage "101%" for "memory" resource: percentage must be between 0 and 100',
        ("qosReserved", "memory"),
    ),
    Refusal(
        lambda: require_cpu_reservation(CPUReservation(0, given=False)),
        "[cpumanager] unable to determine reserved CPU resources for static policy",
        ("reservedSystemCPUs",),
    ),
    Refusal(
        lambda: check_capacity(Reservations(kube={"memory": Quantity.parse("1000Gi")}), CAPACITY),
        'invalid Node Allocatable configuration. Resource "memory" has a reservation of {{1073741824000 0}'
        " {<nil>}  BinarySI} but capacity of {{17179869184 0} {<nil>}  BinarySI}. Expected capacity >="
        " reservation.",
        ("kubeReserved", "memory"),
    ),
    Refusal(
        lambda: check_capacity(
            Reservations(kube={"memory": Quantity.parse("1Gi")}, system={"cpu": Quantity.parse("9")}),
            CAPACITY,
        ),
        'invalid Node Allocatable configuration. Resource "cpu" has a reservation of {{9 0} {<nil>} '
        " DecimalSI} but capacity of {{8000 -3} {<nil>}  DecimalSI}. Expected capacity >= reservation.",
        ("systemReserved", "cpu"),
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.want[:60])
def test_errors_are_in_the_kubelets_words(case: Refusal) -> None:
    with pytest.raises(SettingError) as caught:
        case.check()
    assert (str(caught.value), caught.value.path) == (case.want, case.path)


def test_valid_reservations_pass() -> None:
    require_cpu_reservation(CPUReservation(1))
    check_qos_reserved({"memory": "100%"})
    check_capacity(Reservations(kube={"memory": Quantity.from_value(16 * GIB)}), CAPACITY)


def test_the_number_of_a_pointer_cannot_be_known() -> None:
    long_form = Quantity.parse("1.5Gi") + Quantity.parse("100Gi")
    with pytest.raises(SettingError, match=r"has a reservation of \{\.\.\.\} but capacity of \{\{"):
        check_capacity(Reservations(kube={"memory": long_form}), CAPACITY)
