"""The same pods planned repeatedly."""

from __future__ import annotations

import pytest

from cpuctl.engine.capacity import repetition
from cpuctl.engine.capacity.repetition import Repetition, repeat, repeat_while_they_fit
from cpuctl.engine.outcome import Rejected
from tests.support.capacity_nodes import exclusive, held, kubelet, node_with, shared


def reported(done: Repetition) -> tuple[int, int, str]:
    stop = done.stop.pod.name if done.stop else ""
    return done.rounds, done.fitted, stop


def pod_names(done: Repetition) -> str:
    return " ".join(admission.pod.name for admission in done.admissions)


def test_copies_have_their_own_names_and_uids() -> None:
    done = repeat(node_with(), [exclusive("a", 2), shared("b")], 3)
    assert pod_names(done) == "a b a-2 b-2 a-3 b-3"
    assert reported(done) == (3, 3, "")
    assert len({admission.pod.uid for admission in done.admissions}) == 6
    assert len(done.node.active) == 6


def test_all_rounds_are_planned_even_if_pods_are_rejected() -> None:
    """After one round of nine CPUs, six are left: the large pod is rejected, the small one is not."""
    done = repeat(node_with(), [exclusive("large", 7), exclusive("small", 2)], 3)
    assert pod_names(done) == "large small large-2 small-2 large-3 small-3"
    assert reported(done) == (3, 1, "large-2")
    assert not done.bounded
    assert sorted(held(done.node)) == sorted(
        each.pod.uid for each in done.admissions if not isinstance(each.verdict, Rejected)
    )


def test_rounds_that_fit_are_kept_and_the_one_that_does_not_is_undone() -> None:
    node = node_with()
    done = repeat_while_they_fit(node, [exclusive("small", 2), exclusive("large", 4)])
    assert pod_names(done) == "small large small-2 large-2"
    assert reported(done) == (2, 2, "large-3")
    assert len(done.node.active) == 4
    assert sum(cpus.bit_count() for cpus in held(done.node).values()) == 12
    assert not done.bounded


def test_a_first_round_that_does_not_fit_is_shown() -> None:
    done = repeat_while_they_fit(node_with(), [exclusive("small", 2), exclusive("large", 14)])
    assert pod_names(done) == "small large"
    assert reported(done) == (1, 0, "large")
    assert list(done.node.active) == ["small"]


def test_pods_are_repeated_until_the_node_has_its_number() -> None:
    done = repeat_while_they_fit(node_with(shared("r"), reported=kubelet(max_pods=6)), [shared("a", "")])
    assert reported(done) == (5, 5, "a-6")
    assert isinstance(done.stop and done.stop.verdict, Rejected)


def test_pods_that_are_never_rejected_end_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetition, "MAX_PODS", 7)
    done = repeat_while_they_fit(node_with(), [shared("a", ""), shared("b", "")])
    assert (reported(done), done.bounded, len(done.admissions)) == ((3, 3, ""), True, 6)


def test_2000_pods_are_planned_at_most() -> None:
    done = repeat_while_they_fit(
        node_with(reported=kubelet(max_pods=9999)), [shared(f"a{n}", "") for n in range(667)]
    )
    assert (done.rounds, done.bounded) == (2, True)


def test_more_pods_than_the_limit_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetition, "MAX_PODS", 1)
    done = repeat_while_they_fit(node_with(), [shared("a", ""), shared("b", "")])
    assert (reported(done), done.bounded) == ((1, 1, ""), True)


def test_progress_is_reported_before_every_round() -> None:
    """If the number of rounds is not known, it is given as 0."""
    calls: list[tuple[str, int, int]] = []
    pods = [exclusive("a", 6)]
    repeat(node_with(), pods, 2, lambda *call: calls.append(call))
    repeat_while_they_fit(node_with(), pods, lambda *call: calls.append(call))
    assert calls == [("admitting copies", *numbers) for numbers in ((0, 2), (1, 2), (0, 0), (1, 0), (2, 0))]


def test_copies_do_not_reuse_the_uid_of_a_running_pod() -> None:
    """A pod that runs as ``a-2``, with the UID that a copy would get, is a different pod."""
    running = repeat(node_with(), [exclusive("a", 1)._replace(uid="first")], 2).admissions[1].pod
    node = node_with(running)
    done = repeat(node, [exclusive("a", 2)], 2)
    assert pod_names(done) == "a a-2"
    assert running.name == "a-2"
    assert len(done.node.active) == 3
