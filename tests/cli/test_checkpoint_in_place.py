"""State files changed in place: backups, running kubelets, other writers, and what the system denies."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cpuctl.checkpoints import store
from cpuctl.errors import NodeAccessError, NotRestoredError
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.state_files import StatePlace, read_states
from cpuctl.operations.checkpoint.changes import FileChange, Target, apply_changes
from tests.cli.conftest import ROOT, Cpuctl, Result
from tests.support.state_files import (
    KUBELET,
    MACHINE,
    RUNNING,
    write_pods,
    write_states,
    write_states_with_a_removed_pod,
)

ON_36 = ("-m", MACHINE, "--kubelet-args", KUBELET, "--kubelet-version", "1.36")
FILES = ("cpu_manager_state", "memory_manager_state")
CONFIG = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
Checkpoint = Callable[..., Result]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    write_pods(tmp_path / "running.json")
    return write_states_with_a_removed_pod(tmp_path / "state")


@pytest.fixture
def checkpoint(tmp_path: Path, cpuctl: Cpuctl) -> Checkpoint:
    def call(*words: str) -> Result:
        return cpuctl("checkpoint", *words, cwd=tmp_path)

    return call


REPAIR = ("repair", "state", *ON_36, "--pods", "running.json", "-o", "json", "-q")


def answer(result: Result) -> Any:
    assert result.out, result.err
    return json.loads(result.out)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_dry_run_shows_what_would_be_written(checkpoint: Checkpoint, state: Path) -> None:
    before = contents(state)
    dry = answer(checkpoint(*REPAIR))
    assert contents(state) == before
    wet = answer(checkpoint(*REPAIR, "--yes"))
    assert (dry["written"], wet["written"]) == (False, True)
    changed = ("target", "backup")
    for one, other in zip(dry["files"], wet["files"], strict=True):
        assert {**one, **dict.fromkeys(changed)} == {**other, **dict.fromkeys(changed)}
    assert contents(state) != before


def test_mode_owner_and_the_old_content_are_kept(checkpoint: Checkpoint, state: Path) -> None:
    before = contents(state)
    for name in FILES:
        (state / name).chmod(0o640)
    document = answer(checkpoint(*REPAIR, "--yes"))
    backups = {file["file"]: Path(file["backup"]) for file in document["files"]}
    for name in FILES:
        backup = state / backups[name].name
        assert backup.read_bytes() == before[name]
        assert backup.name.startswith(f"{name}.")
        assert backup.name.endswith("Z.bak")
        assert (state / name).stat().st_mode & 0o777 == 0o640
    assert {*contents(state)} == {*FILES, *(backup.name for backup in backups.values())}
    assert checkpoint("verify", "state", *ON_36, "--pods", "running.json", "--strict").code == 0


def test_migrating_in_place_and_back_restores_the_file(checkpoint: Checkpoint, state: Path) -> None:
    before = contents(state)
    assert checkpoint("migrate", "state", "--to", "1.37", "--yes").code == 0
    assert {name: contents(state)[name] for name in FILES} != before
    assert checkpoint("migrate", "state", "--to", "1.36", "--yes").code == 0
    assert {name: contents(state)[name] for name in FILES} == before


def test_an_unproven_repair_is_not_written(checkpoint: Checkpoint, state: Path) -> None:
    before = contents(state)
    smaller = tuple("synthetic:2s2n4c2t,mem=3Gi" if word == MACHINE else word for word in REPAIR)
    assert checkpoint(*smaller, "--yes").code == 3
    assert contents(state) == before


@contextmanager
def kubelet(tmp_path: Path, *arguments: str, name: str = "kubelet") -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that looks like a kubelet until the block ends."""
    program = tmp_path / "bin" / name
    program.parent.mkdir(exist_ok=True)
    shell = shutil.which("sh")
    assert shell
    program.symlink_to(shell)
    words = [str(program), "-c", "read forever", *arguments]
    with subprocess.Popen(words, stdin=subprocess.PIPE, cwd=tmp_path) as process:
        try:
            yield process
        finally:
            process.communicate()
            program.unlink()


