"""Laws of ``checkpoint repair`` with running pods: none is harmed for nothing, and none loses its CPUs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet, union
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.state_files import CheckpointInputs
from cpuctl.operations.checkpoint.repair import Repairs, repair
from cpuctl.operations.checkpoint.states import CheckpointCase, read_checkpoint_case, read_host
from tests.support.state_files import pod


@dataclass(frozen=True)
class Node:
    """A machine with some CPUs offline, pods of one container, and what a damaged file says they hold."""

    machine: str
    policy: str
    requests: dict[str, int]
    held: dict[str, CPUSet]
    total: int

    def read(self, directory: Path, state: str = "") -> CheckpointCase:
        entries = {uid: {"c": cpus} for uid, cpus in self.held.items()}
        pool = CPUSet.of(range(self.total)) - union(self.held.values())
        written = CPUStateFile(policy_name="static", default_cpu_set=pool, entries=entries)
        (directory / "cpu_manager_state").write_text(state or write_cpu_state(written))
        pods = [pod(uid, uid, "c", count, 1) for uid, count in self.requests.items()]
        (directory / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
        flags = f"--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy={self.policy}"
        inputs = CheckpointInputs(
            state=str(directory),
            machine=self.machine,
            pods=str(directory / "pods.json"),
            kubelet=KubeletInputs(arguments=flags, version="1.36"),
        )
        inputs, host = read_host(inputs, Sources())
        return read_checkpoint_case(inputs, host, Sources())

    def is_sound(self, uid: str, online: CPUSet) -> bool:
        """Whether a pod holds what it requests, and nothing that it cannot keep."""
        others = union(cpus for other, cpus in self.held.items() if other != uid)
        cpus = self.held[uid]
        return len(cpus) == self.requests[uid] and cpus <= online - CPUSet.of([0]) and cpus.isdisjoint(others)


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    count, cores, threads = draw(st.integers(1, 3)), draw(st.integers(2, 5)), draw(st.integers(1, 2))
    total = count * cores * threads
    machine = f"synthetic:{count}s{count}n{cores}c{threads}t,mem=64Gi"
    offline = draw(st.sets(st.integers(1, total - 1), max_size=min(2, total - 2)))
    if offline:
        machine += f",offline={'+'.join(map(str, sorted(offline)))}"
    left = draw(st.permutations(range(1, total)) | st.just([*range(1, total)]))
    requests, held = {}, {}
    for number, size in enumerate(draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))):
        if size <= len(left):
            mine, left = left[:size], left[size:]
            more = draw(st.sets(st.integers(0, total - 1), max_size=1) | st.just(set()))
            requests[f"p{number}"], held[f"p{number}"] = size, CPUSet.of({*mine, *more})
    policy = draw(st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]))
    order = draw(st.permutations(list(requests)))
    return Node(machine, policy, {uid: requests[uid] for uid in order}, held, total)


def moved(repairs: Repairs) -> dict[str, str]:
    """Return the reasons why pods do not keep their CPUs."""
    actions = repairs.changes[0].actions
    return {each.pod_uid: each.reason for each in actions if each.did in ("moved", "released")}


@given(nodes())
def test_a_repair_harms_no_sound_pod_and_leaves_no_cpu_with_two_owners(node: Node) -> None:
    with TemporaryDirectory() as name:
        case = node.read(Path(name))
        repairs = repair(case)
        (change,) = repairs.changes
        if change.refused or not node.held:
            return
        online = case.host.source.machine.online
        for uid, why in moved(repairs).items():
            assert not node.is_sound(uid, online), why
        after = change.as_input().inspection.state
        assert isinstance(after, CPUStateFile)
        taken = CPUSet()
        for containers in after.entries.values():
            for cpus in containers.values():
                assert cpus.isdisjoint(taken)
                taken |= cpus
        assert taken | after.default_cpu_set == online
        assert taken.isdisjoint(after.default_cpu_set)
        assert 0 not in taken
        assert repairs.proof.starts
        again = repair(node.read(Path(name), change.text))
        assert not any(each.changed for each in again.changes)
