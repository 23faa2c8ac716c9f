"""``cpuctl watch`` on nodes whose files change while it runs, with real notifications from the kernel."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast, get_args

import pytest

from cpuctl.answers.watch import WatchEvent, WatchEventName
from cpuctl.cli.process import watchdog_seconds
from cpuctl.cli.render.watch_lines import line
from cpuctl.cpuset import CPUSet
from cpuctl.pods.model import QosClass
from cpuctl.records import replace
from tests.audit.node_tree import PODS, NodeTree, clean_node, with_kubelet_files
from tests.cli.conftest import ROOT, Cpuctl
from tests.cli.test_audit import faulty
from tests.cli.test_audit_metrics import read as read_metrics
from tests.support.watched import watching

STATE = "var/lib/kubelet/cpu_manager_state"
QUICK = ("--every", "200ms", "--settle", "500ms", "--kubelet-version", "1.36")
CACHE = "33333333-aaaa-bbbb-cccc-000000000003"
WORKER = "c3" * 32


class OnDisk:
    """A node whose current files are in a directory."""

    def __init__(self, node: NodeTree, root: Path) -> None:
        self.root = root
        self.node = node
        self._files: dict[str, str] = {}
        self.write()
        # An hour ago, so that nothing is still in transition.
        os.utime(root / STATE, times=(0, 0))
        (root / "pods.json").write_text(json.dumps(PODS))

    def write(self) -> None:
        """Write what has changed: state files as kubelets do, all other files in place."""
        files = dict(with_kubelet_files(self.node).files)
        config = "var/lib/kubelet/config.yaml"
        files[config] += "cpuManagerReconcilePeriod: 1s\n"
        for path, text in files.items():
            if self._files.get(path) != text:
                self.put(path, text)
        self._files = files

    def put(self, path: str, text: str) -> None:
        """Write one file."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.startswith("var/lib/kubelet"):
            alongside = target.with_name(f".{target.name}123")
            alongside.write_text(text)
            alongside.replace(target)
        else:
            target.write_text(text)

    def remove(self, path: str) -> None:
        """Remove a directory and everything in it, from the node as well."""
        shutil.rmtree(self.root / path)
        self._files = {each: text for each, text in self._files.items() if not each.startswith(f"{path}/")}
        self.node.files = {
            each: text for each, text in self.node.files.items() if not each.startswith(f"{path}/")
        }

    @property
    def words(self) -> tuple[str, ...]:
        return ("--root", str(self.root), "--pods", str(self.root / "pods.json"), *QUICK)


@pytest.fixture
def disk(tmp_path: Path) -> OnDisk:
    return OnDisk(clean_node(), tmp_path / "node")


STORY = [
    "  watch      watching 3 containers of 2 pods, exclusive CPUs 1,5, shared pool 0,2-4,6-7",
    (
        "  error      shop/database-0/server: 1 thread of 2 may run on other CPUs: 91 (writer); "
        "possible cause: systemd's AllowedCPUs= or CPUAffinity=, whose values are not recorded "
        "[threads-outside]"
    ),
    (
        "  warning    IRQ 24 (eth0): the interrupt is delivered to exclusive CPU 5 "
        "of shop/database-0 [interrupt]"
    ),
    "  resolved   shop/database-0/server: threads-outside resolved",
    "  resolved   IRQ 24 (eth0): interrupt resolved",
    "  state      /var/lib/kubelet/cpu_manager_state written: shared pool 0,3-4,7, before 0,2-4,6-7",
    "  pod        shop/cache-0 added: exclusive CPUs 2,6 (worker)",
    "  pod        shop/cache-0 removed; it had exclusive CPUs 2,6 (worker)",
    "  state      /var/lib/kubelet/cpu_manager_state written: shared pool 0,2-4,6-7, before 0,3-4,7",
]


