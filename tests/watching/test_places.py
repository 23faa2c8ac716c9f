"""Real inotify events for directories made by the tests."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpuctl.watching.places import Followed, Notice, Notices, Places


@pytest.fixture
def notices() -> Iterator[Notices]:
    made = Notices()
    yield made
    made.close()


def read(notices: Notices) -> list[tuple[str, bool]]:
    return [(each.name, each.made_directory) for each in notices.read()]


def test_changes_in_a_directory_are_reported(notices: Notices, tmp_path: Path) -> None:
    notices.add(str(tmp_path))
    assert read(notices) == []
    (tmp_path / "made").mkdir()
    assert select.select([notices], [], [], 5)[0]
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").rename(tmp_path / "renamed")
    (tmp_path / "renamed").unlink()
    names = dict.fromkeys(read(notices))
    assert list(names) == [("made", True), ("file", False), ("renamed", False)]
    assert all(each.directory == str(tmp_path) for each in notices.read())


def test_a_removed_directory_is_reported_and_forgotten(notices: Notices, tmp_path: Path) -> None:
    directory = tmp_path / "goes"
    directory.mkdir()
    notices.add(str(directory))
    directory.rmdir()
    assert Notice(str(directory), "") in list(notices.read())
    directory.mkdir()
    (directory / "unseen").mkdir()
    assert read(notices) == []


def test_other_directories_are_no_longer_watched(notices: Notices, tmp_path: Path) -> None:
    for name in ("kept", "left"):
        (tmp_path / name).mkdir()
        notices.add(str(tmp_path / name))
    notices.keep([str(tmp_path / "kept")])
    for name in ("kept", "left"):
        (tmp_path / name / "file").touch()
    assert {each.directory for each in notices.read()} == {str(tmp_path / "kept")}


def test_a_missing_directory_is_an_error(notices: Notices, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        notices.add(str(tmp_path / "nowhere"))


def test_a_queue_overflow_is_reported(notices: Notices, tmp_path: Path) -> None:
    """More than /proc/sys/fs/inotify/max_queued_events."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    notices.add(str(tmp_path))
    one, other = tmp_path / "one", tmp_path / "other"
    one.touch()
    for _ in range(most // 4 + 10):  # two events each way; the kernel merges identical ones
        os.rename(one, other)  # noqa: PTH104  # thousands
        os.rename(other, one)  # noqa: PTH104
    assert Notice("", "") in list(notices.read())


LIMITED = """
import sys
from pathlib import Path
from cpuctl.watching.places import Followed, Places
for name, number in (("instances", sys.argv[1]), ("watches", sys.argv[2])):
    Path(f"/proc/sys/user/max_inotify_{name}").write_text(number)
places = Places(Path(sys.argv[3]), lambda path: path)
places.follow(Followed(directories=("a", "b")))
print(places.problem)
Path("/proc/sys/user/max_inotify_watches").write_text("100")
places.follow(Followed(directories=("a", "b")))
print(places.problem)
"""


@pytest.mark.parametrize(
    ("instances", "watches", "stated"),
    [
        ("0", "1", ["the limit fs.inotify.max_user_instances is reached"] * 2),
        ("1", "1", ["the limit fs.inotify.max_user_watches is reached", ""]),
    ],
)
def test_limits_of_the_kernel_are_reported_and_retried(
    instances: str, watches: str, stated: list[str], tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", sys.executable, "-c", LIMITED, instances, watches, tmp_path],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.splitlines(), done.stderr) == (stated, "")


GROUPS = "sys/fs/cgroup"
POD = f"{GROUPS}/kubepods/pod11111111-1111-4111-8111-111111111111"


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    for directory in ("var/lib/kubelet", "var/log/containers", f"{POD}/{'5e' * 32}"):
        (tmp_path / directory).mkdir(parents=True)
    made = Places(tmp_path, lambda path: path)
    made.follow(
        Followed(
            files=("var/lib/kubelet/cpu_manager_state", "var/lib/kubelet/nowhere/else"),
            directories=("var/log/containers",),
            groups=(f"{GROUPS}/kubepods", POD, f"{POD}/{'5e' * 32}"),
            above=(GROUPS,),
        )
    )
    assert made.problem == ""
    yield made
    made.close()


def test_only_what_an_audit_reads_matters(places: Places, tmp_path: Path) -> None:
    state = tmp_path / "var/lib/kubelet/cpu_manager_state"
    container = tmp_path / POD / ("5e" * 32)
    for path in (state.with_name("other"), container / "cgroup.procs", container / "cpu.weight"):
        path.write_text("1")
        assert not places.read(), path
    for path in (state, container / "cpuset.cpus", tmp_path / POD / "cpu.max"):
        path.write_text("1")
        assert places.read(), path
    state.with_name("other").replace(state)
    assert places.read()
    (tmp_path / "var/log/containers/web.log").symlink_to("nowhere")
    assert places.read()
    (tmp_path / GROUPS / "system.slice").mkdir()
    assert not places.read()
    (tmp_path / GROUPS / "kubepods.slice").mkdir()
    assert places.read()


def test_new_groups_are_watched_immediately(places: Places, tmp_path: Path) -> None:
    pod = tmp_path / GROUPS / "kubepods/pod22222222-2222-4222-8222-222222222222"
    (pod / ("6f" * 32)).mkdir(parents=True)  # before events are read
    assert places.read()
    (pod / ("6f" * 32) / "cpuset.cpus").write_text("1")
    assert places.read()
    (pod / ("7a" * 32)).mkdir()
    assert places.read()
    (pod / ("7a" * 32) / "cpu.max").write_text("1")
    assert places.read()
    (pod / ("7a" * 32) / "init.scope").mkdir()
    assert not places.read()
    (pod / ("7a" * 32) / "init.scope" / "cpuset.cpus").write_text("1")
    assert not places.read()
