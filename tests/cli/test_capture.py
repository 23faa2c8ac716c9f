"""``cpuctl capture``: one file of a node, and how the other commands read it."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cli.output import Output, Style
from cpuctl.cli.progress import ProgressBar, counts_text
from tests.capture.node_texts import CONFIG, SECRETS, SYSTEMD_UID, UID, node_texts, written
from tests.cli.conftest import ROOT, Cpuctl, Result
from tests.machine.sysfs_writer import small_machine
from tests.support.schemas import follow_schema

PODS = ("-T", "web=2/2,1Gi")


@pytest.fixture
def root(tmp_path: Path) -> str:
    """Write the small node below a directory."""
    return str(written(node_texts(), tmp_path / "node"))


@pytest.fixture
def archive(tmp_path: Path) -> str:
    return str(tmp_path / "node7.tar.gz")


def document(result: Result) -> dict[str, Any]:
    assert result.code == 0, result
    loaded: dict[str, Any] = json.loads(result.out)
    return loaded


def follows_its_schema(answer: dict[str, Any]) -> None:
    follow_schema(answer)


def names(path: str) -> list[str]:
    with tarfile.open(path) as tar:
        return tar.getnames()


def test_the_summary(root: str, archive: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("capture", "--root", root, archive)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[1:] == [
        "",
        "AREA        ENTRIES  WHAT",
        "topology        141  8 CPUs, 2 NUMA nodes",
        "kubelet           2  3 flags, 1 state file",
        "cgroups          26  4 cgroups",
        "processes         1  5 processes, 5 threads",
        "interrupts        4  1 interrupt",
        "volumes           0",
        "",
        "- the kubelet's version is unknown",
        "- cgroup version 2",
        "",
        f"Next, to see it: cpuctl report {archive}",
    ]
    assert result.out.startswith(f"Recorded in {archive}: 174 entries\n")


def test_the_next_command_shows_the_recording(root: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    words = ("capture", "--root", root, str(tmp_path / "node 7.tar.gz"), "--force")
    command = document(cpuctl(*words, "-q", "-o", "json"))["next"]
    assert cpuctl(*words).out.endswith(f"\n\nNext, to see it: {command}\n")
    assert cpuctl(*shlex.split(command)[1:], "--exit-zero").code == 0
    assert "Next" not in cpuctl(*words, "-q").out


@pytest.mark.parametrize("words", [[], ["--anonymize"], ["--timestamp"]])
def test_the_answer_is_the_manifest_and_follows_the_schema(
    words: list[str], root: str, archive: str, cpuctl: Cpuctl
) -> None:
    answer = document(cpuctl("capture", "--root", root, archive, *words, "-o", "json"))
    follows_its_schema(answer)
    with tarfile.open(archive) as tar:
        member = tar.extractfile("MANIFEST.json")
        assert member is not None
        assert json.load(member) == answer["manifest"]
    assert answer["file"] == archive
    assert answer["manifest"]["anonymized"] is ("--anonymize" in words)
    assert ("recordedAt" in answer["manifest"]) is ("--timestamp" in words)


def test_no_secret_and_with_anonymize_no_name_is_in_the_file(
    root: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    plain, anonymous = tmp_path / "plain.tar", tmp_path / "anonymous.tar"
    assert cpuctl("capture", "--root", root, str(plain)).code == 0
    assert cpuctl("capture", "--root", root, str(anonymous), "--anonymize").code == 0
    for secret in SECRETS:
        assert secret.encode() not in plain.read_bytes()
    # A digest may contain the three characters of a name by chance.
    reported = re.sub(rb"\b[0-9a-f]{64}\b", b"", anonymous.read_bytes())
    for name in (UID, SYSTEMD_UID, "trading", "acme", "db7"):
        assert name.encode() in plain.read_bytes()
        assert name.encode() not in reported


def test_the_same_node_gives_the_same_bytes(root: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    elsewhere = str(written(node_texts(), tmp_path / "elsewhere"))
    paths = [tmp_path / "one.tar.xz", tmp_path / "two.tar.xz"]
    for path, node in zip(paths, (root, elsewhere), strict=True):
        assert cpuctl("capture", "--root", node, str(path)).code == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()


def comparable(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the sources' names and free memory."""
    nodes = [{**node, "freeBytes": None, "freeHugepages": None} for node in answer["numaNodes"]]
    return {**answer, "sources": None, "numaNodes": nodes}


