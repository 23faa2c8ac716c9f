"""What an audit reports about claims that the DRA driver for CPUs has prepared."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cpuctl.answering.audit_answer import audit_document
from cpuctl.audit.checks import Verdict, audit, unchecked, verdicts
from cpuctl.audit.reading import take_snapshot
from cpuctl.audit.snapshot import ConfiguredKubelet, KubeletState, NodeSnapshot
from cpuctl.capture.collected import no_progress
from cpuctl.capture.node.files import NodeFiles
from cpuctl.checkpoints.model import ClaimEntry, ClaimsStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.machine.recording_layout import CDI_FILE
from cpuctl.machine.tree import MemoryTree
from cpuctl.pods.model import PodClaim, StoredPod
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, FRONT, OWN, RESERVED, WEB, NodeTree, clean_node
from tests.audit.test_fixes import read_back
from tests.capture.node_texts import written
from tests.support import stand_ins

CLAIM, OTHER = "c1a10000-0000-4000-8000-000000000001", "c1a10000-0000-4000-8000-000000000002"


def cdi(claims: Mapping[str, str]) -> str:
    devices = [
        {"name": f"claim-{uid}", "containerEdits": {"env": [f"DRA_CPUSET_{uid}={cpus}"]}}
        for uid, cpus in claims.items()
    ]
    return json.dumps({"cdiVersion": "0.8.0", "kind": "dra.k8s.io/cpu", "devices": devices})


def claimed(node: NodeTree, claims: Mapping[str, str]) -> None:
    node.files[CDI_FILE] = cdi(claims)


def driver_node() -> NodeTree:
    """A node on which the driver, not the kubelet, has assigned the database its CPUs."""
    node = clean_node()
    claimed(node, {CLAIM: OWN})
    return node


def naming(pod: StoredPod) -> StoredPod:
    """Let the database's container use a claim."""
    (container,) = pod.containers
    resources = replace(container.resources, claims=("cpus",))
    return StoredPod(
        pod._replace(
            containers=(replace(container, resources=resources),),
            resource_claims=(PodClaim("cpus", claim="own-cpus"),),
        )
    )


def seen(
    node: NodeTree, *, policy: str = "none", known: bool = True, named: bool = True, used: bool = True
) -> NodeSnapshot:
    """Take a snapshot; *known*: the kubelet's own file assigns claims to pods, *named*: pods are known."""
    entries = (ClaimEntry(CLAIM, "own-cpus", "shop", (DATABASE,) if used else ()),)
    state = KubeletState(claims=ClaimsStateFile(entries) if known else None)
    pods = {uid: naming(pod) if uid == DATABASE else pod for uid, pod in node.pods().items()}
    context = node.known(pods)._replace(
        state=state,
        configured=ConfiguredKubelet(policy=policy, reserved=CPUSet.parse(RESERVED)),
        pods=pods if named else None,
    )
    return take_snapshot(NodeFiles(MemoryTree(dict(node.files)), str), context, no_progress)


class Fixed(NamedTuple):
    """A fix and the code of its finding; a test below applies the fix and checks again."""

    code: str
    fix: str


MOVED = Fixed("claim-shared", f"crictl update --cpuset-cpus 0,2-4,6-7 {FRONT}")
LIMITLESS = Fixed("claim-throttled", "remove its CPU limit")
DRIVEN = Fixed(
    "claims-static",
    "set cpuManagerPolicy: none, without cpuManagerPolicyOptions, and remove cpu_manager_state",
)


def codes(snapshot: NodeSnapshot, *checks: str) -> list[str]:
    return [finding.code for finding in audit(snapshot, checks or ("claims", "cpusets"))]


def test_a_node_whose_driver_is_correct_has_no_findings() -> None:
    for known in (True, False):
        for named in (True, False):
            assert codes(seen(driver_node(), known=known, named=named)) == []
    snapshot = seen(driver_node())
    expected = {each.owner.container: each.expected for each in snapshot.containers if not each.sleeps}
    assert (str(expected["server"].cpus), expected["server"].claimed) == (OWN, True)
    assert expected["front"].cpus is None
    assert set(verdicts(snapshot).values()) == {Verdict.OK, Verdict.NOT_CHECKED}


def test_without_a_driver_nothing_is_reported() -> None:
    assert codes(seen(clean_node()), "claims") == []


def test_a_container_with_other_cpus_than_its_claims() -> None:
    node = driver_node()
    node.cpuset(node.server, cpus="1-2", mems="0")
    found = audit(seen(node), ("cpusets",))
    assert [each.code for each in found] == ["cpuset-differs"]
    assert (found[0].expected, found[0].detected) == (OWN, "1-2")


def test_a_container_on_cpus_of_another_pods_claim() -> None:
    node = driver_node()
    node.cpuset(node.front, cpus="0,2-7")
    for known in (True, False):
        for named in (True, False):
            (finding,) = audit(seen(node, known=known, named=named), ("claims",))
            assert finding.code == "claim-shared"
            assert "may run on CPU 5 of claim" in finding.message
            assert (finding.expected, finding.detected) == ("0,2-4,6-7", "0,2-7")
            assert finding.fix == MOVED.fix


