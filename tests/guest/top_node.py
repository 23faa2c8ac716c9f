"""Runs in a guest: a node with 110 pods and disturbed exclusive CPUs, for ``cpuctl top`` and this program.

The output of top goes to /out/top.json, the kernel's values before and after to /out/kernel.json, and the
cost of top to /out/cost.json. Files are read here without using cpuctl.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.guest.audit_node import (
        _BUSY,
        CONTAINERS,
        OUT,
        Container,
        Node,
        cpuctl,
        cpus_of,
        put,
        set_up,
        state_files,
    )
    from tests.guest.calibration import calibration
else:  # in the guest, they are next to it
    from audit_node import (
        _BUSY,
        CONTAINERS,
        OUT,
        Container,
        Node,
        cpuctl,
        cpus_of,
        put,
        set_up,
        state_files,
    )
    from calibration import calibration

PODS = 110
WINDOW = "10"
MEASURED = 40.0
"""Seconds for which the cost is measured."""
TICK = os.sysconf("SC_CLK_TCK")
SERVER, FORWARDER, _ = CONTAINERS


def fill(node: Node) -> None:
    """Add pods in the shared pool, each with a sandbox and a container that sleeps."""
    for number in range(PODS - len(CONTAINERS)):
        uid = str(uuid.UUID(int=number + 1))
        for name, mark in (("", "aa"), ("main", "bb")):
            container = Container(uid, "burstable", name, f"fill/pod-{number}", f"{mark}{number:062x}")
            node.make(node.group(container))
            node.start(container, ["sleep", "10000"], named="/bin/pause" if not name else "")


def disturb(node: Node) -> dict[str, int]:
    """Run a stray thread on a container's CPU, send interrupts to another's, and let a quota throttle one."""
    state, _ = state_files("/state")
    own = cpus_of(state["entries"][SERVER.uid][SERVER.name])
    others = cpus_of(state["entries"][FORWARDER.uid][FORWARDER.name])
    stray = subprocess.Popen(["taskset", "-c", str(own[1]), sys.executable, "-c", _BUSY])
    node.start(FORWARDER, [sys.executable, "-c", _BUSY])
    put(node.cpu(FORWARDER) / "cpu.max", "10000 100000")
    put(Path("/proc/irq/4/smp_affinity_list"), others[2])
    subprocess.Popen(["sh", "-c", "while :; do echo an interrupt >/dev/ttyS0; sleep 0.2; done"])
    return {"stray": stray.pid, "strayCPU": own[1], "interruptCPU": others[2]}


def kernel(node: Node, reported: dict[str, int]) -> dict[str, Any]:
    """Read the counters that top reads, independently."""
    stat = re.findall(r"^cpu(\d+) (.*)$", Path("/proc/stat").read_text(encoding="utf-8"), re.MULTILINE)
    idle = {int(cpu): sum(int(words.split()[at]) for at in (3, 4, 7)) / TICK for cpu, words in stat}
    heading, *lines = Path("/proc/interrupts").read_text(encoding="utf-8").splitlines()
    column = heading.split().index(f"CPU{reported['interruptCPU']}")
    (serial,) = (line.split() for line in lines if line.split()[0] == "4:")
    groups = {}
    for container in (SERVER, FORWARDER):
        text = (node.cpu(container) / "cpu.stat").read_text(encoding="utf-8")
        groups[container.name] = {name: int(value) for name, value in map(str.split, text.splitlines())}
    pids = (node.cpu(FORWARDER) / "cgroup.threads").read_text(encoding="utf-8").split()
    waited = sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) for pid in pids) / 1e9
    return {
        "at": time.monotonic(),
        "idle": idle,
        "interrupts": int(serial[1 + column]),
        "groups": groups,
        "stray": int(Path(f"/proc/{reported['stray']}/schedstat").read_text().split()[0]) / 1e9,
        "waited": waited,
        "pressure": Path("/proc/pressure/cpu").exists(),
        "schedstat": Path("/proc/schedstat").exists(),
        "sched": Path("/proc/self/sched").exists(),
    }


def spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Cost:
    """The CPU use of a process, and the duration of the same work here at the same time."""

    def __init__(self, pid: int, seconds: float) -> None:
        before, at, loops = spent(pid), time.monotonic(), []
        while time.monotonic() < at + seconds:
            time.sleep(0.5)
            loops.append(calibration())
        self.share = (spent(pid) - before) / (time.monotonic() - at)
        self.calibration = sum(loops) / len(loops)


def streamed() -> Cost:
    """Return the cost of ``-o jsonl`` once it has started."""
    words = [sys.executable, "-m", "cpuctl", "top", "-q", "-o", "jsonl", "--pods", "/pods.json"]
    with Path("/out/stream.jsonl").open("wb") as file:
        process = subprocess.Popen(words, stdout=file)
    while Path("/out/stream.jsonl").read_bytes().count(b"\n") < 5:
        time.sleep(1)
    try:
        return Cost(process.pid, MEASURED)
    finally:
        process.kill()


def on_screen(record: str) -> tuple[Cost, str]:
    """Return the cost of the screen once it has started, and its output."""
    words = [sys.executable, "-m", "cpuctl", "top", "-q", "--pods", "/pods.json", "--record", record]
    pid, terminal = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, words)  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    drawn: list[bytes] = []
    threading.Thread(target=read_all, args=(terminal, drawn), daemon=True).start()
    deadline = time.monotonic() + 90
    while b"server" not in b"".join(drawn) and time.monotonic() < deadline:
        time.sleep(1)
    time.sleep(5)
    taken = Cost(pid, MEASURED)
    os.write(terminal, b"q")
    if not ended(pid):
        os.kill(pid, signal.SIGKILL)
    return taken, b"".join(drawn).decode(errors="replace")


def ended(pid: int) -> bool:
    """Return whether a process has ended within a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(1)
    return False


def read_all(terminal: int, drawn: list[bytes]) -> None:
    try:
        while data := os.read(terminal, 1 << 16):
            drawn.append(data)
    except OSError:
        return


def mounts(commands: Sequence[str]) -> None:
    Path("/dev/pts").mkdir(exist_ok=True)
    for command in commands:
        subprocess.run(command.split(), check=True)


def main() -> None:
    mounts(["mount -t devpts devpts /dev/pts"])
    node = Node("systemd", "containerd")
    set_up(node)
    fill(node)
    reported = disturb(node)
    known = ("-q", "--pods", "/pods.json")
    cpuctl("warm.json", "top", "--once", *known, "--interval", "0.2", "-o", "json")
    before = kernel(node, reported)
    assert cpuctl("top.json", "top", "--once", *known, "--interval", WINDOW, "-o", "json") == 0
    after = kernel(node, reported)
    (OUT / "kernel.json").write_text(json.dumps([reported, before, after]), encoding="utf-8")
    stream = streamed()
    screen, drawn = on_screen("/out/top.jsonl.gz")
    figures = {
        name: [each.share, each.calibration] for name, each in (("stream", stream), ("screen", screen))
    }
    (OUT / "cost.json").write_text(json.dumps(figures), encoding="utf-8")
    (OUT / "drawn.txt").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
