"""Runs in a guest: watches a kubelet's node while it is changed in every way; /out has the results.

The node is the one of ``audit_node.py``, made without using cpuctl. For each step /out/steps.json has how
long it took until the watch reported it, and what the kernel's own files said then.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from audit_node import (  # type: ignore[import-not-found]  # next to it in the guest
    CONTAINERS,
    OUT,
    UIDS,
    Container,
    Node,
    cpuctl,
    cpus_of,
    listed,
    put,
    repair,
    set_up,
    state_files,
    taskset,
    use_state,
)

GONE = Container("99999999-9999-4999-8999-999999999999", "", "worker", "shop/gone", "9c" * 32)
LOGS = Path("/var/log/containers")
TEXTFILE = OUT / "collector" / "cpuctl_audit.prom"
PATIENCE = 300
PODS = 110
LOOP = (
    "import time; t = time.process_time(); sum(i * i for i in range(300_000)); print(time.process_time() - t)"
)
"""The tests time the same on the host: how much slower emulated CPUs are."""

Event = dict[str, Any]


class Watch:
    """``cpuctl watch`` in its own process, which writes its events to a file."""

    def __init__(self, name: str, *words: str) -> None:
        self.path = OUT / name
        self._out = self.path.open("w", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cpuctl", "watch", "-o", "jsonl", *words],
            stdout=self._out,
            stderr=(OUT / f"{name}.err").open("w", encoding="utf-8"),
        )

    def events(self) -> list[Event]:
        text = self.path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def until(self, wanted: Callable[[Event], bool], since: int = 0) -> Event:
        """Wait for an event after the first *since*."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for event in self.events()[since:]:
                if wanted(event):
                    return event
            if self.process.poll() is not None:
                raise SystemExit(f"the watch has ended with {self.process.returncode}")
            time.sleep(0.1)
        raise SystemExit(f"not reported: {self.events()[since:]}")

    def cpu_time(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait()
        self._out.close()
        return code


class Steps:
    """The steps on the node, one after the other."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.done: list[dict[str, Any]] = []

    def step(
        self, do: Callable[[], object], event: str, code: str = "", kernel: Callable[[], str] = str
    ) -> Event:
        """Do something, and wait until it is reported; *kernel* reads the value of a kernel file then."""
        since, started = len(self.watch.events()), time.monotonic()
        do()

        def wanted(each: Event) -> bool:
            return each["event"] == event and code in ("", each.get("finding", {}).get("code"))

        found = self.watch.until(wanted, since)
        took = time.monotonic() - started
        self.done.append({"event": event, "code": code, "seconds": took, "kernel": kernel(), "data": found})
        return found


def disturb(node: Node, steps: Steps) -> None:
    """Break the node in one way after the other, and fix it."""
    state, _ = state_files("/state")
    server, forwarder, _ = CONTAINERS
    own = cpus_of(state["entries"][server.uid]["server"])
    others = cpus_of(state["entries"][forwarder.uid]["forwarder"])

    strays: list[subprocess.Popen[bytes]] = []

    def stray() -> None:
        strays.append(subprocess.Popen(["taskset", "-c", str(others[1]), "sleep", "1000"]))

    steps.step(stray, "Found", "foreign-processes", lambda: allowed(Path(f"/proc/{strays[0].pid}/status")))
    irq = Path("/proc/irq/4/smp_affinity_list")
    home = irq.read_text(encoding="utf-8").strip()
    steps.step(lambda: deliver(others[2]), "Found", "interrupt", lambda: read(irq))
    cpuset = node.cpuset(server) / "cpuset.cpus"
    steps.step(lambda: put(cpuset, own[0]), "Found", "cpuset-differs", lambda: read(cpuset))
    quota = node.cpu(forwarder) / ("cpu.max" if node.two else "cpu.cfs_quota_us")
    text = "150000 100000" if node.two else "150000"
    steps.step(lambda: put(quota, text), "Found", "quota-on-exclusive", lambda: read(quota))
    pid = node.processes["forwarder"]
    pinned = Path(f"/proc/{pid}/status")
    steps.step(lambda: taskset(others[0], pid), "Found", "cpus-unused", lambda: allowed(pinned))

    def fixed() -> None:
        strays[0].kill()
        strays[0].wait()
        deliver(home)
        put(cpuset, listed(own))
        put(quota, "max 100000" if node.two else "-1")
        taskset(listed(others), pid)
        taskset(listed(own), node.processes["server"])

    steps.step(fixed, "Resolved", "interrupt", lambda: read(irq))
    for code in ("foreign-processes", "cpuset-differs", "quota-on-exclusive", "cpus-unused"):
        steps.watch.until(lambda each, code=code: is_resolved(each, code))  # type: ignore[misc]


def change(node: Node, steps: Steps) -> None:
    """Rewrite state files, and let a pod come and go in the meantime."""
    front = CONTAINERS[2]
    steps.step(lambda: half_written("/stale"), "StateFileWritten")
    put(node.cpuset(front) / "cpuset.cpus", state_files("/stale")[0]["defaultCpuSet"])
    steps.step(lambda: come(node), "PodAdded", kernel=lambda: read(node.cpuset(GONE) / "cpuset.cpus"))
    steps.step(lambda: go(node), "PodRemoved", kernel=lambda: str(node.cpuset(GONE).exists()))
    steps.step(lambda: use_state("/state"), "StateFileWritten")
    put(node.cpuset(front) / "cpuset.cpus", state_files("/state")[0]["defaultCpuSet"])


def is_resolved(event: Event, code: str) -> bool:
    return (event["event"], event.get("finding", {}).get("code")) == ("Resolved", code)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def allowed(status: Path) -> str:
    return status.read_text(encoding="utf-8").partition("Cpus_allowed_list:")[2].split()[0]


def deliver(cpu: object) -> None:
    """Redirect the console's interrupt to other CPUs, where it moves with the next one."""
    put(Path("/proc/irq/4/smp_affinity_list"), cpu)
    put(Path("/dev/console"), "an interrupt")


def half_written(directory: str) -> None:
    """Write the states of *directory* in two halves: the first one must not be reported as a broken file."""
    for name in ("cpu_manager_state", "memory_manager_state"):
        text = Path(directory, name).read_bytes()
        with Path("/var/lib/kubelet", name).open("wb", buffering=0) as file:
            file.write(text[:50])
            time.sleep(0.3)
            file.write(text[50:])


def come(node: Node) -> None:
    """Start a pod as kubelet and runtime do: its groups, its CPUs, its process, the link to its log."""
    state, memory = state_files("/stale")
    node.make(node.group(GONE))
    put(node.cpuset(GONE) / "cpuset.cpus", state["entries"][GONE.uid]["worker"])
    (block,) = memory["entries"][GONE.uid]["worker"]
    put(node.cpuset(GONE) / "cpuset.mems", listed(block["numaAffinity"]))
    node.start(GONE, ["sleep", "1000"])
    (LOGS / f"gone_shop_worker-{GONE.identity}.log").symlink_to("/nowhere")


def go(node: Node) -> None:
    """End a pod: its process, its link, its groups."""
    os.kill(node.processes["worker"], signal.SIGKILL)
    os.waitpid(node.processes["worker"], 0)
    (LOGS / f"gone_shop_worker-{GONE.identity}.log").unlink()
    for controller in ("cpuset",) if node.two else ("cpuset", "cpu"):
        for group in (node.group(GONE), GONE.pod_group(node.systemd)):
            remove(node.at(controller) / group)


def remove(group: Path) -> None:
    """Remove a group once its last process has left it."""
    for _ in range(100):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.1)
        else:
            return
    group.rmdir()


