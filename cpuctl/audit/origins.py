"""The likely origin of unexpected CPUs: known sets equal to them, and other programs that set CPUs.

No file shows which program wrote a list or an affinity. An equal set often does: systemd gives everything
its own affinity, or ``AllowedCPUs=`` of a unit, whenever it reloads its files; a runtime that
updates a container writes the set in its request, which may be the shared pool, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.snapshot import POLICY_NONE, NodeSnapshot, ObservedContainer
from cpuctl.cgroups.names import ancestors
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.kernel_text import parse_cpu_list
from cpuctl.phrases import all_of, some_of
from cpuctl.records import Record

_MOST = 4
_ALLOWED = frozenset({"AllowedCPUs", "StartupAllowedCPUs"})
"""Settings of systemd that have an effect on cgroup v2 only (*systemd.resource-control(5)*)."""


class _Agent(Record):
    """A program that sets CPUs: its project, what it does, and whether it *contends* with the CPU Manager."""

    project: str
    does: str
    contends: bool = False


_AGENTS: Mapping[str, _Agent] = {
    "koordlet": _Agent("Koordinator", "writes CPU sets of pods", contends=True),
    "crane-agent": _Agent("Crane", "writes CPU sets of pods", contends=True),
    "katalyst-agent": _Agent("Katalyst", "writes CPU sets of pods", contends=True),
    "nri-resource-po": _Agent("an NRI resource policy", "assigns CPUs to containers", contends=True),
    "dracpu": _Agent("the DRA driver for CPUs", "assigns CPUs to containers", contends=True),
    "cpusetter": _Agent("CPU-Pooler", "writes CPU sets of containers", contends=True),
    "tuned": _Agent("TuneD", "moves threads and interrupts"),
    "numad": _Agent("numad", "moves processes between NUMA nodes"),
    "cgrulesengd": _Agent("libcgroup", "moves processes between cgroups"),
    "irqbalance": _Agent("irqbalance", "moves interrupts"),
}
"""By process name, of which the kernel keeps 15 characters."""
AGENT_PROGRAMS = frozenset(_AGENTS)


def equal_to(
    snapshot: NodeSnapshot, observed: ObservedContainer, cpus: CPUSet | None, *, of_threads: bool = False
) -> str:
    """Describe the known sets that equal a container's unexpected CPUs, as the end of a sentence.

    *of_threads*: the CPUs are an affinity of threads, not a group's list.
    """
    if not cpus:
        return ""
    owners = list(dict.fromkeys(_equals(snapshot, observed, cpus)))
    if owners:
        return f"; {cpus} matches {all_of(owners[:_MOST])}"
    gaps = list(_not_recorded(snapshot, of_threads=of_threads))
    return f"; possible cause: {' or '.join(gaps)}, whose values are not recorded" if gaps else ""


def _equals(snapshot: NodeSnapshot, observed: ObservedContainer, cpus: CPUSet) -> Iterator[str]:
    yield from _units(snapshot, observed, cpus)
    if cpus == snapshot.shared_pool and observed.expected.cpus != cpus:
        yield "the shared pool (written for containers without exclusive CPUs by a runtime update)"
    yield from _others(snapshot, observed, cpus)
    first = _first_process(snapshot)
    if cpus == first:
        yield "PID 1"
    if cpus == snapshot.machine.online:
        yield "the whole machine"
    elif snapshot.machine.isolated and cpus == snapshot.machine.online - snapshot.machine.isolated:
        yield "every unconfined program (all CPUs that are not isolated)"
    if snapshot.configured.reserved and cpus == snapshot.configured.reserved:
        yield "the system (the reserved CPUs)"
    above = snapshot.groups.get(observed.group.parent)
    own = above.cpuset if above else None
    if own and cpus == (own.effective if own.effective is not None else own.cpus):
        yield "the parent group"


def _others(snapshot: NodeSnapshot, observed: ObservedContainer, cpus: CPUSet) -> Iterator[str]:
    """List other containers that have exactly these CPUs."""
    for uid, containers in snapshot.state.entries.items():
        for name, held in containers.items():
            if held == cpus and (uid, name) != (observed.owner.uid, observed.owner.container):
                yield f"{snapshot.pod_name(uid)}/{name}"


def _units(snapshot: NodeSnapshot, observed: ObservedContainer, cpus: CPUSet) -> Iterator[str]:
    """List equal settings of systemd: of the container's scope, of slices above, or of all."""
    own = {path.rpartition("/")[2] for path in (observed.group.path, *ancestors(observed.group.path))}
    for setting in snapshot.cpu_settings or ():
        if setting.key in _ALLOWED and _is_v1(snapshot):
            continue
        if (not setting.unit or setting.unit in own) and _list(setting.value) == cpus:
            of = f"{setting.unit} by " if setting.unit else ""
            where = f" in {setting.file}" if setting.file else ""
            yield f"{of}systemd's {setting.key}={setting.value}{where}"


