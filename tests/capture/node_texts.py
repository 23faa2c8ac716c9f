"""A small node as file texts: a machine, a kubelet with secrets around it, pods, processes, interrupts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from cpuctl.capture.collected import Collected
from cpuctl.capture.node.node import Node, record
from cpuctl.errors import NodeAccessError
from cpuctl.machine.tree import MemoryTree, Tree
from tests.machine.sysfs_writer import small_machine

UID = "1b2f3c4d-1111-2222-3333-444455556666"
SYSTEMD_UID = UID.replace("-", "_")
STATIC_UID = "0123456789abcdef0123456789abcdef"
CONTAINER_ID = "c0ffee" + "0" * 58
SECRETS = ("SECRET-HEADER", "SECRET-KEY", "SECRET-UNKNOWN", "SECRET-FLAG", "SECRET-ARGUMENT", "SECRET-SERIAL")

KUBEPODS = "kubepods.slice/kubepods-burstable.slice"
POD = f"{KUBEPODS}/kubepods-burstable-pod{SYSTEMD_UID}.slice"
SCOPE = f"{POD}/cri-containerd-{CONTAINER_ID}.scope"

CONFIG = f"""\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
cpuManagerPolicyOptions:
  full-pcpus-only: "true"
kubeletCgroups: /acme.slice
staticPodURLHeader:
  Authorization: ["Bearer {SECRETS[0]}"]
tlsPrivateKeyFile: /etc/{SECRETS[1]}.pem
bootstrapToken: {SECRETS[2]}
"""
CPU_STATE = json.dumps(
    {
        "policyName": "static",
        "defaultCpuSet": "0,3-7",
        "entries": {UID: {"trading": "1-2"}},
        "checksum": 3307220009,
    }
)
FLAGS = ("--config=/var/lib/kubelet/config.yaml", "--hostname-override=db7.acme.example", "--max-pods=200")
COMMAND = ("/usr/bin/kubelet", *FLAGS, f"--token={SECRETS[3]}", "-v=2")


def status(name: str, pid: int, *, parent: int = 1, user: int = 0, cpus: str = "0-7", ids: str = "") -> str:
    """Write the lines of /proc/PID/status that are read, and some others."""
    return (
        f"Name:\t{name}\nUmask:\t0022\nPid:\t{pid}\nPPid:\t{parent}\nUid:\t{user}\t{user}\t{user}\t{user}\n"
        f"NSpid:\t{ids or pid}\nCpus_allowed:\tff\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n"
    )


def process(pid: int, name: str, cgroup: str, *command: str, **facts: int | str) -> dict[str, str]:
    """Return the files of a process with one thread."""
    text = status(name, pid, **facts)  # type: ignore[arg-type]  # each is what status() takes
    return {
        f"proc/{pid}/status": text,
        f"proc/{pid}/task/{pid}/status": text,
        f"proc/{pid}/cgroup": f"0::{cgroup}\n",
        f"proc/{pid}/cmdline": "".join(f"{word}\0" for word in command),
        f"proc/{pid}/environ": f"PASSWORD={SECRETS[4]}\0",
    }


def groups_v2() -> dict[str, str]:
    """Return a v2 hierarchy with one pod of one container."""
    top = "sys/fs/cgroup"
    files = {
        f"{top}/cgroup.controllers": "cpuset cpu memory\n",
        f"{top}/cpuset.cpus.effective": "0-7\n",
        f"{top}/cpu.stat": "usage_usec 1\n",
        f"{top}/system.slice/cpu.weight": "100\n",
    }
    for group in ("kubepods.slice", KUBEPODS, POD, SCOPE):
        files |= {
            f"{top}/{group}/cgroup.procs": "",
            f"{top}/{group}/cpu.weight": "39\n",
            f"{top}/{group}/cpu.max": "max 100000\n",
            f"{top}/{group}/cpuset.cpus.effective": "1-2\n",
            f"{top}/{group}/cpuset.cpus": "1-2\n" if group == SCOPE else "\n",
            f"{top}/{group}/hugetlb.2MB.max": "0\n",
            f"{top}/{group}/memory.max": "max\n",
            f"{top}/{group}/memory.stat": "anon 1\n",
        }
    return files


def node_texts() -> dict[str, str]:
    """Return all files of the node."""
    return {
        **small_machine(),
        "proc/cpuinfo": f"processor\t: 0\nmodel name\t: Test CPU\nflags\t: fpu\nSerial\t: {SECRETS[5]}\n\n",
        "proc/sys/kernel/arch": "x86_64\n",
        "proc/sys/kernel/osrelease": "6.12.0-test\n",
        "proc/sys/kernel/hostname": "db7.acme.example\n",
        **groups_v2(),
        **process(1, "systemd", "/init.scope"),
        **process(2, "kthreadd", "/", parent=0),
        **process(9, "kworker/0:1", "/", parent=2),
        **process(70, "kubelet", "/system.slice/kubelet.service", *COMMAND),
        **process(80, "trading-engine", f"/{SCOPE}", "trade", SECRETS[4], cpus="1-2", ids="80 1"),
        "proc/irq/default_smp_affinity": "ff\n",
        "proc/irq/24/smp_affinity_list": "0-3\n",
        "proc/irq/24/effective_affinity_list": "2\n",
        "proc/irq/24/spurious": "count 0\n",
        "proc/irq/24/eth0-rx-0/unused": "",
        "var/lib/kubelet/config.yaml": CONFIG,
        "var/lib/kubelet/cpu_manager_state": CPU_STATE,
        "var/lib/kubelet/pki/kubelet.key": SECRETS[1],
    }


class ClosedTree:
    """A tree with some paths that this user may not read."""

    def __init__(self, below: Tree, *closed: str) -> None:
        self._below = below
        self._closed = closed

    def read(self, path: str) -> str | None:
        self._refuse(path)
        return self._below.read(path)

    def followed(self, path: str) -> str | None:
        return self._below.followed(path)

    def in_the_way(self, path: str) -> str:
        return self._below.in_the_way(path)

    def names(self, path: str) -> list[str]:
        self._refuse(path)
        return list(self._below.names(path))

    def _refuse(self, path: str) -> None:
        if path.startswith(self._closed or ("no such path",)):
            raise NodeAccessError("cannot be read: permission denied", where=path)


def node(
    texts: Mapping[str, str | None] | None = None,
    *closed: str,
    follow: Callable[[str], str | None] = str,
    architecture: str = "",
    kubelet_version: tuple[str, str] = ("", ""),
) -> Node:
    """Make a node from texts, all of them by default; *closed* are prefixes of unreadable paths."""
    tree = ClosedTree(MemoryTree(node_texts() if texts is None else texts), *closed)
    return Node(tree=tree, follow=follow, architecture=architecture, kubelet_version=kubelet_version)


def recorded(texts: Mapping[str, str | None] | None = None, *closed: str) -> Collected:
    """Record such a node."""
    return record(node(texts, *closed))


def written(texts: Mapping[str, str | None], root: Path) -> Path:
    """Write texts below a directory."""
    for directory in dict.fromkeys(name.rpartition("/")[0] for name in texts):
        (root / directory).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (root / name).write_text(text or "", encoding="utf-8")
    return root
