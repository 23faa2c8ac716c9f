"""Every check on a node with a single fault: the fault is found, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cpuctl.audit.commands import RESTART
from cpuctl.cgroups.names import Driver
from cpuctl.cpuset import CPUSet
from cpuctl.pods.cgroups.values import CgroupSettings
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, FRONT, OWN, RESERVED, SERVER, NodeTree, clean_node, entries
from tests.audit.test_huge_pages import another_number, taken
from tests.machine.sysfs_writer import CPU_DIR

LAYOUTS = [
    pytest.param(version, driver, root, id=f"v{version}-{driver}{'-own-root' if root else ''}")
    for version in (2, 1)
    for driver in Driver
    for root in ((), ("my-root", "sub"))
]


@pytest.mark.parametrize(("version", "driver", "root"), LAYOUTS)
@pytest.mark.parametrize("named", [True, False], ids=["named", "nameless"])
def test_a_clean_node_has_no_finding(
    version: int, driver: Driver, root: tuple[str, ...], named: bool
) -> None:
    node = clean_node(version, driver, root)
    node.named = named
    assert [seen.tasks != () for seen in node.snapshot().containers] == [True] * 3
    assert node.findings() == ()


@dataclass(frozen=True)
class Fault:
    """A fault on a node: what is found, and which command fixes it."""

    name: str
    plant: Callable[[NodeTree], None]
    code: str
    expected: str
    detected: str
    fix: str
    severity: str = "error"
    version: int = 2


def a_child_group(node: NodeTree) -> None:
    """Give the database's container a child cgroup with its own list, as crun creates it."""
    group = f"{node.server}/container"
    node.cpuset(group, cpus="2", effective="2", mems="0")
    node.process(90, "postgres", group, OWN, mems="0")


def isolated_with_an_unpinned_thread(node: NodeTree) -> None:
    """Isolate the database's CPUs; its second thread no longer pins itself."""
    node.files[f"{CPU_DIR}/isolated"] = "1,5\n"
    node.process(91, "writer", node.server, OWN, mems="0", of=90)


def memory_elsewhere(node: NodeTree) -> None:
    node.files["proc/90/numa_maps"] = (
        "7f00 default file=/lib/libc.so mapped=9000 N1=9000 kernelpagesize_kB=4\n"
        "7f10 default anon=512 dirty=512 N0=512 kernelpagesize_kB=4\n"
        "7f20 default file=/anon_hugepage\\040(deleted) huge anon=3 N1=3 kernelpagesize_kB=2048\n"
    )


def a_small_group_above(node: NodeTree) -> None:
    node.cpuset(node.server.rpartition("/")[0], cpus="2-3")
    node.cpuset(node.server, cpus=OWN, effective="2-3", mems="0")
    node.process(90, "postgres", node.server, "2-3", mems="0")
    node.process(91, "writer", node.server, "2-3", mems="0", of=90)


def keeping_quotas(node: NodeTree) -> NodeTree:
    """Configure a kubelet that keeps quotas, as before 1.33 or with the gate off, and has written them."""
    node.configured = node.configured._replace(cgroups=CgroupSettings(lifts_quota=False))
    for group in (node.server, node.server.rpartition("/")[0]):
        node.quota(group, 200_000, shares=2048)
    return node


def threads_on_one_cpu(node: NodeTree) -> None:
    node.process(90, "postgres", node.server, "1", mems="0")
    node.process(91, "writer", node.server, "1", mems="0", of=90)


def programs_without_a_unit(node: NodeTree) -> None:
    node.process(71, "sh", "/", "1")
    node.process(72, "top", "/", "0-7")


def a_monitor(node: NodeTree) -> None:
    group = f"{node.server.rpartition('/')[0]}/crio-conmon-{SERVER}.scope"
    node.cpuset(group)
    node.process(71, "conmon", group, "0-7")


def a_pod_that_is_gone(node: NodeTree) -> None:
    pool = "0,3-4,6-7"
    node.state = replace(node.state, default_cpu_set=CPUSet.parse(pool))
    entries(node, "gone-1", worker="2")
    node.cpuset(node.front, cpus=pool)
    node.process(95, "nginx", node.front, pool)


def incomplete_ban(node: NodeTree) -> None:
    node.process(72, "irqbalance", "/system.slice/irqbalance.service", "0")
    node.files["etc/sysconfig/irqbalance"] = '#x\nIRQBALANCE_BANNED_CPUS="2"\n'


