"""Container statuses of Pod objects, as kubectl prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.errors import InputError
from cpuctl.pods.model import CountedClaim, Pod
from cpuctl.pods.running import ContainerStatus, ReportedResources, ResizeStatus, RunState
from tests.support.manifests import read_pods
from tests.support.pods import amounts


def statuses(status: dict[str, Any]) -> tuple[ContainerStatus, ...]:
    return read(status).statuses


def read(status: dict[str, Any] | None, **metadata: Any) -> Pod:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", **metadata},
        "spec": {"containers": [{"name": "app"}]},
        "status": status,
    }
    (found,) = read_pods(json.dumps(pod), "pods.json").pods
    return found


def test_all_lists_are_read_init_containers_first() -> None:
    found = statuses(
        {
            "phase": "Running",
            "containerStatuses": [
                {"name": "app", "containerID": "cri-o://ab12", "state": {"running": {"startedAt": "x"}}}
            ],
            "initContainerStatuses": [
                {"name": "setup", "containerID": "docker://cd34", "state": {"terminated": {"exitCode": 0}}}
            ],
            "ephemeralContainerStatuses": [{"name": "debug", "state": {"waiting": {"reason": "x"}}}],
        }
    )
    assert found == (
        ContainerStatus(
            name="setup", state=RunState.TERMINATED, runtime="docker", container_id="cd34", exit_code=0
        ),
        ContainerStatus(name="app", state=RunState.RUNNING, runtime="cri-o", container_id="ab12"),
        ContainerStatus(name="debug", state=RunState.WAITING, ephemeral=True),
    )


@pytest.mark.parametrize("status", [{}, {"containerStatuses": None}, {"containerStatuses": []}])
def test_a_pod_that_does_not_run_yet_has_no_statuses(status: dict[str, Any]) -> None:
    assert statuses(status) == ()


@pytest.mark.parametrize("state", [None, {}, {"running": None}])
def test_a_status_without_a_state_counts_as_waiting(state: object) -> None:
    (found,) = statuses({"containerStatuses": [{"name": "app", "containerID": "", "state": state}]})
    assert found == ContainerStatus(name="app", state=RunState.WAITING)


@pytest.mark.parametrize(
    ("status", "want"),
    [
        ({"containerStatuses": [{}]}, "status.containerStatuses[0]: name is missing"),
        ({"containerStatuses": {}}, "status.containerStatuses: expected a list"),
        ({"containerStatuses": [{"name": "a", "containerID": 5}]}, "containerID: expected a string"),
        ({"initContainerStatuses": [{"name": "a", "state": "running"}]}, "state: expected a mapping"),
    ],
)
def test_statuses_that_no_api_server_writes_are_rejected_with_their_place(
    status: dict[str, Any], want: str
) -> None:
    with pytest.raises(InputError) as error:
        statuses(status)
    assert want in str(error.value)


def test_allocated_and_actual_resources_are_distinguished() -> None:
    (app,) = statuses(
        {
            "containerStatuses": [
                {
                    "name": "app",
                    "allocatedResources": {"cpu": "2"},
                    "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
                }
            ]
        }
    )
    assert app.resources == ReportedResources(
        granted=amounts("cpu=2"), requests=amounts("cpu=1"), limits=amounts("memory=1Gi")
    )
    (bare,) = statuses({"containerStatuses": [{"name": "app", "resources": {}}]})
    assert bare.resources == ReportedResources()


def test_conditions_and_pod_level_resources_show_the_progress_of_a_resize() -> None:
    pending = {"type": "PodResizePending", "lastTransitionTime": "2026-11-01T09:30:00Z"}
    whole = {"allocatedResources": {"cpu": "3"}, "resources": {"limits": {"cpu": "4"}}}
    assert read({"conditions": [{"type": "Ready"}, pending], **whole}).resize == ResizeStatus(
        pending=True,
        waiting_since="2026-11-01T09:30:00Z",
        pod_level=ReportedResources(granted=amounts("cpu=3"), limits=amounts("cpu=4")),
    )
    infeasible = {"type": "PodResizePending", "reason": "Infeasible"}
    assert read({"conditions": [infeasible]}).resize == ResizeStatus(pending=True, infeasible=True)
    assert read({"conditions": [{"type": "PodResizeInProgress"}]}).resize == ResizeStatus(in_progress=True)
    assert read({}).resize == ResizeStatus()
    assert read(None).resize is None


def test_the_generation_starts_at_one() -> None:
    assert (read(None).generation, read(None, generation=7).generation) == (1, 7)


def test_both_formats_of_counted_claims_are_read() -> None:
    """The format of 1.36, and the one from 1.37 on."""
    old = {"resourceClaimName": "c", "containers": ["app"], "resources": {"cpu": "2"}}
    (found,) = read({"nodeAllocatableResourceClaimStatuses": [old]}).counted_claims
    assert found == CountedClaim(("app",), amounts("cpu=2"))
    overhead = {"name": "memory", "perPod": "1Gi", "perContainer": "1Mi"}
    new = {"resourceClaimName": "c", "mapping": [{"name": "cpu", "quantity": "2"}], "overhead": [overhead]}
    (found,) = read({"nodeAllocatableResourceClaimStatuses": [new]}).counted_claims
    assert found == CountedClaim((), amounts("cpu=2"), amounts("memory=1Gi"), amounts("memory=1Mi"))
