"""Command lines to run next: they name what the one before named, and more."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuctl.operations.planning import PlanningInputs


def planning_command(inputs: PlanningInputs, verb: Sequence[str], flags: Sequence[str] = ()) -> str:
    """Write the command line that asks the same, or something else, with more flags of the kubelet."""
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
    }
    words = [word for option, value in options.items() if value for word in (option, value)]
    words += ["--ignore-unknown-gates"] if kubelet.ignores_unknown_gates else []
    words += ["--skip-api-server"] if inputs.skip_api_server else []
    words += ["--include-completed"] if inputs.include_completed else []
    words += ["--assume-devices"] if inputs.assume_devices else []
    pods = [
        *(word for name in inputs.filenames for word in ("-f", name)),
        *(word for template in inputs.templates for word in ("-T", template)),
    ]
    return shlex.join(["cpuctl", *verb, *words, *pods])


def _from_file(arguments: str) -> str:
    """Write a command line that stands in a file, so that more can be put behind it."""
    from cpuctl.inputs.configuration import given_arguments

    return shlex.join(given_arguments(arguments)) if arguments.startswith("@") else arguments
