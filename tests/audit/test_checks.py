"""Checks on nodes that need a second look: names, policies, CPUs that go offline and come back."""

from __future__ import annotations

import pytest

from cpuctl.audit.checks import audit, by_cause
from cpuctl.audit.commands import REPAIR
from cpuctl.audit.reading import take_snapshot
from cpuctl.audit.snapshot import ConfiguredKubelet, KubeletState
from cpuctl.capture.collected import no_progress
from cpuctl.capture.node.files import NodeFiles
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.machine.tree import MemoryTree
from cpuctl.pods.model import Container, ContainerKind
from cpuctl.pods.running import ContainerStatus, RunState
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, OWN, SERVER, WEB, NodeTree, clean_node, entries
from tests.audit.test_faults import memory_elsewhere
from tests.machine.sysfs_writer import CPU_DIR, NODE_DIR


def without_cpu_5(node: NodeTree) -> None:
    """Take CPU 5 offline as the kernel shows it: v2 keeps it configured."""
    for name in ("online", "offline"):
        node.files[f"{CPU_DIR}/{name}"] = {"online": "0-4,6-7\n", "offline": "5\n"}[name]
    for path in [path for path in node.files if path.startswith(f"{CPU_DIR}/cpu5/")]:
        del node.files[path]
    node.files[f"{NODE_DIR}/node0/cpulist"] = "0-1,4\n"
    node.cpuset(node.server, cpus=OWN, effective="1", mems="0")
    node.process(90, "postgres", node.server, "1", mems="0")
    node.process(91, "writer", node.server, "1", mems="0", of=90)


def allocation(node: NodeTree, **configured: object) -> None:
    node.configured = node.configured._replace(**configured)  # type: ignore[arg-type]  # of the fields' types


def codes(node: NodeTree, *checks: str) -> dict[str, str]:
    """Return the codes found, each with the detected value."""
    return {finding.code: finding.detected for finding in node.findings(*checks)}


def test_offline_cpus_are_no_part_of_a_difference() -> None:
    node = clean_node()
    without_cpu_5(node)
    node.cpuset(node.server, cpus="2-3,5", effective="2-3", mems="0")
    (finding,) = [each for each in node.findings() if each.code == "cpuset-differs"]
    assert "may run on 2-3" in finding.message
    assert finding.detected == "2-3"


@pytest.mark.parametrize("version", [2, 1])
def test_a_cpu_that_went_away_is_one_finding(version: int) -> None:
    """Version 2 keeps it configured, version 1 has lost it for good: neither is a separate finding."""
    node = clean_node(version)
    without_cpu_5(node)
    if version == 1:
        node.cpuset(node.server, cpus="1", mems="0")
    (finding,) = node.findings()
    assert (finding.code, str(finding.severity)) == ("cpus-offline", "error")
    assert "shop/database-0" in finding.message
    assert finding.fix == "chcpu --enable 5"


@pytest.mark.parametrize(
    ("smt", "where", "fix"),
    [
        ("on", "offline", "chcpu --enable 5"),
        ("off", "offline because SMT is off", "echo on > /sys/devices/system/cpu/smt/control"),
        (
            "forceoff",
            "offline because SMT is forced off (boot without nosmt=force)",
            "cpuctl checkpoint repair",
        ),
    ],
)
def test_a_fix_enables_a_cpu_only_if_the_kernel_would(smt: str, where: str, fix: str) -> None:
    node = clean_node()
    without_cpu_5(node)
    node.files[f"{CPU_DIR}/smt/control"] = f"{smt}\n"
    (finding,) = node.findings("hotplug")
    assert finding.message.startswith(f"CPU 5 is {where}, but still in cpu_manager_state")
    assert finding.fix.startswith(fix)


