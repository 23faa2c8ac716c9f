"""What ``cpuctl cgroups apply`` is asked for: a file, the kubelet's own state, or sets by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cgroups.desired import Assignment, Desired, Place, Wanted, by_assignment, by_reference
from cpuctl.errors import InputError, NodeAccessError, UsageError
from cpuctl.operations.cgroups.documents import request_of_file
from cpuctl.operations.cgroups.request import Request, members_of, places_of

if TYPE_CHECKING:
    from cpuctl.audit.picture import Picture
    from cpuctl.cpuset import CPUSet
    from cpuctl.inputs.live_node import LiveNode
    from cpuctl.inputs.sources import Sources
    from cpuctl.machine.model import Machine

_REFERENCE = "write NAMESPACE/POD/CONTAINER=CPUS or UID/CONTAINER=CPUS, shop/web-0/app=2-3 for instance"


class Asked(NamedTuple):
    """The words that say what is wanted: a file's content and name, or references."""

    content: bytes | None
    source: str
    references: Sequence[str]


def read_asked(filename: str, references: Sequence[str]) -> Asked:
    """Read the file that is named, before anything else is; raise UsageError for two ways at once."""
    from cpuctl.documents.files import read_input, source_name

    if filename and references:
        raise UsageError("name a file or containers, not both", hint=_REFERENCE)
    content = read_input(filename) if filename else None
    return Asked(content, source_name(filename) if filename else "", references)


def read_request(asked: Asked, node: LiveNode, picture: Picture, sources: Sources) -> Request:
    """Work out what is wanted of the containers in the *picture*."""
    if asked.content is not None:
        sources.add("apply", asked.source, "given")
        return request_of_file(asked.content, asked.source, node, picture)
    if asked.references:
        sources.add("apply", ", ".join(asked.references), "given")
        return _by_reference(asked.references, picture)
    return _own_state(picture, node.kubelet.config.root_dir)


def _own_state(picture: Picture, directory: str) -> Request:
    state = picture.state
    if state.cpu is None and state.memory is None:
        others = "name a plan with -f FILE, a state with --state, or containers: " + _REFERENCE
        if state.closed:
            hint = f"try again with sudo, or {others}"
            raise NodeAccessError("cannot be read", where=state.closed[0], hint=hint)
        problem = state.cpu_problem or state.memory_problem
        raise InputError(
            f"a kubelet would not load it: {problem}" if problem else "there is no state file to go by",
            where=f"{directory}/cpu_manager_state",
            hint=others,
        )
    left_out = by_assignment(members_of(picture), Assignment(own=places_of(picture.state.entries))).left_out
    wanted = tuple(
        Wanted(
            path=seen.group.path,
            owner=seen.owner,
            cpus=seen.expected.cpus,
            mems=seen.expected.mems,
            exclusive=seen.expected.exclusive,
            shared=not seen.expected.exclusive,
        )
        for seen in picture.containers
        if seen.expected.cpus is not None or seen.expected.mems is not None
    )
    return Request(kind="State", desired=Desired(wanted=wanted, left_out=left_out), held=state.entries)


def _by_reference(references: Sequence[str], picture: Picture) -> Request:
    read = dict(_reference(text, picture.machine) for text in references)
    if len(read) != len(references):
        raise UsageError("a container is named twice", hint=_REFERENCE)
    held = picture.state.entries
    try:
        desired = by_reference(members_of(picture), read, held)
    except LookupError as error:
        names = [str(seen.owner) for seen in picture.containers][:5]
        hint = f"there are {', '.join(names)}" if names else "no container of a kubelet runs here"
        raise InputError(f"no container is called {error.args[0]}", hint=hint) from None
    return Request(kind="Arguments", desired=desired, held=held)


def _reference(text: str, machine: Machine) -> tuple[Place, CPUSet]:
    from cpuctl.machine.set_names import parse_cpu_names

    name, equals, cpus = text.rpartition("=")
    pod, slash, container = name.rpartition("/")
    if not (equals and slash and pod and container and cpus):
        raise UsageError(f"expected a container and its CPUs, found {text!r}", hint=_REFERENCE)
    try:
        return Place(pod, container), parse_cpu_names(cpus, machine)
    except InputError as error:
        raise error.within(name) from None
