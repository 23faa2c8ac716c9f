"""OpenShift's must-gather: a snapshot of every node, and the objects of the API server that configure it.

Source: ``openshift/must-gather``, ``collection-scripts/gather_ppc``, which writes ``nodes/NODE/sysinfo.tgz``
(``gather-sysinfo snapshot``, of the node tuning operator: what ghw copies, interrupts and their affinities)
and inspects Nodes and MachineConfigs. These are below one directory per run and one per gathering image. A
node's annotation names its rendered MachineConfig, which contains the files and units that the node was
given.

An archive of a whole cluster is large, packed or not: only the requested files are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from cpuctl.documents.ignition import file_text
from cpuctl.documents.loading import load_documents
from cpuctl.errors import CpuctlError, InputError, unreadable
from cpuctl.machine.archive import Opened, archive_errors, archive_members, unpacked_tree
from cpuctl.machine.recording_layout import UNIT, is_of_kubelet
from cpuctl.machine.support.view import Overlay, SupportArchive, configuration_place
from cpuctl.machine.tar_stream import TarMembers
from cpuctl.machine.tree import MAX_FILE_BYTES, Tree
from cpuctl.root_directory import Root

MAX_READ_BYTES = 128 << 20
"""The most bytes read from one archive in total."""
MAX_FILES = 100_000
_DEEPEST = 2
"""The number of directories above a tool's output: one for the run, and one for the image."""


