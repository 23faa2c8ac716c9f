from __future__ import annotations

import pytest

from cpuctl.errors import InputError
from cpuctl.machine.model import Machine
from cpuctl.machine.set_names import parse_cpu_names
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.records import replace

MACHINE = parse_synthetic("2s4n4c2t")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", ""),
        ("0-2,8", "0-2,8"),
        ("node:1", "2-3,10-11"),
        ("socket:1,core:0", "0,4-8,12-15"),
        ("l3:3", "6-7,14-15"),
        ("0xff", "0-7"),
        ("0X3", "0-1"),
        ("fffefffc,fffefffc", "2-15,17-31,34-47,49-63"),
        ("3,00000000", "32-33"),
        ("00000000,00000003", "0-1"),
        ("0xf,0000000f", "0-3,32-35"),
        ("f", "0-3"),
        ("00000003", "0-1"),
        ("03", "3"),
        ("10", "10"),
        ("3,8", "3,8"),
    ],
)
def test_names_and_numbers_mix(text: str, want: str) -> None:
    assert str(parse_cpu_names(text, MACHINE)) == want


def with_package_ids(offset: int) -> Machine:
    cpus = (cpu._replace(package_id=(cpu.package_id or 0) + offset) for cpu in MACHINE.cpus)
    return replace(MACHINE, cpus=tuple(cpus))


LARGE = 9_000_000_000_000_000_000
REFUSALS = [
    ("node:4", MACHINE, "this machine has no node:4: expected node:N with N in 0-3"),
    ("node:", MACHINE, "this machine has no node:: expected node:N with N in 0-3"),
    ("node:-1", MACHINE, "this machine has no node:-1: expected node:N with N in 0-3"),
    ("node:\N{ARABIC-INDIC DIGIT ONE}", MACHINE, "expected node:N with N in 0-3"),
    ("node:" + "1" * 5000, MACHINE, "expected node:N with N in 0-3"),
    ("socket:7", MACHINE, "this machine has no socket:7: expected socket:N with N in 0-1"),
    ("socket:7", with_package_ids(LARGE), f"expected socket:N with N in {LARGE},{LARGE + 1}"),
    ("node:0", parse_synthetic("0n4c"), "this machine has no node:0: expected a list of CPUs"),
    ("disk:0", MACHINE, "unknown set of CPUs: 'disk:0'"),
    ("0xfff,1", MACHINE, "expected a CPU list, found '0xfff'"),
    ("0-", MACHINE, "expected a CPU list, found '0-'"),
]


@pytest.mark.parametrize(("text", "machine", "want"), REFUSALS, ids=[text[:12] for text, _, _ in REFUSALS])
def test_errors_list_the_available_names(text: str, machine: Machine, want: str) -> None:
    with pytest.raises(InputError) as error:
        parse_cpu_names(text, machine)
    assert want in error.value.message


def test_sockets_of_any_number_can_be_named() -> None:
    assert str(parse_cpu_names(f"socket:{LARGE}", with_package_ids(LARGE))) == "0-3,8-11"


@pytest.mark.parametrize("text", ["", "0", "0-3,8", "31", "32", "2-15,17-31,34-47,49-63"])
def test_a_printed_mask_is_read_back(text: str) -> None:
    cpus = parse_cpu_names(text, MACHINE)
    assert parse_cpu_names(f"0x{cpus.kernel_mask}", MACHINE) == cpus
