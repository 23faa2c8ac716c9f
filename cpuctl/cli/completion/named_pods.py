"""Pods and containers by name: of manifests, templates, ``--pods``, and of the kubelet's links to logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cli.completion.given import SmallFiles
from cpuctl.cli.completion.machines import node_files
from cpuctl.errors import CpuctlError

if TYPE_CHECKING:
    from cpuctl.cli.completion.given import CommandLine
    from cpuctl.pods.model import Pod

_RESOURCES = ("cpu", "memory")


class NamedPod(NamedTuple):
    """A pod (``namespace/name``) and its containers."""

    pod: str
    containers: tuple[str, ...]


def complete_pods(given: CommandLine) -> Iterator[str]:
    """``shop/database``, and its containers once that much is typed; without namespace if typed so."""
    for name, containers in _spelled(given):
        yield name
        if given.current.startswith(f"{name}/"):
            yield from (f"{name}/{container}" for container in containers)


def complete_resizes(given: CommandLine) -> Iterator[str]:
    """``shop/database/server:cpu=``, and what else can follow a colon or a comma."""
    name, colon, amounts = given.current.partition(":")
    if colon:
        done = amounts.rpartition(",")[0]
        before = f"{name}:{done}," if done else f"{name}:"
        yield from (f"{before}{each}=" for each in _RESOURCES if f"{each}=" not in done)
        return
    for pod, containers in _spelled(given):
        names = [f"{pod}/{each}" for each in containers]
        for each in names if len(names) != 1 or given.current.count("/") > pod.count("/") else [pod]:
            yield from (f"{each}:{resource}=" for resource in _RESOURCES)


def complete_containers(given: CommandLine) -> Iterator[str]:
    """``shop/database/server=``, and names of sets of CPUs after it."""
    from cpuctl.cli.completion.machines import complete_cpus

    name, equals, _ = given.current.partition("=")
    if equals:
        yield from complete_cpus(given, f"{name}=")
        return
    for pod, containers in _known(given):
        yield from (f"{pod}/{container}=" for container in containers)


def _spelled(given: CommandLine) -> Iterator[NamedPod]:
    """Yield pods with their namespace; those that are typed without it, without."""
    known = list(_known(given))
    yield from known
    if not any(each.pod.startswith(given.current[: len(each.pod)]) for each in known):
        yield from (NamedPod(each.pod.partition("/")[2], each.containers) for each in known)


def _known(given: CommandLine) -> Iterator[NamedPod]:
    manifests = [] if "cgroups" in given.words else list(given.values("-f", "--filename"))
    named = {each.full_name: each for each in _pods([*manifests, *given.values("--pods")])}
    named |= {each.full_name: each for each in _templates(given)}
    if named:
        yield from (NamedPod(name, tuple(c.name for c in pod.all_containers)) for name, pod in named.items())
    else:
        yield from _logged(given)


def _pods(names: list[str]) -> Iterator[Pod]:
    from cpuctl.pods.reading.manifests import decode_manifests, finished

    for source, data in SmallFiles().texts(names):
        try:
            yield from finished([decode_manifests(data, source)], source).pods
        except CpuctlError:
            continue  # the command itself says what is wrong with it


def _templates(given: CommandLine) -> Iterator[Pod]:
    from cpuctl.pods.reading.template import pods_from_template

    for text in given.values("-T", "--template"):
        try:
            yield from pods_from_template(text)
        except CpuctlError:
            continue


def _logged(given: CommandLine) -> Iterable[NamedPod]:
    from cpuctl.cgroups.container_logs import log_names
    from cpuctl.machine.recording_layout import CONTAINER_LOGS

    if not {"cgroups", "audit"} & set(given.words):
        return
    containers: dict[str, dict[str, None]] = {}
    for link in log_names(node_files(given).names(CONTAINER_LOGS)):
        containers.setdefault(f"{link.namespace}/{link.pod}", {})[link.container] = None
    yield from (NamedPod(pod, tuple(names)) for pod, names in containers.items())