def test_a_fix_does_not_enable_a_cpu_that_the_machine_does_not_have() -> None:
    """A virtual machine was given fewer CPUs: its kernel has no switches for the others."""
    node = clean_node()
    node.state = replace(node.state, default_cpu_set=node.state.default_cpu_set | CPUSet.parse("8-15"))
    (finding,) = node.findings("hotplug")
    assert (finding.code, finding.expected, finding.detected) == ("cpus-offline", "0-15", "0-7")
    assert finding.message.startswith("CPUs 8-15 are not on this machine, or offline, but still in")
    assert finding.fix.startswith("cpuctl checkpoint repair ")


def test_a_cpu_lost_by_version_1_is_missing_when_it_is_back_online() -> None:
    node = clean_node(1)
    node.cpuset(node.server, cpus="1", mems="0")
    assert codes(node) == {"cpuset-differs": "1"}


def test_new_cpus_keep_a_kubelet_from_restarting() -> None:
    node = clean_node()
    node.state = replace(node.state, default_cpu_set=CPUSet.parse("0,2-4,6"))
    found = codes(node, "hotplug")
    assert found == {"cpus-unknown": "0-7"}


def test_with_strict_reservation_the_state_leaves_out_reserved_cpus() -> None:
    node = clean_node()
    allocation(node, strict_reservation=True)
    assert codes(node, "reserved") == {"reserved-in-use": "0,4"}
    node.state = replace(node.state, default_cpu_set=CPUSet.parse("2-3,6-7"))
    node.cpuset(node.front, cpus="2-3,6-7")
    node.process(95, "nginx", node.front, "2-3,6-7")
    assert codes(node) == {}


def test_reserved_cpus_in_the_shared_pool_are_named_with_the_consequence() -> None:
    node = clean_node()
    allocation(node, strict_reservation=True)
    (found,) = node.findings("reserved")
    assert found.message == (
        "contains the reserved CPUs 0,4: with strict-cpu-reservation the kubelet would not start"
    )


def test_reserved_cpus_that_a_container_has_are_reported() -> None:
    node = clean_node()
    allocation(node, reserved=CPUSet.parse("0-1"))
    assert codes(node, "reserved") == {"reserved-in-use": "1"}


def test_a_container_on_reserved_and_exclusive_cpus_is_reported_with_their_owners() -> None:
    node = clean_node()
    allocation(node, reserved=CPUSet.parse("0,7"))
    entries(node, WEB, front="2-3")
    node.cpuset(node.front, cpus="1-3,7")
    (finding,) = node.findings("cpusets")
    assert "including exclusive CPUs of shop/database-0 and the reserved CPU 7" in finding.message


def test_a_sibling_used_by_another_pod_breaks_the_guarantee_of_whole_cores() -> None:
    node = clean_node()
    entries(node, DATABASE, server="1")
    (finding,) = node.findings("siblings")
    assert (str(finding.severity), finding.detected) == ("error", "5")
    ask = "change the CPU requests of shop/database-0 to multiples of 2"
    assert finding.fix == f"{ask}, then kubectl -n shop delete pod database-0"
    allocation(node, full_cores=False)
    (finding,) = node.findings("siblings")
    assert str(finding.severity) == "note"
    assert finding.message.endswith("unassigned")


def offline(node: NodeTree, cpus: str, online: str) -> None:
    """Let a kubelet start without some CPUs: its state does not have them either."""
    node.files |= {f"{CPU_DIR}/online": f"{online}\n", f"{CPU_DIR}/offline": f"{cpus}\n"}
    pool = node.state.default_cpu_set - CPUSet.parse(cpus)
    node.state = replace(node.state, default_cpu_set=pool)


def test_a_kubelet_that_counts_one_cpu_per_core_cannot_guarantee_whole_cores() -> None:
    """A pod that is only recreated would get the same CPUs again."""
    node = clean_node()
    entries(node, DATABASE, server="1-2")
    offline(node, "7", "0-6")
    (finding,) = node.findings("siblings")
    assert (str(finding.severity), finding.expected) == ("warning", "whole cores")
    assert finding.message.endswith(
        "while CPU 7 is offline, the kubelet assumes 1 CPU per core (7 CPUs / 4 cores, rounded down), so "
        "full-pcpus-only does not guarantee whole cores"
    )
    assert finding.fix == f"chcpu --enable 7, then {REPAIR}, then kubectl -n shop delete pod database-0"


