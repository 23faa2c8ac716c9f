"""Recorded rejections, explained; every suggestion is played again here as a separate scenario.

``python -m tests.conformance.explained DIR`` does it for all refusals of a corpus directory.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cpuctl.engine.explain.decision import Rule
from cpuctl.engine.explain.explanation import Explanation, explain
from cpuctl.engine.explain.scenario import Replay, Scenario, SearchBudget, replay_scenario
from cpuctl.engine.explain.searches.changes import (
    Change,
    EarlierPosition,
    Removal,
    RequestChange,
    SettingChange,
)
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, StartRefused
from cpuctl.engine.start import StartResult
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.pods.model import StoredPod
from tests.conformance.corpus import CorpusFile, Json, Recorded, corpus_files, version_of
from tests.conformance.coverage import GAPS
from tests.conformance.node_scenario import _Scenario, read_pod
from tests.conformance.node_start import kubelet_of


@dataclass(frozen=True, slots=True)
class Refusal:
    """Where in a scenario a pod was not admitted; ``uid`` is that of a pod admitted again after a restart."""

    case: Json
    step: int
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.case['name']}, step {self.step}{self.uid and f', pod {self.uid}'}"

    @property
    def config_at(self) -> int:
        """The step that would have another configuration: the last one that has any, or the restart.

        It is -1 for the first start.
        """
        return self.step if self.uid else self._configured_at

    @property
    def config(self) -> Json:
        """The current configuration."""
        at = self._configured_at
        config: Json = (self.case if at < 0 else self.case["steps"][at])["kubelet"]
        return config

    @property
    def _configured_at(self) -> int:
        steps = self.case["steps"][: self.step + 1]
        return max((place for place, step in enumerate(steps) if step.get("kubelet")), default=-1)

    @property
    def first(self) -> int:
        """The first of the consecutive admissions that end with this one."""
        if self.uid:
            return self.step
        before = self.case["steps"][: self.step]
        return max((place + 1 for place, step in enumerate(before) if step["op"] != "admit"), default=0)


def refusals(recorded: Recorded) -> Iterator[Refusal]:
    """Yield what the kubelet did not admit in a covered scenario."""
    if recorded.operation != "node" or any(gap.applies(recorded) for gap in GAPS):
        return
    answers = recorded.expect["steps"] + ([{"admitted": False}] if recorded.expect.get("hang") else [])
    for place, answer in enumerate(answers):
        if answer.get("admitted") is False or "panic" in answer:
            yield Refusal(recorded.case, place)
        for again in answer.get("readmitted", ()):
            if again["admitted"] is False:
                yield Refusal(recorded.case, place, again["podUID"])


def explained(refusal: Refusal) -> Explanation:
    """Explain a rejection; the engine must reject the pod, too."""
    replay = replay_scenario(_scenario(refusal), SearchBudget())
    assert isinstance(replay, Replay), replay
    assert not isinstance(replay.admission.verdict, Admitted)
    return explain(replay)


def problems(refusal: Refusal) -> Iterator[str]:
    """Yield what is wrong with the explanation of a rejection."""
    explanation = explained(refusal)
    if explanation.decision.rule is Rule.UNKNOWN:
        yield f"{refusal}: no rule: {explanation.decision.why}"
    for search in explanation.searches:
        for suggestion in search.found:
            if not admits(refusal, suggestion.change):
                yield f"{refusal}: not admitted with {suggestion.change}"


def admits(refusal: Refusal, change: Change) -> bool:
    """Play the scenario with one change in its text, and return whether the pod is admitted."""
    case, at = _changed(refusal, change)
    last = _play(case, case["steps"][: at + 1])[1]
    if refusal.uid:
        last = next((each for each in last.get("readmitted", ()) if each["podUID"] == refusal.uid), {})
    return last.get("admitted") is True


def _scenario(refusal: Refusal) -> Scenario:
    case, first = refusal.case, refusal.first
    pods: list[StoredPod] = [
        read_pod(step) for step in case["steps"][first : refusal.step + 1] if step["op"] == "admit"
    ]
    requested = len(pods) - 1
    version = version_of(case)
    kubelet = kubelet_of(refusal.config, version)
    found = _started(refusal, kubelet)
    assert isinstance(found, Node), found
    if refusal.uid:
        pods = list(found.active.values())
        requested = next(place for place, pod in enumerate(pods) if pod.uid == refusal.uid)
    return Scenario(
        # Only another configuration changes what came before.
        start=lambda other: found.copy() if other is kubelet else _started(refusal, other),
        kubelet=kubelet,
        pods=tuple(pods),
        position=requested,
        restarted=bool(refusal.uid),
    )


def _started(refusal: Refusal, kubelet: Kubelet) -> StartResult:
    """Play everything before the admissions, with this kubelet's configuration."""
    case = _configured(refusal, _settings(kubelet))
    steps = case["steps"][: refusal.first]
    if refusal.uid:
        steps = [*steps, case["steps"][refusal.step] | {"readmit": False}]
    node, last = _play(case, steps)
    return node or StartRefused(stage="played", error=str(last))