def a_partition_of_a_neighbour(node: NodeTree) -> None:
    """Give virtual machines of the host their own CPUs, one of which pods share."""
    node.cpuset("/machine.slice", cpus="0,3-4", effective="0,3-4")
    node.put("cpuset", "/machine.slice", "cpuset.cpus.partition", "isolated")
    node.put("cpuset", "/machine.slice", "cpuset.cpus.exclusive", "3")
    node.put("cpuset", "/machine.slice", "cpuset.cpus.exclusive.effective", "3")


def a_partition_of_reserved_cpus(node: NodeTree) -> None:
    """Give a program of the host a strictly reserved CPU, which pods never had."""
    pool = "2-3,6-7"
    node.configured = node.configured._replace(strict_reservation=True)
    node.state = replace(node.state, default_cpu_set=CPUSet.parse(pool))
    node.cpuset(node.front, cpus=pool)
    node.process(95, "nginx", node.front, pool)
    node.cpuset("/machine.slice", cpus="4", effective="4")
    node.put("cpuset", "/machine.slice", "cpuset.cpus.partition", "root")


CRICTL = f"crictl update --cpuset-cpus {{}} {SERVER}"
FAULTS = [
    Fault(
        "another cpuset",
        lambda node: node.cpuset(node.server, cpus="2-3", mems="0"),
        "cpuset-differs", OWN, "2-3", CRICTL.format(OWN),
    ),
    Fault(
        "another cpuset on v1",
        lambda node: node.cpuset(node.server, cpus="2-3", mems="0"),
        "cpuset-differs", OWN, "2-3", CRICTL.format(OWN), version=1,
    ),
    Fault(
        "no cpuset at all",
        lambda node: node.cpuset(node.server, effective="0-7", mems="0"),
        "cpuset-differs", OWN, "unset, so 0-7", CRICTL.format(OWN),
    ),
    Fault(
        "the shared pool of yesterday",
        lambda node: node.cpuset(node.front, cpus="0-7"),
        "cpuset-differs", "0,2-4,6-7", "0-7", f"crictl update --cpuset-cpus 0,2-4,6-7 {FRONT}",
    ),
    Fault(
        "a pod's group that is too small",
        a_small_group_above,
        "effective-differs", OWN, "2-3",
        "echo 1-3,5 > /sys/fs/cgroup/kubepods.slice/kubepods-pod11111111_aaaa_bbbb_cccc_000000000001.slice"
        "/cpuset.cpus",
    ),
    Fault(
        "a child group with its own list",
        a_child_group,
        "effective-differs", OWN, "2",
        "echo 1,5 > /sys/fs/cgroup/kubepods.slice/kubepods-pod11111111_aaaa_bbbb_cccc_000000000001.slice"
        f"/cri-containerd-{SERVER}.scope/container/cpuset.cpus",
    ),
    Fault(
        "a partition",
        lambda node: node.put("cpuset", "/kubepods.slice", "cpuset.cpus.partition", "isolated"),
        "partition", "member", "isolated",
        "echo member > /sys/fs/cgroup/kubepods.slice/cpuset.cpus.partition", "warning",
    ),
    Fault(
        "an invalid partition",
        lambda node: node.put(
            "cpuset", node.server, "cpuset.cpus.partition",
            "isolated invalid (Cpu list in cpuset.cpus not exclusive)",
        ),
        "partition-invalid", "member", "isolated invalid (Cpu list in cpuset.cpus not exclusive)",
        "echo member > /sys/fs/cgroup/kubepods.slice/kubepods-pod11111111_aaaa_bbbb_cccc_000000000001.slice"
        f"/cri-containerd-{SERVER}.scope/cpuset.cpus.partition", "warning",
    ),
    Fault(
        "a partition of the host's machines",
        a_partition_of_a_neighbour,
        "partition", "member", "isolated",
        "echo member > /sys/fs/cgroup/machine.slice/cpuset.cpus.partition", "warning",
    ),
    Fault(
        "a list that was to keep others away",
        lambda node: node.put("cpuset", node.server, "cpuset.cpus.exclusive", OWN),
        "exclusive-idle", "none", OWN,
        "echo > /sys/fs/cgroup/kubepods.slice/kubepods-pod11111111_aaaa_bbbb_cccc_000000000001.slice"
        f"/cri-containerd-{SERVER}.scope/cpuset.cpus.exclusive", "note",
    ),
    Fault(
        "another agent that gives CPUs",
        lambda node: node.process(75, "koordlet", "/system.slice/koordlet.service", RESERVED),
        "agents-contend", "one of them", "koordlet", "remove koordlet from this node", "warning",
    ),
    Fault(
        "other NUMA nodes",
        lambda node: node.cpuset(node.server, cpus=OWN, mems="0-1"),
        "mems-differ", "0", "0-1", f"crictl update --cpuset-mems 0 {SERVER}",
    ),
    Fault(
        "NUMA nodes that are not in effect",
        lambda node: node.cpuset(node.server, cpus=OWN, mems="0", real="1"),
        "mems-differ", "0", "1", f"crictl update --cpuset-mems 0 {SERVER}",
    ),
    Fault(
        "a thread that is elsewhere",
        lambda node: node.process(91, "writer", node.server, "2-3", mems="0", of=90),
        "threads-outside", OWN, "2-3", "taskset -cp 1,5 91",
    ),
    Fault(
        "threads that all want one CPU",
        threads_on_one_cpu,
        "cpus-unused", OWN, "1", "", "note",
    ),
    Fault(
        "a quota",
        lambda node: node.quota(node.server, 150_000),
        "quota-on-exclusive", "no quota", "150000 us per 100000 us",
        "echo max > /sys/fs/cgroup/kubepods.slice/kubepods-pod11111111_aaaa_bbbb_cccc_000000000001.slice"
        f"/cri-containerd-{SERVER}.scope/cpu.max",
    ),
    Fault(
        "a pod's quota on v1",
        lambda node: node.quota(node.server.rpartition("/")[0], 200_000),
        "quota-on-exclusive", "no quota", "200000 us per 100000 us",
        "echo -1 > /sys/fs/cgroup/cpu,cpuacct/kubepods.slice"
        "/kubepods-pod11111111_aaaa_bbbb_cccc_000000000001.slice/cpu.cfs_quota_us",
        version=1,
    ),
    Fault(
        "a quota below the limit",
        lambda node: keeping_quotas(node).quota(node.server, 150_000),
        "quota-too-low", "200000 us per 100000 us", "150000 us per 100000 us",
        "echo 200000 100000 > /sys/fs/cgroup/kubepods.slice"
        f"/kubepods-pod11111111_aaaa_bbbb_cccc_000000000001.slice/cri-containerd-{SERVER}.scope/cpu.max",
    ),
    Fault(
        "a quota of a pod below its limit on v1",
        lambda node: keeping_quotas(node).quota(node.server.rpartition("/")[0], 150_000),
        "quota-too-low", "200000 us per 100000 us", "150000 us per 100000 us",
        "echo 200000 > /sys/fs/cgroup/cpu,cpuacct/kubepods.slice"
        "/kubepods-pod11111111_aaaa_bbbb_cccc_000000000001.slice/cpu.cfs_quota_us",
        version=1,
    ),
    Fault(
        "memory on another node",
        memory_elsewhere,
        "memory-spill", "node 0", "node 0: 2 MiB, node 1: 6 MiB", "migratepages 90 1 0", "warning",
    ),
    Fault(
        "huge pages that are promised and taken",
        taken,
        "huge-pages-taken", "12Mi free", "8Mi free",
        "make shop/web-0 Guaranteed, then kubectl -n shop delete pod web-0",
    ),
    Fault(
        "another number of huge pages",
        another_number,
        "huge-pages-differ", "8", "9",
        "echo 8 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages",
    ),
    Fault(
        "an unconfined daemon",
        lambda node: node.process(71, "sshd", "/system.slice/sshd.service", "0-7"),
        "foreign-processes", "0,4", "0-7",
        "systemctl set-property --runtime system.slice AllowedCPUs=0,4", "warning",
    ),
    Fault(
        "programs outside of every unit",
        programs_without_a_unit,
        "foreign-processes", "0,4", "0-7",
        "for id in 71 72; do taskset -acp 0,4 $id; done", "warning",
    ),
    Fault(
        "a daemon on v1",
        lambda node: node.process(71, "sshd", "/system.slice", "5-7"),
        "foreign-processes", "0,4", "5-7", "taskset -acp 0,4 71", "warning", version=1,
    ),
    Fault(
        "a program in a pod's group but in no container",
        lambda node: node.process(71, "escaped", node.server.rpartition("/")[0], "0-7"),
        "foreign-processes", "0,4", "0-7", "taskset -acp 0,4 71", "warning",
    ),
    Fault(
        "a monitor of CRI-O",
        a_monitor,
        "foreign-processes", "0,4", "0-7",
        "mkdir -p /etc/crio/crio.conf.d; printf '[crio.runtime]\\ninfra_ctr_cpuset = \"0,4\"\\n' "
        "> /etc/crio/crio.conf.d/99-infra-cpuset.conf; systemctl restart crio; taskset -acp 0,4 71",
        "warning",
    ),
    Fault(
        "a kernel thread",
        lambda node: node.process(31, "khugepaged", "/", "0-7", parent=2),
        "kernel-threads", "0,4", "0-7", "taskset -cp 0,4 31", "note",
    ),
    Fault(
        "work of the kernel",
        lambda node: node.files.update({"sys/devices/virtual/workqueue/cpumask": "ff\n"}),
        "kernel-work", "0,4", "0-7", "echo 00000011 > /sys/devices/virtual/workqueue/cpumask", "note",
    ),
    Fault(
        "an interrupt",
        lambda node: node.interrupt(25, "nvme0q1", "0-7", "5"),
        "interrupt", "0,2-4,6-7", "5", "echo 0,2-4,6-7 > /proc/irq/25/smp_affinity_list", "warning",
    ),
    Fault(
        "an interrupt that may come",
        lambda node: node.interrupt(25, "nvme0q1", "0-7", "2"),
        "interrupts-allowed", "none on 1,5", "all CPUs", "echo 0,2-4,6-7 > /proc/irq/25/smp_affinity_list",
        "note",
    ),
    Fault(
        "the default of new interrupts",
        lambda node: node.files.update({"proc/irq/default_smp_affinity": "ff\n"}),
        "interrupts-default", "0,2-4,6-7", "0-7", "echo 000000dd > /proc/irq/default_smp_affinity", "note",
    ),
    Fault(
        "irqbalance without bans",
        lambda node: node.process(72, "irqbalance", "/system.slice/irqbalance.service", "0"),
        "irqbalance", "1,5 banned", "none banned",
        "touch /etc/default/irqbalance; sed -i /^IRQBALANCE_BANNED_CPU/d /etc/default/irqbalance; "
        "echo IRQBALANCE_BANNED_CPULIST=1,5 >>/etc/default/irqbalance; systemctl restart irqbalance",
        "warning",
    ),
    Fault(
        "irqbalance with half a ban",
        incomplete_ban,
        "irqbalance", "1,5 banned", "1 banned",
        "touch /etc/sysconfig/irqbalance; sed -i /^IRQBALANCE_BANNED_CPU/d /etc/sysconfig/irqbalance; "
        "echo IRQBALANCE_BANNED_CPULIST=1,5 >>/etc/sysconfig/irqbalance; systemctl restart irqbalance",
        "warning",
    ),
    Fault(
        "isolated CPUs in the shared pool",
        lambda node: node.files.update({f"{CPU_DIR}/isolated": "1-2,5\n"}),
        "isolated-shared", "no CPU of the shared pool", "2", "boot with isolcpus=1,5", "warning",
    ),
    Fault(
        "isolated CPUs that are reserved",
        lambda node: node.files.update({f"{CPU_DIR}/isolated": "1,4-5\n"}),
        "isolated-reserved", "no reserved CPU", "4",
        "boot with isolcpus=1,5, or reserve other CPUs", "warning",
    ),
    Fault(
        "threads with several isolated CPUs",
        isolated_with_an_unpinned_thread,
        "isolated-threads", "threads pinned to one CPU each", OWN,
        "taskset -cp 1 90; taskset -cp 5 91", "warning",
    ),
    Fault(
        "half of the exclusive CPUs isolated",
        lambda node: node.files.update({f"{CPU_DIR}/isolated": "1\n"}),
        "isolated-partly", OWN, "1", "boot with isolcpus=1,5", "note",
    ),
    Fault(
        "half of the exclusive CPUs without a tick",
        lambda node: node.files.update({f"{CPU_DIR}/nohz_full": "5\n"}),
        "nohz-partly", OWN, "5", "boot with nohz_full=1,5", "note",
    ),
    Fault(
        "reserved CPUs without a tick",
        lambda node: node.files.update({f"{CPU_DIR}/nohz_full": "1,4-5\n"}),
        "nohz-reserved", OWN, "1,4-5", "boot with nohz_full=1,5", "note",
    ),
    Fault(
        "a pod that is gone",
        a_pod_that_is_gone,
        "stale-entry", "no entry", "2", RESTART, "warning",
    ),
    Fault(
        "a container that its pod does not have",
        lambda node: entries(node, DATABASE, server=OWN, renamed="1"),
        "stale-entry", "no entry", "1", RESTART, "warning",
    ),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found_and_nothing_else(fault: Fault) -> None:
    node = clean_node(fault.version)
    fault.plant(node)
    (finding,) = node.findings()
    assert (finding.code, str(finding.severity)) == (fault.code, fault.severity)
    assert (finding.expected, finding.detected, finding.fix) == (fault.expected, fault.detected, fault.fix)
    assert finding.place.subject
    assert finding.message
