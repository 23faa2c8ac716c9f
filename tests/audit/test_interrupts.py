"""Interrupts as procfs and the settings of irqbalance show them."""

from __future__ import annotations

import pytest

from cpuctl.audit.interrupts import banned_cpus, fired_on, listed_actions
from cpuctl.cpuset import CPUSet
from tests.audit.node_tree import NodeTree, clean_node

COUNTS = """\
            CPU0       CPU2       CPU10
   0:        277          0          1   IO-APIC    2-edge      timer
  24:          1          2          4   PCI-MSI  nvme0q1
  25:          7
 LOC:       1232       1520       879   Local timer interrupts
 ERR:          0
"""


@pytest.mark.parametrize(
    ("cpus", "want"),
    [
        ("2", {0: 0, 24: 2}),
        ("2,10", {0: 1, 24: 6}),
        ("0", {0: 277, 24: 1, 25: 7}),
        ("1", {}),
        ("", {}),
    ],
)
def test_counts_are_added_up_on_the_cpus_that_matter(cpus: str, want: dict[int, int]) -> None:
    assert fired_on(COUNTS, CPUSet.parse(cpus)) == want


TABLE = """\
            CPU0       CPU1
   0:        277          0  IR-IO-APIC    2-edge      timer
  16:          1          2  IR-IO-APIC   16-fasteoi   ehci_hcd:usb1, i801_smbus
  24:          1          2  PCI-MSI  nvme0q1
  27:          4          5  IR-PCI-MSIX-0000:5e:00.0    0-edge      mlx5_async0@pci:0000:5e:00.0
  30:       1000       2000     GICv3  30 Level     arch_timer
  31:          0          0  IR-PCI-MSI 524288-edge
 LOC:       1232       1520   Local timer interrupts
"""


def test_the_table_names_the_handlers_of_interrupts() -> None:
    assert listed_actions(TABLE) == {
        0: ("timer",),
        16: ("ehci_hcd:usb1", "i801_smbus"),
        24: ("nvme0q1",),
        27: ("mlx5_async0@pci:0000:5e:00.0",),
        30: ("arch_timer",),
    }


@pytest.mark.parametrize("text", ["", "\n\n", "no heading\n 1: 2\n", "CPU0\nx: y\n: 1\n"])
def test_an_invalid_table_names_nothing(text: str) -> None:
    assert listed_actions(text) == {}


@pytest.mark.parametrize("text", ["", "\n\n", "no heading\n 1: 2\n", "CPU0\nx: y\n: 1\n"])
def test_an_invalid_table_counts_nothing(text: str) -> None:
    assert fired_on(text, CPUSet.parse("0-3")) == {}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", None),
        ("IRQBALANCE_BANNED_CPUS=\n", None),
        ("IRQBALANCE_BANNED_CPUS=fc\n", "2-7"),
        ("IRQBALANCE_BANNED_CPUS=1,0\n", "32"),
        ('export IRQBALANCE_BANNED_CPUS="00000001,0000000f"\n', "0-3,32"),
        ("IRQBALANCE_BANNED_CPULIST=2-3,8\n", "2-3,8"),
        ("IRQBALANCE_BANNED_CPUS=ff\nIRQBALANCE_BANNED_CPULIST=1\n", "1"),
        ("# IRQBALANCE_BANNED_CPUS=ff\nIRQBALANCE_BANNED_CPUS=1\nIRQBALANCE_BANNED_CPUS=2\n", "1"),
    ],
)
def test_bans_are_read_as_irqbalance_reads_them(text: str, want: str | None) -> None:
    found = banned_cpus(text)
    assert (None if found is None else str(found)) == want


@pytest.mark.parametrize("text", ["IRQBALANCE_BANNED_CPULIST=3-1", "IRQBALANCE_BANNED_CPUS=f-f"])
def test_an_invalid_ban_is_noted(text: str) -> None:
    with pytest.raises(ValueError, match="found"):
        banned_cpus(text)
    node = clean_node()
    node.process(72, "irqbalance", "/system.slice/irqbalance.service", "0")
    node.files["etc/default/irqbalance"] = text
    assert node.codes() == ["irqbalance"]


def with_interrupt(allowed: str, effective: str) -> NodeTree:
    """Make a node with one more interrupt; CPUs 1 and 5 are exclusive."""
    node = clean_node()
    node.interrupt(25, "nvme0q1", allowed, effective)
    return node


@pytest.mark.parametrize(
    ("allowed", "effective", "want"),
    [
        ("0-7", "5", ["interrupt"]),
        ("0-7", "2", ["interrupts-allowed"]),
        ("5", "2", ["interrupt"]),
        ("0-1", "5", ["interrupts-allowed"]),
        ("0,4", "5", []),
        ("0,4", "0", []),
    ],
)
def test_a_redirected_interrupt_comes_once_at_most(allowed: str, effective: str, want: list[str]) -> None:
    """It moves with its next event, so the effective CPU may be outdated."""
    assert with_interrupt(allowed, effective).codes() == want


def test_an_interrupt_with_only_a_known_mask_may_come_to_all_its_cpus() -> None:
    node = with_interrupt("0-7", "2")
    del node.files["proc/irq/25/effective_affinity_list"]
    assert node.codes() == ["interrupt"]


def test_an_interrupt_without_a_handler_does_not_count() -> None:
    node = with_interrupt("0-7", "5")
    del node.files["proc/irq/25/nvme0q1/unused"]
    assert node.codes() == []