def test_requests_are_changed_before_a_kubelet_that_counts_two_cpus_per_core_rejects_them() -> None:
    node = clean_node()
    entries(node, DATABASE, server="1")
    offline(node, "7", "0-6")
    allocation(node, full_cores=False)
    (finding,) = node.findings("siblings")
    assert str(finding.severity) == "note"
    assert finding.fix.split(", then ") == [
        "change the CPU requests of shop/database-0 to multiples of 2",
        "chcpu --enable 7",
        REPAIR,
        "set the CPU Manager policy option full-pcpus-only",
        "kubectl -n shop delete pod database-0",
    ]


def test_a_kubelet_that_started_with_all_cpus_guarantees_whole_cores() -> None:
    """Its state has the CPU that went offline later."""
    node = clean_node()
    entries(node, DATABASE, server="1-2")
    before = node.state
    offline(node, "7", "0-6")
    node.state = before
    (finding,) = node.findings("siblings")
    assert (str(finding.severity), finding.fix) == ("error", "kubectl -n shop delete pod database-0")


def test_no_pod_is_deleted_in_vain_on_cores_of_different_sizes() -> None:
    """All CPUs are online: nothing makes the kubelet count two CPUs per core."""
    node = clean_node()
    entries(node, DATABASE, server="1-2")
    for cpu in (3, 7):
        node.files[f"{CPU_DIR}/cpu{cpu}/topology/thread_siblings_list"] = f"{cpu}\n"
        node.files[f"{CPU_DIR}/cpu{cpu}/topology/core_cpus_list"] = f"{cpu}\n"
        node.files[f"{CPU_DIR}/cpu{cpu}/topology/core_id"] = f"{cpu}\n"
    (finding,) = node.findings("siblings")
    assert (str(finding.severity), finding.fix) == ("warning", "")
    assert "the kubelet assumes 1 CPU per core (8 CPUs / 5 cores, rounded down)" in finding.message


@pytest.mark.parametrize(
    ("held", "reported"),
    [("1-2,5", "in the shared pool (6)"), ("0-1,5", "reserved (4)"), ("1-2,5-6", "")],
)
def test_siblings_are_reported_by_their_owners(held: str, reported: str) -> None:
    node = clean_node()
    entries(node, DATABASE, server=held)
    assert [finding.message.rpartition(", and ")[2] for finding in node.findings("siblings")] == [
        reported
    ] * bool(reported)


def test_cpus_are_assigned_only_once() -> None:
    node = clean_node()
    entries(node, WEB, front="2,5")
    assert codes(node, "state") == {"held-twice": "2,5"}


def test_containers_of_one_pod_may_share_their_cpus() -> None:
    """An init container's are used again by the app containers."""
    node = clean_node()
    entries(node, DATABASE, server=OWN, warm_up="1")
    assert codes(node, "state") == {}


def test_a_state_of_another_policy_is_reported() -> None:
    node = clean_node()
    allocation(node, policy="none")
    assert codes(node, "state") == {"state-policy": "static"}
    allocation(node, policy="")
    assert codes(node, "state") == {}


def test_a_memory_state_of_another_policy_is_reported() -> None:
    """Either kubelet does not start: the file of the Memory Manager is read under every policy."""
    node = clean_node()
    allocation(node, memory_policy="None")
    (finding,) = node.findings("state")
    assert (finding.code, finding.place.subject) == ("state-policy", "memory_manager_state")
    assert (finding.expected, finding.detected) == ("None", "Static")
    allocation(node, memory_policy="Static")
    assert codes(node, "state") == {}


