"""Options that are reported to have no effect: with and without them a kubelet assigns the same CPUs.

Two are left out: even if they have no effect, distribute-cpus-across-cores and
prefer-align-cpus-by-uncorecache choose among equals in a different order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hypothesis import assume, given, reject
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.config_lints.effects import lint_cpu_options
from cpuctl.engine.config_lints.lint import LintSubject
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.node import Node
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.policy_options import CPU_POLICY_OPTIONS, SCALE_DELAY
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.machine.model import Machine as WholeMachine
from cpuctl.pods.model import Pod
from tests.support.drawn_machines import nested_machines, regular_machines, tangled_machines
from tests.support.naive_packed import Machine
from tests.support.pods import app, stored
from tests.support.topologies import CoreAt, machine_info

ALPHA = {"CPUManagerPolicyAlphaOptions": True}
MACHINES = regular_machines() | nested_machines() | tangled_machines()
REQUESTS = st.lists(st.integers(1, 9), min_size=1, max_size=5)
MAY_BE_IDLE = ("align-by-socket", "distribute-cpus-across-numa", "full-pcpus-only")
OTHERS = st.sets(st.sampled_from(sorted(CPU_POLICY_OPTIONS.keys() - {SCALE_DELAY})), max_size=2)
POLICIES = st.sampled_from(["none", "best-effort", "restricted"])


def config(options: Mapping[str, str], reserved: CPUSet, policy: str) -> KubeletConfiguration:
    return KubeletConfiguration(
        cpu_manager_policy="static",
        cpu_manager_policy_options=dict(options),
        reserved_system_cpus=str(reserved),
        topology_manager_policy=policy,
        feature_gates=ALPHA,
    )


def is_idle(info: MachineInfo, reported: KubeletConfiguration, option: str, minor: int) -> bool:
    subject = LintSubject(
        config=reported,
        gates=FeatureGates(minor, ALPHA),
        machine=WholeMachine(cpus=()),
        topology=CPUTopology.discover(info),
    )
    return any(lint.place[-1] == option for lint in lint_cpu_options(subject))


def start(info: MachineInfo, reported: KubeletConfiguration, minor: int) -> Node:
    node = start_node(info, Kubelet(version=KubeletVersion(minor), config=reported))
    return node if isinstance(node, Node) else reject()


def decisions(node: Node, counts: list[int]) -> Iterator[object]:
    for number, count in enumerate(counts):
        both = f"cpu={count} memory=1Gi"
        name = f"p{number}"
        admission = node.admit(stored(Pod(name=name, uid=name, containers=(app(both, both),))))
        # Words may differ: full-pcpus-only has its own error for too few CPUs.
        yield (
            type(admission.verdict),
            [placement.cpus for placement in admission.placements],
            node.state.default,
        )


@given(MACHINES, OTHERS, st.sampled_from([36, 37, 38]), REQUESTS, POLICIES, st.data())
def test_an_idle_option_changes_no_placement(
    machine: Machine, others: set[str], minor: int, counts: list[int], policy: str, data: st.DataObject
) -> None:
    info = machine_info(machine.cores, unlisted_cpus=machine.unlisted_cpus)
    reserved = CPUSet.of(data.draw(st.sets(st.sampled_from(sorted(machine.cpus)), min_size=1, max_size=2)))
    pairs = [pair_of(option, others, reserved, policy) for option in MAY_BE_IDLE if option not in others]
    idle = [(alone, reported) for option, alone, reported in pairs if is_idle(info, reported, option, minor)]
    assume(idle)
    for alone, reported in idle:
        without, with_option = start(info, alone, minor), start(info, reported, minor)
        assert list(decisions(without, counts)) == list(decisions(with_option, counts))


def test_a_distribution_also_depends_on_sockets_of_one_node_each() -> None:
    """From 1.37 on, another node of the same socket matters even if there are as many sockets as nodes."""
    cores = [CoreAt((cpu, cpu + 6), cpu // 2, cpu // 2, None) for cpu in range(6)]
    others, info = {"distribute-cpus-across-numa"}, machine_info(cores)
    _, alone, reported = pair_of("align-by-socket", others, CPUSet.of({0}), "none")
    for minor, same in ((36, True), (37, False)):
        found = [list(decisions(start(info, each, minor), [3, 3, 4])) for each in (alone, reported)]
        assert (found[0] == found[1]) is same
        assert is_idle(info, reported, "align-by-socket", minor) is same


def pair_of(
    option: str, others: set[str], reserved: CPUSet, policy: str
) -> tuple[str, KubeletConfiguration, KubeletConfiguration]:
    """Make a configuration without and one with an option."""
    # full-pcpus-only also keeps reserved CPUs from pods, which makes no difference with this option.
    besides = {"strict-cpu-reservation"} if option == "full-pcpus-only" else set()
    options = dict.fromkeys(others | besides, "true")
    return option, config(options, reserved, policy), config(options | {option: "true"}, reserved, policy)
