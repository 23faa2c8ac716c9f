"""The caches of a machine out of ``/sys/devices/system/cpu/cpu*/cache``.

Files: *Documentation/ABI/testing/sysfs-devices-system-cpu*.
"""

from __future__ import annotations

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.kernel_files import KernelFiles
from cpuctl.machine.kernel_text import parse_size, parse_word
from cpuctl.machine.model import Cache, cache_order
from cpuctl.machine.sysfs_cpus import CPU_DIRECTORY


def read_caches(files: KernelFiles, online: CPUSet) -> tuple[Cache, ...]:
    """Read every cache once, ordered by level, kind and lowest CPU.

    A CPU's ``indexN`` is not read when the ``indexN`` of a lower CPU already names the CPU as sharing it.
    """
    covered: dict[str, int] = {}
    caches: set[Cache] = set()
    for cpu in online:
        directory = f"{CPU_DIRECTORY}/cpu{cpu}/cache"
        for index in files.tree.names(directory):
            if not index.startswith("index") or covered.get(index, 0) >> cpu & 1:
                continue
            cache = _read_cache(files, f"{directory}/{index}/", cpu, online)
            if cache is not None:
                covered[index] = covered.get(index, 0) | cache.cpus.mask
                caches.add(cache)
    return tuple(sorted(caches, key=cache_order))


def _read_cache(files: KernelFiles, directory: str, cpu: int, online: CPUSet) -> Cache | None:
    level = files.number(f"{directory}level")
    shared = files.cpu_set(directory, ("shared_cpu_list",), ("shared_cpu_map",))
    if level is None and shared is None:
        return None
    if level is None:
        raise InputError("found no such file, expected the cache's level", where=f"{directory}level")
    # Some kernels print an empty map; the cache still belongs to the CPU that lists it.
    cpus = ((shared or CPUSet()) & online) | CPUSet(1 << cpu)
    return Cache(
        level=level,
        kind=files.value(f"{directory}type", parse_word) or "Unified",
        cpus=cpus,
        id=files.number(f"{directory}id"),
        size_bytes=files.value(f"{directory}size", parse_size),
    )