def test_a_node_without_its_state_is_not_clean() -> None:
    """The files were deleted: placement can no longer be right or wrong."""
    node = clean_node()
    known = node.known()._replace(state=KubeletState())
    snapshot = take_snapshot(NodeFiles(MemoryTree(dict(node.files)), str), known, no_progress)
    found = audit(snapshot, ["state"])
    assert [(each.code, str(each.severity), each.place.subject) for each in found] == [
        ("state-missing", "warning", "cpu_manager_state"),
        ("state-missing", "warning", "memory_manager_state"),
    ]
    assert {each.fix for each in found} == {"cpuctl checkpoint verify && systemctl restart kubelet"}
    for quiet in (
        snapshot._replace(groups={}),
        snapshot._replace(state=KubeletState(own=False)),
        snapshot._replace(configured=ConfiguredKubelet()),
        snapshot._replace(configured=ConfiguredKubelet(policy="none", memory_policy="None")),
    ):
        assert audit(quiet, ["state"]) == ()


def test_a_state_is_repaired_only_if_that_is_safe() -> None:
    """The first repair is a dry run: if it is rejected, nothing changes, and the kubelet keeps running."""
    node = clean_node()
    entries(node, WEB, front="2,5")
    (finding,) = node.findings("state")
    assert finding.fix == (
        "cpuctl checkpoint repair && systemctl stop kubelet && cpuctl checkpoint repair --yes; "
        "systemctl start kubelet"
    )


def test_leftovers_of_the_static_policy_are_reported() -> None:
    node = clean_node()
    node.configured = ConfiguredKubelet(policy="none")
    node.state = CPUStateFile(policy_name="none", default_cpu_set=CPUSet())
    node.cpuset(node.front)
    node.cpuset(node.server, cpus=OWN, mems="0")
    assert codes(node) == {"cpuset-left-over": OWN}


def test_without_names_only_cpus_that_no_container_may_have_are_found() -> None:
    node = clean_node()
    node.named = False
    node.cpuset(node.server, cpus="2-3", mems="0")
    assert codes(node) == {"cpuset-differs": "2-3"}
    node.cpuset(node.server, cpus="0,2-4,6-7", mems="0")
    assert codes(node) == {"entry-unclaimed": "0,2-4,6-7"}


def test_a_container_with_wrong_cpus_can_be_that_of_one_entry_only() -> None:
    node = clean_node()
    node.named = False
    node.cpuset(node.server, cpus="2-3", mems="0")
    (containers,) = node.state.entries.values()
    entries = {**containers, "helper": CPUSet.parse("4")}
    node.state = replace(node.state, entries={DATABASE: entries})
    unclaimed = [each.place for each in node.findings() if each.code == "entry-unclaimed"]
    assert len(unclaimed) == len(entries)


def test_a_link_to_a_log_names_a_container_as_well() -> None:
    node = clean_node()
    node.named = False
    node.files[f"var/log/containers/database-0_shop_server-{SERVER}.log"] = ""
    node.cpuset(node.server, cpus="0,2-4,6-7", mems="0")
    (finding,) = node.findings("cpusets")
    assert (finding.place.subject, finding.expected) == ("shop/database-0/server", OWN)


def test_irqbalance_that_avoids_exclusive_cpus_is_fine() -> None:
    node = clean_node()
    node.process(72, "irqbalance", "/system.slice/irqbalance.service", "0")
    node.files["etc/default/irqbalance"] = 'IRQBALANCE_BANNED_CPUS="ffff"\nIRQBALANCE_BANNED_CPULIST=1-5\n'
    assert node.findings() == ()
    node.files["etc/default/irqbalance"] = "#IRQBALANCE_BANNED_CPULIST=1-5\n"
    node.files[f"{CPU_DIR}/isolated"] = "1,5\n"
    assert node.findings() == ()


def test_interrupts_are_counted_on_exclusive_cpus() -> None:
    node = clean_node()
    node.interrupt(25, "nvme0q1", "0-7", "5")
    heading = " ".join(f"CPU{cpu}" for cpu in range(8))
    node.files["proc/interrupts"] = (
        f"    {heading}\n 24: 9 9 9 9 9 9 9 9 x eth0\n 25: 1 2 4 8 16 32 64 128 y nvme0q1\nNMI: 1 1 1 1\n"
    )
    (finding,) = node.findings()
    assert (
        finding.message
        == "the interrupt is delivered to exclusive CPU 5 of shop/database-0, 34 times since boot"
    )


