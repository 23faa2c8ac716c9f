"""Runs in a guest: a node whose containers have wrong CPUs, which ``cpuctl cgroups apply`` is to mend.

Every scenario begins with the same wrong values and leaves facts in /out/apply.json for the tests outside.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cpuctl.cgroups.group_files import GroupFiles
from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cli.app import run
from cpuctl.cpuset import CPUSet

CGROUPS = Path("/sys/fs/cgroup")
VERSION = 2 if (CGROUPS / "cgroup.controllers").exists() else 1
CPUSETS = CGROUPS if VERSION == 2 else CGROUPS / "cpuset"
TIMES = CGROUPS if VERSION == 2 else CGROUPS / "cpu"
EFFECTIVE = "cpuset.cpus.effective" if VERSION == 2 else "cpuset.effective_cpus"
KUBELET = Path("/var/lib/kubelet")
LOGS = Path("/var/log/containers")
WORK = Path("/var/work")
CPUS = CPUSet.parse(Path("/sys/devices/system/cpu/online").read_text().strip())
LAST = max(CPUS)

Values = dict[str, str]


class Container:
    """A container to be: its group, the CPUs that it is due, and those it has instead."""

    def __init__(self, pod: str, uid: str, qos: str, due: str, wrong: str) -> None:
        self.pod, self.uid, self.due, self.wrong = pod, uid, due, wrong
        self.id = (pod.encode().hex() * 64)[:64]
        middle = f"kubepods-{qos}.slice/kubepods-{qos}-" if qos else "kubepods-"
        self.pod_path = f"kubepods.slice/{middle}pod{uid.replace('-', '_')}.slice"
        self.path = f"{self.pod_path}/cri-containerd-{self.id}.scope"

    @property
    def name(self) -> str:
        return f"shop/{self.pod}/app"


POOL = f"0-3,8-{LAST}"
OWN = Container("own", "11111111-0000-0000-0000-000000000001", "", "4-5", f"2-{LAST}")
OTHER = Container("other", "11111111-0000-0000-0000-000000000002", "", "6-7", "4-5")
SHARED = Container("shared", "11111111-0000-0000-0000-000000000003", "burstable", POOL, f"0-{LAST}")
# On v2 this one has no list of its own.
LOOSE = Container("loose", "11111111-0000-0000-0000-000000000004", "besteffort", POOL, "")
ALL = (OWN, OTHER, SHARED, LOOSE)


def put(group: str, name: str, value: str, root: Path = CPUSETS) -> None:
    (root / group / name).write_text(value)


def get(group: str, name: str) -> str:
    return (CPUSETS / group / name).read_text().strip()


def groups() -> list[str]:
    """Name all groups of the kubelet, parents first."""
    found = [path for path in (CPUSETS / "kubepods.slice").rglob("*") if path.is_dir()]
    return ["kubepods.slice", *sorted(str(path.relative_to(CPUSETS)) for path in found)]


def values() -> Values:
    return {group: get(group, "cpuset.cpus") for group in groups()}


def make_group(path: str) -> None:
    """Make a group and those above it, each with its parent's lists."""
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
    config = "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\ncpuManagerReconcilePeriod: 4s\n"
    (KUBELET / "config.yaml").write_text(
        f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{config}"
    )
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
    entries = {each.uid: {"app": CPUSet.parse(each.due)} for each in (OWN, OTHER)}
    state = CPUStateFile(policy_name="static", default_cpu_set=CPUSet.parse(pool), entries=entries)
    (KUBELET / "cpu_manager_state").write_text(write_cpu_state(state))


def go_wrong() -> Values:
    """Give every group its wrong value; OTHER's pod is too small for what its container is due."""
    write_state()
    whole = f"0-{LAST}"
    for group in groups():
        if VERSION == 1 or group in (OTHER.pod_path, "kubepods.slice"):
            put(group, "cpuset.cpus", whole)
    for container in ALL:
        # A group with tasks cannot lose its list on v2: the one without has got none since it was made.
        if container.wrong:
            put(container.path, "cpuset.cpus", container.wrong)
        elif VERSION == 1 or get(container.path, "cpuset.cpus"):
            put(container.path, "cpuset.cpus", whole)
    put(OTHER.pod_path, "cpuset.cpus", "4-5")
    return values()


