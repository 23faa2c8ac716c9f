"""What containers should have: by a plan's file, a state file, the kubelet's own state, or sets by name."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from cpuctl.cgroups.desired import (
    NOT_HERE,
    Assignment,
    ContainerReference,
    DesiredGroup,
    DesiredState,
    LeftOut,
    RunningContainer,
    by_assignment,
    by_reference,
)
from cpuctl.cgroups.names import Level
from cpuctl.checkpoints.cpu_state import read_cpu_state
from cpuctl.checkpoints.inspection import inspect_state
from cpuctl.checkpoints.model import UnreadableState
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError, NodeAccessError, UsageError
from cpuctl.inputs.starting_state import state_reader
from cpuctl.operations.plan_file import not_planned
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.audit.snapshot import NodeSnapshot
    from cpuctl.cpuset import CPUSet
    from cpuctl.inputs.live_node import LiveNode
    from cpuctl.inputs.sources import Sources
    from cpuctl.machine.model import Machine

_REFERENCE = "write NAMESPACE/POD/CONTAINER=CPUS or UID/CONTAINER=CPUS, shop/web-0/app=2-3 for instance"
_EXPECTED = f"expected the output of cpuctl plan -o json or cpuctl audit -o plan, or the kubelet's {CPU_FILE}"
_KINDS = ("Plan", "CgroupsPlan")
_DIVIDED = "pod"
_OF_CONTAINERS = (Level.CONTAINER, Level.BELOW)


class ResolvedRequest(NamedTuple):
    """The desired state, and what it was worked out from.

    ``held`` are exclusive CPUs by pod and container, ``recorded`` the SHA-256 of state files by their path.
    ``now`` is what a plan found in the groups, by path and file.
    """

    kind: Literal["State", "Plan", "CgroupsPlan", "Arguments"]
    desired: DesiredState
    held: Mapping[str, Mapping[str, CPUSet]] = {}
    recorded: Mapping[str, str] | None = None
    now: Mapping[tuple[str, str], CPUSet] = {}


def members_of(snapshot: NodeSnapshot) -> list[RunningContainer]:
    """Return the running containers."""
    return [RunningContainer(owner=observed.owner, group=observed.group) for observed in snapshot.containers]


def places_of(entries: Mapping[str, Mapping[str, CPUSet]]) -> dict[ContainerReference, CPUSet]:
    """Name containers by the UID of their pod, as state files do."""
    return {
        ContainerReference(uid, name): cpus
        for uid, containers in entries.items()
        for name, cpus in containers.items()
    }


class ApplyRequest(NamedTuple):
    """What is requested: a file's content and name, or containers with their CPUs."""

    content: bytes | None
    source: str
    references: Sequence[str]


def read_apply_request(filename: str, references: Sequence[str]) -> ApplyRequest:
    """Read the named file before anything else; raise UsageError if both a file and containers are named."""
    from cpuctl.documents.files import read_input, source_name

    if filename and references:
        raise UsageError("use either a file or containers, not both", hint=_REFERENCE)
    content = read_input(filename) if filename else None
    return ApplyRequest(content, source_name(filename) if filename else "", references)


def read_request(
    request: ApplyRequest, node: LiveNode, snapshot: NodeSnapshot, sources: Sources
) -> ResolvedRequest:
    """Work out what is requested for the containers in the *snapshot*."""
    if request.content is not None:
        sources.add("apply", request.source, "given")
        return _of_file(request.content, request.source, node, snapshot)
    if request.references:
        sources.add("apply", ", ".join(request.references), "given")
        return _by_reference(request.references, snapshot)
    return _own_state(snapshot, node.kubelet.config.root_dir)


def _own_state(snapshot: NodeSnapshot, directory: str) -> ResolvedRequest:
    state = snapshot.state
    if state.cpu is None and state.memory is None:
        others = "use a plan (-f FILE), a state (--state), or containers: " + _REFERENCE
        if state.closed:
            hint = f"try again with sudo, or {others}"
            raise NodeAccessError("cannot be read", where=state.closed[0], hint=hint)
        problem = state.cpu_problem or state.memory_problem
        raise InputError(
            f"a kubelet would not load it: {problem}" if problem else "there is no state file to use",
            where=f"{directory}/{CPU_FILE}",
            hint=others,
        )
    left_out = by_assignment(members_of(snapshot), Assignment(own=places_of(snapshot.state.entries))).left_out
    groups = tuple(
        DesiredGroup(
            path=observed.group.path,
            owner=observed.owner,
            cpus=observed.expected.cpus,
            mems=observed.expected.mems,
            exclusive=observed.expected.exclusive,
            shared=not observed.expected.exclusive,
        )
        for observed in snapshot.containers
        if observed.expected.cpus is not None or observed.expected.mems is not None
    )
    return ResolvedRequest(
        kind="State", desired=DesiredState(groups=groups, left_out=left_out), held=state.entries
    )


def _by_reference(references: Sequence[str], snapshot: NodeSnapshot) -> ResolvedRequest:
    read = dict(_reference(text, snapshot.machine) for text in references)
    if len(read) != len(references):
        raise UsageError("a container is specified twice", hint=_REFERENCE)
    held = snapshot.state.entries
    try:
        desired = by_reference(members_of(snapshot), read, held)
    except LookupError as error:
        names = [str(observed.owner) for observed in snapshot.containers][:5]
        hint = f"there are {', '.join(names)}" if names else "no kubelet containers are running here"
        raise InputError(f"container {error.args[0]} not found", hint=hint) from None
    return ResolvedRequest(kind="Arguments", desired=desired, held=held)


