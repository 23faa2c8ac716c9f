"""Stand-ins for programs in fixes: they do to a copy what the real ones do to a live node.

Called by the name of one of them, with the copy's path in NODE, and in PODS the file of what its API server
knows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from cpuctl.__main__ import main
from cpuctl.cpuset import CPUSet, union
from tests.support import kubelet_stand_in as kubelet

REPOSITORY = Path(__file__).parents[2]


def written(directory: Path, root: Path, **reported: str) -> dict[str, str]:
    """Write all of them, and return an environment in which they precede other programs."""
    directory.mkdir()
    for name in PROGRAMS:
        program = directory / name
        program.write_text(f"#!{sys.executable}\nfrom {__name__} import run\nrun({name!r})\n")
        program.chmod(0o755)
    path = f"{directory}:{os.defpath}"
    return {"PATH": path, "NODE": str(root), "PYTHONPATH": str(REPOSITORY), **reported}


def at(root: Path, fix: str) -> str:
    """Write a command for a copy of the node, whatever its path."""
    return re.sub(r"(?<![\w.\"])/(sys|proc|etc)/", rf'"{root}"/\1/', fix)


def groups_of(root: Path, part: str) -> Iterator[Path]:
    """Find the control groups whose path contains a text."""
    for file in (root / "sys/fs/cgroup").rglob("cpuset.cpus"):
        if part in str(file.parent):
            yield file.parent


def crictl(root: Path, words: list[str]) -> None:
    """``update --cpuset-cpus LIST ID``: the runtime writes the container's group."""
    verb, option, value, container = words
    assert verb == "update"
    name = {"--cpuset-cpus": "cpuset.cpus", "--cpuset-mems": "cpuset.mems"}[option]
    for group in groups_of(root, container):
        if group.name.find(container) >= 0:
            (group / name).write_text(f"{value}\n")


def chcpu(root: Path, words: list[str]) -> None:
    """Bring CPUs online, or take them offline."""
    action, cpus = words
    for cpu in CPUSet.parse(cpus):
        switch = root / f"sys/devices/system/cpu/cpu{cpu}/online"
        assert switch.parent.is_dir()
        switch.write_text(f"{int({'--enable': True, '--disable': False}[action])}\n")


def taskset(root: Path, words: list[str]) -> None:
    """``-cp LIST PID``, with ``-a`` for all threads of the process."""
    options, cpus, pid = words
    pattern = f"proc/{pid}/**/status" if "a" in options else f"proc/*/task/{pid}/status"
    found = [*root.glob(pattern), *root.glob(f"proc/{pid}/status")]
    assert found, words
    for file in found:
        text = re.sub(r"(Cpus_allowed_list:\t).*", rf"\g<1>{cpus}", file.read_text())
        file.write_text(text)


def migratepages(root: Path, words: list[str]) -> None:
    """``PID FROM TO``."""
    pid, before, after = words
    file = root / f"proc/{pid}/numa_maps"
    file.write_text(re.sub(rf"\bN{before}=", f"N{after}=", file.read_text()))


def systemctl(root: Path, words: list[str]) -> None:
    """``set-property --runtime UNIT AllowedCPUs=LIST`` moves its processes; restarts read current files."""
    verb, unit = words[0], words[-1]
    if unit == "kubelet":
        {"stop": kubelet.stop, "start": kubelet.start, "restart": kubelet.start}[verb](root)
        return
    if verb == "restart":
        {"crio": _restart_crio, "irqbalance": _restart_irqbalance}[unit](root)
        return
    assert words[:2] == ["set-property", "--runtime"], words
    unit, cpus = words[-2], unit.removeprefix("AllowedCPUs=")
    for file in root.glob("proc/*/cgroup"):
        if f"/{unit}" in file.read_text():
            taskset(root, ["-acp", cpus, file.parent.name])


