"""The existing containers, their desired CPUs, and the updates that the runtime still needs.

An update of a container counts once the runtime has it (``delivered``): a lost one is found again as a
difference, and sent with the next answer or separately (``behind``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.nri.model import SHARES, Answer, Assignment, Placer, RuntimeContainer, Setting, Update

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_NOTHING = Setting()


class Reconciler:
    """A reconciler that keeps containers where a placer wants them; calls must not be concurrent."""

    def __init__(self, placer: Placer) -> None:
        self._placer = placer
        self._containers: dict[str, RuntimeContainer] = {}
        self._settings: dict[str, Setting] = {}
        self._creating: set[str] = set()

    def synchronize(self, containers: Sequence[RuntimeContainer]) -> Answer:
        """Process all existing pods and containers, and return the necessary changes."""
        alive = [each for each in containers if not each.ended]
        self._containers = {each.id: each for each in alive}
        self._settings = {each.id: each.setting for each in alive}
        self._creating.clear()
        notes = tuple(self._placer.synchronize(alive))
        updates = tuple(self._differences())
        return Answer(updates=updates, notes=(*notes, *_moved_containers(alive, updates)))

    def create(self, container: RuntimeContainer) -> Answer:
        """Return where a new container should run, and which others must release CPUs."""
        self._containers[container.id] = container
        self._settings[container.id] = container.setting
        self._creating.add(container.id)
        notes = [*self._placer.arrive(container)]
        place = self._placer.place(container)
        # Existing values are not set again: if two plugins set the same one, its creation fails.
        adjust = _setting(place, container.setting)
        if place.why:
            notes.append(f"{container.full_name} {place.why}")
        if place.cpus == CPUSet():
            notes.append(f"the shared pool is empty: {container.full_name} keeps its current CPUs")
        if place.cpus is not None and container.setting.cpus:
            notes.append(
                f"{container.full_name} is created with CPUs {container.setting.cpus} set by another "
                "component: use either the kubelet's static policy or this plugin on a node, not both"
            )
        return Answer(container, adjust, place.own, tuple(self._differences()), tuple(notes))

    def update(self, container: RuntimeContainer, wanted: Setting) -> Answer:
        """Decide on a container for which another client requests other CPUs or memory nodes."""
        known = self._containers.get(container.id)
        if known is None:
            return Answer()
        self._settings[known.id] = wanted.over(self._settings[known.id])
        updates = tuple(self._differences())
        notes = tuple(
            f"{known.full_name}: update to CPUs {wanted.cpus} requested, but it stays on {each.setting.cpus}"
            for each in updates
            if wanted.cpus and each.container.id == known.id
        )
        return Answer(updates=updates, notes=notes)

    def created(self, container: str) -> None:
        """Record that the runtime now knows a container, so it can be updated."""
        self._creating.discard(container)

    def stop(self, container: str) -> Answer:
        """Remove a container, and return which others get its CPUs."""
        known = self._drop(container)
        if known is not None:
            self._placer.leave(known)
        return Answer(updates=tuple(self._differences()))

    def pod_gone(self, sandbox: str) -> Answer:
        """Remove a pod with all its containers."""
        for each in [each.id for each in self._containers.values() if each.pod.id == sandbox]:
            self._drop(each)
        self._placer.pod_gone(sandbox)
        return Answer(updates=tuple(self._differences()))

    def behind(self) -> Answer:
        """Return the updates that the runtime still needs for known containers."""
        return Answer(updates=tuple(self._differences()))

    def confirmed(self, answer: Answer, failed: frozenset[str]) -> Answer:
        """Process the runtime's reply to an unsolicited answer, and return the updates that are still needed.

        The runtime may have applied it after a later update that it had requested. Containers that it could
        not update are not retried at once.
        """
        self.delivered(answer, failed)
        updates = self._differences()
        return Answer(updates=tuple(each for each in updates if each.container.id not in failed))

    def delivered(self, answer: Answer, failed: frozenset[str] = frozenset()) -> None:
        """Record that an answer has reached the runtime, and which containers could not be updated."""
        if answer.container is not None and answer.adjust is not None:
            self._remember(answer.container.id, answer.adjust)
        for each in answer.updates:
            if each.container.id not in failed:
                self._remember(each.container.id, each.setting)

    def _remember(self, container: str, setting: Setting) -> None:
        if container in self._settings:
            self._settings[container] = setting.over(self._settings[container])

    def _drop(self, container: str) -> RuntimeContainer | None:
        self._settings.pop(container, None)
        self._creating.discard(container)
        return self._containers.pop(container, None)

    def _differences(self) -> Iterator[Update]:
        """Yield the differences: shrinking containers first, so none overlap in the meantime."""
        changes = []
        for each in self._containers.values():
            if each.id in self._creating:
                continue
            place = self._placer.place(each)
            wanted = _setting(place)
            if wanted is not None and wanted.over(self._settings[each.id]) != self._settings[each.id]:
                changes.append((place.own, Update(each, wanted)))
        yield from (update for own, update in changes if not own)
        yield from (update for own, update in changes if own)


def _moved_containers(containers: Sequence[RuntimeContainer], updates: Sequence[Update]) -> Iterator[str]:
    """Yield notes about containers that lose CPUs which appear to be exclusive: a noticeable change.

    CPUs appear exclusive if no other container has any of them, or their number matches the shares.
    """
    once, twice = CPUSet(), CPUSet()
    for each in containers:
        twice |= once & each.setting.cpu_set
        once |= each.setting.cpu_set
    for each, setting in updates:
        had, now = each.setting.cpu_set, setting.over(each.setting).cpu_set
        looks_own = not had & twice or len(had) * SHARES == each.shares
        if had and looks_own and now - had:
            yield f"{each.full_name} is moved from CPUs {had} to CPUs {now}"


def _setting(place: Assignment, present: Setting = _NOTHING) -> Setting | None:
    """Return the setting for a place without values that are *present* already; None if none are left."""
    cpus, mems = str(place.cpus or ""), place.mems
    setting = Setting("" if cpus == present.cpus else cpus, "" if mems == present.mems else mems)
    return setting if any(setting) else None
