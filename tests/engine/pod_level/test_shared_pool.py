"""Whether exclusive slices leave enough for a pod's shared containers, for each resource."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_level import empty_pool
from cpuctl.pods.model import Container, ContainerKind

KINDS = {"i": ContainerKind.INIT, "s": ContainerKind.SIDECAR, "a": ContainerKind.APP}
PAGES = "hugepages-2Mi"
NO_PAGES = (
    "pod rejected, sum of exclusive container hugepages-2Mi requests equals pod budget, "
    "leaving no memory for shared containers"
)
NO_MEMORY = NO_PAGES.replace(PAGES, "memory")
NO_CPUS = (
    "pod rejected, sum of exclusive container cpu requests equals pod budget, "
    "leaving no cpus for shared containers"
)
BOTH = {"memory": 8, PAGES: 4}


def message(words: str, budget: dict[str, int]) -> str:
    """Parse ``i s4 a4,2``: kinds of containers, and the amount of each resource in the budget."""
    own = {
        word: dict(zip(budget, map(int, filter(None, word[1:].split(","))), strict=False))
        for word in words.split()
    }
    containers = [Container(name=word, kind=KINDS[word[0]]) for word in own]
    return empty_pool(containers, lambda container: own[container.name], budget)


@pytest.mark.parametrize(
    ("words", "budget", "wanted"),
    [
        ("", BOTH, ""),
        ("a", BOTH, ""),
        ("a8,4", BOTH, ""),
        ("a7,3 s", BOTH, ""),
        ("a8 s", BOTH, NO_MEMORY),
        ("s9 a", BOTH, NO_MEMORY),
        ("a1,4 s", BOTH, NO_PAGES),
        ("s1,3 a1,1 a", BOTH, NO_PAGES),
        ("a4 s4 a", BOTH, NO_MEMORY),
        ("a3 s4 a", BOTH, ""),
        ("a1 s1 a2 s2 a", BOTH, ""),
        ("a2 a", {"cpus": 2}, NO_CPUS),
        # Ordinary init containers run before the others, and return what they get.
        ("i8,4 a", BOTH, ""),
        ("i s8", BOTH, ""),
        ("s8 i1", BOTH, ""),
        ("s8 i", BOTH, "pod rejected, pod has shared init containers but no memory available for them"),
        (
            "s1,4 i a",
            BOTH,
            "pod rejected, pod has shared init containers but no hugepages-2Mi available for them",
        ),
        (
            "s2 i a",
            {"cpus": 2},
            "pod rejected, pod has shared init containers but no cpus available for them",
        ),
        ("a", {"cpus": 0}, NO_CPUS),
    ],
)
def test_errors_of_the_kubelet(words: str, budget: dict[str, int], wanted: str) -> None:
    assert message(words, budget) == wanted
