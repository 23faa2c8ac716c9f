"""The answer of ``cpuctl config show`` as a plain document (schema: ``cpuctl schema configshow``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from cpuctl.answering import API_VERSION
from cpuctl.kubelet.config import ATTRIBUTES
from cpuctl.kubelet.configuration.settings import Path, Setting, path_name, plain
from cpuctl.kubelet.gates.manager_gates import MANAGER_GATES

if TYPE_CHECKING:
    from cpuctl.answers import config as answers
    from cpuctl.answers.values import Amount
    from cpuctl.engine.node_resources import ReservationSummary, ResourceLine
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.configuration.loading import LoadedConfiguration
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.operations.configuration import StartOutcome
    from cpuctl.quantity import Quantity

_STAGES: Final[Mapping[str, answers.GateStageName]] = {
    "a": "alpha",
    "b": "beta",
    "g": "GA",
    "d": "deprecated",
}


def unloaded_document(refused: ConfigRefusedError, sources: Sources) -> answers.UnloadedConfig:
    """Report why a kubelet cannot load its configuration, as its check does."""
    from cpuctl.answering.config.parts import unloaded_header
    from cpuctl.answering.config.starts import not_started_answer

    start = not_started_answer(refused.whole_refusal)
    assert start["outcome"] != "Undetermined"
    return {"apiVersion": API_VERSION, "kind": "ConfigShow", **unloaded_header(sources), "start": start}


def show_document(
    loaded: LoadedConfiguration,
    gates: FeatureGates,
    reservation: ReservationSummary | str,
    header: answers.Header,
    outcome: StartOutcome,
) -> answers.ConfigInForce:
    """Describe an effective configuration; *reservation* is a text if the kubelet refuses it.

    *outcome* is how a kubelet would start with it.
    """
    from cpuctl.answering.config.parts import pools_answer
    from cpuctl.answering.config.starts import start_answer
    from cpuctl.engine.start import Started

    node: answers.ShownPools = {}
    if isinstance(outcome, Started) and (pools := pools_answer(outcome)) is not None:
        node = {"node": pools}
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigShow",
        **header,
        "dropIns": list(loaded.drop_ins),
        "settings": [entry for name in loaded.settings for entry in _entries(loaded.settings[name], (name,))],
        "featureGates": list(_gates(gates)),
        "reservation": reservation_answer(reservation),
        **node,
        "start": start_answer(outcome),
        "warnings": [
            {
                "code": warning.code,
                "setting": warning.place.setting or None,
                "where": warning.place.where or None,
                "message": warning.message,
            }
            for warning in loaded.warnings
        ],
    }


def _entries(setting: Setting, path: Path) -> Iterator[answers.Setting]:
    """List a scalar, a list or an empty mapping as one entry, any other mapping member by member."""
    members = setting.members
    if members:
        for name, member in members.items():
            yield from _entries(member, (*path, name))
        return
    yield {
        "setting": path_name(path),
        "field": path[0],
        "value": plain(setting),
        "from": setting.origin.kind.value,
        "where": setting.origin.place or None,
        "resourceManagers": path[0] in ATTRIBUTES,
    }


def _gates(gates: FeatureGates) -> Iterator[answers.FeatureGate]:
    """List the gates that affect the resource managers and exist in the release."""
    for name in (line.split()[0] for line in MANAGER_GATES.split("\n") if line):
        stage = gates.stage(name)
        if stage is not None:
            yield {
                "gate": name,
                "enabled": gates.enabled(name),
                "stage": stage_name(stage.stage),
                "default": stage.default,
                "locked": stage.locked,
                "verified": stage.verified,
            }


def stage_name(letter: str) -> answers.GateStageName:
    """Return the full name of a gate's stage."""
    return _STAGES[letter]


def reservation_answer(
    summary: ReservationSummary | str,
) -> answers.Reservation | answers.RejectedReservation:
    """Describe the resources withheld from pods, or the kubelet's error about them."""
    if isinstance(summary, str):
        return {"error": summary}
    return {
        "resources": [_resource(line) for line in summary.lines],
        "podsMemoryLimit": amount(summary.pods_memory),
        "reservedMemory": [
            {"numaNode": node, "limits": {kind: known_amount(each) for kind, each in limits.items()}}
            for node, limits in summary.numa_nodes.items()
        ],
        "memoryBalance": [
            {
                "type": balance.kind,
                "reservedMemory": known_amount(balance.listed),
                "totalReserved": known_amount(balance.reserved),
                "equal": balance.equal,
            }
            for balance in summary.balances
        ],
    }


def _resource(line: ResourceLine) -> answers.ReservedResource:
    return {
        "resource": line.resource,
        "capacity": amount(line.capacity),
        "kubeReserved": known_amount(line.kube),
        "systemReserved": known_amount(line.system),
        "evictionHard": amount(line.eviction),
        "reserved": amount(line.reserved),
        "allocatable": amount(line.allocatable),
    }


def amount(quantity: Quantity | None) -> Amount | None:
    """Write an amount, or that it is unknown."""
    return None if quantity is None else known_amount(quantity)


def known_amount(quantity: Quantity) -> Amount:
    """Write a quantity as the kubelet prints it, with its number: milli-CPUs become fractions."""
    whole, rest = divmod(quantity.nano, 10**9)
    return {"quantity": str(quantity), "number": quantity.nano / 10**9 if rest else whole}
