"""What ``sos report`` collects from a host: a file tree like the host's own, and the output of commands.

Source: ``sosreport/sos``, ``sos/report/plugins/{processor,numa,memory,process,kubernetes,openshift}.py``. It
copies ``/sys/devices/system/cpu`` (since 2026, of at most 64 CPUs); for NUMA nodes, meminfo, cpulist,
distance and huge pages; for processes, the status but not the command line; the kubelet's files if its
plugins ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.findings import cpu_files, warning
from cpuctl.machine.kernel_files import KernelFiles
from cpuctl.machine.model import CPU_DIRECTORY, MachineFinding
from cpuctl.machine.recording_layout import SOS_COMMANDS
from cpuctl.machine.support.view import Overlay, SupportArchive, configuration_place
from cpuctl.machine.tree import Tree
from cpuctl.phrases import are, named

WHAT = "a sosreport"
_PROCESSES = (f"{SOS_COMMANDS}/process/ps_auxwwwm", "ps")
_LSCPU = f"{SOS_COMMANDS}/processor/lscpu_-ae"
_PACKAGES = ("installed-rpms", "installed-debs")
_KUBELET = re.compile(
    r"^root +(?P<pid>[0-9]{1,10}) +(?:\S+ +){8}(?P<command>(?:/\S*/)?(?:hyperkube +)?kubelet(?: .*)?)$",
    re.MULTILINE | re.ASCII,
)
"""USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND, in one line."""
_PACKAGE = re.compile(r"^(?:kubelet-|ii +kubelet +)v?(1\.[0-9]{1,3}\.[0-9]{1,3})\b", re.MULTILINE | re.ASCII)
_OPENSHIFT = re.compile(r"^openshift-(?:kubelet|hyperkube)-4\.([0-9]{1,3})\.[0-9]+", re.MULTILINE | re.ASCII)
_OPENSHIFT_BEHIND = 13
"""OpenShift 4.N has the kubelet of Kubernetes 1.(N+13)."""


def sosreport(tree: Tree) -> tuple[Tree, SupportArchive]:
    """Return a sosreport as a recording: ``ps`` shows how the kubelet runs, ``lscpu`` the CPUs left out.

    Raise InputError if CPUs are missing and no other file lists them.
    """
    made = dict(_kubelet(tree))
    files = KernelFiles(tree)
    online = files.cpu_list(f"{CPU_DIRECTORY}/online") or CPUSet()
    missing = online - files.numbered(CPU_DIRECTORY, "cpu")
    findings: tuple[MachineFinding, ...] = ()
    if missing:
        made |= _CopiedCPUs(files, online, missing).others()
        message = (
            f"{are(missing)} known only from lscpu: only their last-level caches are known, and "
            "missing core and package IDs are made up"
        )
        findings = (warning("cpus-from-lscpu", cpu_files(missing, ""), message),)
    gathered = SupportArchive(
        WHAT, version=_version(tree), config_at=configuration_place(tree), findings=findings
    )
    return Overlay(tree, made), gathered


def _kubelet(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield the procfs files about the kubelet, which sos does not copy."""
    for path in _PROCESSES:
        if found := _KUBELET.search(tree.read(path) or ""):
            process = f"proc/{found['pid']}"
            words = found["command"].split()
            yield f"{process}/cmdline", "".join(f"{word}\0" for word in words)
            if tree.read(f"{process}/status") is None:
                yield f"{process}/status", "Name:\tkubelet\nUid:\t0\t0\t0\t0\n"
            return


def _version(tree: Tree) -> str:
    """Return the kubelet's release according to the installed package."""
    for path in _PACKAGES:
        text = tree.read(path) or ""
        if found := _PACKAGE.search(text):
            return f"v{found[1]}"
        if found := _OPENSHIFT.search(text):
            return f"1.{int(found[1]) + _OPENSHIFT_BEHIND}"
    return ""


class _Row(NamedTuple):
    """The row of an online CPU in ``lscpu -ae``; the numbers are lscpu's own, except the node's."""

    node: str
    socket: str
    core: str
    last_cache: str