class GatheredFiles(Protocol):
    """Access to such an archive; ``name`` is its name in messages."""

    name: str

    def paths(self, wanted: Callable[[str], bool]) -> Iterator[str]:
        """Yield the paths of the files that are *wanted*; raise CpuctlError if they cannot be listed."""

    def read(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the content of files by their paths; raise InputError beyond the limits."""


class UnpackedFiles:
    """A directory, whose links never lead out of it; *directories* may be up to two levels below it.

    Files are at most *depth* levels below those. Errors are those of ``GatheredFiles``.
    """

    def __init__(self, path: Path, directories: Collection[str], depth: int = 2) -> None:
        self._depth = depth
        self.name = str(path)
        self._root = Root(path)
        self._directories = directories

    def paths(self, wanted: Callable[[str], bool]) -> Iterator[str]:
        """Yield the wanted files below the directories, those of the run first."""
        found = 0
        for top in self._tops("", _DEEPEST):
            for directory in self._directories:
                for path in self._below(f"{top}{directory}", self._depth):
                    if wanted(path):
                        found += 1
                        if found > MAX_FILES:
                            raise InputError(f"contains more than {MAX_FILES} files", where=self.name)
                        yield path

    def read(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the content of files by their paths."""
        found: dict[str, bytes] = {}
        for path in paths:
            try:
                data = self._root.read(path, MAX_FILE_BYTES)
            except OSError as error:
                raise unreadable(error, f"{self.name}/{path}") from None
            if data is not None:
                _check_size(path, len(data), sum(map(len, found.values())), self.name)
                found[path] = data
        return found

    def _names(self, path: str) -> list[str]:
        try:
            return sorted(self._root.names(path) or ())
        except OSError as error:
            raise unreadable(error, f"{self.name}/{path}") from None

    def _tops(self, path: str, deeper: int) -> Iterator[str]:
        yield path
        names: list[str] = []
        with suppress(CpuctlError):  # an inaccessible directory, or a link out of it, may be anything
            names = self._names(path) if deeper else []
        # Entries next to the known directories do not contain any of them.
        if not any(f"{each}/".startswith(f"{name}/") for name in names for each in self._directories):
            for name in names:
                yield from self._tops(f"{path}{name}/", deeper - 1)

    def _below(self, path: str, deeper: int) -> Iterator[str]:
        for name in self._names(path):
            yield f"{path}/{name}"
            if deeper > 1:
                yield from self._below(f"{path}/{name}", deeper - 1)


class PackedFiles:
    """An archive, read from its beginning for every call; errors are those of ``GatheredFiles``."""

    def __init__(self, name: str, opened: Opened) -> None:
        self.name = name
        self._opened = opened

    def paths(self, wanted: Callable[[str], bool]) -> Iterator[str]:
        """Yield the wanted files in their order."""
        found = 0
        for path, size, _ in self._members():
            if size is not None and wanted(path):
                found += 1
                if found > MAX_FILES:
                    raise InputError(f"contains more than {MAX_FILES} files", where=self.name)
                yield path

    def read(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the content of files by their paths."""
        found: dict[str, bytes] = {}
        for path, size, members in self._members():
            if size is not None and path in paths:
                _check_size(path, size, sum(map(len, found.values())), self.name)
                found[path] = members.data(size)
        return found

    def _members(self) -> Iterator[tuple[str, int | None, TarMembers]]:
        with archive_errors(self.name), self._opened() as packed:
            members = archive_members(packed)
            for name, _, _, size in members:
                parts = [part for part in name.split("/") if part not in {"", "."}]
                if ".." not in parts:
                    yield "/".join(parts), size, members


def _check_size(path: str, size: int, before: int, where: str) -> None:
    if size > MAX_FILE_BYTES or before + size > MAX_READ_BYTES:
        raise InputError(
            f"{path} has {size} bytes; at most {MAX_FILE_BYTES >> 20} MiB in one file "
            f"and {MAX_READ_BYTES >> 20} MiB in total are read",
            where=where,
        )


WHAT = "a must-gather"
DIRECTORIES = (
    "nodes",
    "cluster-scoped-resources/core",
    "cluster-scoped-resources/machineconfiguration.openshift.io",
)
_OBJECTS = (
    r"cluster-scoped-resources/(?:core/(?P<kind>nodes)|machineconfiguration\.openshift\.io/machineconfigs)"
)
_SNAPSHOTS = r"nodes/(?P<node>[^/]+)/sysinfo\.tgz"
_WANTED = re.compile(rf"(?:[^/]+/){{0,2}}(?:{_SNAPSHOTS}|{_OBJECTS}/(?P<name>[^/]+)\.yaml)")
_SNAPSHOT = re.compile(rf"(?:[^/]+/){{0,2}}{_SNAPSHOTS}")
_SINGLE_NODE = re.compile(r"(?:[^/]+/)?(?:sys|proc|sos_commands)/|MANIFEST\.json$")
"""Files of a recording, a sosreport, or a capture: they are not in a must-gather."""
_POD_DIRECTORY, _POD_DEPTH = "namespaces", 4
_POD_FILE = re.compile(
    r"(?P<namespace>(?:[^/]+/){0,2}namespaces/[^/]+)/(?:core/(?P<list>pods)\.yaml|pods/[^/]+/[^/]+\.yaml)"
)
_CURRENT = "machineconfiguration.openshift.io/currentConfig"
_SYSTEM = "node.openshift.io/os_id"
_SIZES, _ENABLED_SIZES = "etc/node-sizing.env", "etc/node-sizing-enabled.env"
_FIXED_SIZES = "NODE_SIZING_ENABLED=false"
_MOST_LISTED = 50
_UNIT_DIRECTORY = "etc/systemd/system"


class _Contents(NamedTuple):
    """Where an archive has the relevant files: snapshots and Nodes by node, MachineConfigs by name."""

    snapshots: dict[str, str]
    nodes: dict[str, str]
    configs: dict[str, str]


def must_gather(files: GatheredFiles, node: str) -> tuple[Tree, SupportArchive] | None:
    """Return one *node* of a must-gather as a recording; None for anything but a must-gather.

    Raise InputError that lists the nodes if there are several and none is named, or the named one is missing.
    """
    contents = _contents(files)
    if not (contents.snapshots or contents.nodes):
        return None
    node = _chosen(contents, node, files.name)
    node_facts = _Node(*_node_facts(files, contents.nodes.get(node)))
    snapshot, config = contents.snapshots[node], contents.configs.get(node_facts.config, "")
    found = files.read({snapshot, config})
    texts: dict[str, str] = {}
    if config:
        texts = dict(_given_files(found[config], f"{files.name}/{config}"))
        texts |= dict(_made_on_the_node(texts, node_facts))
    view = Overlay(unpacked_tree(found[snapshot], f"{files.name}/{snapshot}"), texts)
    return view, SupportArchive(
        f"node {node} of {WHAT}", version=node_facts.version, config_at=configuration_place(view)
    )


def pod_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files with pods in a must-gather, unpacked or not, with their places.

    For a namespace it is the list of its pods, if it exists, else every pod's own file. Raise InputError if a
    file cannot be read.
    """
    files: GatheredFiles = PackedFiles(str(path), lambda: path.open("rb"))
    if path.is_dir():
        files = UnpackedFiles(path, (_POD_DIRECTORY,), _POD_DEPTH)
    found = [match for each in files.paths(_holds_pods) if (match := _POD_FILE.fullmatch(each))]
    listed = {match["namespace"] for match in found if match["list"]}
    paths = [match[0] for match in found if match["list"] or match["namespace"] not in listed]
    for name, data in files.read(paths).items():
        yield f"{files.name}/{name}", data


def _holds_pods(path: str) -> bool:
    return _POD_FILE.fullmatch(path) is not None


def gathered_nodes(files: GatheredFiles) -> tuple[str, ...]:
    """Return the names of the nodes in a must-gather; none for an archive with files of a single node.

    Errors are those of ``GatheredFiles``.
    """
    names = set()
    for path in files.paths(lambda path: bool(_SNAPSHOT.fullmatch(path) or _SINGLE_NODE.match(path))):
        match = _SNAPSHOT.fullmatch(path)
        if match is None:
            return ()
        names.add(match["node"])
    return tuple(sorted(names))


def _contents(files: GatheredFiles) -> _Contents:
    found = _Contents({}, {}, {})
    for path in files.paths(lambda path: _WANTED.fullmatch(path) is not None):
        match = _WANTED.fullmatch(path)
        assert match is not None
        kind = found.snapshots if match["node"] else found.nodes if match["kind"] else found.configs
        # Of several images the first is used: they saw the same objects.
        kind.setdefault(match["node"] or match["name"], path)
    return found


def _chosen(contents: _Contents, node: str, where: str) -> str:
    names = sorted(contents.snapshots)
    if not names:
        raise InputError(
            "is a must-gather without snapshots of nodes (nodes/NODE/sysinfo.tgz)",
            where=where,
            hint="collect them with oc adm must-gather -- /usr/bin/gather_ppc, or record a node with "
            "cpuctl capture",
        )
    if not node and len(names) == 1:
        return names[0]
    if node in names:
        return node
    listed = ", ".join(names[:_MOST_LISTED]) + (", ..." if len(names) > _MOST_LISTED else "")
    hint = f"specify one of {listed}: {where}#{names[0]}"
    if node:
        raise InputError(f"has no node {node}", where=where, hint=hint)
    raise InputError(f"contains {len(names)} nodes: specify one", where=where, hint=hint)


class _Node(NamedTuple):
    """The facts in a Node object: its kubelet's release, its rendered MachineConfig, its operating system."""

    version: str = ""
    config: str = ""
    system: str = ""


def _node_facts(files: GatheredFiles, path: str | None) -> Iterator[str]:
    if path is None:
        return
    (document, *_) = load_documents(files.read([path])[path], f"{files.name}/{path}")
    places = (
        ("status", "nodeInfo", "kubeletVersion"),
        ("metadata", "annotations", _CURRENT),
        ("metadata", "labels", _SYSTEM),
    )
    for place in places:
        found = _member(document.value, *place)
        yield found if isinstance(found, str) else ""


def _member(value: Any, *names: str) -> Any:  # noqa: ANN401  # whatever the object holds there
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _items(value: object, *names: str) -> Iterable[Mapping[str, Any]]:
    found = _member(value, *names)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else ()


def _given_files(data: bytes, where: str) -> Iterator[tuple[str, str]]:
    """Yield the kubelet's files and units in a MachineConfig; raise InputError for damaged ones."""
    (document, *_) = load_documents(data, where)
    for file in _items(document.value, "spec", "config", "storage", "files"):
        path = str(file.get("path") or "").lstrip("/")
        if path == _ENABLED_SIZES or is_of_kubelet(path):
            contents = file.get("contents")
            yield path, file_text(contents if isinstance(contents, dict) else {}, f"/{path}", where)
    for unit in _items(document.value, "spec", "config", "systemd", "units"):
        if unit.get("name") != UNIT:
            continue
        if isinstance(unit.get("contents"), str):
            yield f"{_UNIT_DIRECTORY}/{UNIT}", unit["contents"]
        for each in _items(unit, "dropins"):
            name, text = each.get("name"), each.get("contents")
            if isinstance(name, str) and "/" not in name and isinstance(text, str):
                yield f"{_UNIT_DIRECTORY}/{UNIT}.d/{name}", text


def _made_on_the_node(texts: Mapping[str, str], node_facts: _Node) -> Iterator[tuple[str, str]]:
    """Yield files that the unit reads and only the node has, as far as their content is known."""
    if node_facts.system:
        yield "etc/os-release", f"ID={node_facts.system}\n"
    sizes = texts.get(_ENABLED_SIZES, "")
    if _FIXED_SIZES in sizes.split():
        yield _SIZES, sizes
