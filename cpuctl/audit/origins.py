"""Who may have set CPUs that nobody expects: what they are equal to, and who else sets CPUs on the node.

No file says who has written a list or an affinity. What it is equal to often does: systemd gives everything
the affinity of its own, or ``AllowedCPUs=`` of a unit, whenever it reads its files anew; a runtime that
updates a container writes what it was told, which may be the shared pool, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import POLICY_NONE, Picture, Seen
from cpuctl.cgroups.names import ancestors
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.kernel_text import parse_cpu_list
from cpuctl.machine.wording import some_of

_MOST = 4


class _Agent(NamedTuple):
    """A program that sets CPUs: whose it is, and what it does; *contends* with the CPU Manager or not."""

    project: str
    does: str
    contends: bool = False


_AGENTS: Mapping[str, _Agent] = {
    "koordlet": _Agent("Koordinator", "writes CPU sets of pods", contends=True),
    "crane-agent": _Agent("Crane", "writes CPU sets of pods", contends=True),
    "katalyst-agent": _Agent("Katalyst", "writes CPU sets of pods", contends=True),
    "nri-resource-po": _Agent("an NRI resource policy", "gives containers CPUs", contends=True),
    "dracpu": _Agent("the DRA driver for CPUs", "gives containers CPUs", contends=True),
    "cpusetter": _Agent("CPU-Pooler", "writes CPU sets of containers", contends=True),
    "tuned": _Agent("TuneD", "moves threads and interrupts"),
    "numad": _Agent("numad", "moves processes between NUMA nodes"),
    "cgrulesengd": _Agent("libcgroup", "moves processes between control groups"),
    "irqbalance": _Agent("irqbalance", "moves interrupts"),
}
"""By the name of the process, of which the kernel keeps 15 characters."""


def equal_to(picture: Picture, seen: Seen, cpus: CPUSet | None) -> str:
    """Say what CPUs that a container is not due are equal to, for the end of a sentence."""
    if not cpus:
        return ""
    told = list(dict.fromkeys(_equals(picture, seen, cpus)))
    if told:
        return f"; {cpus} is what {' and '.join(told[:_MOST])} {'have' if len(told) > 1 else 'has'}"
    gaps = list(_not_recorded(picture))
    return f"; not recorded, and perhaps the reason: {' and '.join(gaps)}" if gaps else ""


def _equals(picture: Picture, seen: Seen, cpus: CPUSet) -> Iterator[str]:
    yield from _units(picture, seen, cpus)
    if cpus == picture.shared_pool and seen.expected.cpus != cpus:
        yield "the shared pool (a runtime update writes it for containers without CPUs of their own)"
    yield from _others(picture, seen, cpus)
    first = _first_process(picture)
    if cpus == first:
        yield "PID 1"
    if cpus == picture.machine.online:
        yield "the whole machine"
    elif picture.machine.isolated and cpus == picture.machine.online - picture.machine.isolated:
        yield "every program that nobody confines (all CPUs that are not isolated)"
    if picture.promises.reserved and cpus == picture.promises.reserved:
        yield "the system (the reserved CPUs)"
    above = picture.groups.get(seen.group.parent)
    own = above.cpuset if above else None
    if own and cpus == (own.effective if own.effective is not None else own.cpus):
        yield "the group above it"


def _others(picture: Picture, seen: Seen, cpus: CPUSet) -> Iterator[str]:
    """Name the containers of others that hold just these CPUs."""
    for uid, containers in picture.state.entries.items():
        for name, held in containers.items():
            if held == cpus and (uid, name) != (seen.owner.uid, seen.owner.container):
                yield f"{picture.pod_name(uid)}/{name}"


def _units(picture: Picture, seen: Seen, cpus: CPUSet) -> Iterator[str]:
    """Name settings of systemd that are equal: of the container's scope, of slices above, or of all."""
    own = {path.rpartition("/")[2] for path in (seen.group.path, *ancestors(seen.group.path))}
    for setting in picture.cpu_settings or ():
        if (not setting.unit or setting.unit in own) and _list(setting.value) == cpus:
            of = f"{setting.unit} by " if setting.unit else ""
            where = f" in {setting.file}" if setting.file else ""
            yield f"{of}systemd's {setting.key}={setting.value}{where}"


def _not_recorded(picture: Picture) -> Iterator[str]:
    if picture.cpu_settings is None:
        yield "systemd's CPU settings"
    if _first_process(picture) is None:
        yield "PID 1's affinity"


def _first_process(picture: Picture) -> CPUSet | None:
    return next((task.cpus for task in picture.others if task.tid == 1), None)


def _list(text: str) -> CPUSet | None:
    """Read a list of systemd's, which may have blanks between its parts."""
    try:
        return parse_cpu_list(",".join(text.replace(",", " ").split()))
    except ValueError:
        return None


def check_agents(picture: Picture) -> Iterator[Finding]:
    """Tell programs that give containers CPUs beside a CPU Manager that does, too."""
    state = picture.state.cpu
    contending = {name: task for name, task in _running(picture).items() if _AGENTS[name].contends}
    if state is None or state.policy_name == POLICY_NONE or not contending:
        return
    yield Finding(
        severity=Severity.WARNING,
        code="agents-contend",
        place=NodePart("node"),
        message=f"{_told(contending)} beside a CPU Manager whose policy is {state.policy_name}: what one "
        "writes the other does not read back",
        expected="one of them",
        detected=", ".join(contending),
        fix=f"take {' and '.join(contending)} off this node",
    )


def others_at_work(picture: Picture) -> Finding | None:
    """Name whoever else sets CPUs, where somebody has set some that nobody expects."""
    told = [_told(running)] if (running := _running(picture)) else []
    if settings := [each for each in picture.cpu_settings or () if not each.unit]:
        told.append(
            f"systemd gives all programs {settings[-1].key}={settings[-1].value} ({settings[-1].file})"
        )
    if _is_shielded(picture):
        told.append("a shield of cset is up (groups system and user)")
    if not told:
        return None
    gap = "" if picture.cpu_settings is not None else "; systemd's CPU settings are not recorded"
    return Finding(
        severity=Severity.NOTE,
        code="agents-present",
        place=NodePart("node"),
        message=f"CPUs are set by others, too: {'; '.join(told)}{gap}",
        expected="the kubelet",
        detected=", ".join([*running, *(["systemd"] if settings else [])]) or "cset",
    )


def _running(picture: Picture) -> dict[str, int]:
    """Return the known agents that run, by name, with their process."""
    tasks = (*picture.others, *(task for seen in picture.containers for task in seen.tasks))
    found = {task.comm: task.pid for task in tasks if task.comm in _AGENTS and task.tid == task.pid}
    return dict(sorted(found.items()))


def _told(running: Mapping[str, int]) -> str:
    names = [
        f"{_AGENTS[name].project} ({name}, process {pid}) {_AGENTS[name].does}"
        for name, pid in running.items()
    ]
    return some_of(names)


def _is_shielded(picture: Picture) -> bool:
    """Tell whether ``cset shield`` has made its groups, which it does on cgroup v1 alone."""
    one = picture.hierarchies is not None and picture.hierarchies.version == 1
    return one and {"/system", "/user"} <= picture.host_groups.keys()
