"""The answer of ``cpuctl top`` as a plain document (schema: ``cpuctl schema top``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from cpuctl.answering import API_VERSION
from cpuctl.answering.parts import owner_answer
from cpuctl.cpuset import CPUSet, union
from cpuctl.live.counters import TICKS
from cpuctl.phrases import named

if TYPE_CHECKING:
    from cpuctl.answers import top as answers
    from cpuctl.answers.values import Sources
    from cpuctl.live.counters import CPUTimes, Stalled
    from cpuctl.live.sampler import GroupCounts, Span, WatchedContainer, Window
    from cpuctl.live.threads import ForeignThread, ThreadCounts
    from cpuctl.operations.top import TopNode

_DIGITS = 4
_MOST_INTERRUPTS = 5
_A_TICK_OR_TWO = 0.02
_LEAST_OF_KERNEL = 0.001
"""The minimum CPU use of a reported kernel thread: each CPU has some that wake up now and then."""
_TIMERS = ("LOC", "arch_timer")
"""The local timer of x86, and its name among the numbered interrupts of Arm."""


def top_document(node: TopNode, window: Window, sources: Sources, time: str) -> answers.Top:
    """Describe a node's activity between two moments in one document."""
    rates = _Rates(node, window)
    at = node.watched.hierarchies
    containers = [rates.container(watched, number) for number, watched in enumerate(node.watched.containers)]
    return {
        "apiVersion": API_VERSION,
        "kind": "Top",
        "sources": sources,
        "node": node.hostname or None,
        "time": time,
        "seconds": _rounded(window.cpus.seconds),
        "cgroupVersion": at.version if at else None,
        "cpuManagerPolicy": node.policy or None,
        "containers": containers,
        "sharedPool": rates.together(node.pool),
        "reserved": rates.together(node.reserved),
        "pressure": [
            {"scope": name, **found} for name, span in window.stalled.items() if (found := _pressure(span))
        ],
        "numaNodes": [rates.numa_node(node_id) for node_id in node.watched.numa_nodes],
        "cpus": list(rates.cpus.values()),
        "unknown": [{"what": what, "why": why} for what, why in _unknown(node, window)],
    }


def current(node: TopNode, window: Window, sources: Sources, ago: float = 0.0) -> answers.Top:
    """Describe a node's activity until now, or until *ago* seconds earlier, in one document."""
    time = datetime.now(UTC) - timedelta(seconds=ago)
    return top_document(node, window, sources, time.isoformat(timespec="milliseconds"))


