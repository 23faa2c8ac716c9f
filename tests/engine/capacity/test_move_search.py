"""Which pods have to leave: the order in which sets are tried, and what is proven when the search ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from cpuctl.engine.capacity.probe import no_progress, settled
from cpuctl.engine.capacity.remedy import Attempt, BestRemedy, MoveSearch
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.pods.model import StoredPod
from tests.support.capacity_nodes import exclusive, kubelet, named, node_with, shared, whole
from tests.support.pods import app, resources

NINE = (1, 1, 1, 1, 1, 1, 1, 1, 1, 6)
MIXED = (2, 2, 2, 3, 3, 3)


@dataclass(frozen=True, kw_only=True)
class Search:
    """A full node of 15 CPUs: the requests of its pods, and that of a new one.

    Pods are identified by their index; all may leave, or only the first ``candidates``.
    """

    sizes: Sequence[int]
    asks: int
    likely: Sequence[Sequence[int]] = ()
    candidates: int | None = None
    budget: int = 1000
    least: int = 1

    def done(self) -> tuple[BestRemedy, MoveSearch]:
        pods = [shared(f"p{place}", f"cpu={size}") for place, size in enumerate(self.sizes)]
        search = MoveSearch(
            node=settled(node_with(*pods)),
            pod=shared("new", f"cpu={self.asks}"),
            candidates=pods[: self.candidates],
            returns=False,
            budget=self.budget,
            progress=no_progress,
            least=self.least,
        )
        return search.find([pods[place] for place in order] for order in self.likely), search


@pytest.mark.parametrize(
    ("search", "leaving", "excluded", "runs"),
    [
        pytest.param(Search(sizes=(1, 1, 9, 4), asks=8), "p2", 0, 3, id="one by one"),
        pytest.param(Search(sizes=(1, 1, 9, 4), asks=8, budget=3), "p2", 0, 3, id="the last one allowed"),
        pytest.param(Search(sizes=(1, 1, 9, 4), asks=8, budget=2), "", 0, 2, id="one too few allowed"),
        # The five, the likely pair, and each of the two alone: that proves one is not enough, and ends it.
        pytest.param(Search(sizes=[3] * 5, asks=5, likely=[(4, 3, 2)]), "p4 p3", 1, 8, id="a likely pair"),
        pytest.param(
            Search(sizes=[3] * 5, asks=5, likely=[(4, 3, 2)], least=2), "p4 p3", 1, 3, id="known before"
        ),
        # Six, two of the likely order, each pair of these three, thirteen pairs.
        pytest.param(
            Search(sizes=MIXED, asks=6, likely=[(0, 1, 2, 3)]), "p3 p4", 1, 24, id="fewer than likely"
        ),
        pytest.param(
            Search(sizes=MIXED, asks=6, likely=[(0, 1, 2)], budget=12), "p0 p1 p2", 1, 12, id="no time for it"
        ),
        # Half of what is left after six is one run for the likely order; the rest is for pairs.
        pytest.param(
            Search(sizes=MIXED, asks=6, likely=[(0, 1, 2)], budget=9), "", 1, 9, id="no time for likely ones"
        ),
        # The budget for likely orders ends with the first, and that for proofs while dropping unneeded pods.
        pytest.param(
            Search(sizes=MIXED, asks=6, likely=[(0, 1, 2), (3, 4)], budget=10),
            *("p0 p1 p2", 1, 11),
            id="no time for better ones",
        ),
        pytest.param(
            Search(sizes=(1, 4, 4, 3, 3), asks=6, likely=[(0, 3, 4)]), "p3 p4", 1, 10, id="one not needed"
        ),
        # One, two, and one of the likely orders: the last is abandoned because it cannot be better.
        pytest.param(
            Search(sizes=MIXED, asks=6, likely=[(0, 1), (0, 1, 2), (3, 4), (0, 1, 3)]),
            *("p3 p4", 1, 12),
            id="the best of the likely ones",
        ),
        pytest.param(Search(sizes=MIXED, asks=6, candidates=2), "", 2, 3, id="too few may leave"),
        pytest.param(
            Search(sizes=NINE, asks=9, candidates=9, likely=[range(9)], least=8), "", 8, 10, id="too many"
        ),
        pytest.param(
            Search(sizes=[1] * 15, asks=10, likely=[range(15)], least=10), "", 9, 0, id="known to be too many"
        ),
    ],
)
def test_likely_sets_come_first_and_smaller_ones_prove_them_minimal(
    search: Search, leaving: str, excluded: int, runs: int
) -> None:
    finding, done = search.done()
    pods = finding.attempt.leaving if finding.attempt else ()
    assert (" ".join(each.name for each in pods), finding.excluded, done.runs) == (leaving, excluded, runs)
    assert finding.fewest == (bool(pods) and excluded == len(pods) - 1)


# Pods that come back


def attempt(
    node_policy: str, running: Sequence[StoredPod], new: StoredPod, leaving: Sequence[StoredPod]
) -> Attempt | None:
    """Move pods on a node that has admitted *running*; *leaving* is what is known about them."""
    node = settled(node_with(*running, reported=kubelet(node_policy)))
    return moving(node, new, leaving).attempt(leaving)


def moving(node: Node, new: StoredPod, candidates: Sequence[StoredPod]) -> MoveSearch:
    return MoveSearch(
        node=node, pod=new, candidates=candidates, returns=True, budget=1000, progress=no_progress, least=1
    )


def test_the_largest_comes_back_first() -> None:
    """A pod-level request counts the same as requests of containers."""
    small = shared("small", "cpu=1 memory=1Gi")
    large = named("large", app())._replace(resources=resources("cpu=1 memory=2Gi"))
    found = attempt("none", [small, large], exclusive("new", 2), [small, large])
    assert found is not None
    assert found.leaving == (small, large)
    assert [each.pod.name for each in found.again] == ["large", "small"]
    assert (found.admission.pod.name, found.admission.verdict) == ("new", Admitted())


@pytest.mark.parametrize("known", ["a b", "a", "b", ""])
def test_every_container_must_get_back_what_it_held(known: str) -> None:
    """The requests of some containers of a running pod may be unknown."""
    running = named("p", whole(2, "a"), whole(1, "b"))
    parts = [
        whole(2, "a") if "a" in known else app(name="a"),
        whole(1, "b") if "b" in known else app(name="b"),
    ]
    found = attempt("none", [running], exclusive("new", 2), [named("p", *parts)])
    assert (found is not None) == (known == "a b")


def test_every_admission_is_reported() -> None:
    """If the new pod fits and the one that moves does not, that is two admissions."""
    reported = []
    node = settled(node_with(*(exclusive(f"p{n}", 5) for n in range(3))))
    search = moving(node, exclusive("new", 4), list(node.active.values()))
    search.progress = lambda *words: reported.append(words)
    assert search.find([]).attempt is None
    assert reported[:2] == [("looking for pods to move", 1, 1000), ("looking for pods to move", 2, 1000)]
    assert [done for _, done, _ in reported] == list(range(1, search.runs + 1))