def test_hundreds_of_programs_are_one_finding_with_a_bounded_command() -> None:
    node = clean_node()
    for pid in range(1000, 1500):
        node.process(pid, f"worker{pid}", "/", "0-7")
    (finding,) = node.findings()
    assert finding.message.startswith(
        "500 threads of 500 processes may run on exclusive CPUs of shop/database-0"
    )
    assert finding.message.endswith("worker1000, worker1001, worker1002 and 497 more")
    assert finding.fix.count(" ") < 220


def test_a_container_that_has_ended_since_is_reported() -> None:
    node = clean_node()
    for path in [path for path in node.files if f"{node.front}/" in f"/{path}"]:
        del node.files[path]
    assert codes(node) == {"group-missing": "none"}


def test_cpus_that_only_a_finished_init_container_holds_are_stranded() -> None:
    node = clean_node()
    entries(node, DATABASE, server=OWN, warm_up="1,3")
    pods = node.pods()
    pod = pods[DATABASE]
    init = Container(name="warm-up", kind=ContainerKind.INIT)
    ended = ContainerStatus(name="warm-up", state=RunState.TERMINATED, container_id="ee" * 32)
    pods[DATABASE] = pod._replace(init_containers=(init,), statuses=(ended, *pod.statuses))
    (finding,) = audit(node.snapshot(pods), ["stale"])
    assert (finding.code, finding.detected) == ("finished-init-container", "3")
    assert finding.fix == "kubectl -n shop delete pod database-0"
    running = replace(ended, state=RunState.RUNNING)
    pods[DATABASE] = pods[DATABASE]._replace(statuses=(running, *pod.statuses))
    assert audit(node.snapshot(pods), ["stale"]) == ()


@pytest.mark.parametrize("by_phase", [True, False], ids=["by its phase", "based on its containers"])
def test_a_pod_that_has_ended_releases_its_cpus_and_memory(by_phase: bool) -> None:
    """Its entry is stale as soon as its cgroup is gone; until then the pod is terminating."""
    node = clean_node()
    pods = node.pods()
    pod = pods[DATABASE]
    ended = tuple(replace(each, state=RunState.TERMINATED, exit_code=1) for each in pod.statuses)
    pods[DATABASE] = (
        pod._replace(phase="Succeeded", statuses=())
        if by_phase
        else pod._replace(restart_policy="Never", statuses=ended)
    )
    assert audit(node.snapshot(pods), ["stale"]) == ()
    for path in [path for path in node.files if DATABASE.replace("-", "_") in path]:
        del node.files[path]
    (finding,) = audit(node.snapshot(pods), ["stale"])
    assert (finding.code, finding.detected, finding.place.subject) == ("stale-entry", OWN, "shop/database-0")


def test_memory_in_an_allowed_place_is_reported_with_the_list_that_allows_it() -> None:
    """The wider list is the cause: it is fixed first, and then the memory is moved."""
    node = clean_node()
    node.cpuset(node.server, cpus=OWN, mems="0-1")
    memory_elsewhere(node)
    assert node.codes() == ["mems-differ", "memory-spill"]
    (finding,) = by_cause(node.findings())
    assert (finding.code, str(finding.severity)) == ("mems-differ", "error")
    assert (finding.expected, finding.detected) == ("0", "0-1")
    assert finding.message.endswith(
        "may come from NUMA nodes 0-1; 6 of its 8 MiB of memory are on NUMA node 1"
        " (node 0: 2 MiB, node 1: 6 MiB)"
    )
    assert finding.fix == f"crictl update --cpuset-mems 0 {SERVER}; migratepages 90 1 0"


def test_memory_elsewhere_is_reported_separately_if_it_is_the_only_finding_of_its_container() -> None:
    node = clean_node()
    memory_elsewhere(node)
    assert [finding.code for finding in by_cause(node.findings("mems", "memory"))] == ["memory-spill"]
