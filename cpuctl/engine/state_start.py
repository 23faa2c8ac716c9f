"""Start of a kubelet with the state files of its node: every command gets the same answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.engine.node import Node
from cpuctl.engine.outcome import FaultKind, KubeletFault, StartRefused, Undetermined
from cpuctl.engine.saved_files import SavedFiles
from cpuctl.engine.start import (
    NotStarted,
    Started,
    agreed,
    check_start,
    last_checks,
    start_managers,
    started_node,
    unless_flags_missing,
)
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.records import Record, replace
from cpuctl.state_names import CLAIMS_FILE, CPU_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from cpuctl.engine.saved_files import LoadFailure
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.machine_info import MachineInfo

_ROOT = "/var/lib/kubelet"
_ACTUATED = "failed to run Kubelet: failed to create kubelet: failed to initialize actuated state checkpoint"

_NO_FILES = SavedFiles()


class StateStart(Record):
    """How a start ends; ``refusals`` is the objection to each file alone.

    ``managers`` is how far it gets without files, ``node`` has taken them over, as far as possible: it is
    None if the kubelet ends before it opens any.
    """

    outcome: Started | NotStarted
    managers: Started | NotStarted
    node: Node | None = None
    refusals: Mapping[str, NotStarted] = {}


def start_on(
    info: MachineInfo,
    kubelet: Kubelet,
    files: SavedFiles = _NO_FILES,
    *,
    fit: bool = False,
    devices: DeviceInventory | None = None,
) -> StateStart:
    """Start a kubelet on a machine with these files: its configuration is checked first, then every file.

    If the input does not name a release of the kubelet, the outcome is that of the assumed one, unless
    another one would end differently with the same files: then it is Undetermined. *fit* checks that pods
    fit into the node, *devices* are those that device plugins have registered, None if that is not known.
    """
    managers = start_managers(info, kubelet)
    if not isinstance(managers, Started):
        return StateStart(managers, managers)
    node = started_node(managers, info, kubelet, fit=fit, devices=devices)
    refusals = dict(_refusals(node, managers.gates, files, kubelet.config.root_dir))
    refused = next(iter(refusals.values()), None)
    begun = StateStart(
        unless_flags_missing(refused or last_checks(managers), kubelet), managers, node, refusals
    )
    if kubelet.released or not files.by_others or isinstance(begun.outcome, Undetermined):
        return begun
    others = {
        minor: start_on(info, replace(kubelet, version=KubeletVersion(minor), released=True), read)
        for minor, read in files.by_others.items()
    }
    # A release that ends before it opens its files, over the configuration, says nothing about them.
    ends = {minor: other.outcome for minor, other in others.items() if other.node is not None}
    why = "versions read these state files differently"
    return replace(begun, outcome=agreed(begun.outcome, ends, kubelet.version.minor, why))


def fails_on_files(outcome: NotStarted, info: MachineInfo, kubelet: Kubelet) -> bool:
    """Return whether a state file keeps a kubelet from starting: without files, it would not end like this.

    An unknown outcome may depend on the kubelet's release or flags, and is not blamed on a file.
    """
    return isinstance(outcome, StartRefused | KubeletFault) and check_start(info, kubelet) != outcome


def _refusals(
    node: Node, gates: FeatureGates, files: SavedFiles, root: str
) -> Iterator[tuple[str, NotStarted]]:
    """Yield the objection to each file, in the order in which a kubelet opens them."""
    if files.unreadable:
        from cpuctl.engine.saved_files import ORDER, load_failure_of

        for name in ORDER:
            if name in files.unreadable:
                refused = _refused(name, files.unreadable[name].error, load_failure_of(name, gates), root)
                if refused is not None:
                    yield name, refused
    if files.cpu and (cpu := node.cpu.restore(files.cpu)):
        yield CPU_FILE, _below(cpu, root, CPU_FILE)
    if files.memory and (memory := node.memory.restore(files.memory)):
        yield MEMORY_FILE, _below(memory, root, MEMORY_FILE)


def _refused(name: str, error: str, failure: LoadFailure, root: str) -> NotStarted | None:
    """Return how a kubelet ends over a file that it cannot load; None if it does not."""
    from cpuctl.checkpoints.reader import kubelet_refusal

    if failure == "crashes":
        why = kubelet_refusal(name, error, root)
        return KubeletFault(kind=FaultKind.CRASH, where=f"reading {name}", why=why)
    if failure != "stops":
        return None
    if name == CLAIMS_FILE:
        return StartRefused(stage="draManager", error=error)
    return StartRefused(stage="actuatedPods", error=f"{_ACTUATED}: {kubelet_refusal(name, error, root)}")


def _below(refused: NotStarted, root: str, name: str) -> NotStarted:
    """Return a refusal with the kubelet's own root directory in its text."""
    if not isinstance(refused, StartRefused):
        return refused
    error = refused.error.replace(f'"{_ROOT}/{name}"', f'"{root}/{name}"')
    return StartRefused(refused.stage, error, refused.settings)
