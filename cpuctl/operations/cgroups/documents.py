"""The files that ``cpuctl cgroups apply`` takes: two kinds of plans, and state files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cgroups.desired import NOT_HERE, Assignment, Desired, LeftOut, Place, Wanted, by_assignment
from cpuctl.cgroups.names import Level
from cpuctl.checkpoints.cpu_state import read_cpu_state
from cpuctl.checkpoints.inspection import inspect_state
from cpuctl.checkpoints.model import UnreadableState
from cpuctl.checkpoints.names import CPU_FILE
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.inputs.past import state_reader
from cpuctl.operations.cgroups.request import Request, members_of, places_of

if TYPE_CHECKING:
    from cpuctl.audit.picture import Picture
    from cpuctl.cpuset import CPUSet
    from cpuctl.inputs.live_node import LiveNode

_EXPECTED = (
    "expected what cpuctl plan -o json or cpuctl audit -o plan prints, or the kubelet's cpu_manager_state"
)
_KINDS = ("Plan", "CgroupsPlan")
_DIVIDED = "pod"
_OF_CONTAINERS = (Level.CONTAINER, Level.BELOW)


def request_of_file(content: bytes, source: str, node: LiveNode, picture: Picture) -> Request:
    """Tell by its content which kind of file it is, and what it asks of the containers in the *picture*."""
    documents = load_documents(content, source)
    root = Cursor.at_root(documents[0])
    kind = root.get("kind")
    if len(documents) > 1 or kind is None:
        return _from_state(content, source, node, picture)
    if kind.one_of(_KINDS) == "Plan":
        return _from_plan(root, picture)
    return _from_cgroups_plan(root, picture)


def _from_state(content: bytes, source: str, node: LiveNode, picture: Picture) -> Request:
    text = content.decode("utf-8", "replace")
    try:
        known = inspect_state(text).file_name == CPU_FILE
        state = read_cpu_state(text, state_reader(node.kubelet))
    except InputError as error:
        raise error.within(source) from None
    if not known:
        raise InputError("this is no plan, and no state of the CPU Manager", where=source, hint=_EXPECTED)
    if isinstance(state, UnreadableState):
        raise InputError(f"a kubelet would not load it: {state.error}", where=source)
    if state.policy_name != "static":
        raise InputError(f"under the policy {state.policy_name} nobody is given CPUs", where=source)
    assignment = Assignment(own=places_of(state.entries), pool=state.default_cpu_set or None)
    return Request(kind="State", desired=by_assignment(members_of(picture), assignment), held=state.entries)


def _from_plan(root: Cursor, picture: Picture) -> Request:
    """Give planned pods what the plan says, others what the state says, and those without either the pool."""
    if root.required("start").required("outcome").text() != "Started":
        raise root.error("the kubelet of this plan does not start: nothing is planned")
    own = places_of(picture.state.entries)
    for pod in root.required("pods").items():
        if pod.required("outcome").text() == "Admitted":
            own |= _planned(pod)
    pool = root.required("after").optional("sharedPool", lambda each: each.cpu_set(), None)
    desired = by_assignment(members_of(picture), Assignment(own=own, pool=pool or None))
    recorded = root.get("state")
    return Request(
        kind="Plan",
        desired=desired,
        held=picture.state.entries,
        recorded=None if recorded is None else _recorded(recorded),
    )


def _planned(pod: Cursor) -> dict[Place, CPUSet]:
    """Return the CPUs of a planned pod's containers, by its name: before it runs, its UID is made up."""
    name = f"{pod.required('namespace').text()}/{pod.required('name').text()}"
    found = {}
    for container in pod.required("containers").items():
        isolation = container.optional("isolation", lambda each: each.text(), "")
        if container.required("exclusive").boolean() or isolation == _DIVIDED:
            cpus = container.required("cpus").cpu_set()
            found[Place(name, container.required("name").text())] = cpus
    return found


def _recorded(states: Cursor) -> dict[str, str]:
    """Return checksums by the names of the files: these are the same wherever a kubelet has them."""
    return {
        each.required("path").text().rpartition("/")[2]: each.required("sha256").text()
        for each in states.items()
    }


def _some(wanted: Cursor) -> CPUSet:
    if found := wanted.cpu_set():
        return found
    raise wanted.error("nothing is wanted, but a group with tasks cannot be without")


def _from_cgroups_plan(root: Cursor, picture: Picture) -> Request:
    wanted, now, left_out = [], {}, []
    for group in root.required("groups").items():
        path = group.required("path").text()
        if path not in picture.groups:
            left_out.append(LeftOut(f"cgroup {path}", NOT_HERE))
            continue
        if picture.groups[path].role.level not in _OF_CONTAINERS:
            raise group.error(f"{path} is no container's group: those above grow with what is in them")
        lists = {}
        for name in ("cpus", "mems"):
            change = group.get(name)
            if change is not None:
                lists[name] = _some(change.required("wanted"))
                now[path, f"cpuset.{name}"] = change.required("now").cpu_set()
        owner = picture.owners.get(path)
        if owner is not None:
            held = owner.container in picture.state.entries.get(owner.uid, {})
            wanted.append(
                Wanted(
                    path=path,
                    owner=owner,
                    cpus=lists.get("cpus"),
                    mems=lists.get("mems"),
                    exclusive=held,
                    shared=not held,
                )
            )
    return Request(
        kind="CgroupsPlan",
        desired=Desired(wanted=tuple(wanted), left_out=tuple(left_out)),
        held=picture.state.entries,
        recorded=_recorded(root.required("state")),
        now=now,
    )
