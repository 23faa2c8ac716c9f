"""Runs in a guest: a node whose containers have wrong CPUs, and cpuctl in children that can be harmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cpuctl.cgroups.group_files import GroupFiles
from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.memory_state import write_memory_state
from cpuctl.checkpoints.model import CPUStateFile, MemoryBlock, MemoryStateFile
from cpuctl.cli.app import run
from cpuctl.cpuset import CPUSet

CGROUPS = Path("/sys/fs/cgroup")
VERSION = 2 if (CGROUPS / "cgroup.controllers").exists() else 1
CPUSETS = CGROUPS if VERSION == 2 else CGROUPS / "cpuset"
TIMES = CGROUPS if VERSION == 2 else CGROUPS / "cpu"
EFFECTIVE = "cpuset.cpus.effective" if VERSION == 2 else "cpuset.effective_cpus"
THREADS = "cgroup.threads" if VERSION == 2 else "tasks"
KUBELET = Path("/var/lib/kubelet")
LOGS = Path("/var/log/containers")
WORK = Path("/var/work")
SYSTEM = Path("/sys/devices/system")
LAST = max(CPUSet.parse((SYSTEM / "cpu/online").read_text().strip()))
NODES = (SYSTEM / "node/online").read_text().strip()

Values = dict[str, str]
Harm = Callable[[], None]


class Container:
    """A container to make: its group, its expected CPUs and NUMA nodes, and its wrong ones."""

    def __init__(self, pod: str, qos: str, due: str, wrong: str, mems: str = "") -> None:
        self.pod, self.due, self.wrong, self.mems = pod, due, wrong, mems
        self.id = (pod.encode().hex() * 64)[:64]
        self.uid = f"{self.id[:8]}-0000-4000-8000-000000000000"
        middle = f"kubepods-{qos}.slice/kubepods-{qos}-" if qos else "kubepods-"
        self.pod_path = f"kubepods.slice/{middle}pod{self.uid.replace('-', '_')}.slice"
        self.path = f"{self.pod_path}/cri-containerd-{self.id}.scope"

    @property
    def name(self) -> str:
        return f"shop/{self.pod}/app"


def node_of(cpu: int) -> str:
    (link,) = (SYSTEM / f"cpu/cpu{cpu}").glob("node*")
    return link.name.removeprefix("node")


POOL = f"0-3,8-{LAST}"
OWN = Container("own", "", "4-5", f"2-{LAST}", mems=node_of(4))
OTHER = Container("other", "", "6-7", "5-6")
SHARED = Container("shared", "burstable", POOL, f"0-{LAST}")
# On v2 this one may be without its own list.
LOOSE = Container("loose", "besteffort", POOL, f"0-{LAST}")
ALL = (OWN, OTHER, SHARED, LOOSE)

CONFIG = f"""
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerReconcilePeriod: 2s
reservedSystemCPUs: 0-1
memoryManagerPolicy: Static
reservedMemory: [{{numaNode: {NODES[0]}, limits: {{memory: 16Mi}}}}]
evictionHard: {{memory.available: 16Mi}}
failCgroupV1: false
"""


def put(group: str, name: str, value: str, root: Path = CPUSETS) -> None:
    (root / group / name).write_text(value)


def get(group: str, name: str) -> str:
    return (CPUSETS / group / name).read_text().strip()


def groups() -> list[str]:
    """Return all groups of the kubelet, parents first."""
    found = [path for path in (CPUSETS / "kubepods.slice").rglob("*") if path.is_dir()]
    return ["kubepods.slice", *sorted(str(path.relative_to(CPUSETS)) for path in found)]


def values() -> Values:
    """Return every value that cpuctl may have changed."""
    names = ("cpuset.cpus", "cpuset.mems")
    return {f"{group}/{name}": get(group, name) for group in groups() for name in names}


def changes(before: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the values that changed, before and after."""
    return {key: [before[key], now] for key, now in values().items() if now != before[key]}


def make_group(path: str) -> None:
    """Make a group and its ancestors, each with its parent's lists if it needs some."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        group = CPUSETS / "/".join(parts[:end])
        if VERSION == 2:
            (group.parent / "cgroup.subtree_control").write_text("+cpuset +cpu")
        (group).mkdir(exist_ok=True)
        if VERSION == 1:
            for name in ("cpuset.cpus", "cpuset.mems"):
                (group / name).write_text((group.parent / name).read_text())


def make_node() -> list[subprocess.Popen[bytes]]:
    """Make the kubelet's files, its groups, and a process with two threads in every container."""
    for directory in (KUBELET, WORK, LOGS):
        directory.mkdir(parents=True)
    (KUBELET / "config.yaml").write_text(CONFIG)
    processes = []
    code = "import threading,time;threading.Thread(target=time.sleep,args=(9999,)).start()"
    for container in ALL:
        make_group(container.path)
        if VERSION == 1:
            (TIMES / container.path).mkdir(parents=True)
        (LOGS / f"{container.pod}_shop_app-{container.id}.log").symlink_to("/dev/null")
        process = subprocess.Popen([sys.executable, "-S", "-c", code])
        put(container.path, "cgroup.procs", str(process.pid))
        processes.append(process)
    time.sleep(1)
    return processes


