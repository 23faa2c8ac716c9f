"""Layout of a plan: one row per container, then what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_line, without_sudo
from cpuctl.cli.render.findings import warning_line
from cpuctl.cli.render.tables.capacity import headroom_blocks
from cpuctl.cli.render.tables.downward import pods_downward_table
from cpuctl.cli.render.tables.held import kept_by_rejected, kept_cpus, kept_devices, kept_memory
from cpuctl.cli.render.tables.resources import (
    device_cells,
    device_columns,
    devices_table,
    granted_table,
    memory_cells,
    memory_columns,
    memory_table,
)
from cpuctl.cli.render.tables.start import start_block
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import full_name, shared_sentence, starts_first
from cpuctl.exports.outcomes import PODS, pod_counts_text, rejection_text, what_if_sentence
from cpuctl.phrases import POLICY_NONE, counted, few, named

if TYPE_CHECKING:
    from cpuctl.answers.decisions import (
        Container,
        CPUsLeft,
        ExclusiveContainer,
        Node,
        PlacedContainer,
        Pod,
        SharedContainer,
    )
    from cpuctl.answers.downward import DownwardItem
    from cpuctl.answers.plan import NotStartedPlan, PlanWarning, StartedPlan
    from cpuctl.answers.start import KubeletPolicies

_ALIGNMENTS: Mapping[Literal["core", "uncoreCache", "numaNode", "socket"], str] = {
    "core": "CORE",
    "uncoreCache": "L3",
    "numaNode": "NUMA",
    "socket": "SOCKET",
}
_COUNTED: Mapping[Literal["cpus", "cores", "sockets", "numaNodes", "uncoreCaches"], str] = {
    "cpus": "CPU",
    "cores": "core",
    "sockets": "socket",
    "numaNodes": "NUMA node",
    "uncoreCaches": "uncore cache",
}
_ALIGNED = {True: Cell("yes"), False: Cell("no", "yellow"), None: Cell("-")}


def blocks(document: StartedPlan | NotStartedPlan, *, wide: bool) -> Iterator[Block]:
    """Lay out a plan."""
    if "node" not in document:
        yield start_block(document["start"], check=document.get("next", ""))
        return
    yield Lines.of(*node_lines(document["node"], document["kubelet"], driver="driver" in document))
    if document["pods"]:
        yield from pods_tables(document["pods"], wide=wide, masks=True)
    yield from claims_blocks(document["pods"], wide=wide)
    about_pods = notes(document["warnings"], document["pods"])
    if lines := (*about_pods, *_policy_fix(document)):
        yield Lines(lines)
    if wide and (items := tuple(_downward_items(document["pods"]))):
        yield pods_downward_table(items)
    if document["node"]["cpuManagerPolicy"] != "none":
        yield numa_table(document["after"])
        yield from map(Lines.of, kept_by_rejected(document["after"], kept_cpus))
    if "memory" in document["after"]:
        yield memory_table(document["after"]["memory"], wide=wide)
        yield from map(Lines.of, kept_by_rejected(document["after"], kept_memory))
    if "devices" in document["after"]:
        yield devices_table(document["after"]["devices"])
        yield from map(Lines.of, kept_by_rejected(document["after"], kept_devices))
    yield Lines.of(*closing_lines(document))
    yield from headroom_blocks(document, wide=wide)
    if explain := document.get("explain"):
        yield next_line("to see why and what would help", explain)
    elif command := document.get("next"):
        yield next_step(command)


def next_step(command: str) -> Lines:
    """Return the next command, and its purpose, which follows from its verb."""
    purposes = {
        "cpuctl advise ": "to get settings with exclusive CPUs",
        "cpuctl dra slices ": "to see what claims can request",
        "cpuctl plan --capacity ": "to see what is free and what else fits",
        "cpuctl pods lint ": "to see where to change the manifests",
    }
    known = (what for verb, what in purposes.items() if without_sudo(command).startswith(verb))
    return next_line(next(known, "to assume enough devices"), command)


def claims_blocks(pods: Sequence[Pod], *, wide: bool) -> Iterator[Block]:
    """Show what pods get for their resource claims, if any has claims."""
    if any("claims" in pod for pod in pods):
        from cpuctl.cli.render.layouts.claimallocation import claims_table

        yield claims_table(pods, wide=wide)
        counted = ((full_name(pod), pod["accounting"]) for pod in pods if "accounting" in pod)
        if lines := [
            f"{name} uses {each['footprint']} CPUs in total, {each['claims']} of them from its claims"
            for name, each in counted
        ]:
            yield Lines.of(*lines)


def _downward_items(pods: Sequence[Pod]) -> Iterator[tuple[str, Sequence[DownwardItem]]]:
    """Yield the pods that read their resources through the downward API, and what they read."""
    for pod in pods:
        if "downwardAPI" in pod:
            yield full_name(pod), pod["downwardAPI"]


def node_lines(node: Node, kubelet: KubeletPolicies, *, driver: bool = False) -> Iterator[str]:
    """Show the node as its kubelet counts it, and the policies in use.

    *driver*: the driver for CPUs, not the kubelet, assigns CPUs to containers.
    """
    counts = ((node[key], noun) for key, noun in _COUNTED.items())
    yield ", ".join(counted(count, noun) for count, noun in counts if count is not None)
    if node["cpuManagerPolicy"] == "static":
        yield f"CPU Manager policy static, reserved {named(CPUSet.parse(node['reservedCPUs']))}"
    else:
        rest = "every container runs on all CPUs" if not driver else "the dra.cpu driver assigns CPUs"
        yield f"CPU Manager policy none: {rest}"
    if "topologyManagerScope" in node:
        policy, scope = kubelet["topologyManagerPolicy"], node["topologyManagerScope"]
        yield f"Topology Manager policy {policy}, scope {scope}"
    if kubelet["memoryManagerPolicy"] != "None":
        yield f"Memory Manager policy {kubelet['memoryManagerPolicy']}"
    if "policy" in kubelet and kubelet["cpuManagerPolicy"] != "none":
        yield what_if_sentence(kubelet["policy"])


def pods_tables(pods: Sequence[Pod], *, wide: bool, masks: bool = False) -> Iterator[Table]:
    """Show pods as ``pods_table`` does, but devices in a separate table: a row for both is too long."""
    yield pods_table(pods, wide=wide, masks=masks, devices=False)
    if (granted := granted_table(pods)).rows:
        yield granted


def pods_table(pods: Sequence[Pod], *, wide: bool, masks: bool = False, devices: bool = True) -> Table:
    """Show one row per container; wide adds its kind and how its CPUs were chosen, *masks* their masks."""
    columns = ["POD", "CONTAINER", "CPUS", *_ALIGNMENTS.values(), *memory_columns(pods)]
    columns += device_columns(pods) if devices else ()
    columns += ["KIND", "QOS", *(["MASK"] if masks else []), "HOW"] if wide else []
    rows = [
        tuple(cells.get(column, Cell("")) for column in columns)
        for pod, reached in _reached(pods)
        for cells in _pod_rows(pod, reached=reached)
    ]
    return Table(tuple(Column(name) for name in columns), tuple(rows))


def _reached(pods: Iterable[Pod]) -> Iterator[tuple[Pod, bool]]:
    """Yield for every pod whether the kubelet reached it: it reads none after one that makes it fail."""
    alive = True
    for pod in pods:
        yield pod, alive
        alive = alive and pod["outcome"] != "KubeletFault"


def claimed_cpus(pod: Pod, container: str) -> str:
    """Return the CPUs that a container has by claims; empty if it has none, or they are unknown."""
    claims = pod.get("claims", ())
    return ",".join(each["cpus"] for each in claims if each["cpus"] and container in each["containers"])


def _pod_rows(pod: Pod, *, reached: bool) -> Iterator[dict[str, Cell]]:
    name = Cell(full_name(pod))
    word, style = PODS[pod["outcome"]]
    outcome = Cell(word if reached else "not reached", style)
    if _holds_nothing(pod):
        names = [each["name"] for each in pod["containers"]]
        yield {"POD": name, "CONTAINER": Cell(pod.get("container") or few(names)), "CPUS": outcome}
        return
    for container in pod["containers"]:
        yield {
            "POD": name,
            "CONTAINER": Cell(container["name"]),
            "KIND": Cell(container["kind"]),
            "QOS": Cell(pod["qosClass"]),
            **(_given(container) if "cpus" in container else {"CPUS": Cell("-")}),
            **_claimed(pod, container),
        }
        name = Cell("")
    if pod["outcome"] != "Admitted":
        yield {"POD": name, "CONTAINER": Cell(pod.get("container", "")), "CPUS": outcome}


def _holds_nothing(pod: Pod) -> bool:
    """Return whether a pod is rejected before its containers are examined, and has no claims."""
    given = any("cpus" in container for container in pod["containers"])
    return bool(pod["outcome"] != "Admitted" and pod["containers"] and not given and "claims" not in pod)


def _claimed(pod: Pod, container: Container) -> dict[str, Cell]:
    """Show the CPUs of claims, after those that the CPU Manager has assigned as well, if any."""
    cpus = claimed_cpus(pod, container["name"])
    own = f"{container['cpus']}, " if "cpus" in container and container["exclusive"] else ""
    return {"CPUS": Cell(f"{own}claim: {CPUSet.parse(cpus)}", "cyan")} if cpus else {}


def _mask(container: PlacedContainer) -> str:
    """Write the exclusive CPUs of a container or pod as the kernel's interrupt files expect them."""
    own = container["isolation"] != "host"
    return CPUSet.parse(container["cpus"]).kernel_mask if own else ""


