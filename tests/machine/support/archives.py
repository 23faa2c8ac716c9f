"""Support archives in the shape that their tools give them, of machines that are described or recorded."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import CPU_DIRECTORY, Machine
from tests.machine.sysfs_writer import small_machine

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
STATIC = f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,4\n"
COMMAND = "/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --node-ip=192.0.2.7 --max-pods=60"
THREADS = "root           -  0.0    -      -      - -        -    Ssl  08:01   0:03 -\n"
HEADER = "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"


def processes(command: str = COMMAND) -> str:
    """Write what ``ps auxwwwm`` prints of a node with a kubelet and somebody who talks of one."""
    return (
        f"{HEADER}root           1  0.0  0.0 169844 13128 ?        -    08:00   0:02 /sbin/init\n"
        f"{THREADS}root        1984  2.1  0.6 3131844 99812 ?      -    08:01   0:12 {command}\n{THREADS}"
        "core        2001  0.0  0.0   6408  2224 pts/0    -    08:05   0:00 tail kubelet --config=/tmp/x\n"
    )


def lscpu_table(machine: Machine) -> str:
    """Write what ``lscpu -ae`` prints: its own numbers of cores, sockets and caches."""
    cores = {cpu: place for place, core in enumerate(machine.cores) for cpu in core}
    caches = {cpu: place for place, group in enumerate(machine.l3_groups) for cpu in group}
    sockets = {cpu: place for place, cpus in enumerate(machine.sockets.values()) for cpu in cpus}
    rows = [
        f"{each.number:3} {each.numa_node:4} {sockets[each.number]:6} {cores[each.number]:4} "
        f"{cores[each.number]}:{cores[each.number]}:{cores[each.number]}:{caches[each.number]} yes\n"
        for each in machine.cpus
    ]
    offline = [f"{cpu:3}    -      -    - -                no\n" for cpu in machine.offline]
    return "".join(["CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n", *rows, *offline])


def sosreport_files(machine: Mapping[str, str] | None = None, /, **more: str) -> dict[str, str]:
    """Return the files of a sosreport of a node, which by default has eight CPUs; *more* by other names."""
    names = {"ps": "sos_commands/process/ps_auxwwwm", "lscpu": "sos_commands/processor/lscpu_-ae"}
    told = {
        "ps": processes(),
        "kubelet_conf": STATIC,
        "rpms": "kernel-5.14\nopenshift-kubelet-4.20.0-2026.x86_64\n",
    }
    told |= more
    places = {"kubelet_conf": "etc/kubernetes/kubelet.conf", "rpms": "installed-rpms"} | names
    return {
        **(machine or small_machine()),
        "version.txt": "sosreport: 4.10.2\n",
        "sos_commands/host/uptime": "08:09:10 up 3 days\n",
        **{places.get(name, name): text for name, text in told.items()},
    }


def without_directories(files: Mapping[str, str], cpus: CPUSet) -> dict[str, str]:
    """Leave out the directories of CPUs."""
    left = tuple(f"{CPU_DIRECTORY}/cpu{cpu}/" for cpu in cpus)
    return {path: text for path, text in files.items() if not path.startswith(left)}


def write_tree(files: Mapping[str, str | bytes], root: Path) -> Path:
    """Write files below a directory and return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def tar_of(files: Mapping[str, str | bytes], top: str = "", mode: str = "w:gz") -> bytes:
    """Pack files below one directory."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(f"{top}/{name}" if top else name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()
