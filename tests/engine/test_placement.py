"""What a container has before any manager has given it something."""

from __future__ import annotations

from cpuctl.engine.placement import Isolation, Placement
from tests.support.pods import app


def test_a_container_that_nobody_gave_anything_has_nothing_of_its_own() -> None:
    placed = Placement(container=app("cpu=2"))
    assert (placed.claim.cpus, placed.cpus, placed.isolation) == (0, 0, Isolation.HOST)
    assert (placed.memory, placed.cpuset_mems, placed.why_no_memory, placed.devices) == ((), "", "", ())
