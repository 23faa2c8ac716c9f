"""From a request to the work to do: where the node is, objections, and writes in their order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cgroups.group_files import GroupFiles
from cpuctl.cgroups.hierarchies import CGROUP_TYPES, CGROUPS, Hierarchies, mount_of
from cpuctl.cgroups.names import Driver, Level
from cpuctl.cgroups.objections import ApplyContext, Objection, Override, find_objections, moved_on
from cpuctl.cgroups.writes import CPUS, MEMS, PlannedWrite, plan_quotas, plan_writes
from cpuctl.cpuset import CPUSet
from cpuctl.documents.files import STDIN
from cpuctl.errors import CpuctlError, InputError, UsageError, unreadable
from cpuctl.machine.synthetic import PREFIX
from cpuctl.machine.tree import DirectoryTree
from cpuctl.operations.cgroups.request import ResolvedRequest, members_of, read_request
from cpuctl.root_directory import DanglingLinkError, Root
from cpuctl.state_names import CPU_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from cpuctl.audit.snapshot import NodeSnapshot
    from cpuctl.capture.collected import Progress
    from cpuctl.inputs.live_node import LiveNode, NodeInputs
    from cpuctl.inputs.sources import Sources
    from cpuctl.operations.cgroups.request import ApplyRequest

_EFFECTIVE = {1: ("cpuset.effective_cpus", "cpuset.cpus"), 2: ("cpuset.cpus.effective",)}
_MOST_UNSEEN = 5
_SECOND = 1_000_000_000
_PERIODS, _MARGIN = 2, 1.0
_SYSTEMD = (
    "systemd does not know about these writes: a daemon-reload may restore its own values, unless they are "
    "also set with systemctl set-property --runtime SCOPE AllowedCPUs=..."
)


class Overrides(NamedTuple):
    """What the user overrides, and whether quotas are to be written, too."""

    forced: frozenset[Override]
    quota: bool = False


class ApplyInputs(NamedTuple):
    """The node, what is requested on it, and what is overridden."""

    node: NodeInputs
    request: ApplyRequest
    overrides: Overrides
    root: Path
    writes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWrites:
    """The work to do on the node below *root*; ``digests`` are those of its state files, by name.

    ``occupied`` are the groups whose threads must be on certain CPUs.
    """

    root: Path
    at: Hierarchies
    request: ResolvedRequest
    writes: Sequence[PlannedWrite]
    objections: Sequence[Objection]
    digests: Mapping[str, str]
    state_directory: str
    occupied: Mapping[str, CPUSet]
    warnings: list[str] = field(default_factory=list)


def root_of(machine: str, root: str) -> Path:
    """Return where the node's file tree is; raise UsageError for a recording, CpuctlError without any."""
    place = Path(root or ("/" if machine == "live" else machine))
    described = not root and (machine == STDIN or machine.startswith(PREFIX))
    try:
        is_tree = not described and S_ISDIR(place.stat().st_mode)
    except OSError as error:
        raise unreadable(error, str(place)) from None
    if not is_tree:
        hint = "use the live node, or --root with the mount point of its file system"
        raise UsageError(f"{place} is a recording and cannot be changed", hint=hint)
    return place


def below(root: Path, path: str) -> Path:
    """Return where a path leads below a root: its links are those of the node, not of this host.

    Raise InputError for a link that leads out of the root or is dangling.
    """
    node = Root(root)
    try:
        return Path(node.shown(node.real(path)))
    except DanglingLinkError as error:
        raise InputError(str(error), where=str(root / path)) from None
    except OSError:
        return root / path  # a missing path has no links


def require_kernel(root: Path, snapshot: NodeSnapshot, *, quota: bool) -> Hierarchies:
    """Return the node's hierarchies; raise InputError if these are plain files or do not exist.

    *quota*: the hierarchy with the quotas is written to as well.
    """
    at = snapshot.hierarchies
    if at is None or not at.cpuset:
        raise InputError(
            "no cgroup hierarchy with the cpuset controller is mounted here", where=str(root / CGROUPS)
        )
    for hierarchy in dict.fromkeys((at.cpuset, at.cpu if quota and at.cpu else at.cpuset)):
        _require_mount(below(root, hierarchy).resolve(), CGROUP_TYPES[at.version])
    return at


def _require_mount(path: Path, kind: str) -> None:
    mount = mount_of(Path("/proc/self/mountinfo").read_text(errors="replace"), str(path))
    if mount is None or mount.kind != kind:
        found = f"a file system of the type {mount.kind}" if mount else "nothing mounted"
        raise InputError(
            f"expected the kernel's cgroup file system ({kind}), found {found}",
            where=str(path),
            hint="a copy of a node cannot be changed; use -m live for the node itself",
        )


class Preparation(NamedTuple):
    """The work to do, the node as it was found, and its kubelet's reconcile period in seconds."""

    prepared: PreparedWrites
    snapshot: NodeSnapshot
    period: float

    @property
    def watched(self) -> float:
        """Seconds after which the kubelet has had a chance to write something else."""
        return _PERIODS * self.period + _MARGIN


def read_and_prepare(inputs: ApplyInputs, sources: Sources, progress: Progress) -> Preparation:
    """Read the node, and work out what to do to it.

    Raise InputError for a node that cannot be changed, for requests that cannot be carried out and, if
    something is to be written, for a kubelet whose configuration is only assumed.
    """
    from cpuctl.audit.reading import take_group_snapshot
    from cpuctl.inputs.live_node import load_node

    node = load_node(inputs.node, sources)
    if inputs.writes:
        sources.require_configuration()
    snapshot = take_group_snapshot(node.files, node.known, progress)
    require_kernel(inputs.root, snapshot, quota=inputs.overrides.quota)
    request = read_request(inputs.request, node, snapshot, sources)
    prepared = prepare(node, snapshot, request, inputs.overrides, inputs.root)
    if inputs.node.state:
        # The kubelet does not write to the named state: from here on, its own files count.
        prepared = replace(prepared, digests=digests(inputs.root, prepared.state_directory))
    return Preparation(prepared, snapshot, node.kubelet.config.cpu_manager_reconcile_period / _SECOND)


