"""The writer of state files, killed at every system call it makes: a file is old or new, never half."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from cpuctl.checkpoints.store import replace_state_file
from cpuctl.operations.checkpoint.changes import FileChange, Target, apply_changes
from cpuctl.errors import NodeAccessError
from tests.checkpoints.kill_everywhere import PtraceRefusedError, interfere_everywhere, kill_everywhere

directory, how = Path(sys.argv[1]), sys.argv[2]
path, old, new, kubelets = directory / "cpu_manager_state", b"old" * 5000, b"new" * 7000, b"kubelet's"
second = directory / "memory_manager_state"

def prepare():
    for left in directory.iterdir():
        left.unlink()
    path.write_bytes(old)
    if how == "both":
        second.write_bytes(old)

def work():
    try:
        (both if how == "both" else replace)()
    except NodeAccessError:
        assert how == "interfere"

def replace():
    replace_state_file(path, old, new)

def both():
    states = [SimpleNamespace(path=each, content=each.read_bytes()) for each in (path, second)]
    changes = [
        FileChange(file_name=each.path.name, state=each, text=new.decode())
        for each in states
        if vars(each).setdefault("text", each.content.decode()) != new.decode()
    ]
    apply_changes(changes, Target(yes=True, force_running=True))

def as_the_kubelet():
    beside = directory / "kubelet"
    beside.write_bytes(kubelets)
    beside.rename(path)

def found(path=path):
    if not path.exists():
        return "none"
    return {old: "old", new: "new", kubelets: "kubelet"}.get(path.read_bytes(), "half")

runs = []
try:
    prepare()
    work()  # once, so that no import is among the system calls
    tries = (
        interfere_everywhere(prepare, work, as_the_kubelet)
        if how == "interfere"
        else kill_everywhere(prepare, work, step=5 if how == "both" else 1)
    )
    for run in tries:
        after, beside = found(), found(second)
        backups = {each.name.split(".")[0]: each.read_bytes() == old for each in directory.glob("*.bak")}
        # Who comes next is not kept from working by what a killed one left.
        if "old" in (after, beside) or after == "none":
            work()
        runs.append(
            {
                "calls": run.calls,
                "found": after,
                "second": beside,
                "backups": backups,
                "next": [found(), found(second)],
            }
        )
except PtraceRefusedError:
    runs = None
print(json.dumps(runs))
"""
NAMES = {
    "x86_64": {74: "fsync", 82: "rename", 86: "link", 264: "rename", 265: "link", 316: "rename"},
    "aarch64": {82: "fsync", 37: "link", 38: "rename", 276: "rename"},
}
Killed = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Return a function that disturbs a writer everywhere, once for all tests, and finally not at all."""

    @cache
    def everywhere(how: str) -> list[dict[str, Any]]:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path_factory.mktemp(how)), how],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        runs: list[dict[str, Any]] | None = json.loads(done.stdout)
        if runs is None:
            pytest.skip(
                "no process can be traced here: NOTHING WAS KILLED, the writer's atomicity is untested"
            )
        return runs

    return everywhere


def tell(capsys: pytest.CaptureFixture[str], what: str, runs: list[dict[str, Any]]) -> None:
    old, new = ([run["found"] for run in runs[:-1]].count(word) for word in ("old", "new"))
    with capsys.disabled():
        sys.stdout.write(f"\n{what}: killed at {len(runs) - 1} places: {old} times old, {new} times new\n")


def test_a_killed_replacement_leaves_the_old_file_or_the_new_one(
    killed: Killed, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = killed("replace")
    tell(capsys, "one file", runs)
    found = [run["found"] for run in runs]
    assert len(runs) > 40
    assert found == sorted(found, reverse=True), "old, and from one place on new"
    assert set(found) == {"old", "new"}
    assert all(run["next"][0] == "new" for run in runs)


def test_the_backup_is_complete_before_the_new_file_exists(killed: Killed) -> None:
    for run in killed("replace"):
        assert all(run["backups"].values())
        assert run["backups"] or run["found"] == "old"


def test_of_two_files_each_is_old_or_new_with_its_backup(
    killed: Killed, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kill between them leaves only the first one new; the next run does the rest."""
    runs = killed("both")
    tell(capsys, "two files", runs)
    found = list(dict.fromkeys((run["found"], run["second"]) for run in runs))
    assert found == [("old", "old"), ("new", "old"), ("new", "new")]
    for run in runs:
        assert all(run["backups"].values())
        assert run["found"] == "old" or "cpu_manager_state" in run["backups"]
        assert run["second"] == "old" or "memory_manager_state" in run["backups"]
        assert run["next"] == ["new", "new"]


@pytest.mark.skipif(platform.machine() not in NAMES, reason="numbers of system calls are not known here")
def test_content_is_on_disk_before_its_name(killed: Killed) -> None:
    """Backup and its name, then the new content, then its name: a power cut loses neither."""
    last = killed("replace")[-1]
    names = [NAMES[platform.machine()].get(number) for number in last["calls"]]
    assert [name for name in names if name] == ["link", "fsync", "fsync", "rename", "fsync"]


def test_a_kubelet_that_writes_meanwhile_wins(killed: Killed) -> None:
    """Except for the last instant before the rename: checking and renaming cannot be done at once."""
    runs = killed("interfere")[:-1]
    found = [run["found"] for run in runs]
    lost = [each for each, run in enumerate(runs) if run["found"] == "new"]
    assert set(found) == {"kubelet", "new"}
    assert len(lost) <= 6, f"its file was overwritten at the places {lost} of {len(runs)}"
    assert found.count("kubelet") > 40
    backed_up = [bool(run["backups"]) for run in runs]
    assert backed_up == sorted(backed_up), "none before the rename, as nothing was changed; one after it"
