"""The answer of ``cpuctl config reserve`` as a plain document (schema: ``cpuctl schema configreserve``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cpuctl.answering import API_VERSION
from cpuctl.answering.config.check_answer import finding_answer, finding_place
from cpuctl.answering.config.show_answer import known_amount
from cpuctl.answering.config.starts import fix_answer, not_started_answer, start_to_fix
from cpuctl.checkpoints.model import MemoryTable
from cpuctl.cpuset import CPUSet
from cpuctl.engine.config_lints.lint import Lint
from cpuctl.engine.memory.tables import MEMORY
from cpuctl.engine.reserve import CPUChoice, MemoryProposal, NoProposal, Proposal
from cpuctl.engine.start import Started
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.configuration.loading import LoadedConfiguration
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.reserve import Reserved
from cpuctl.quantity import Format, Quantity

if TYPE_CHECKING:
    from cpuctl.answers import config as answers

_HEAD = ("apiVersion: kubelet.config.k8s.io/v1beta1", "kind: KubeletConfiguration")
_FLAGS = {"memoryManagerPolicy": "--memory-manager-policy", "reservedSystemCPUs": "--reserved-cpus"}
_CODES = "reserved-"


def reserve_document(
    loaded: LoadedConfiguration, found: Reserved | NoProposal, header: answers.Header
) -> answers.Proposed | answers.Unproposed:
    """Describe settings with which the kubelet starts, or explain why there are none."""
    if isinstance(found, NoProposal):
        return _unproposed(loaded, found, header)
    return _proposed(loaded, found.proposal, found.lints, header)


def _proposed(
    loaded: LoadedConfiguration, proposal: Proposal, lints: Sequence[Lint], header: answers.Header
) -> answers.Proposed:
    settings = _settings(loaded.config, proposal)
    memory = proposal.memory and _memory(proposal.memory, proposal.started, loaded.config)
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigReserve",
        **header,
        "proposal": {
            "cpus": None if proposal.cpus is None else _cpus(proposal.cpus, proposal.config),
            "memory": memory,
            "settings": settings,
            "snippet": snippet_text(settings),
            "flags": list(_flags(settings)),
            "replaces": [
                place
                for place in fix_answer(loaded, [(name,) for name in settings])
                if place["from"] != "default"
            ],
            "findings": [
                # The proposed settings are not in any file.
                finding_answer(finding_place(loaded, lint), unwritten=lint.place[0] in settings)
                for lint in lints
                if lint.code.startswith(_CODES)
            ],
        },
    }


def _unproposed(
    loaded: LoadedConfiguration, refused: NoProposal, header: answers.Header
) -> answers.Unproposed:
    rejection: answers.Rejection = {"why": refused.why}
    if refused.outcome is not None:
        rejection["start"] = start_to_fix(loaded, refused.outcome)
    return {"apiVersion": API_VERSION, "kind": "ConfigReserve", **header, "rejection": rejection}


def unloaded_document(refused: ConfigRefusedError, header: answers.Header) -> answers.Unproposed:
    """Report that the kubelet cannot load the configuration to which settings would be added."""
    start = not_started_answer(refused.whole_refusal)
    rejection: answers.Rejection = {
        "why": "the kubelet would not start with these settings",
        "start": start,
    }
    return {"apiVersion": API_VERSION, "kind": "ConfigReserve", **header, "rejection": rejection}


def _cpus(choice: CPUChoice, config: KubeletConfiguration) -> answers.ChosenCPUs:
    return {
        "cpuManagerPolicy": "none" if config.cpu_manager_policy == "none" else "static",
        "cpus": str(CPUSet(choice.cpus)),
        "count": choice.cpus.bit_count(),
        "inSplitCores": str(CPUSet(choice.split_cores)),
        "inSplitCaches": str(CPUSet(choice.split_caches)),
        "performanceCPUs": str(CPUSet(choice.performance)),
    }


def _memory(memory: MemoryProposal, started: Started, config: KubeletConfiguration) -> answers.ChosenMemory:
    kept = started.reservations
    eviction = kept.kept_by_eviction(started.capacity)
    return {
        "currentPolicy": config.memory_manager_policy,
        "totalReserved": known_amount(Quantity.from_value(memory.total, Format.BINARY_SI)),
        "kubeReserved": known_amount(kept.kube.get(MEMORY, Quantity())),
        "systemReserved": known_amount(kept.system.get(MEMORY, Quantity())),
        "evictionHard": known_amount(eviction.get(MEMORY, Quantity())),
        "numaNodes": [
            _numa_node(number, node.memory_map[MEMORY], pages_known=started.hugepages_known)
            for number, node in sorted(started.memory_policy.tables.items() if started.memory_policy else ())
        ],
    }


def _numa_node(number: int, table: MemoryTable, *, pages_known: bool) -> answers.NodeMemory:
    pages = table.total - table.system_reserved - table.allocatable
    return {
        "numaNode": number,
        "total": table.total,
        "hugePages": pages if pages_known else None,
        "reserved": table.system_reserved,
        "allocatable": table.allocatable if pages_known else None,
    }


def _settings(before: KubeletConfiguration, proposal: Proposal) -> answers.ProposedSettings:
    """Return the chosen settings, and those that must change, as fields of a KubeletConfiguration."""
    config = proposal.config
    settings: answers.ProposedSettings = {}
    if config.memory_manager_policy != before.memory_manager_policy:
        settings["memoryManagerPolicy"] = "Static"
    if proposal.cpus is not None:
        settings["reservedSystemCPUs"] = config.reserved_system_cpus
    if proposal.memory is not None:
        settings["reservedMemory"] = reserved_memory_answer(config)
    return settings


def reserved_memory_answer(config: KubeletConfiguration) -> list[answers.MemoryReservation]:
    """Write the reserved memory as a field of a KubeletConfiguration."""
    return [
        {"numaNode": item.numa_node, "limits": {name: str(each) for name, each in item.limits.items()}}
        for item in config.reserved_memory
    ]


def snippet_text(settings: Mapping[str, Any]) -> str:
    """Write settings as a KubeletConfiguration: texts, mappings of texts, and reserved memory."""
    return "\n".join((*_HEAD, *_lines(settings), ""))


def _lines(settings: Mapping[str, Any]) -> Iterator[str]:
    """Write the settings as YAML; quote text that looks like a number: the kubelet accepts only strings."""
    for name, value in settings.items():
        if isinstance(value, str):
            yield f'{name}: "{value}"'
        elif isinstance(value, dict):
            yield f"{name}:" if value else f"{name}: {{}}"
            yield from (f'  {member}: "{each}"' for member, each in value.items())
        else:
            yield f"{name}:"
            yield from (line for item in value for line in _memory_lines(item))


def _memory_lines(item: answers.MemoryReservation) -> Iterator[str]:
    yield f"- numaNode: {item['numaNode']}"
    yield "  limits:"
    yield from (f'    {kind}: "{each}"' for kind, each in item["limits"].items())


def _flags(settings: answers.ProposedSettings) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, list):
            yield "--reserved-memory=" + ";".join(_flag_part(item) for item in value)
        else:
            yield f"{_FLAGS[name]}={value}"


def _flag_part(item: answers.MemoryReservation) -> str:
    return f"{item['numaNode']}:" + ",".join(f"{kind}={each}" for kind, each in item["limits"].items())