class _Rates:
    """The rates of one window, for CPUs and their holders."""

    def __init__(self, node: TopNode, window: Window) -> None:
        self._node = node
        self._window = window
        span = window.interrupts
        self._came = span.after.since(span.before) if span else {}
        self._seconds = span.seconds if span else 0.0
        # Titles are at the end of lines with one column per CPU: each is searched for once.
        self._timers = {name for name in self._came if self._is_timer(name)}
        self._devices = {name for name in self._came if name.isdecimal()} - self._timers
        self._device_interrupts: dict[int, int] = {}
        for name in self._devices:
            for cpu, times in self._came[name].items():
                self._device_interrupts[cpu] = self._device_interrupts.get(cpu, 0) + times
        self._shares = {
            cpu: shares
            for cpu, after in window.cpus.after.items()
            if (before := window.cpus.before.get(cpu))
            and (shares := _shares(before, after, window.cpus.seconds))
        }
        self.cpus = dict(self._each_cpu())

    def _is_timer(self, name: str) -> bool:
        span = self._window.interrupts
        return name in _TIMERS or (
            name.isdecimal() and span is not None and _TIMERS[1] in span.after.title(name)
        )

    def _each_cpu(self) -> Iterator[tuple[int, answers.CPU]]:
        machine, delays = self._node.machine, self._window.delays
        caches = {cpu: group.lowest for group in machine.l3_groups for cpu in group}
        cores = {cpu: core.lowest for core in machine.cores for cpu in core}
        holders: dict[int, list[int]] = {}
        for number, watched in enumerate(self._node.watched.containers):
            for cpu in watched.cpus:
                holders.setdefault(cpu, []).append(number)
        for each in machine.cpus:
            cpu = each.number
            delay = _per_second(delays, cpu) if delays else None
            yield (
                cpu,
                {
                    "cpu": cpu,
                    "socket": machine.socket_of[cpu],
                    "numaNode": each.numa_node,
                    "l3": caches.get(cpu),
                    "core": cores.get(cpu, cpu),
                    "owner": self._owner(cpu, holders),
                    "containers": holders.get(cpu, []),
                    **self._shares.get(cpu, _NOTHING),
                    "runQueueDelay": None if delay is None else _rounded(delay / 1e9),
                    "interrupts": self._rate(self._device_interrupts.get(cpu, 0)),
                },
            )

    def _owner(
        self, cpu: int, holders: Mapping[int, list[int]]
    ) -> Literal["exclusive", "shared", "reserved", "none"]:
        if cpu in holders:
            return "exclusive"
        if cpu in (self._node.reserved or CPUSet()):
            return "reserved"
        return "shared" if cpu in (self._node.pool or CPUSet()) else "none"

    def _rate(self, times: int) -> float | None:
        return _rounded(times / self._seconds) if self._seconds else None

    def container(self, watched: WatchedContainer, number: int) -> answers.Container:
        """Describe the activity of a container."""
        cpus = [self.cpus[cpu] for cpu in watched.cpus if cpu in self.cpus]
        group, threads = self._window.groups.get(watched.path), self._window.threads.get(watched.path)
        used = _growth(group.seconds, group.before.used, group.after.used) if group else None
        nodes = CPUSet.of(each["numaNode"] for each in cpus if each["numaNode"] is not None)
        stalled = _span_of(group.seconds, group.before.stalled, group.after.stalled) if group else None
        return {
            **owner_answer(self._node.owners[number]),
            "path": watched.path or None,
            "cpus": str(watched.cpus),
            "numaNodes": str(nodes),
            "loads": [self.cpus[cpu]["busy"] if cpu in self.cpus else None for cpu in watched.cpus],
            "used": used,
            "others": self._others(watched, used),
            "steal": _sum(each["steal"] for each in cpus),
            "throttledPeriods": _growth(group.seconds, group.before.periods, group.after.periods)
            if group
            else None,
            "throttled": _growth(group.seconds, group.before.throttled, group.after.throttled)
            if group
            else None,
            "pressure": _pressure(stalled) if stalled else None,
            "threads": len(threads.after) if threads else None,
            "runQueueDelay": _waited(threads),
            "migrations": _migrated(threads),
            "foreign": self._foreign(watched),
            "interrupts": self._interrupts(watched.cpus),
            "numaMisses": _sum(self.numa_node(node)["foreign"] for node in nodes) if nodes else None,
        }

    def _others(self, watched: WatchedContainer, used: float | None) -> float | None:
        """Return the time of its CPUs that others used; None if it shares them with a container."""
        mine = [self.cpus[cpu] for cpu in watched.cpus if cpu in self.cpus]
        if used is None or any(len(each["containers"]) > 1 for each in mine):
            return None
        user, system = _sum(each["user"] for each in mine), _sum(each["system"] for each in mine)
        return None if user is None or system is None else _rounded(max(user + system - used, 0))

    def _foreign(self, watched: WatchedContainer) -> list[answers.ForeignThread] | None:
        if self._window.foreign is None:
            return None
        found = (_foreign(each) for each in self._window.foreign if each.cpu in watched.cpus)
        seen = [each for each in found if not each["kernel"] or each["used"] >= _LEAST_OF_KERNEL]
        return sorted(seen, key=lambda each: -each["used"])

    def _interrupts(self, cpus: CPUSet) -> answers.Interrupts | None:
        span = self._window.interrupts
        if span is None:
            return None
        came = {name: sum(by.get(cpu, 0) for cpu in cpus) for name, by in self._came.items()}
        devices = {name: times for name, times in came.items() if times and name in self._devices}
        timer = sum(came[name] for name in self._timers)
        most = sorted(devices, key=lambda name: -devices[name])[:_MOST_INTERRUPTS]
        return {
            "devices": _rounded(sum(devices.values()) / span.seconds),
            "timer": _rounded(timer / span.seconds),
            "others": _rounded((sum(came.values()) - timer - sum(devices.values())) / span.seconds),
            "mostFrequent": [
                {
                    "name": name,
                    "title": span.after.title(name),
                    "rate": _rounded(devices[name] / span.seconds),
                }
                for name in most
            ],
        }

    def together(self, cpus: CPUSet | None) -> answers.CPUs | None:
        """Summarize several CPUs."""
        if cpus is None:
            return None
        those = [self.cpus[cpu] for cpu in cpus if cpu in self.cpus]
        return {
            "cpus": str(cpus),
            "busy": _mean(each["busy"] for each in those),
            "steal": _mean(each["steal"] for each in those),
            "runQueueDelay": _sum(each["runQueueDelay"] for each in those),
            "interrupts": _sum(each["interrupts"] for each in those),
        }

    def numa_node(self, number: int) -> answers.NUMANode:
        """Describe from where pages were allocated."""
        span = self._window.memory.get(number)

        def rate(name: str) -> float | None:
            return _growth(span.seconds, span.before.get(name), span.after.get(name)) if span else None

        return {
            "id": number,
            "misses": rate("numa_miss"),
            "foreign": rate("numa_foreign"),
            "otherNode": rate("other_node"),
        }


