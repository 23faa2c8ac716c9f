"""The commands of recognized messages, with the options of the command line in place of its placeholders."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.documents.files import STDIN
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.operations.command_lines import node_options, planning_options, pods_options
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.operations.plan_inputs import PlanningInputs

_CONFIG = f"{option_names.KUBELET_CONFIG} CONFIG"
_PLACES = re.compile(
    rf" (?:(?P<node>-m NODE(?: {_CONFIG})?|{_CONFIG})"
    r"|-f (?P<pods>PODS(?:_AND_CLAIMS)?)\b"
    r"|--pods (?P<running>RUNNING)\b"
    r"|--devices (?P<devices>FILE)\b)"
)
_PLANS = ("cpuctl explain ", "cpuctl plan ")
"""Commands that have all options of a question."""
_WITHOUT_VERSION = "cpuctl config versions "


def message_command(template: str, pod: str, inputs: PlanningInputs) -> str:
    """Fill in the pod and the given options; what was not given stays a word in capitals.

    Standard input is read only once, so what came from there stays a word as well. A node has its own
    configuration, which is replaced only by one that was given.
    """
    plans = template.startswith(_PLANS)

    def filled(place: re.Match[str]) -> str:
        if place["node"]:
            words = _node(place["node"], template, inputs, plans=plans)
        elif place["pods"]:
            words = _pods(place["pods"], inputs, templates=plans)
        else:
            given = inputs.pods if place["running"] else inputs.node.devices
            # Plans have the option with those of the node, if it was given.
            option, word = place[0].split()
            words = iter(() if given and plans else (option, _or_word(given, word) or word))
        return "".join(f" {shlex.quote(word)}" for word in words)

    return _PLACES.sub(filled, template.replace("{pod}", shlex.quote(pod) if pod else "POD"))


def _node(place: str, template: str, inputs: PlanningInputs, *, plans: bool) -> Iterator[str]:
    """Yield the options of a node, of its kubelet and, for plans, of what else is known about it."""
    machine = inputs.machine
    if machine == LIVE_MACHINE:
        machine = "NODE" if place.startswith("-m") else ""
    kubelet = _named(inputs.kubelet)
    if template.startswith(_WITHOUT_VERSION):
        kubelet = replace(kubelet, version="")
    if plans:
        node = replace(inputs.node, devices=_or_word(inputs.node.devices, "FILE"))
        running = _or_word(inputs.pods, "RUNNING")
        yield from planning_options(
            replace(inputs, machine=machine, kubelet=kubelet, pods=running, node=node)
        )
        return
    words = [*node_options(machine, kubelet, (), {})]
    yield from words or place.split()


def _named(kubelet: KubeletInputs) -> KubeletInputs:
    return replace(kubelet, config="CONFIG") if kubelet.config == STDIN else kubelet


def _or_word(name: str, word: str) -> str:
    return word if name == STDIN else name


def _pods(word: str, inputs: PlanningInputs, *, templates: bool) -> Iterator[str]:
    names = [_or_word(name, word) for name in inputs.filenames]
    given = replace(inputs, filenames=names, templates=inputs.templates if templates else ())
    return iter([*pods_options(given)] or ["-f", word])
