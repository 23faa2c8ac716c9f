"""Readers of whole trees: archives, a kernel's files, the content of a capture, a node to audit."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from cpuctl.audit.checks import audit, verdicts
from cpuctl.capture.node.processes import recorded_processes
from cpuctl.capture.recorded import recorded_kubelet
from cpuctl.cpuset import CPUSet
from cpuctl.errors import CpuctlError
from cpuctl.machine.archive import read_archive
from cpuctl.machine.findings import machine_findings
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.foreign.recognition import HEAD_BYTES, recognised
from cpuctl.machine.machine_info import kubelet_view
from cpuctl.machine.model import MAX_CPUS
from cpuctl.machine.pod_resources.grpc_call import decode_headers, encode_headers
from cpuctl.machine.pod_resources.json_answers import read_answers
from cpuctl.machine.pod_resources.live_answers import decode_allocatable_cpus, decode_get, decode_list
from cpuctl.machine.pod_resources.model import PodAllocation
from cpuctl.machine.recording_layout import MANIFEST, PROCESSES
from cpuctl.machine.sources import read_machine_tree
from cpuctl.machine.support.crictl import runtime_names
from cpuctl.machine.support.gatherinfo import read_gatherinfo
from cpuctl.machine.support.must_gather import PackedFiles, must_gather
from cpuctl.machine.support.sosreport import sosreport
from cpuctl.machine.support.view import not_collected
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.machine.sysfs import read_machine_files
from cpuctl.machine.tree import MemoryTree
from tests.audit.node_tree import NodeTree, clean_node
from tests.fuzz.target import FIXTURES, Target, text_of
from tests.machine.pod_resources.messages import ALLOCATABLE, LISTED
from tests.machine.support.archives import (
    crictl_output,
    gatherinfo_report,
    lscpu_table,
    must_gather_files,
    snapshot,
    sosreport_files,
    tar_of,
    without_directories,
)
from tests.machine.sysfs_writer import small_machine

_IN_MEMORY = Path("/dev/shm")  # noqa: S108  # a folder of our own is made in it
_NODES = {1: clean_node(1), 2: clean_node(2)}
_MACHINE = small_machine("2s2n2c2t,hugepages-2Mi=1,isolated=1")
_SOSREPORT = without_directories(
    sosreport_files(lscpu=lscpu_table(read_machine_files(MemoryTree(small_machine())))), CPUSet.parse("5-7")
) | crictl_output("u1", "db-0", "app")
_MUST_GATHER = must_gather_files({"w1": snapshot(small_machine("1s1n1c2t"))})
_OBJECTS = {path: text for path, text in _MUST_GATHER.items() if isinstance(text, str)}
_FREE_OF_MACHINE = ("sys/fs", "proc", "etc")


def run_archive(data: bytes) -> None:
    with TemporaryDirectory(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None) as directory:
        path = Path(directory) / "node.tar"
        path.write_bytes(data)
        with suppress(CpuctlError):
            read_machine_tree(read_archive(path), "fuzz")
        assert list(Path(directory).iterdir()) == [path]


def _changed(files: Mapping[str, str], paths: list[str], data: bytes) -> dict[str, str]:
    """Replace files: two bytes select one, and its text extends to the next two NULs."""
    changed = dict(files)
    for part in data.split(b"\0\0"):
        number = int.from_bytes(part[:2])
        changed[paths[number % len(paths)]] = text_of(part[2:])
    return changed


def _open_files(node: NodeTree) -> dict[str, str]:
    """Return the files that do not describe the machine itself; another target changes those."""
    return {path: text for path, text in node.files.items() if path.startswith(_FREE_OF_MACHINE)}


def run_sysfs(data: bytes) -> None:
    with suppress(CpuctlError):
        machine = read_machine_files(MemoryTree(_changed(_MACHINE, sorted(_MACHINE), data)))
        kubelet_view(machine)
        machine_findings(machine)


def run_sosreport(data: bytes) -> None:
    """Any output of the commands is a machine, or an error with its place."""
    files = _changed(_SOSREPORT, sorted(_SOSREPORT), data)
    runtime_names(MemoryTree(files))
    with suppress(CpuctlError):
        tree, gathered = sosreport(MemoryTree(files))
        source = read_machine_tree(tree, "fuzz")
        recorded_kubelet(tree, "fuzz", gathered.config_at)
        list(not_collected(source.machine, tree, gathered))


def run_must_gather(data: bytes) -> None:
    files: dict[str, str | bytes] = dict(_MUST_GATHER)
    files |= _changed(_OBJECTS, sorted(_OBJECTS), data)
    packed = tar_of(files, mode="w:")
    with suppress(CpuctlError):
        found = must_gather(PackedFiles("fuzz", lambda: io.BytesIO(packed)), "")
        assert found is not None
        tree, gathered = found
        recorded_kubelet(tree, "fuzz", gathered.config_at)


def run_gathered_files(data: bytes) -> None:
    with suppress(CpuctlError):
        must_gather(PackedFiles("fuzz", lambda: io.BytesIO(data)), "")


def run_gatherinfo(data: bytes) -> None:
    with suppress(CpuctlError):
        machine, _ = read_gatherinfo(data, "fuzz")
        kubelet_view(machine)


def run_node(data: bytes) -> None:
    """An audit reports on every container, with any content of the node's files."""
    base = _NODES[1 + len(data) % 2]
    paths = sorted(_open_files(base))
    node = NodeTree(version=base.version, driver=base.driver, files=_changed(base.files, paths, data))
    with suppress(CpuctlError):
        snapshot = node.snapshot()
        assert all(finding.message and finding.place.subject for finding in audit(snapshot))
        assert len(verdicts(snapshot)) == len(snapshot.containers)