_NOTHING: answers.Shares = {
    "busy": None,
    "user": None,
    "system": None,
    "irq": None,
    "iowait": None,
    "steal": None,
}


def _shares(before: CPUTimes, after: CPUTimes, seconds: float) -> answers.Shares | None:
    """Return how a CPU has spent its time; None if no time has passed for it.

    Idle time is exact if ticks stop while a CPU idles (``get_idle_time`` in *fs/proc/stat.c*); the rest is
    counted by ticks, which miss most threads that sleep again before the next one. So all time that is not
    idle is busy, and ticks only determine its proportions, as the kernel itself splits the times of processes
    (``cputime_adjust``). Idle time may decrease by a tick.
    """
    spent = [max(new - old, 0) for old, new in zip(before, after, strict=True)]
    user, nice, system, idle, iowait, irq, softirq, steal = spent
    if not sum(spent):
        return None
    time = max(seconds * TICKS, idle + iowait + steal)
    busy = (time - idle - iowait - steal) / time
    ticks = user + nice + system + irq + softirq
    share = busy / ticks if ticks else 0.0
    reported = ticks > 0 or busy < _A_TICK_OR_TWO
    return {
        "busy": _rounded(busy),
        "user": _rounded((user + nice) * share) if reported else None,
        "system": _rounded(system * share) if reported else None,
        "irq": _rounded((irq + softirq) * share) if reported else None,
        "iowait": _rounded(iowait / time),
        "steal": _rounded(steal / time),
    }


def _foreign(thread: ForeignThread) -> answers.ForeignThread:
    return {
        "tid": thread.tid,
        "pid": thread.pid,
        "comm": thread.comm,
        "cgroup": thread.group,
        "cpu": thread.cpu,
        "kernel": thread.kernel,
        "used": _rounded(thread.ran / thread.seconds) if thread.seconds > 0 else 0.0,
    }


def _waited(span: Span[Mapping[int, ThreadCounts]] | None) -> float | None:
    """Add up the waiting time of threads that existed during the whole window."""
    if span is None:
        return None
    pairs = ((span.before[tid].delay, after.delay) for tid, after in span.after.items() if tid in span.before)
    known = list(_grown(pairs))
    return _rounded(sum(known) / 1e9 / span.seconds) if known else None


def _grown(pairs: Iterable[tuple[int | None, int | None]]) -> Iterator[int]:
    """Yield the growth of threads' counters; a counter that has decreased belongs to another thread."""
    return (new - old for old, new in pairs if old is not None and new is not None and new >= old)