def _given(container: PlacedContainer) -> dict[str, Cell]:
    cpus = _exclusive(container) if container["exclusive"] else {"CPUS": _shared(container)}
    return {"MASK": Cell(_mask(container)), **cpus, **memory_cells(container), **device_cells(container)}


def _shared(container: SharedContainer) -> Cell:
    """Write the CPUs of a pod's own pool; the node's pool is shown once."""
    return Cell(f"pod: {container['cpus']}", "cyan") if container["isolation"] == "pod" else Cell("shared")


def _exclusive(container: ExclusiveContainer) -> dict[str, Cell]:
    cells = {"CPUS": Cell(container["cpus"], "green")}
    for key, column in _ALIGNMENTS.items():
        cells[column] = _ALIGNED[container["alignment"][key]]
    cells["HOW"] = Cell("; ".join(f"{step['rule']}: {step['cpus']}" for step in container["steps"]))
    return cells


def notes(warnings: Iterable[PlanWarning], pods: Iterable[Pod], explain: str | None = None) -> Iterator[Cell]:
    """List warnings, why pods are rejected and why containers share: each reason once.

    *explain* is the command that gives details about the first rejected pod.
    """
    for warning in warnings:
        yield warning_line(warning["message"])
    refusals: dict[Cell, list[str]] = {}
    sharing: dict[str, list[str]] = {}
    for pod, reached in _reached(pods):
        name = full_name(pod)
        if "evicted" in pod:
            yield Cell(f"{name}: the policy evicts {few(pod['evicted'])} for it", "yellow")
        if pod["outcome"] != "Admitted":
            refusals.setdefault(_refusal(pod, reached=reached), []).append(name)
        for container in pod["containers"]:
            if (
                "cpus" in container
                and not container["exclusive"]
                and not claimed_cpus(pod, container["name"])
            ):
                pool = "in its pod's pool" if container["isolation"] == "pod" else "shared"
                reason = f"{pool}, because {container['whyShared']}"
                sharing.setdefault(reason, []).append(f"{name} {container['name']}")
    for why, names in refusals.items():
        yield Cell(f"{few(names)}: {why.text}", why.style)
    if explain:
        yield Cell(f"  why, and what would help: {explain}")
    # What helps against the policy follows its sentence, so that comes last.
    for reason, names in sorted(sharing.items(), key=lambda each: POLICY_NONE in each[0]):
        yield Cell(f"{few(names)}: {reason}")