def test_every_change_is_reported_once(disk: OnDisk) -> None:
    node = disk.node
    with watching(*disk.words) as watched:
        begun = watched.named("Watching")
        assert (
            begun["message"] == "watching 3 containers of 2 pods, exclusive CPUs 1,5, shared pool 0,2-4,6-7"
        )

        node.process(91, "writer", node.server, "2", mems="0", of=90)
        disk.write()
        stray = watched.found("threads-outside")
        assert (stray["finding"]["detected"], stray["finding"]["severity"]) == ("2", "error")
        assert stray["finding"]["fix"] == "taskset -cp 1,5 91"

        node.interrupt(24, "eth0", "0-7", "5")
        disk.write()
        assert watched.found("interrupt")["message"].startswith(
            "IRQ 24 (eth0): the interrupt is delivered to exclusive CPU 5"
        )

        node.process(91, "writer", node.server, "5", mems="0", of=90)
        node.interrupt(24, "eth0", "0,4", "4")
        disk.write()
        for _ in range(2):
            watched.named("Resolved")

        add_pod(disk)
        pod = watched.named("PodAdded")["pod"]
        assert pod["exclusive"] == [{"container": "worker", "cpus": "2,6"}]
        (written,) = (each for each in watched.events if each["event"] == "StateFileWritten")
        assert written["message"].endswith("written: shared pool 0,3-4,7, before 0,2-4,6-7")

        remove_pod(disk)
        went = watched.named("PodRemoved")
        assert went["message"] == "shop/cache-0 removed; it had exclusive CPUs 2,6 (worker)"
        watched.until(lambda event: event["event"] == "StateFileWritten")
        assert watched.end(signal.SIGTERM) == 0
    assert sorted(STORY) == sorted(message(line(cast("WatchEvent", each))) for each in watched.events)
    assert sorted(watched.reported) == sorted(
        [
            "Watching",
            *("Found threads-outside", "Found interrupt"),
            *("Resolved threads-outside", "Resolved interrupt"),
            *("PodAdded", "PodRemoved", "StateFileWritten", "StateFileWritten"),
        ]
    )


def message(line: str) -> str:
    """Return a line without its time."""
    moment, rest = line[:24], line[24:]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", moment)
    return rest


def test_every_event_is_explained() -> None:
    text = (ROOT / "docs" / "watch.md").read_text()
    explained = [
        name for row in re.findall(r"^\| (`[A-Z].*?) \|", text, re.MULTILINE) for name in row.split(", ")
    ]
    assert explained == [f"`{name}`" for name in get_args(WatchEventName)]


def add_pod(disk: OnDisk, *, named: bool = True) -> None:
    """Add a pod with two exclusive CPUs, as kubelet and runtime do."""
    node = disk.node
    if named:
        name(disk)
    entries = {**node.state.entries, CACHE: {"worker": CPUSet.parse("2,6")}}
    node.state = replace_state(node, entries, "0,3-4,7")
    node.cpuset(node.front, cpus="0,3-4,7")
    node.process(95, "nginx", node.front, "0,3-4,7")
    node.cpuset(node.pod(CACHE, QosClass.GUARANTEED))
    group = node.container(CACHE, WORKER)
    node.cpuset(group, cpus="2,6", mems="0")
    node.process(99, "worker", group, "2,6", mems="0")
    disk.write()


def name(disk: OnDisk) -> None:
    """Link to the pod's log, as the kubelet does."""
    logs = disk.root / "var/log/containers"
    logs.mkdir(parents=True, exist_ok=True)
    (logs / f"cache-0_shop_worker-{WORKER}.log").symlink_to("nowhere")


def remove_pod(disk: OnDisk) -> None:
    """Remove the pod: its group first, and its CPUs a moment later."""
    node = disk.node
    disk.remove(f"sys/fs/cgroup{node.pod(CACHE, QosClass.GUARANTEED)}")
    disk.remove("proc/99")
    entries = {uid: each for uid, each in node.state.entries.items() if uid != CACHE}
    node.state = replace_state(node, entries, "0,2-4,6-7")
    node.cpuset(node.front, cpus="0,2-4,6-7")
    node.process(95, "nginx", node.front, "0,2-4,6-7")
    disk.write()


def replace_state(node: NodeTree, entries: Any, pool: str) -> Any:
    return replace(node.state, entries=entries, default_cpu_set=CPUSet.parse(pool))


def test_a_state_file_is_read_when_it_is_complete(disk: OnDisk) -> None:
    """First half of it, then all; then an invalid one, and finally none."""
    with watching(*disk.words) as watched:
        watched.named("Watching")
        whole = (disk.root / STATE).read_text()
        other = whole.replace("0,2-4,6-7", "0,2-4,6")
        with (disk.root / STATE).open("w") as file:
            file.write(whole[:40])
            file.flush()
            watched.named("StateFileWritten")
            file.write(whole[40:])
        watched.named("StateFileWritten")
        disk.put(STATE, other)
        watched.found("state-unusable")
        (disk.root / STATE).unlink()
        assert watched.named("StateFileRemoved")["stateFile"]["path"] == f"/{STATE}"
        watched.found("state-missing")
        disk.put(STATE, whole)
        watched.found("state-missing", "Resolved")
        assert watched.end(signal.SIGINT) == 0
    assert watched.reported.count("Found state-unusable") == 1, "half a file is not a finding"


