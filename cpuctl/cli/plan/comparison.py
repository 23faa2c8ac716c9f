"""``cpuctl plan --compare``: the same pods on two kubelets that differ in some settings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cpuctl.cli.sources.config_inputs import load_told
from cpuctl.cli.sources.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.schema import SINCE
from cpuctl.kubelet.configuration.setting_words import SettingWords, read_setting_words

if TYPE_CHECKING:
    from cpuctl.cli.output import Document
    from cpuctl.cli.plan.planning import Planner
    from cpuctl.cli.sources.config_inputs import Told
    from cpuctl.engine.start import StartResult
    from cpuctl.kubelet.kubelet import Kubelet

OPTION = "--compare"


def compare(planner: Planner, texts: tuple[str, str]) -> Document:
    """Plan once with each of two settings, and set the answers side by side."""
    from cpuctl.cli.answers.plan.comparison_answer import comparison_document

    words = [read_setting_words(text, OPTION) for text in texts]
    sources = planner.planning.sources
    one, other = (_side(planner, each, sources) for each in words)
    return comparison_document(one, other, sources.entries)


def _side(planner: Planner, words: SettingWords, sources: Sources) -> dict[str, Any]:
    """Plan with some settings; what is worth a warning on both sides is told once."""
    from cpuctl.cli.answers.config.parts import start_answer

    told = planner.planning.told.told
    told = told._replace(version=words.version or told.version)
    own = Sources()
    own.entries |= sources.entries
    side: dict[str, Any] = {"settings": words.text}
    try:
        kubelet = _kubelet(told, words, own)
    except ConfigRefusedError as refused:
        version = {"version": str(told.version)}
        return side | {"kubelet": version, "start": start_answer(refused.refusal), "pods": []}
    planned = planner.plan(kubelet, own)
    sources.warnings.extend(text for text in own.warnings if text not in sources.warnings)
    return side | dict(planned.document) | _scatter(planned.node)


def _kubelet(told: Told, words: SettingWords, sources: Sources) -> Kubelet:
    """Load the configuration once as it is, and once with the settings as flags on top."""
    patch = {name: change for name, change in words.patch.items() if _known(name, told, sources)}
    words = replace(words, patch=patch)
    settings = words.applied_to(load_told(told, Sources()).loaded.settings)
    gates = {**told.gate_flags, **words.gates}
    return load_told(told._replace(overrides=settings, gate_flags=gates), sources).kubelet


def _known(name: str, told: Told, sources: Sources) -> bool:
    since = SINCE.get(name, 0)
    if since > told.version.minor:
        why = f"kubelet {told.version} does not know {name}, which came with 1.{since}"
        sources.warnings.append(f"{OPTION}: {why}")
    return since <= told.version.minor


def _scatter(node: StartResult | None) -> dict[str, Any]:
    from cpuctl.cli.answers.plan.capacity_answer import fragmentation_answer
    from cpuctl.engine.capacity.fragmentation import fragmentation_of
    from cpuctl.engine.capacity.probe import settled
    from cpuctl.engine.node import Node

    if not isinstance(node, Node):
        return {}
    return {"fragmentation": fragmentation_answer(fragmentation_of(settled(node)))}