def write_state(pool: str = POOL) -> None:
    """Write what a kubelet has allocated: CPUs for two containers, and memory for one of them."""
    entries = {each.uid: {"app": CPUSet.parse(each.due)} for each in (OWN, OTHER)}
    state = CPUStateFile(policy_name="static", default_cpu_set=CPUSet.parse(pool), entries=entries)
    (KUBELET / "cpu_manager_state").write_text(write_cpu_state(state))
    block = MemoryBlock(numa_affinity=(int(OWN.mems),), type="memory", size=1 << 20)
    memory = MemoryStateFile(policy_name="Static", entries={OWN.uid: {"app": (block,)}})
    (KUBELET / "memory_manager_state").write_text(write_memory_state(memory))


def go_wrong(*, bare: bool = False) -> Values:
    """Give every group its wrong value; OTHER's pod is too small for its container's expected CPUs.

    *bare*: LOOSE is without its own list, which v2 allows.
    """
    write_state()
    whole = f"0-{LAST}"
    for group in groups():
        if VERSION == 1 or group in (OTHER.pod_path, "kubepods.slice"):
            put(group, "cpuset.cpus", whole)
    for container in ALL:
        put(container.path, "cpuset.cpus", container.wrong)
    if bare:
        take_list(LOOSE)
    put(OWN.path, "cpuset.mems", NODES)
    put(OTHER.pod_path, "cpuset.cpus", OTHER.wrong)
    return values()


def take_list(container: Container) -> None:
    """Remove a group's list, which is possible only while nothing runs in it."""
    pids = get(container.path, "cgroup.procs").split()
    for pid in pids:
        put("", "cgroup.procs", pid)
    put(container.path, "cpuset.cpus", "\n")
    for pid in pids:
        put(container.path, "cgroup.procs", pid)


def cpuctl(*words: str, before: Harm = lambda: None) -> dict[str, Any]:
    """Run cpuctl in a child, and return its exit code (negative: the signal) and its answer."""
    return finish(start(*words, before=before))


def start(*words: str, before: Harm = lambda: None) -> int:
    process = os.fork()
    if process == 0:
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(WORK / f"{name}.{os.getpid()}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
        before()
        code = run(list(words))
        sys.stdout.flush()
        os._exit(code)
    return process


def finish(process: int) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    text = (WORK / f"stdout.{process}").read_text()
    document = json.loads(text) if text.startswith("{") else {}
    result = document.get("result") or {}
    return {
        "code": code,
        "stderr": (WORK / f"stderr.{process}").read_text(),
        "outcome": document.get("outcome"),
        "writes": len(document.get("writes", ())),
        "objections": sorted({each["code"] for each in document.get("objections", ())}),
        "failure": result.get("failure"),
        "notRestored": [_key(each) for each in result.get("notRestored", ())],
    }


def _key(file: dict[str, str]) -> str:
    """Name a file as ``values`` does: relative to its hierarchy, not to the directory of all hierarchies."""
    return f"{file['group']}/{file['file']}".removeprefix("/cpuset" if VERSION == 1 else "").lstrip("/")


def apply(*words: str, before: Harm = lambda: None) -> dict[str, Any]:
    return cpuctl("cgroups", "apply", "-o", "json", *words, before=before)


def begin_apply() -> int:
    """Start a run that writes and then watches, and return once everything is written."""
    process = start("cgroups", "apply", "-o", "json", "--yes")
    for _ in range(6000):  # emulation slows a guest down
        if get(OWN.path, "cpuset.mems") == OWN.mems:
            return process
        time.sleep(0.02)
    raise TimeoutError


def audit() -> int:
    code: int = cpuctl("audit", "-o", "json", "--check", "cpusets,threads,mems")["code"]
    return code


def harming(harms: Mapping[int, Harm]) -> Harm:
    """Return a function that first causes a fault in the child's writes with certain numbers."""

    def prepare() -> None:
        real, count = GroupFiles._write_once, iter(range(10**6))

        def write(files: GroupFiles, group: str, name: str, text: str) -> None:
            harms.get(next(count), lambda: None)()
            real(files, group, name, text)

        GroupFiles._write_once = write  # type: ignore[method-assign, assignment]

    return prepare


def allowed() -> dict[str, list[str]]:
    """Return where the threads of every container may run, according to the kernel."""
    found = {}
    for container in ALL:
        tids = get(container.path, THREADS).split()
        statuses = [Path(f"/proc/{tid}/status").read_text() for tid in tids]
        lists = {text.partition("Cpus_allowed_list:")[2].split()[0] for text in statuses}
        found[container.pod] = sorted(lists)
    return found


@contextmanager
def offline(cpu: int) -> Iterator[None]:
    switch = SYSTEM / f"cpu/cpu{cpu}/online"
    switch.write_text("0")
    try:
        yield
    finally:
        switch.write_text("1")
