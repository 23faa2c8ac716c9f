"""Recordings of ``cpuctl top``: written recordings are played, and invalid ones are rejected."""

from __future__ import annotations

import gzip
import json
import re
import resource
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cpuctl.errors import InputError, NodeAccessError, UsageError
from cpuctl.operations import top_recording
from cpuctl.operations.top_recording import Recorder, read_recording
from tests.support.running_node import Running, counting_node, moments_of


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return moments_of(Running(tmp_path_factory.mktemp("node"), counting_node()), 3)


@pytest.mark.parametrize("name", ["top.jsonl", "top.jsonl.gz"])
def test_a_written_recording_is_played(name: str, moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / name
    recorder = Recorder(str(path))
    for moment in moments:
        recorder.write(moment)
    killed = tmp_path / f"killed-{name}"
    killed.write_bytes(path.read_bytes())  # as if its writer were killed now
    recorder.close()
    for each in (path, killed):
        played = read_recording(str(each))
        assert ([played.moment(at) for at in range(len(played.lines))], played.notes) == (moments, ())
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_recording_ends_before_it_is_too_large(moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "top.jsonl"
    length = len(json.dumps(moments[0], separators=(",", ":"))) + 1
    recorder = Recorder(str(path), most=length + 10)
    for moment in moments:
        recorder.write(moment)
    recorder.close()
    assert recorder.full
    played = read_recording(str(path))
    assert (len(played.lines), played.notes) == (1, ())


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Make the kernel reject every write that extends a file, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full_at_the_end_is_reported(moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "top.jsonl.gz"
    recorder = Recorder(str(path))
    recorder.write(moments[0])
    with files_up_to(path.stat().st_size + 3), pytest.raises(NodeAccessError, match="cannot be written"):
        recorder.close()
    recorder.close()  # closing it again has no effect
    played = read_recording(str(path))
    assert played.notes == ("the file is truncated: its end is missing",)
    assert [played.moment(at) for at in range(len(played.lines))] == moments[:1]


@pytest.mark.parametrize("name", ["top.jsonl", "top.jsonl.gz"])
def test_an_incomplete_moment_is_never_read_as_complete(
    name: str, moments: list[Any], tmp_path: Path
) -> None:
    """The disk has free space again when the file is closed: the gap must stay visible."""
    path = tmp_path / name
    recorder = Recorder(str(path))
    recorder.write(moments[0])
    with files_up_to(path.stat().st_size + 20), pytest.raises(NodeAccessError, match="cannot be written"):
        recorder.write(moments[1])
    recorder.close()
    played = read_recording(str(path))
    assert (len(played.lines), len(played.notes)) == (1, 1)
    assert played.moment(0) == moments[0]


@pytest.mark.parametrize("at", [0, 1, 5, 20])
def test_a_compressed_recording_is_played_up_to_its_damage(
    at: int, moments: list[Any], tmp_path: Path
) -> None:
    recorder = Recorder(str(tmp_path / "whole.jsonl.gz"))
    recorder.write(moments[0])
    before = (tmp_path / "whole.jsonl.gz").stat().st_size
    recorder.write(moments[1])
    recorder.close()
    data = bytearray((tmp_path / "whole.jsonl.gz").read_bytes())
    data[before + at : before + at + 20] = b"\xff" * 20
    path = tmp_path / "damaged.jsonl.gz"
    path.write_bytes(data)
    played = read_recording(str(path))
    assert (len(played.lines), played.moment(0)) == (1, moments[0])
    assert played.notes == ("the file is damaged: the rest is skipped",)


def test_data_that_unpacks_to_garbage_before_the_damage_is_left_out(
    moments: list[Any], tmp_path: Path
) -> None:
    """Whether damage is noticed at once depends on the data, so here it is noticed late."""
    packer = zlib.compressobj(wbits=31)
    data = b"\n".join((json.dumps(moments[0]).encode(), b"\xff{", b"5", b'"uid": 1', b"x"))
    path = tmp_path / "damaged.jsonl.gz"
    path.write_bytes(packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH) + b"\xff" * 20)
    played = read_recording(str(path))
    assert (len(played.lines), played.moment(0)) == (1, moments[0])
    assert played.notes == ("the file is damaged: the rest is skipped",)


def test_concatenated_recordings_are_played_one_after_the_other(moments: list[Any], tmp_path: Path) -> None:
    parts = [gzip.compress(json.dumps(each).encode() + b"\n", mtime=0) for each in moments]
    path = tmp_path / "all.gz"
    path.write_bytes(b"".join(parts))
    played = read_recording(str(path))
    assert ([played.moment(at) for at in range(len(played.lines))], played.notes) == (moments, ())


def test_no_file_is_replaced_and_no_link_followed(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("there", "link"):
        with pytest.raises(UsageError, match="exists"):
            Recorder(str(tmp_path / name))
    assert (tmp_path / "there").read_text() == "mine"


def test_an_incomplete_line_is_left_out(moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(json.dumps(moments[0]) + "\n" + json.dumps(moments[1])[:100])
    played = read_recording(str(path))
    assert (len(played.lines), played.notes) == (1, ("the last line is incomplete, and is skipped",))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_line_that_is_too_long_is_skipped(
    pack: Callable[[bytes], bytes], moments: list[Any], tmp_path: Path
) -> None:
    first, second = (json.dumps(each).encode() for each in moments[:2])
    wrong = json.dumps({**moments[0], "cpus": 7}).encode()
    path = tmp_path / "top.jsonl"
    path.write_bytes(pack(b"\n".join((first, b"x" * ((16 << 20) + 1), second, wrong, b""))))
    played = read_recording(str(path))
    assert played.notes == ("line 2 has 16777217 bytes, more than 16Mi, and is skipped",)
    assert [played.moment(at) for at in (0, 1)] == moments[:2]
    with pytest.raises(InputError) as caught:
        played.moment(2)
    assert caught.value.where == f"{path}:4"


def test_the_beginning_of_a_recording_that_is_too_long_is_played(
    moments: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording by cpuctl itself may be too long: its limit is the size on disk."""
    monkeypatch.setattr(top_recording, "_MOST_MOMENTS", 2)
    path = tmp_path / "top.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in moments))
    played = read_recording(str(path))
    assert len(played.lines) == 2
    assert played.notes == ("only the first 2 samples are played, to limit memory use",)


def test_an_endless_line_is_not_read_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_recording, "_MOST_PASSED_OVER", 20 << 20)
    with pytest.raises(InputError, match="lines are too long"):
        read_recording("/dev/zero")


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e400", "1e300", "-1", "true", '"1"'])
def test_a_number_that_cannot_be_drawn_is_rejected(number: str, moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "top.jsonl"
    text = json.dumps({**moments[0], "cpus": [{**moments[0]["cpus"][0], "busy": "BUSY"}]})
    path.write_text(text.replace('"BUSY"', number) + "\n")
    with pytest.raises(InputError, match=r"written by cpuctl top --record.*: cpus\[0\]\.busy: "):
        read_recording(str(path))


def test_a_huge_whole_number_is_named_with_its_place(moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "top.jsonl"
    path.write_text(json.dumps({**moments[0], "cpus": [{**moments[0]["cpus"][0], "core": 1 << 60}]}) + "\n")
    with pytest.raises(InputError, match=r": cpus\[0\]\.core: 1152921504606846976 is out of range$"):
        read_recording(str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not contain a sample"),
        (b"hello\n", "is not JSON"),
        (b'{"kind": "Plan"}\n', "expected a file written by cpuctl top --record"),
        pytest.param(b"[" * 100_000 + b"\n", "is not JSON", id="nested"),
        (b"null\n", "is not of type 'object'"),
        pytest.param(bytes(17 << 20) + b"\n", r"a sample that can be played \(line 1 has", id="long"),
        (gzip.compress(b"hello\n", mtime=0)[:-12], "does not contain a sample"),
        (b"\x1f\x8bxx", "does not contain a sample"),
    ],
)
def test_other_files_are_rejected(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_recording(str(path))


def test_an_invalid_moment_is_rejected_when_it_is_shown(moments: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "top.jsonl"
    wrong = {**moments[0], "cpus": [{**moments[0]["cpus"][0], "busy": "much"}]}
    path.write_text(f"{json.dumps(moments[0])}\n{json.dumps(wrong)}\n")
    played = read_recording(str(path))
    with pytest.raises(InputError, match="busy") as caught:
        played.moment(1)
    assert caught.value.where == f"{path}:2"


@pytest.mark.parametrize("place", [("cgroupVersion",), ("cpus", 0, "core")])
def test_a_fraction_for_a_whole_number_is_named_with_its_place(
    place: tuple[str | int, ...], moments: list[Any], tmp_path: Path
) -> None:
    """A schema accepts 2.0 as an integer, but code that counts cannot use it."""
    moment = json.loads(json.dumps(moments[0]))
    *above, last = place
    holder = moment
    for step in above:
        holder = holder[step]
    holder[last] = 2.0
    path = tmp_path / "top.jsonl"
    path.write_text(json.dumps(moment) + "\n")
    with pytest.raises(InputError) as refused:
        read_recording(str(path)).moment(0)
    assert re.search(rf"{last}: 2\.0 is not ", str(refused.value))