def _migrated(span: Span[Mapping[int, ThreadCounts]] | None) -> float | None:
    if span is None:
        return None
    before = span.before
    known = list(
        _grown(
            (before[tid].migrations, after.migrations) for tid, after in span.after.items() if tid in before
        )
    )
    return _rounded(sum(known) / span.seconds) if known else None


def _pressure(span: Span[Stalled]) -> answers.Pressure | None:
    """Return shares of the time, None for a recreated group; averages are percentages in the file."""
    some = _growth(span.seconds, span.before.some, span.after.some)
    full = _growth(span.seconds, span.before.full, span.after.full)
    if some is None:
        return None
    return {
        "some": _rounded(some / 1e6),
        "full": None if full is None else _rounded(full / 1e6),
        "average": _rounded(span.after.average / 100),
    }


def _span_of(seconds: float, before: Stalled | None, after: Stalled | None) -> Span[Stalled] | None:
    from cpuctl.live.sampler import Span

    return None if before is None or after is None else Span(seconds, before, after)


def _growth(seconds: float, before: float | None, after: float | None) -> float | None:
    """Return a counter's growth per second; None if it is not known at both moments.

    A counter that decreased was reset: the group was created again under the same name.
    """
    return None if before is None or after is None or after < before else _rounded((after - before) / seconds)


def _per_second(span: Span[dict[int, int]], cpu: int) -> float | None:
    before, after = span.before.get(cpu), span.after.get(cpu)
    return None if before is None or after is None else max(after - before, 0) / span.seconds


def _sum(values: Iterable[float | None]) -> float | None:
    """Add up values; return None if one is unknown, or if there are none."""
    listed = list(values)
    known = [each for each in listed if each is not None]
    return _rounded(sum(known)) if known and len(known) == len(listed) else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return _rounded(sum(known) / len(known)) if known else None


def _rounded(value: float) -> float:
    return round(value, _DIGITS)


def _unknown(node: TopNode, window: Window) -> Iterator[tuple[str, str]]:
    """Yield the values that the kernel or the kubelet does not report, and why."""
    if not node.policy:
        yield "containers, sharedPool", "the CPU Manager's state file cannot be read"
    if node.reserved is None:
        yield "reserved", "the kubelet's configuration is unknown"
    if "node" not in window.stalled:
        yield (
            "pressure",
            "/proc/pressure/cpu does not exist: the kernel has no PSI, or it is disabled (boot with psi=1)",
        )
    if window.delays is None:
        yield "runQueueDelay of CPUs", "/proc/schedstat does not exist (CONFIG_SCHEDSTATS)"
    if window.interrupts is None:
        yield "interrupts", "/proc/interrupts cannot be read, or was read only once"
    if window.foreign is None:
        yield "foreign", "no processes are visible in /proc"
    yield from _unknown_of_containers(node, window)


def _unknown_of_containers(node: TopNode, window: Window) -> Iterator[tuple[str, str]]:
    if gone := union(each.cpus for each in node.watched.containers) - node.machine.online:
        yield f"loads of {named(gone)}", "not online"
    paths = [each.path for each in node.watched.containers if each.path]
    groups = [window.groups[path].after for path in paths if path in window.groups]
    if len(groups) < len(paths) or any(map(_was_reset, window.groups.values())):
        yield "used", "the cgroups of some containers have appeared or disappeared"
    if any(each.periods is None for each in groups):
        yield (
            "throttled",
            "cpu.stat has no throttling counters: the cpu controller is disabled in these cgroups",
        )
    if groups and all(each.stalled is None for each in groups):
        yield "pressure of containers", "their cgroups have no cpu.pressure"
    counts = [
        each for path in paths if path in window.threads for each in window.threads[path].after.values()
    ]
    if counts and all(each.migrations is None for each in counts):
        yield "migrations", "threads have no /proc/PID/sched (CONFIG_SCHED_DEBUG)"


def _was_reset(span: Span[GroupCounts]) -> bool:
    before, after = span.before.used, span.after.used
    return before is not None and after is not None and after < before
