"""Files of downward API volumes: kept if they may contain a container's CPUs."""

from __future__ import annotations

from cpuctl.capture.kubelet.files import record_volumes
from cpuctl.capture.node.files import NodeFiles
from cpuctl.machine.tree import MemoryTree

PODS = "srv/kubelet/pods/u1/volumes"
KEPT = "var/lib/kubelet/pods/u1/volumes/kubernetes.io~downward-api/podinfo"


def recorded(files: dict[str, str], links: dict[str, str] | None = None) -> dict[str, object]:
    tree = MemoryTree(dict(files), links or {})
    node = NodeFiles(tree, str)
    area = record_volumes(node, "/srv/kubelet")
    assert area.entries == len(node.members)
    return dict(node.members)


def test_lists_of_cpus_are_kept_and_nothing_else() -> None:
    own = f"{PODS}/kubernetes.io~downward-api/podinfo"
    found = recorded(
        {
            f"{own}/cpus": "1-2,9",
            f"{own}/deep/none": "",
            f"{own}/labels": 'app="web"',
            f"{own}/memory": "1073741824",
            f"{own}/long": "3,2",
            f"{own}/..2026_11_24/cpus": "1-2,9",
            f"{PODS}/kubernetes.io~projected/token/pin": "4711",
            f"{PODS}/kubernetes.io~secret/pin/pin": "4711",
        }
    )
    assert found == {f"{KEPT}/cpus": "1-2,9", f"{KEPT}/deep/none": ""}


def test_a_node_without_pods() -> None:
    assert recorded({"etc/hostname": "node7"}) == {}
