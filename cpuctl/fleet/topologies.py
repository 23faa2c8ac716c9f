"""The NodeResourceTopologies of a fleet: what an exporter on every node would publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering.config.starts import not_started_answer
from cpuctl.answering.topology.topology_object import topologies_document
from cpuctl.engine.node import Node
from cpuctl.errors import InputError
from cpuctl.exports.outcomes import start_sentence
from cpuctl.fleet.asking import KubeletFiles
from cpuctl.inputs.sources import Sources
from cpuctl.object_names import as_object_name
from cpuctl.operations.plan_inputs import PlanningInputs, read_planning
from cpuctl.operations.topology_publishing import publish_node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.answers.fleet import PublishedNode
    from cpuctl.fleet.collection import Recording
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.operations.topology_publishing import Publisher


class TopologyPublisher(KubeletFiles):
    """Creates the object of one node after another."""

    def __init__(
        self, kubelet: KubeletInputs, publisher: Publisher, releases: Mapping[str, str] = {}
    ) -> None:
        self._kubelet, self._publisher, self._releases = kubelet, publisher, releases

    def asks(self, name: str) -> str:
        """Name the question, with the settings of the kubelets."""
        return f"publish {name} {self._asks_kubelet(name)} {self._publisher}"

    def __call__(self, recording: Recording) -> PublishedNode:
        """Read a recording and start its kubelet; raise CpuctlError if nothing is published there."""
        name, source = recording.name, recording.source
        planning = read_planning(
            PlanningInputs(machine=source, kubelet=self._inputs_of(name)), pods_needed=False
        )
        node = planning.start(planning.kubelet, Sources())
        if not isinstance(node, Node):
            raise InputError(start_sentence(not_started_answer(node), "The kubelet"), where=name)
        found = publish_node(as_object_name(name), planning, node, self._publisher)
        return {
            "node": name,
            "source": source,
            "answerKey": None,
            "outcome": "Read",
            "object": topologies_document([found.topology]),
            "notes": list(found.notes),
        }
