"""A state file's writer, killed at every system call it makes: the file is old or new, never half."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
from pathlib import Path
from cpuctl.checkpoints.store import create_state_file, replace_state_file
from cpuctl.errors import NodeAccessError
from tests.checkpoints.kill_everywhere import PtraceRefusedError, interfere_everywhere, kill_everywhere

directory, how = Path(sys.argv[1]), sys.argv[2]
path, old, new, kubelets = directory / "cpu_manager_state", b"old" * 5000, b"new" * 7000, b"kubelet's"

def prepare():
    for left in directory.iterdir():
        left.unlink()
    if how != "create":
        path.write_bytes(old)

def work():
    try:
        replace_state_file(path, old, new) if how != "create" else create_state_file(path, new)
    except NodeAccessError:
        assert how == "interfere"

def as_the_kubelet():
    beside = directory / "kubelet"
    beside.write_bytes(kubelets)
    beside.rename(path)

def found():
    if not path.exists():
        return "none"
    return {old: "old", new: "new", kubelets: "kubelet"}.get(path.read_bytes(), "half")

runs = []
try:
    tries = (
        interfere_everywhere(prepare, work, as_the_kubelet)
        if how == "interfere"
        else kill_everywhere(prepare, work)
    )
    for run in tries:
        after = found()
        backups = [each.read_bytes() == old for each in directory.glob("*.bak")]
        # Who comes next is not kept from working by what a killed one left.
        if after in ("old", "none"):
            work()
        runs.append({"calls": run.calls, "found": after, "backups": backups, "next": found()})
except PtraceRefusedError:
    runs = None
print(json.dumps(runs))
"""
NAMES = {
    "x86_64": {74: "fsync", 82: "rename", 86: "link", 264: "rename", 265: "link", 316: "rename"},
    "aarch64": {82: "fsync", 37: "link", 38: "rename", 276: "rename"},
}


def killed_everywhere(directory: Path, how: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(directory), how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    runs: list[dict[str, Any]] | None = json.loads(done.stdout)
    if runs is None:
        pytest.skip("no process can be traced here: NOTHING WAS KILLED, the writer's atomicity is untested")
    return runs


def test_a_killed_replacement_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = killed_everywhere(tmp_path, "replace")
    found = [run["found"] for run in runs]
    old, new = found.count("old"), found.count("new") - 1
    with capsys.disabled():
        sys.stdout.write(f"\nkilled at {len(runs) - 1} places: {old} times old, {new} times new\n")
    assert len(runs) > 40
    assert found == sorted(found, reverse=True), "old, and from one place on new"
    assert set(found) == {"old", "new"}
    assert all(run["next"] == "new" for run in runs)


def test_the_backup_is_whole_before_the_new_file_is_there(tmp_path: Path) -> None:
    for run in killed_everywhere(tmp_path, "replace"):
        assert all(run["backups"])
        assert run["backups"] or run["found"] == "old"


def test_a_killed_creation_leaves_a_whole_file_or_none(tmp_path: Path) -> None:
    found = [run["found"] for run in killed_everywhere(tmp_path, "create")]
    assert set(found) == {"none", "new"}
    assert found == sorted(found, reverse=True)


@pytest.mark.skipif(platform.machine() not in NAMES, reason="numbers of system calls are not known here")
def test_everything_is_on_the_disk_before_its_name_is(tmp_path: Path) -> None:
    """Backup and its name, then the new content, then its name: a power cut loses neither."""
    last = killed_everywhere(tmp_path, "replace")[-1]
    names = [NAMES[platform.machine()].get(number) for number in last["calls"]]
    assert [name for name in names if name] == ["link", "fsync", "fsync", "rename", "fsync"]


def test_a_kubelet_that_writes_meanwhile_wins(tmp_path: Path) -> None:
    """But for the last instant before the rename: nothing can be looked at and renamed at once."""
    runs = killed_everywhere(tmp_path, "interfere")[:-1]
    found = [run["found"] for run in runs]
    lost = [each for each, run in enumerate(runs) if run["found"] == "new"]
    assert set(found) == {"kubelet", "new"}
    assert len(lost) <= 6, f"its file was overwritten at the places {lost} of {len(runs)}"
    assert found.count("kubelet") > 40
    backed_up = [bool(run["backups"]) for run in runs]
    assert backed_up == sorted(backed_up), "none before the rename, as nothing was changed; one after it"
