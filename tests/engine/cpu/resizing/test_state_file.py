"""What a resize leaves in ``cpu_manager_state``: baselines, if feature gate and release keep them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.engine.node import Node
from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.engine.resize.outcome import ResizeResult
from cpuctl.engine.resize.rules import EXCLUSIVE_CPUS, keeps_baselines
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from tests.support.resizing import PREVIEW, Setting, admitted, guaranteed, held, pod_of, request

OFF: Mapping[str, bool] = {EXCLUSIVE_CPUS: False}
PROMISED = {"p": {"c": {"baseline": "6-7"}}}


@dataclass(frozen=True, slots=True)
class Files:
    """A kubelet's state files as text."""

    setting: Setting

    @property
    def reader(self) -> StateReader:
        gates = FeatureGates(self.setting.minor, self.setting.gates)
        return StateReader(minor=self.setting.minor, exclusive_resize=gates.enabled(EXCLUSIVE_CPUS))

    def write(self, node: Node) -> str:
        return write_cpu_state(node.state_file(), self.reader)

    def restored(self, text: str) -> Node:
        node = self.setting.node()
        assert node.restore(read_cpu_state(text, self.reader)) is None
        return node


def data(text: str) -> Any:
    """Return what kubelets from 1.37 on read; older ones read the fields next to it."""
    return json.loads(json.loads(text)["data"])


def two_cpus(setting: Setting) -> Node:
    node = setting.node()
    admitted(node, pod_of(guaranteed("2")))
    return node


def resized(node: Node, setting: Setting, cpus: int) -> ResizeResult:
    return decide(
        node, request(node.active["p"], c=f"cpu={cpus}"), ResizePath(kubelet=setting.rules(preview=True))
    ).result


def test_the_promise_is_written_and_stays() -> None:
    setting = Setting()
    node, files = two_cpus(setting), Files(setting)
    assert data(files.write(node))["baselines"] == PROMISED
    assert resized(node, setting, 4) is ResizeResult.ADMITTED
    document = data(files.write(node))
    assert (document["entries"], document["baselines"]) == ({"p": {"c": "6-9"}}, PROMISED)


def test_after_a_restart_the_promise_still_holds() -> None:
    setting = Setting()
    node, files = two_cpus(setting), Files(setting)
    (given,) = node.active.values()
    assert resized(node, setting, 4) is ResizeResult.ADMITTED
    again = files.restored(files.write(node))
    again.resume(node.active.values())
    assert again.state_file() == node.state_file()
    assert resized(again, setting, 1) is ResizeResult.INFEASIBLE
    assert resized(again, setting, 2) is ResizeResult.ADMITTED
    assert held(again) == "6-7"
    assert again.active["p"].containers == given.containers


@pytest.mark.parametrize(("minor", "gates"), [(38, OFF), (38, {}), (36, PREVIEW), (36, {}), (34, PREVIEW)])
def test_without_gate_or_release_no_baselines_are_written(minor: int, gates: Mapping[str, bool]) -> None:
    """The bytes are those of a kubelet that does not know resizes; baselines were added in 1.37."""
    setting = Setting(minor=minor, gates=gates)
    node = two_cpus(setting)
    assert not node.state_file().baselines
    text = Files(setting).write(node)
    assert "aseline" not in text
    node.cpu.keeps_baselines = True
    assert Files(setting).write(node) == text


def test_a_kubelet_without_baselines_promises_what_a_container_has_at_restart() -> None:
    """Up to 1.36, a restart promises a container the CPUs that it holds at that time."""
    setting = Setting(minor=36)
    node, files = two_cpus(setting), Files(setting)
    assert resized(node, setting, 4) is ResizeResult.ADMITTED
    again = files.restored(files.write(node))
    again.resume(node.active.values())
    assert again.state.baseline("p", "c") == again.state.assigned("p", "c")
    assert resized(again, setting, 2) is ResizeResult.INFEASIBLE


@pytest.mark.parametrize(
    ("minor", "gates", "keeps"),
    [(36, PREVIEW, False), (37, {}, False), (37, PREVIEW, True), (38, PREVIEW, True), (38, OFF, False)],
)
def test_which_kubelets_keep_promises(minor: int, gates: Mapping[str, bool], *, keeps: bool) -> None:
    assert keeps_baselines(FeatureGates(minor, gates)) is keeps
    assert Setting(minor=minor, gates=gates).node().cpu.keeps_baselines is keeps
