"""Recorded picks of CPUs, made by the policy ``static`` through the steps of a plugin.

Here the plugin answers in this process; ``tests/policies`` uses one in a separate process.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.packed import picker_rules
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.policies.model import View
from cpuctl.policies.static import Rules, Static
from tests.conformance.corpus import CorpusFile, Json, Recorded, version_of
from tests.conformance.machines import machine_info
from tests.conformance.operations import pick_answer
from tests.conformance.runner import Tally, run_cases
from tests.policies.asking import InThisProcess, choose, in_place

PICK, THROUGH = "takeByTopology", "takeByTopology through the plugin"


class AsRecorded(Static):
    """The static policy with the rules of one pick: recordings have pickers but no configuration."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def rules(self, view: View) -> Rules:  # noqa: ARG002
        return self._rules


def rules_of(case: Json) -> Rules:
    release = picker_rules(behaviours(*version_of(case)), align_by_socket=case.get("alignBySocket", False))
    return Rules(
        distribute=case["mode"] != "packed",
        uncore=case.get("preferUncore", False),
        spread=case.get("sorting") == "spread",
        group=case.get("groupSize", 1),
        release=release,
    )


def take_by_policy(case: Json) -> Json:
    """Pick CPUs from a free set through the plugin."""
    topology = CPUTopology.discover(machine_info(case["machine"]))
    rules = rules_of(case)
    requested = in_place(InThisProcess(AsRecorded(rules), as_kubelet=True), topology, {}, as_kubelet=True)
    width = case.get("hintNUMANodes", 0)
    nodes = NodeMask(CPUSet.of(sorted(topology.numa_nodes)[:width]).mask) if width else None
    offered = CPUMask(CPUSet.parse(case["available"]).mask)
    return pick_answer(choose(requested, topology, offered, case["numCPUs"], nodes, rules.release))


def run_through_policies(files: Iterable[CorpusFile], step: int = 1) -> Tally:
    """Run every recorded pick, or one in *step*, through the plugin."""
    recorded = (each for file in files for each in file.recorded())
    picks = (each for each in recorded if each.operation == PICK)
    renamed = (Recorded({**each.case, "op": THROUGH}, each.expect, each.markers) for each in picks)
    return run_cases(islice(renamed, 0, None, step), operations={THROUGH: take_by_policy})