def _claims_cpus(pod: Pod) -> bool:
    return any(claim["cpus"] for claim in pod.get("claims", ()))


def _policy_fix(document: StartedPlan) -> Iterator[Cell]:
    """Explain why Guaranteed pods get no exclusive CPUs, and the command to begin with."""
    sharing = any(
        pod["outcome"] == "Admitted"
        and pod["qosClass"] == "Guaranteed"
        and not _claims_cpus(pod)
        and any(each.get("whyShared") == POLICY_NONE for each in pod["containers"])
        for pod in document["pods"]
    )
    if document["node"]["cpuManagerPolicy"] != "none" or not sharing:
        return
    if any(map(_claims_cpus, document["pods"])):
        yield Cell("  exclusive CPUs need a resource claim: the dra.cpu driver assigns them")
    else:
        yield Cell("  exclusive CPUs need cpuManagerPolicy: static")


def _refusal(pod: Pod, *, reached: bool) -> Cell:
    style = PODS[pod["outcome"]].style
    if not reached:
        return Cell("not reached: the kubelet failed earlier", style)
    return Cell(rejection_text(pod), style)


def numa_table(after: CPUsLeft) -> Table:
    """Show the remaining resources of every NUMA node."""
    columns = (Column("NODE", "right"), Column("CPUS"), Column("FREE", "right"), Column("FREE CPUS"))
    rows = [
        (Cell(str(node["id"])), Cell(node["cpus"]), Cell(str(node["free"])), Cell(node["freeCPUs"] or "-"))
        for node in after["numaNodes"]
    ]
    return Table(columns, tuple(rows))


def closing_lines(document: StartedPlan) -> Iterator[str]:
    """Summarize the plan."""
    after, summary = document["after"], document["summary"]
    # Without a policy no container is kept off a CPU, even if the kubelet sees no exclusive CPUs.
    if after["sharedPool"] or document["node"]["cpuManagerPolicy"] != "none":
        yield f"Shared pool: {after['sharedPool'] or 'empty'} ({counted(after['sharedPoolSize'], 'CPU')})"
    if "reservedCPUs" in document["node"]:
        reserved = document["node"]["reservedCPUs"]
        yield shared_sentence(after["sharedPool"], reserved, is_new=starts_first(document))
    if "driver" in document:
        from cpuctl.cli.render.layouts.claimallocation import shared_line

        yield shared_line(document["driver"])
    yield pod_counts_text(summary)
