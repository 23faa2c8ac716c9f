"""Links in the paths of a node's files are resolved as by chroot, and never lead out of the root."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.support.state_files import KUBELET, MACHINE, write_pods, write_states

PROJECT = Path(__file__).parents[2]
ON_36 = ("--kubelet-args", KUBELET, "--kubelet-version", "1.36")
HOME = "var/lib/kubelet"
STATIC = (
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
)


def run(*words: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cpuctl", *words],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A mounted node whose kubelet's directory is on a separate disk; the host has such a disk, too."""
    path = tmp_path / "root"
    for name, text in {
        "sys/devices/system/cpu/online": "0\n",
        "sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
        "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
        "sys/devices/system/node/node0/cpulist": "0\n",
        "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 8000000 kB\n",
        "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
        "proc/meminfo": "MemTotal: 8000000 kB\n",
    }.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    (path / HOME).parent.mkdir(parents=True)
    return path


def disk(tmp_path: Path) -> Path:
    """Make a directory on the host with state files that need a repair, and return it."""
    directory = tmp_path / "disk"
    write_states(directory)
    text = (directory / "cpu_manager_state").read_text()
    (directory / "cpu_manager_state").write_text(text.replace('"checksum":', '"checksum":1'))
    return directory


def texts(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


COMMANDS = {
    "dump": ("checkpoint", "dump", "-m", "{root}"),
    "verify": ("checkpoint", "verify", "-m", "{root}", *ON_36),
    "repair": ("checkpoint", "repair", "-m", MACHINE, "--root", "{root}", *ON_36, "--yes"),
    "migrate": ("checkpoint", "migrate", "--root", "{root}", "--to", "1.37", "--yes"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", ["directory", "files"])
def test_the_hosts_files_are_never_taken_for_the_nodes(
    command: str, what: str, root: Path, tmp_path: Path
) -> None:
    """An absolute link starts at the root, where nothing is mounted yet; this is an error."""
    hosts = disk(tmp_path)
    before = texts(hosts)
    if what == "directory":
        (root / HOME).symlink_to(hosts)
    else:
        (root / HOME).mkdir()
        for name in before:
            (root / HOME / name).symlink_to(hosts / name)
    done = run(*(word.format(root=root) for word in COMMANDS[command]))
    assert (done.returncode, done.stdout) == (4, "")
    assert f"is a link to {hosts}" in done.stderr
    assert "which does not exist" in done.stderr
    assert texts(hosts) == before


@pytest.mark.parametrize("command", ["repair", "migrate"])
def test_a_link_that_leads_out_of_the_root_is_rejected(command: str, root: Path, tmp_path: Path) -> None:
    hosts = disk(tmp_path)
    before = texts(hosts)
    (root / HOME).symlink_to("../../../disk")
    done = run(*(word.format(root=root) for word in COMMANDS[command]))
    assert (done.returncode, done.stdout) == (4, "")
    assert f"/{HOME}: is a link to ../../../disk, which points outside the root" in done.stderr
    assert texts(hosts) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_links_below_the_root_are_followed(command: str, root: Path, tmp_path: Path) -> None:
    hosts = disk(tmp_path) if command != "migrate" else write_states(tmp_path / "disk")
    mounted = root / str(hosts).lstrip("/")
    shutil.copytree(hosts, mounted)
    before = texts(hosts)
    (root / HOME).symlink_to(hosts)
    done = run(*(word.format(root=root) for word in COMMANDS[command]), "-o", "json")
    assert done.returncode == (3 if command == "verify" else 0), done.stderr
    assert done.stdout
    assert texts(hosts) == before
    if command in ("repair", "migrate"):
        assert list(mounted.glob("cpu_manager_state.*.bak"))


def test_a_directory_repeatedly_replaced_by_a_link_is_never_left(root: Path, tmp_path: Path) -> None:
    """Even if it changes between check and write: the file is opened relative to the checked descriptor."""
    hosts = disk(tmp_path)
    before = texts(hosts)
    write_states(root / HOME)
    done = Event()

    def swap() -> None:
        while not done.is_set():
            (root / HOME).rename(root / "kept")
            (root / HOME).symlink_to("../../../disk")
            (root / HOME).unlink()
            (root / "kept").rename(root / HOME)

    thread = Thread(target=swap)
    thread.start()
    try:
        for minor in (37, 36, 37, 36, 37, 36):
            words = ("--root", str(root), "--to", f"1.{minor}", "--yes")
            run("checkpoint", "migrate", *words)
    finally:
        done.set()
        thread.join()
    assert texts(hosts) == before


def test_a_linked_configuration_is_read(root: Path, tmp_path: Path) -> None:
    (root / HOME).mkdir()
    (root / "opt").mkdir()
    (root / "opt/kubelet.yaml").write_text(STATIC)
    (root / HOME / "config.yaml").symlink_to("/opt/kubelet.yaml")
    shown = run("config", "show", "-m", str(root), "-o", "json")
    assert json.loads(shown.stdout)["sources"]["kubeletConfiguration"]["from"] == "capture"
    (root / "opt/kubelet.yaml").unlink()
    for words in (("config", "show"), ("plan", "-T", "a=1/1"), ("config", "check")):
        gone = run(*words, "-m", str(root))
        assert (gone.returncode, gone.stdout) == (4, ""), words
        assert f"/{HOME}/config.yaml is a link to /opt/kubelet.yaml, which does not exist" in gone.stderr
        assert "--kubelet-config" in gone.stderr


def test_new_state_files_are_for_the_node_below_the_root(root: Path) -> None:
    (root / HOME).mkdir()
    (root / HOME / "config.yaml").write_text(STATIC.replace("'0'", "'0-63'"))
    done = run("checkpoint", "new", "--root", str(root), "--kubelet-version", "1.36", "-o", "json")
    assert (done.returncode, done.stderr) == (3, "")
    answer = json.loads(done.stdout)
    assert answer["sources"]["machine"]["value"] == str(root)
    assert "reject" in json.dumps(answer["files"])


def fifo(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize(
    "words",
    [
        ("checkpoint", "dump", "{root}/" + HOME),
        ("checkpoint", "dump", "-m", "{root}"),
        ("checkpoint", "diff", "{root}/" + HOME, "{root}/" + HOME),
        ("checkpoint", "migrate", "{root}/" + HOME, "--to", "1.37"),
        ("checkpoint", "migrate", "--root", "{root}", "--to", "1.37", "--yes"),
        ("checkpoint", "repair", "{root}/" + HOME, "-m", MACHINE, *ON_36),
        ("checkpoint", "verify", "{root}/" + HOME, "-m", MACHINE, *ON_36),
        ("checkpoint", "verify", "-m", "{root}", *ON_36),
        ("plan", "-m", MACHINE, "-T", "a=1/1", "--state", "{root}/" + HOME),
        ("resize", "-m", MACHINE, "-T", "a=1/1", "--set", "a:cpu=2", "--state", "{root}/" + HOME),
    ],
    ids=lambda words: " ".join(words[:3]),
)
@pytest.mark.parametrize("name", ["cpu_manager_state", "memory_manager_state"])
def test_a_pipe_instead_of_a_state_file_is_rejected(words: tuple[str, ...], name: str, root: Path) -> None:
    write_states(root / HOME)
    (root / HOME / name).unlink()
    fifo(root / HOME / name)
    done = run(*(word.format(root=root) for word in words), seconds=30)
    assert (done.returncode, done.stdout) == (4, ""), done.stderr
    assert re.search(
        f"{HOME}/{name}: (expected a regular file, found a pipe|is not a regular file)", done.stderr
    )


def test_a_pipe_instead_of_the_configuration_is_rejected(root: Path) -> None:
    fifo(root / HOME / "config.yaml")
    done = run("config", "show", "-m", str(root), seconds=30)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"/{HOME}/config.yaml: expected a regular file, found a pipe" in done.stderr


def test_pipes_among_manifests_and_drop_ins_do_not_block(tmp_path: Path) -> None:
    pods = tmp_path / "pods"
    shutil.copytree(PROJECT / "fixtures/pods", pods)
    fifo(pods / "a.yaml")
    done = run("plan", "-m", MACHINE, "-f", str(pods), "--exit-zero", seconds=30)
    assert done.returncode == 0
    fifo(tmp_path / "drop-ins/10.conf")
    words = ("config", "show", "-m", MACHINE, "--config-dir", str(tmp_path / "drop-ins"))
    refused = run(*words, seconds=30)
    assert refused.returncode == 4
    assert "10.conf: expected a regular file, found a pipe" in refused.stderr


@contextmanager
def filled(path: Path, text: str) -> Iterator[Path]:
    os.mkfifo(path)
    thread = Thread(target=path.write_text, args=(text,))
    thread.start()
    yield path
    thread.join()


def test_a_pipe_given_as_argument_is_read(tmp_path: Path) -> None:
    state = (write_states(tmp_path / "state") / "cpu_manager_state").read_text()
    with filled(tmp_path / "pipe", state) as pipe:
        assert run("checkpoint", "dump", str(pipe), seconds=30).returncode == 0
    with filled(tmp_path / "config", STATIC) as pipe:
        words = ("config", "show", "-m", MACHINE, "--kubelet-config", str(pipe))
        assert run(*words, seconds=30).returncode == 0


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize(
    "words",
    [
        ("plan", "-m", MACHINE, "-f"),
        ("plan", "-m", MACHINE, "-T", "a=1/1", "--kubelet-config"),
        ("checkpoint", "dump"),
        ("plan", "-m", MACHINE, "-T", "a=1/1", "--state"),
    ],
    ids=lambda words: words[-1],
)
def test_an_endless_device_is_not_read(words: tuple[str, ...], device: str) -> None:
    done = run(*words, device, seconds=20)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"{device}: is a device, expected a file" in done.stderr


def test_standard_input_from_an_endless_device_is_not_read() -> None:
    with Path("/dev/zero").open("rb") as zero:
        done = subprocess.run(
            [sys.executable, "-m", "cpuctl", "plan", "-m", MACHINE, "-f", "-"],
            cwd=PROJECT,
            stdin=zero,
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
    assert done.returncode == 4
    assert "<stdin>: is a device, expected a file" in done.stderr


def test_dev_null_is_read_as_an_empty_file() -> None:
    done = run("plan", "-m", MACHINE, "-f", "/dev/null")
    assert "no pod" in done.stderr or "empty" in done.stderr
    assert done.returncode == 4


# No configuration


def test_nothing_is_written_without_a_configuration(root: Path, tmp_path: Path) -> None:
    write_states(root / HOME)
    write_pods(tmp_path / "running.json")
    before = texts(root / HOME)
    place = f"{root}: /{HOME}/config.yaml"
    for words in (
        ("checkpoint", "repair", "--root", str(root), "--kubelet-version", "1.36", "--yes"),
        (
            "checkpoint",
            "repair",
            "-m",
            str(root),
            "--kubelet-version",
            "1.36",
            "--write-state",
            str(tmp_path),
        ),
        ("checkpoint", "migrate", "-m", str(root), "--to", "1.36", "--write-state", str(tmp_path)),
        ("checkpoint", "new", "-m", str(root), "--kubelet-version", "1.36", "--write-state", str(tmp_path)),
        ("plan", "-m", str(root), "-T", "a=1/1", "--write-state", str(tmp_path)),
    ):
        done = run(*words)
        assert (done.returncode, done.stdout) == (4, ""), done.stderr
        assert f"error: {place}: the kubelet configuration is unknown" in done.stderr
        assert "--kubelet-config" in done.stderr
        assert texts(root / HOME) == before
        assert not list(tmp_path.glob("*_state"))


def test_no_assignment_is_released_with_only_a_machine_description(root: Path, tmp_path: Path) -> None:
    before = texts(write_states(root / HOME))
    state, on_36 = str(root / HOME), ("-m", MACHINE, "--kubelet-version", "1.36")
    for words in (
        ("repair", state, *on_36, "--yes"),
        ("repair", "--root", str(root), *on_36, "--yes"),
        ("repair", state, *on_36, "--write-state", str(tmp_path)),
        ("migrate", state, "-m", MACHINE, "--to", "1.37", "--yes"),
    ):
        done = run("checkpoint", *words)
        assert (done.returncode, done.stdout) == (4, ""), words
        assert f"error: {MACHINE}: the kubelet configuration is unknown" in done.stderr
        assert "--kubelet-config" in done.stderr
        assert texts(root / HOME) == before
    assert run("checkpoint", "repair", state, *on_36).returncode == 0, "a dry run is possible"


def test_no_control_group_is_changed_without_a_configuration(root: Path) -> None:
    """This is checked first, so that no real hierarchy is needed here."""
    (root / "sys/fs/cgroup").mkdir(parents=True)
    done = run("cgroups", "apply", "--root", str(root), "a/b/c=0", "--yes")
    assert (done.returncode, done.stdout) == (4, "")
    assert f"error: {root}: /{HOME}/config.yaml: the kubelet configuration is unknown" in done.stderr


def test_assumptions_are_reported(root: Path) -> None:
    (root / HOME).mkdir()
    for words in (
        ("plan", "-T", "a=1/1"),
        ("config", "show"),
        ("checkpoint", "verify", "--kubelet-version", "1.36"),
    ):
        done = run(*words, "-m", str(root))
        assert f"/{HOME}/config.yaml is not in {root}" in done.stderr, words
        assert "--kubelet-config" in done.stderr
