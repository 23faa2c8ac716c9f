"""Recordings of ``cpuctl top``: what was written is played, and what is none is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl.answering.top_answer import current
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.sources import Sources
from cpuctl.operations.top_recording import Recorder, read_recording
from tests.support.running_node import Running, counting_node


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    running = Running(tmp_path_factory.mktemp("node"), counting_node())
    node, documents = running.start(), []
    for number in range(3):
        running.pass_time(1, {1: {"user": number / 4}})
        running.write()
        window = node.take()
        assert window is not None
        documents.append(current(node.top, window, Sources().entries))
    return documents


@pytest.mark.parametrize("name", ["top.jsonl", "top.jsonl.gz"])
def test_what_is_written_is_played(name: str, moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / name
    recorder = Recorder(str(path))
    for moment in moments:
        recorder.write(moment)
    killed = tmp_path / f"killed-{name}"
    killed.write_bytes(path.read_bytes())  # as it is when its writer is killed now
    recorder.close()
    for each in (path, killed):
        played = read_recording(str(each))
        assert ([played.moment(at) for at in range(len(played.lines))], played.cut) == (moments, False)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_recording_ends_where_it_would_be_too_large(moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "top.jsonl"
    length = len(json.dumps(moments[0], separators=(",", ":"))) + 1
    recorder = Recorder(str(path), most=length + 10)
    for moment in moments:
        recorder.write(moment)
    recorder.close()
    assert recorder.full
    assert len(read_recording(str(path)).lines) == 1


def test_no_file_is_replaced_and_no_link_followed(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("there", "link"):
        with pytest.raises(UsageError, match="exists"):
            Recorder(str(tmp_path / name))
    assert (tmp_path / "there").read_text() == "mine"


def test_a_line_that_is_not_whole_is_left_out(moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(json.dumps(moments[0]) + "\n" + json.dumps(moments[1])[:100])
    played = read_recording(str(path))
    assert (len(played.lines), played.cut) == (1, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no moment"),
        (b"hello\n", "is no JSON"),
        (b'{"kind": "Plan"}\n', "expected what cpuctl top --record has written"),
        pytest.param(b"[" * 100_000 + b"\n", "is no JSON", id="nested"),
        (b"null\n", "is not of type 'object'"),
        (gzip.compress(b"hello\n", mtime=0)[:-12], "holds no moment"),
        (b"\x1f\x8bxx", "holds no moment"),
    ],
)
def test_anything_else_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_recording(str(path))


def test_a_wrong_moment_is_refused_when_it_is_shown(moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "top.jsonl"
    wrong = {**moments[0], "cpus": [{**moments[0]["cpus"][0], "busy": "much"}]}
    path.write_text(f"{json.dumps(moments[0])}\n{json.dumps(wrong)}\n")
    played = read_recording(str(path))
    with pytest.raises(InputError, match="busy") as caught:
        played.moment(1)
    assert caught.value.where == f"{path}:2"
