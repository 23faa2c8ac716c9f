"""A sample differs if an audit would find something else; system calls agree with the kernel's files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.machine.tree import DirectoryTree, MemoryTree
from cpuctl.watching.places import topmost_groups
from cpuctl.watching.sampling import Interest, Sample, Sampler
from tests.audit.node_tree import OWN, RESERVED, NodeTree, clean_node, with_kubelet_files
from tests.audit.test_faults import FAULTS

FILES = (
    "var/lib/kubelet/cpu_manager_state",
    "var/lib/kubelet/memory_manager_state",
    "etc/default/irqbalance",
)
FULL_AUDIT_ONLY = {"memory-spill", "partition"}
"""Memory elsewhere, and a partition outside of pods: only audits notice them, as docs/watch.md says."""


def sample(node: NodeTree) -> Sample:
    """Take a sample of everything, as if the kernel did not send events."""
    tops = topmost_groups(clean_node(node.version, node.driver).snapshot())
    interest = Interest(CPUSet.parse(OWN), FILES, tops)
    return Sampler(MemoryTree(dict(with_kubelet_files(node).files)), live=False).take(interest)


def test_nearly_all_faults_change_the_sample() -> None:
    same = set()
    for fault in FAULTS:
        node = clean_node(fault.version)
        before = sample(node)
        fault.plant(node)
        # Data from other sources (a list of pods, the configuration) is not part of samples.
        if node.files != with_kubelet_files(clean_node(fault.version)).files and sample(node) == before:
            same.add(fault.code)
    assert same == FULL_AUDIT_ONLY


def test_normal_activity_does_not_change_the_sample() -> None:
    """Probes in containers, kernel workers, sessions, and interrupts that irqbalance moves."""
    node = clean_node()
    before = sample(node)
    node.process(501, "probe", node.server, OWN, mems="0")
    node.process(502, "kworker/5:1", "/", "5", parent=2, fixed=True)
    node.process(503, "bash", "/user.slice/user-0.slice/session-4.scope", RESERVED)
    node.interrupt(24, "eth0", RESERVED, "0")
    node.files["proc/503/stat"] = "half a line"
    assert sample(node) == before


@pytest.fixture
def pinned() -> Iterator[int]:
    """A process with a thread that may run on only one CPU."""
    cpu = min(os.sched_getaffinity(0))
    words = [
        sys.executable,
        "-c",
        f"import os; os.sched_setaffinity(0, {{{cpu}}}); print(flush=True); input()",
    ]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    process.communicate(b"\n")


def test_system_calls_agree_with_the_kernels_files(pinned: int) -> None:
    tree = DirectoryTree(Path("/"))
    requested, read = (Sampler(tree, live=live)._affinity for live in (True, False))
    assert requested(pinned, pinned) == read(pinned, pinned) == 1 << min(os.sched_getaffinity(0))
    assert requested(os.getpid(), os.getpid()) == read(os.getpid(), os.getpid())
    assert requested(1 << 30, 1 << 30) is read(1 << 30, 1 << 30) is None


def test_threads_of_this_host_are_found_by_affinity(pinned: int) -> None:
    sampler = Sampler(DirectoryTree(Path("/")), live=True)
    interest = Interest(CPUSet.of(os.sched_getaffinity(pinned)))
    first = sampler.take(interest)
    assert any(mask == interest.exclusive.mask for _, mask in first.threads)
