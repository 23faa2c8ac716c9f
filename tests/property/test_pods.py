"""Laws of reading pods and of summing up and classifying their resources."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.errors import CpuctlError, InputError
from cpuctl.pods.identity import with_uids
from cpuctl.pods.model import Container, ContainerKind, Pod, QosClass, ResourceRequirements
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.reading.manifests import Manifests
from cpuctl.pods.reading.template import pods_from_template
from cpuctl.pods.requests import container_requests, pod_limits, pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.manifests import read_pods
from tests.support.pods import stored

KEYS = [
    "apiVersion", "kind", "metadata", "name", "namespace", "uid", "spec", "template", "replicas", "items",
    "containers", "initContainers", "resources", "requests", "limits", "cpu", "status", "jobTemplate",
]  # fmt: skip
WORDS = ["v1", "apps/v1", "Pod", "List", "PodList", "Deployment", "CronJob", "web", "2", "1Gi", "Always", ""]

leaves = st.sampled_from(WORDS) | st.integers(-3, 300) | st.booleans() | st.none()
objects = st.recursive(
    leaves,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(KEYS), below, max_size=5),
    max_leaves=15,
)

quantities = st.sampled_from(["0", "1", "2", "1500m", "100u", "1Gi", "1G", "0.5"]).map(Quantity.parse)
lists = st.dictionaries(st.sampled_from(["cpu", "memory", "hugepages-2Mi", "x.io/y"]), quantities)
requirements = st.builds(ResourceRequirements, requests=lists, limits=lists)
kinds = st.sampled_from([ContainerKind.INIT, ContainerKind.SIDECAR])
containers = st.builds(Container, name=st.just("main"), resources=requirements)
inits = st.builds(Container, name=st.just("init"), kind=kinds, resources=requirements)
pods = st.builds(
    Pod,
    name=st.sampled_from(["a", "b"]),
    containers=st.lists(containers, min_size=1, max_size=3).map(tuple),
    init_containers=st.lists(inits, max_size=3).map(tuple),
    resources=st.none() | requirements,
    overhead=lists,
)


@given(objects, st.sampled_from(["Pod", "List", "Deployment", "CronJob", "StatefulSet"]))
def test_no_object_ends_in_a_traceback(value: Any, kind: str) -> None:
    document = {**(value if isinstance(value, dict) else {"spec": value}), "kind": kind}
    with suppress(InputError):
        assert isinstance(read_pods(json.dumps(document), "input"), Manifests)


@given(st.text() | st.from_regex(r"web=[0-9/,Gi x]*", fullmatch=True))
def test_no_template_ends_in_a_traceback(text: str) -> None:
    with suppress(CpuctlError):
        assert pods_from_template(text)


@given(st.lists(pods, max_size=6))
def test_uids_are_unique_and_stable(given_pods: list[Pod]) -> None:
    identified = with_uids(given_pods)
    assert len({pod.uid for pod in identified}) == len(given_pods)
    assert with_uids(identified) == identified


@given(pods)
def test_defaults_are_applied_once(pod: Pod) -> None:
    once = stored(pod)
    assert stored(once) == once


@given(pods)
def test_defaults_keep_given_values(pod: Pod) -> None:
    filled = stored(pod)
    for before, after in zip(pod.all_containers, filled.all_containers, strict=True):
        assert before.resources.limits.keys() == after.resources.limits.keys()
        for name, amount in before.resources.requests.items():
            assert after.resources.requests[name] == amount.rounded_up_to_milli()


@given(pods)
def test_pod_requests_cover_every_container(pod: Pod) -> None:
    total = container_requests(pod)
    for container in pod.all_containers:
        assert all(amount <= total[name] for name, amount in container.resources.requests.items())


@given(pods)
def test_without_sidecars_the_order_of_init_containers_does_not_matter(pod: Pod) -> None:
    plain = [replace(item, kind=ContainerKind.INIT) for item in pod.init_containers]
    forward = pod._replace(init_containers=tuple(plain))
    backward = pod._replace(init_containers=tuple(reversed(plain)))
    assert pod_requests(forward) == pod_requests(backward)
    assert pod_limits(forward) == pod_limits(backward)


@given(pods)
def test_guaranteed_pods_request_their_limits(pod: Pod) -> None:
    verdict = pod_qos(pod)
    assert verdict.reason
    if verdict.qos_class is QosClass.GUARANTEED and pod.resources is None:
        containers = [item.resources for item in pod.all_containers]
        for name in ("cpu", "memory"):
            requested = sum((item.requests[name] for item in containers if name in item.requests), Quantity())
            assert requested == sum((item.limits[name] for item in containers), Quantity())


@given(pods)
def test_class_does_not_depend_on_other_resources_or_overhead(pod: Pod) -> None:
    bare = pod._replace(overhead={})
    assert pod_qos(bare) == pod_qos(pod)
