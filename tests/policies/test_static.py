"""The kubelet's policy as plugin steps picks the same CPUs as the kubelet and the engine's pickers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.cpu.picking.distributed import Dealing, take_distributed
from cpuctl.engine.cpu.picking.packed import Spread, picker_rules, take_packed
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.machine.sources import MachineSource, read_machine
from cpuctl.policies.static import Rules, Static
from cpuctl.policies.what_if import Setting, SubstitutePolicy, describe
from cpuctl.policies.worker import Worker
from tests.conformance.corpus import corpus_files
from tests.conformance.through_policies import AsRecorded, run_through_policies
from tests.policies.asking import InThisProcess, choose, in_place, worker_of
from tests.policies.nodes import kubelet, node_with, pod
from tests.support.lockstep import Choices, drawn_machine, plain
from tests.support.topologies import topology

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance"
ONE_IN = 15
"""``make conformance`` runs all of them."""


def test_recorded_picks_are_the_same_through_the_plugin() -> None:
    files = [each for each in corpus_files(CORPUS) if each.name == "assignment"]
    tally = run_through_policies(files, ONE_IN)
    assert tally.failures == []
    assert tally.passed > 200


@pytest.mark.parametrize("seed", range(2))
def test_it_matches_the_engine_on_machines_of_every_shape(seed: int) -> None:
    chance = Random(seed)  # noqa: S311  # the same machines every time
    for _ in range(250):
        choices = Choices(chance.randbytes(120))
        machine = drawn_machine(choices)
        found = topology(machine.cores, unlisted_cpus=machine.unlisted_cpus)
        offered = CPUMask(CPUSet.of(choices.some(sorted(machine.cpus))).mask)
        minor, spread = choices.number(36, 38), choices.number(0, 1) == 1
        rules = picker_rules(behaviours(minor), align_by_socket=choices.number(0, 1) == 1)
        group = choices.of([1, 2, max(machine.average("core"), 1)])
        need = choices.number(0, offered.bit_count() // group + 1) * group
        uncore, width = choices.number(0, 1) == 1, choices.number(0, 4)
        spreading = Spread.by(rules) if spread else Spread.OFF
        packed = take_packed(found, offered, need, spread=spreading, prefer_uncore=uncore, rules=rules)
        dealt = take_distributed(found, offered, need, Dealing(group, spreading, rules, width))
        nodes = NodeMask((1 << width) - 1) if width else None
        for wanted, distribute in ((packed, False), (dealt, True)):
            policy = AsRecorded(Rules(distribute, uncore, spread, group, rules))
            requested = in_place(InThisProcess(policy, as_kubelet=True), found, {}, as_kubelet=True)
            assert plain(choose(requested, found, offered, need, nodes, rules)) == plain(wanted)


OPTIONS: tuple[dict[str, str], ...] = (
    {},
    {"full-pcpus-only": "true"},
    {"distribute-cpus-across-numa": "true"},
    {"distribute-cpus-across-numa": "true", "full-pcpus-only": "true"},
    {"distribute-cpus-across-cores": "true"},
    {"prefer-align-cpus-by-uncorecache": "true"},
    {"align-by-socket": "true"},
)
MACHINES = ("2s2n8c2t,l3=4,mem=32Gi", "2s8n32c2t,l3=4,mem=64Gi", "1s1n6c1t,mem=8Gi")


def lives(machine: MachineSource, chance: Random, worker: Worker | None) -> list[Admission]:
    """Admit and remove pods at random, with or without the plugin."""
    options, topology_policy = chance.choice(OPTIONS), chance.choice(["none", "best-effort", "restricted"])
    scope = chance.choice(["container", "pod"])
    if "align-by-socket" in options and topology_policy == "none":
        topology_policy = "best-effort"
    reported = kubelet(options=options, topology=topology_policy, scope=scope)
    node = node_with(machine, reported)
    if worker is not None:
        setting = Setting.of(node.topology, machine.info, machine.machine.core_kinds, reported)
        SubstitutePolicy(worker, describe(worker), setting, as_kubelet=True).attach(node)
    admissions = []
    for number in range(12):
        cpus = [chance.randint(1, 7) for _ in range(chance.randint(1, 2))]
        admissions.append(node.admit(pod(f"pod-{number}", *cpus)))
        if node.active and chance.random() < 0.3:
            node.remove(chance.choice(list(node.active)))
    return admissions


@pytest.mark.parametrize("name", MACHINES)
def test_nodes_change_the_same_with_and_without_the_plugin(name: str) -> None:
    machine, worker = read_machine(f"synthetic:{name}"), worker_of(Static, as_kubelet=True)
    for seed in range(8):
        plainly = lives(machine, Random(seed), None)  # noqa: S311
        requested = lives(machine, Random(seed), worker)  # noqa: S311
        for one, other in zip(plainly, requested, strict=True):
            assert one.verdict == other.verdict
            assert [each.cpus for each in one.placements] == [each.cpus for each in other.placements]
    worker.stop()
