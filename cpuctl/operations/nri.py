"""Carrying out a plan as a plugin of a container runtime: read, connect, serve, and reconnect."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError, NodeAccessError
from cpuctl.nri.planned import CarriedPlan, PlannedContainer, PlannedPlaces, PlannedPod
from cpuctl.nri.plugin import Level
from cpuctl.nri.protocol import FramingError
from cpuctl.operations.plan_file import not_planned

if TYPE_CHECKING:
    from cpuctl.inputs.sources import Sources
    from cpuctl.machine.model import Machine
    from cpuctl.nri.plugin import Journal, Plugin

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_HUNG_AFTER = 10.0
_EXPECTED = "expected the output of cpuctl plan -o json"
_SWITCH_ON = (
    "is the runtime running, with NRI enabled? (containerd before 2.0: disable = false under"
    ' plugins."io.containerd.nri.v1.nri"; CRI-O: enable_nri = true)'
)


def read_carried_plan(content: bytes, name: str) -> CarriedPlan:
    """Read what ``plan -o json`` prints; raise InputError for anything else, and if nothing was planned."""
    documents = load_documents(content, name)
    if len(documents) != 1:
        raise InputError(f"{len(documents)} documents, expected one plan", where=name)
    root = Cursor.at_root(documents[0])
    kind = root.optional("kind", lambda each: each.text(), "")
    if kind == "NRIPlan":
        hint = "plan again with -o json: the output of -o nri does not say which CPUs are exclusive"
        raise root.error("an NRIPlan cannot be applied", hint=hint)
    if kind != "Plan":
        raise root.error(f"found {kind or 'no kind'}, {_EXPECTED}")
    after = root.get("after")
    if after is None:
        raise not_planned(root)
    by_cpus = root.required("kubelet").required("cpuManagerPolicy").text() == "static"
    pods = {}
    for pod in root.required("pods").items():
        if pod.required("outcome").text() == "Admitted":
            pods[pod.required("namespace").text(), pod.required("name").text()] = _pod(pod)
    nodes = {
        node.required("id").integer(): node.required("cpus").cpu_set()
        for node in after.required("numaNodes").items()
    }
    return CarriedPlan(pods, after.required("sharedPool").cpu_set() if by_cpus else None, nodes)


def _pod(pod: Cursor) -> PlannedPod:
    containers = {
        each.required("name").text(): _container(each)
        for each in pod.required("containers").items()
        if each.required("exclusive").value is not None
    }
    return PlannedPod(containers, pod.optional("podCPUs", lambda each: each.cpu_set(), CPUSet()))


def _container(container: Cursor) -> PlannedContainer:
    memory = container.get("memory")
    return PlannedContainer(
        container.required("cpus").cpu_set() if container.required("isolation").text() != "host" else None,
        memory.required("cpusetMems").text() if memory else "",
        init=container.required("kind").text() == "init",
    )


def planned_places(filename: str, machine: str, sources: Sources) -> PlannedPlaces:
    """Read a plan for this machine, or for the named one; raise InputError for a plan for another."""
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.inputs.machine import load_machine

    name = source_name(filename)
    sources.add("plan", name, "given")
    plan = read_carried_plan(read_input(filename), name)
    refuse_other_machine(plan, load_machine(machine, sources).machine, name)
    if plan.pool is None:
        sources.warnings.append(
            "the plan's CPU Manager policy is none: it assigns no CPUs, and containers keep their CPUs"
        )
    return PlannedPlaces(plan)


def refuse_other_machine(plan: CarriedPlan, machine: Machine, where: str) -> None:
    """Raise InputError for a plan that was made for a machine with other CPUs or NUMA nodes."""
    here = {node.id: node.cpus for node in machine.numa_nodes}
    planned = {node: cpus for node, cpus in plan.nodes.items() if cpus}
    for node in sorted({*planned, *(node for node, cpus in here.items() if cpus)}):
        there, now = planned.get(node, CPUSet()), here.get(node, CPUSet())
        if there != now:
            raise InputError(
                f"the plan is for a different machine: NUMA node {node} has CPUs {there or 'none'} there, but"
                f" {now or 'none'} here",
                where=where,
                hint="create the plan on this machine, or from a current recording of it",
            )


class Connecting(NamedTuple):
    """Where a runtime listens, and the longest pause before the next attempt, in seconds."""

    path: str
    longest_pause: float = _LONGEST_PAUSE


def refuse_others_than_root(path: str) -> None:
    """Raise NodeAccessError for users other than root who were denied access: runtimes accept only root."""
    if os.geteuid() != 0 and not os.access(path, os.W_OK):
        message = "only root may connect to a container runtime"
        raise NodeAccessError(message, where=path, hint="try again with sudo")


def serve(plugin: Plugin, journal: Journal, connecting: Connecting) -> None:
    """Serve a runtime until the plugin is asked to stop, and also after the runtime restarts.

    Raise NodeAccessError if no runtime listens at first; later, wait for one.
    """
    pause, first, waiting = _FIRST_PAUSE, True, False
    while not plugin.stopping:
        try:
            with _connected(connecting.path) as end:
                first, waiting = False, False
                plugin.serve(end)
        except NodeAccessError as error:
            if first:
                raise
            if not waiting:
                journal.say(Level.WARNING, f"{error}: waiting for it")
            waiting = True
        except EOFError:
            journal.say(Level.WARNING, "the runtime closed the connection: reconnecting")
        except (OSError, FramingError) as error:
            journal.say(Level.WARNING, f"connection lost ({error}): reconnecting")
        except Exception as error:  # noqa: BLE001  # reconnecting may help; only this plugin sets containers
            journal.say(Level.ERROR, f"internal error: {type(error).__name__}: {error}: reconnecting")
        if plugin.synchronized:
            pause, plugin.synchronized = _FIRST_PAUSE, False
        plugin.pause(pause)
        pause = min(pause * 2, connecting.longest_pause)
    journal.say(Level.INFO, "stopping: containers keep their CPUs")


def _connected(path: str) -> socket.socket:
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A hung runtime no longer reads anything: signals must end the plugin even then.
    end.settimeout(_HUNG_AFTER)
    try:
        end.connect(path)
    except OSError as error:
        end.close()
        if isinstance(error, FileNotFoundError):
            raise NodeAccessError("no container runtime socket found", where=path, hint=_SWITCH_ON) from None
        if isinstance(error, ConnectionRefusedError):
            raise NodeAccessError("nothing listens on the socket", where=path, hint=_SWITCH_ON) from None
        message = f"cannot connect: {error.strerror or error}"
        raise NodeAccessError(message, where=path, hint="set the runtime's socket with --socket") from None
    return end
