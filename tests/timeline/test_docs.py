"""Every kind of entry and every part of a view is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpuctl.timeline.model import KubeletAction
from cpuctl.timeline.reading.events import ACTIONS
from cpuctl.timeline.report.views import VIEWS
from tests.timeline.replaying import play

TEXT = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", [*ACTIONS, *KubeletAction, *VIEWS])
def test_every_word_is_documented(word: str) -> None:
    assert f"`{word}`" in TEXT


@pytest.mark.parametrize("view", ["containers", "pods", "stateFile", "kubelet"])
def test_every_part_of_a_view_is_documented(view: str) -> None:
    simulation = play({"at": "0s", "admit": "dpdk"})
    seen = VIEWS[view](simulation.world)
    assert isinstance(seen, dict)
    parts = next(iter(seen.values())) if view in ("containers", "pods") else seen
    assert isinstance(parts, dict)
    (reported,) = re.findall(rf"`{view}` \(([^)]*)\)", TEXT)
    assert set(parts) <= set(re.findall(r"\w+", reported))
