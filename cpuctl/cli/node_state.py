"""What a plan starts from: the kubelet's state file, and the pods that run already."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cpuctl.cli.inputs import Sources
from cpuctl.documents.files import STDIN, read_input, source_name
from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import SavedCPUState
    from cpuctl.engine.node import Node
    from cpuctl.engine.outcome import StartRefused
    from cpuctl.engine.start import StartResult
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.model import Pod


_LAST_V2 = 36


@dataclass(frozen=True, slots=True)
class Past:
    """What a plan starts from; ``saved`` is None for a fresh node."""

    saved: SavedCPUState
    running: tuple[Pod, ...] = ()


def load_state(name: str, machine: MachineSource, sources: Sources) -> SavedCPUState:
    """Read ``cpu_manager_state`` from a file, from the directory that holds it, or from the recording.

    A file that no kubelet would load is no error: that is the answer then.
    """
    from cpuctl.checkpoints.cpu_state import FILE_NAME, read_cpu_state

    if not name:
        return _recorded_state(machine, sources)
    path = Path(name)
    if name != STDIN and path.is_dir():
        path /= FILE_NAME
        if not path.exists():
            sources.add("state", f"no {FILE_NAME} in {name}: as a fresh node", "given")
            return None
    sources.add("state", source_name(str(path)), "given")
    return read_cpu_state(read_input(str(path)).decode("utf-8", "replace"))


def _recorded_state(machine: MachineSource, sources: Sources) -> SavedCPUState:
    from cpuctl.checkpoints.cpu_state import FILE_NAME, read_cpu_state
    from cpuctl.machine.recording_layout import STATE_DIRECTORY

    path = f"{STATE_DIRECTORY}/{FILE_NAME}"
    # Another configuration is a "what if" on a fresh node: a kubelet refuses a state it did not write.
    recorded = sources.entries.get("kubeletConfiguration", {}).get("from") == "capture"
    if machine.files is None or not recorded:
        return None
    text = machine.files.read(path)
    if text is None:
        return None
    sources.add("state", f"{machine.origin}: {path}", "capture")
    return read_cpu_state(text)


def load_running(name: str, sources: Sources) -> tuple[Pod, ...]:
    """Read the pods that run on the node (kubectl's JSON); those that have ended are left out."""
    from cpuctl.pods.defaulting import with_api_defaults
    from cpuctl.pods.manifest_files import read_manifests

    if not name:
        return ()
    sources.add("runningPods", name, "given")
    return tuple(with_api_defaults(pod) for pod in read_manifests([name]).pods if not pod.terminal)


def resume(node: Node, past: Past, sources: Sources) -> StartRefused | None:
    """Let a started node go on from its state file with the pods that run on it."""
    refused = node.restore(past.saved)
    if refused is not None:
        return refused
    running = past.running
    unknown = sorted(set(node.state.assignments) - {pod.uid for pod in running})
    if unknown and not running:
        # Nobody said who runs here: to take all owners for gone would free their CPUs.
        running = tuple(_owner(uid, list(node.state.assignments[uid])) for uid in unknown)
    elif unknown:
        sources.warnings.append(
            f"the state names pods that do not run here ({', '.join(unknown[:3])}): the kubelet takes their "
            "CPUs back when the next pod comes"
        )
    node.resume(running)
    return None


def _owner(uid: str, containers: list[str]) -> Pod:
    from cpuctl.pods.model import Container, Pod

    return Pod(name=uid, uid=uid, containers=tuple(Container(name=name) for name in containers))


def check_write_state(directory: str, version: KubeletVersion) -> None:
    """Raise UsageError where the state files of this release are not written by this cpuctl."""
    if directory and version.minor > _LAST_V2:
        raise UsageError(
            f"a kubelet {version} writes its state in a format of its own, expected one up to 1.{_LAST_V2}",
            where="--write-state",
            hint="leave --write-state out, or plan with --kubelet-version 1.36",
        )


def write_state(directory: str, node: StartResult, *, force: bool) -> None:
    """Write the files that a started kubelet would have now into a directory, if one is named."""
    from cpuctl.capture.saving import check_target, save
    from cpuctl.checkpoints.cpu_state import FILE_NAME as CPU_FILE
    from cpuctl.checkpoints.cpu_state import write_cpu_state
    from cpuctl.checkpoints.memory_state import FILE_NAME as MEMORY_FILE
    from cpuctl.checkpoints.memory_state import write_memory_state_of_none
    from cpuctl.engine.node import Node

    if not directory or not isinstance(node, Node):
        return
    texts = {CPU_FILE: write_cpu_state(node.state_file()), MEMORY_FILE: write_memory_state_of_none()}
    paths = {Path(directory) / name: text.encode() for name, text in texts.items()}
    for path in paths:
        check_target(path, replace=force)
    for path, content in paths.items():
        save(path, partial(_put, content), replace=force)


def _put(content: bytes, file: IO[bytes]) -> None:
    file.write(content)