def lscpu_rows(text: str) -> dict[int, _Row]:
    """Read the table; offline CPUs have no core in it."""
    header, *lines = text.splitlines() or [""]
    columns = {name: place for place, name in enumerate(header.split())}
    caches = next((name for name in columns if name.endswith(":L3")), "")
    if not {"CPU", "SOCKET", "CORE"} <= columns.keys():
        return {}
    rows: dict[int, _Row] = {}
    for line in lines:
        words = line.split()
        if len(words) <= max(columns["CPU"], columns["SOCKET"], columns["CORE"], columns.get(caches, 0)):
            continue
        number, core = words[columns["CPU"]], words[columns["CORE"]]
        if number.isascii() and number.isdecimal() and len(number) <= 4 and _is_number(core):
            rows[int(number)] = _Row(
                node=words[columns["NODE"]] if "NODE" in columns else "",
                socket=words[columns["SOCKET"]],
                core=core,
                last_cache=words[columns[caches]].rpartition(":")[2] if caches else "",
            )
    return rows


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 9


class _CopiedCPUs:
    """The CPUs whose directories were copied, and what they and lscpu reveal about the others."""

    def __init__(self, files: KernelFiles, online: CPUSet, missing: CPUSet) -> None:
        self._files = files
        self._online = online
        self._lacking = missing
        rows = lscpu_rows(files.tree.read(_LSCPU) or "")
        self._rows = {cpu: rows[cpu] for cpu in online if cpu in rows}
        if unrecorded := missing - CPUSet.of(self._rows):
            raise InputError(
                f"has directories for only {len(online - missing)} of {len(online)} online CPUs, and "
                f"nothing else describes {named(unrecorded)}",
                where=CPU_DIRECTORY,
                hint="collect it again with sos report -k processor.max_cpu_dirs=8192",
            )

    def others(self) -> Mapping[str, str]:
        """Return the files that the CPUs left out would have."""
        texts = dict(self._caches())
        packages, cores = self._ids("physical_package_id"), self._ids("core_id")
        sockets = {row.socket: packages[cpu] for cpu, row in self._rows.items() if cpu in packages}
        known = {row.core: cores[cpu] for cpu, row in self._rows.items() if cpu in cores}
        beyond = max(cores.values(), default=-1) + 1
        for cpu in self._lacking:
            row, directory = self._rows[cpu], f"{CPU_DIRECTORY}/cpu{cpu}"
            texts[f"{directory}/topology/thread_siblings_list"] = str(self._equivalent(cpu, "core"))
            texts[f"{directory}/topology/physical_package_id"] = str(sockets.get(row.socket, row.socket))
            texts[f"{directory}/topology/core_id"] = str(known.get(row.core, beyond + int(row.core)))
            if _is_number(row.node):
                texts[f"{directory}/node{row.node}"] = ""
        return texts

    def _ids(self, name: str) -> dict[int, int]:
        """Read an id of all copied CPUs."""
        paths = {cpu: f"{CPU_DIRECTORY}/cpu{cpu}/topology/{name}" for cpu in self._online - self._lacking}
        found = ((cpu, self._files.number(path)) for cpu, path in paths.items())
        return {cpu: number for cpu, number in found if number is not None}

    def _equivalent(self, cpu: int, column: str) -> CPUSet:
        wanted = getattr(self._rows[cpu], column)
        return CPUSet.of(
            other
            for other, row in self._rows.items()
            if getattr(row, column) == wanted and row.socket == self._rows[cpu].socket
        )

    def _caches(self) -> Iterator[tuple[str, str]]:
        """Yield the files of the last-level caches that no copied CPU shares."""
        size, number = self._largest()
        left = CPUSet.of(cpu for cpu in self._lacking if _is_number(self._rows[cpu].last_cache))
        for cpu in left:
            sharing = self._equivalent(cpu, "last_cache")
            if cpu != sharing.lowest or not sharing <= self._lacking:
                continue
            number += 1
            directory = f"{CPU_DIRECTORY}/cpu{cpu}/cache/index3"
            yield f"{directory}/level", "3"
            yield f"{directory}/type", "Unified"
            yield f"{directory}/id", str(number)
            yield f"{directory}/shared_cpu_list", str(sharing)
            if size:
                yield f"{directory}/size", size

    def _largest(self) -> tuple[str, int]:
        """Return the size of a copied last-level cache, and the highest id among them."""
        size, number = "", -1
        for cpu in self._online - self._lacking:
            directory = f"{CPU_DIRECTORY}/cpu{cpu}/cache/index3"
            size = size or self._files.tree.read(f"{directory}/size") or ""
            number = max(number, self._files.number(f"{directory}/id") or 0)
        return size, number
