"""The CPU Manager's hints as a rule: what is a hint, what is preferred, and how costly it is to find out."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.hints.hints import IMPOSSIBLE, Fit, Hint
from cpuctl.engine.hints.merge import merge
from cpuctl.engine.masks import NodeMask
from cpuctl.records import replace
from tests.support.topologies import mask, regular

FOUR = regular(sockets=2, nodes=2, cores=4)  # node n has CPUs 4n to 4n+3
LARGE = regular(sockets=16, nodes=4, cores=8)  # 64 NUMA nodes: 2^64 sets of them
ALL_LARGE = (1 << 64) - 1
NEAR = Fit(
    distances={
        one: [10 if one == other else 12 if one // 4 == other // 4 else 32 for other in range(64)]
        for one in range(64)
    }
)
FITS = pytest.mark.parametrize("fit", [Fit(), NEAR], ids=["any distance", "closest"])


def hints(
    topology: CPUTopology, available: str, request: int, *, reusable: str = "", align: bool = False
) -> CPUHints:
    return CPUHints.generate(topology, mask(available), mask(reusable), request, align_by_socket=align)


def listed(rule: CPUHints) -> str:
    """Show the nodes of every hint, ``T`` for preferred."""
    return " ".join(f"{CPUSet(hint.nodes or 0)}{'T' if hint.preferred else ''}" for hint in rule)


def test_hints_are_ordered_by_size_then_by_node() -> None:
    rule = hints(FOUR, "0-7", 3)
    assert listed(rule) == "0T 1T 0-1 0,2 0,3 1-2 1,3 0-2 0-1,3 0,2-3 1-3 0-3"
    assert rule.narrowest == 1


def test_nodes_that_a_request_could_fit_in_are_preferred_even_if_taken() -> None:
    """The width counts capacity, so no hint is preferred if every node is partly used."""
    rule = hints(FOUR, "0-2,4-6", 4)
    assert (rule.width, rule.narrowest) == (1, 2)
    assert "T" not in listed(rule)


def test_a_request_beyond_the_machine_has_no_hints() -> None:
    rule = hints(FOUR, "0-15", 17)
    assert (rule.width, rule.narrowest, listed(rule)) == (4, 0, "")


def test_every_hint_holds_the_reusable_cpus() -> None:
    rule = hints(FOUR, "0-3", 2, reusable="4,8")
    assert listed(rule) == "1-2 0-2 1-3 0-3"
    assert rule.narrowest == 2


def test_alignment_by_socket_prefers_every_set_of_nodes_inside_the_sockets_needed() -> None:
    """One node could hold 3 CPUs, so one socket is enough; node 0 has too few free."""
    assert listed(hints(FOUR, "0-1,4-15", 3, align=True)) == (
        "1T 2T 3T 0-1T 0,2 0,3 1-2 1,3 2-3T 0-2 0-1,3 0,2-3 1-3 0-3"
    )


def test_the_best_preferred_hint_is_inside_the_sockets_needed() -> None:
    """3 CPUs could fit on one node, but now need two; the first two with enough free are in two sockets."""
    half_used = "0-1,8-9,12-13"
    assert hints(FOUR, half_used, 3, align=True).best_preferred(Fit()) == [0b1100]
    assert hints(FOUR, half_used, 3).best_preferred(Fit()) == []


@pytest.mark.parametrize(("reusable", "best"), [("", 0b0010), ("8", 0b0100), ("4,8", 0b0110)])
def test_the_best_cut_uses_the_nodes_left_by_other_providers(reusable: str, best: int) -> None:
    """Nodes 1 and 2 are left; a hint also has other nodes, but always those with reusable CPUs."""
    rule = hints(FOUR, "0-3,5-7,9-15", 6, reusable=reusable)
    assert rule.best_cut(NodeMask(0b0110), (1, 2), Fit()) == [best]


@pytest.mark.parametrize("sockets", [0, 5])
def test_fewer_nodes_than_sockets_are_never_aligned(sockets: int) -> None:
    odd = replace(FOUR, num_sockets=sockets)
    assert hints(odd, "0-3", 1, align=True).socket_rule is None


@FITS
def test_many_nodes_do_not_require_many_sets(fit: Fit) -> None:
    """Half of 64 nodes can be chosen in 10^18 ways, and the kubelet tries all of them."""
    rule = hints(LARGE, "0-511", 256)
    lower_half = (1 << 32) - 1
    assert merge([rule], NodeMask(ALL_LARGE), fit) == Hint(NodeMask(lower_half), preferred=True)
    assert merge([rule, [IMPOSSIBLE]], NodeMask(ALL_LARGE), fit) == Hint(
        NodeMask(lower_half), preferred=False
    )


@FITS
def test_alignment_by_socket_does_not_try_every_set_either(fit: Fit) -> None:
    """Four nodes could hold the request, so one socket is enough; only the last one has that many free."""
    half_used = sum(0b1111 << 8 * node for node in range(60))
    rule = hints(LARGE, str(CPUSet(half_used | mask("480-510"))), 31, align=True)
    assert merge([rule], NodeMask(ALL_LARGE), fit) == Hint(NodeMask(0b1111 << 60), preferred=True)


@FITS
def test_sockets_without_enough_free_cpus_are_detected_at_once(fit: Fit) -> None:
    """Five nodes could hold the request, so two sockets would be enough, but it needs three now."""
    half_used = sum(0b1111 << 8 * node for node in range(64))
    rule = hints(LARGE, str(CPUSet(half_used)), 36, align=True)
    assert merge([rule], NodeMask(ALL_LARGE), fit) == Hint((NodeMask(NodeMask(1 << 9) - 1)), preferred=False)