def _restart_crio(root: Path) -> None:
    """Read its drop-ins, of which the last wins: they determine where the next container's monitor runs."""
    texts = [file.read_text() for file in sorted((root / "etc/crio/crio.conf.d").glob("*.conf"))]
    reported = [
        tomllib.loads(text).get("crio", {}).get("runtime", {}).get("infra_ctr_cpuset") for text in texts
    ]
    cpus = [each for each in reported if each][-1]
    old = next(each for each in root.glob("proc/*/status") if each.read_text().startswith("Name:\tconmon\n"))
    new = old.parent.with_name(f"{old.parent.name}00")
    shutil.copytree(old.parent, new)
    for file in new.rglob("status"):
        file.write_text(file.read_text().replace(f"\t{old.parent.name}\n", f"\t{new.name}\n"))
    (new / "task" / old.parent.name).rename(new / "task" / new.name)
    taskset(root, ["-acp", cpus, new.name])


def _restart_irqbalance(root: Path) -> None:
    """Move interrupts away from the CPUs that its settings ban."""
    files = [root / each for each in ("etc/default/irqbalance", "etc/sysconfig/irqbalance")]
    (text,) = (file.read_text() for file in files if file.exists())
    (listed,) = re.findall(r"^IRQBALANCE_BANNED_CPULIST=(\S+)$", text, re.MULTILINE)
    for file in root.glob("proc/irq/*/smp_affinity_list"):
        kept = CPUSet.parse(file.read_text().strip()) - CPUSet.parse(listed)
        assert kept, file
        file.write_text(f"{kept}\n")


def settle(root: Path) -> None:
    """Do what the kernel does when a list is written: apply it to the groups and threads below."""
    top, form = root / "sys/fs/cgroup", "cpuset.{}.effective"
    if (top / "cpuset").is_dir():
        top, form = top / "cpuset", "cpuset.effective_{}"
    names = {what: (f"cpuset.{what}", form.format(what), what.capitalize()) for what in ("cpus", "mems")}
    for file in sorted(top.rglob("cpuset.cpus"), key=lambda each: len(each.parts)):
        for what, (name, effective, who) in names.items():
            own = (file.parent / name).read_text().strip()
            above = file.parent.parent / effective
            given = above.read_text().strip() if above.exists() else ""
            # A group whose own list has no CPUs left uses its parent's.
            value = str(CPUSet.parse(own) & CPUSet.parse(given)) if own and given else own
            value = value or given
            if not value:
                continue
            value = str(CPUSet.parse(value) - _taken(top, file.parent)) if what == "cpus" else value
            (file.parent / effective).write_text(f"{value}\n")
            if own:
                _move(root, f"/{file.parent.relative_to(top)}", value, who)
    _switch(root)
    _count_pages(root)
    for file in root.glob("proc/irq/*/smp_affinity_list"):
        file.with_name("effective_affinity_list").write_text(file.read_text())


def _taken(top: Path, group: Path) -> CPUSet:
    """Return the CPUs that partitions next to a group have taken (*cgroup-v2*, ``cpuset.cpus.partition``)."""
    apart = (file.parent for file in top.rglob("cpuset.cpus.partition") if file.read_text() in _PARTITIONS)
    lists = [_exclusive(each) for each in apart if not group.is_relative_to(each)]
    return union(CPUSet.parse(text) for text in lists)


_PARTITIONS = ("root\n", "isolated\n")


def _exclusive(group: Path) -> str:
    """Return the CPUs of a partition: the exclusive ones if set, else all."""
    files = [group / "cpuset.cpus.exclusive", group / "cpuset.cpus"]
    texts = [file.read_text().strip() for file in files if file.exists()]
    return next(filter(None, texts), "")


