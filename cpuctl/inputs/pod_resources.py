"""Responses of the kubelet's pod resources API: from its socket, or read from a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import LIVE_MACHINE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.pod_resources.model import PodResources


def load_pod_resources(
    name: str, kubelet: Kubelet, root: str, sources: Sources, *, expected: Collection[str] = ()
) -> Callable[[], PodResources | None]:
    """Return a source of answers: a file, or a kubelet that is queried each time.

    A socket without an answer is a problem of the result. *Expected* pods that a kubelet does not list are
    requested one by one. Raise InputError for a file without answers.
    """
    if name == option_names.OWN_SOCKET:
        name = f"{root.rstrip('/')}{kubelet.config.root_dir}/pod-resources/kubelet.sock"
    elif _is_file(name):
        from cpuctl.documents.files import read_input, source_name
        from cpuctl.machine.pod_resources.json_answers import read_answers

        sources.add("podResources", source_name(name), "given")
        found = read_answers(read_input(name), source_name(name))
        return lambda: found
    from cpuctl.machine.pod_resources.live_answers import ask_kubelet

    sources.add("podResources", name, "live" if os.path.lexists(name) else "given")
    return lambda: ask_kubelet(name, expected)


def refuse_own_socket(name: str, machine: str) -> None:
    """Raise UsageError if a recording's kubelet is to be queried."""
    if name == option_names.OWN_SOCKET and machine != LIVE_MACHINE:
        hint = "use a file with the response of the node's kubelet"
        raise UsageError("a recording has no running kubelet", where=option_names.POD_RESOURCES, hint=hint)


def _is_file(name: str) -> bool:
    """Distinguish a file, or standard input, from a socket; an unreadable path counts as a socket."""
    try:
        return name == "-" or not stat.S_ISSOCK(Path(name).stat().st_mode)
    except (OSError, ValueError):
        return False
