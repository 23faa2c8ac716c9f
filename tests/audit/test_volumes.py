"""The file from which a container reads its CPUs (KEP-6122), against the state and its cgroup."""

from __future__ import annotations

import pytest

from cpuctl.audit.checks import audit, unchecked
from cpuctl.audit.finding import Finding
from cpuctl.audit.reading import take_snapshot
from cpuctl.capture.collected import no_progress
from cpuctl.capture.node.files import NodeFiles
from cpuctl.cpuset import CPUSet
from cpuctl.machine.tree import MemoryTree
from cpuctl.pods.model import ResourceFieldRef, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, OWN, WEB, NodeTree, clean_node

PLACE = "var/lib/kubelet/pods/{}/volumes/kubernetes.io~downward-api/podinfo/cpus"
OF_SERVER = ResourceFieldRef("assigned.cpuset", "server", Quantity(), "cpus", volume="podinfo")
OF_FRONT = replace(OF_SERVER, container="front")


def telling(text: str | None, web: str | None = "") -> NodeTree:
    """Make a node whose two pods read their CPUs; None leaves a file out."""
    node = clean_node()
    node.configured = node.configured._replace(has_assigned=True, takes_assigned=True)
    for uid, reported in ((DATABASE, text), (WEB, web)):
        if reported is not None:
            node.files[PLACE.format(uid)] = reported
    return node


def read(node: NodeTree, *refs: ResourceFieldRef, live: bool = True) -> tuple[Finding, ...]:
    """Check the volumes of a node whose database reads its CPUs as *refs* specify, from a file by default."""
    pods = node.pods()
    pods[DATABASE] = pods[DATABASE]._replace(field_refs=refs or (OF_SERVER,))
    pods[WEB] = pods[WEB]._replace(field_refs=(OF_FRONT,))
    known = node.known(pods)._replace(live=live)
    files = NodeFiles(MemoryTree(dict(node.files)), str)
    # Processes are not read: those of a live node would be this machine's.
    snapshot = take_snapshot(files, known._replace(live=False), no_progress)
    reported = take_snapshot(files, known, no_progress).downward_files
    return audit(snapshot._replace(downward_files=reported), ["volumes"])


def codes(node: NodeTree, *refs: ResourceFieldRef, live: bool = True) -> dict[str, str]:
    return {each.code: str(each.severity) for each in read(node, *refs, live=live)}


def test_files_that_match_the_state_are_fine() -> None:
    assert not read(telling(OWN))
    assert {"volumes": 1} | dict.fromkeys(codes(telling(OWN))) == {"volumes": 1}


def test_a_stale_file_of_a_container_with_other_cpus() -> None:
    (found,) = read(telling("1-2,5"))
    assert (found.code, str(found.severity)) == ("assigned-cpuset-stale", "error")
    assert (found.expected, found.detected) == (OWN, "1-2,5")
    assert "its cgroup 1,5, but it reads 1-2,5 in /var/lib/kubelet/pods/" in found.message


def test_a_stale_file_before_the_control_group_is_updated() -> None:
    node = telling("1,5")
    node.state = replace(node.state, entries={DATABASE: {"server": CPUSet.parse("1-2,5-6")}})
    assert codes(node) == {"assigned-cpuset-stale": "warning"}


def test_cpus_to_be_released_are_no_longer_in_the_file() -> None:
    node = telling("1")
    assert codes(node) == {"assigned-cpuset-stale": "error"}
    node.configured = node.configured._replace(delays=True)
    (found,) = read(node)
    assert (found.code, str(found.severity)) == ("assigned-cpuset-pending", "note")
    assert "release CPU 5 after" in found.message


def test_a_container_that_shares_reads_nothing() -> None:
    assert codes(telling(OWN, web="0,2")) == {"assigned-cpuset-stale": "warning"}


def test_a_container_in_its_pods_pool_reads_nothing() -> None:
    """The state has the pool as its entry (KEP-5526)."""
    node = telling("")
    node.state = replace(node.state, pod_entries={DATABASE: CPUSet.parse(OWN)})
    pods = node.pods()
    assert codes(node) == {"assigned-cpuset-stale": "error"}
    shared = replace(pods[DATABASE].containers[0], resources=pods[WEB].containers[0].resources)

    class Divided(NodeTree):
        def pods(self) -> dict[str, StoredPod]:
            return pods | {DATABASE: pods[DATABASE]._replace(containers=(shared,))}

    node.__class__ = Divided
    assert not read(node)


def test_a_file_that_is_missing() -> None:
    assert codes(telling(None)) == {"assigned-cpuset-missing": "error"}


def test_an_invalid_list_of_cpus_is_not_shown() -> None:
    (found,) = read(telling("root:x:0:0"))
    assert found.detected == "not a CPU list"
    assert "root" not in found.message


@pytest.mark.parametrize("name", ["../../../../../../../etc/shadow", "/etc/shadow", "a/../b", ""])
def test_a_path_out_of_the_volume_is_passed_over(name: str) -> None:
    assert not codes(telling(None), replace(OF_SERVER, name=name))


def test_an_older_kubelet_does_not_update_the_file() -> None:
    node = telling("1")
    node.configured = node.configured._replace(has_assigned=False)
    assert codes(node) == {"assigned-cpuset-unserved": "warning"}


def test_a_disabled_gate_is_reported() -> None:
    node = telling(OWN)
    node.configured = node.configured._replace(takes_assigned=False)
    assert codes(node) == {"assigned-cpuset-gate": "note"}


def test_a_recording_without_volumes_is_not_checked() -> None:
    node = telling(None, web=None)
    assert not codes(node, live=False)
    pods = node.pods()
    snapshot = node.snapshot({uid: pod._replace(field_refs=(OF_SERVER,)) for uid, pod in pods.items()})
    (gap,) = unchecked(snapshot, ["volumes"])
    assert gap.missing.startswith("volume files")


def test_without_the_pods_the_readers_of_files_are_unknown() -> None:
    node = telling(OWN)
    node.named = False
    (gap,) = unchecked(node.snapshot(), ["volumes"])
    assert gap.missing.startswith("the node's pods (--pods)")
    node.configured = node.configured._replace(has_assigned=False)
    assert not unchecked(node.snapshot(), ["volumes"])
