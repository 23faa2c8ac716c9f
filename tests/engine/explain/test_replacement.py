"""What happens to rejected pods, by owner."""

from __future__ import annotations

import pytest

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.replacement import Replacement, Successor, remedy_of, replacement_of
from cpuctl.engine.outcome import Admitted, Rejected, Undetermined

NUMA = Rejected(
    reason="TopologyAffinityError", message="Resources cannot be allocated with Topology locality"
)

CORES = Rejected(reason="SMTAlignmentError", message="SMT Alignment Error: requested 5 cpus")
NO_NODE = Decision(Rule.NO_SINGLE_NODE, "no node has 8 CPUs")
HELD = Decision(Rule.OTHER_ASSIGNMENT, "it already holds CPUs 3-4")
NO_DEVICES = Decision(Rule.NOT_ENOUGH, "no device is left", provider="devices")


@pytest.mark.parametrize(
    ("owner", "loops", "words"),
    [
        ("Deployment/web", True, "failed pods accumulate"),
        ("ReplicaSet/web", True, "84869"),
        ("StatefulSet/db", True, "deletes and recreates the pod"),
        ("DaemonSet/agent", True, "for this node"),
        ("Job/sum", True, "backoffLimit"),
        ("PyTorchJob.kubeflow.org/train", False, "may replace the pod"),
        ("Job.batch.volcano.sh/sum", False, "may replace the pod"),
        ("VirtualMachineInstance.kubevirt.io/vm", False, "fails with its pod"),
        ("VirtualMachine.kubevirt.io/vm", True, "CrashLoopBackOff"),
        ("VirtualMachineInstanceReplicaSet.kubevirt.io/vm", True, "replaces the machine"),
        ("", False, "stays Failed"),
    ],
)
def test_each_kind_of_owner(owner: str, loops: bool, words: str) -> None:
    found = replacement_of(NUMA, NO_NODE, owner, static=False, successor=Successor())
    assert found is not None
    assert (found.loops, words in found.text) == (loops, True)


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        (
            "Deployment/web",
            "replaces the pod immediately, and this node admits the replacement if it is bound here",
        ),
        (
            "StatefulSet/db",
            "deletes and recreates the pod, and this node admits the replacement if it is bound here",
        ),
        ("DaemonSet/a", "deletes it and creates another for this node, and this node admits the replacement"),
        ("Job/sum", "creates another, and this node admits the replacement if it is bound here"),
        (
            "Job.batch.volcano.sh/sum",
            "may replace the pod, and this node admits the replacement if it is bound here",
        ),
        (
            "VirtualMachineInstance.kubevirt.io/vm",
            (
                "fails with its pod, and stays failed unless a VirtualMachine or a replica set owns it; "
                "delete it and create it again, then this node admits it"
            ),
        ),
        (
            "VirtualMachineInstanceReplicaSet.kubevirt.io/vm",
            "replaces the machine, and this node admits the replacement if it is bound here",
        ),
    ],
)
def test_a_replacement_that_is_admitted_ends_it(owner: str, text: str) -> None:
    for decision, why in ((NO_NODE, ""), (HELD, ": a new pod holds nothing yet")):
        found = replacement_of(NUMA, decision, owner, static=False, successor=Successor(verdict=Admitted()))
        assert found == Replacement(loops=False, text=f"{owner} {text}{why}", admitted=True)


def test_without_an_owner_the_pod_has_to_be_created_again() -> None:
    found = replacement_of(NUMA, HELD, "", static=False, successor=Successor(verdict=Admitted()))
    assert found is not None
    assert found.text.endswith(
        "delete it and create it again, then this node admits it: a new pod holds nothing yet"
    )


def test_nothing_is_promised_if_the_decision_on_the_replacement_is_unknown() -> None:
    unknown = Successor(verdict=Undetermined("it depends"))
    found = replacement_of(NUMA, HELD, "Deployment/web", static=False, successor=unknown)
    assert found == Replacement(
        loops=False,
        text="Deployment/web replaces the pod immediately; whether this node admits a new pod is unknown",
        admitted=None,
    )


@pytest.mark.parametrize(
    ("rejected", "policy", "plugin"),
    [
        (NUMA, "single-numa-node", ", or a scheduler that sees NUMA nodes (NodeResourceTopologyMatch)"),
        (NUMA, "", ", or with single-numa-node a scheduler that sees NUMA nodes (NodeResourceTopologyMatch)"),
        (NUMA, "restricted", ""),
        (CORES, "single-numa-node", ""),
    ],
)
def test_the_plugin_is_advised_only_where_it_filters(rejected: Rejected, policy: str, plugin: str) -> None:
    remedy = remedy_of(rejected, policy)
    assert remedy == f"to stop this, use a node affinity or taint{plugin}"
    for owner in ("Deployment/web", "Job/sum", "VirtualMachine.kubevirt.io/vm"):
        found = replacement_of(rejected, NO_NODE, owner, static=False, successor=Successor(), remedy=remedy)
        assert found is not None
        assert found.text.endswith(f"; {remedy}")


@pytest.mark.parametrize(
    ("rejected", "decision", "owner", "static", "fits"),
    [
        (NUMA, NO_NODE, None, False, True),
        (NUMA, NO_NODE, "", True, True),
        (NUMA, NO_DEVICES, "Job/a", False, True),
        (Rejected("OutOfcpu", "Node didn't have enough resource: cpu"), NO_NODE, "Job/a", False, True),
        (NUMA, NO_NODE, "Job/a", False, False),
    ],
)
def test_nothing_is_reported_if_nothing_is_known_or_the_scheduler_sees_it(
    rejected: Rejected, decision: Decision, owner: str | None, static: bool, fits: bool
) -> None:
    assert replacement_of(rejected, decision, owner, static=static, successor=Successor(fits)) is None
