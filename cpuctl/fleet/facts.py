"""What makes two nodes similar: everything that the kubelet knows about its machine, and its settings.

Facts are texts by name, so that the differences between two nodes can be reported by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from pickle import Pickler

from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.config import ATTRIBUTES, KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.machine_info import InfoCore, MachineInfo
from cpuctl.quantity import Format, Quantity

_KIND_DIGITS = 12
_MEMORY = "memory"


def machine_facts(info: MachineInfo) -> dict[str, str]:
    """Return everything that the kubelet knows about a machine, without memory that is not recorded."""
    cores = [core for node in info.nodes for core in node.cores]
    facts = {
        "CPUs": str(info.num_cpus),
        "sockets": str(info.num_sockets),
        "NUMA nodes": str(len(info.nodes)),
        **({_MEMORY: str(info.memory_bytes)} if info.memory_bytes else {}),
        "cores": " ".join(_cpus(core.threads) for core in sorted(cores, key=lambda core: min(core.threads))),
        **_grouped("socket", ((core.socket_id, core) for core in cores)),
        **_grouped("L3", ((each, core) for core in cores for each in core.uncore_cache_ids)),
    }
    if not info.caches_known:
        facts["L3"] = "not recorded"
    for node in sorted(info.nodes, key=lambda each: each.id):
        name = f"NUMA node {node.id}"
        facts[f"{name} CPUs"] = _cpus(cpu for core in node.cores for cpu in core.threads)
        if node.distances:
            facts[f"{name} distances"] = " ".join(map(str, node.distances))
        for kib, pages in sorted(node.hugepages.items()):
            facts[f"{name} {_page_size(kib)}"] = str(pages)
        if node.memory_known:
            facts[f"{name} {_MEMORY}"] = str(node.memory_bytes)
    return facts


def _cpus(numbers: Iterable[int]) -> str:
    return str(CPUSet.of(numbers))


def _grouped(what: str, cores: Iterable[tuple[int, InfoCore]]) -> dict[str, str]:
    threads: dict[int, list[int]] = {}
    for number, core in cores:
        threads.setdefault(number, []).extend(core.threads)
    return {f"{what} {number} CPUs": _cpus(cpus) for number, cpus in sorted(threads.items())}


def _page_size(kib: int) -> str:
    return f"hugepages-{Quantity.from_value(kib << 10, Format.BINARY_SI)}"


def kubelet_facts(kubelet: Kubelet) -> dict[str, str]:
    """Return a kubelet's release, and its settings that are not the defaults, by their names."""
    config, default = kubelet.config, KubeletConfiguration()
    facts = {"kubelet": str(kubelet.version), "cgroup version": str(kubelet.cgroup_version)}
    for name, attribute in ATTRIBUTES.items():
        value = getattr(config, attribute)
        if value != getattr(default, attribute):
            facts[name] = _text(value)
    facts |= {f"featureGates.{gate}": str(on).lower() for gate, on in sorted(kubelet.gate_flags.items())}
    return facts


def _text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case Mapping():
            return ",".join(f"{name}={_text(each)}" for name, each in sorted(value.items()))
        case ReservedMemory(numa_node=node, limits=limits):
            return f"{node}:{_text(limits)}"
        case tuple():
            return ";".join(map(_text, value))
        case _:
            return str(value)


def kind_of(facts: Mapping[str, str]) -> str:
    """Return a text that is equal for equal facts, ignoring amounts of memory."""
    lines = "\n".join(f"{name}={value}" for name, value in sorted(facts.items()) if not is_memory(name))
    return sha256(lines.encode()).hexdigest()[:_KIND_DIGITS]


def is_memory(name: str) -> bool:
    """Return whether a fact is an amount of memory, which differs slightly from boot to boot."""
    return name.endswith(_MEMORY)


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name and both values of every fact that differs."""
    for name in (*here, *(name for name in there if name not in here)):
        one, other = here.get(name, ""), there.get(name, "")
        if one != other and not (is_memory(name) and roughly_equal_amounts(one, other)):
            yield name, one, other


def roughly_equal_amounts(one: str, other: str) -> bool:
    """Return whether two amounts of memory differ by less than 1 %, as they do from boot to boot."""
    a, b = (int(each) if each else 0 for each in (one, other))
    return a == b or abs(a - b) * 100 < max(a, b)


class _Content(Pickler):
    """Writes equal values as equal bytes in every process, although the order of sets is random."""

    def persistent_id(self, value: object) -> object:
        return sorted(map(repr, value)) if isinstance(value, set | frozenset) else None


def content_digest(value: object) -> str:
    """Return a text that is equal for equal values, in every process."""
    content = BytesIO()
    pickler = _Content(content)
    pickler.fast = True  # whether equal objects are identical is arbitrary, too
    pickler.dump(value)
    return sha256(content.getbuffer()).hexdigest()