def test_a_watch_ends_at_the_first_finding_of_the_severity(
    tmp_path: Path, disk: OnDisk, cpuctl: Cpuctl
) -> None:
    bad = OnDisk(faulty(clean_node()), tmp_path / "bad")
    ended = cpuctl("watch", *bad.words, "--fail-on", "error", "--for", "1m")
    assert (ended.code, ended.out.splitlines()[-1].split()[1]) == (3, "error")
    clean = cpuctl("watch", *disk.words, "--fail-on", "note", "--for", "100ms", "-q")
    assert (clean.code, clean.out.count("\n"), clean.err) == (0, 1, "")
    with watching(*disk.words, "--fail-on", "warning") as watched:
        watched.named("Watching")
        disk.node.interrupt(24, "eth0", "1", "1")
        disk.write()
        assert (watched.ended(), watched.reported[-1]) == (3, "Found interrupt")


def test_lines_have_a_time_or_a_level_for_the_journal(tmp_path: Path, disk: OnDisk, cpuctl: Cpuctl) -> None:
    bad = OnDisk(faulty(clean_node()), tmp_path / "bad")
    lines = cpuctl("watch", *bad.words, "--for", "100ms", "-q").out.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  watch      watching 3 .*", lines[0])
    audited = cpuctl(
        "audit", "--root", str(bad.root), "--pods", str(bad.root / "pods.json"), "-o", "json", "-q"
    )
    # The kubelet has to clean up a removed pod's entries first.
    findings = [each for each in json.loads(audited.out)["findings"] if each["code"] != "stale-entry"]
    assert [line.split()[1] for line in lines[1:]] == [each["severity"] for each in findings]
    assert all(line.endswith(f"[{each['code']}]") for line, each in zip(lines[1:], findings, strict=True))


def test_metrics_are_those_of_an_audit(tmp_path: Path, disk: OnDisk, cpuctl: Cpuctl) -> None:
    """The file is replaced atomically after each check, readable by others, and alone in its folder."""
    folder = tmp_path / "collector"
    folder.mkdir()
    textfile = folder / "cpuctl_audit.prom"
    textfile.write_text("old 1\n")
    textfile.chmod(0o600)
    audit = ("audit", "--root", str(disk.root), "--pods", str(disk.root / "pods.json"), "-q", "-o", "prom")
    with watching(*disk.words, "--textfile", str(textfile)) as watched:
        watched.named("Watching")
        first = textfile.stat()
        assert first.st_mode & 0o777 == 0o644
        assert textfile.read_text() == cpuctl(*audit, "--kubelet-version", "1.36").out
        disk.node.process(71, "sshd", "/system.slice/sshd.service", "0-7")
        disk.write()
        watched.found("foreign-processes")
        assert textfile.read_text() == cpuctl(*audit, "--kubelet-version", "1.36").out
        assert textfile.stat().st_ino != first.st_ino
        assert watched.end(signal.SIGTERM) == 0
    metrics = read_metrics(textfile.read_text())
    assert metrics["cpuctl_audit_findings_by_code"] == {'code="foreign-processes",severity="warning"': 1}
    assert [path.name for path in folder.iterdir()] == [textfile.name]
    refused = cpuctl("watch", *disk.words, "--textfile", str(tmp_path / "nowhere" / "a.prom"))
    assert (refused.code, "cannot be written: no such file or directory" in refused.err) == (5, True)


def test_a_service_manager_is_notified(tmp_path: Path, disk: OnDisk) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        with watching(*disk.words, NOTIFY_SOCKET=str(tmp_path / "notify")) as watched:
            reported = [manager.recv(100) for _ in range(4)]
            assert watched.end(signal.SIGTERM) == 0
            while reported[-1] == b"WATCHDOG=1":
                reported.append(manager.recv(100))
    assert reported[:2] == [b"WATCHDOG=1", b"READY=1"]
    assert (set(reported[2:-1]), reported[-1]) == ({b"WATCHDOG=1"}, b"STOPPING=1")


def test_the_watchdog_is_notified_however_rare_the_checks_are(tmp_path: Path, disk: OnDisk) -> None:
    """Twice in the watchdog's interval; very long intervals must not exceed what the kernel can wait."""
    words = (*disk.words, "--every", "600h", "--full", "600h", "--settle", "600h")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        notified = str(tmp_path / "notify")
        with watching(*words, "--for", "1000h", NOTIFY_SOCKET=notified, WATCHDOG_USEC="400000") as watched:
            watched.named("Watching")
            reported = [manager.recv(100) for _ in range(6)]
            began = time.monotonic()
            reported += [manager.recv(100) for _ in range(5)]
            assert time.monotonic() - began >= 5 * 0.2 - 0.25, "and no more often than that"
            assert watched.end(signal.SIGTERM) == 0
    assert set(reported) == {b"WATCHDOG=1", b"READY=1"}


