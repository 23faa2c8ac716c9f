"""Answers of the API as different tools print them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.pod_resources.json_answers import read_answers
from cpuctl.machine.pod_resources.live_answers import decode_allocatable_cpus, decode_list
from cpuctl.machine.pod_resources.model import PodAllocation, PodResources
from tests.machine.pod_resources.messages import ALLOCATABLE, LISTED

GPU = "nvidia.com/gpu"
BLOCK = {"memory_type": "memory", "size": 1 << 33, "topology": {"nodes": [{}, {"ID": 1}]}}
MAIN = {
    "name": "main",
    "devices": [
        {"resource_name": GPU, "device_ids": ["g0"], "topology": {"nodes": [{}]}},
        {"resource_name": GPU, "device_ids": ["g1"], "topology": {"nodes": [{"ID": -1}]}},
    ],
    "cpu_ids": [2, 3, 130],
    "memory": [BLOCK],
}
TRAIN = {"name": "train", "namespace": "ai", "containers": [MAIN, {"name": "log"}], "cpu_ids": [2, 3, 4]}
GO = {"pod_resources": [TRAIN, {"name": "dns", "namespace": "kube-system"}]}


def printed(*answers: Any) -> PodResources:
    return read_answers("\n---\n".join(map(json.dumps, answers)).encode(), "answers.json")


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)


def as_grpcurl(value: Any) -> Any:
    """Format as protojson does: camel case, and 64-bit numbers as strings."""
    if isinstance(value, dict):
        return {camel(name): as_grpcurl(member) for name, member in value.items()}
    if isinstance(value, list):
        return [as_grpcurl(member) for member in value]
    return str(value)


@pytest.mark.parametrize("answer", [GO, as_grpcurl(GO)], ids=["Go", "grpcurl"])
def test_json_matches_the_wire_format(answer: Any) -> None:
    assert printed(answer).pods == decode_list(LISTED)


def test_both_answers_in_one_file() -> None:
    both = printed(GO, {"cpuIds": [str(cpu) for cpu in range(1, 200)]})
    assert both.allocatable == decode_allocatable_cpus(ALLOCATABLE)
    assert both.problems == ()


def test_a_missing_response_is_a_problem() -> None:
    no_list = ("answers.json: no response of List",)
    assert printed({"cpu_ids": [1]}) == PodResources(None, CPUSet.of([1]), no_list)
    no_cpus = ("answers.json: no response of GetAllocatableResources",)
    assert printed({}) == PodResources((), None, no_cpus)


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ({"kind": "Pod"}, "found a different object"),
        ([], "answers.json"),
        ({"pod_resources": [{"name": "a"}]}, r"pod_resources\[0\]"),
        ({"cpu_ids": [8192]}, r"cpu_ids\[0\]"),
        ({"cpu_ids": ["-1"]}, r"cpu_ids\[0\]"),
    ],
)
def test_an_invalid_answer(answer: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        printed(answer)


def test_an_answer_of_get_contains_one_pod() -> None:
    found = read_answers(b'{"podResources": {"namespace": "ai", "name": "train"}}', "x")
    assert (found.pods, list(found.alone)) == (None, ["ai/train"])
    assert found.answered_pods == (PodAllocation("ai", "train"),)