@pytest.mark.parametrize("name", ["kubelet", "k3s-server"])
def test_nothing_is_written_under_a_running_kubelet(
    checkpoint: Checkpoint, state: Path, tmp_path: Path, name: str
) -> None:
    before = contents(state)
    with kubelet(tmp_path, f"--root-dir={state}", name=name) as process:
        refused = checkpoint(*REPAIR, "--yes")
        assert (refused.code, refused.out) == (5, "")
        who = f"{name} runs here (process {process.pid}, root directory {state})"
        assert who in refused.err
        assert contents(state) == before
        dry = answer(checkpoint(*REPAIR))
        assert dry["kubelets"] == [{"pid": process.pid, "name": name, "rootDirectory": str(state)}]
        forced = checkpoint(*REPAIR, "--yes", "--force-kubelet-running")
        assert forced.code == 0
    assert contents(state) != before
    assert answer(checkpoint(*REPAIR))["kubelets"] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("k3s-server", ("--kubelet-arg=root-dir={}",)),
        ("k3s-agent", ("--kubelet-arg", "v=2", "--kubelet-arg", "root-dir={}")),
        ("kubelet", ("--root-dir=state",)),
    ],
    ids=["in one word", "in two words", "as seen from its working directory"],
)
def test_a_root_directory_is_found_in_every_form_of_the_flag(
    checkpoint: Checkpoint, state: Path, tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    with kubelet(tmp_path, *(word.format(state) for word in words), name=name):
        assert checkpoint(*REPAIR, "--yes").code == 5
        (tmp_path / "elsewhere").mkdir()
        assert checkpoint(*REPAIR, "--write-state", "elsewhere").code == 0


def test_a_kubelet_with_another_root_directory_does_not_matter(
    checkpoint: Checkpoint, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    with kubelet(tmp_path, "--root-dir", str(tmp_path / "elsewhere")):
        assert checkpoint(*REPAIR, "--yes").code == 0


def test_another_name_of_the_directory_is_the_same_directory(
    checkpoint: Checkpoint, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "alias").symlink_to(state)
    with kubelet(tmp_path, f"--root-dir={tmp_path / 'alias'}"):
        assert checkpoint(*REPAIR, "--yes").code == 5


def test_a_directory_to_write_into_is_checked_too(
    checkpoint: Checkpoint, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "new").mkdir()
    with kubelet(tmp_path, f"--root-dir={tmp_path / 'new'}"):
        assert checkpoint(*REPAIR, "--write-state", "new").code == 5
        new = ("new", *ON_36, "-T", "a=2/2,1Gi", "--write-state", "new")
        assert checkpoint(*new).code == 5
    assert contents(tmp_path / "new") == {}


def test_a_file_tree_of_another_root_has_its_own_processes(
    checkpoint: Checkpoint, state: Path, tmp_path: Path
) -> None:
    """For example, a container that has the host below /host."""
    host = tmp_path / "host"
    (host / "var" / "lib").mkdir(parents=True)
    state.rename(host / "var" / "lib" / "kubelet")
    process = host / "proc" / "77"
    process.mkdir(parents=True)
    (host / "proc" / "stat").write_text("btime 1\n")
    (process / "stat").write_text(f"77 (kubelet) S {'1 ' * 49}")
    (process / "cmdline").write_text("/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0")
    words = ("repair", "--root", "host", *ON_36, "--pods", "running.json", "--yes")
    refused = checkpoint(*words)
    assert refused.code == 5
    assert "kubelet runs here (process 77, root directory /var/lib/kubelet)" in refused.err
    (process / "stat").write_text(f"77 (kubelet) Z {'1 ' * 49}")
    assert checkpoint(*words).code == 0


def test_a_file_tree_of_another_root_has_its_own_machine_and_kubelet(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    host = tmp_path / "host"
    for name, content in {
        "sys/devices/system/cpu/online": "0\n",
        "sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
        "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
        "proc/meminfo": "MemTotal: 8000000 kB\n",
        "var/lib/kubelet/config.yaml": CONFIG,
    }.items():
        (host / name).parent.mkdir(parents=True, exist_ok=True)
        (host / name).write_text(content)
    write_states(host / "var" / "lib" / "kubelet")
    result = checkpoint("repair", "--root", "host", "--kubelet-version", "1.36", "--yes", "-o", "json", "-q")
    document = answer(result)
    assert document["sources"]["machine"] == {"value": "host", "from": "given"}
    assert document["sources"]["kubeletConfiguration"]["value"] == "host: var/lib/kubelet/config.yaml"
    text = (host / "var" / "lib" / "kubelet" / "cpu_manager_state").read_text()
    assert json.loads(text)["policyName"] == "none"


def test_another_writer_is_an_error_without_waiting(checkpoint: Checkpoint, state: Path) -> None:
    before = contents(state)
    handle = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        refused = checkpoint(*REPAIR, "--yes")
    finally:
        os.close(handle)
    assert (refused.code, refused.out) == (5, "")
    assert "another cpuctl is writing here" in refused.err
    assert contents(state) == before


def meanwhile(tmp_path: Path, act: Callable[[], object]) -> Callable[[], None]:
    """Run *act* after the state files are read and before they are written.

    The pods are read last, from a pipe that is filled only then.
    """
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)

    def fill() -> None:
        with pipe.open("w") as file:
            act()
            json.dump({"apiVersion": "v1", "kind": "List", "items": list(RUNNING)}, file)

    thread = threading.Thread(target=fill)
    thread.start()
    return thread.join


FROM_PIPE = ("repair", "state", *ON_36, "--pods", "pipe.json", "--yes")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_changes_meanwhile_is_left_alone(
    checkpoint: Checkpoint, state: Path, tmp_path: Path, name: str
) -> None:
    """The other file, which may have been written before, is put back: all or nothing."""
    before = contents(state)
    kubelets = before[name] + b"\n"
    end = meanwhile(tmp_path, lambda: (state / name).write_bytes(kubelets))
    refused = checkpoint(*FROM_PIPE)
    end()
    assert (refused.code, refused.out) == (5, "")
    assert refused.err.splitlines()[-2:] == [
        f"error: state/{name}: has changed since it was read",
        "hint: stop the kubelet, then start again",
    ]
    assert contents(state) == {**before, name: kubelets}


def test_the_exit_code_is_6_if_a_file_cannot_be_restored(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = read_states(str(state), StatePlace(in_place=True), Sources())
    changes = [FileChange(file_name=each.file_name, state=each, text=each.text + "\n") for each in states]
    replaced: list[Path] = []

    def replace_once(path: Path, old: bytes, new: bytes) -> Path:
        if replaced:
            replaced[0].write_bytes(b"somebody else was here")
            raise NodeAccessError("no space left on the device", where=str(path))
        replaced.append(path)
        return store_replace(path, old, new)

    store_replace = store.replace_state_file
    monkeypatch.setattr(store, "replace_state_file", replace_once)
    with pytest.raises(NotRestoredError, match="is changed and could not be restored") as error:
        apply_changes(changes, Target(yes=True))
    assert error.value.exit_code == 6
    assert "its old content is" in error.value.hint
    backup = Path(error.value.hint.removeprefix("its old content is in "))
    assert backup.read_bytes() == states[0].content


def test_an_interrupt_puts_back_what_was_written(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(state)
    states = read_states(str(state), StatePlace(in_place=True), Sources())
    changes = [FileChange(file_name=each.file_name, state=each, text=each.text + "\n") for each in states]
    calls: list[Path] = []

    def interrupted(path: Path, old: bytes, new: bytes) -> Path:
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return store_replace(path, old, new)

    store_replace = store.replace_state_file
    monkeypatch.setattr(store, "replace_state_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        apply_changes(changes, Target(yes=True))
    assert contents(state) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_termination_signal_puts_back_what_was_written(
    checkpoint: Checkpoint, state: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Even a signal that ends a process silently, and one that arrives while the first file is put back."""
    before = contents(state)
    calls: list[Path] = []

    def signalled(path: Path, old: bytes, new: bytes) -> Path:
        calls.append(path)
        backup = store_replace(path, old, new)
        os.kill(os.getpid(), number)
        return backup

    def taken_back(path: Path, backup: Path, old: bytes, new: bytes) -> None:
        calls.append(path)
        os.kill(os.getpid(), number)
        take_back(path, backup, old, new)

    store_replace, take_back = store.replace_state_file, store.take_back
    monkeypatch.setattr(store, "replace_state_file", signalled)
    monkeypatch.setattr(store, "take_back", taken_back)
    stopped = checkpoint(*REPAIR, "--yes")
    assert (stopped.code, stopped.out) == (128 + number, "")
    assert [path.name for path in calls] == ["cpu_manager_state", "cpu_manager_state"]
    assert contents(state) == before


def test_a_signal_after_the_last_file_has_no_effect(
    checkpoint: Checkpoint, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signalled(path: Path, old: bytes, new: bytes) -> Path:
        backup = store_replace(path, old, new)
        if path.name == FILES[-1]:
            os.kill(os.getpid(), signal.SIGTERM)
        return backup

    store_replace = store.replace_state_file
    monkeypatch.setattr(store, "replace_state_file", signalled)
    assert answer(checkpoint(*REPAIR, "--yes"))["written"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here that is always full")
@pytest.mark.parametrize("form", ["table", "json", "yaml"])
def test_a_lost_answer_is_reported_with_the_backups(state: Path, tmp_path: Path, form: str) -> None:
    """Exit code 5 would mean that nothing was changed."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cpuctl", "checkpoint", *REPAIR, "-o", form, "--yes"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 6
    backups = sorted(path.name for path in state.glob("*.bak"))
    assert len(backups) == len(FILES)
    assert done.stderr.splitlines() == [
        "error: stdout: files were written, but the answer cannot be written: no space left on the device",
        f"hint: backups: {', '.join(f'state/{name}' for name in backups)}",
    ]


def test_the_target_of_a_link_is_repaired(checkpoint: Checkpoint, state: Path, tmp_path: Path) -> None:
    """A kubelet follows links; the backup is next to the file that was replaced."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = state / "cpu_manager_state"
    path.rename(elsewhere / "real")
    path.symlink_to(elsewhere / "real")
    old = (elsewhere / "real").read_bytes()
    document = answer(checkpoint(*REPAIR, "--yes"))
    assert document["written"]
    assert path.is_symlink()
    assert path.read_bytes() != old
    assert [each.read_bytes() for each in elsewhere.glob("real.*.bak")] == [old]
    assert checkpoint("verify", "state", *ON_36, "--pods", "running.json", "--strict").code == 0


def test_broken_and_circular_links_are_named(checkpoint: Checkpoint, state: Path) -> None:
    path = state / "cpu_manager_state"
    path.unlink()
    path.symlink_to("nowhere")
    for words in (REPAIR, (*REPAIR, "--yes"), ("dump", "state"), ("verify", "state", *ON_36)):
        refused = checkpoint(*words)
        assert (refused.code, refused.out) == (4, ""), words
        assert "cpu_manager_state is a link to nowhere, which does not exist" in refused.err
    path.unlink()
    path.symlink_to(path.name)
    refused = checkpoint(*REPAIR, "--yes")
    assert (refused.code, refused.out) == (4, "")
    assert "state/cpu_manager_state" in refused.err


UNPRIVILEGED = """
import contextlib, io, os, sys
import cpuctl.checkpoints.store
from cpuctl.cli.app import run
with contextlib.redirect_stdout(io.StringIO()):
    run(sys.argv[1:])  # imports every module while it can still be read
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(run([*sys.argv[1:], "--yes"]))
"""


def test_files_without_write_permission_stay_unchanged(state: Path, tmp_path: Path) -> None:
    """Root can write everywhere, so the test runs as another user."""
    before = contents(state)
    state.chmod(0o555)
    for path in (tmp_path.parent.parent, tmp_path.parent, tmp_path):
        path.chmod(0o755)
    for name in FILES:
        (state / name).chmod(0o644)
    try:
        done = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, "checkpoint", *REPAIR],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        state.chmod(0o755)
    assert (done.returncode, done.stdout) == (5, ""), done.stderr
    assert "cannot be written" in done.stderr
    assert contents(state) == before


LIMITED = """
import resource, sys
from cpuctl.cli.app import run
resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
sys.exit(run(sys.argv[1:]))
"""
"""Enough room for the CPU Manager's new file, but not for the Memory Manager's, which is written next."""


@pytest.mark.parametrize("where", ["in place", "into a directory", "over what is there"])
def test_if_the_second_file_cannot_be_written_the_first_one_is_not_either(
    state: Path, tmp_path: Path, where: str
) -> None:
    new = tmp_path / "new"
    new.mkdir()
    if where == "over what is there":
        (new / "cpu_manager_state").write_text("mine")
    before = contents(state), contents(new)
    words = ("--yes",) if where == "in place" else ("--write-state", "new", "--force")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "checkpoint", *REPAIR, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (5, ""), done.stderr
    assert "memory_manager_state: cannot be written: " in done.stderr
    assert (contents(state), contents(new)) == before


def test_new_files_are_not_written_over_existing_ones(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    words = ("new", *ON_36, "-T", "a=2/2,1Gi", "--write-state", "new")
    assert checkpoint(*words).code == 0
    assert {*contents(tmp_path / "new")} == {*FILES}
    assert checkpoint(*words).code == 2
