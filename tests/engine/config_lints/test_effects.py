"""Settings that have no effect, on this machine or in combination with other settings."""

from __future__ import annotations

import pytest

from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lints import lint_configuration
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.config_lints import LEAVE_OUT, NUMA, Case, Reported, aligned, static
from tests.support.topologies import CoreAt, topology

SINGLE = "every core has one CPU"
CASES = [
    *(
        Case(
            "option-idle",
            Severity.WARNING,
            f"cpuManagerPolicyOptions.{option}",
            Reported(
                config=static({option: "true"}, reserved_system_cpus="0"), machine=f"synthetic:{machine}"
            ),
            f"option {option} has {effect} effect on this machine: {reason}",
            fix=LEAVE_OUT,
        )
        for option, machine, effect, reason in (
            (
                "full-pcpus-only",
                "2s8c",
                "little",
                f"{SINGLE}; it can only reject pods, as it does not count the CPUs that a pod already has",
            ),
            ("distribute-cpus-across-cores", "2s8c", "no", SINGLE),
            ("distribute-cpus-across-numa", "1s8c", "no", "it has one NUMA node"),
            ("prefer-align-cpus-by-uncorecache", "1s8c", "no", "it has one L3 cache"),
            ("align-by-socket", "2s2n8c", "no", "every socket is one NUMA node"),
        )
    ),
    *(
        Case(
            "option-idle",
            Severity.WARNING,
            "topologyManagerPolicyOptions.prefer-closest-numa-nodes",
            Reported(
                config=aligned({"prefer-closest-numa-nodes": "true"}, policy), machine=f"synthetic:{machine}"
            ),
            f"option prefer-closest-numa-nodes changes nothing: {reason}",
            fix=LEAVE_OUT,
        )
        for policy, machine, reason in (
            (
                "single-numa-node",
                "2s4n8c",
                "policy single-numa-node never compares two NUMA nodes",
            ),
            ("restricted", "2s2n8c", "with at most two NUMA nodes there are no pairs to choose from"),
            ("best-effort", "3s3n8c", "all NUMA nodes are equally far from each other"),
        )
    ),
    Case(
        "option-ignored",
        Severity.WARNING,
        "topologyManagerPolicyOptions.prefer-closest-numa-nodes",
        Reported(config={NUMA: {"prefer-closest-numa-nodes": "true"}}),
        "option prefer-closest-numa-nodes is ignored while topologyManagerPolicy is none",
        fix=LEAVE_OUT,
    ),
    Case(
        "option-ignored",
        Severity.WARNING,
        "topologyManagerPolicyOptions.bogus",
        Reported(config={NUMA: {"bogus": "true"}}),
        "option bogus is ignored while topologyManagerPolicy is none",
        fix=LEAVE_OUT,
    ),
    Case(
        "scope-ignored",
        Severity.WARNING,
        "topologyManagerScope",
        Reported(config={"topology_manager_scope": "pod"}),
        "topologyManagerScope pod has no effect while topologyManagerPolicy is none",
        fix=LEAVE_OUT,
    ),
    Case(
        "topology-policy-idle",
        Severity.NOTE,
        "topologyManagerPolicy",
        Reported(config=aligned(), machine="synthetic:8c"),
        "this machine has one NUMA node: there is nothing to align",
    ),
    *(
        Case(
            "reserved-count-overridden",
            Severity.WARNING,
            f"{name}Reserved.cpu",
            Reported(config=static(**{f"{name}_reserved": {"cpu": "1"}})),
            f"reservedSystemCPUs 0,32 overrides {name}Reserved.cpu",
            fix=LEAVE_OUT,
        )
        for name in ("kube", "system")
    ),
    Case(
        "reserved-memory-ignored",
        Severity.WARNING,
        "reservedMemory",
        Reported(
            config={
                "reserved_memory": (ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")}),)
            }
        ),
        "reservedMemory is ignored while memoryManagerPolicy is None",
        fix=LEAVE_OUT,
    ),
    Case(
        "eviction-defaults-dropped",
        Severity.NOTE,
        "evictionHard",
        Reported(config={"eviction_hard": {"memory.available": "500Mi", "nodefs.available": "5%"}}),
        "all defaults are replaced: no threshold remains for nodefs.inodesFree, "
        "imagefs.available, imagefs.inodesFree",
        fix="list them as well, or set mergeDefaultEvictionSettings: true in the kubelet's --config file, "
        "not in a drop-in (1.33 and later)",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exactly_one_mistake_is_found(case: Case) -> None:
    assert case.reported.lints() == [case.wanted]


def test_idle_options_need_a_machine() -> None:
    reported = Reported(config=static({"distribute-cpus-across-numa": "true"}), machine="synthetic:8c2t")
    subject = reported.subject()._replace(started=None)
    assert {lint.code for lint in lint_configuration(subject)} == {"option-idle"}
    assert lint_configuration(subject._replace(topology=None)) == []


@pytest.mark.parametrize("option", ["full-pcpus-only", "distribute-cpus-across-cores"])
@pytest.mark.parametrize(
    ("cores", "unlisted_cpus"),
    [
        ([(0, 1), (2,), (3,)], 0),  # on average a core has one CPU, rounded down
        ([(0,), (1,), (2,), (3,)], 4),  # on average a core has two, of which one is not listed
    ],
)
def test_options_for_cores_are_idle_only_if_every_core_has_one_cpu(
    option: str, cores: list[tuple[int, ...]], unlisted_cpus: int
) -> None:
    """The kubelet uses an average: it may be one though some cores have more, or more though no core has."""
    reported = Reported(config=static({option: "true"})).subject()
    cpus = topology((CoreAt(cpus) for cpus in cores), unlisted_cpus=unlisted_cpus)
    subject = reported._replace(topology=cpus, started=None)
    assert lint_configuration(subject) == []


def test_nodes_are_not_called_equally_far_if_distances_are_unknown() -> None:
    reported = Reported(
        config=aligned({"prefer-closest-numa-nodes": "true"}), machine="synthetic:3s3n8c"
    ).subject()
    nodes = tuple(replace(node, distances=()) for node in reported.machine.numa_nodes)
    assert {lint.code for lint in lint_configuration(reported)} == {"option-idle"}
    assert lint_configuration(reported._replace(machine=replace(reported.machine, numa_nodes=nodes))) == []