def crowd(node: Node, pods: int = PODS) -> list[Container]:
    """Add pods up to a number, each with a sandbox and a container that sleep; return the containers."""
    state, _ = state_files("/state")
    added = []
    for number in range(len(UIDS), pods):
        uid = f"44444444-4444-4444-8444-{number:012d}"
        for name, program in (("", "/bin/pause"), ("app", "")):
            identity = f"{number:04x}{'a' if name else 'b'}{'0' * 59}"
            container = Container(uid, "burstable", name, f"many/app-{number}", identity)
            node.make(node.group(container))
            put(node.cpuset(container) / "cpuset.cpus", state["defaultCpuSet"])
            node.start(container, ["sleep", "9999"], named=program)
            if name:
                (LOGS / f"app-{number}_many_app-{identity}.log").symlink_to("/nowhere")
                added.append(container)
    return added


def measure(words: Sequence[str]) -> dict[str, object]:
    """Measure the CPU time of a watch of an idle node, and of one whole audit."""
    watch = Watch("crowd.jsonl", *words)
    watch.until(lambda each: each["event"] == "Watching")
    time.sleep(30)  # until the checks after the start are done
    before, began = watch.cpu_time(), time.monotonic()
    time.sleep(60)
    share = (watch.cpu_time() - before) / (time.monotonic() - began)
    code = watch.end()
    loop = subprocess.run([sys.executable, "-c", LOOP], capture_output=True, text=True, check=True)
    started = time.process_time()
    cpuctl("crowd-audit.json", "audit", "-o", "json", *words)
    return {
        "share": share,
        "loop": LOOP,
        "loop_took": float(loop.stdout),
        "audit": time.process_time() - started,
        "code": code,
        "processes": sum(name.isdecimal() for name in os.listdir("/proc")),  # noqa: PTH208
    }


