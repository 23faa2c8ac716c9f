"""The command that explains why a kubelet of a fleet rejects a pod."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.engine.outcome import Rejected
from cpuctl.errors import CpuctlError
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.command_lines import planning_command
from cpuctl.operations.plan import Planner
from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs, read_planning
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpuctl.answers.fleet import FleetPlan
    from cpuctl.fleet.plan_inputs import FleetPlanInputs


class ExplainingCommand(NamedTuple):
    """A command line, and the pods that it plans on the node although the fleet's plan has them elsewhere."""

    command: str
    also_plans: tuple[str, ...] = ()


def explaining_command(
    document: FleetPlan, inputs: FleetPlanInputs, releases: Mapping[str, str]
) -> ExplainingCommand | None:
    """Write the command line that explains the first rejected pod on its node.

    It plans what is given for that node, and is only proposed if the node rejects the pod for the same reason
    then, or has running pods. *releases* are those of Nodes, by name.
    """
    read_once = not all(Path(name).is_file() or Path(name).is_dir() for name in inputs.filenames)
    if inputs.policy is not None or read_once:
        return None
    sources = {node["node"]: node["source"] for node in document["nodes"] if node["outcome"] == "Read"}
    for pod in document["pods"]:
        if pod["outcome"] == "Rejected" and (source := sources.get(pod["node"] or "")):
            name, node = f"{pod['namespace']}/{pod['name']}", pod["node"] or ""
            elsewhere = _elsewhere(document, node)
            inputs, others = _given_for(inputs, elsewhere)
            alone = _on_one_node(inputs, source, releases.get(node, ""))
            if _reason(alone, name) == pod["reason"]:
                return ExplainingCommand(planning_command(alone, ("explain", name)), others)
            if not inputs.pods:
                return None
            # The given file has the pods of all nodes.
            return ExplainingCommand(planning_command(replace(alone, pods="FILE"), ("explain", name)), others)
    return None


def _elsewhere(document: FleetPlan, node: str) -> frozenset[str]:
    """Return the names of pods that are not sent to a node."""
    places: dict[str, set[str]] = {}
    for pod in document["pods"]:
        places.setdefault(f"{pod['namespace']}/{pod['name']}", set()).add(pod["node"] or "")
    return frozenset(name for name, nodes in places.items() if node not in nodes)


def _given_for(inputs: FleetPlanInputs, elsewhere: frozenset[str]) -> tuple[FleetPlanInputs, tuple[str, ...]]:
    """Leave out manifests and templates whose pods are all *elsewhere*; return the others' pods that are."""
    from cpuctl.inputs.pods import load_pods

    def kept(given: Sequence[str], *, as_templates: bool) -> Iterator[str]:
        for each in given:
            files, templates = ((), (each,)) if as_templates else ((each,), ())
            names = [pod.full_name for pod in load_pods(files, templates, Sources(), needed=False).pods]
            if not names or not elsewhere.issuperset(names):
                others.update(dict.fromkeys(name for name in names if name in elsewhere))
                yield each

    others: dict[str, None] = {}
    filenames = tuple(kept(inputs.filenames, as_templates=False))
    templates = tuple(kept(inputs.templates, as_templates=True))
    return inputs._replace(filenames=filenames, templates=templates), tuple(others)


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
