"""A node that is sampled repeatedly: who has which CPUs now, and what its counters show about them."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.capture.collected import no_progress
from cpuctl.cgroups.names import Level, ancestors
from cpuctl.cgroups.owners import Owner
from cpuctl.cpuset import CPUSet, union
from cpuctl.errors import CpuctlError, InputError, UsageError
from cpuctl.inputs.live_node import LiveNode, load_node, with_fresh_state
from cpuctl.inputs.sources import Sources
from cpuctl.live.counters import CounterFiles
from cpuctl.live.sampler import Sampler, Watched, WatchedContainer, Window
from cpuctl.pods.model import QosClass
from cpuctl.root_directory import Root

if TYPE_CHECKING:
    from cpuctl.audit.snapshot import NodeSnapshot, ObservedContainer
    from cpuctl.inputs.live_node import NodeInputs
    from cpuctl.machine.model import Machine

_PATIENCE = 5.0
"""Seconds between two searches for a group that has disappeared: a restarting container takes a while."""
_ONLINE = "sys/devices/system/cpu/online"
_QOS_GROUPS = {QosClass.BURSTABLE: "burstable", QosClass.BEST_EFFORT: "bestEffort"}


class TopNode(NamedTuple):
    """The owners of a node's CPUs; ``owners`` are those of the watched containers, in their order.

    ``pool`` and ``reserved`` are None if unknown; ``policy`` is empty then.
    """

    machine: Machine
    watched: Watched
    owners: tuple[Owner, ...]
    pool: CPUSet | None
    reserved: CPUSet | None
    policy: str
    hostname: str


class RunningNode:
    """A running node and its counters; *load* reads it again when its CPUs have changed.

    *clock* returns monotonic seconds. *thorough*: all threads are examined each time, not in turn.
    """

    def __init__(
        self,
        node: LiveNode,
        load: Callable[[], LiveNode],
        root: str,
        clock: Callable[[], float],
        *,
        thorough: bool = False,
    ) -> None:
        self._node = node
        self._load = load
        self._clock = clock
        self._root = root.rstrip("/")
        self._files = CounterFiles(Root(root or "/"))
        self._allowed: frozenset[int] = frozenset()
        """The CPUs that this process could run on, before it was kept off some of them."""
        self._hostname = (self._files.read("proc/sys/kernel/hostname", keep=False) or b"").decode().strip()
        self._online = self._files.read(_ONLINE)
        self.top = self._discover()
        self._discovered = clock()
        self._sampler = Sampler(self._files, self.top.watched, clock, thorough=thorough)

    def take(self) -> Window | None:
        """Read the counters; return None if there is nothing to compare them with yet.

        If CPUs have gone offline or come online, the kubelet's state has changed, or the group of a container
        has disappeared, the CPUs' owners are determined first. Raise InputError for a copy of a node's files,
        whose counters are missing or do not change.
        """
        fresh = with_fresh_state(self._with_fresh_cpus())
        lost = self._sampler.lost and self._clock() - self._discovered >= _PATIENCE
        if fresh is not self._node or lost:
            self._node = fresh
            self.top = self._discover()
            self._discovered = self._clock()
            self._sampler.watch(self.top.watched)
            if self._allowed:
                self.keep_off()
        window = self._sampler.take()
        if not self._sampler.has_cpu_counters:
            raise self._copy("no counters available")
        if window is not None and window.cpus.before == window.cpus.after:
            raise self._copy("the counters do not change")
        return window

    def _with_fresh_cpus(self) -> LiveNode:
        """Return the node with the CPUs that are online now, or unchanged while they come and go."""
        online = self._files.read(_ONLINE)
        if online == self._online:
            return self._node
        try:
            node = self._load()
        except CpuctlError:
            return self._node
        self._online = online
        return node

    def age(self, window: Window) -> float:
        """Return how many seconds ago a window ended: reading everything takes some time itself."""
        return self._clock() - window.at

    def keep_off(self) -> None:
        """Keep this process off exclusive CPUs, including those of later pods.

        Watching them should not disturb them.
        """
        exclusive = union(each.cpus for each in self.top.watched.containers)
        with suppress(OSError):
            self._allowed = self._allowed or frozenset(os.sched_getaffinity(0))
            if allowed := self._allowed - set(exclusive):
                os.sched_setaffinity(0, allowed)

    def close(self) -> None:
        """Close all open files."""
        self._files.close()

    def _copy(self, what: str) -> InputError:
        """Return the error for files that no kernel changes."""
        hint = f"use cpuctl audit {option_names.ROOT} {shlex.quote(self._root)}" if self._root else ""
        message = f"{what}: this is a copy of a node's files"
        return InputError(message, where=f"{self._root}/proc/stat", hint=hint)

    def _discover(self) -> TopNode:
        from cpuctl.audit.reading import take_group_snapshot

        known = self._node.known
        # If a driver assigns CPUs to claims, any pod may have some.
        claimed = known.state.claims is not None and bool(known.state.claims.claims)
        pods = None if claimed else frozenset(known.state.entries)
        snapshot = take_group_snapshot(self._node.files, known, no_progress, pods)
        found = sorted(_rows(snapshot), key=lambda row: (row[1].cpus.lowest, row[1].path))
        state, configured = known.state.cpu, known.configured
        return TopNode(
            machine=known.machine,
            watched=Watched(
                hierarchies=snapshot.hierarchies,
                containers=tuple(watched for _, watched in found),
                pods=_pod_groups(snapshot),
                numa_nodes=tuple(node.id for node in known.machine.numa_nodes),
            ),
            owners=tuple(owner for owner, _ in found),
            pool=snapshot.shared_pool,
            reserved=None if configured.why_unknown or not configured.policy else configured.reserved,
            policy=state.policy_name if state else "",
            hostname=self._hostname,
        )


def load_running_node(inputs: NodeInputs, sources: Sources, *, thorough: bool = False) -> RunningNode:
    """Read the owners of CPUs of the live node, or of the one whose file system is mounted at a root.

    *thorough*: all threads are examined each time. Raise UsageError for a recording, in which nothing runs.
    """
    node = load_node(inputs, sources, goes_without=True)
    if not (node.known.live or inputs.root):
        raise UsageError(
            "a recording is a snapshot, without running processes",
            where=f"-m {inputs.machine}",
            hint="use cpuctl audit on the recording; --replay FILE plays a file written with --record FILE",
        )
    again = partial(load_node, inputs, Sources(), goes_without=True)
    return RunningNode(node, again, inputs.root, time.monotonic, thorough=thorough)


def _rows(snapshot: NodeSnapshot) -> list[tuple[Owner, WatchedContainer]]:
    """List the containers with exclusive CPUs, then other entries of the state."""
    rows = []
    for observed in snapshot.containers:
        cpus = observed.expected.cpus
        if observed.expected.exclusive and cpus:
            rows.append((observed.owner, _watched(observed, cpus)))
    seen = {(owner.uid, owner.container) for owner, _ in rows}
    covered = union(watched.cpus for _, watched in rows)
    for uid, containers in snapshot.state.entries.items():
        for name, cpus in containers.items():
            # An init container that has ended keeps its CPUs in the state; others of its pod use them.
            if (uid, name) not in seen and uid in snapshot.uids and cpus - covered:
                pod = snapshot.pods.get(uid)
                owner = Owner(uid, pod.namespace if pod else "", pod.name if pod else "", container=name)
                rows.append((owner, WatchedContainer(cpus)))
    return rows


def _watched(observed: ObservedContainer, cpus: CPUSet) -> WatchedContainer:
    return WatchedContainer(
        cpus=cpus,
        path=observed.group.path,
        above=next(ancestors(observed.group.path), ""),
        below=tuple(group.path for group in observed.below),
    )


def _pod_groups(snapshot: NodeSnapshot) -> dict[str, str]:
    """Return the groups that pods share, by the name shown for them."""
    found = {}
    for path, group in snapshot.groups.items():
        if group.role.level is Level.KUBEPODS:
            found["pods"] = path
        elif group.role.level is Level.QOS:
            found[_QOS_GROUPS[group.role.qos]] = path
    return found
