"""A started kubelet: pods are admitted and removed, and it restarts.

All nodes are created here: for the commands that decide about pods, and for ``import cpuctl``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.engine.changeable import Copied
from cpuctl.inputs.sources import Sources
from cpuctl.operations.plan_inputs import claims_of
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.node import Node
    from cpuctl.engine.start import NotStarted
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.plan_inputs import Planning, PlanningInputs
    from cpuctl.pods.model import StoredPod


def start_planned(
    planning: Planning, kubelet: Kubelet | None = None, sources: Sources | None = None
) -> StartedNode | NotStarted:
    """Start the kubelet of a planning, or another one on its machine; warnings go to *sources*."""
    from cpuctl.engine.node import Node

    kubelet, sources = kubelet or planning.kubelet, sources or planning.sources
    node = planning.start(kubelet, sources)
    return StartedNode(planning, node) if isinstance(node, Node) else node


class StartedNode(Copied):
    """A ``node``, and the ``planning`` from which it was started; copies are independent.

    ``came`` are the pods that have been decided about, in their order.
    """

    def __init__(self, planning: Planning, node: Node) -> None:
        self.planning = planning
        self.node = node
        self.came: tuple[StoredPod, ...] = ()
        self._replayed = True
        """Whether replaying ``came`` on the planning would reach the same state again."""

    def copy(self) -> StartedNode:
        """Return an independent copy of the node."""
        copied, sources = super().copy(), Sources()
        copied.node = self.node.copy()
        sources.take_over(self.planning.sources)
        copied.planning = replace(self.planning, sources=sources)
        return copied

    @property
    def running(self) -> tuple[StoredPod, ...]:
        """The running pods."""
        return tuple(self.node.active.values())

    def learn(self, given: GivenPods, added: PlanningInputs, sources: Sources) -> tuple[StoredPod, ...]:
        """Add incoming pods and what was given with them; *added* names where they come from.

        Return the pods as an API server stores them.
        """
        self.planning.sources.take_over(sources)
        before, inputs = self.planning, self.planning.inputs
        inputs = replace(
            inputs,
            filenames=tuple(dict.fromkeys((*inputs.filenames, *added.filenames))),
            templates=tuple(dict.fromkeys((*inputs.templates, *added.templates))),
        )
        self.planning = replace(before, inputs=inputs).with_pods(given)
        self._govern(before)
        self._serve(before)
        wanted = self.planning.incoming
        return wanted[len(wanted) - len(given.pods) :]

    def admit(self, pod: StoredPod) -> Admission:
        """Let the kubelet decide on a pod; raise PolicyError for a policy that fails."""
        admission = self.node.admit(pod)
        self.came += (pod,)
        return admission

    def find(self, name: str) -> StoredPod:
        """Return the running pod with this name or UID; raise UsageError if there is none."""
        from cpuctl.inputs.pods import choose_pod

        running = self.running
        return running[choose_pod(name, running, ()).place]

    def remove(self, name: str) -> None:
        """Delete a pod; raise UsageError if none with this name or UID runs."""
        gone = self.find(name)
        self.node.remove(gone.uid)
        if self.node.server is not None:
            self.node.server.release(gone)
        self.node.clean_up()
        self._replayed = False

    def restart(self, loaded: LoadedKubelet | None = None) -> tuple[Admission, ...] | NotStarted:
        """Restart the kubelet, perhaps with another configuration: it admits running pods again.

        If it does not start, nothing changes.
        """
        running, loaded = self.running, loaded or self.planning.loaded
        again = start_planned(replace(self._as_it_is(), loaded=loaded))
        if not isinstance(again, StartedNode):
            return again
        admissions = tuple(again.node.readmit(running))
        self.planning, self.node = replace(self.planning, loaded=loaded), again.node
        self._replayed = False
        return admissions

    def planning_for(self, pod: StoredPod) -> Planning:
        """Return the planning that leads to the decision on a pod, or to what it would be now.

        Past decisions are replayed as they were made, unless anything but admitting pods has happened.
        """
        if not self._replayed:
            return replace(self._as_it_is(without=pod), incoming=(pod,))
        known = any(each.uid == pod.uid for each in self.came)
        return replace(self.planning, incoming=self.came if known else (*self.came, pod))

    def changed(self) -> None:
        """Note that the node has changed other than by admitting pods."""
        self._replayed = False

    def _as_it_is(self, without: StoredPod | None = None) -> Planning:
        """Return what a kubelet finds if it starts now, *without* a pod that is to be admitted again."""
        from cpuctl.engine.saved_files import SavedFiles

        node, planning = self.node.copy(), self.planning
        if without is not None:
            node.remove(without.uid)
            if node.server is not None:
                node.server.release(without)
            node.clean_up()
        files = SavedFiles(cpu=node.cpu.state_file(), memory=node.memory.state_file())
        running = tuple(node.active.values())
        return replace(
            planning,
            initial=replace(
                planning.initial,
                files=files,
                running=running,
                known=True,
                texts={},
                digests={},
                devices=node.devices if node.devices.pools else None,
            ),
            server=node.server,
            claims=claims_of(node),
        )

    def _govern(self, before: Planning) -> None:
        """Give new LimitRanges and ResourceQuotas to the API server, which counts the running pods."""
        planning, governing = self.planning, self.planning.governing
        if self.node.server is None or replace(before.governing, dra=()) == replace(governing, dra=()):
            return
        server = governing.server(self.node.server.rules, (), ())
        spec = {pod.uid: pod for pod in planning.initial.running}
        server.count(spec.get(pod.uid, pod) for pod in self.running)
        self.node.server = server
        self._replayed &= not self.came

    def _serve(self, before: Planning) -> None:
        """Give new devices, and new objects that affect claims, to the node."""
        planning = self.planning
        if planning.devices is not None and planning.devices is not before.devices:
            self.node.devices.learn(planning.devices, planning.source.info)
        if planning.claims is None or planning.claims is before.claims:
            return
        claims, known = planning.claims.copy(), claims_of(self.node)
        for pod in planning.initial.running:
            if pod.uid not in self.node.active:
                claims.release(pod.uid)
        if known is None:
            self.node.claims = claims
        else:
            known.learn(claims)
        self._replayed &= not self.came
