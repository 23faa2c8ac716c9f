"""Concurrent runs, killed runs, and answers that cannot be written: reports are true."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import pytest

from cpuctl import atomic_file
from cpuctl.answers.checkpoint import StateFileName
from cpuctl.capture import saving
from cpuctl.checkpoints import store
from cpuctl.checkpoints.store import RunLock, replace_state_file
from cpuctl.errors import NodeAccessError, NotRestoredError
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.state_files import StatePlace, read_states
from cpuctl.operations.checkpoint.changes import FileChange, Target, apply_changes
from cpuctl.operations.state_writing import save_states
from cpuctl.records import replace
from tests.support.state_files import (
    CPU_STATE,
    GONE,
    KUBELET,
    MACHINE,
    MEMORY_STATE,
    cpus,
    write_pods,
    write_states,
)

PROJECT = Path(__file__).parents[2]
ON_36 = ("--kubelet-args", KUBELET, "--kubelet-version", "1.36")
FILES: tuple[StateFileName, ...] = ("cpu_manager_state", "memory_manager_state")
FULL = Path("/dev/full")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return a directory with a file that needs a repair: one of its pods is gone."""
    odd = replace(
        CPU_STATE,
        default_cpu_set=cpus("0,4,6-8,12,14-15"),
        entries={**CPU_STATE.entries, GONE: {"c": cpus("3,11")}},
    )
    write_pods(tmp_path / "running.json")
    return write_states(tmp_path / "state", odd, MEMORY_STATE)


def start(tmp_path: Path, *words: str, **streams: object) -> subprocess.Popen[str]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "cpuctl", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"},
        text=True,
        **streams,
    )


