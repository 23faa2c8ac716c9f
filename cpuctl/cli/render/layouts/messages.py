"""Layout of recognized messages: the message, its meaning, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.cli.render.layouts import explanation
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.explanation import FoundMessage, Messages


_ELSEWHERE = (
    "Only messages about CPUs, memory, devices and topology are known. Try instead:",
    "  a pod is rejected           cpuctl explain POD -f PODS",
    "  the kubelet does not start  cpuctl config check; cpuctl checkpoint verify",
)
"""The text if nothing is recognized, with commands to try."""


PLACEHOLDERS = {
    "POD": "the pod",
    "PODS": "the pod's manifest",
    "MANIFESTS": "manifests of static pods",
    "PODS_AND_CLAIMS": "the pod's manifest, its ResourceClaims, DeviceClasses and ResourceSlices",
    "NAMESPACE_OBJECTS": "the namespace's LimitRanges and ResourceQuotas "
    "(kubectl get limitranges,resourcequotas -n NAMESPACE -o yaml)",
    "NODE": "a recording (cpuctl capture); on the node itself, use sudo and omit -m NODE",
    "CONFIG": "the kubelet's configuration",
    "STATE": "the state files",
    "RUNNING": f"the running pods ({option_names.PODS_OF_NODE.replace('=NODE', '=NAME')}; NAME: the node's)",
    "ALL_PODS": "the running pods of all nodes (kubectl get pods -A -o json)",
    "NODES": "the Nodes (kubectl get nodes -o json)",
    "RECORDINGS": "recordings of the nodes (cpuctl capture)",
    "OBJECTS": "the NodeResourceTopologies (kubectl get noderesourcetopologies -o json)",
    "FILE": "the devices of the node (cpuctl topology devices drafts it)",
    "VERSION": "a kubelet version, such as 1.36",
    "RESOURCE": "cpu or memory",
    "N": "the new request, such as 4 or 2Gi",
}
"""What stands for a name or a file in a command, in the order in which it is explained."""


def blocks(document: Messages, *, wide: bool) -> Iterator[Block]:
    """Lay out messages, each below its line; wide also shows the values in them."""
    release = document["release"]
    for each in document["messages"]:
        rows = tuple((Cell(label), cell) for label, cell in _facts(each, release, wide=wide))
        yield Table((Column("MESSAGE"), Column(each["text"])), rows)
    yield Lines.of(*_closing(document))
    if document["explanation"] is not None:
        yield from explanation.blocks(document["explanation"], wide=wide)


def _closing(document: Messages) -> Iterator[str]:
    if not document["lines"]:
        yield "There is no message to explain: expected a line of an event, a status or a log."
        return
    yield _summary(document)
    if not document["messages"]:
        yield from _ELSEWHERE
    words = {
        word
        for each in document["messages"]
        for command in each["commands"]
        for word in re.findall(r"\b[A-Z_]+\b", command)
    }
    yield from (f"{name}: {meaning}" for name, meaning in PLACEHOLDERS.items() if name in words)


def _facts(each: FoundMessage, release: str | None, *, wide: bool) -> Iterator[tuple[str, Cell]]:
    yield "FROM", Cell(f"{each['component']}{_where(each)}")
    if each["releases"] is not None:
        note = "" if each["printed"] is not False else f": not printed by kubelet {release}"
        yield "RELEASES", Cell(f"{each['releases']}{note}", "yellow" if note else "")
    yield "MEANS", Cell(each["meaning"])
    if wide and each["values"]:
        yield "VALUES", Cell(", ".join(f"{name} {value}" for name, value in each["values"].items()))
    if each["fix"] is not None:
        yield "FIX", Cell(each["fix"])
    for command in each["commands"]:
        yield "NEXT", Cell(command, command=True)


def _where(each: FoundMessage) -> str:
    """Return the pod, and the lines unless there is only one."""
    container = f", container {each['container']}" if each["container"] else ""
    pod = f", pod {each['pod']}{container}" if each["pod"] else ""
    lines = f", {each['count']} times from line {each['line']} on" if each["count"] > 1 else ""
    return f"{pod}{lines}"


def _summary(document: Messages) -> str:
    omitted = f", {document['omitted']} more not shown" if document["omitted"] else ""
    found = counted(len(document["messages"]), "message")
    lines = counted(document["lines"], "line")
    return f"{found} recognized in {lines}, {document['unrecognized']} not recognized{omitted}"
