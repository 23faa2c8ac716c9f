"""Full and read-only disks, and limits on file sizes: existing files stay, and nothing is added."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robustness.forks import OWN_MOUNTS, PROJECT, Circumstances, Forks, without_mounts

MACHINE = "-m fixtures/machines/2s-2numa-32cpu.tar.xz"
STATIC = "--kubelet-config fixtures/kubelet/static.yaml"
NODE = "fixtures/nodes/v2-2-numa"
PODS = "-f fixtures/pods"
ON_36 = "--kubelet-version 1.36"
WRITING = {
    "node.tar": "capture -q --force --root {root} {disk}/node.tar",
    "plan.svg": f"plan -q {MACHINE} {STATIC} {PODS} --force --svg {{disk}}/plan.svg",
    "plan.html": f"plan -q {MACHINE} {STATIC} {PODS} --force --html {{disk}}/plan.html",
    "topology.svg": f"topology -q {MACHINE} --force --svg {{disk}}/topology.svg",
    "replay.svg": "replay -q fixtures/timelines/case-a.yaml --force --svg {disk}/replay.svg",
    "planned": f"plan -q {MACHINE} {STATIC} {PODS} --force --write-state {{disk}}",
    "new": f"checkpoint new -q {MACHINE} {STATIC} {ON_36} --force --write-state {{disk}}",
    "migrated": f"checkpoint migrate -q {NODE}/node.tar.xz --to 1.37 --force --write-state {{disk}}",
    "repaired": f"checkpoint repair -q {NODE}/node.tar.xz {ON_36} --pods {NODE}/pods.json"
    " --force --write-state {disk}",
    "in place": f"checkpoint repair -q {{disk}} {MACHINE} {STATIC} {ON_36} --yes",
}
"""A command line for everything that writes files, by what it writes."""

STATE = '{"policyName":"static","defaultCpuSet":"0-1,4-31","entries":{"web":{"app":"2-3"}},"checksum":1}'
"""The checksum has to be repaired."""
REASONS = {
    "full": "no space left on the device",
    "read-only": "the file system is read-only",
}


@pytest.fixture(scope="module")
def own_mounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """A private mount namespace."""
    if reason := without_mounts(tmp_path_factory.mktemp("mount")):
        pytest.skip(reason)
    forks = Forks(*OWN_MOUNTS)
    yield forks
    forks.end()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a node with something to record."""
    path = tmp_path_factory.mktemp("root")
    (path / "sys").mkdir()
    (path / "proc").mkdir()
    (path / "proc/cpuinfo").write_text("processor: 0\n" * 1000)
    return path


@pytest.fixture
def disk(own_mounts: Forks, tmp_path: Path) -> Path:
    """A disk of 16 pages, with an older file under every name."""
    path = tmp_path / "disk"
    path.mkdir()
    own_mounts.shell(f"mount -t tmpfs -o size=64k none {shlex.quote(str(path))}")
    names = [name for name in WRITING if "." in name] + ["memory_manager_state"]
    for name in names:
        own_mounts.shell(f"echo mine > {shlex.quote(str(path / name))}")
    own_mounts.shell(f"echo '{STATE}' > {shlex.quote(str(path / 'cpu_manager_state'))}")
    return path


def spoil(forks: Forks, disk: Path, how: str) -> None:
    quoted = shlex.quote(str(disk))
    if how == "full":
        forks.shell(f"cat /dev/zero > {quoted}/filler 2>/dev/null; test -s {quoted}/filler")
    else:
        forks.shell(f"mount -o remount,ro {quoted}")


@pytest.mark.parametrize("how", REASONS)
@pytest.mark.parametrize("what", WRITING)
def test_existing_files_stay(what: str, how: str, own_mounts: Forks, disk: Path, root: Path) -> None:
    """The error names the file and the reason; no half-written or temporary file is left."""
    if what == "in place":
        own_mounts.shell(f"rm {shlex.quote(str(disk / 'memory_manager_state'))}")
    spoil(own_mounts, disk, how)
    before = own_mounts.files(disk)
    done = own_mounts.run(shlex.split(WRITING[what].format(disk=disk, root=root)))
    assert (done.code, done.out) == (5, ""), done.err
    name = what if "." in what else "cpu_manager_state"
    assert f"error: {disk / name}: cannot be written: {REASONS[how]}" in done.err
    assert own_mounts.files(disk) == before


@pytest.mark.parametrize("how", REASONS)
def test_the_hint_suggests_another_file(how: str, own_mounts: Forks, disk: Path) -> None:
    spoil(own_mounts, disk, how)
    done = own_mounts.run(shlex.split(WRITING["topology.svg"].format(disk=disk)))
    assert "hint: " in done.err
    assert "use a file elsewhere" in done.err


@pytest.mark.parametrize("what", [name for name in WRITING if name != "in place"])
def test_a_file_size_limit_leaves_the_old_file(
    what: str, own_mounts: Forks, root: Path, tmp_path: Path
) -> None:
    name = what if "." in what else "cpu_manager_state"
    (tmp_path / name).write_text("mine")
    words = shlex.split(WRITING[what].format(disk=tmp_path, root=root))
    done = own_mounts.run(words, Circumstances(largest_file=16))
    assert done.code == 5, done.err
    assert f"{tmp_path / name}: cannot be written: file too large (ulimit -f)" in done.err
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == {name: "mine"}


ANSWERS = (
    "schema plan",
    "completion bash",
    "checkpoint versions",
    f"checkpoint dump {NODE}/node.tar.xz",
    f"config reserve {MACHINE} {STATIC} --snippet",
    f"audit -m {NODE}/node.tar.xz -o plan",
    f"pods lint {PODS} -o jsonl",
    f"plan {MACHINE} {PODS} -o prom",
    "replay fixtures/timelines/case-a.yaml -o jsonl",
    "replay --new",
    "topology map -m synthetic:1s1n4c1t",
    "topology -m synthetic:1s1n4c1t -o yaml",
    "capture -q --root {root} -",
)


@pytest.mark.parametrize("line", ANSWERS)
def test_an_answer_that_cannot_be_written_is_a_failure(line: str, own_mounts: Forks, root: Path) -> None:
    done = own_mounts.run(shlex.split(line.format(root=root)), Circumstances(stdout="/dev/full"))
    assert done.code == 5
    assert "error: stdout: the answer cannot be written: no space left on the device" in done.err


def test_commands_run_in_the_project() -> None:
    assert (PROJECT / NODE / "node.tar.xz").is_file()
