"""Which release brought the rule behind a decision, and which one mends or changes it."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.engine.admission import Admission
from cpuctl.engine.explain.known_defects import KnownDefect
from cpuctl.engine.explain.scenario import Replay, SearchBudget, replay_scenario
from cpuctl.engine.outcome import Rejected
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.kubelet.releases.concerns import FeatureUse, difference_concerns
from cpuctl.kubelet.releases.difference import DECIDING, Difference, Evidence
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.records import replace

MOST_PODS = 64
"""With more pods before the one in question a scenario takes too long to be replayed for every difference."""


def release_notes(replay: Replay) -> Iterator[KnownDefect]:
    """Yield the differences between releases that decide: with each taken the other way, another answer."""
    scenario = replay.scenario
    kubelet, fate = scenario.kubelet, _fate(replay.admission)
    for name in noticed(kubelet) if len(scenario.pods) <= MOST_PODS else ():
        turned = replace(scenario, kubelet=replace(kubelet, turned=frozenset({name})))
        other = replay_scenario(turned, SearchBudget(), 1)
        if isinstance(other, Replay) and _fate(other.admission) != fate:
            yield _note(DIFFERENCES[name], kubelet.version)


def noticed(kubelet: Kubelet) -> Iterator[str]:
    """Yield the differences that decide on pods and that a configuration can notice, by their names."""
    use = FeatureUse.of(kubelet.config, frozenset(), drop_ins=False, gates=kubelet.gates.settings)
    for name in Behaviours._fields:
        difference = DIFFERENCES[name]
        if difference.area in DECIDING and difference_concerns(name, difference, use):
            yield name


def _fate(admission: Admission) -> object:
    """Sum up what becomes of a pod; the words of a refusal change more often than the refusal."""
    verdict = admission.verdict
    placed = [(each.cpus, each.exclusive, each.memory, each.devices) for each in admission.placements]
    return type(verdict), verdict.reason if isinstance(verdict, Rejected) else "", placed


def _note(difference: Difference, version: KubeletVersion) -> KnownDefect:
    source = difference.source
    reference = f"kubernetes/kubernetes#{source}" if source.isdecimal() else source
    doubt = "" if difference.evidence is Evidence.VERIFIED else " (not verified)"
    if difference.holds(*version):
        return KnownDefect(f"since {difference.begin}; before, {difference.before}{doubt}", reference)
    never = "" if difference.known_in(version.minor) else f"; no known patch of 1.{version.minor} does"
    return KnownDefect(f"from {difference.begin} on, {difference.after}{never}{doubt}", reference)
