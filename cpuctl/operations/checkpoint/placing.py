"""Other CPUs for running pods that a kubelet would reject with what a repaired state file gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import union
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.saved_files import SavedFiles
from cpuctl.engine.state_start import start_on
from cpuctl.operations.checkpoint.states import found_states
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Collection

    from cpuctl.engine.state_repair import Placed
    from cpuctl.operations.checkpoint.states import CheckpointCase


def placed_again(case: CheckpointCase, uids: Collection[str]) -> Placed | None:
    """Let the kubelet assign CPUs to running pods, next to what all others hold in *case*; None if it cannot.

    Like a restarted kubelet, it admits the running pods one after the other.
    """
    found = found_states(case.states, case.reader)
    cpu, pods = found.cpu.read if found.cpu else None, case.owners.pods or {}
    if not isinstance(cpu, CPUStateFile) or not uids or cpu.pod_entries.keys() & uids:
        return None
    freed = union(held for uid in uids for held in cpu.entries[uid].values())
    without = replace(
        cpu,
        default_cpu_set=cpu.default_cpu_set | freed,
        entries={uid: held for uid, held in cpu.entries.items() if uid not in uids},
        baselines={uid: held for uid, held in cpu.baselines.items() if uid not in uids},
    )
    files = SavedFiles(cpu=without, memory=found.memory.read if found.memory else None)
    node = start_on(case.host.source.info, case.host.kubelet, files).node
    if node is None:
        return None
    admissions = [each for each in node.readmit(pods.values()) if each.pod.uid in uids]
    placed = {uid: held for uid, held in node.state_file().entries.items() if uid in uids}
    same = all(placed.get(uid, {}).keys() == cpu.entries[uid].keys() for uid in uids)
    return placed if same and all(isinstance(each.verdict, Admitted) for each in admissions) else None
