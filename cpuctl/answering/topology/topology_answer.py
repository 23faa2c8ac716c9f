"""The answer of ``cpuctl topology`` as a plain document (schema: ``cpuctl schema topology``).

Sockets and NUMA nodes carry the kernel's numbers. Cores and caches are numbered from 0 by their lowest CPU,
because the kernel's own ids for them repeat; the set names ``core:N`` and ``l3:N`` use these numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.parts import found, graded, set_answer
from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import Cache, Machine, NumaNode

if TYPE_CHECKING:
    from cpuctl.answers import topology as answers
    from cpuctl.answers.checkpoint import CPUHolder, HeldCPUs
    from cpuctl.answers.topology import HeldMap, PCIDevices
    from cpuctl.answers.values import Sources
    from cpuctl.machine.devices.pci import PCIDevice


def topology_document(
    machine: Machine, sources: Sources, kubelet: answers.KubeletView | answers.Unseen
) -> answers.Topology:
    """Describe a machine as its kernel sees it, with the kubelet's counts."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Topology",
        "sources": sources,
        "summary": _summary(machine),
        "kubelet": kubelet,
        "numaNodes": [_numa_node(node) for node in machine.numa_nodes],
        "sockets": [{"id": number, "cpus": str(cpus)} for number, cpus in machine.sockets.items()],
        "caches": [_cache(cache) for cache in sorted(machine.caches, key=_cache_order)],
        "cpus": list(cpu_rows(machine)),
        "findings": [{**graded(each), "file": each.place, **found(each)} for each in machine.findings],
    }


def _summary(machine: Machine) -> answers.Summary:
    synthetic, why_not = _synthetic(machine)
    return {
        "model": machine.model_name,
        "architecture": machine.architecture,
        "cpus": len(machine.online),
        "online": str(machine.online),
        "offline": str(machine.offline),
        "present": set_answer(machine.present),
        "possible": set_answer(machine.possible),
        "isolated": str(machine.isolated),
        "nohzFull": str(machine.nohz_full),
        "cores": len(machine.cores) if machine.cores_known else None,
        "threadsPerCore": sorted(set(map(len, machine.cores))) if machine.cores_known else [],
        "sockets": len(machine.sockets) or None,
        "numaNodes": len(machine.numa_nodes) if machine.numa_known else None,
        "l3Caches": len(machine.l3_groups) if machine.caches_known else None,
        "performanceCPUs": set_answer(machine.core_kinds.performance or None),
        "efficiencyCPUs": set_answer(machine.core_kinds.efficiency or None),
        "coreKindsGuessed": machine.core_kinds.guessed,
        "memoryBytes": machine.memory_bytes,
        "hugepages": _hugepages(machine.hugepages),
        "hugepagesRecorded": machine.hugepages_known,
        "synthetic": synthetic,
        "whyNotSynthetic": why_not,
    }


def _synthetic(machine: Machine) -> tuple[str | None, str | None]:
    """Write the machine in one line that ``-m`` accepts, or explain why that is impossible."""
    from cpuctl.machine.synthetic import describe_synthetic

    try:
        return describe_synthetic(machine), None
    except ValueError as error:
        return None, str(error)


def _numa_node(node: NumaNode) -> answers.NumaNode:
    return {
        "id": node.id,
        "cpus": str(node.cpus),
        "memoryBytes": node.memory_bytes,
        "freeBytes": node.free_bytes,
        "hugepages": _hugepages(node.hugepages),
        "freeHugepages": _hugepages(node.free_hugepages),
        "distances": list(node.distances),
    }


def _hugepages(pages: Mapping[int, int]) -> dict[str, int]:
    return {page_size_name(kib): count for kib, count in sorted(pages.items())}


def page_size_name(kib: int) -> str:
    """Name a page size as Kubernetes does: ``2Mi``, ``1Gi``."""
    for unit, factor in (("Gi", 1 << 20), ("Mi", 1 << 10)):
        if kib % factor == 0:
            return f"{kib // factor}{unit}"
    return f"{kib}Ki"


def _cache_order(cache: Cache) -> tuple[int, str, int]:
    return cache.level or 0, cache.kind, cache.cpus.lowest


def _cache(cache: Cache) -> answers.Cache:
    return {
        "level": cache.level,
        "type": cache.kind,
        "id": cache.id,
        "sizeBytes": cache.size_bytes,
        "cpus": str(cache.cpus),
    }


