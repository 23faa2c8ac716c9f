"""Completion of pods and containers: from manifests, templates, ``--pods``, the kubelet's links to logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cli.completion.command_line import SmallFiles
from cpuctl.cli.completion.machines import node_files
from cpuctl.errors import CpuctlError

if TYPE_CHECKING:
    from cpuctl.cli.completion.command_line import CommandLine
    from cpuctl.pods.model import Pod

_RESOURCES = ("cpu", "memory")


class NamedPod(NamedTuple):
    """A pod (``namespace/name``) and its containers."""

    pod: str
    containers: tuple[str, ...]


def complete_pods(typed: CommandLine) -> Iterator[str]:
    """Complete ``shop/database``, and then its containers; without a namespace if the user types none."""
    for name, containers in _spelled(typed):
        yield name
        if typed.current.startswith(f"{name}/"):
            yield from (f"{name}/{container}" for container in containers)


def complete_resizes(typed: CommandLine) -> Iterator[str]:
    """Complete ``shop/database/server:cpu=``, and what else can follow a colon or a comma."""
    name, colon, amounts = typed.current.partition(":")
    if colon:
        done = amounts.rpartition(",")[0]
        before = f"{name}:{done}," if done else f"{name}:"
        yield from (f"{before}{each}=" for each in _RESOURCES if f"{each}=" not in done)
        return
    for pod, containers in _spelled(typed):
        names = [f"{pod}/{each}" for each in containers]
        for each in names if len(names) != 1 or typed.current.count("/") > pod.count("/") else [pod]:
            yield from (f"{each}:{resource}=" for resource in _RESOURCES)


def complete_containers(typed: CommandLine) -> Iterator[str]:
    """Complete ``shop/database/server=``, and the names of CPU sets after it."""
    from cpuctl.cli.completion.machines import complete_cpus

    name, equals, _ = typed.current.partition("=")
    if equals:
        yield from complete_cpus(typed, f"{name}=")
        return
    for pod, containers in _known(typed):
        yield from (f"{pod}/{container}=" for container in containers)


def _spelled(typed: CommandLine) -> Iterator[NamedPod]:
    """Yield pods with their namespace, or without it if the user types none."""
    known = list(_known(typed))
    yield from known
    if not any(each.pod.startswith(typed.current[: len(each.pod)]) for each in known):
        yield from (NamedPod(each.pod.partition("/")[2], each.containers) for each in known)


def _known(typed: CommandLine) -> Iterator[NamedPod]:
    manifests = [] if "cgroups" in typed.words else list(typed.values("-f", "--filename"))
    named = {each.full_name: each for each in _pods([*manifests, *typed.values("--pods")])}
    named |= {each.full_name: each for each in _templates(typed)}
    if named:
        yield from (NamedPod(name, tuple(c.name for c in pod.all_containers)) for name, pod in named.items())
    else:
        yield from _logged(typed)


def _pods(names: list[str]) -> Iterator[Pod]:
    from cpuctl.pods.reading.manifests import decode_manifests, finished

    for source, data in SmallFiles().texts(names):
        try:
            yield from finished([decode_manifests(data, source)], source).pods
        except CpuctlError:
            continue  # the command itself reports what is wrong with it


def _templates(typed: CommandLine) -> Iterator[Pod]:
    from cpuctl.pods.reading.template import pods_from_template

    for text in typed.values("-T", "--template"):
        try:
            yield from pods_from_template(text)
        except CpuctlError:
            continue


def _logged(typed: CommandLine) -> Iterable[NamedPod]:
    from cpuctl.cgroups.container_logs import log_names
    from cpuctl.machine.recording_layout import CONTAINER_LOGS

    if not {"cgroups", "audit"} & set(typed.words):
        return
    containers: dict[str, dict[str, None]] = {}
    for link in log_names(node_files(typed).names(CONTAINER_LOGS)):
        containers.setdefault(f"{link.namespace}/{link.pod}", {})[link.container] = None
    yield from (NamedPod(pod, tuple(names)) for pod, names in containers.items())