def test_the_topology_of_this_host_reads_back(archive: str, cpuctl: Cpuctl) -> None:
    assert cpuctl("capture", archive, "-q").code == 0
    live = document(cpuctl("topology", "show", "-m", "live", "-o", "json"))
    again = document(cpuctl("topology", "show", "-m", archive, "-o", "json"))
    assert comparable(again) == comparable(live)


def test_the_topology_of_a_directory_reads_back(root: str, archive: str, cpuctl: Cpuctl) -> None:
    assert cpuctl("capture", "--root", root, archive).code == 0
    before = document(cpuctl("topology", "show", "-m", root, "-o", "json"))
    again = document(cpuctl("topology", "show", "-m", archive, "-o", "json"))
    assert {**again, "sources": None} == {**before, "sources": None}


def test_the_archive_holds_the_topology_that_cpuctl_reads_from_it(
    root: str, archive: str, cpuctl: Cpuctl
) -> None:
    assert cpuctl("capture", "--root", root, archive).code == 0
    with tarfile.open(archive) as tar:
        member = tar.extractfile("topology.json")
        assert member is not None
        held = json.load(member)
    follows_its_schema(held)
    again = document(cpuctl("topology", "show", "-m", archive, "-o", "json"))
    assert {**held, "sources": None} == {**again, "sources": None}


