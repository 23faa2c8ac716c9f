"""Starting a kubelet on the state files of its node: one answer to one question, whichever command asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import FaultKind, KubeletFault, StartRefused, Undetermined
from cpuctl.engine.saved_files import SavedFiles
from cpuctl.engine.start import NotStarted, Started, doubted, furnished, last_checks, start_managers
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.state_names import CLAIMS_FILE, CPU_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from cpuctl.engine.saved_files import LoadFailure
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.machine_info import MachineInfo

_ROOT = "/var/lib/kubelet"
_ACTUATED = "failed to run Kubelet: failed to create kubelet: failed to initialize actuated state checkpoint"
_ENDS = ("would start", "cannot be told", "would not start")

_NO_FILES = SavedFiles()


class StateStart(NamedTuple):
    """How a start ends; ``refusals`` is what stands against each file by itself.

    ``managers`` is how far it comes without files, ``node`` has taken them over, as far as that goes: it is
    None where the kubelet ends before it opens any.
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

    Where nobody says which release the kubelet is, it is the one that is assumed that is told to start or
    not: where another one would come to another end on the same files, nothing is. *fit* makes pods fit into
    the node, *devices* are those that device plugins have registered, None where that is not known.
    """
    managers = start_managers(info, kubelet)
    if not isinstance(managers, Started):
        return StateStart(managers, managers)
    node = furnished(managers, info, kubelet, fit=fit, devices=devices)
    refusals = dict(_refusals(node, managers.gates, files, kubelet.config.root_dir))
    refused = next(iter(refusals.values()), None)
    begun = StateStart(doubted(refused or last_checks(managers), kubelet), managers, node, refusals)
    if kubelet.released or not files.by_others or isinstance(begun.outcome, Undetermined):
        return begun
    others = {
        minor: start_on(info, kubelet._replace(version=KubeletVersion(minor), released=True), read)
        for minor, read in files.by_others.items()
    }
    return begun._replace(outcome=_agreed(begun, others, kubelet.version.minor))


def _agreed(begun: StateStart, others: Mapping[int, StateStart], assumed: int) -> Started | NotStarted:
    """Say what all releases come to where nobody says which one it is; else who comes to what.

    A release that ends before it opens its files, over the configuration, says nothing about them.
    """
    outcome = begun.outcome
    ends = {minor: other.outcome for minor, other in sorted(others.items()) if other.node is not None}
    # The one that is assumed comes last: its words are those that are repeated.
    ends.pop(assumed, None)
    ends[assumed] = outcome
    if len({_end_of(end) for end in ends.values()}) == 1:
        return outcome
    told = []
    for does in _ENDS:
        alike = {minor: end for minor, end in ends.items() if _end_of(end) == does}
        if alike:
            *_, last = alike.values()
            text = "" if isinstance(last, Started) else f": {_text(last)}"
            told.append(f"kubelet {_minors(alike)} {does}{text}")
    return Undetermined(
        "its release is not known, and releases read these state files in ways of their own "
        f"(--kubelet-version); {'; '.join(told)}"
    )


def _end_of(end: Started | NotStarted) -> str:
    if isinstance(end, Undetermined):
        return _ENDS[1]
    return _ENDS[0] if isinstance(end, Started) else _ENDS[2]


def _text(refused: NotStarted) -> str:
    return refused.error if isinstance(refused, StartRefused) else refused.why


def _minors(minors: Iterable[int]) -> str:
    """Write releases as people say them: ``1.27 to 1.32, 1.36``."""
    runs = CPUSet.of(minors).runs()
    return ", ".join(f"1.{first}" if first == last else f"1.{first} to 1.{last}" for first, last in runs)


def _refusals(
    node: Node, gates: FeatureGates, files: SavedFiles, root: str
) -> Iterator[tuple[str, NotStarted]]:
    """Yield what stands against each file, in the order in which a kubelet opens them."""
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
    """Say how a kubelet ends over a file that it cannot load; None where it does not."""
    from cpuctl.checkpoints.reader import kubelet_refusal
    from cpuctl.engine.saved_files import LoadFailure

    if failure is LoadFailure.CRASHES:
        why = kubelet_refusal(name, error, root)
        return KubeletFault(kind=FaultKind.CRASH, where=f"reading {name}", why=why)
    if failure is not LoadFailure.STOPS:
        return None
    if name == CLAIMS_FILE:
        return StartRefused(stage="draManager", error=error)
    return StartRefused(stage="actuatedPods", error=f"{_ACTUATED}: {kubelet_refusal(name, error, root)}")


def _below(refused: NotStarted, root: str, name: str) -> NotStarted:
    """Put the kubelet's own root directory into its text."""
    if not isinstance(refused, StartRefused):
        return refused
    error = refused.error.replace(f'"{_ROOT}/{name}"', f'"{root}/{name}"')
    return StartRefused(refused.stage, error, refused.settings)