def cpu_rows(machine: Machine) -> Iterable[answers.CPU]:
    """Yield a row for every CPU, online or not: its place and its properties."""
    cores = _numbers(machine.cores) if machine.cores_known else {}
    l1d, l1i = _cache_numbers(machine, 1, "Data"), _cache_numbers(machine, 1, "Instruction")
    l2, l3 = _cache_numbers(machine, 2, "Unified"), _cache_numbers(machine, 3, "Unified")
    online = {cpu.number: cpu for cpu in machine.cpus}
    for number in machine.online | machine.offline:
        cpu = online.get(number)
        core_type = _core_type(machine, number)
        yield {
            "cpu": number,
            "online": cpu is not None,
            "node": cpu.numa_node if cpu else None,
            "socket": machine.socket_of.get(number),
            "core": cores.get(number),
            "siblings": str(cpu.siblings) if cpu and machine.cores_known else None,
            "type": core_type,
            "typeGuessed": machine.core_kinds.guessed and core_type is not None,
            "isolated": number in machine.isolated,
            "nohzFull": number in machine.nohz_full,
            "capacity": cpu.capacity if cpu else None,
            "maxKHz": cpu.max_khz if cpu else None,
            "minKHz": cpu.min_khz if cpu else None,
            "l1d": l1d.get(number),
            "l1i": l1i.get(number),
            "l2": l2.get(number),
            "l3": l3.get(number),
        }


def _cache_numbers(machine: Machine, level: int, kind: str) -> dict[int, int]:
    caches = {
        cache.cpus
        for cache in machine.caches
        if cache.sharing_known and (cache.level, cache.kind) == (level, kind)
    }
    return _numbers(sorted(caches, key=_lowest))


def _core_type(machine: Machine, number: int) -> answers.CoreType | None:
    if number in machine.core_kinds.performance:
        return "performance"
    return "efficiency" if number in machine.core_kinds.efficiency else None


def _numbers(groups: Iterable[CPUSet]) -> dict[int, int]:
    return {cpu: number for number, group in enumerate(groups) for cpu in group}


def _lowest(cpus: CPUSet) -> int:
    return cpus.lowest


def pci_document(devices: Iterable[PCIDevice]) -> PCIDevices:
    """Describe devices one by one."""
    return {
        "pci": [
            {
                "address": each.address,
                "kind": each.kind,
                "vendor": each.vendor,
                "device": each.device,
                "numaNode": each.numa_node,
                "virtual": each.virtual,
                "resource": each.resource,
            }
            for each in devices
        ]
    }


_MOST_MARKS = 3
"""The most pods reported for one CPU: a broken file may have thousands."""


def map_answer(machine: Machine, cpus: HeldCPUs) -> HeldMap:
    """List every CPU of the machine with the marks of its holders, and held CPUs that it does not have."""
    pool, known = CPUSet.parse(cpus["sharedPool"]), machine.online | machine.offline
    marks = _marks(_leaves(cpus["holders"]), known)
    return {
        "cpus": [
            {
                "cpu": row["cpu"],
                "online": row["online"],
                "node": row["node"],
                "socket": row["socket"],
                "core": row["core"],
                "l3": row["l3"],
                "shared": row["cpu"] in pool,
                "marks": marks.get(row["cpu"], []),
            }
            for row in cpu_rows(machine)
        ],
        "notOnMachine": str((pool | CPUSet.parse(cpus["exclusive"])) - known),
    }


def _leaves(holders: Iterable[CPUHolder]) -> list[tuple[str, str, CPUSet]]:
    """Return UID, mark and CPUs of every holder, those with the fewest CPUs first.

    So a pod that holds CPUs as a whole is shown if none of its containers holds any, or if several hold the
    same ones, its pool (KEP-5526). An init container is shown if no other container has reused its CPUs.
    """
    listed = list(holders)
    pods = {holder["podUID"]: holder["mark"] for holder in listed if holder["holding"] == "pod"}
    sharers = Counter((holder["podUID"], holder["cpus"]) for holder in listed if holder["holding"] != "pod")
    leaves = [
        (
            holder["podUID"],
            pods.get(holder["podUID"], holder["mark"])
            if sharers[holder["podUID"], holder["cpus"]] > 1
            else holder["mark"],
            CPUSet.parse(holder["cpus"]),
        )
        for holder in listed
    ]
    return sorted(leaves, key=lambda leaf: len(leaf[2]))


def _marks(leaves: Iterable[tuple[str, str, CPUSet]], known: CPUSet) -> dict[int, list[str]]:
    """Give every CPU one mark for each pod that holds it."""
    marks: dict[int, list[str]] = {}
    marked: dict[str, CPUSet] = {}
    full = CPUSet()
    for uid, mark, held in leaves:
        own = marked.get(uid, CPUSet())
        marked[uid] = own | held
        for cpu in held & (known - full - own):
            marks.setdefault(cpu, []).append(mark)
            if len(marks[cpu]) == _MOST_MARKS:
                full |= CPUSet.of([cpu])
    return marks
