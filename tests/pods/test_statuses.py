"""Container statuses of Pod objects, as kubectl prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.errors import InputError
from cpuctl.pods.manifests import read_pods
from cpuctl.pods.running import ContainerStatus, RunState


def statuses(status: dict[str, Any]) -> tuple[ContainerStatus, ...]:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "app"}]},
        "status": status,
    }
    (found,) = read_pods(json.dumps(pod), "pods.json").pods
    return found.statuses


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
        ContainerStatus(name="setup", state=RunState.TERMINATED, runtime="docker", container_id="cd34"),
        ContainerStatus(name="app", state=RunState.RUNNING, runtime="cri-o", container_id="ab12"),
        ContainerStatus(name="debug", state=RunState.WAITING, ephemeral=True),
    )


@pytest.mark.parametrize("status", [{}, {"containerStatuses": None}, {"containerStatuses": []}])
def test_a_pod_that_does_not_run_yet_has_none(status: dict[str, Any]) -> None:
    assert statuses(status) == ()


@pytest.mark.parametrize("state", [None, {}, {"running": None}])
def test_a_status_that_does_not_say_counts_as_waiting(state: object) -> None:
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
def test_what_no_api_server_writes_is_refused_with_its_place(status: dict[str, Any], want: str) -> None:
    with pytest.raises(InputError) as error:
        statuses(status)
    assert want in str(error.value)
