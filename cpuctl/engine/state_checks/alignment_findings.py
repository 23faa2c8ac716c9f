"""Exclusive CPUs that are not aligned as the kubelet's settings promise, for example after a repair.

A kubelet aligns CPUs when it assigns them, and keeps what its file says (v1.36 ``policy_static.go``). What it
may do itself is not reported. With full-pcpus-only, that is to split a core with a reserved CPU and, on a
machine with cores of different sizes or with distribute-cpus-across-numa, any core. With single-numa-node
and restricted, a hint has to be preferred: with align-by-socket, that may be all nodes of a socket. A pod
that has CPUs as a whole gets others when some kubelets restart (kubernetes issue 140989).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet, union
from cpuctl.diagnostics import Severity
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.state_checks.cpu_findings import CPUHolder, CPUSubject, cpus_by_pod
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace
from cpuctl.phrases import all_of, counted, named
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.engine.cpu.manager import StaticPolicy
    from cpuctl.engine.hints.topology_manager import TopologyManager

_ALIGNED = ("restricted", "single-numa-node")


def alignment_findings(
    subject: CPUSubject, policy: StaticPolicy, manager: TopologyManager
) -> Iterator[StateFinding]:
    """Report cores shared with others, and CPUs of several NUMA nodes if one would do, where ruled out."""
    options, pods = policy.options, cpus_by_pod(subject)
    uneven = policy.topology.has_uneven_cores or options.distribute_cpus_across_numa
    if options.full_pcpus_only and not uneven:
        for held in _assigned(subject):
            yield from _split_cores(held, subject, policy, pods[held.uid])
    if manager.policy in _ALIGNED and not options.align_by_socket:
        by_pod = manager.scope == "pod"
        aligned = [CPUHolder(uid, "", pods[uid]) for uid in pods] if by_pod else subject.held
        for held in aligned:
            if held.uid not in subject.state.pod_entries:
                yield from _spans(held, subject, policy, manager.policy)


def _assigned(subject: CPUSubject) -> Iterator[CPUHolder]:
    """Yield what is assigned at once: to a pod as a whole, which its containers share, or a container."""
    whole = subject.state.pod_entries
    yield from (held for held in subject.held if held.uid not in whole or not held.container)


def _split_cores(
    held: CPUHolder, subject: CPUSubject, policy: StaticPolicy, of_pod: CPUSet
) -> Iterator[StateFinding]:
    elsewhere = CPUSet(policy.topology.siblings(CPUMask(held.cpus.mask)) & ~policy.reserved) - of_pod
    pool, others = elsewhere & subject.state.default_cpu_set, elsewhere & subject.exclusive
    sharers = [*["the shared pool"] * bool(pool), *[subject.names_of(others)] * bool(others)]
    if not sharers:
        return
    cores = [CPUSet(core) for core in policy.topology.cores_of(CPUMask((pool | others).mask)).values()]
    shared = f"the core{'s' * (len(cores) > 1)} of {named(union(cores))}"
    yield StateFinding(
        Severity.WARNING,
        "split-core",
        StatePlace(CPU_FILE, *held.owner),
        f"{subject.owners.name(*held.owner)} shares {shared} with {all_of(sharers)}, which full-pcpus-only "
        "should prevent",
        expected="whole cores",
        detected=str(held.cpus),
    )


def _spans(
    held: CPUHolder, subject: CPUSubject, policy: StaticPolicy, setting: str
) -> Iterator[StateFinding]:
    nodes = policy.topology.numa_nodes
    spanned = CPUSet.of(node for node, cpus in nodes.items() if held.cpus.mask & cpus)
    most = max((cpus & policy.allocatable).bit_count() for cpus in nodes.values())
    if len(spanned) < 2 or len(held.cpus) > most:
        return
    yield StateFinding(
        Severity.WARNING,
        "spans-nodes",
        StatePlace(CPU_FILE, *held.owner),
        f"{subject.owners.name(*held.owner)} has CPUs of NUMA nodes {spanned}, which {setting} should "
        f"prevent: {counted(len(held.cpus), 'CPU')} would fit on one node",
        expected="CPUs of one NUMA node",
        detected=str(held.cpus),
    )
