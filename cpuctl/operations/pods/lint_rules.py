"""By which rules ``cpuctl pods lint`` looks at manifests: API server, kubelet, node."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpuctl.inputs.component_gates import kubelet_gates, server_gates
from cpuctl.inputs.kubelet import load_cgroup_version, load_kubelet
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.engine.pod_lints.admission import Trial
    from cpuctl.engine.pod_lints.subject import KubeletView
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.validation.lint import LintRules

_RESIZE = "InPlacePodLevelResourcesVerticalScaling"


class LintInputs(NamedTuple):
    """By what rules manifests are looked at."""

    kubelet: KubeletInputs
    machine: str = ""
    server_version: str = ""
    server_gates: str = ""
    cgroup_version: str = ""
    static: bool = False


class LintSetting(NamedTuple):
    """What the inputs name: ``trial`` is an empty node, None where no machine is named."""

    rules: LintRules
    kubelet: KubeletView
    trial: Trial | None
    versions: Mapping[str, str]


def load_setting(inputs: LintInputs, sources: Sources) -> LintSetting:
    """Read node, kubelet and API server."""
    import json

    from cpuctl.engine.pod_lints.subject import KubeletView
    from cpuctl.engine.pod_rules import node_rules, server_rules
    from cpuctl.kubelet.releases.recorded import Topic
    from cpuctl.pods.rules import PodRules
    from cpuctl.pods.validation.lint import LintRules
    from cpuctl.pods.validation.shape import Shapes
    from cpuctl.schemas import schema_text

    machine = load_machine(inputs.machine, sources) if inputs.machine else None
    told = machine is not None or _is_told(inputs.kubelet)
    kubelet = load_kubelet(inputs.kubelet, sources, machine=machine).kubelet
    if not told:
        # Defaults stand in for its release and gates only: what policies it has is not known.
        sources.entries.pop("kubeletConfiguration", None)
    gates = kubelet_gates(kubelet, sources)
    server = server_gates(inputs.server_version, inputs.server_gates, gates, sources)
    sources.add_unrecorded(server.minor, (Topic.VALIDATION,))
    rules = LintRules(
        pods=PodRules(server=server_rules(server), node=node_rules(gates)),
        shapes=Shapes(json.loads(schema_text("podresources"))),
        static=inputs.static,
        cgroup_version=load_cgroup_version(inputs.cgroup_version, machine, sources),
        resizable=server.enabled(_RESIZE),
    )
    return LintSetting(
        rules=rules,
        kubelet=KubeletView.of(kubelet) if told else KubeletView(rules=rules.pods.node),
        trial=None if machine is None else _trial(machine, kubelet, sources),
        versions={"kubelet": f"1.{gates.minor}", "apiserver": f"1.{server.minor}"},
    )


def _is_told(inputs: KubeletInputs) -> bool:
    """Whether anything names a configuration."""
    return inputs.config is not None or bool(inputs.config_dir or inputs.arguments)


def _trial(machine: MachineSource, kubelet: Kubelet, sources: Sources) -> Trial | None:
    """Start an empty node; where its kubelet does not come up, nothing can be tried on it."""
    from cpuctl.engine.node import Node
    from cpuctl.engine.outcome import KubeletFault, StartRefused
    from cpuctl.engine.pod_lints.admission import Trial
    from cpuctl.engine.start import start_node

    node = start_node(machine.info, kubelet, fit=True)
    if isinstance(node, Node):
        return Trial(node)
    why = node.error if isinstance(node, StartRefused) else node.why
    fails = isinstance(node, StartRefused | KubeletFault)
    what = "its kubelet would not start" if fails else "that cannot be said"
    sources.warnings.append(f"whether the node takes these pods is not looked at: {what}: {why}")
    return None
