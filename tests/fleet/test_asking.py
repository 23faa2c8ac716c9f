"""One question to every node: how often it is asked, the order of answers, and the handling of failures."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Self

import pytest

from cpuctl.errors import InputError, NodeAccessError
from cpuctl.fleet import on_dask
from cpuctl.fleet.asking import (
    NOTHING_KNOWN,
    Answering,
    Row,
    ask,
    contents,
    earlier_answers,
    in_processes,
    in_this_process,
)
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.listing import NodeLister
from cpuctl.fleet.plan_nodes import FleetInputs, NodeSurveyor
from cpuctl.inputs.configuration import KubeletInputs
from tests.machine.support.archives import must_gather_files, snapshot, tar_of, write_tree

STATIC = Path(__file__).parents[2] / "fixtures" / "kubelet" / "static.yaml"


class Question:
    """Counts how often it is asked in this process."""

    def __init__(self, text: str = "name") -> None:
        self.text = text
        self.count = 0

    @property
    def files(self) -> Sequence[str]:
        return ()

    def reading(self, _places: Mapping[str, str]) -> Self:
        return self

    def asks(self, _name: str) -> str:
        return self.text

    def __call__(self, recording: Recording) -> Row:
        name, source, _ = recording
        self.count += 1
        if source == "broken":
            raise InputError("is damaged", where=source, hint="record it again")
        if source == "defect":
            raise KeyError("x")
        return {"node": name, "source": source, "answerKey": None, "outcome": "Read", "said": source}


def no_progress(_done: int, _total: int) -> None:
    pass


def recordings(*names: str) -> list[Recording]:
    return [Recording(name, name, "") for name in names]


def test_answers_keep_the_order_of_the_recordings_with_any_number_of_processes() -> None:
    fleet = recordings(*(f"node{number}" for number in range(100)))
    alone = list(ask(Question(), fleet, in_processes(1), no_progress))
    assert [row["node"] for row in alone] == [each.name for each in fleet]
    assert list(ask(Question(), fleet, in_processes(3), no_progress)) == alone


def test_idle_processes_are_waited_for_and_busy_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that ends beside the interpreter prints a traceback; after Ctrl-C, nobody waits for answers."""
    waited: list[bool] = []
    shutdown = ProcessPoolExecutor.shutdown

    def noted(pool: ProcessPoolExecutor, *, wait: bool = True, cancel_futures: bool = False) -> None:
        waited.append(wait)
        shutdown(pool, wait=True, cancel_futures=cancel_futures)

    monkeypatch.setattr(ProcessPoolExecutor, "shutdown", noted)
    fleet = recordings(*(f"node{number}" for number in range(9)))
    list(in_processes(2)(Answering(Question()), fleet))
    assert waited == [True]
    answers = in_processes(2)(Answering(Question()), fleet)
    assert isinstance(answers, Generator)
    next(answers)
    answers.close()
    assert waited == [True, False]