def _reference(text: str, machine: Machine) -> tuple[ContainerReference, CPUSet]:
    from cpuctl.machine.set_names import parse_cpu_names

    name, equals, cpus = text.rpartition("=")
    pod, slash, container = name.rpartition("/")
    if not (equals and slash and pod and container and cpus):
        hint = f"for a recording, use -m {shlex.quote(text)}" if Path(text).exists() else _REFERENCE
        raise UsageError(f"expected a container and its CPUs, found {text!r}", hint=hint)
    try:
        return ContainerReference(pod, container), parse_cpu_names(cpus, machine)
    except InputError as error:
        raise error.within(name) from None


def _of_file(content: bytes, source: str, node: LiveNode, snapshot: NodeSnapshot) -> ResolvedRequest:
    """Determine the kind of a file by its content, and what it requests for containers in the *snapshot*."""
    documents = load_documents(content, source)
    root = Cursor.at_root(documents[0])
    kind = root.get("kind")
    if len(documents) > 1 or kind is None:
        return _from_state(content, source, node, snapshot)
    if kind.one_of(_KINDS) == "Plan":
        return _from_plan(root, snapshot)
    return _from_cgroups_plan(root, snapshot)


def _from_state(content: bytes, source: str, node: LiveNode, snapshot: NodeSnapshot) -> ResolvedRequest:
    text = content.decode("utf-8", "replace")
    try:
        known = inspect_state(text).file_name == CPU_FILE
        state = read_cpu_state(text, state_reader(node.kubelet))
    except InputError as error:
        raise error.within(source) from None
    if not known:
        raise InputError("this is neither a plan nor a CPU Manager state file", where=source, hint=_EXPECTED)
    if isinstance(state, UnreadableState):
        raise InputError(f"a kubelet would not load it: {state.error}", where=source)
    if state.policy_name != "static":
        raise InputError(f"policy {state.policy_name} assigns no CPUs", where=source)
    assignment = Assignment(own=places_of(state.entries), pool=state.default_cpu_set or None)
    return ResolvedRequest(
        kind="State", desired=by_assignment(members_of(snapshot), assignment), held=state.entries
    )


def _from_plan(root: Cursor, snapshot: NodeSnapshot) -> ResolvedRequest:
    """Give planned pods their CPUs from the plan, others theirs from the state, and all the rest the pool."""
    if root.required("start").required("outcome").text() != "Started":
        raise not_planned(root)
    own = places_of(snapshot.state.entries)
    for pod in root.required("pods").items():
        if pod.required("outcome").text() == "Admitted":
            own |= _planned(pod)
    pool = root.required("after").optional("sharedPool", lambda each: each.cpu_set(), None)
    desired = by_assignment(members_of(snapshot), Assignment(own=own, pool=pool or None))
    recorded = root.get("state")
    return ResolvedRequest(
        kind="Plan",
        desired=desired,
        held=snapshot.state.entries,
        recorded=None if recorded is None else _recorded(recorded),
    )


def _planned(pod: Cursor) -> dict[ContainerReference, CPUSet]:
    """Return the CPUs of a planned pod's containers, by the pod's name: its UID is unknown until it runs."""
    name = f"{pod.required('namespace').text()}/{pod.required('name').text()}"
    found = {}
    for container in pod.required("containers").items():
        isolation = container.optional("isolation", lambda each: each.text(), "")
        if container.required("exclusive").boolean() or isolation == _DIVIDED:
            cpus = container.required("cpus").cpu_set()
            found[ContainerReference(name, container.required("name").text())] = cpus
    return found


def _recorded(states: Cursor) -> dict[str, str]:
    """Return checksums by file name, which is the same in every directory."""
    return {
        each.required("path").text().rpartition("/")[2]: each.required("sha256").text()
        for each in states.items()
    }


def _some(cpus: Cursor) -> CPUSet:
    if found := cpus.cpu_set():
        return found
    raise cpus.error("an empty value was requested, but a group with tasks cannot be empty")


def _from_cgroups_plan(root: Cursor, snapshot: NodeSnapshot) -> ResolvedRequest:
    groups, now, left_out = [], {}, []
    for group in root.required("groups").items():
        path = group.required("path").text()
        if path not in snapshot.groups:
            left_out.append(LeftOut(f"cgroup {path}", NOT_HERE))
            continue
        if snapshot.groups[path].role.level not in _OF_CONTAINERS:
            raise group.error(f"{path} is not a container's group: parent groups follow their containers")
        lists = {}
        for name in ("cpus", "mems"):
            change = group.get(name)
            if change is not None:
                lists[name] = _some(change.required("desired"))
                now[path, f"cpuset.{name}"] = change.required("now").cpu_set()
        owner = snapshot.owners.get(path)
        if owner is not None:
            held = owner.container in snapshot.state.entries.get(owner.uid, {})
            groups.append(
                DesiredGroup(
                    path=path,
                    owner=owner,
                    cpus=lists.get("cpus"),
                    mems=lists.get("mems"),
                    exclusive=held,
                    shared=not held,
                )
            )
    return ResolvedRequest(
        kind="CgroupsPlan",
        desired=DesiredState(groups=tuple(groups), left_out=tuple(left_out)),
        held=snapshot.state.entries,
        recorded=_recorded(root.required("state")),
        now=now,
    )