def test_moving_a_container_off_a_claims_cpus_fixes_the_finding(tmp_path: Path) -> None:
    node = driver_node()
    node.cpuset(node.front, cpus="0,2-7")
    root = written(node.files, tmp_path / "node")
    subprocess.run(
        ["sh", "-euc", stand_ins.at(root, MOVED.fix)],
        check=True,
        env=stand_ins.written(tmp_path / "bin", root),
    )
    stand_ins.settle(root)
    assert codes(seen(read_back(node, root)), "claims") == []


def test_a_container_without_a_claim_may_not_run_on_all_cpus_of_a_claim() -> None:
    node = driver_node()
    node.cpuset(node.front, cpus=OWN)
    assert codes(seen(node), "claims") == ["claim-shared"]


def test_claims_that_share_cpus() -> None:
    node = driver_node()
    claimed(node, {CLAIM: OWN, OTHER: "5-6"})
    (finding,) = [each for each in audit(seen(node), ("claims",)) if each.code == "claims-overlap"]
    assert finding.message == f"CPU 5 also belongs to claim {OTHER}"
    assert finding.place.subject == "claim shop/own-cpus"


def test_a_claim_that_no_pod_uses() -> None:
    (finding,) = audit(seen(driver_node(), used=False, named=False), ("claims",))[-1:]
    assert finding.code == "claim-stale"
    assert finding.message.startswith("CPUs 1,5 are kept for it, but dra_manager_state lists no pod")


def test_the_driver_with_a_kubelet_that_assigns_or_reserves_the_same_cpus() -> None:
    (finding,) = audit(seen(driver_node(), policy="static"), ("claims",))
    assert (finding.code, finding.fix) == DRIVEN
    assert codes(seen(driver_node(), policy="none"), "claims") == []
    node = driver_node()
    claimed(node, {CLAIM: "4-5"})
    assert "claims-reserved" in codes(seen(node, named=False), "claims")


def test_a_quota_on_cpus_of_a_claim_is_advised_against() -> None:
    node = driver_node()
    node.quota(node.server, 200_000)
    (finding,) = audit(seen(node), ("claims", "quota"))
    assert finding.code == "claim-throttled"
    assert "throttled at 2 CPUs" in finding.message
    assert (finding.code, finding.fix) == LIMITLESS
    node.quota(node.server, None)
    assert codes(seen(node), "claims", "quota") == []


def test_an_unreadable_driver_file_is_reported() -> None:
    node = driver_node()
    node.files[CDI_FILE] = "{"
    (finding,) = audit(seen(node), ("claims",))
    assert finding.code == "claims-unusable"
    assert WEB not in finding.message
    node.files["run/cdi/dra.cpu.json"] = node.files.pop(CDI_FILE)
    (finding,) = audit(seen(node), ("claims",))
    assert finding.place.subject == "run/cdi/dra.cpu.json"


def test_skipped_checks_of_claims_are_reported() -> None:
    def gaps(snapshot: NodeSnapshot) -> list[str]:
        return [each.missing.partition(":")[0] for each in unchecked(snapshot, ["claims"])]

    unknown = ConfiguredKubelet(why_unknown="maxPods is no number")
    assert gaps(seen(driver_node())) == []
    assert gaps(seen(driver_node())._replace(configured=unknown)) == ["the kubelet's configuration"]
    assert gaps(seen(driver_node(), known=False)) == ["the kubelet's dra_manager_state"]
    ungrouped = seen(driver_node())._replace(hierarchies=None)
    assert gaps(ungrouped) == ["cgroups"]
    driverless = seen(clean_node())
    assert gaps(driverless._replace(configured=unknown, hierarchies=None)) == [], "no driver runs there"
    (entry,) = driverless.state.claims.claims if driverless.state.claims else ()
    held = ClaimsStateFile((replace(entry, devices=("dra.cpu/node-a/cpudevnuma000",)),))
    prepared = driverless._replace(state=driverless.state._replace(claims=held))
    assert gaps(prepared) == ["the driver's var/run/cdi/dra.cpu.json"]


def test_cpus_of_claims_are_listed_with_their_owners() -> None:
    for known, named, want in (
        (True, True, ("shop/own-cpus", ["shop/database-0"])),
        (True, False, ("shop/own-cpus", [DATABASE])),
        (False, True, (None, [])),
    ):
        snapshot = seen(driver_node(), known=known, named=named)
        document = audit_document(snapshot, (), {}, checks=(), unreadable=())
        (claim,) = document["claims"]
        assert (claim["uid"], claim["cpus"]) == (CLAIM, OWN)
        assert (claim["claim"], claim["pods"]) == want
    assert "claims" not in audit_document(seen(clean_node()), (), {}, checks=(), unreadable=())
