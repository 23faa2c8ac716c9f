"""The command that explains why a kubelet of a fleet rejects a pod."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile
from cpuctl.engine.outcome import Rejected
from cpuctl.errors import CpuctlError
from cpuctl.exports.answer_text import full_name
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.command_lines import planning_command
from cpuctl.operations.plan import Planner
from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs, read_planning
from cpuctl.pods.manifest import owner_of
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpuctl.answers.fleet_plan import FleetPlan
    from cpuctl.fleet.plan_inputs import FleetPlanInputs
    from cpuctl.fleet.plan_nodes import FleetInputs
    from cpuctl.pods.model import Pod


class ExplainingCommand(NamedTuple):
    """A command line, and where the node's pods differ in it from those in the fleet's plan.

    It ``also_plans`` pods that the plan has elsewhere or nowhere, and ``leaves_out`` pods that are there.
    """

    command: str
    also_plans: tuple[str, ...] = ()
    leaves_out: tuple[str, ...] = ()


def explaining_command(
    document: FleetPlan, inputs: FleetPlanInputs, surveyed: FleetInputs
) -> ExplainingCommand | None:
    """Write the command line that explains the first rejected pod on its node.

    It plans what is given for that node, and is only proposed if the node rejects the pod for the same reason
    then, or has running pods.
    """
    read_once = not all(Path(name).is_file() or Path(name).is_dir() for name in inputs.filenames)
    if inputs.policy is not None or read_once:
        return None
    sources = {node["node"]: node["source"] for node in document["nodes"] if node["outcome"] == "Read"}
    for pod in document["pods"]:
        if pod["outcome"] == "Rejected" and (source := sources.get(pod["node"] or "")):
            name, node = full_name(pod), pod["node"] or ""
            given = _given_for(inputs, document, node)
            if given.names[name] != 1:
                continue  # it is a pod that was evicted, or has the name of another one
            alone = _on_one_node(given.inputs, source, surveyed.releases.get(node, ""))
            tried, running = _tried(alone, name), (surveyed.running or {}).get(node, ())
            if tried.reason == pod["reason"]:
                unseen = (each.full_name for each in running if each.uid not in tried.recorded)
                left_out = (*given.left_out, *unseen)
                return ExplainingCommand(planning_command(alone, ("explain", name)), given.others, left_out)
            if not inputs.pods:
                return None
            # The given file has the pods of all nodes.
            command = planning_command(replace(alone, pods="FILE"), ("explain", name))
            return ExplainingCommand(command, given.others, given.left_out)
    return None


class _Given(NamedTuple):
    """What is given for a node: the names of its pods, and ``others``, which cannot be left out.

    ``left_out`` are those that the plan has there although they are not given: they come from drained nodes.
    """

    inputs: FleetPlanInputs
    names: Counter[str]
    others: tuple[str, ...]
    left_out: tuple[str, ...]


def _given_for(inputs: FleetPlanInputs, document: FleetPlan, node: str) -> _Given:
    """Leave out manifests and templates that have nothing but pods that are not sent to a node."""
    from cpuctl.inputs.pods import load_pods

    sent = [pod for pod in document["pods"] if pod["node"] == node]
    left = Counter(map(full_name, sent))
    absent = {
        (each["namespace"], f"DaemonSet/{each['name']}")
        for each in document["daemonSets"]
        if node in (*each["excluded"], *each["running"])
    }
    daemons = {(each["namespace"], f"DaemonSet/{each['name']}") for each in document["daemonSets"]}
    names: Counter[str] = Counter()
    others: list[str] = []

    def is_here(pod: Pod) -> bool:
        key = (pod.namespace, owner_of(pod))
        if key in daemons:
            return key not in absent
        left[pod.full_name] -= 1
        return left[pod.full_name] >= 0

    def kept(texts: Sequence[str], *, as_templates: bool) -> Iterator[str]:
        for text in texts:
            files, templates = ((), (text,)) if as_templates else ((text,), ())
            given = load_pods(files, templates, Sources(), needed=False)
            here = [is_here(pod) for pod in given.pods]
            governs = given.limit_ranges or given.quotas or given.dra or given.runtime_classes
            if any(here) or not here or governs:
                names.update(pod.full_name for pod in given.pods)
                others.extend(pod.full_name for pod, there in zip(given.pods, here, strict=True) if not there)
                yield text

    filenames = tuple(kept(inputs.filenames, as_templates=False))
    templates = tuple(kept(inputs.templates, as_templates=True))
    given = inputs._replace(filenames=filenames, templates=templates)
    moved = (full_name(pod) for pod in sent if pod["outcome"] == "Admitted" and left[full_name(pod)] > 0)
    return _Given(given, names, tuple(dict.fromkeys(others)), tuple(dict.fromkeys(moved)))


def _on_one_node(inputs: FleetPlanInputs, source: str, release: str) -> PlanningInputs:
    return PlanningInputs(
        filenames=inputs.filenames,
        templates=inputs.templates,
        machine=source,
        kubelet=replace(inputs.kubelet, version=inputs.kubelet.version or release),
        skip_api_server=not inputs.asks_server,
        node=NodeOptions(devices=inputs.devices, driver_arguments=inputs.driver_arguments),
    )


class _Tried(NamedTuple):
    """Why a node rejects a pod, empty if it does not; ``recorded`` are UIDs of pods in its state files."""

    reason: str = ""
    recorded: frozenset[str] = frozenset()


def _tried(inputs: PlanningInputs, name: str) -> _Tried:
    """Plan a pod on its node without the other pods of the fleet."""
    try:
        planning = read_planning(inputs, pods_needed=True)
        plan = Planner(planning).plan(planning.loaded.kubelet, Sources())
    except (CpuctlError, ConfigRefusedError):
        return _Tried()
    verdicts = [each.verdict for each in plan.admissions if each.pod.full_name == name]
    reason = next((each.reason for each in verdicts if isinstance(each, Rejected)), "")
    files = planning.initial.files
    states = (each for each in (files.cpu, files.memory) if isinstance(each, CPUStateFile | MemoryStateFile))
    held = (uid for state in states for uid in (*state.entries, *state.pod_entries))
    return _Tried(reason, frozenset(held))
