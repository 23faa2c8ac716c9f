"""The caches of a machine out of ``/sys/devices/system/cpu/cpu*/cache``.

Files: *Documentation/ABI/testing/sysfs-devices-system-cpu*.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.kernel_text import parse_size, parse_word
from cpuctl.machine.model import Cache, distinct_caches
from cpuctl.machine.sysfs.cpus import CPU_DIRECTORY
from cpuctl.machine.sysfs.kernel_files import KernelFiles

_MOST_CACHES = 32
"""Caches that one CPU may list: some four are usual."""


def read_caches(files: KernelFiles, online: CPUSet) -> tuple[Cache, ...]:
    """Read every cache once, ordered by level, kind and lowest CPU.

    A CPU's ``indexN`` is not read when the ``indexN`` of a lower CPU already names the CPU as sharing it.
    Raise InputError for a file that makes no sense, and for caches that contradict each other.
    """
    try:
        return distinct_caches(_listed_caches(files, online))
    except ValueError as error:
        raise InputError(str(error), where=CPU_DIRECTORY) from None


def _listed_caches(files: KernelFiles, online: CPUSet) -> Iterator[Cache]:
    covered: dict[int, int] = {}
    for cpu in online:
        directory = f"{CPU_DIRECTORY}/cpu{cpu}/cache"
        indexes = files.numbered(directory, "index")
        if len(indexes) > _MOST_CACHES:
            message = f"found {len(indexes)} caches, expected at most {_MOST_CACHES}"
            raise InputError(message, where=directory)
        for index in indexes:
            if covered.get(index, 0) >> cpu & 1:
                continue
            cache = _read_cache(files, f"{directory}/index{index}/", cpu, online)
            if cache is not None and not cache.complete:
                # Another CPU's files of the same cache may tell more.
                yield cache
            elif cache is not None:
                covered[index] = covered.get(index, 0) | cache.cpus.mask
                yield cache


def _read_cache(files: KernelFiles, directory: str, cpu: int, online: CPUSet) -> Cache | None:
    level = files.number(f"{directory}level")
    shared = files.cpu_set(directory, ("shared_cpu_list",), ("shared_cpu_map",))
    if level is None and shared is None:
        return None
    kind = files.value(f"{directory}type", parse_word)
    # Some kernels print an empty map: who else uses the cache is not known then.
    cpus = ((shared or CPUSet()) & online) | CPUSet(1 << cpu)
    return Cache(
        told=bool(shared),
        level=level,
        kind=kind or "Unified",
        cpus=cpus,
        id=files.number(f"{directory}id"),
        size_bytes=files.value(f"{directory}size", parse_size),
        complete=None not in (level, shared, kind),
    )
