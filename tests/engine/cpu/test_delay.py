"""How long a container keeps CPUs before giving them up: the delay of the node or pod (KEP-6122)."""

from __future__ import annotations

import pytest

from cpuctl.engine.cpu.state import NO_DELAY, DelayRules, delay_of
from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.golang.durations import SECOND
from cpuctl.records import replace
from tests.support.pods import resources
from tests.support.resizing import Setting, admitted, guaranteed, held, pod_of, request

FIVE_SECONDS = DelayRules(of_node=5 * SECOND)


@pytest.mark.parametrize(
    ("grace", "rules", "want"),
    [
        (None, NO_DELAY, 0),
        (7, NO_DELAY, 0),
        (None, FIVE_SECONDS, 5 * SECOND),
        (7, FIVE_SECONDS, 5 * SECOND),
        (7, DelayRules(by_pod=True), 7 * SECOND),
        (None, DelayRules(by_pod=True), 0),
        (0, replace(FIVE_SECONDS, by_pod=True), 0),
    ],
)
def test_the_delay_comes_from_the_node_or_as_planned_from_the_pod(
    grace: int | None, rules: DelayRules, want: int
) -> None:
    assert delay_of(pod_of(guaranteed("2"), scale_down_grace=grace), rules) == want


@pytest.mark.parametrize("rules", [FIVE_SECONDS, DelayRules(by_pod=True)])
def test_pods_with_pod_level_resources_do_not_wait(rules: DelayRules) -> None:
    """KEP-6122, non-goals: they are not resized at all."""
    level = pod_of(guaranteed("2"))._replace(resources=resources("cpu=2", "cpu=2"), scale_down_grace=7)
    assert delay_of(level, rules) == 0


def test_a_decision_reports_the_delay_of_containers_that_give_up_cpus() -> None:
    """A container that grows does not wait; one that shrinks keeps its CPUs until the delay has passed."""
    setting = Setting()
    node = setting.node()
    node.delays = FIVE_SECONDS
    path = ResizePath(kubelet=setting.rules())
    small = admitted(node, pod_of(guaranteed("2")))
    grown = decide(node, request(small, c="cpu=4"), path)
    assert (grown.delay, held(node)) == (0, "6-9")
    shrunk = decide(node, request(node.active["p"], c="cpu=2"), path)
    assert (shrunk.delay, held(node)) == (5 * SECOND, "6-9")
    share = shrunk.shares["c"]
    assert (share.before, share.after, share.baseline) == (0b1111 << 6, 0b11 << 6, 0b11 << 6)
