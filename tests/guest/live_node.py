"""Runs in a guest: a node under load that ``cpuctl top``, ``watch`` and ``report`` observe for minutes.

At recorded moments the node is disturbed: stress, a stray thread, an interrupt, a quota, a pod
that comes and goes, a CPU that goes and comes, memory on the wrong node. ``live_observer.py`` copies the
kernel's files meanwhile. In /out are then the recording of top and all that its screen has drawn, the events
of the watch, the reports, the kernel's files, and what has happened when; ``live_session`` compares them.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from audit_node import (  # type: ignore[import-not-found]  # next to it in the guest
    CONTAINERS,
    OUT,
    Container,
    Node,
    cpuctl,
    cpus_of,
    put,
    repair,
    set_up,
    state_files,
    use_state,
)
from watch_node import (  # type: ignore[import-not-found]
    LOGS,
    TEXTFILE,
    Watch,
    come,
    crowd,
    deliver,
    go,
    half_written,
    name_pods,
)

PODS = 30
COLUMNS, LINES = 100, 30
SERVER, FORWARDER, FRONT = CONTAINERS
_LOAD = """
import os, sys, time
cpu, share = int(sys.argv[1]), float(sys.argv[2])
if cpu >= 0:
    os.sched_setaffinity(0, {cpu})
while True:
    end = time.monotonic() + share / 20
    while time.monotonic() < end:
        pass
    time.sleep((1 - share) / 20)
"""
"""Busy for a share of the time, on one CPU or on any: one thread of the host emulates all CPUs."""
_TAKE = """
import sys, time
taken = []
for _ in range(int(sys.argv[1])):
    taken.append(bytearray(b"x") * (1 << 20))
    time.sleep(0.005)
