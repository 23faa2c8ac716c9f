"""How a check of a configuration looks to people: the verdict, where to mend it, one line a finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cpuctl.cli.output import Document
from cpuctl.cli.render.blocks import Block, Cell, Lines
from cpuctl.cli.render.findings import CONFIGURATION, count_start_words, findings_block
from cpuctl.exports.outcomes import start_look
from cpuctl.exports.plan_words import shared_sentence


def blocks(document: Document, *, wide: bool) -> Iterator[Block]:
    """Lay out a check; wide adds what was expected and how to mend it as columns."""
    yield Lines(tuple(_verdict(document, wide=wide)))
    findings = document["findings"]
    if findings:
        yield findings_block(findings, CONFIGURATION, wide=wide)
    unseen = "; ".join(each["what"] for each in document["notLookedAt"])
    yield Lines.of(count_start_words(document), f"Not looked at: {unseen}")


def _verdict(document: Document, *, wide: bool) -> Iterator[Cell]:
    start = document["start"]
    version = document.get("kubelet", {}).get("version")
    who = f"Kubelet {version}" if version else "The kubelet"
    yield Cell(*start_look(start, who))
    if "logged" in start and wide:
        yield Cell(f"It logs: {start['logged']}")
    for place in start.get("mend", ()):
        if text := mend_line(place):
            yield Cell(f"  mend {text}")
    if node := document.get("node"):
        yield Cell(_node_line(node))
        if text := shared_line(node):
            yield Cell(text)


def mend_line(place: Mapping[str, Any]) -> str:
    """Say where a setting stands that is to be mended."""
    if place["where"] is None:
        return f"{place['setting']}, which nobody has set" if place["setting"] else ""
    return f"{place['where']}: {place['setting']}" if place["setting"] else place["where"]


def _node_line(node: Mapping[str, Any]) -> str:
    policies = (
        f"CPU Manager policy {node['cpuManagerPolicy']}, topology policy {node['topologyManagerPolicy']}"
    )
    if "reservedCPUs" not in node:
        return policies
    exclusive = f"exclusive CPUs out of {node['allocatableCPUs'] or 'none'}"
    return f"{policies}, reserved CPUs {node['reservedCPUs']}, {exclusive}"


def shared_line(node: Mapping[str, Any]) -> str:
    """Say where containers without exclusive CPUs run, where the node hands out any."""
    return shared_sentence(node["sharedCPUs"], node["reservedCPUs"]) if "sharedCPUs" in node else ""