def run_answers(data: bytes) -> None:
    """CPUs in the kubelet's answers, on the wire and as JSON, are below the maximum number."""
    with suppress(CpuctlError):
        _check_allocations(decode_list(data))
    with suppress(CpuctlError):
        _check_allocations([decode_get(data)])
    with suppress(CpuctlError):
        _check_allocations(read_answers(data, "fuzz").answered_pods)
    with suppress(CpuctlError):
        decode_allocatable_cpus(data)
    with suppress(ValueError):
        decode_headers(data)


def _check_allocations(pods: Iterable[PodAllocation]) -> None:
    for pod in pods:
        held = (pod.cpus, *(container.cpus for container in pod.containers))
        assert not any(cpus.mask >> MAX_CPUS for cpus in held)


def run_manifest(data: bytes) -> None:
    text = text_of(data)
    with suppress(CpuctlError):
        recorded_kubelet(MemoryTree({"MANIFEST.json": text}))
    with suppress(CpuctlError, ValueError):
        list(recorded_processes(text))


def run_printed(data: bytes) -> None:
    """Text that begins like a tool's output is read, or rejected with its place."""
    if recognised(data[:HEAD_BYTES]):
        with suppress(CpuctlError):
            machine, info, reported = read_printed(data, "fuzz")
            assert reported.facts <= reported.form.recorded
            assert info.num_cpus <= len(machine.online) or info.nodes == ()


def _archives() -> Iterable[bytes]:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in small_machine("1s1n1c2t").items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    plain = packed.getvalue()
    return [plain, gzip.compress(plain, mtime=0), lzma.compress(plain)]


def _replacements(files: Mapping[str, str]) -> Callable[[], Iterable[bytes]]:
    def read() -> list[bytes]:
        texts = (files[path].encode() for path in sorted(files))
        return [number.to_bytes(2) + text for number, text in enumerate(texts)]

    return read


def _answers() -> Iterable[bytes]:
    printed = (FIXTURES / "devices/pod-resources.json").read_bytes()
    return [LISTED, ALLOCATABLE, printed, encode_headers([("grpc-status", "12")])]


def _manifests() -> Iterable[bytes]:
    recording = read_archive(FIXTURES / "nodes/v2-2-numa/node.tar.xz")
    processes = (recording.read(PROCESSES) or "").splitlines()
    assert processes
    return [(recording.read(MANIFEST) or "").encode(), *(line.encode() for line in processes[:50])]


_GHW_NODE = {
    "id": 0,
    "cores": [{"id": 0, "logical_processors": [0]}],
    "caches": [{"level": 3, "type": "unified", "size_bytes": 1, "logical_processors": [0]}],
    "distances": [10],
    "memory": {"total_usable_bytes": 9, "huge_page_amounts_by_size": {"4096": {"total": 1, "free": 1}}},
}


def _printed() -> Iterable[bytes]:
    return [
        b"# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,,,,,\n",
        b"CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ\n0 0 0 0 0:0:0:0 yes 10.5\n1 - - - - no -\n",
        b'{"cpus": [{"cpu": 0, "node": 0, "l2:l3": "0:0", "online": true}, {"cpu": 1, "node":-}]}',
        b"available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 3 MB\nnode distances:\nnode 0\n  0: 10\n",
        json.dumps({"topology": {"nodes": [_GHW_NODE]}}).encode(),
        (
            b'<topology version="2.0"><object type="Machine" cpuset="0x1" complete_cpuset="0x3">'
            b'<object type="NUMANode" os_index="0" cpuset="0x1" local_memory="9"/><object type="L3Cache" '
            b'cpuset="0x1"><object type="PU" os_index="0"/></object></object><distances2 type="NUMANode">'
            b"<indexes>0</indexes><u64values>10</u64values></distances2></topology>"
        ),
    ]


MACHINES = {
    "archive": Target(run_archive, _archives),
    "gatherinfo": Target(run_gatherinfo, lambda: [gatherinfo_report(parse_synthetic("1s1n2c2t")).encode()]),
    "must-gather": Target(run_must_gather, _replacements(_OBJECTS)),
    "gathered": Target(run_gathered_files, lambda: [tar_of(_MUST_GATHER), tar_of(_MUST_GATHER, mode="w:")]),
    "sosreport": Target(run_sosreport, _replacements(_SOSREPORT)),
    "sysfs": Target(run_sysfs, _replacements(_MACHINE)),
    "node": Target(run_node, _replacements(_open_files(_NODES[2]))),
    "printed": Target(run_printed, _printed),
    "answers": Target(run_answers, _answers),
    "manifest": Target(run_manifest, _manifests),
}