time.sleep(float(sys.argv[2]))
"""
"""Allocate so many MiB, and keep them for some seconds."""


def busy(cpu: int, share: float) -> list[str]:
    return [sys.executable, "-c", _LOAD, str(cpu), str(share)]


class Screen:
    """``cpuctl top`` on a terminal; its output is kept with its times, as in asciinema (version 2)."""

    def __init__(self, *words: str) -> None:
        self._file = (OUT / "screen.cast").open("w", encoding="utf-8")
        self._started = time.time()
        head = {"version": 2, "width": COLUMNS, "height": LINES, "timestamp": round(self._started)}
        self._file.write(json.dumps(head) + "\n")
        self.pid, self._terminal = pty.fork()
        if not self.pid:
            os.chdir("/out")
            os.environ["TERM"] = "xterm-256color"
            os.execv(sys.executable, [sys.executable, "-m", "cpuctl", "top", "-q", *words])  # noqa: S606
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        threading.Thread(target=self._draw, daemon=True).start()

    def _draw(self) -> None:
        try:
            while data := os.read(self._terminal, 1 << 16):
                self._note("o", data.decode(errors="replace"))
        except OSError:
            return

    def _note(self, kind: str, text: str) -> None:
        self._file.write(json.dumps([round(time.time() - self._started, 3), kind, text]) + "\n")

    def press(self, keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self._note("i", key)
            os.write(self._terminal, key.encode())
            time.sleep(0.05)

    def end(self) -> int:
        """Press q, and return the exit code; 137 if it did not end within minutes: a capture takes some."""
        self.press("q")
        for _ in range(600):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._file.close()
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.5)
        os.kill(self.pid, signal.SIGKILL)
        return 137


class Moment(NamedTuple):
    """An action, and its time in seconds from the beginning; the result is recorded."""

    at: float
    name: str
    do: Callable[[], object]


class Session:
    """A node, its observers, and what happens to it."""

    def __init__(self, node: Node, minutes: float, filled: list[Container]) -> None:
        self.node = node
        self.scale = minutes / 16
        self.filled = filled
        state, _ = state_files("/state")
        self.own = cpus_of(state["entries"][SERVER.uid]["server"])
        self.others = cpus_of(state["entries"][FORWARDER.uid]["forwarder"])
        self.holder = self.hold_memory()
        self.running: dict[str, list[subprocess.Popen[bytes]]] = {}
        self.reports: list[dict[str, Any]] = []
        # Its previous group, which is on a system CPU.
        self.home = Path("/proc/irq/4/smp_affinity_list").read_text(encoding="utf-8").strip()
        # An audit takes seconds of CPU time on emulated CPUs, a twentieth of that elsewhere.
        self.watch = Watch("watch.jsonl", "--full", "1m", "--max-cpu", "50", "--textfile", str(TEXTFILE))
        self.screen = Screen("--record", "/out/top.jsonl.gz")

    def hold_memory(self) -> int:
        """Start a process with eight MiB of private memory in a container, in a program that runs only once.

        It waits until its output is read.
        """
        Path("/bin/holder").write_bytes(Path("/bin/busybox").read_bytes())
        Path("/bin/holder").chmod(0o755)
        _, self.full = os.pipe()
        group = self.node.group(SERVER)
        process = subprocess.Popen(
            ["dd", "if=/dev/zero", "bs=8M"],
            executable="/bin/holder",
            stdout=self.full,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: self.node.enter(group),  # noqa: PLW1509  # it opens a file, no more
        )
        return process.pid

    def start(self, name: str, words: list[str], inside: Container | None = None) -> int:
        """Start a process that is part of the load, in a container or outside of all."""
        enter = (lambda: self.node.enter(self.node.group(inside))) if inside else None
        process = subprocess.Popen(words, preexec_fn=enter)  # noqa: PLW1509  # it opens a file, no more
        self.running.setdefault(name, []).append(process)
        return process.pid

    def stop(self, name: str) -> list[int]:
        """End what was started with this name."""
        gone = self.running.pop(name, [])
        for process in gone:
            process.kill()
            process.wait()
        return [process.pid for process in gone]

    def stress(self) -> list[int]:
        """Run more threads in the containers than they have exclusive CPUs."""
        inside = [self.start("stress", busy(-1, 0.3), SERVER) for _ in range(3)]
        return [*inside, self.start("stress", busy(-1, 0.3), FORWARDER)]

    def stray(self) -> dict[str, object]:
        tid = self.start("stray", busy(self.own[1], 0.25))
        return {"tid": tid, "cpu": self.own[1], "group": f"/{self.node.group(SERVER)}"}

    def interrupt(self, cpus: object) -> dict[str, object]:
        deliver(cpus)
        return {"irq": 4, "to": str(cpus)}

    def quota(self, text: str) -> dict[str, str]:
        put(self.node.cpu(FORWARDER) / "cpu.max", text)
        return {"group": self.node.group(FORWARDER), "max": text}

    def pool(self, directory: str) -> None:
        """Move the containers in the shared pool, as the kubelet does after its state was written."""
        cpus = state_files(directory)[0]["defaultCpuSet"]
        for container in (FRONT, *self.filled):
            put(self.node.cpuset(container) / "cpuset.cpus", cpus)

    def pod_comes(self) -> dict[str, Any]:
        half_written("/stale")
        self.pool("/stale")
        come(self.node)
        return {"state": state_files("/stale")[0]}

    def pod_goes(self) -> dict[str, Any]:
        go(self.node)
        use_state("/state")
        self.pool("/state")
        return {"state": state_files("/state")[0]}

    def online(self, cpu: int, value: int) -> dict[str, int]:
        put(Path(f"/sys/devices/system/cpu/cpu{cpu}/online"), value)
        return {"cpu": cpu, "online": value}

    def move_memory(self, source: int, target: int) -> dict[str, int]:
        """Move a process's memory to another NUMA node than its container has, as root may, or back."""
        subprocess.run(["migratepages", str(self.holder), str(source), str(target)], check=True)
        return {"pid": self.holder, "from": source, "to": target}

    def take_memory(self, node: int) -> dict[str, int]:
        """Take more memory than a NUMA node has free, from it if there is some."""
        text = Path(f"/sys/devices/system/node/node{node}/meminfo").read_text(encoding="utf-8")
        mib = int(text.partition("MemFree:")[2].split()[0]) // 1024 + 40
        words = [sys.executable, "-c", _TAKE, str(mib), str(20 * self.scale)]
        self.start("memory", ["numactl", f"--preferred={node}", *words])
        return {"node": node, "mib": mib}

    def report(self, name: str) -> dict[str, str]:
        """Start a report; its end is recorded with the next moment, or at the end."""
        words = [sys.executable, "-m", "cpuctl", "report", "-o", "json", "--html", f"/out/report-{name}.html"]
        out, errors = (OUT / f"report-{name}.{kind}" for kind in ("json", "err"))
        with out.open("wb") as file, errors.open("wb") as stated:
            process = subprocess.Popen(words, stdout=file, stderr=stated)
        self.reports.append({"name": name, "from": time.time(), "until": None, "process": process})
        return {"report": name}

    def look_after(self) -> None:
        """Record which reports have ended."""
        for each in self.reports:
            if each["until"] is None and each["process"].poll() is not None:
                each["until"] = time.time()

    def moments(self) -> list[Moment]:
        """Return the schedule in seconds of a session of 16 minutes."""
        press, offline = self.screen.press, self.others[3]
        return [
            Moment(20, "report idle", lambda: self.report("idle")),
            Moment(80, "stress", self.stress),
            Moment(95, "keys: sort", lambda: press("ss")),
            Moment(100, "report load", lambda: self.report("load")),
            Moment(150, "stray", self.stray),
            Moment(165, "keys: open", lambda: press("\r")),
            Moment(185, "keys: back, filter", lambda: press("\x1b/fo\r")),
            Moment(200, "interrupt", lambda: self.interrupt(self.others[2])),
            Moment(210, "keys: no filter", lambda: press("/\x1b")),
            Moment(235, "report strays", lambda: self.report("strays")),
            Moment(240, "keys: freeze", lambda: press(" ")),
            Moment(270, "keys: go on", lambda: press(" ")),
            Moment(295, "stray ends", lambda: self.stop("stray")),
            Moment(300, "interrupt back", lambda: self.interrupt(self.home)),
            Moment(340, "quota", lambda: self.quota("20000 100000")),
            Moment(355, "keys: map", lambda: press("mjjj\r")),
            Moment(380, "keys: rows", lambda: press("\x1b\x1b")),
            Moment(400, "no quota", lambda: self.quota("max 100000")),
            Moment(415, "stress ends", lambda: self.stop("stress")),
            Moment(440, "pod comes", self.pod_comes),
            Moment(480, "keys: reverse", lambda: press("r")),
            Moment(515, "pod goes", self.pod_goes),
            Moment(580, "CPU offline", lambda: self.online(offline, 0)),
            Moment(640, "CPU online", lambda: self.online(offline, 1)),
            Moment(690, "memory moved", lambda: self.move_memory(0, 3)),
            Moment(710, "report memory", lambda: self.report("memory")),
            Moment(730, "keys: help", lambda: press("h")),
            Moment(740, "keys: no help", lambda: press("h\x1b")),
            Moment(800, "memory back", lambda: self.move_memory(3, 0)),
            Moment(830, "memory taken", lambda: self.take_memory(2)),
            Moment(890, "keys: capture", lambda: press("w")),
            Moment(965, "end", lambda: None),
        ]

    def play(self) -> list[dict[str, Any]]:
        """Play the schedule, and return all actions with times; a failure fails the session at its end."""
        done, began = [], time.monotonic()
        for moment in self.moments():
            due = began + moment.at * self.scale
            while (left := due - time.monotonic()) > 0:
                self.look_after()
                time.sleep(min(left, 0.5))
            at = time.time()
            try:
                reported, error = moment.do(), ""
            except (OSError, subprocess.SubprocessError) as failure:
                reported, error = None, str(failure)
            done.append(
                {"at": at, "until": time.time(), "name": moment.name, "result": reported, "error": error}
            )
        return done


