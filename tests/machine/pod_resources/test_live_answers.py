"""Answers of the API as they come over the wire."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.pod_resources.live_answers import decode_allocatable_cpus, decode_list
from cpuctl.machine.pod_resources.model import ContainerAllocation, MemoryHeld, PodAllocation
from tests.machine.pod_resources.messages import (
    ALLOCATABLE,
    LISTED,
    container,
    memory,
    nested,
    number,
    packed,
    pod,
    pods,
)

TRAIN = ContainerAllocation(
    name="main",
    cpus=CPUSet.parse("2-3,130"),
    memory=(MemoryHeld("memory", 1 << 33, CPUSet.parse("0-1")),),
    devices={"nvidia.com/gpu": frozenset({"g0", "g1"})},
)


def test_a_whole_list() -> None:
    assert decode_list(LISTED) == (
        PodAllocation("ai", "train", (TRAIN, ContainerAllocation("log")), CPUSet.parse("2-4")),
        PodAllocation("kube-system", "dns"),
    )
    assert decode_list(b"") == ()
    assert decode_allocatable_cpus(ALLOCATABLE) == CPUSet.parse("1-199")


def test_what_other_writers_may_send() -> None:
    """Numbers one by one instead of packed, and all kinds of fields of later releases."""
    assert decode_allocatable_cpus(number(2, 1) + number(2, 130) + packed(2, [0])) == CPUSet.parse("0-1,130")
    later = number(90, 7) + nested(91, "new") + b"\xe1\x05" + bytes(8) + b"\xe5\x05" + bytes(4)
    assert decode_allocatable_cpus(later + number(2, 1)) == CPUSet.of([1])


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (LISTED[:-1], "it ends within a field"),
        (b"\x80" * 11, "a number is too long"),
        (b"\x0b", "a field has unknown wire type 3"),
        (number(1, 5), "field 1 is a number"),
        (pods(pod("ai", "train", container("main", cpus=(-1,)))), "CPU -1 is out of range"),
        (pods(pod("ai", "train", container("main", cpus=(1 << 40,)))), "CPU 1099511627776 is out of range"),
        (
            pods(pod("ai", "a", container("b", blocks=(memory("memory", 1, 4096),)))),
            "NUMA node 4096 is out of range",
        ),
        (pods(nested(1, b"\xff")), "can't decode byte 0xff"),
    ],
)
def test_an_invalid_message(message: bytes, why: str) -> None:
    with pytest.raises(InputError, match=why):
        decode_list(message)
