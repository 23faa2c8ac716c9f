"""Command lines to run next: they name what the one before named, and more."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cpuctl.documents.files import STDIN
from cpuctl.inputs.configuration import LIVE_MACHINE

if TYPE_CHECKING:
    from cpuctl.inputs.state_files import CheckpointInputs
    from cpuctl.operations.plan_inputs import PlanningInputs

_PROPOSED = (
    r"(?P<command>(?:cpuctl checkpoint|sudo cpuctl) (?P<verb>verify|repair|migrate|audit)"
    r"(?: --to-kubelet \S+)?)"
    r"(?P<whose> --pods FILE)?"
)


def planning_command(inputs: PlanningInputs, verb: Sequence[str], flags: Sequence[str] = ()) -> str:
    """Write the command line that asks the same, or something else, with more flags of the kubelet."""
    words = [*_given(inputs, flags)]
    words += ["--skip-api-server"] if inputs.skip_api_server else []
    words += ["--include-completed"] if inputs.include_completed else []
    words += ["--assume-devices"] if inputs.node.assume_devices else []
    words += ["--driver-args", inputs.node.driver_arguments] if inputs.node.driver_arguments else []
    pods = [
        *(word for name in inputs.filenames for word in ("-f", name)),
        *(word for template in inputs.templates for word in ("-T", template)),
    ]
    return shlex.join(["cpuctl", *verb, *words, *pods])


def check_command(inputs: PlanningInputs) -> str:
    """Write the command line that says why a kubelet does not start with this, and what to change."""
    return shlex.join(["cpuctl", "config", "check", *_given(inputs._replace(pods="", devices=""))])


def _given(inputs: PlanningInputs, flags: Sequence[str] = ()) -> Iterator[str]:
    """Repeat what was said of the node and its kubelet."""
    kubelet = inputs.kubelet
    options = {
        "-m": inputs.machine,
        "--kubelet-config": kubelet.config,
        "--config-dir": kubelet.config_dir,
        "--kubelet-args": " ".join(filter(None, (_from_file(kubelet.arguments), shlex.join(flags)))),
        "--kubelet-version": kubelet.version,
        "--feature-gates": kubelet.gates,
        "--state": inputs.state,
        "--pods": inputs.pods,
        "--ephemeral-storage": inputs.ephemeral_storage,
        "--memory": inputs.memory,
        "--devices": inputs.devices,
        "--policy": inputs.node.policy,
    }
    yield from (word for option, value in options.items() if value for word in (option, value))
    if kubelet.ignores_unknown_gates:
        yield "--ignore-unknown-gates"


def _from_file(arguments: str) -> str:
    """Write a command line that stands in a file, so that more can be put behind it."""
    from cpuctl.inputs.configuration import given_arguments

    return shlex.join(given_arguments(arguments)) if arguments.startswith("@") else arguments


def checkpoint_commands(inputs: CheckpointInputs, *, released: bool = True) -> Callable[[str], str]:
    """Return what adds the options that were given to the command of ours that a fix proposes.

    *released* is False where neither these nor the node tell the kubelet's release.
    """

    def spelt_out(proposed: re.Match[str]) -> str:
        given = _checkpoint_options(inputs, proposed["verb"], released=released)
        command = shlex.join([*proposed["command"].split(), *given])
        return command if _pods(inputs) else f"{command}{proposed['whose'] or ''}"

    return partial(re.sub, _PROPOSED, spelt_out)


def _pods(inputs: CheckpointInputs) -> str:
    return "" if inputs.pods == STDIN else inputs.pods


def _checkpoint_options(inputs: CheckpointInputs, verb: str, *, released: bool) -> Iterator[str]:
    kubelet = inputs.kubelet
    configured = any((kubelet.config is not None, kubelet.config_dir, kubelet.arguments))
    migrates, asks = verb == "migrate", verb != "audit"
    below = inputs.root if inputs.root != "/" else ""
    machine = inputs.machine or (below if verb == "verify" else "")
    if migrates and configured:
        machine = machine or LIVE_MACHINE
    options = {
        "-m": "" if machine == LIVE_MACHINE and not migrates else machine,
        "--root": "" if verb == "verify" else below,
        "--kubelet-config": kubelet.config,
        "--config-dir": kubelet.config_dir,
        "--kubelet-args": kubelet.arguments,
        "--kubelet-version": ""
        if migrates
        else kubelet.version or ("VERSION" if asks and not released else ""),
        "--feature-gates": kubelet.gates,
        "--pods": _pods(inputs),
        "--memory": inputs.memory,
    }
    if inputs.state:
        yield from (inputs.state,) if asks else ("--state", inputs.state)
    yield from (word for option, value in options.items() if value for word in (option, value))
    if kubelet.ignores_unknown_gates and not migrates:
        yield "--ignore-unknown-gates"