def _play(case: Json, steps: list[Json]) -> tuple[Node | None, Json]:
    """Play steps, and return the node and the last answer; files are written if a restart reads them."""
    scenario = _Scenario(case)
    answer: Json = scenario._start()
    for step in steps:
        if step["op"] == "restart" and scenario.node is not None:
            scenario.files.save(scenario.node)
        answer = scenario._step(step)
        if "hang" in answer or "panic" in answer:
            break
    return scenario.node, answer


def _settings(kubelet: Kubelet) -> Json:
    config = kubelet.config
    return {
        "cpuManagerPolicyOptions": dict(config.cpu_manager_policy_options),
        "memoryManagerPolicy": config.memory_manager_policy,
        "topologyManagerPolicy": config.topology_manager_policy,
        "topologyManagerPolicyOptions": dict(config.topology_manager_policy_options),
        "topologyManagerScope": config.topology_manager_scope,
    }


def _configured(refusal: Refusal, settings: Json) -> Json:
    """Put settings on top of the current configuration."""
    case, at, config = refusal.case, refusal.config_at, refusal.config | settings
    if at < 0:
        return case | {"kubelet": config}
    steps = list(case["steps"])
    steps[at] = steps[at] | {"kubelet": config}
    return case | {"steps": steps}


def _changed(refusal: Refusal, change: Change) -> tuple[Json, int]:
    """Change a scenario's text, and return the step in which the pod is then admitted."""
    case, at, steps = refusal.case, refusal.step, list(refusal.case["steps"])
    match change:
        case SettingChange(setting=setting, option=option, after=after):
            value: Any = refusal.config.get(setting, {}) | {option: after} if option else after
            return _configured(refusal, {setting: value}), at
        case RequestChange():
            steps[at] = steps[at] | {"pod": _requesting(steps[at]["pod"], change)}
        case Removal(pods=pods):
            gone = [{"op": "removePod", "podUID": pod.uid, "gc": bool(refusal.uid)} for pod in pods]
            steps[at:at] = gone
            at += len(gone)
        case EarlierPosition(position=place):
            at = refusal.first + place
            steps.insert(at, steps.pop(refusal.step))
    return case | {"steps": steps}, at


def _requesting(pod: Json, change: RequestChange) -> Json:
    def container(each: Json) -> Json:
        amounts = {
            mine.resource: str(mine.after) for mine in change.amounts if mine.container == each["name"]
        }
        resources = each.get("resources", {})
        # For resources that a container does not have yet, requests and limits become equal.
        new = all(mine.before.sign == 0 for mine in change.amounts if mine.container == each["name"])
        sides = {
            side: resources.get(side, {}) | amounts
            for side in ("requests", "limits")
            if new or side in resources
        }
        return each | {"resources": sides} if amounts else each

    own = {mine.resource: str(mine.after) for mine in change.amounts if not mine.container}
    spec = pod["spec"]
    if own:
        sides = {side: amounts | own for side, amounts in spec["resources"].items()}
        spec = spec | {"resources": sides}
    lists = {
        key: [container(each) for each in spec[key]]
        for key in ("containers", "initContainers")
        if key in spec
    }
    return pod | {"spec": spec | lists}


def main(directory: Path) -> int:
    """Explain every refusal of a corpus directory."""
    failures = 0
    for corpus_file in corpus_files(directory):
        counts: Counter[str] = Counter()
        for refusal in all_refusals(corpus_file):
            counts["refusals"] += 1
            for problem in problems(refusal):
                counts["problems"] += 1
                sys.stdout.write(f"    {problem}\n")
        sys.stdout.write(
            f"{corpus_file.name}: {counts['refusals']} refusals, {counts['problems']} problems\n"
        )
        sys.stdout.flush()
        failures += counts["problems"]
    return 1 if failures else 0


def all_refusals(corpus_file: CorpusFile) -> Iterator[Refusal]:
    """Yield the refusals of one file."""
    for recorded in corpus_file.recorded():
        yield from refusals(recorded)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
