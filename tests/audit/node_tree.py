"""A small node as file texts, with nothing wrong until a test plants a fault.

8 CPUs, 2 NUMA nodes, core 0 is CPUs 0 and 4. Core 0 is reserved; the database has core 1 exclusively, and all
others share the rest.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cpuctl.audit.checks import audit
from cpuctl.audit.finding import Finding
from cpuctl.audit.reading import NodeContext, take_snapshot
from cpuctl.audit.snapshot import ConfiguredKubelet, KubeletState, NodeSnapshot
from cpuctl.capture.collected import no_progress
from cpuctl.capture.node.files import NodeFiles
from cpuctl.cgroups.container_logs import LogName
from cpuctl.cgroups.names import Driver, group_path
from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.memory_state import write_memory_state
from cpuctl.checkpoints.model import CPUStateFile, MemoryBlock, MemoryStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.machine.sources import read_machine_tree
from cpuctl.machine.tree import MemoryTree
from cpuctl.pods.cgroups.linux_resources import linear_weight
from cpuctl.pods.model import QosClass, StoredPod
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.records import replace
from tests.machine.sysfs_writer import small_machine
from tests.support.manifests import read_pods
from tests.support.pod_groups import pod_components

DATABASE = "11111111-aaaa-bbbb-cccc-000000000001"
WEB = "22222222-aaaa-bbbb-cccc-000000000002"
SERVER, SANDBOX, FRONT = "5e" * 32, "a0" * 32, "f0" * 32
RESERVED, OWN, POOL = "0,4", "1,5", "0,2-4,6-7"
_RUNTIMES = {Driver.SYSTEMD: "cri-containerd-{}.scope", Driver.CGROUPFS: "{}"}


def status(name: str, pid: int, cpus: str, mems: str = "0-1", parent: int = 1) -> str:
    return (
        f"Name:\t{name}\nPPid:\t{parent}\nUid:\t0\t0\t0\t0\nNSpid:\t{pid}\n"
        f"Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t{mems}\n"
    )


@dataclass
class NodeTree:
    """A node that can be changed file by file; ``version`` is its cgroup version."""

    version: int = 2
    driver: Driver = Driver.SYSTEMD
    root: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=small_machine)
    state: CPUStateFile = field(
        default_factory=lambda: CPUStateFile(
            policy_name="static",
            default_cpu_set=CPUSet.parse(POOL),
            entries={DATABASE: {"server": CPUSet.parse(OWN)}},
        )
    )
    memory: MemoryStateFile | None = field(
        default_factory=lambda: MemoryStateFile(
            policy_name="Static",
            entries={DATABASE: {"server": (MemoryBlock(numa_affinity=(0,), type="memory", size=1 << 30),)}},
        )
    )
    configured: ConfiguredKubelet = field(
        default_factory=lambda: ConfiguredKubelet(
            policy="static", memory_policy="Static", reserved=CPUSet.parse(RESERVED), full_cores=True
        )
    )
    named: bool = True
    runtime: Mapping[str, LogName] = field(default_factory=dict)

    # Control groups

    def at(self, controller: str) -> str:
        """Return the mount of a controller."""
        if self.version == 2:
            return "sys/fs/cgroup"
        return f"sys/fs/cgroup/{'cpu,cpuacct' if controller == 'cpu' else controller}"

    def pod(self, uid: str, qos: QosClass) -> str:
        return group_path(pod_components(uid, qos, self.root), self.driver)

    def container(self, uid: str, container: str, qos: QosClass = QosClass.GUARANTEED) -> str:
        return f"{self.pod(uid, qos)}/{_RUNTIMES[self.driver].format(container)}"

    @property
    def server(self) -> str:
        """The cgroup of the database's container."""
        return self.container(DATABASE, SERVER)

    @property
    def front(self) -> str:
        """The cgroup of the web's container."""
        return self.container(WEB, FRONT, QosClass.BURSTABLE)

    def put(self, controller: str, group: str, name: str, text: str) -> None:
        self.files[f"{self.at(controller)}{group}/{name}"] = f"{text}\n"

    def cpuset(self, group: str, cpus: str = "", effective: str = "", mems: str = "", real: str = "") -> None:
        """Write a cgroup's sets; omitted sets look as in a cgroup without its own lists."""
        names = ("cpuset.cpus.effective", "cpuset.mems.effective")
        if self.version == 1:
            cpus, mems = cpus or "0-7", mems or "0-1"
            names = ("cpuset.effective_cpus", "cpuset.effective_mems")
        self.put("cpuset", group, "cpuset.cpus", cpus)
        self.put("cpuset", group, names[0], effective or cpus or "0-7")
        self.put("cpuset", group, "cpuset.mems", mems)
        self.put("cpuset", group, names[1], real or mems or "0-1")

    def quota(self, group: str, quota: int | None, shares: int = 1024) -> None:
        """Write a cgroup's share of CPU time; *shares* become a weight as the kubelet converts them."""
        if self.version == 2:
            self.put("cpu", group, "cpu.max", f"{quota or 'max'} 100000")
            self.put("cpu", group, "cpu.weight", str(linear_weight(shares)))
        else:
            self.put("cpu", group, "cpu.cfs_quota_us", str(quota or -1))
            self.put("cpu", group, "cpu.cfs_period_us", "100000")
            self.put("cpu", group, "cpu.shares", str(shares))

    # Processes and interrupts

    def process(self, pid: int, name: str, group: str, cpus: str, **more: Any) -> None:
        """Add a process of one thread, or another thread (``of`` is the process)."""
        of = more.pop("of", pid)
        fixed = more.pop("fixed", False)
        text = status(name, pid, cpus, **more)
        self.files[f"proc/{of}/task/{pid}/status"] = text
        if of == pid:
            flags = (
                0x40 | (0x0400_0000 if fixed else 0) | (0x0020_0000 if more.get("parent") in (0, 2) else 0)
            )
            rest = " ".join(["0"] * 12)
            self.files[f"proc/{pid}/status"] = text
            self.files[f"proc/{pid}/stat"] = f"{pid} ({name}) S 1 1 1 0 -1 {flags} {rest} {pid * 10} 0"
            lines = f"0::{group}\n" if self.version == 2 else f"3:cpuset:{group}\n1:name=systemd:/other\n"
            self.files[f"proc/{pid}/cgroup"] = lines

    def interrupt(self, number: int, action: str, allowed: str, effective: str) -> None:
        self.files[f"proc/irq/{number}/smp_affinity_list"] = f"{allowed}\n"
        self.files[f"proc/irq/{number}/effective_affinity_list"] = f"{effective}\n"
        self.files[f"proc/irq/{number}/{action}/unused"] = ""

    # Results

    def pods(self) -> dict[str, StoredPod]:
        found = read_pods(json.dumps(PODS), "pods.json").pods
        return {pod.uid: stored_pod(pod, PodRules()) for pod in found}

    def known(self, pods: Mapping[str, StoredPod] | None = None) -> NodeContext:
        machine = read_machine_tree(MemoryTree(dict(self.files)), "node").machine
        return NodeContext(
            machine=machine,
            state=KubeletState(cpu=self.state, memory=self.memory),
            configured=self.configured,
            pods=pods if pods is not None else self.pods() if self.named else None,
            cgroup_root="/".join(self.root),
            runtime=self.runtime,
        )

    def snapshot(self, pods: Mapping[str, StoredPod] | None = None) -> NodeSnapshot:
        files = NodeFiles(MemoryTree(dict(self.files)), str)
        return take_snapshot(files, self.known(pods), no_progress)

    def findings(self, *checks: str) -> tuple[Finding, ...]:
        return audit(self.snapshot(), checks)

    def codes(self, *checks: str) -> list[str]:
        return [finding.code for finding in self.findings(*checks)]


