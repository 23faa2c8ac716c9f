"""The commands of recognized messages, with the options of the command line in place of its placeholders."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.documents.files import STDIN
from cpuctl.inputs.configuration import LIVE_MACHINE, KubeletInputs
from cpuctl.operations.command_lines import node_options, planning_options, pods_options
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpuctl.operations.plan_inputs import PlanningInputs

_CONFIG = f"{option_names.KUBELET_CONFIG} CONFIG"
_PLACES = re.compile(
    rf"(?P<pod>\{{pod\}})| (?:(?P<node>-m NODE(?: {_CONFIG})?|{_CONFIG})"
    r"|-f (?P<pods>PODS(?:_AND_CLAIMS)?)\b"
    r"|--pods (?P<running>RUNNING)\b"
    r"|--devices (?P<devices>FILE)\b)"
)
_SUDO = "sudo "
_RESIZE = "cpuctl resize "
_EXPLAIN = "cpuctl explain "
_PLANS = (_EXPLAIN, "cpuctl plan ", _RESIZE)
"""Commands that have all options of a question."""
_CHECK = "cpuctl config check "
_RESERVING = (_CHECK, "cpuctl config reserve ", "cpuctl config show ")
_WITHOUT_VERSION = "cpuctl config versions "
_WITHOUT_TEMPLATES = "cpuctl pods lint "
_ON_LIVE_NODES = "sudo cpuctl cgroups apply"
_REPAIR = "cpuctl checkpoint repair"
_OF_STATES = ("cpuctl checkpoint verify", _REPAIR)
_WITHOUT_KUBELET = ("cpuctl cgroups ", "cpuctl topology ")


def message_command(template: str, pod: str, inputs: PlanningInputs) -> str:
    """Fill in the pod and the given options; what was not given stays a word in capitals.

    Standard input is read only once, so what came from there stays a word as well. A node has its own
    configuration, which is replaced only by one that was given.
    """
    given = _named(inputs)

    def filled(place: re.Match[str]) -> str:
        if place["pod"]:
            return shlex.quote(pod) if pod else "POD"
        return "".join(f" {shlex.quote(word)}" for word in _options(place, template, given))

    command = _PLACES.sub(filled, template)
    return command if " -m " in command else _on_recording(command, given)


def explains_again(template: str, inputs: PlanningInputs) -> bool:
    """Return whether a command would only explain a pod with the same options once more.

    Without a named machine this host has been looked at, which need not be the pod's node.
    """
    running = inputs.pods or _is_empty(inputs)
    needed = {"--pods RUNNING": running, "--devices FILE": inputs.node.devices}
    given = all(name for option, name in needed.items() if option in template)
    return template.startswith(_EXPLAIN) and given and inputs.machine != LIVE_MACHINE


def _is_empty(inputs: PlanningInputs) -> bool:
    """Return whether the node is to be looked at without its pods."""
    return inputs.state == option_names.NO_STATE and not inputs.pods


def _named(inputs: PlanningInputs) -> PlanningInputs:
    """Replace standard input by words."""
    kubelet = inputs.kubelet
    return replace(
        inputs,
        machine=_or_word(inputs.machine, "NODE"),
        kubelet=replace(kubelet, config="CONFIG") if kubelet.config == STDIN else kubelet,
        filenames=[_or_word(name, "PODS") for name in inputs.filenames],
        state=_or_word(inputs.state, "STATE"),
        pods=_or_word(inputs.pods, "RUNNING"),
        node=replace(inputs.node, devices=_or_word(inputs.node.devices, "FILE")),
    )


def _or_word(name: str, word: str) -> str:
    return word if name == STDIN else name


def _on_recording(command: str, given: PlanningInputs) -> str:
    """Let a command look at a recording, if one was given, instead of this host."""
    asks, state = command.removeprefix(_SUDO), given.state
    looks = command.startswith(_SUDO) or asks.startswith(_WITHOUT_KUBELET)
    empty = state == option_names.NO_STATE and asks.startswith(_OF_STATES)
    if not looks or empty or given.machine == LIVE_MACHINE or command.startswith(_ON_LIVE_NODES):
        return command
    kubelet = KubeletInputs() if asks.startswith(_WITHOUT_KUBELET) else given.kubelet
    if asks.startswith(_REPAIR) and not kubelet.version:
        kubelet = replace(kubelet, version="VERSION")
    files = f" {shlex.quote(state)}" if state and asks.startswith(_OF_STATES) else ""
    return f"{asks}{files} {shlex.join(node_options(given.machine, kubelet, (), {}))}"


def _options(place: re.Match[str], template: str, given: PlanningInputs) -> Iterator[str]:
    plans = template.startswith(_PLANS)
    if place["node"]:
        yield from _node(place["node"], template, given, plans=plans)
    elif word := place["pods"]:
        templates = () if template.startswith(_WITHOUT_TEMPLATES) else given.templates
        yield from [*pods_options(replace(given, templates=templates))] or ["-f", word]
    elif not (place["running"] and template.startswith(_EXPLAIN) and _is_empty(given)):
        name = given.pods if place["running"] else given.node.devices
        # Plans have the option with those of the node, if it was given.
        if not (name and plans):
            option, word = place[0].split()
            yield from (option, name or word)


def _node(place: str, template: str, given: PlanningInputs, *, plans: bool) -> Iterator[str]:
    """Yield the options of a node, of its kubelet and, for plans, of what else is known about it."""
    machine, kubelet = given.machine, given.kubelet
    if machine == LIVE_MACHINE:
        machine = "NODE" if place.startswith("-m") else ""
    if template.startswith(_WITHOUT_VERSION):
        kubelet = replace(kubelet, version="")
    if plans:
        completed = None if template.startswith(_RESIZE) else given.include_completed
        asked = replace(given, machine=machine, kubelet=kubelet, include_completed=completed)
        yield from planning_options(asked)
        return
    more = {}
    if template.startswith(_RESERVING):
        more = {option_names.STORAGE: given.ephemeral_storage, option_names.MEMORY: given.memory}
    if template.startswith(_CHECK):
        more |= {option_names.STATE: given.state, option_names.DRIVER_ARGS: given.node.driver_arguments}
    words = [*node_options(machine, kubelet, (), more)]
    yield from words or place.split()
