"""Runs in a guest: makes it a kubelet's node, breaks it in every way, fixes it, and audits it in between.

Paths, names and files are written here as kubelets and runtimes do, without using cpuctl; only what a
kubelet would decide comes from ``cpuctl plan``. What every audit printed is kept in /out, with what was
planted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

OUT, KUBELET = Path("/out"), Path("/var/lib/kubelet")
CGROUPS = Path("/sys/fs/cgroup")
ALL = Path("/sys/devices/system/cpu/online").read_text(encoding="utf-8").strip()


def put(path: Path, text: object) -> None:
    """Write a value as a shell does: at once, with a newline."""
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{text}\n")


def cpuctl(name: str, *words: str) -> int:
    """Run cpuctl in this process, because starting another takes seconds, and keep its output."""
    from cpuctl.cli.app import run

    started = time.monotonic()
    with (OUT / name).open("w", encoding="utf-8") as out, redirect_stdout(out):
        code = run(words)
    (OUT / f"{name}.code").write_text(f"{code} {time.monotonic() - started:.1f}", encoding="utf-8")
    return code


def cpus_of(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def listed(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


@dataclass(frozen=True)
class Container:
    """A container to make: its pod's group, below the hierarchy's root, and its own id."""

    uid: str
    qos: str
    name: str
    pod: str
    identity: str

    def pod_group(self, systemd: bool) -> str:
        if not systemd:
            return f"kubepods/{self.qos + '/' if self.qos else ''}pod{self.uid}"
        prefix = f"kubepods-{self.qos}" if self.qos else "kubepods"
        above = f"kubepods.slice/{prefix + '.slice/' if self.qos else ''}"
        return f"{above}{prefix}-pod{self.uid.replace('-', '_')}.slice"


UIDS = {
    "database": "11111111-1111-4111-8111-111111111111",
    "gateway": "22222222-2222-4222-8222-222222222222",
    "web": "33333333-3333-4333-8333-333333333333",
}
CONTAINERS = (
    Container(UIDS["database"], "", "server", "shop/database", "d1" * 32),
    Container(UIDS["gateway"], "", "forwarder", "telco/gateway", "e2" * 32),
    Container(UIDS["web"], "burstable", "front", "shop/web", "f3" * 32),
)
SANDBOX = Container(UIDS["database"], "", "", "shop/database", "a0" * 32)


class Node:
    """The kubelet's groups, for the driver and the runtime of a case."""

    def __init__(self, driver: str, runtime: str) -> None:
        self.two = (CGROUPS / "cgroup.controllers").exists()
        self.systemd = driver == "systemd"
        self.pattern = {
            ("systemd", "containerd"): "cri-containerd-{}.scope",
            ("systemd", "crio"): "crio-{}.scope",
            ("cgroupfs", "containerd"): "{}",
            ("cgroupfs", "crio"): "crio-{}",
        }[driver, runtime]
        self.runtime = {"crio": "cri-o"}.get(runtime, runtime)
        self.processes: dict[str, int] = {}

    def at(self, controller: str) -> Path:
        return CGROUPS if self.two else CGROUPS / controller

    def group(self, container: Container) -> str:
        return f"{container.pod_group(self.systemd)}/{self.pattern.format(container.identity)}"

    def cpuset(self, container: Container) -> Path:
        return self.at("cpuset") / self.group(container)

    def cpu(self, container: Container) -> Path:
        return self.at("cpu") / self.group(container)

    def make(self, group: str) -> None:
        """Make a group and those above it, with CPUs and nodes if version 1 needs some."""
        for controller in ("cpuset",) if self.two else ("cpuset", "cpu"):
            current = self.at(controller)
            for part in group.split("/"):
                if self.two:
                    put(current / "cgroup.subtree_control", "+cpuset +cpu")
                parent, current = current, current / part
                current.mkdir(exist_ok=True)
                empty = not (current / "cpuset.cpus").read_text().strip() if controller == "cpuset" else False
                if empty and not self.two:
                    for name in ("cpuset.cpus", "cpuset.mems"):
                        put(current / name, (parent / name).read_text().strip())

    def restore_above(self) -> None:
        """Give the groups above containers all CPUs again, which version 1 has removed permanently."""
        if not self.two:
            top = self.at("cpuset") / ("kubepods.slice" if self.systemd else "kubepods")
            for group in (top, *sorted(path for path in top.rglob("*") if path.is_dir())):
                put(group / "cpuset.cpus", ALL)

    def start(self, container: Container, words: Sequence[str], *, named: str = "") -> None:
        """Start a process in a container's group as runtimes do: all of its memory is allocated there."""
        enter = partial(self.enter, self.group(container))
        process = subprocess.Popen(words, executable=named or None, preexec_fn=enter)  # noqa: PLW1509  # one thread
        self.processes[container.name or "pause"] = process.pid

    def enter(self, group: str) -> None:
        for controller in ("cpuset",) if self.two else ("cpuset", "cpu"):
            put(self.at(controller) / group / "cgroup.procs", os.getpid())

    def keep_to(self, state: dict[str, Any], memory: dict[str, Any]) -> None:
        """Write CPUs and nodes as the kubelet and the runtime do."""
        for container in CONTAINERS:
            own = state["entries"].get(container.uid, {}).get(container.name)
            put(self.cpuset(container) / "cpuset.cpus", own or state["defaultCpuSet"])
            blocks = memory["entries"].get(container.uid, {}).get(container.name, [])
            if nodes := sorted({node for block in blocks for node in block["numaAffinity"]}):
                put(self.cpuset(container) / "cpuset.mems", listed(nodes))