def clean_node(version: int = 2, driver: Driver = Driver.SYSTEMD, root: Iterable[str] = ()) -> NodeTree:
    """Make a node without any fault."""
    node = NodeTree(version=version, driver=driver, root=tuple(root))
    top = node.at("cpuset")
    node.files[f"{top}/{'cgroup.controllers' if version == 2 else 'cgroup.procs'}"] = "cpuset\n"
    parts = node.front.split("/")
    above = ["/".join(parts[:end]) for end in range(2, len(parts))]
    for group in {*above, node.pod(DATABASE, QosClass.GUARANTEED)}:
        node.cpuset(group)
        node.quota(group, None, shares=2048 if DATABASE[:8] in group else 1024)
    kubepods = min((group for group in above if "kubepods" in group), key=len)
    node.quota(kubepods, None, shares=6 * 1024)  # what the reservation leaves
    node.cpuset(node.server, cpus=OWN, mems="0")
    node.cpuset(node.front, cpus=POOL)
    node.cpuset(node.container(DATABASE, SANDBOX))
    for group, shares in ((node.server, 2048), (node.front, 1024), (node.container(DATABASE, SANDBOX), 2)):
        node.quota(group, None, shares)
    node.process(1, "systemd", "/init.scope", RESERVED)
    node.process(2, "kthreadd", "/", "0-7", parent=0)
    node.process(15, "migration/1", "/", "1", parent=2, fixed=True)
    node.process(30, "kswapd0", "/", RESERVED, parent=2)
    node.process(70, "kubelet", "/system.slice/kubelet.service", RESERVED)
    node.process(80, "pause", node.container(DATABASE, SANDBOX), "0-7")
    node.process(90, "postgres", node.server, OWN, mems="0")
    node.process(91, "writer", node.server, "5", mems="0", of=90)
    node.files["proc/90/numa_maps"] = "7f00 default anon=512 dirty=512 N0=512 kernelpagesize_kB=4\n"
    node.process(95, "nginx", node.front, POOL)
    node.interrupt(24, "eth0", RESERVED, "4")
    node.files["proc/irq/default_smp_affinity"] = "11\n"
    node.files["sys/devices/virtual/workqueue/cpumask"] = "11\n"
    node.files["sys/devices/system/node/has_memory"] = "0-1\n"
    return node