def _not_recorded(snapshot: NodeSnapshot, *, of_threads: bool) -> Iterator[str]:
    one = _is_v1(snapshot)
    if one and not of_threads:
        return  # systemd writes no list there
    if snapshot.cpu_settings is None:
        yield "systemd's CPUAffinity=" if one else "systemd's AllowedCPUs= or CPUAffinity="
    if _first_process(snapshot) is None:
        yield "the affinity of PID 1"


def _is_v1(snapshot: NodeSnapshot) -> bool:
    return snapshot.hierarchies is not None and snapshot.hierarchies.version == 1


def _first_process(snapshot: NodeSnapshot) -> CPUSet | None:
    return next((task.cpus for task in snapshot.others if task.tid == 1), None)


def _list(text: str) -> CPUSet | None:
    """Read one of systemd's lists, which may have spaces between its parts."""
    try:
        return parse_cpu_list(",".join(text.replace(",", " ").split()))
    except ValueError:
        return None


def check_agents(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report programs that give containers CPUs although a CPU Manager does, too."""
    state = snapshot.state.cpu
    contending = {name: task for name, task in _running(snapshot).items() if _AGENTS[name].contends}
    if state is None or state.policy_name == POLICY_NONE or not contending:
        return
    yield Finding(
        severity=Severity.WARNING,
        code="agents-contend",
        place=NodePart("node"),
        message=f"{_listed(contending)} next to a CPU Manager with policy {state.policy_name}: they "
        "overwrite each other's settings",
        expected="one of them",
        detected=", ".join(contending),
        fix=f"remove {all_of(contending)} from this node",
    )


def check_other_agents(snapshot: NodeSnapshot) -> Finding | None:
    """List other programs that set CPUs on the node, if unexpected CPUs are set."""
    agents = [_listed(running)] if (running := _running(snapshot)) else []
    if settings := [each for each in snapshot.cpu_settings or () if not each.unit]:
        agents.append(
            f"systemd sets for all programs {settings[-1].key}={settings[-1].value} ({settings[-1].file})"
        )
    if _is_shielded(snapshot):
        agents.append("a cset shield is active (groups system and user)")
    if not agents:
        return None
    gap = "" if snapshot.cpu_settings is not None else "; systemd's CPU settings are not recorded"
    return Finding(
        severity=Severity.NOTE,
        code="agents-present",
        place=NodePart("node"),
        message=f"CPUs are also set by others: {'; '.join(agents)}{gap}",
        expected="the kubelet",
        detected=", ".join([*running, *(["systemd"] if settings else [])]) or "cset",
    )


def _running(snapshot: NodeSnapshot) -> dict[str, int]:
    """Return the known agents that run, by name, with their process."""
    tasks = (*snapshot.others, *(task for observed in snapshot.containers for task in observed.tasks))
    found = {task.comm: task.pid for task in tasks if task.comm in _AGENTS and task.tid == task.pid}
    return dict(sorted(found.items()))


def _listed(running: Mapping[str, int]) -> str:
    names = [
        f"{_AGENTS[name].project} ({name}, process {pid}) {_AGENTS[name].does}"
        for name, pid in running.items()
    ]
    return some_of(names)


def _is_shielded(snapshot: NodeSnapshot) -> bool:
    """Return whether ``cset shield`` has made its groups, which it does only on cgroup v1."""
    return _is_v1(snapshot) and {"/system", "/user"} <= snapshot.host_groups.keys()
