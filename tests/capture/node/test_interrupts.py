from __future__ import annotations

import pytest

from cpuctl.capture.node import interrupts
from tests.capture.node_texts import node_texts, recorded


def test_affinities_and_the_names_of_actions_are_recorded() -> None:
    members = recorded().members
    assert {path: text for path, text in members.items() if path.startswith("proc/irq")} == {
        "proc/irq/default_smp_affinity": "ff\n",
        "proc/irq/24/smp_affinity_list": "0-3\n",
        "proc/irq/24/effective_affinity_list": "2\n",
        "proc/irq/24/eth0-rx-0": None,
    }


def test_their_number_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "MAX_INTERRUPTS", 2)
    texts = node_texts() | {f"proc/irq/{number}/smp_affinity_list": "0\n" for number in (30, 100)}
    area = {area.name: area for area in recorded(texts).areas}["interrupts"]
    assert area.counts == {"interrupts": 2}
    assert area.notes == ("only the first 2 of 3 interrupts are recorded",)