def entries(node: NodeTree, uid: str, **sets: str) -> None:
    more = {name.replace("_", "-"): CPUSet.parse(text) for name, text in sets.items()}
    node.state = replace(node.state, entries={**node.state.entries, uid: more})


CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cgroupDriver: systemd
reservedSystemCPUs: "0,4"
cpuManagerPolicyOptions: {full-pcpus-only: "true"}
memoryManagerPolicy: Static
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
"""


def with_kubelet_files(node: NodeTree) -> NodeTree:
    """Add configuration and state files, as the command line reads them, and the kubelet's command line."""
    directory = "var/lib/kubelet"
    node.files[f"{directory}/config.yaml"] = CONFIG
    node.files["proc/70/cmdline"] = f"/usr/bin/kubelet\0--config=/{directory}/config.yaml\0"
    node.files[f"{directory}/cpu_manager_state"] = write_cpu_state(node.state)
    if node.memory is not None:
        node.files[f"{directory}/memory_manager_state"] = write_memory_state(node.memory)
    return node


def _pod(uid: str, name: str, amounts: Mapping[str, Any], *containers: tuple[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": uid},
        "spec": {
            "nodeName": "node7",
            "containers": [{"name": each, "resources": amounts} for each, _ in containers],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {"name": each, "containerID": f"containerd://{known}", "state": {"running": {}}}
                for each, known in containers
            ],
        },
    }


PODS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        _pod(DATABASE, "database-0", {"limits": {"cpu": 2, "memory": "1Gi"}}, ("server", SERVER)),
        _pod(WEB, "web-0", {"requests": {"cpu": 1}}, ("front", FRONT)),
    ],
}
"""Return what kubectl prints for the two pods."""


def resized_pods(desired: float, allocated: int, condition: str) -> dict[str, Any]:
    """Return what kubectl prints while a resize of the database's CPUs is pending or in progress."""
    pods = copy.deepcopy(PODS)
    database = pods["items"][0]
    database["spec"]["containers"][0]["resources"]["limits"]["cpu"] = desired
    database["status"]["containerStatuses"][0] |= {"allocatedResources": {"cpu": allocated, "memory": "1Gi"}}
    database["status"]["conditions"] = [{"type": condition, "status": "True"}]
    return pods
