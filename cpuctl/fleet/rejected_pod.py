"""The command that explains why a kubelet of a fleet rejects a pod."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl.engine.outcome import Rejected
from cpuctl.errors import CpuctlError
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.command_lines import planning_command
from cpuctl.operations.plan import Planner
from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs, read_planning
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.answers.fleet import FleetPlan
    from cpuctl.fleet.plan_inputs import FleetPlanInputs


def explaining_command(document: FleetPlan, inputs: FleetPlanInputs, releases: Mapping[str, str]) -> str:
    """Write the command line that explains the first rejected pod on its node, or an empty text.

    The command does not know the other new pods, so it is only proposed if the node rejects the pod for the
    same reason without them, or has running pods. *releases* are those of Nodes, by name.
    """
    read_once = not all(Path(name).is_file() or Path(name).is_dir() for name in inputs.filenames)
    if inputs.policy is not None or read_once:
        return ""
    sources = {node["node"]: node["source"] for node in document["nodes"] if node["outcome"] == "Read"}
    for pod in document["pods"]:
        if pod["outcome"] == "Rejected" and (source := sources.get(pod["node"] or "")):
            name = f"{pod['namespace']}/{pod['name']}"
            alone = _on_one_node(inputs, source, releases.get(pod["node"] or "", ""))
            if _reason(alone, name) == pod["reason"]:
                return planning_command(alone, ("explain", name))
            # The given file has the pods of all nodes.
            return planning_command(replace(alone, pods="FILE"), ("explain", name)) if inputs.pods else ""
    return ""


def _on_one_node(inputs: FleetPlanInputs, source: str, release: str) -> PlanningInputs:
    return PlanningInputs(
        filenames=inputs.filenames,
        templates=inputs.templates,
        machine=source,
        kubelet=replace(inputs.kubelet, version=inputs.kubelet.version or release),
        skip_api_server=not inputs.asks_server,
        node=NodeOptions(devices=inputs.devices, driver_arguments=inputs.driver_arguments),
    )


def _reason(inputs: PlanningInputs, name: str) -> str:
    """Return why the node rejects a pod without the other pods of the fleet; empty if it does not."""
    try:
        planning = read_planning(inputs, pods_needed=True)
        plan = Planner(planning).plan(planning.loaded.kubelet, Sources())
    except (CpuctlError, ConfigRefusedError):
        return ""
    verdicts = [each.verdict for each in plan.admissions if each.pod.full_name == name]
    return next((each.reason for each in verdicts if isinstance(each, Rejected)), "")