def test_equal_content_is_asked_once_and_answered_under_each_name() -> None:
    question = Question()
    fleet = [Recording("a", "x/a.tar", "d1"), Recording("b", "x/b.tar", "d1"), Recording("c", "c.tar", "d2")]
    rows = list(ask(question, fleet, in_this_process, no_progress))
    assert question.count == 2
    assert [(row["node"], row["source"], row["said"]) for row in rows] == [
        ("a", "x/a.tar", "x/a.tar"),
        ("b", "x/b.tar", "x/a.tar"),
        ("c", "c.tar", "c.tar"),
    ]
    assert rows[0]["answerKey"] == rows[1]["answerKey"] != rows[2]["answerKey"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_unreadable_recording_is_answered_with_its_error(
    jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CPUCTL_DEBUG", raising=False)
    fleet = recordings("a", "broken", "b", "defect", "c")
    rows = list(ask(Question(), fleet, in_processes(jobs), no_progress))
    assert [row["outcome"] for row in rows] == ["Read", "Unreadable", "Read", "Unreadable", "Read"]
    assert (rows[1]["error"], rows[1]["hint"]) == ("broken: is damaged", "record it again")
    assert rows[3]["error"] == "defect: internal error: KeyError: 'x'"


def test_a_question_that_depends_on_the_name_is_asked_for_each() -> None:
    class Named(Question):
        def asks(self, name: str) -> str:
            return name

    question = Named()
    fleet = [Recording("a", "a.tar", "d"), Recording("b", "b.tar", "d")]
    assert [row["said"] for row in ask(question, fleet, in_this_process, no_progress)] == ["a.tar", "b.tar"]
    assert question.count == 2


def test_an_error_names_the_recording_that_it_is_reported_for() -> None:
    fleet = [Recording("a", "broken", "d"), Recording("b", "copy", "d")]
    assert [row["error"] for row in ask(Question(), fleet, in_this_process, no_progress)] == [
        "broken: is damaged",
        "copy: is damaged",
    ]


def listed(*fleet: Recording, known: Mapping[str, list[Row]] = NOTHING_KNOWN) -> list[tuple[str, str]]:
    """Return the names of the nodes in these recordings, and their sources; all of them can be read."""
    rows = list(ask(NodeLister(KubeletInputs()), fleet, in_this_process, no_progress, known))
    assert {row["outcome"] for row in rows} == {"Read"}
    return [(row["node"], row["source"]) for row in rows]


@pytest.mark.parametrize("nodes", [["worker-1"], ["worker-1", "worker-2"]])
@pytest.mark.parametrize("packed", [True, False])
def test_all_nodes_of_a_must_gather_answer_under_their_own_names(
    nodes: list[str], packed: bool, tmp_path: Path
) -> None:
    files = must_gather_files(dict.fromkeys(nodes, snapshot()))
    source = str(tmp_path / "gathered")
    if packed:
        Path(source).write_bytes(tar_of(files, "must-gather.local.77"))
    else:
        write_tree(files, Path(source))
    named = [(node, f"{source}#{node}") for node in nodes]
    assert listed(Recording("gathered", source)) == named
    assert listed(*(Recording(node, f"{source}#{node}") for node in nodes)) == named


def test_nodes_with_the_same_name_are_distinguished_by_their_sources(tmp_path: Path) -> None:
    """Clusters often name their nodes alike, and a capture may be named after one of them."""
    names = ["east", "west", "worker-2"]
    gathered = [str(tmp_path / f"{name}.tar.gz") for name in names]
    for place, source in enumerate(gathered):
        files = must_gather_files(dict.fromkeys(["worker-1", "worker-2"], snapshot()))
        Path(source).write_bytes(tar_of(files | {"run": str(place)}))
    fleet = [Recording(name, path, name) for name, path in zip(names, gathered, strict=True)]
    east, west, other = gathered
    expected = [
        ("worker-1", f"{east}#worker-1"),
        (f"{east}#worker-2", f"{east}#worker-2"),
        (f"{west}#worker-1", f"{west}#worker-1"),
        (f"{west}#worker-2", f"{west}#worker-2"),
        (f"{other}#worker-1", f"{other}#worker-1"),
        ("worker-2", f"{other}#worker-2"),
    ]
    assert listed(*fleet) == expected


def test_earlier_answers_with_a_node_under_its_source_are_not_reused(tmp_path: Path) -> None:
    """Which part of it names the recording is unknown."""
    files = tar_of(must_gather_files({"worker-1": snapshot()}))
    fleet = []
    for name in ("east", "west"):
        (tmp_path / name).write_bytes(files)
        fleet.append(Recording(name, str(tmp_path / name), name))
    lines = [json.dumps(row) for row in ask(NodeLister(KubeletInputs()), fleet, in_this_process, no_progress)]
    known = earlier_answers("\n".join(lines))
    assert [row["node"] for rows in known.values() for row in rows] == ["worker-1"]
    assert listed(*fleet, known=known) == listed(*fleet)


class Killed(Question):
    def __call__(self, recording: Recording) -> Row:
        if recording.source == "last":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(recording)


def test_a_process_that_is_killed_is_an_error() -> None:
    with pytest.raises(NodeAccessError, match="a process that reads recordings was killed"):
        list(ask(Killed(), recordings("a", "b", "last"), in_processes(2), no_progress))


def test_sources_are_handed_out_as_answers_are_taken() -> None:
    """Memory stays bounded: recordings are not all read before answers are consumed."""
    taken: list[str] = []

    def counting(answering: Answering, recordings: Sequence[Recording]) -> Iterator[list[Row]]:
        for each in recordings:
            taken.append(each.source)
            yield answering(each)

    answers = ask(Question(), recordings("a", "b", "c"), counting, no_progress)
    next(answers)
    assert taken == ["a"]


def test_earlier_answers_are_reused_if_content_and_question_are_the_same() -> None:
    fleet = [Recording("a", "a", "d1"), Recording("b", "b", "d2")]
    lines = [json.dumps(row) for row in ask(Question(), fleet, in_this_process, no_progress)]
    known = earlier_answers("\n".join(lines) + '\n{"node": "cut sh')

    again = Question()
    moved = [Recording("a2", "moved/a2", "d1"), Recording("b", "b", "changed")]
    rows = list(ask(again, moved, in_this_process, no_progress, known))
    assert again.count == 1
    assert [(row["node"], row["source"], row["said"]) for row in rows] == [
        ("a2", "moved/a2", "a"),
        ("b", "b", "b"),
    ]

    other = Question("something else")
    list(ask(other, fleet, in_this_process, no_progress, known))
    assert other.count == 2


def test_earlier_answers_for_equal_recordings_are_one_answer() -> None:
    fleet = [Recording(name, name, "d1") for name in ("a", "b", "c")]
    lines = [json.dumps(row) for row in ask(Question(), fleet, in_this_process, no_progress)]
    known = earlier_answers("\n".join(lines))
    assert [json.dumps(row) for row in ask(Question(), fleet, in_this_process, no_progress, known)] == lines


def test_earlier_answers_for_a_recording_of_several_nodes_are_all_reused() -> None:
    inside = [
        {"node": node, "source": f"{path}#{node}", "answerKey": "k", "outcome": "Read"}
        for path in ("one.tar", "equal.tar")
        for node in ("a", "b")
    ]
    assert earlier_answers("\n".join(map(json.dumps, inside))) == {"k": inside[:2]}


def test_nodes_that_could_not_be_read_are_asked_again() -> None:
    fleet = [Recording("broken", "broken", "d1")]
    (row,) = ask(Question(), fleet, in_this_process, no_progress)
    assert earlier_answers(json.dumps(row)) == {}


def test_progress_is_reported_for_every_recording() -> None:
    reported: list[tuple[int, int]] = []
    list(ask(Question(), recordings("a", "b"), in_this_process, lambda *counts: reported.append(counts)))
    assert reported == [(0, 2), (1, 2), (2, 2)]


class WithFacts(Question):
    def __call__(self, recording: Recording) -> Row:
        facts = {"cores": "0,4 1,5", "CPUs": recording.source[0]}
        return {**super().__call__(recording), "facts": facts}


def test_equal_answers_of_other_processes_are_kept_once() -> None:
    fleet = recordings("a1", "b1", "a2", "b2")
    one, other, again, _ = (row["facts"] for row in ask(WithFacts(), fleet, in_processes(2), no_progress))
    assert one is again
    assert one != other


def test_an_answers_key_depends_on_the_content_of_the_kubelet_files(tmp_path: Path) -> None:
    config = tmp_path / "kubelet.yaml"
    fleet = [Recording("a", "synthetic:1s1n4c2t", "d1")]

    def key() -> object:
        (row,) = ask(NodeLister(KubeletInputs(config=str(config))), fleet, in_this_process, no_progress)
        return row["answerKey"]

    shutil.copy(STATIC, config)
    before = key()
    config.write_text(config.read_text() + "maxPods: 50\n")
    assert key() != before
    shutil.copy(STATIC, config)
    assert key() == before


def test_a_question_names_its_files_and_reads_them_elsewhere(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("config", "flags", "node", "devices")]
    for name in names:
        Path(name).touch()
    kubelet = KubeletInputs(config=names[0], arguments=f"@{names[1]}", version=f"@{names[2]}")
    surveyor = NodeSurveyor(FleetInputs(kubelet, devices=names[3]))
    assert surveyor.files == names
    moved = surveyor.reading({name: f"/there{name}" for name in names})
    inputs = moved._inputs
    assert (inputs.kubelet, inputs.devices) == (
        KubeletInputs(
            config=f"/there{names[0]}", arguments=f"@/there{names[1]}", version=f"@/there{names[2]}"
        ),
        f"/there{names[3]}",
    )
    assert surveyor.files == names


def test_a_worker_that_gets_the_question_from_another_one_has_its_own_files(tmp_path: Path) -> None:
    """The other worker may be on another machine, or end first."""
    config = tmp_path / "kubelet.yaml"
    config.write_text(STATIC.read_text())
    question = NodeLister(KubeletInputs(config=str(config)))
    first = on_dask._Side(Answering(question), {str(config): contents(str(config))})
    sent = pickle.dumps(first)
    config.unlink()
    del first
    (row,) = pickle.loads(sent)(  # noqa: S301  # it is our own
        Recording("n", "synthetic:2s2n8c2t,mem=64Gi")
    )
    assert (row["outcome"], row["kubelet"]["cpuManagerPolicy"]) == ("Read", "static")