def test_the_watchdog_of_another_process_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for requested, process, seconds in (
        ("300000000", "", 300.0),
        ("300000000", str(os.getpid()), 300.0),
        ("300000000", "1", math.inf),
        ("", "", math.inf),
        ("0", "", math.inf),
        ("soon", "", math.inf),
    ):
        monkeypatch.setenv("WATCHDOG_USEC", requested)
        monkeypatch.setenv("WATCHDOG_PID", process)
        assert watchdog_seconds() == seconds


def test_a_watch_ends_when_its_pipe_is_closed(disk: OnDisk) -> None:
    """It ends immediately, like tail -f, and not with the next change."""
    words = (sys.executable, "-m", "cpuctl", "watch", *disk.words)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert b"watching 3 containers" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(30) == -signal.SIGPIPE
        assert process.stderr.read().count(b"error") == 0


def test_without_inotify_groups_are_sampled(disk: OnDisk) -> None:
    """It runs in a separate user namespace that may not have any inotify instances."""
    script = 'echo 0 >/proc/sys/user/max_inotify_instances; exec "$@"'
    before = ("unshare", "--user", "--map-root-user", "sh", "-c", script, "sh")
    with watching(*disk.words, before=before) as watched:
        stated = watched.named("Sampling")["message"]
        assert "the limit fs.inotify.max_user_instances is reached" in stated
        disk.node.cpuset(disk.node.server, cpus="1", mems="0")
        disk.write()
        watched.found("cpuset-differs")
        add_pod(disk)
        watched.named("PodAdded")
        assert watched.end(signal.SIGTERM) == 0
    assert watched.reported.count("Sampling") == 1


def test_a_kubelet_that_restarts_and_one_that_stops(disk: OnDisk) -> None:
    kubelet = ("kubelet", "/system.slice/kubelet.service", "0,4")
    with watching(*disk.words) as watched:
        watched.named("Watching")
        disk.remove("proc/70")
        disk.node.process(170, *kubelet)
        disk.node.files["proc/170/cmdline"] = "/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0"
        disk.write()
        # The tree's writer also names the process that has ended.
        shutil.rmtree(disk.root / "proc/70")
        assert watched.named("KubeletRestarted")["message"].endswith("(PID 170)")
        shutil.rmtree(disk.root / "proc/170")
        watched.named("KubeletStopped")
        assert watched.end(signal.SIGHUP) == 0


def test_a_node_that_cannot_be_read_for_a_while(disk: OnDisk) -> None:
    """For example while the list of pods is being written; what was reported before still holds."""
    pods = disk.root / "pods.json"
    whole = pods.read_text()
    with watching(*disk.words) as watched:
        watched.named("Watching")
        pods.write_text(whole[: len(whole) // 2])
        assert "pods.json" in watched.named("AuditFailed")["message"]
        pods.write_text(whole)
        disk.node.interrupt(24, "eth0", "1", "1")
        disk.write()
        watched.found("interrupt")
        assert watched.end(signal.SIGTERM) == 0
    assert watched.reported == ["Watching", "AuditFailed", "Found interrupt"]


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        (("--pods", "-"), "--pods: stdin cannot be read again"),
        (("--every", "5"), "--every: expected a duration, found '5'"),
        (("--every", "1ms"), "--every: 1ms is too short, expected at least 0.1s"),
        (("--for", "-1s"), "--for: -1s is too short, expected at least 0s"),
        (("--check", "thread"), "--check: unknown check 'thread'"),
    ],
)
def test_invalid_arguments_of_watch_are_rejected(words: tuple[str, ...], stated: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("watch", *words)
    assert (result.code, result.out) == (2, "")
    assert f"error: {stated}" in result.err


def test_a_pod_is_named_by_uid_until_its_name_is_known(disk: OnDisk) -> None:
    """The kubelet's link to the log appears a moment after the container."""
    (disk.root / "var/log/containers").mkdir(parents=True)
    with watching("--root", str(disk.root), *QUICK, "--settle", "20s") as watched:
        watched.named("Watching")
        add_pod(disk, named=False)
        watched.named("StateFileWritten")
        name(disk)
        pod = watched.named("PodAdded")["pod"]
        assert (pod["pod"], pod["uid"]) == ("shop/cache-0", CACHE)
        assert watched.end(signal.SIGTERM) == 0


def test_what_cannot_be_checked_from_the_start_is_reported(disk: OnDisk) -> None:
    (disk.root / STATE).unlink()
    with watching(*disk.words) as watched:
        assert "cpu_manager_state" in watched.named("Unchecked")["message"]
        assert watched.end(signal.SIGTERM) == 0
    assert watched.reported.count("Unchecked") == 1