def _count_pages(root: Path) -> None:
    """Count the huge pages that are left on every NUMA node, if groups report theirs."""
    used: dict[int, int] = {}
    reported = list((root / "sys/fs/cgroup").rglob("hugetlb.2MB.numa_stat"))
    for file in reported:
        for node, amount in re.findall(r" N(\d+)=(\d+)", file.read_text()):
            used[int(node)] = used.get(int(node), 0) + int(amount)
    for node, amount in used.items():
        pages = root / f"sys/devices/system/node/node{node}/hugepages/hugepages-2048kB"
        free = int((pages / "nr_hugepages").read_text()) - (amount >> 21)
        (pages / "free_hugepages").write_text(f"{free}\n")


def _switch(root: Path) -> None:
    """List the online CPUs by their switches; one without a switch is always online."""
    devices = root / "sys/devices/system/cpu"
    _switch_smt(devices)
    switches = {int(file.parent.name[3:]): file.read_text().strip() for file in devices.glob("cpu*/online")}
    online = CPUSet.parse((devices / "online").read_text().strip())
    off = CPUSet.of(cpu for cpu, switch in switches.items() if switch == "0")
    on = CPUSet.of(cpu for cpu, switch in switches.items() if switch == "1")
    (devices / "online").write_text(f"{(online | on) - off}\n")


def _switch_smt(devices: Path) -> None:
    """Switch the second thread of each core as ``smt/control`` says, if it exists."""
    control = devices / "smt/control"
    if control.exists():
        on = control.read_text().strip() == "on"
        for file in devices.glob("cpu*/topology/thread_siblings_list"):
            for cpu in [*CPUSet.parse(file.read_text().strip())][1:]:
                (devices / f"cpu{cpu}/online").write_text(f"{int(on)}\n")


def _move(root: Path, group: str, value: str, who: str) -> None:
    for reported in root.glob("proc/*/cgroup"):
        if any(line.endswith(f":{group}") for line in reported.read_text().splitlines()):
            for status in reported.parent.rglob("status"):
                allowed_list = re.search(rf"{who}_allowed_list:\t(.*)", status.read_text())
                # A thread that has pinned itself stays where it is, as long as that is allowed.
                if allowed_list and CPUSet.parse(allowed_list[1]) <= CPUSet.parse(value):
                    continue
                text = re.sub(rf"({who}_allowed_list:\t).*", rf"\g<1>{value}", status.read_text())
                status.write_text(text)


def kubectl(root: Path, words: list[str]) -> None:
    """``-n NAMESPACE delete pod NAME``, and its workload's replacement; ``get pod -o json NAME``."""
    option, namespace, verb, kind, *rest = words
    assert (option, kind) == ("-n", "pod"), words
    name = rest[-1]
    if verb == "get":
        sys.stdout.write(kubelet.pod_json(namespace, name))
        return
    assert (verb, rest) == ("delete", [name]), words
    kubelet.replace_pod(root, namespace, name)


def sudo(root: Path, words: list[str]) -> None:
    """Run a command as root, for whom file modes do not matter."""
    for file in (root / kubelet.DIRECTORY).iterdir():
        if not os.access(file, os.R_OK):
            file.chmod(0o600)
    sys.exit(subprocess.run(words, check=False).returncode)


def cpuctl(root: Path, words: list[str]) -> None:
    """Run the real one; where no node is named, on the copy and with what is known about its kubelet."""
    if not {"-m", "--root"} & set(words):
        there = "-m" if words[:2] == ["checkpoint", "verify"] else "--root"
        named = [os.environ["PODS"] if word == "FILE" else word for word in words]
        words = [*named, there, str(root), *os.environ["KUBELET"].split()]
    sys.argv[1:] = words
    main()


PROGRAMS: dict[str, Callable[[Path, list[str]], None]] = {
    each.__name__: each for each in (crictl, taskset, chcpu, migratepages, systemctl, kubectl, sudo, cpuctl)
}


def run(name: str) -> None:
    """Act as the program of this name."""
    PROGRAMS[name](Path(os.environ["NODE"]), sys.argv[1:])
