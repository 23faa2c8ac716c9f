"""Pods that hold pod-level CPUs and get others when their kubelet starts (kubernetes issue 140989)."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import FROM_NODE, UnreadableState
from cpuctl.departures import RESTARTS
from cpuctl.engine.state_checks.findings import StateFinding
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.records import replace
from tests.support.state_files import DB, WEB, cpus
from tests.support.verifying import PODS, container, cpu_warning, pod, state, verify

WHOLE = state(pod_entries={WEB: cpus("5,13"), DB: cpus("1-2,9-10")})


def again(who: str, uid: str, which: str) -> StateFinding:
    return cpu_warning(
        code="pod-allocated-again",
        message=f"{who} holds CPUs {which} as a whole: this kubelet assigns it others when it starts, "
        "or rejects it, and these are then lost (kubernetes issue 140989; "
        f"{RESTARTS})",
        fix=f"remove this pod {FROM_NODE}, list its pods again, then cpuctl checkpoint repair --pods FILE",
        pod_uid=uid,
    )


def test_moving_pods_are_reported_with_their_names() -> None:
    owners = Owners.of([pod(DB, container("server", 4))])
    found = verify(WHOLE, config=PODS, owners=owners).findings
    assert [each for each in found if each.code == "pod-allocated-again"] == [
        again(f"shop/{DB}", DB, "1-2,9-10"),
        again(WEB, WEB, "5,13"),
    ]


@pytest.mark.parametrize(
    ("config", "minor", "count"),
    [
        (PODS, 36, 2),
        (PODS, 37, 2),
        (PODS, 38, 0),
        (replace(PODS, topology_manager_policy="none"), 36, 0),
        (replace(PODS, topology_manager_policy="best-effort"), 36, 2),
        (replace(PODS, topology_manager_scope="container"), 36, 0),
    ],
    ids=[
        "as it is",
        "the next",
        "one that restores",
        "no policy",
        "another policy",
        "by container",
    ],
)
def test_only_the_pod_scope_of_a_release_that_does_not_restore_moves_pods(
    config: KubeletConfiguration, minor: int, count: int
) -> None:
    found = verify(WHOLE, config=config, minor=minor).findings
    assert sum(each.code == "pod-allocated-again" for each in found) == count


def test_no_pod_moves_if_the_file_cannot_be_read() -> None:
    """Such a kubelet does not start, and reads nothing else once the file is repaired."""
    found = verify(UnreadableState("checkpoint is corrupted"), config=PODS, whole=WHOLE).findings
    assert "unreadable" in {each.code for each in found}
    assert "pod-allocated-again" not in {each.code for each in found}
