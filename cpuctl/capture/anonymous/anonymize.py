"""A capture that can be given away: names and ids replaced, everything that decides on CPUs kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from cpuctl.capture.anonymous.pseudonyms import AnonymousNames
from cpuctl.capture.anonymous.state import anonymous_state
from cpuctl.capture.collected import Area, Collected, Content, KubeletFacts, Process, Unreadable
from cpuctl.capture.kubelet.files import AREA as KUBELET_AREA
from cpuctl.capture.kubelet.volumes import AREA as VOLUMES_AREA
from cpuctl.machine.recording_layout import (
    CONFIG,
    DROP_INS,
    STATE_DIRECTORY,
    STATE_FILES,
    in_downward_api_volume,
)

_STATES = frozenset(f"{STATE_DIRECTORY}/{path}" for path in STATE_FILES.values())
_GROUP_FIELDS = (
    "cgroupRoot",
    "kubeletCgroups",
    "systemCgroups",
    "kubeReservedCgroup",
    "systemReservedCgroup",
)
_GROUP_FLAGS = (
    "cgroup-root",
    "kube-reserved-cgroup",
    "kubelet-cgroups",
    "system-cgroups",
    "system-reserved-cgroup",
)


def anonymized(collected: Collected) -> Collected:
    """Replace host names, pod UIDs, container ids and names, names of groups and of commands."""
    names = AnonymousNames()
    members: dict[str, Content] = {}
    refused: list[Unreadable] = []
    for path, content in sorted(collected.members.items()):
        if in_downward_api_volume(path):
            continue  # its path is made of names
        try:
            members[names.file(path)] = _content(path, content, names)
        except ValueError as error:
            refused.append(Unreadable(path, str(error)))
    return collected._replace(
        members=members,
        processes=tuple(_process(process, names) for process in collected.processes),
        kubelet=_kubelet(collected.kubelet, names),
        areas=tuple(_without(area, len(refused)) for area in collected.areas),
        unreadable=tuple(_unreadable((*collected.unreadable, *refused), names)),
        anonymized=True,
    )


def _without(area: Area, refused: int) -> Area:
    """Correct the counts: state files may turn out unusable here, and volumes are left out."""
    if area.name == VOLUMES_AREA and area.entries:
        return area._replace(entries=0, notes=("files of volumes are left out: their names are people's",))
    if area.name != KUBELET_AREA or not refused:
        return area
    counts = {**area.counts, "stateFiles": area.counts["stateFiles"] - refused}
    return area._replace(entries=area.entries - refused, counts=counts)


def _content(path: str, content: Content, names: AnonymousNames) -> Content:
    if path in _STATES and isinstance(content, str):
        return anonymous_state(content, names.pseudonyms)
    if isinstance(content, str) and (path == CONFIG or path.startswith(f"{DROP_INS}/")):
        return _configuration(content, names)
    return content


def _configuration(text: str, names: AnonymousNames) -> str:
    fields: Mapping[str, object] = json.loads(text)
    groups = {name.lower() for name in _GROUP_FIELDS}
    shown = {
        name: names.cgroup(value) if name.lower() in groups and isinstance(value, str) else value
        for name, value in fields.items()
    }
    return json.dumps(shown, indent=2) + "\n"


def _process(process: Process, names: AnonymousNames) -> Process:
    threads = tuple(
        thread._replace(comm=names.command(thread.comm, kernel=process.kernel)) for thread in process.threads
    )
    return process._replace(cgroup=names.cgroup(process.cgroup), threads=threads)


def _kubelet(facts: KubeletFacts, names: AnonymousNames) -> KubeletFacts:
    return facts._replace(flags=_flags(facts.flags, names), unit_flags=_flags(facts.unit_flags, names))


def _flags(flags: tuple[str, ...] | None, names: AnonymousNames) -> tuple[str, ...] | None:
    return None if flags is None else tuple(_flag(flag, names) for flag in flags)


def _flag(flag: str, names: AnonymousNames) -> str:
    name, _, value = flag.removeprefix("--").partition("=")
    if name == "hostname-override":
        return f"--{name}={names.pseudonyms.name('node', value)}"
    return f"--{name}={names.cgroup(value)}" if name in _GROUP_FLAGS else flag


def _unreadable(found: Iterable[Unreadable], names: AnonymousNames) -> Iterable[Unreadable]:
    return (Unreadable(names.file(each.path), each.reason) for each in found)
