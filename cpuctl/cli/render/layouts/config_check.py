"""How a check of a configuration looks to people: the verdict, where to mend it, one line a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Lines
from cpuctl.cli.render.findings import CONFIGURATION, count_start_words, findings_block
from cpuctl.exports.outcomes import start_look
from cpuctl.exports.wording import shared_sentence

if TYPE_CHECKING:
    from cpuctl.answers.config import ConfigCheck, PooledNode, Pools, UnpooledNode
    from cpuctl.answers.start import SettingToMend, Start


def blocks(document: ConfigCheck, *, wide: bool) -> Iterator[Block]:
    """Lay out a check; wide adds what was expected and how to mend it as columns."""
    yield Lines(tuple(_verdict(document, wide=wide)))
    findings = document["findings"]
    if findings:
        yield findings_block(findings, CONFIGURATION, wide=wide)
    unseen = "; ".join(each["what"] for each in document["notLookedAt"])
    yield Lines.of(count_start_words(document["summary"], document["start"]), f"Not looked at: {unseen}")


def _verdict(document: ConfigCheck, *, wide: bool) -> Iterator[Cell]:
    start = document["start"]
    who = f"Kubelet {document['kubelet']['version']}" if "kubelet" in document else "The kubelet"
    yield Cell(*start_look(start, who))
    if start["outcome"] == "Refused" and "logged" in start and wide:
        yield Cell(f"It logs: {start['logged']}")
    for place in settings_to_mend(start):
        if text := mend_line(place):
            yield Cell(f"  mend {text}")
    if node := document.get("node"):
        yield Cell(_node_line(node))
        if node["cpuManagerPolicy"] == "static":
            yield Cell(shared_line(node))


def settings_to_mend(start: Start) -> Sequence[SettingToMend]:
    """Return the settings that a kubelet stumbles over, as far as an answer names them."""
    return start.get("mend", ()) if start["outcome"] in ("Refused", "KubeletFault") else ()


def mend_line(place: SettingToMend) -> str:
    """Say where a setting stands that is to be mended."""
    if place["where"] is None:
        return f"{place['setting']}, which nobody has set" if place["setting"] else ""
    return f"{place['where']}: {place['setting']}" if place["setting"] else place["where"]


def _node_line(node: PooledNode | UnpooledNode) -> str:
    policies = (
        f"CPU Manager policy {node['cpuManagerPolicy']}, topology policy {node['topologyManagerPolicy']}"
    )
    if node["cpuManagerPolicy"] == "none":
        return policies
    exclusive = f"exclusive CPUs out of {node['allocatableCPUs'] or 'none'}"
    return f"{policies}, reserved CPUs {node['reservedCPUs']}, {exclusive}"


def shared_line(pools: Pools) -> str:
    """Say where containers without exclusive CPUs run."""
    return shared_sentence(pools["sharedCPUs"], pools["reservedCPUs"])
