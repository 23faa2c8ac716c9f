"""``cpuctl plan --compare``: the same pods on two kubelets that differ in some settings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuctl.inputs.configuration import load_setup
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.schema import SINCE
from cpuctl.kubelet.configuration.setting_words import SettingWords, read_setting_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.cli.output import Document
    from cpuctl.engine.start import StartResult
    from cpuctl.inputs.configuration import KubeletSetup
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.plan import Planner

OPTION = "--compare"
_SUFFIXES = (".yaml", ".yml", ".json")


def compare(planner: Planner, texts: tuple[str, str]) -> Document:
    """Plan once with each of two settings, and set the answers side by side."""
    from cpuctl.cli.answers.plan.comparison_answer import comparison_document

    asked = [_asked(text) for text in texts]
    sources = planner.planning.sources
    one, other = (_side(planner, each, sources) for each in asked)
    document = comparison_document(one, other, sources.entries)
    releases_alone = all(each.is_release for each in asked)
    return {**document, **_differences(planner, asked)} if releases_alone and _moves(document) else document


def _moves(document: Document) -> bool:
    """Tell whether both kubelets start, and something becomes of a pod that does not on the other side."""
    started = all(document[side]["start"]["outcome"] == "Started" for side in ("a", "b"))
    return started and document["summary"]["changed"] > 0


def _differences(planner: Planner, asked: Sequence[_Asked]) -> dict[str, Any]:
    """Name the differences between two releases that these pods show, each tried alone."""
    from cpuctl.cli.answers.plan.comparison_answer import difference_answer
    from cpuctl.engine.explain.releases import MOST_PODS, noticed
    from cpuctl.engine.release_effects import effects_of
    from cpuctl.kubelet.releases.differences import DIFFERENCES

    planning = planner.planning
    if len(planning.wanted) > MOST_PODS:
        return {}
    setup = [
        planning.loaded.setup._replace(version=each.words.version or planning.loaded.setup.version)
        for each in asked
    ]
    one, other = (load_setup(each, Sources()).kubelet for each in setup)
    names = [
        name
        for name in noticed(one)
        if DIFFERENCES[name].holds(*one.version) != DIFFERENCES[name].holds(*other.version)
    ]
    start = partial(planning.start, sources=Sources())
    shown = effects_of(start, (one, other), planning.wanted, names).shown_by_pods
    return {"differences": [difference_answer(name, one.version) for name in names if name in shown]}


class _Asked(NamedTuple):
    """One side: a configuration file in place of the one that is given, if one is named, and words on top."""

    file: str
    words: SettingWords

    @property
    def is_release(self) -> bool:
        """Whether the side differs from the other in its release at most."""
        return not (self.file or self.words.patch or self.words.gates)

    @property
    def text(self) -> str:
        """Name the side."""
        return ",".join(filter(None, (self.file, self.words.text)))


def _asked(text: str) -> _Asked:
    """Take what comes first for a file where it is called like one: settings are not."""
    first, _, rest = text.strip().partition(",")
    if first.endswith(_SUFFIXES) or ("/" in first and "=" not in first):
        return _Asked(first, read_setting_words(rest, OPTION))
    return _Asked("", read_setting_words(text, OPTION))


def _setup(planner: Planner, asked: _Asked, sources: Sources) -> KubeletSetup:
    """Return what the kubelet of a side is set up with before settings come on top."""
    planning = planner.planning
    if not asked.file:
        return planning.loaded.setup

    from cpuctl.inputs.kubelet import load_kubelet

    words = planning.words.kubelet._replace(config=asked.file)
    return load_kubelet(words, sources, machine=planning.source).setup


def _side(planner: Planner, asked: _Asked, sources: Sources) -> dict[str, Any]:
    """Plan with some settings; what is worth a warning on both sides is told once."""
    from cpuctl.cli.answers.config.parts import start_answer

    words, side = asked.words, {"settings": asked.text}
    own = Sources()
    own.entries |= sources.entries
    setup = _setup(planner, asked, own)
    setup = setup._replace(
        version=words.version or setup.version, released=setup.released or words.version is not None
    )
    try:
        kubelet = _kubelet(setup, words, own)
    except ConfigRefusedError as refused:
        version = {"version": str(setup.version)}
        return side | {"kubelet": version, "start": start_answer(refused.refusal), "pods": []}
    planned = planner.plan(kubelet, own)
    for minor, topics in own.unrecorded.items():
        sources.add_unrecorded(minor, topics)
    sources.warnings.extend(text for text in own.warnings if text not in sources.warnings)
    document = {key: member for key, member in planned.document.items() if key != "explain"}
    return side | document | _scatter(planned.node)


def _kubelet(setup: KubeletSetup, words: SettingWords, sources: Sources) -> Kubelet:
    """Load the configuration once as it is, and once with the settings as flags on top."""
    patch = {name: change for name, change in words.patch.items() if _known(name, setup, sources)}
    words = replace(words, patch=patch)
    settings = words.applied_to(load_setup(setup, Sources()).configuration.settings)
    gates = {**setup.gate_flags, **words.gates}
    return load_setup(setup._replace(overrides=settings, gate_flags=gates), sources).kubelet


def _known(name: str, setup: KubeletSetup, sources: Sources) -> bool:
    since = SINCE.get(name, 0)
    if since > setup.version.minor:
        why = f"kubelet {setup.version} does not know {name}, which came with 1.{since}"
        sources.warnings.append(f"{OPTION}: {why}")
    return since <= setup.version.minor


def _scatter(node: StartResult | None) -> dict[str, Any]:
    from cpuctl.cli.answers.plan.capacity_answer import fragmentation_answer
    from cpuctl.engine.capacity.fragmentation import fragmentation_of
    from cpuctl.engine.capacity.probe import settled
    from cpuctl.engine.node import Node

    if not isinstance(node, Node):
        return {}
    return {"fragmentation": fragmentation_answer(fragmentation_of(settled(node)))}