def test_a_machine_that_cannot_be_read_is_recorded_with_a_note(
    archive: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    root = str(written({"sys/devices/system/cpu/online": "many\n"}, tmp_path / "odd"))
    result = cpuctl("capture", "--root", root, archive)
    assert result.code == 0
    assert "- cpuctl cannot read this machine: capture: sys/devices/system/cpu/online: " in result.out
    assert "topology.json" not in names(archive)
    assert "sys/devices/system/cpu/online" in names(archive)


def test_an_unpacked_capture_is_as_good(root: str, archive: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    assert cpuctl("capture", "--root", root, archive).code == 0
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    packed = document(cpuctl("plan", "-m", archive, *PODS, "-o", "json"))
    unpacked = document(cpuctl("plan", "-m", str(tmp_path / "unpacked"), *PODS, "-o", "json"))
    assert {**unpacked, "sources": None} == {**packed, "sources": None}
    assert unpacked["sources"]["kubeletConfiguration"]["from"] == "capture"


# The target


def test_an_existing_file_is_kept_without_force(root: str, archive: str, cpuctl: Cpuctl) -> None:
    Path(archive).write_text("old")
    result = cpuctl("capture", "--root", root, archive)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines() == [
        f"error: {archive}: already exists",
        "hint: specify another file, or use --force",
    ]
    assert Path(archive).read_text() == "old"
    assert cpuctl("capture", "--root", root, archive, "--force").code == 0
    assert "MANIFEST.json" in names(archive)


def test_an_unknown_format_is_rejected_before_any_work(root: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("capture", "--root", root, "node.zip")
    assert result.code == 2
    assert "node.zip: unknown archive format: expected a name that ends in .tar, .tar.gz" in result.err


def test_a_device_is_never_replaced(root: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    pipe = tmp_path / "pipe.tar"
    os.mkfifo(pipe)
    result = cpuctl("capture", "--root", root, str(pipe), "--force")
    assert (result.code, "is not a regular file" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "want"),
    [("missing", "missing: is not a directory"), ("empty", "empty: no sys/ in this directory")],
)
def test_a_root_that_is_not_a_node_is_rejected(
    name: str, want: str, archive: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    (tmp_path / "empty").mkdir()
    result = cpuctl("capture", "--root", str(tmp_path / name), archive)
    assert (result.code, result.out) == (4, "")
    assert want in result.err
    assert not Path(archive).exists()


def run(*words: str, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "cpuctl", "capture", *words],
        cwd=ROOT,
        capture_output=True,
        check=False,
        **settings,
    )


def test_stdout_gets_the_archive_and_nothing_else(root: str) -> None:
    done = run("--root", root, "-")
    assert (done.returncode, done.stderr) == (0, b"")
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(done.stdout))) as tar:
        assert tar.getnames()[0] == "MANIFEST.json"


def test_stdout_takes_the_archive_or_the_answer(root: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("capture", "--root", root, "-", "-o", "json")
    assert (result.code, result.out) == (2, "")
    assert "--output: the archive itself goes to stdout" in result.err


def test_a_terminal_gets_no_archive(root: str) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "cpuctl", "capture", "--root", root, "-"],
            cwd=ROOT,
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(theirs)
        os.close(ours)
    assert (done.returncode, "error: -: stdout is a terminal" in done.stderr) == (2, True)


# What is missing


def test_what_cannot_be_read_is_listed(root: str, archive: str, cpuctl: Cpuctl) -> None:
    """Root can read every file, but not one that is too large for any node."""
    with (Path(root) / "var/lib/kubelet/memory_manager_state").open("wb") as file:
        file.truncate((32 << 20) + 1)
    result = cpuctl("capture", "--root", root, archive)
    assert result.code == 0
    assert "- var/lib/kubelet/memory_manager_state: is larger than 32 MiB" in result.out.splitlines()
    remedy = "run as root to read them all" if os.getuid() else "see MANIFEST.json"
    assert result.err == f"note: 1 file could not be read: {remedy}\n"


def test_a_long_list_is_shortened_unless_wide(root: str, archive: str, cpuctl: Cpuctl) -> None:
    drop_ins = Path(root) / "etc/kubernetes/kubelet.conf.d"
    drop_ins.mkdir(parents=True)
    (Path(root) / "proc/70/status").unlink()  # no kubelet runs: its usual drop-in directory is used
    for number in range(8):
        (drop_ins / f"{number}.conf").write_text("wrong")
    shortened = cpuctl("capture", "--root", root, archive).out
    assert "- 3 more: it is not a KubeletConfiguration (-o wide lists them)" in shortened.splitlines()
    whole = cpuctl("capture", "--root", root, archive, "--force", "-o", "wide").out
    assert whole.count("it is not a KubeletConfiguration") == 8


# Planning on a capture


def test_a_plan_takes_configuration_and_version_from_the_capture(
    root: str, archive: str, cpuctl: Cpuctl
) -> None:
    assert cpuctl("capture", "--root", root, archive).code == 0
    with_version(archive, "v1.37.1")
    answer = document(cpuctl("plan", "-m", archive, *PODS, "-o", "json"))
    assert answer["kubelet"]["cpuManagerPolicy"] == "static"
    assert answer["sources"] == {
        "machine": {"value": archive, "from": "given"},
        "kubeletVersion": {"value": "v1.37.1", "from": "capture"},
        "kubeletConfiguration": {"value": f"{archive}: var/lib/kubelet/config.yaml", "from": "capture"},
        "recordedArguments": {"value": "--max-pods=200", "from": "capture"},
        "state": {"value": f"{archive}: var/lib/kubelet/cpu_manager_state", "from": "capture"},
        "notVerified": {
            "value": "on 1.37: admission (assumed to be as in 1.36, except for known differences)",
            "from": "default",
        },
    }
    assert answer["kubelet"]["version"] == "1.37.1"


def test_options_override_the_capture(root: str, archive: str, cpuctl: Cpuctl) -> None:
    assert cpuctl("capture", "--root", root, archive).code == 0
    with_version(archive, "v9.9")
    given = ("--kubelet-config", "fixtures/kubelet/none.yaml", "--kubelet-version", "1.35")
    answer = document(cpuctl("plan", "-m", archive, *PODS, *given, "-o", "json"))
    assert (answer["kubelet"]["cpuManagerPolicy"], answer["kubelet"]["version"]) == ("none", "1.35")
    fresh = answer["sources"].pop("state")["value"]
    assert fresh.startswith("none, as on a fresh node; the state files of this node are not used")
    assert {entry["from"] for entry in answer["sources"].values()} == {"given"}


def test_a_version_that_is_not_supported_says_what_to_do(root: str, archive: str, cpuctl: Cpuctl) -> None:
    assert cpuctl("capture", "--root", root, archive).code == 0
    with_version(archive, "v1.20.0")
    result = cpuctl("plan", "-m", archive, *PODS)
    assert result.code == 4
    assert f"error: {archive}: kubelet 1.20 is not supported" in result.err
    assert "hint: specify another version with --kubelet-version" in result.err


def test_a_configuration_that_could_not_be_recorded_is_not_a_default(
    archive: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    wrong = {**small_machine(), "var/lib/kubelet/config.yaml": "kind: Config\n"}
    root = str(written(wrong, tmp_path / "wrong"))
    assert cpuctl("capture", "--root", root, archive).code == 0
    result = cpuctl("plan", "-m", archive, *PODS)
    assert (result.code, result.out) == (4, "")
    assert (
        f"error: {archive}: the kubelet's configuration is missing because it could not be read" in result.err
    )
    assert "hint: record the node as root, or specify a configuration with --kubelet-config" in result.err


def test_a_recording_without_a_kubelet_means_the_defaults(
    archive: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    root = str(written(small_machine(), tmp_path / "bare"))
    assert cpuctl("capture", "--root", root, archive).code == 0
    answer = document(cpuctl("plan", "-m", archive, *PODS, "-o", "json"))
    assert answer["sources"]["kubeletConfiguration"]["from"] == "default"
    assert answer["sources"]["kubeletVersion"]["from"] == "default"


def test_the_configuration_of_a_directory_is_used(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """For example, a mounted node image: not a capture, so without a manifest."""
    texts = {**small_machine(), "var/lib/kubelet/config.yaml": CONFIG}
    root = str(written(texts, tmp_path / "image"))
    answer = document(cpuctl("plan", "-m", root, *PODS, "-o", "json"))
    assert answer["kubelet"]["cpuManagerPolicy"] == "static"
    assert answer["sources"]["kubeletConfiguration"]["from"] == "capture"


def with_version(path: str, version: str) -> None:
    """Write another kubelet version into a capture's manifest."""
    with tarfile.open(path) as tar:
        contents = [(member, tar.extractfile(member)) for member in tar.getmembers()]
        files = [(member, file.read() if file else b"") for member, file in contents]
    (member, text), *others = files
    manifest = json.loads(text)
    manifest["kubelet"]["version"] = version
    edited = json.dumps(manifest).encode()
    member.size = len(edited)
    with tarfile.open(path, "w:gz") as tar:
        for each, data in ((member, edited), *others):
            tar.addfile(each, io.BytesIO(data))


# Waiting


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def waited(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, patience: float, quiet: bool = False
) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressBar(Style(Output.TABLE, quiet=quiet), patience=patience) as bar:
        for done in range(3):
            bar("processes", done, 3)
            time.sleep(0.01)
    return stream.getvalue()


def test_long_work_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "processes" in waited(monkeypatch, Terminal(), patience=0)


@pytest.mark.parametrize(
    ("done", "total", "rate", "text"),
    [
        (0, 0, 5.0, ""),
        (1200, 0, 5.0, "1,200"),
        (0, 10_000, 0.0, "0 of 10,000"),
        (4000, 10_000, 250.4, "4,000 of 10,000, 250/s, 0:24 left"),
        (1, 4, 0.5, "1 of 4, 0.5/s, 0:06 left"),
        (1, 10_001, 2.0, "1 of 10,001, 2.0/s, 1:23:20 left"),
    ],
)
def test_a_bar_shows_rate_and_time_left(done: int, total: int, rate: float, text: str) -> None:
    assert counts_text(done, total, rate) == text


def test_short_work_pipes_and_quiet_show_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waited(monkeypatch, Terminal(), patience=60) == ""
    assert waited(monkeypatch, io.StringIO(), patience=0) == ""
    assert waited(monkeypatch, Terminal(), patience=0, quiet=True) == ""
