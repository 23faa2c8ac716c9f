"""Another release tried on a node: its state files, its running pods, and new pods."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.engine.release_effects import ReleaseSide, effects_of
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from cpuctl.engine.release_effects import Effects
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.inputs.state_files import StateInput
    from cpuctl.kubelet.releases.changes import VersionChanges
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.sources import MachineSource
    from cpuctl.operations.plan_inputs import NodeOptions, Planning
    from cpuctl.pods.model import StoredPod


class ReleaseTrial(NamedTuple):
    """What two releases are tried on: a machine, its state files and devices, running and incoming pods."""

    source: MachineSource
    states: tuple[StateInput, ...]
    running: tuple[StoredPod, ...]
    incoming: GivenPods
    node: NodeOptions

    @property
    def is_empty(self) -> bool:
        """Whether there are no state files and no pods to decide about."""
        return not (self.states or self.running or self.incoming.pods)

    def effects(
        self, releases: tuple[LoadedKubelet, LoadedKubelet], changes: VersionChanges, sources: Sources
    ) -> Effects:
        """Let both kubelets start and decide, and try each difference that only the release causes alone.

        Running pods are first: a kubelet that restarts admits them again. New pods are checked and stored by
        the API server of each release. Raise InputError for a file of devices that cannot be used.
        """
        from cpuctl.inputs.machine import load_devices
        from cpuctl.kubelet.releases.behaviours import Behaviours
        from cpuctl.kubelet.releases.changes import switched_gates

        names = [each.name for each in changes.behaviours if each.name in Behaviours._fields]
        devices = load_devices(self.node.devices, sources, info=self.source.info)
        owns = (Sources(), Sources())
        for own in owns:
            own.entries.update(sources.entries)
        old, new = (self._side(*each, devices) for each in zip(releases, owns, strict=True))
        effects = effects_of((old, new), names, switched_gates(old.kubelet.gates, new.kubelet.gates))
        # A kubelet starts once for each difference: its warnings are repeated.
        one, other = (f"kubelet {loaded.kubelet.version}" for loaded in releases)
        sources.warn_of_sides((one, owns[0]), (other, owns[1]))
        for own in owns:
            sources.unrecorded |= own.unrecorded
        return effects

    def alone(self, loaded: LoadedKubelet, sources: Sources, *, is_newer: bool = False) -> Effects:
        """Let a kubelet start and decide, if that of the other release cannot load its configuration.

        *is_newer*: it is the one to change to.
        """
        from cpuctl.engine.release_effects import effects_of_one
        from cpuctl.inputs.machine import load_devices

        devices = load_devices(self.node.devices, sources, info=self.source.info)
        return effects_of_one(self._side(loaded, sources, devices), is_newer=is_newer)

    def _side(self, loaded: LoadedKubelet, sources: Sources, devices: DeviceInventory | None) -> ReleaseSide:
        from cpuctl.inputs.pods import as_granted

        planning = self._planning(loaded, sources, devices)
        pods = (*as_granted(self.running), *planning.incoming)
        start = partial(planning.start, sources=sources if pods else Sources())
        return ReleaseSide(loaded.kubelet, pods, start, len(self.running))

    def _planning(self, loaded: LoadedKubelet, sources: Sources, devices: DeviceInventory | None) -> Planning:
        from cpuctl.engine.pod_server import PodServer
        from cpuctl.inputs.pods import rules_of_pods
        from cpuctl.inputs.starting_state import ALLOCATED_AGAIN, starting_state_of
        from cpuctl.operations.plan_inputs import Planning, PlanningInputs

        texts = {each.file_name: each.text for each in self.states}
        if self.running and not texts:
            sources.warn(ALLOCATED_AGAIN)
        planning = Planning(
            inputs=PlanningInputs(node=self.node),
            incoming=(),
            source=self.source,
            loaded=loaded,
            initial=starting_state_of(texts, self.running, loaded.kubelet).before_restart,
            devices=devices,
            sources=sources,
            server=PodServer(rules_of_pods(loaded.kubelet).server),
        )
        return planning.with_pods(self.incoming)