def until_an_error(node: Node) -> dict[str, int]:
    """Return how a watch ends that is to end at an error: without one, and with one."""
    clean = cpuctl("clean.txt", "watch", "--fail-on", "error", "--for", "1s")
    cpuset = node.cpuset(CONTAINERS[0]) / "cpuset.cpus"
    before = read(cpuset)
    put(cpuset, 0)
    broken = cpuctl("broken.txt", "watch", "--fail-on", "error", "--for", "60s")
    put(cpuset, before)
    return {"clean": clean, "broken": broken}


def name_pods() -> None:
    """Link their logs, as kubelets do: a list of pods would be outdated."""
    for container in CONTAINERS:
        namespace, _, pod = container.pod.partition("/")
        (LOGS / f"{pod}_{namespace}_{container.name}-{container.identity}.log").symlink_to("/nowhere")


def main(driver: str, runtime: str) -> None:
    """Watch the node while it changes, then an idle one with 110 pods."""
    node = Node(driver, runtime)
    set_up(node)
    LOGS.mkdir(parents=True)
    TEXTFILE.parent.mkdir()
    os.sched_setaffinity(0, {0, 1})
    known = ("--pods", "/pods.json")
    cpuctl("untuned.json", "audit", *known, "-o", "json")
    repair("untuned.json")
    os.utime("/var/lib/kubelet/cpu_manager_state", (0, 0))
    name_pods()
    watch = Watch("watch.jsonl", "--settle", "5s", "--max-cpu", "50", "--textfile", str(TEXTFILE))
    watch.until(lambda each: each["event"] == "Watching")
    steps = Steps(watch)
    disturb(node, steps)
    change(node, steps)
    time.sleep(30)
    cpuctl("audit.prom", "audit", "-q", "-o", "prom", "--exit-zero")
    (OUT / "textfile.prom").write_bytes(TEXTFILE.read_bytes())
    (OUT / "collector.txt").write_text("\n".join(os.listdir(TEXTFILE.parent)), encoding="utf-8")  # noqa: PTH208
    (OUT / "steps.json").write_text(json.dumps(steps.done), encoding="utf-8")
    codes = {"watch": watch.end(), **until_an_error(node)}
    (OUT / "codes.json").write_text(json.dumps(codes), encoding="utf-8")
    crowd(node)
    (OUT / "measured.json").write_text(json.dumps(measure([])), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
