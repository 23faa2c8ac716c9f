"""Other requests worth trying, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cpuctl.engine.explain.searches.reductions import in_proportion
from cpuctl.engine.explain.searches.requests import (
    all_rounded_up,
    fewer_for_all,
    limited_cpus,
    normalized_memory_requests,
)
from cpuctl.engine.explain.searches.trials import Choice, in_bytes
from tests.engine.explain.scenarios import named
from tests.support.pods import app, init


def cpus(choices: Iterable[Choice]) -> list[dict[str, str]]:
    """Write choices of CPUs by container."""
    return [_of_resource(choice, "cpu") for choice in choices]


def _of_resource(choice: Choice, resource: str) -> dict[str, str]:
    return {container: str(amount) for (container, name), amount in choice.items() if name == resource}


def test_fewer_for_all_go_down_to_one_cpu_each_and_never_above_the_request() -> None:
    counts = {"one": 5, "two": 2, "three": 1}
    assert cpus(fewer_for_all(counts, 1, 3)) == [
        {"one": "3", "two": "2", "three": "1"},
        {"one": "2", "two": "2", "three": "1"},
        {"one": "1", "two": "1", "three": "1"},
    ]
    assert [each["one"] for each in cpus(fewer_for_all(counts, 1, 9))] == ["5", "4", "3", "2", "1"]


def test_fewer_for_all_are_whole_cores_if_the_policy_requires_them() -> None:
    counts = {"one": 9, "two": 7, "three": 1}
    assert cpus(fewer_for_all(counts, 2, 7)) == [
        {"one": "6", "two": "6", "three": "2"},
        {"one": "4", "two": "4", "three": "2"},
        {"one": "2", "two": "2", "three": "2"},
    ]


def test_limited_cpus_are_whole_cores_at_least_one_where_they_are_exclusive() -> None:
    counts = {"one": 7000, "two": 2000, "shared": 7500, "small": 100}
    exclusive = {"one", "two"}
    assert limited_cpus(counts, 5500, exclusive, 2) == {
        "one": 4000,
        "two": 2000,
        "shared": 5500,
        "small": 100,
    }
    assert limited_cpus(counts, 50, exclusive, 2) == {"one": 2000, "two": 2000, "shared": 50, "small": 50}


def test_all_are_rounded_up_to_whole_cores_and_never_to_single_cpus() -> None:
    counts = {"one": 9, "two": 8, "three": 1}
    assert cpus(all_rounded_up(counts, 4)) == [{"one": "12", "two": "8", "three": "4"}]
    assert list(all_rounded_up(counts, 1)) == []


def test_everything_shrinks_by_sixteenths() -> None:
    pod = named("a", init("cpu=500m"), app("cpu=32 memory=100Mi example.com/card=1"))
    choices = list(in_proportion(pod, 1))
    shares: list[Mapping[tuple[str, str], str]] = [
        {key: str(amount) for key, amount in choice.items()} for choice in choices
    ]
    assert len(shares) == 15
    assert shares[0] == {("main", "cpu"): "30", ("main", "memory"): "93Mi", ("init", "cpu"): "468m"}
    assert shares[-1] == {("main", "cpu"): "2", ("main", "memory"): "6Mi", ("init", "cpu"): "31m"}


def test_shrinking_keeps_whole_cores_and_at_least_one() -> None:
    choices = list(in_proportion(named("a", app("cpu=20"), app("cpu=4", name="other")), 4))
    assert _of_resource(choices[0], "cpu") == {"main": "16", "other": "4"}
    assert _of_resource(choices[-1], "cpu") == {"main": "4", "other": "4"}


def test_only_memory_that_is_not_a_whole_number_is_rewritten() -> None:
    requests = "cpu=1000m memory=1.5Gi hugepages-2Mi=4Mi"
    pod = named("a", app(requests), init("hugepages-1Gi=1048576000m"), static=True)
    (choice,) = normalized_memory_requests(pod)
    assert {key: str(amount) for key, amount in choice.items()} == {
        ("main", "memory"): "1536Mi",
        ("init", "hugepages-1Gi"): "1048576",
    }
    assert all(amount.exact_int64 is not None for amount in choice.values())


def test_memory_is_written_in_binary_units() -> None:
    assert str(in_bytes(3 << 20)) == "3Mi"