def main(minutes: float) -> None:
    """Play a session on a node that was tuned before, as its audit proposes."""
    Path("/dev/pts").mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "devpts", "devpts", "/dev/pts"], check=True)
    node = Node("systemd", "containerd")
    set_up(node)
    LOGS.mkdir(parents=True)
    TEXTFILE.parent.mkdir()
    name_pods()
    filled = crowd(node, PODS)
    # No tool runs on CPUs that are exclusive, or will be.
    os.sched_setaffinity(0, cpus_of(state_files("/stale")[0]["defaultCpuSet"]))
    subprocess.Popen(["sh", "-c", "while :; do echo an interrupt >/dev/ttyS0; sleep 0.3; done"])
    cpuctl("untuned.json", "audit", "-o", "json")
    repair("untuned.json")
    os.utime("/var/lib/kubelet/cpu_manager_state", (0, 0))
    observer = subprocess.Popen([sys.executable, "live_observer.py", "5"])
    session = Session(node, minutes, filled)
    session.watch.until(lambda each: each["event"] == "Watching")
    done = session.play()
    for each in session.reports:
        code = each.pop("process").wait()
        each.update(code=code, until=each["until"] or time.time())
    codes = {"watch": session.watch.end(), "top": session.screen.end()}
    observer.terminate()
    reported = {
        "moments": done,
        "reports": session.reports,
        "codes": codes,
    }
    (OUT / "session.json").write_text(json.dumps(reported), encoding="utf-8")
    for started in session.running.values():
        for process in started:
            process.kill()


if __name__ == "__main__":
    main(float(sys.argv[1]))
