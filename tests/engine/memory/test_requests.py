"""What a pod asks the Memory Manager for at once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.engine.memory.tables import container_request, pod_request
from cpuctl.pods.model import Container
from tests.support.pod_level import containers, made_of
from tests.support.pods import app, init, pod, sidecar

GI = 1 << 30
MI = 1 << 20


@pytest.mark.parametrize(
    ("words", "gibibytes"),
    [
        ("1 2", 3),
        ("i5 i3 1", 5),
        ("i3 i5 1", 5),
        ("i3 4", 4),
        ("s2 i4 3", 6),
        ("i4 s2 3", 5),
        ("s2 i1 3", 5),
        ("s1 s2 i4 3", 7),
        ("i0 0", 0),
        ("s0 i0 0", 0),
        ("0", 0),
    ],
)
def test_init_containers_run_before_and_sidecars_beside(words: str, gibibytes: int) -> None:
    assert pod_request(made_of(*containers(words))) == {"memory": gibibytes * GI}


APP = app("cpu=1 memory=1Gi hugepages-2Mi=4Mi")


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ((APP,), {"memory": GI, "hugepages-2Mi": 4 * MI}),
        ((init("memory=2Gi"), APP), {"memory": 2 * GI, "hugepages-2Mi": 4 * MI}),
        ((init("hugepages-2Mi=8Mi memory=0"), APP), {"memory": GI, "hugepages-2Mi": 8 * MI}),
        (
            (sidecar("memory=1Gi"), init("hugepages-2Mi=6Mi"), APP),
            {"memory": 2 * GI, "hugepages-2Mi": 6 * MI},
        ),
        ((init("hugepages-1Gi=1Gi"), APP), {"memory": GI, "hugepages-2Mi": 4 * MI}),
    ],
    ids=["both", "memory first", "pages first", "beside other memory", "not asked for by an app container"],
)
def test_every_resource_is_counted_for_itself(
    parts: tuple[Container, ...], wanted: Mapping[str, int]
) -> None:
    assert pod_request(made_of(*parts)) == wanted


@pytest.mark.parametrize("amount", ["1.5", "1000m"])
def test_what_is_no_whole_number_is_no_request(amount: str) -> None:
    """Only static pods have such amounts."""
    static = pod(app(f"memory={amount}"), static=True)
    assert (container_request(static.containers[0]), pod_request(static)) == (None, None)