def texts(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def ends(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    outputs = [each.communicate(timeout=120) for each in processes]
    return [(each.returncode, *output) for each, output in zip(processes, outputs, strict=True)]


REPAIR = ("checkpoint", "repair", "state", "-m", MACHINE, *ON_36, "--pods", "running.json", "--yes", "-q")
MIGRATE = ("checkpoint", "migrate", "state", "--to", "1.37", "--yes", "-q")


@pytest.mark.parametrize("words", [REPAIR, MIGRATE], ids=["repair", "migrate"])
@pytest.mark.parametrize("attempt", range(3))
def test_one_of_concurrent_runs_wins_and_the_others_change_nothing(
    words: tuple[str, ...], attempt: int, state: Path, tmp_path: Path
) -> None:
    """A later run is rejected, or finds the work done: no run takes another's file for its own."""
    before = texts(state)
    done = ends([start(tmp_path, *words, "-o", "json") for _ in range(4)])
    assert {code for code, _, _ in done} <= {0, 5}, done
    written = [json.loads(out)["written"] for code, out, _ in done if code == 0]
    assert written.count(True) == 1
    for code, out, error in done:
        if code == 5:
            assert (out, "another cpuctl is writing here" in error) == ("", True), (attempt, error)
    after = texts(state)
    changed = {name for name in before if after[name] != before[name]}
    assert changed
    backups = {name: content for name, content in after.items() if name.endswith(".bak")}
    assert sorted(backups.values()) == sorted(before[name] for name in changed)
    assert {*after} == {*before, *backups}


def test_concurrent_runs_into_one_directory_do_not_mix(tmp_path: Path) -> None:
    """Each run writes two files: both are from the same run."""
    (tmp_path / "new").mkdir()
    plans = [
        (
            "plan",
            "-m",
            MACHINE,
            *ON_36,
            "-T",
            f"a={count}/{count},{count}Gi",
            "--write-state",
            "new",
            "--force",
        )
        for count in (2, 4, 6)
    ]
    done = ends([start(tmp_path, *plan, "-q") for plan in plans * 2])
    assert {code for code, _, _ in done} <= {0, 5}, done
    cpu, memory = (json.loads((tmp_path / "new" / name).read_text()) for name in FILES)
    (held,) = [CPUs for pod in cpu["entries"].values() for CPUs in pod.values()]
    (blocks,) = [block for pod in memory["entries"].values() for block in pod.values()]
    assert len(cpus(held)) == blocks[0]["size"] >> 30


def test_a_run_locks_state_files_until_it_has_read_them_again(state: Path, tmp_path: Path) -> None:
    """The lock is taken before the first file is read, which here blocks until a pipe is filled."""
    os.mkfifo(tmp_path / "pods.json")
    words = [word if word != "running.json" else "pods.json" for word in REPAIR]
    first = start(tmp_path, *words)
    pipe = (tmp_path / "pods.json").open("w")  # opened by the other side: the state has been read
    (second,) = ends([start(tmp_path, *REPAIR)])
    assert (second[0], second[1]) == (5, "")
    assert "another cpuctl is writing here" in second[2]
    with pipe:
        pipe.write((tmp_path / "running.json").read_text())
    ((code, _, error),) = ends([first])
    assert code == 0, error


def test_a_run_can_take_its_own_lock_again(state: Path) -> None:
    from cpuctl.root_directory import HOST

    alias = state.with_name("alias")
    alias.symlink_to(state)
    with RunLock() as lock:
        lock.hold(state, HOST, str(state))
        lock.hold(alias, HOST, str(alias))
        path = state / FILES[0]
        replace_state_file(path, path.read_bytes(), b"new")
        with pytest.raises(AssertionError), RunLock():
            raise AssertionError
        replace_state_file(path, b"new", b"newer")
    assert store._held == {}


# Reports after a write


def fail_after(monkeypatch: pytest.MonkeyPatch, module: object, done: int) -> None:
    """Let every sync of the directory fail after *done* successful ones."""
    calls = iter(range(1000))

    def sync(directory: object) -> None:
        if next(calls) >= done:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        atomic_file.sync_directory(directory)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "sync_directory", sync)


def test_a_restored_file_is_not_reported_as_written(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts(state)
    states = read_states(str(state), StatePlace(in_place=True), Sources())
    changes = [FileChange(file_name=each.file_name, state=each, text=each.text + "\n") for each in states]
    real, calls = atomic_file.sync_directory, iter(range(1000))

    def sync(directory: Path | int) -> None:
        if next(calls) == 3:  # backup, file, backup, file
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(directory)

    monkeypatch.setattr(store, "sync_directory", sync)
    with pytest.raises(NodeAccessError) as raised:
        apply_changes(changes, Target(yes=True, force_running=True))
    assert raised.value.exit_code == 5
    assert "is written" not in str(raised.value)
    assert "nothing was changed" in str(raised.value)
    assert texts(state) == before


def test_a_disk_that_fills_up_gets_its_old_files_back(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts(state)
    states = read_states(str(state), StatePlace(in_place=True), Sources())
    changes = [FileChange(file_name=each.file_name, state=each, text=each.text + "\n") for each in states]
    real, calls = atomic_file.temporary_file, iter(range(1000))

    def written(*words: Any, **settings: Any) -> AbstractContextManager[Path]:
        if next(calls) >= 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*words, **settings)

    monkeypatch.setattr(store, "temporary_file", written)
    with pytest.raises(NodeAccessError, match="no space left") as raised:
        apply_changes(changes, Target(yes=True, force_running=True))
    assert raised.value.exit_code == 5
    assert texts(state) == before


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("done", [0, 1])
def test_a_directory_that_cannot_be_synced_gets_its_old_files_back(
    existing: bool, done: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if existing:
        for name in FILES:
            (tmp_path / name).write_text("mine")
    before = texts(tmp_path)
    fail_after(monkeypatch, saving, done)
    with pytest.raises(NodeAccessError, match="cannot be written: input/output error"):
        save_states(str(tmp_path), dict.fromkeys(FILES, "new"), force=True)
    assert texts(tmp_path) == before


@pytest.mark.parametrize("fails", [False, True])
def test_files_are_written_and_restored_in_the_locked_directory(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first file, the directory being written to is replaced by another one."""
    directory, hosts, kept = (tmp_path / name for name in ("new", "hosts", "kept"))
    for each in (directory, hosts):
        each.mkdir()
        for name in FILES:
            (each / name).write_text(f"{each.name}'s")
    before = {each: texts(each) for each in (directory, hosts)}
    real = saving.save

    def save(path: Path, *words: Any, **more: Any) -> Path | None:
        if kept.exists() and fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        done = real(path, *words, **more)
        if not kept.exists():
            directory.rename(kept)
            directory.symlink_to(hosts)
        return done

    monkeypatch.setattr(saving, "save", save)
    with suppress(OSError):
        save_states(str(directory), dict.fromkeys(FILES, "new"), force=True)
    assert texts(hosts) == before[hosts]
    after = texts(kept)
    if fails:
        assert after == before[directory]
    else:
        assert [after.pop(name) for name in FILES] == [b"new"] * 2
        assert [*after.values()] == [b"new's"] * 2


def test_a_failed_restore_is_exit_6(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FILES[0]).write_text("mine")
    fail_after(monkeypatch, saving, 0)
    real = os.rename

    def rename(source: str, target: str, **handles: int) -> None:
        if ".bak" in source:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(source, target, **handles)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(
        NotRestoredError, match="the new file is in place, and the old one cannot be restored"
    ) as raised:
        save_states(str(tmp_path), {FILES[0]: "new"}, force=True)
    backup = Path(raised.value.hint.removeprefix("the old content is in "))
    assert backup.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "code", "error"),
    [
        ("file", 2, "file: exists and is not a directory"),
        ("nowhere", 2, "nowhere: exists and is not a directory"),
        ("circle", 2, "circle: exists and is not a directory"),
        ("file/below", 5, "file/below: cannot be written: a part of the path is not a directory"),
        ("/proc/1/below", 5, "/proc/1/below: cannot be written: no such file or directory"),
    ],
)
def test_states_are_only_written_into_directories(name: str, code: int, error: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "circle").symlink_to("circle")
    ((found, out, stated),) = ends([start(tmp_path, *PLAN, "--write-state", name, "--force")])
    assert (found, out) == (code, "")
    assert f"error: {error}" in stated
    assert (tmp_path / "file").read_text() == "mine"


def test_force_leaves_a_backup(state: Path, tmp_path: Path) -> None:
    before = texts(state)
    words = ("plan", "-m", MACHINE, *ON_36, "-T", "a=2/2,1Gi", "--write-state", "state", "--force", "-q")
    assert ends([start(tmp_path, *words)])[0][0] == 0
    after = texts(state)
    assert sorted(text for name, text in after.items() if name.endswith(".bak")) == sorted(before.values())
    migrate = ("checkpoint", "migrate", "state", "--to", "1.37", "--write-state", "state", "--force")
    ((code, out, error),) = ends([start(tmp_path, *migrate, "-o", "json", "-q")])
    assert code == 0, error
    for file in json.loads(out)["files"]:
        assert (tmp_path / file["backup"]).read_bytes() == after[file["file"]]


def gone(tmp_path: Path, *words: str) -> tuple[int, str]:
    """Run with an already closed reader of stdout, as with ``head -c 0``."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        process = start(
            tmp_path, *words, stdout=writer, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        )
    finally:
        os.close(writer)
    _, error = process.communicate(timeout=60)
    return process.returncode, error


@pytest.mark.parametrize("form", ["table", "json"])
def test_written_files_are_reported_if_stdout_is_closed(state: Path, tmp_path: Path, form: str) -> None:
    code, error = gone(tmp_path, *REPAIR, "-o", form)
    assert code == 6
    assert "files were written, but the answer cannot be written" in error
    assert "backups: state/cpu_manager_state." in error


def test_a_written_recording_is_reported_if_stdout_is_closed(tmp_path: Path) -> None:
    (tmp_path / "root/sys").mkdir(parents=True)
    for form in ("table", "json"):
        code, error = gone(tmp_path, "capture", "-q", "--root", "root", "-o", form, f"{form}.tar")
        assert code == 6, error
        assert f"hint: check {form}.tar" in error
        assert (tmp_path / f"{form}.tar").exists()


def test_a_closed_stdout_ends_a_command_that_has_written_nothing(tmp_path: Path) -> None:
    assert gone(tmp_path, "topology", "show", "-m", MACHINE) == (-signal.SIGPIPE, "")


PLAN = ("plan", "-q", "-m", MACHINE, *ON_36, "-T", "a=2/2,1Gi")
WRITES = {
    "pictures": (*PLAN, "--svg", "a.svg", "--html", "b.html", "--force"),
    "state": (*PLAN, "--write-state", "state", "--force"),
    "capture": ("capture", "-q", "--root", "root", "--force", "node.tar"),
    "dump": ("checkpoint", "dump", "-q", "state", "-m", MACHINE, "--svg", "a.svg", "--force"),
}


@pytest.mark.skipif(not FULL.exists(), reason="no device here that is always full")
@pytest.mark.parametrize("what", WRITES)
def test_an_answer_lost_after_a_write_is_exit_6(what: str, state: Path, tmp_path: Path) -> None:
    (tmp_path / "root/sys").mkdir(parents=True)
    for name in ("a.svg", "b.html", "node.tar"):
        (tmp_path / name).write_text("mine")
    with FULL.open("w") as full:
        ((code, _, error),) = ends([start(tmp_path, *WRITES[what], stdout=full)])
    assert code == 6, error
    assert "files were written, but the answer cannot be written: no space left on the device" in error
    assert (tmp_path / "a.svg").read_text() != "mine" or what in ("state", "capture")


@pytest.mark.parametrize("reader_state", ["full", "gone"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("topology", "show", "-m", MACHINE), 0),
        (("plan", "-m", MACHINE, "-T", "a=99/99"), 3),
        (("plan", "-m", "nothing", "-T", "a=1/1"), 4),
        (("plan", "--no-such-option"), 2),
        (("checkpoint", "repair", *REPAIR[2:-1]), 0),
    ],
    ids=["notes", "no", "error", "usage", "change"],
)
def test_an_unwritable_stderr_changes_nothing_else(
    words: tuple[str, ...], code: int, reader_state: str, state: Path, tmp_path: Path
) -> None:
    if reader_state == "full" and not FULL.exists():
        pytest.skip("no device here that is always full")
    reader, writer = os.pipe()
    os.close(reader)
    with FULL.open("w") if reader_state == "full" else os.fdopen(writer, "w") as stderr:
        ((found, out, _),) = ends([start(tmp_path, *words, stderr=stderr)])
    assert found == code
    assert bool(out) == (code in (0, 3))


def test_leftovers_of_a_killed_run_are_removed_by_the_next(state: Path, tmp_path: Path) -> None:
    left = [f".{FILES[0]}.cpuctl-01234567", ".a.svg.cpuctl-89abcdef"]
    others = [".cpu_manager_state.original", ".a.svg.cpuctl-xyz", ".other.cpuctl-01234567"]
    (state / left[0]).write_text("half")
    (tmp_path / left[1]).write_text("half")
    for name in others:
        (tmp_path / name).write_text("mine")
        (state / name).write_text("mine")
    assert ends([start(tmp_path, *REPAIR)])[0][0] == 0
    assert ends([start(tmp_path, *PLAN, "--svg", "a.svg")])[0][0] == 0
    assert not (state / left[0]).exists()
    assert not (tmp_path / left[1]).exists()
    assert all((tmp_path / name).exists() and (state / name).exists() for name in others)


def test_temporary_files_of_a_running_process_are_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def write(file: object) -> None:
        (own,) = tmp_path.iterdir()
        saving.save(path, lambda other: other.write(b"another's"), replace=False)
        assert own.exists()

    with pytest.raises(Exception, match="already exists"):
        saving.save(path, write, replace=False)
    assert texts(tmp_path) == {"file": b"another's"}


@pytest.mark.parametrize("way", ["in place", "over another"])
def test_extended_attributes_are_kept(way: str, tmp_path: Path) -> None:
    """An SELinux label is one: without it, the kubelet may not read its file."""
    path = tmp_path / "cpu_manager_state"
    path.write_text("old")
    attributes = {"user.cpuctl": b"x\0y"}
    if os.geteuid() == 0:
        label = b"system_u:object_r:kubelet_var_lib_t:s0\0"
        attributes |= {"trusted.cpuctl": b"1", "security.selinux": label}
    try:
        for name, value in attributes.items():
            os.setxattr(path, name, value)
    except OSError:
        pytest.skip("no extended attributes here: NOTHING WAS TESTED")
    if way == "in place":
        backup = replace_state_file(path, b"old", b"new")
    else:
        saving.save(path, lambda file: file.write(b"new"), replace=True, backup=True)
        (backup,) = tmp_path.glob("*.bak")
    assert path.read_text() == "new"
    for each in (path, backup):
        assert {name: os.getxattr(each, name) for name in attributes} == attributes


def test_an_endless_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    """A file may grow faster than it is read: its initial size is no limit."""
    path = tmp_path / "cpu_manager_state"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    ((code, out, error),) = ends([start(tmp_path, "checkpoint", "dump", str(path))])
    assert (code, out) == (4, "")
    assert "is larger than" in error


def test_the_same_size_limit_applies_to_all_state_files(tmp_path: Path) -> None:
    directory = write_states(tmp_path / "state")
    path = directory / "cpu_manager_state"
    path.write_bytes(path.read_bytes() + b" " * (16 << 20))
    for words in (
        ("checkpoint", "dump", "state"),
        ("checkpoint", "dump", "state/cpu_manager_state"),
        ("checkpoint", "verify", "state", "-m", MACHINE, *ON_36),
        ("checkpoint", "migrate", "state", "--to", "1.37", "--yes"),
        ("checkpoint", "repair", "state", "-m", MACHINE, *ON_36, "--yes"),
        ("plan", "-m", MACHINE, *ON_36, "-T", "a=1/1", "--state", "state"),
    ):
        ((code, out, error),) = ends([start(tmp_path, *words)])
        assert (code, out) == (4, ""), words
        assert "cpu_manager_state: is larger than 16 MiB" in error, words
