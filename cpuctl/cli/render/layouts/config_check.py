"""Layout of a check of a configuration: the verdict, the setting to change, one line per finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Lines, next_cell
from cpuctl.cli.render.findings import (
    CONFIGURATION,
    findings_block,
    fix_cells,
    fix_label,
    placeholder_cells,
    repair_cells,
    start_counts_text,
)
from cpuctl.cli.render.tables.start import kubelet_name, setting_cells, verdict_cell
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import advice, shared_sentence
from cpuctl.phrases import counted, named

if TYPE_CHECKING:
    from cpuctl.answers.config import ConfigCheck, ConfigFinding, PooledNode, Pools, UnpooledNode
    from cpuctl.answers.start import Start


def blocks(document: ConfigCheck, *, wide: bool, alone: bool = True) -> Iterator[Block]:
    """Lay out a check; wide adds columns with expected values and fixes.

    If it is not *alone*, the start also depends on state files that another check is about.
    """
    stated = (
        [] if wide else [each for each in document["findings"] if _repeats_start(each, document["start"])]
    )
    texts = [text for each in stated if (text := advice(each))]
    fixes = (cell for text in texts for cell in fix_cells(text, fix_label(text)))
    meanings = placeholder_cells(texts)
    yield Lines((*_verdict(document, wide=wide, alone=alone), *fixes, *meanings))
    findings = [each for each in document["findings"] if each not in stated]
    repair = () if wide else tuple(repair_cells(findings))
    if findings:
        yield findings_block(findings, CONFIGURATION, wide=wide, ends=not repair)
    failed = any(each["severity"] == "error" for each in stated)
    counts = start_counts_text(document["summary"], document["start"], stated=failed)
    yield Lines.of(counts, _unchecked(document, wide=wide))
    if repair:
        yield Lines((*repair, *placeholder_cells([advice(each) for each in findings])))
    if command := document.get("next"):
        yield Lines((next_cell("with the kubelet's flags", command), *placeholder_cells([command])))


def _unchecked(document: ConfigCheck, *, wide: bool) -> str:
    """List what was not checked; checks that need the kubelet on its host are a number unless *wide*."""
    named = [each["what"] for each in document["notChecked"] if wide or not each["settings"]]
    if rest := len(document["notChecked"]) - len(named):
        named.append(f"{counted(rest, 'check')} of the host (-o wide lists them)")
    return f"Not checked: {'; '.join(named)}"


def _repeats_start(finding: ConfigFinding, start: Start) -> bool:
    """Return whether a finding only repeats why the kubelet does not start, so that only its fix is new."""
    if start["outcome"] == "Started":
        return False
    why = start["error"] if start["outcome"] == "Rejected" else start["why"]
    return finding["message"] == why


def _verdict(document: ConfigCheck, *, wide: bool, alone: bool) -> Iterator[Cell]:
    start = document["start"]
    who = "The kubelet"
    if "kubelet" in document:
        who = kubelet_name(document["kubelet"]["version"], start, document["sources"])
    verdict = verdict_cell(start, who, errors=document["summary"]["error"])
    accepted = start["outcome"] == "Started" and not alone
    yield verdict._replace(text=f"{who} accepts this configuration.") if accepted else verdict
    if start["outcome"] == "Rejected" and "logged" in start and wide:
        yield Cell(f"The kubelet logs: {start['logged']}")
    yield from setting_cells(start)
    if node := document.get("node"):
        yield Cell(_node_line(node))
        if node["cpuManagerPolicy"] == "static":
            yield Cell(shared_line(node, is_new="cpuManagerState" not in document["sources"]))


def _node_line(node: PooledNode | UnpooledNode) -> str:
    policies = (
        f"CPU Manager policy {node['cpuManagerPolicy']}, topology policy {node['topologyManagerPolicy']}"
    )
    if node["cpuManagerPolicy"] == "none":
        return policies
    left = node["allocatableCPUs"]
    exclusive = f"exclusive CPUs from {left}" if left else "no CPUs for exclusive use"
    return f"{policies}, reserved {named(CPUSet.parse(node['reservedCPUs']))}, {exclusive}"


def shared_line(pools: Pools, *, is_new: bool = False) -> str:
    """Show where containers without exclusive CPUs run while no CPUs are exclusive.

    *is_new*: the kubelet is known not to have written a state file yet.
    """
    sentence = shared_sentence(pools["sharedCPUs"], pools["reservedCPUs"], is_new=is_new)
    return f"On an empty node, {sentence[:1].lower()}{sentence[1:]}"
