"""A policy that assigns CPUs as containers are created (``nri run --policy``): its node and its state.

The state file holds what the kubelet's own state files would, and the runtime's IDs of the containers that
hold something. It is replaced as a whole, so that a killed process leaves the old one or the new one.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import finalize

from cpuctl import option_names
from cpuctl.errors import InputError, NodeAccessError, unwritable
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.starting_state import start_from, starting_state_of
from cpuctl.nri.allocating import AllocatedPlaces, LeftNode
from cpuctl.records import replace
from cpuctl.state_names import CPU_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.answers.checkpoint import StateFileName
    from cpuctl.engine.node import Node
    from cpuctl.engine.start import StartResult
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.sources import MachineSource
    from cpuctl.nri.allocating import ContainerKey
    from cpuctl.operations.policies import ChosenPolicy

_KIND = "NRIState"
_STATIC = "static"
_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_FILES: tuple[StateFileName, ...] = (CPU_FILE, MEMORY_FILE)
_RESERVE = "reserve CPUs, for example with --kubelet-args '--reserved-cpus=0'"


class PolicyInputs(NamedTuple):
    """Which policy assigns CPUs on which machine, under which settings of the kubelet's managers.

    ``state_file`` may be empty for a dry run, which then starts without state.
    """

    policy: str
    machine: str
    kubelet: KubeletInputs
    state_file: str
    dry_run: bool = False


class StateFile:
    """The state file, which belongs to one process at a time; others may read it, for a dry run."""

    def __init__(self, path: str, kubelet: Kubelet, *, dry_run: bool = False) -> None:
        self.path, self._kubelet, self._dry_run = Path(path), kubelet, dry_run
        if not dry_run:
            # The lock lasts as long as this object.
            self._lock = finalize(self, os.close, self._hold())

    def _hold(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path.with_name(f".{self.path.name}.lock"), _LOCK, 0o600)
        except OSError as error:
            raise unwritable(error, str(self.path)) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise NodeAccessError(
                "another cpuctl nri run is using it",
                where=str(self.path),
                hint="stop it, or use another file with --state-file",
            ) from None
        return lock

    def read(self) -> tuple[dict[StateFileName, str], dict[ContainerKey, str]]:
        """Return the texts of the kubelet's files, and the holders in them; both empty without a file.

        Raise InputError for a file of another program, UsageError for one that cannot be replaced as a whole.
        """
        from cpuctl.capture.saving import check_target
        from cpuctl.documents.files import read_member

        if self._dry_run and not (self.path.name and self.path.parent.exists()):
            return {}, {}  # a real run would create the directory
        # Checked now, not at the first container: to a reader, a dangling link looks like a missing file.
        check_target(self.path, replace=True)
        if not self.path.exists():
            return {}, {}
        content = read_member(str(self.path.absolute()))
        try:
            return _parsed(json.loads(content))
        except (ValueError, KeyError, TypeError, RecursionError):
            hint = (
                "use another file with --state-file, or remove it: running containers then keep the CPUs "
                "that they appear to own"
            )
            raise InputError(
                "is not a state file of cpuctl nri run", where=str(self.path), hint=hint
            ) from None

    def save(self, node: Node, held: Mapping[ContainerKey, str]) -> None:
        """Replace the file as a whole; a dry run leaves it alone."""
        if self._dry_run:
            return

        from cpuctl.capture.saving import save
        from cpuctl.operations.state_writing import state_texts

        document = {
            "apiVersion": "cpuctl/v1alpha1",
            "kind": _KIND,
            "files": state_texts(node, self._kubelet),
            "containers": [{"podUID": uid, "name": name, "id": id_} for (uid, name), id_ in held.items()],
        }
        content = json.dumps(document).encode()
        save(self.path, lambda file: file.write(content), replace=True)


def _parsed(document: Any) -> tuple[dict[StateFileName, str], dict[ContainerKey, str]]:  # noqa: ANN401
    if document["kind"] != _KIND:
        raise ValueError(document["kind"])
    texts: dict[StateFileName, str] = {name: str(document["files"][name]) for name in _FILES}
    held = {(str(each["podUID"]), str(each["name"])): str(each["id"]) for each in document["containers"]}
    return texts, held


def allocated_places(inputs: PolicyInputs, sources: Sources) -> AllocatedPlaces:
    """Start a node whose policy assigns CPUs, with what was held before.

    Raise InputError if a kubelet with these settings would not start, UsageError for an unknown policy.
    """
    from cpuctl.engine.node import Node
    from cpuctl.engine.outcome import Undetermined
    from cpuctl.engine.start import why_not_started
    from cpuctl.inputs.kubelet import load_kubelet
    from cpuctl.inputs.pods import rules_of_pods

    policy, source = _policy(inputs.policy), load_machine(inputs.machine, sources)
    kubelet = load_kubelet(inputs.kubelet, sources, machine=source).kubelet
    if kubelet.config.cpu_manager_policy == _STATIC and sources.origin("kubeletConfiguration") != "given":
        sources.warnings.append(
            "the kubelet's static policy also writes CPU sets: use either it or the plugin"
        )
    kubelet = replace(kubelet, config=replace(kubelet.config, cpu_manager_policy=_STATIC))
    store = StateFile(inputs.state_file, kubelet, dry_run=inputs.dry_run)
    texts, held = store.read()
    started = _start(source, kubelet, texts, sources)
    if texts and not isinstance(started, Node):
        sources.warnings.append(
            f"the state file does not match this node and is reset: {why_not_started(started)}"
        )
        held, started = {}, _start(source, kubelet, {}, sources)
    if not isinstance(started, Node):
        why = why_not_started(started)
        hint = _RESERVE if "reserved" in why else f"{_check(inputs)} shows what to change"
        known = not isinstance(started, Undetermined)
        what = "the kubelet would not start" if known else "whether a kubelet would start is unknown"
        raise InputError(f"{what}: {why}", where=option_names.POLICY, hint=hint)
    node = started
    # Whether pods fit has been decided elsewhere: they already run here.
    node.allocatable = None
    if policy is not None:
        policy.attach(node, source, kubelet)
    return AllocatedPlaces(LeftNode(node, held), rules_of_pods(kubelet), store)


def _start(
    source: MachineSource, kubelet: Kubelet, texts: Mapping[StateFileName, str], sources: Sources
) -> StartResult:
    return start_from(starting_state_of(texts, (), kubelet), source.info, kubelet, sources)


def _check(inputs: PolicyInputs) -> str:
    """Write the command that checks these settings: the policy replaces the kubelet's own static policy."""
    from cpuctl.operations.command_lines import kubelet_command

    static = (f"--cpu-manager-policy={_STATIC}",)
    return kubelet_command(("config", "check"), inputs.machine, inputs.kubelet, flags=static)


def _policy(text: str) -> ChosenPolicy | None:
    """Find a policy; None for ``static``, which is the kubelet's own and already decides."""
    if text == _STATIC:
        return None

    from cpuctl.operations.policies import choose_policy

    return choose_policy(text)