def prepare(
    node: LiveNode, snapshot: NodeSnapshot, request: ResolvedRequest, overrides: Overrides, root: Path
) -> PreparedWrites:
    """Compare the request with the node, and work out the writes.

    Raise InputError for sets that no order of writes can reach.
    """
    at = require_kernel(root, snapshot, quota=overrides.quota)
    desired = request.desired.groups
    try:
        writes = plan_writes(snapshot.groups, desired, at.version)
    except ValueError as error:
        raise InputError(str(error)) from None
    objections = [
        *_moved(request, node, snapshot),
        *find_objections(desired, _situation(request, snapshot, root), overrides.forced),
    ]
    if overrides.quota:
        from cpuctl.operations.cgroups.rules import wanted_quotas

        writes += plan_quotas(snapshot.groups, wanted_quotas(desired, snapshot, node.kubelet), at.version)
    return PreparedWrites(
        root=root,
        at=at,
        request=request,
        writes=writes,
        objections=objections,
        digests={each.path.rpartition("/")[2]: each.sha256 for each in node.state_files},
        state_directory=node.kubelet.config.root_dir,
        occupied=occupied(writes, snapshot),
        warnings=[*_unseen(node, at), *_warnings(writes, snapshot)],
    )


def occupied(writes: Sequence[PlannedWrite], snapshot: NodeSnapshot) -> dict[str, CPUSet]:
    """Return the CPUs of every container that is written to, and of the groups below it that inherit them."""
    groups = snapshot.groups
    found = {
        write.path: CPUSet.parse(write.after)
        for write in writes
        if write.name == CPUS and groups[write.path].role.level in (Level.CONTAINER, Level.BELOW)
    }
    for path in groups:  # parents first
        above = found.get(groups[path].parent)
        if above is not None and not groups[path].cpuset.cpus:
            found.setdefault(path, above)
    return found


def _unseen(node: LiveNode, at: Hierarchies) -> Iterator[str]:
    """Name groups that exist but cannot be read: v1 writes nothing that they would block."""
    unseen = (each for each in node.files.unreadable if each.path.startswith(f"{at.cpuset}/"))
    for each in islice(unseen, _MOST_UNSEEN):
        yield f"/{each.path}: {each.reason}: skipped"


def _warnings(writes: Sequence[PlannedWrite], snapshot: NodeSnapshot) -> Iterator[str]:
    if any(snapshot.groups[write.path].role.driver is Driver.SYSTEMD for write in writes):
        yield _SYSTEMD
    if any(write.name == MEMS for write in writes):
        yield "changing NUMA nodes moves the memory in use, which takes time and stalls the container"


def _moved(request: ResolvedRequest, node: LiveNode, snapshot: NodeSnapshot) -> Iterator[Objection]:
    """Compare the node with the one that a plan was made for."""
    if request.recorded is not None:
        here = {each.path.rpartition("/")[2]: each.sha256 for each in node.state_files}
        for name in sorted(here.keys() | request.recorded.keys()):
            if here.get(name) != request.recorded.get(name):
                yield moved_on(name, missing=name not in here)
    goals = {(one.path, CPUS): one.cpus for one in request.desired.groups}
    goals |= {(one.path, MEMS): one.mems for one in request.desired.groups}
    for (path, name), found in request.now.items():
        values = snapshot.groups[path].cpuset
        now = (values.cpus if name == CPUS else values.mems) or CPUSet()
        goal = goals.get((path, name)) or found
        # The last two are intermediate values of a group: a run that was killed may have left them.
        if now not in (found, goal, found & goal, found | goal):
            yield moved_on(f"{path}/{name}")


def _situation(request: ResolvedRequest, snapshot: NodeSnapshot, root: Path) -> ApplyContext:
    state = snapshot.state.cpu
    return ApplyContext(
        online=snapshot.machine.online,
        reserved=snapshot.configured.reserved,
        reach=_reach(snapshot, root),
        groups=snapshot.groups,
        members=members_of(snapshot),
        held=request.held,
        divided=frozenset(state.pod_entries) if state else frozenset(),
        takes_offline=snapshot.hierarchies is None or snapshot.hierarchies.version == 2,
    )


def _reach(snapshot: NodeSnapshot, root: Path) -> CPUSet | None:
    """Return the effective CPUs right above the kubelet's groups; None if the kernel does not report them."""
    at = snapshot.hierarchies
    top = next((group for group in snapshot.groups.values() if group.role.level is Level.KUBEPODS), None)
    if at is None or top is None:
        return None
    files = GroupFiles(below(root, at.cpuset), time.sleep)
    texts = (files.read(top.parent, name) for name in _EFFECTIVE[at.version])
    return next((CPUSet.parse(text) for text in texts if text), None)


def digests(root: Path, state_directory: str) -> dict[str, str]:
    """Return the SHA-256 of the state files that the node's own kubelet has now."""
    tree, found = DirectoryTree(root), {}
    for name in (CPU_FILE, MEMORY_FILE):
        with suppress(CpuctlError):  # inaccessible, or not a file, as before: unchanged
            text = tree.read(f"{state_directory.strip('/')}/{name}")
            if text is not None:
                found[name] = sha256(text.encode()).hexdigest()
    return found
