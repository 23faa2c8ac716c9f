"""What helps is for the resource, or the CPUs, that the message names."""

from __future__ import annotations

import pytest

from cpuctl.messages.recognition import recognize
from tests.messages.test_recognition import FULL

MOVE, NODE = "move a pod to another node, ", "on the node (kubeReserved, systemReserved, evictionHard)"
CPU_SETTINGS = "reservedSystemCPUs, kubeReserved, systemReserved"


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("OutOfmemory", f"{MOVE}request less memory, or reserve less of it {NODE}"),
        (
            FULL,
            f"{MOVE}request less CPU, or reserve less of it on the node ({CPU_SETTINGS})",
        ),
        (
            "OutOfhugepages-2Mi",
            f"{MOVE}request fewer huge pages, or allocate more hugepages-2Mi on the node",
        ),
        ("OutOfpods", f"{MOVE}or raise maxPods (and podsPerCore, if it is set)"),
        (
            "OutOfexample.com/nic",
            f"{MOVE}request less, or check that the device plugin of example.com/nic is running",
        ),
        (
            "0/1 nodes are available: 1 Insufficient memory.",
            f"remove pods, request less memory, or reserve less of it {NODE}",
        ),
    ],
)
def test_the_fix_is_for_the_resource_in_the_message(line: str, fix: str) -> None:
    (found,) = recognize(line)
    assert found.message.fix_of(found.values) == fix


@pytest.mark.parametrize(
    ("reserved", "online", "fix"),
    [
        (
            "0-1,16-17",
            "0-16,18-31",
            "bring CPU 17 online if this machine has it, or set reservedSystemCPUs: 0-1,16",
        ),
        ("0,8", "0-7", 'bring CPU 8 online if this machine has it, or set reservedSystemCPUs: "0"'),
        (
            "8-9",
            "0-7",
            "bring CPUs 8-9 online if this machine has them, or list other CPUs in reservedSystemCPUs",
        ),
        (
            "0-9999999999",
            "0-7",
            "remove CPUs that are not online from reservedSystemCPUs, or bring them online",
        ),
    ],
)
def test_as_many_reserved_cpus_as_possible_are_kept(reserved: str, online: str, fix: str) -> None:
    (found,) = recognize(f"E1 kubelet: reserved-cpus: {reserved} is not a subset of online-cpus: {online}")
    assert found.message.fix_of(found.values) == fix


@pytest.mark.parametrize(("cpus", "whole"), [("14", True), ("13", False), ("9" * 5000, False)])
def test_a_request_for_whole_cores_is_not_called_uneven(cpus: str, *, whole: bool) -> None:
    """Up to 1.31, a kubelet says so, too, if no core is free."""
    (found,) = recognize(f"SMT Alignment Error: requested {cpus} cpus not multiple cpus per core = 2")
    meaning, fix = found.message.meaning_of(found.values), found.message.fix_of(found.values)
    assert ("no core is completely free" in meaning, "move a pod" in fix) == (whole, whole)
