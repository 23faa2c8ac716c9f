"""What the commands of ``cpuctl checkpoint`` read: a machine, its kubelet, state files, who runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuctl.engine.state_checks.owners import Owners
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.inputs.kubelet import load_known_kubelet
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.inputs.state_files import StateInput, StatePlace, is_recording, read_states
from cpuctl.operations.checkpoint.verdict import found_states, knowing_reader, load_owners
from cpuctl.operations.checkpoint.words import CheckpointInputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpuctl.checkpoints.reader import StateReader
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.sources import MachineSource


class Node(NamedTuple):
    """The machine and its kubelet, whose release is known."""

    source: MachineSource
    loaded: LoadedKubelet

    @property
    def kubelet(self) -> Kubelet:
        """The kubelet that is to start."""
        return self.loaded.kubelet


class Case(NamedTuple):
    """State files, who runs, and how the kubelet reads them."""

    node: Node
    states: tuple[StateInput, ...]
    owners: Owners
    reader: StateReader

    def verdict(self) -> StateVerdict:
        """Ask whether the kubelet starts on these files."""
        from cpuctl.engine.state_checks.verify import verify_states

        found = found_states(self.states, self.reader)
        return verify_states(self.node.source.info, self.node.kubelet, found, self.owners)


def read_node(words: CheckpointInputs, sources: Sources) -> tuple[CheckpointInputs, Node]:
    """Read the machine and its kubelet; a recording that is named as STATE is the machine, too.

    Raise UsageError where the kubelet's release is not known, ConfigRefusedError where the kubelet cannot
    load its configuration.
    """
    from cpuctl.kubelet.releases.recorded import Topic

    refuse_stdin_twice(words.machine, words.state, words.pods, words.kubelet.config)
    if not words.machine and is_recording(words.state):
        words = words._replace(machine=words.state, state="")
    here = LIVE_MACHINE if words.root == "/" else words.root
    source = load_machine(words.machine or here, sources)
    loaded = load_known_kubelet(words.kubelet, sources, machine=source)
    sources.add_unrecorded(loaded.kubelet.version.minor, (Topic.STATE_FILES,))
    if words.in_place and loaded.kubelet.flags_gap:
        sources.warnings.append(
            f"the kubelet's flags are not known ({loaded.kubelet.flags_gap}): what is kept depends on them,"
            " name them with --kubelet-args"
        )
    return words, Node(source=source, loaded=loaded)


def read_case(words: CheckpointInputs, node: Node, sources: Sources) -> Case:
    """Read the state files and who runs on the node."""
    from cpuctl.inputs.pods import rules_of_pods

    place = StatePlace(
        machine=node.source,
        root=Path(words.root),
        directory=node.kubelet.config.root_dir,
        in_place=words.in_place,
        lock=words.lock,
    )
    states = read_states(words.state, place, sources)
    owners = load_owners(words.pods, rules_of_pods(node.kubelet), sources)
    return Case(node=node, states=states, owners=owners, reader=knowing_reader(node.kubelet, owners))


def doubts(case: Case, pods: str) -> Iterator[str]:
    """Say so where the file *pods* looks like another node's: all that is held would be given up."""
    from cpuctl.checkpoints.model import CPUStateFile

    for each in case.states:
        found = each.inspection.state
        if isinstance(found, CPUStateFile) and case.owners.all_gone({*found.entries, *found.pod_entries}):
            yield (
                f"no pod in {each.source} is among those in {pods}: are these all pods of this node? "
                "(kubectl get pods -A --field-selector spec.nodeName=NODE -o json)"
            )


def kubelet_head(kubelet: Kubelet, reader: StateReader) -> dict[str, Any]:
    """Describe the kubelet that is to start, as far as state files depend on it."""
    config = kubelet.config
    return {
        "kubelet": {
            "version": str(kubelet.version),
            "cpuManagerPolicy": config.cpu_manager_policy,
            "memoryManagerPolicy": config.memory_manager_policy,
            "podLevelResourceManagers": reader.pod_level_managers,
            "exclusiveResize": reader.exclusive_resize,
        }
    }