_BUSY = """
import time
while True:
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    time.sleep(0.08)
"""
"""Busy, but not always: one thread emulates all CPUs."""


def kubectl_json(node: Node) -> dict[str, Any]:
    """Write what kubectl prints about the running pods: their manifests, with their containers' ids."""
    made = subprocess.run(
        [sys.executable, "-c", _AS_JSON], stdout=subprocess.PIPE, check=True, encoding="utf-8"
    ).stdout
    pods = [pod for pod in json.loads(made) if pod["metadata"]["name"] != "gone"]
    for pod in pods:
        pod["spec"]["nodeName"] = "guest"
        pod["status"] = {
            "phase": "Running",
            "containerStatuses": [
                {
                    "name": each.name,
                    "containerID": f"{node.runtime}://{each.identity}",
                    "state": {"running": {}},
                }
                for each in CONTAINERS
                if each.uid == pod["metadata"]["uid"]
            ],
        }
    return {"apiVersion": "v1", "kind": "List", "items": pods}


_AS_JSON = "import json, yaml; print(json.dumps(list(yaml.safe_load_all(open('audit-pods.yaml')))))"


def state_files(directory: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return (
        json.loads(Path(directory, "cpu_manager_state").read_text(encoding="utf-8")),
        json.loads(Path(directory, "memory_manager_state").read_text(encoding="utf-8")),
    )


def use_state(directory: str) -> None:
    for name in ("cpu_manager_state", "memory_manager_state"):
        (KUBELET / name).write_bytes(Path(directory, name).read_bytes())


def repair(name: str) -> None:
    """Run the command of every finding of an audit; keep those that failed."""
    failed = []
    for finding in json.loads((OUT / name).read_text(encoding="utf-8"))["findings"]:
        # Neither a runtime nor systemd runs here.
        if not finding["fix"].startswith("crictl") and "systemctl" not in finding["fix"]:
            done = subprocess.run(["sh", "-c", finding["fix"]], capture_output=True, text=True, check=False)
            if done.returncode:
                failed.append([finding["code"], finding["fix"], done.stderr])
    (OUT / f"{name}.failed").write_text(json.dumps(failed), encoding="utf-8")


def taskset(cpus: object, pid: int) -> None:
    subprocess.run(["taskset", "-acp", str(cpus), str(pid)], check=True, stdout=subprocess.DEVNULL)


def apply(name: str, node: Node) -> None:
    """Write the values of a plan exactly."""
    for group in json.loads((OUT / name).read_text(encoding="utf-8"))["groups"]:
        for kind in ("cpus", "mems"):
            if group[kind]:
                path = node.at("cpuset") / group["path"].lstrip("/") / f"cpuset.{kind}"
                assert ",".join(path.read_text().split()) == group[kind]["now"], path
                put(path, group[kind]["desired"])


def set_up(node: Node) -> None:
    """Make the node: state files without and with the removed pod, groups, processes, the list of pods."""
    KUBELET.mkdir(parents=True)
    (KUBELET / "config.yaml").write_bytes(Path("audit-kubelet.yaml").read_bytes())
    documents = Path("audit-pods.yaml").read_text(encoding="utf-8").split("---\n")
    Path("/pods").mkdir()
    for number, document in enumerate(documents):
        Path(f"/pods/{number}.yaml").write_text(document, encoding="utf-8")
    for directory, files in (("/state", documents[:-1]), ("/stale", documents)):
        Path(directory).mkdir()
        words = [word for number in range(len(files)) for word in ("-f", f"/pods/{number}.yaml")]
        planned = ("plan", "-m", "live", *words, "--write-state", directory, "-o", "json")
        assert cpuctl("planned.json", *planned) == 0
    use_state("/state")
    put(Path("/pods.json"), json.dumps(kubectl_json(node)))
    Path("/bin/pause").write_bytes(Path("/bin/busybox").read_bytes())
    Path("/bin/pause").chmod(0o755)
    for each in (SANDBOX, *CONTAINERS):
        node.make(node.group(each))
    node.keep_to(*state_files("/state"))
    node.start(SANDBOX, ["sleep", "1000"], named="/bin/pause")
    node.start(CONTAINERS[0], [sys.executable, "-c", _BUSY])
    node.start(CONTAINERS[1], ["sleep", "1000"])
    node.start(CONTAINERS[2], ["sleep", "1000"])


def plant(node: Node) -> dict[str, str]:
    """Break the node, and return the code by which each fault must be found."""
    state, memory = state_files("/state")
    server, forwarder, front = CONTAINERS
    own = cpus_of(state["entries"][server.uid]["server"])
    others = cpus_of(state["entries"][forwarder.uid]["forwarder"])
    stale, _ = state_files("/stale")
    held = cpus_of(stale["entries"]["99999999-9999-4999-8999-999999999999"]["worker"])
    pool = cpus_of(stale["defaultCpuSet"])
    (mine,) = memory["entries"][server.uid]["server"][0]["numaAffinity"]
    use_state("/stale")

    put(node.cpuset(front) / "cpuset.cpus", listed(pool))
    put(node.cpuset(server) / "cpuset.cpus", listed([own[0], pool[-2]]))
    put(node.cpuset(server) / "cpuset.mems", f"{mine},{1 - mine if mine < 2 else 0}")
    if node.two:
        put(node.cpu(forwarder) / "cpu.max", "150000 100000")
    else:
        put(node.cpu(forwarder) / "cpu.cfs_quota_us", 150000)
    taskset(others[0], node.processes["forwarder"])
    foreign = subprocess.Popen(["taskset", "-c", str(others[1]), "sleep", "1000"])
    put(Path("/proc/irq/4/smp_affinity_list"), others[2])
    put(Path("/dev/console"), "an interrupt")
    escaped = f"{server.pod_group(node.systemd)}/escaped"
    node.make(escaped)
    stray = subprocess.Popen(["sleep", "1000"])
    put(node.at("cpuset") / escaped / "cgroup.procs", stray.pid)
    taskset(ALL, stray.pid)
    if not node.two:
        taskset(others[0], fill_memory(node, forwarder))
    put(Path(f"/sys/devices/system/cpu/cpu{pool[-1]}/online"), 0)
    return {
        "cpuset-differs": f"{server.pod}/server {own[0]},{pool[-2]}",
        "mems-differ": f"{server.pod}/server",
        "quota-on-exclusive": f"{forwarder.pod}/forwarder",
        "cpus-unused": f"{forwarder.pod}/forwarder {others[0]}",
        "foreign-processes": f"/ {foreign.pid}",
        "escaped": f"/{escaped} {stray.pid}",
        "interrupt": f"4 {others[2]}",
        "stale-entry": listed(held),
        "cpus-offline": str(pool[-1]),
    } | ({} if node.two else {"memory-spill": f"{forwarder.pod}/forwarder"})


def fill_memory(node: Node, container: Container) -> int:
    """Put a process with memory on another node into a container; version 1 does not move the memory."""
    elsewhere = 1 if (node.cpuset(container) / "cpuset.mems").read_text() == "0\n" else 0
    waste = "x = bytearray(8 << 20); x[::4096] = bytes([1]) * 2048; print(1, flush=True); input()"
    words = ["numactl", f"--membind={elsewhere}", sys.executable, "-c", waste]
    hog = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert hog.stdout is not None
    hog.stdout.readline()
    put(node.cpuset(container) / "cgroup.procs", hog.pid)
    return hog.pid


def undo(node: Node) -> None:
    """Fix faults whose commands cannot run here, because no kubelet or runtime is running."""
    use_state("/state")
    state, memory = state_files("/state")
    node.restore_above()
    node.keep_to(state, memory)
    own = state["entries"][UIDS["gateway"]]["forwarder"]
    taskset(own, node.processes["forwarder"])


def main(driver: str, runtime: str) -> None:
    """Audit the node untuned, tuned, broken and fixed."""
    node = Node(driver, runtime)
    set_up(node)
    # An audit skips its own process, a recording does not.
    os.sched_setaffinity(0, {0, 1})
    known = ("--pods", "/pods.json")
    cpuctl("untuned.json", "audit", *known, "-o", "json")
    repair("untuned.json")
    cpuctl("clean.json", "audit", *known, "-o", "json")
    (OUT / "planted.json").write_text(json.dumps(plant(node)), encoding="utf-8")
    cpuctl("faulty.json", "audit", *known, "-o", "json")
    cpuctl("capture.json", "capture", "/out/faulty.tar.xz", "-o", "json")
    (OUT / "pods.json").write_bytes(Path("/pods.json").read_bytes())
    cpuctl("plan.json", "audit", *known, "-o", "plan")
    apply("plan.json", node)
    repair("faulty.json")
    undo(node)
    # Version 1 resets threads when their group changes; the kernel resets some of its threads when a CPU
    # comes back online.
    repair("faulty.json")
    repair("untuned.json")
    cpuctl("fixed.json", "audit", *known, "-o", "json")


if __name__ == "__main__":
    main(*sys.argv[1:])
