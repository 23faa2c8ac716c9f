"""Snapshots of odd nodes: namespaces, hostile names, closed files, other kubelets."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import pytest

from cpuctl.answering.parts import node_answer
from cpuctl.audit.checks import audit, verdicts
from cpuctl.audit.reading import take_group_snapshot, take_snapshot
from cpuctl.audit.snapshot import KubeletState
from cpuctl.capture.collected import no_progress
from cpuctl.capture.node.files import NodeFiles
from cpuctl.cpuset import CPUSet
from cpuctl.machine.tree import MemoryTree
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, SERVER, clean_node, entries


def test_from_inside_a_cgroup_namespace_threads_are_still_their_containers() -> None:
    """As in a debugging pod: other cgroups are named relative to the pod's own cgroup."""
    node = clean_node()
    for path in [path for path in node.files if path.startswith("proc/") and path.endswith("/cgroup")]:
        node.files[path] = node.files[path].replace("0::/", "0::/../../../")
    assert [len(seen.tasks) for seen in node.snapshot().containers] == [1, 2, 1]
    assert node.findings() == ()
    node.process(71, "sshd", "/../../../../system.slice/sshd.service", "0-7")
    node.process(72, "init", "/../..", "1")
    assert [finding.place.subject for finding in node.findings()] == ["cgroup /system.slice", "cgroup /"]


def test_processes_are_read_no_more_closely_than_writing_groups_takes() -> None:
    """Reading numa_maps pauses the process while its pages are counted."""
    node, read = clean_node(), []

    class Noted(MemoryTree):
        def read(self, path: str) -> str | None:
            read.append(path)
            return super().read(path)

    files = NodeFiles(Noted(node.files), str)
    snapshot, whole = take_group_snapshot(files, node.known(), no_progress), node.snapshot()
    assert snapshot.owners == whole.owners
    assert [seen.expected for seen in snapshot.containers] == [seen.expected for seen in whole.containers]
    assert [path for path in read if path.endswith("/numa_maps")] == []
    closer = {path.split("/")[1] for path in read if path.startswith("proc/") and path.endswith("/status")}
    assert closer == {str(leader.pid) for seen in whole.containers for leader in seen.processes}


def test_an_endless_path_belongs_to_the_host() -> None:
    node = clean_node()
    node.process(71, "sh", "/a" * 1_000_000, "0-7")
    assert [finding.place.subject for finding in node.findings()] == ["cgroup /"]


def test_a_groups_name_in_a_command_is_only_a_name() -> None:
    node = clean_node()
    evil = f"{node.server}/$(reboot); x"
    node.cpuset(evil, cpus="2", effective="2", mems="0")
    node.process(71, "sh", "/$(reboot).service", "0-7")
    fixes = [finding.fix for finding in node.findings()]
    assert [shlex.split(fix)[-1].rpartition(".slice")[2] for fix in fixes[:1]] == [
        f"/cri-containerd-{SERVER}.scope/$(reboot); x/cpuset.cpus"
    ]
    assert shlex.split(fixes[1])[3] == "$(reboot).service"


@pytest.mark.parametrize("name", ["--all", "-f/etc/x", "$(reboot)", "a b; x"])
def test_a_pods_name_in_a_command_is_never_an_option(name: str) -> None:
    """No API server accepts such names, but a file of pods may contain them."""
    node = clean_node()
    pods = {uid: pod._replace(name=name, namespace=name) for uid, pod in node.pods().items()}
    entries(node, DATABASE, server="1")
    (deletion,) = [shlex.split(each.fix) for each in audit(node.snapshot(pods), ["siblings"])]
    for path in [path for path in node.files if f"{node.front}/" in f"/{path}"]:
        del node.files[path]
    missing = [each for each in audit(node.snapshot(pods), ["cpusets"]) if each.code == "group-missing"]
    (question,) = [shlex.split(each.fix) for each in missing]
    dashes = ["--"] if name.startswith("-") else []
    assert deletion[:6] == ["change", "the", "CPU", "requests", "of", f"{name}/{name}"]
    assert deletion[deletion.index("kubectl") :] == ["kubectl", "-n", name, "delete", "pod", *dashes, name]
    assert question == ["kubectl", "-n", name, "get", "pod", "-o", "json", *dashes, name]


def test_a_units_name_in_a_command_is_never_an_option() -> None:
    node = clean_node()
    node.process(71, "sh", "/--now.slice/x.service", "0-7")
    (finding,) = node.findings()
    assert finding.fix == "systemctl set-property --runtime -- --now.slice AllowedCPUs=0,4"


@pytest.mark.parametrize(
    ("bounds", "reported"),
    [
        (
            {"processes.MAX_THREADS": 5},
            "only the first 5 processes are recorded because there are too many threads",
        ),
        ({"processes.MAX_NUMA_MAPS": 0}, "memory is recorded for only 0 processes"),
    ],
    ids=["threads", "memory"],
)
def test_exceeding_a_limit_is_reported(
    bounds: Mapping[str, int], reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clean answer based on half of the threads would be wrong."""
    for name, bound in bounds.items():
        monkeypatch.setattr(f"cpuctl.capture.node.{name}", bound)
    node = clean_node()
    files = NodeFiles(MemoryTree(dict(node.files)), str)
    take_snapshot(files, node.known(), no_progress)
    assert [(each.path, each.reason) for each in files.unreadable] == [("proc", reported)]


def test_an_unreadable_state_is_not_clean() -> None:
    known = clean_node().known()._replace(state=KubeletState(closed=("/var/lib/kubelet/cpu_manager_state",)))
    snapshot = take_snapshot(NodeFiles(MemoryTree({}), str), known, no_progress)
    assert node_answer(snapshot)["cpuManagerState"] == "unreadable"
    findings = audit(snapshot)
    assert [(finding.code, str(finding.severity)) for finding in findings] == [("state-closed", "warning")]


def test_a_pod_of_very_many_sets_is_not_judged_by_all_of_them() -> None:
    node = clean_node()
    node.named = False
    many = {f"c{number}": CPUSet(number) for number in range(1, 200)}
    node.state = replace(node.state, entries={DATABASE: many})
    node.cpuset(node.server, cpus="0-7", mems="0")
    verdict = verdicts(node.snapshot())
    assert verdict[node.server] == "not checked"


def test_without_groups_of_pods_no_pod_is_gone() -> None:
    """A kubelet with cgroupsPerQOS=false creates none."""
    node = clean_node()
    node.named = False
    for path in [path for path in node.files if "kubepods" in path]:
        del node.files[path]
    assert node.codes("stale") == []
    assert node.codes("cpusets") == []


def test_the_left_over_tree_of_another_driver_does_not_hide_the_kubelets_own() -> None:
    node = clean_node()
    node.cpuset("/kubepods")
    node.cpuset("/kubepods/besteffort")
    assert len(node.snapshot().containers) == 3
    assert node.findings() == ()


def test_pods_of_another_kubelet_are_not_judged_by_this_ones_state() -> None:
    """As on a host of several kind nodes, each with its own root."""
    node = clean_node(root=("node1",))
    other = "/node2.slice/node2-kubepods.slice/node2-kubepods-podffff.slice"
    node.cpuset(f"{other}/cri-containerd-{'ff' * 32}.scope", cpus="6")
    assert node.findings() == ()
    node.root = ()
    assert len(node.snapshot().containers) == 4