def cpuctl(*words: str, before: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Run cpuctl in a child, and return its exit code (negative: the signal) and its answer."""
    process = start(*words, before=before)
    return finish(process)


def start(*words: str, before: Callable[[], None] = lambda: None) -> int:
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
    stderr = (WORK / f"stderr.{process}").read_text()
    return {
        "code": code,
        "stderr": stderr,
        "outcome": document.get("outcome"),
        "writes": len(document.get("writes", ())),
        "objections": sorted({each["code"] for each in document.get("objections", ())}),
        "failure": (document.get("result") or {}).get("failure"),
        "notRestored": (document.get("result") or {}).get("notRestored"),
    }


def apply(*words: str, before: Callable[[], None] = lambda: None) -> dict[str, Any]:
    return cpuctl("cgroups", "apply", "-o", "json", *words, before=before)


def audit() -> int:
    code: int = cpuctl("audit", "-o", "json", "--check", "cpusets,threads")["code"]
    return code


def breaking(number: int, harm: Callable[[], None]) -> Callable[[], None]:
    """Return what makes the child's write of that *number* do harm instead of writing."""

    def prepare() -> None:
        real, count = GroupFiles._write_once, iter(range(10**6))

        def write(files: GroupFiles, group: str, name: str, text: str) -> None:
            if next(count) == number:
                harm()
            real(files, group, name, text)

        GroupFiles._write_once = write  # type: ignore[method-assign, assignment]

    return prepare


def refuse() -> None:
    raise PermissionError(13, "refused by the test")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def allowed() -> dict[str, list[str]]:
    """Return where the threads of every container may run, as the kernel says."""
    found = {}
    for container in ALL:
        statuses = [
            Path(f"/proc/{tid}/status").read_text()
            for tid in get(container.path, "cgroup.threads" if VERSION == 2 else "tasks").split()
        ]
        lists = {text.partition("Cpus_allowed_list:")[2].split()[0] for text in statuses}
        found[container.pod] = sorted(lists)
    return found


@contextmanager
def offline(cpu: int) -> Iterator[None]:
    switch = Path(f"/sys/devices/system/cpu/cpu{cpu}/online")
    switch.write_text("0")
    try:
        yield
    finally:
        switch.write_text("1")


# Scenarios. Each returns facts, which the tests outside judge.


def dry_run() -> dict[str, Any]:
    before = go_wrong()
    plain, strict = apply(), apply("--exit-code")
    return {"plain": plain, "strict": strict["code"], "same": values() == before, "audit": audit()}


def done() -> dict[str, Any]:
    go_wrong()
    log_file = WORK / "log.jsonl"
    result = apply("--yes", "--log", str(log_file))
    log = [json.loads(line) for line in log_file.read_text().splitlines()]
    return {
        "result": result,
        "lists": {each.pod: get(each.path, "cpuset.cpus") for each in ALL},
        "effective": {each.pod: get(each.path, EFFECTIVE) for each in ALL},
        "due": {each.pod: each.due for each in ALL},
        "threads": allowed(),
        "steps": [line["step"] for line in log],
        "again": apply("--yes"),
        "audit": audit(),
    }


def by_audit() -> dict[str, Any]:
    go_wrong()
    made = start("audit", "-o", "plan", "--exit-zero")
    finish(made)
    plan = WORK / f"stdout.{made}"
    write_state(pool=f"0-3,9-{LAST}")
    moved = apply("-f", str(plan), "--yes", "--no-wait")
    write_state()
    result = apply("-f", str(plan), "--yes", "--no-wait")
    return {"moved": moved, "result": result, "audit": audit()}


def refused_writes() -> list[dict[str, Any]]:
    """Let every write fail, one after the other."""
    facts = []
    for number in range(apply()["writes"] if go_wrong() else 0):
        before = go_wrong()
        result = apply("--yes", "--no-wait", before=breaking(number, refuse))
        after = values()
        facts.append(
            {
                **result,
                "changed": {key: [before[key], after[key]] for key in after if after[key] != before[key]},
            }
        )
    return facts


def killed() -> list[dict[str, Any]]:
    """Kill cpuctl at every write; then audit, apply and audit again."""
    facts = []
    for number in range(apply()["writes"] if go_wrong() else 0):
        go_wrong()
        result = apply("--yes", "--no-wait", before=breaking(number, die))
        found = audit()
        facts.append(
            {"killed": result["code"], "found": found, "again": apply("--yes", "--no-wait"), "audit": audit()}
        )
    return facts


def hotplug() -> dict[str, Any]:
    go_wrong()
    with offline(5):
        refused = apply("--yes", "--no-wait")
        forced = apply("--yes", "--no-wait", "--force-offline")
    return {"refused": refused, "forced": forced, "result": apply("--yes", "--no-wait"), "audit": audit()}


def hotplug_while_watching() -> dict[str, Any]:
    """On v2 a CPU that goes is only out of force; on v1 it is out of the lists, too."""
    go_wrong()
    process = start("cgroups", "apply", "-o", "json", "--yes")
    wait_for(OTHER)
    with offline(9):
        result = finish(process)
    return {"result": result, "again": apply("--yes", "--no-wait"), "audit": audit()}


def wait_for(container: Container) -> None:
    for _ in range(6000):  # emulation makes a guest's seconds short
        if get(container.path, "cpuset.cpus") == container.due:
            return
        time.sleep(0.05)
    raise TimeoutError(container.name)


def without_a_list() -> dict[str, Any]:
    """A group with tasks that had no list cannot be without again: it gets what it inherited."""
    before = go_wrong()
    last = apply()["writes"] - 1
    result = apply("--yes", "--no-wait", before=breaking(last, refuse))
    after = values()
    return {
        "result": result,
        "changed": {key: after[key] for key in after if after[key] != before[key]},
        "loose": LOOSE.path,
        "inherited": f"0-{LAST}",
    }


def shrink_below_a_child() -> dict[str, Any]:
    """A runtime that has the processes in a group below the container's, with the container's CPUs."""
    go_wrong()
    child = f"{OWN.path}/init"
    (CPUSETS / child).mkdir()
    if VERSION == 2:
        move(OWN.path, child)
        put(OWN.path, "cgroup.subtree_control", "+cpuset")
    else:
        put(child, "cpuset.mems", get(OWN.path, "cpuset.mems"))
    put(child, "cpuset.cpus", OWN.wrong)
    result = apply("--yes", "--no-wait")
    lists = [get(OWN.path, "cpuset.cpus"), get(child, "cpuset.cpus")]
    if VERSION == 2:
        put(OWN.path, "cgroup.subtree_control", "-cpuset")
        move(child, OWN.path)
    (CPUSETS / child).rmdir()
    return {"result": result, "lists": lists}


def move(group: str, other: str) -> None:
    for pid in get(group, "cgroup.procs").split():
        put(other, "cgroup.procs", pid)


def partitions() -> dict[str, Any]:
    """A partition beside the kubelet's groups takes CPUs; one on the way to a container is no member."""
    go_wrong()
    # Only a list that no neighbour shares makes a partition that is valid.
    put("kubepods.slice", "cpuset.cpus", f"0-5,7-{LAST}")
    (CPUSETS / "greedy").mkdir()
    put("greedy", "cpuset.cpus", "6")
    put("greedy", "cpuset.cpus.partition", "root")
    taken = apply("--yes", "--no-wait")
    (CPUSETS / "greedy").rmdir()
    put(OWN.path, "cpuset.cpus.partition", "isolated")
    on_the_way = apply("--yes", "--no-wait")
    put(OWN.path, "cpuset.cpus.partition", "member")
    return {"taken": taken, "onTheWay": on_the_way, "result": apply("--yes", "--no-wait")}


def competitor() -> dict[str, Any]:
    """Somebody writes the old value again, as a kubelet does that has not been asked."""
    before = go_wrong()
    process = start("cgroups", "apply", "-o", "json", "--yes")
    wait_for(OTHER)
    time.sleep(0.3)
    put(SHARED.path, "cpuset.cpus", "0-2")
    result = finish(process)
    after = values()
    changed = [key for key in after if after[key] != before[key] and before[key]]
    return {
        "result": result,
        "left": get(SHARED.path, "cpuset.cpus"),
        "changed": changed,
        "rival": SHARED.path,
    }


def state_moves_on() -> dict[str, Any]:
    before = go_wrong()
    process = start("cgroups", "apply", "-o", "json", "--yes")
    wait_for(OTHER)
    write_state(pool=f"0-3,9-{LAST}")
    result = finish(process)
    after = values()
    return {"result": result, "changed": [key for key in after if after[key] != before[key] and before[key]]}


def terminated() -> dict[str, Any]:
    facts = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        before = go_wrong()
        process = start("cgroups", "apply", "-o", "json", "--yes")
        wait_for(OTHER)
        os.kill(process, getattr(signal, name))
        result = finish(process)
        after = values()
        facts[name] = {
            **result,
            "changed": [key for key in after if after[key] != before[key] and before[key]],
        }
    return facts


def locked_out() -> dict[str, Any]:
    before = go_wrong()
    handle = os.open(CPUSETS, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    result = apply("--yes", "--no-wait")
    os.close(handle)
    return {"result": result, "same": values() == before}


def references() -> dict[str, Any]:
    go_wrong()
    apply("--yes", "--no-wait")
    return {
        "taken": apply(f"{SHARED.name}=4-6", "--yes", "--no-wait"),
        "forced": apply(f"{SHARED.name}=4-6", "--yes", "--no-wait", "--force-exclusive"),
        "given": get(SHARED.path, "cpuset.cpus"),
        "reserved": apply(f"{OWN.name}=0", "--yes", "--no-wait"),
        "swapped": apply(f"{OWN.name}=6-7", f"{OTHER.name}=4-5", "--yes", "--no-wait", "--force-exclusive"),
        "lists": [get(OWN.path, "cpuset.cpus"), get(OTHER.path, "cpuset.cpus")],
    }


def quota() -> dict[str, Any]:
    go_wrong()
    name, limit = ("cpu.max", "200000 100000") if VERSION == 2 else ("cpu.cfs_quota_us", "200000")
    for group in (OWN.pod_path, OWN.path):
        put(group, name, limit, TIMES)
    result = apply("--yes", "--no-wait", "--quota")
    lists = [(TIMES / group / name).read_text().strip() for group in (OWN.pod_path, OWN.path)]
    return {
        "result": result,
        "quotas": lists,
        "audit": cpuctl("audit", "-o", "json", "--check", "quota")["code"],
    }


SCENARIOS: tuple[Callable[[], Any], ...] = (
    dry_run,
    *((without_a_list,) if VERSION == 2 else ()),
    refused_writes,
    killed,
    done,
    by_audit,
    hotplug,
    hotplug_while_watching,
    shrink_below_a_child,
    competitor,
    state_moves_on,
    terminated,
    locked_out,
    references,
    quota,
    *((partitions,) if VERSION == 2 else ()),
)


def warm_up() -> None:
    """Import in this process what its children need: under emulation that takes longer than all the rest."""
    go_wrong()
    with (WORK / "warm-up").open("w") as file, contextlib.redirect_stdout(file):
        run(["cgroups", "apply", "-o", "json", "--exit-code", "--quota"])
        run(["audit", "-o", "plan"])
        run(["cgroups", "apply", "-o", "json", "-f", str(KUBELET / "cpu_manager_state")])
    gc.freeze()


def main(chosen: list[str]) -> None:
    """Play the chosen scenarios, or all."""
    processes = make_node()
    warm_up()
    facts: dict[str, Any] = {}
    for scenario in SCENARIOS:
        if chosen and scenario.__name__ not in chosen:
            continue
        began = time.monotonic()
        try:
            facts[scenario.__name__] = scenario()
        except Exception as error:  # noqa: BLE001  # the other scenarios still tell something
            facts[scenario.__name__] = f"{type(error).__name__}: {error}"
        sys.stdout.write(f"{scenario.__name__}: {time.monotonic() - began:.1f} s\n")
        sys.stdout.flush()
        Path("/out/apply.json").write_text(json.dumps(facts, indent=1))
    for process in processes:
        process.kill()


if __name__ == "__main__":
    main(sys.argv[1:])
