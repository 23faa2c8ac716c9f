"""What a running pod has been granted and uses, by its status."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import RecordedPod, RecordedResources
from cpuctl.engine.resize.running import POD, PodResize, requirements, running_pod, with_checkpoints
from cpuctl.pods.model import ResourceRequirements, StoredPod
from cpuctl.pods.running import ContainerStatus, ReportedResources, ResizeStatus, RunState
from cpuctl.records import replace
from tests.support.pods import amounts, app, resources
from tests.support.resizing import guaranteed, pod_of

ASKED = pod_of(guaranteed("6", "c"))._replace(generation=3)
OLD = amounts("cpu=4 memory=1Gi")
IN_FORCE = ReportedResources(requests=OLD, limits=OLD)
BOTH = replace(IN_FORCE, granted=OLD)
PENDING, IN_PROGRESS = ResizeStatus(pending=True, waiting_since="then"), ResizeStatus(in_progress=True)


def stored(resize: ResizeStatus | None, reported: ReportedResources, *, ephemeral: bool = False) -> StoredPod:
    status = ContainerStatus(name="c", state=RunState.RUNNING, resources=reported, ephemeral=ephemeral)
    return ASKED._replace(statuses=(status,), resize=resize)


def cpus(pod: StoredPod) -> str:
    return str(pod.containers[0].resources.requests["cpu"])


@pytest.mark.parametrize(
    ("name", "pod", "allocated", "actual"),
    [
        ("no status", ASKED, "6", "6"),
        ("a status without resources", stored(ResizeStatus(), ReportedResources()), "6", "6"),
        ("only a pending resize is reported", stored(PENDING, ReportedResources()), "6", "6"),
        ("only requests are in force", stored(PENDING, ReportedResources(requests=OLD)), "4", "4"),
        ("granted, pending, and not said what is in force", stored(PENDING, ReportedResources(granted=OLD)),
         "4", "4"),
        ("granted and in force, but still pending",
         stored(PENDING, replace(BOTH, granted=amounts("cpu=5"))), "5", "4"),
        ("no resize is under way, and the runtime lags behind", stored(ResizeStatus(), IN_FORCE), "6", "6"),
        ("pending", stored(PENDING, BOTH), "4", "4"),
        ("pending, of a release that does not say what is granted", stored(PENDING, IN_FORCE), "4", "4"),
        ("granted and carried out", stored(ResizeStatus(), replace(BOTH, granted=amounts("cpu=6"))),
         "6", "6"),
        ("being carried out", stored(IN_PROGRESS, replace(BOTH, granted=amounts("cpu=6"))), "6", "4"),
        ("being carried out, of such a release", stored(IN_PROGRESS, IN_FORCE), "6", "4"),
        ("a container for debugging", stored(PENDING, BOTH, ephemeral=True), "6", "6"),
    ],
)  # fmt: skip
def test_what_a_container_has(name: str, pod: StoredPod, allocated: str, actual: str) -> None:
    del name
    running = running_pod(pod)
    assert (cpus(running.spec), cpus(running.allocated)) == ("6", allocated)
    assert (cpus(running.actuated), cpus(running.actual)) == (actual, actual)
    assert running.generation == 3
    assert PodResize(running, pod).is_new == (allocated != "6")


def test_a_limit_above_the_request_is_the_actual_one() -> None:
    """A status has no other limits; if limits equal requests, the granted requests apply."""
    shares = ASKED._replace(containers=(app("cpu=2 memory=2Gi", "cpu=6 memory=2Gi", "c"),))
    reported = ReportedResources(
        granted=amounts("cpu=2 memory=2Gi"), requests=OLD, limits=amounts("cpu=4 memory=1Gi")
    )
    status = ContainerStatus(name="c", state=RunState.RUNNING, resources=reported)
    running = running_pod(shares._replace(statuses=(status,), resize=IN_PROGRESS))
    assert running.allocated.containers[0].resources.limits == amounts("cpu=4 memory=2Gi")


def test_resources_not_in_the_spec_are_not_taken_from_the_runtime() -> None:
    """The runtime also reports limits that it sets on its own."""
    odd = ReportedResources(requests=amounts("cpu=4 memory=1Gi pids=9"), limits=amounts("cpu=4"))
    have = running_pod(stored(PENDING, odd)).actual.containers[0].resources
    assert (have.requests, have.limits) == (OLD, amounts("cpu=4") | {"memory": ASKED_MEMORY})


ASKED_MEMORY = ASKED.containers[0].resources.limits["memory"]


def test_pod_level_resources_also_have_a_status() -> None:
    whole = ASKED._replace(resources=resources("cpu=8", "cpu=8"))
    level = ReportedResources(granted=amounts("cpu=7"), limits=amounts("cpu=7"))
    running = running_pod(whole._replace(resize=replace(PENDING, pod_level=level)))
    assert requirements(running.allocated)[POD] == resources("cpu=7", "cpu=7")
    unknown = running_pod(ASKED._replace(resize=replace(PENDING, pod_level=level)))
    assert unknown.allocated.resources is None


def test_the_time_a_resize_became_pending_is_read_from_the_status() -> None:
    assert running_pod(stored(PENDING, BOTH)).waiting_since == "then"


def test_the_status_of_containers_that_are_not_in_the_manifest_is_ignored() -> None:
    (status,) = (given := stored(PENDING, BOTH)).statuses
    running = running_pod(given._replace(statuses=(replace(status, name="other"), status)))
    assert (running.allocated, running.actual) == (
        running.spec._replace(containers=running.allocated.containers),
        running.allocated,
    )
    assert cpus(running.allocated) == "4"


def test_a_status_may_have_only_limits() -> None:
    """What it leaves out is as in the spec."""
    have = running_pod(stored(PENDING, ReportedResources(limits=OLD))).actual.containers[0].resources
    assert (have.requests, have.limits) == (ASKED.containers[0].resources.requests, OLD)


SIZE = RecordedResources(requests=amounts("cpu=4"), limits=amounts("cpu=5"))
LEVEL = RecordedResources(requests=amounts("cpu=7"), limits=amounts("cpu=8"))
CLAIMING = ASKED._replace(
    containers=(
        replace(ASKED.containers[0], resources=replace(ASKED.containers[0].resources, claims=("gpu",))),
    ),
)


def test_the_kubelets_files_record_granted_and_actuated_resources() -> None:
    """Claims cannot be resized: they are those of the manifest."""
    known = running_pod(CLAIMING)
    small = ResourceRequirements(requests=SIZE.requests, limits=SIZE.limits, claims=("gpu",))
    recorded = RecordedPod(containers={"c": SIZE, "gone": LEVEL})
    granted = with_checkpoints(known, recorded, None)
    assert granted.allocated.containers[0].resources == small
    assert granted == replace(known, allocated=granted.allocated)
    assert with_checkpoints(known, None, recorded) == replace(known, actuated=granted.allocated)
    assert with_checkpoints(known, None, None) == known


def test_the_kubelets_files_record_granted_pod_level_resources() -> None:
    whole = running_pod(ASKED._replace(resources=resources("cpu=9", "cpu=9")))
    recorded = RecordedPod(pod_level=LEVEL)
    assert with_checkpoints(whole, recorded, None).allocated.resources == resources("cpu=7", "cpu=8")
    assert with_checkpoints(whole, RecordedPod(), None) == whole
    without = running_pod(ASKED)
    assert with_checkpoints(without, recorded, None) == without
