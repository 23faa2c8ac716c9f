"""What a container has before any manager assigns it something."""

from __future__ import annotations

from cpuctl.engine.placement import Isolation, Placement
from tests.support.pods import app


def test_a_new_placement_has_no_exclusive_resources() -> None:
    placed = Placement(container=app("cpu=2"))
    assert (placed.claim.cpus, placed.cpus, placed.isolation) == (0, 0, Isolation.HOST)
    assert (placed.memory, placed.cpuset_mems, placed.why_no_memory, placed.devices) == ((), "", "", ())
