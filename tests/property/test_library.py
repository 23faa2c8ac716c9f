"""``import cpuctl`` and the commands give the same answers: both call the same operations."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cpuctl
from cpuctl.cli.app import run
from tests.dra.claims import claim, cpus, pod

STATIC = "fixtures/kubelet/static.yaml"
MACHINES = (
    "synthetic:1s1n4c2t,mem=16Gi",
    "synthetic:2s2n8c2t,mem=64Gi",
    "synthetic:2s4n4c1t,mem=32Gi",
    "fixtures/machines/2s-8numa-64cpu.tar.xz",
)
KUBELETS = (
    "",
    "--topology-manager-policy=restricted",
    "--topology-manager-policy=single-numa-node --topology-manager-scope=pod",
    "--cpu-manager-policy-options=full-pcpus-only=false",
    "--reserved-cpus=0,99",
)
POLICIES = ("", "", "koordinator,bind=spread", "katalyst,strategy=packing")
LIMITS = """
apiVersion: v1
kind: LimitRange
metadata: {name: most, namespace: default}
spec: {limits: [{type: Container, max: {cpu: "6"}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: all, namespace: default}
spec: {hard: {requests.cpu: "9"}}
"""


class Drawn(NamedTuple):
    """A node and new pods: the CPUs of pods of templates, and of pods with claims."""

    machine: str
    arguments: str
    policy: str
    cpus: list[int]
    claimed: list[int]
    limited: bool
    resized: int

    @property
    def words(self) -> list[str]:
        node = ["-m", self.machine, "--kubelet-config", STATIC, "--kubelet-args", self.arguments]
        return [*node, *(("--policy", self.policy) if self.policy else ())]

    @property
    def manifests(self) -> str:
        claims = (
            claim(f"claim{n}", cpus(count)) + pod(f"claiming{n}", f"claim{n}")
            for n, count in enumerate(self.claimed)
        )
        return "".join([LIMITS, *claims] if self.limited and self.claimed else claims)

    @property
    def templates(self) -> list[str]:
        return [f"pod{n}={count}/{count},1Gi" for n, count in enumerate(self.cpus)]


@st.composite
def nodes(draw: st.DrawFn) -> Drawn:
    return Drawn(
        draw(st.sampled_from(MACHINES)),
        draw(st.sampled_from(KUBELETS)),
        draw(st.sampled_from(POLICIES)),
        draw(st.lists(st.integers(1, 10), min_size=1, max_size=4)),
        draw(st.lists(st.integers(1, 10), max_size=2)),
        draw(st.booleans()),
        draw(st.integers(1, 10)),
    )


def printed(*words: str) -> dict[str, Any]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        run([*words, "-q", "-o", "json"])
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


@given(nodes())
@settings(deadline=None, max_examples=15)
def test_commands_and_the_library_answer_the_same(drawn: Drawn) -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "pods.yaml"
        file.write_text(drawn.manifests)
        files = [str(file)] if drawn.manifests else []
        words = [*drawn.words, *(f"-f{each}" for each in files), *(f"-T{each}" for each in drawn.templates)]
        planned = printed("plan", *words)
        machine = cpuctl.read_machine(drawn.machine)
        configuration = cpuctl.read_configuration(STATIC, machine, arguments=drawn.arguments)
        if planned["start"]["outcome"] != "Started":
            with pytest.raises(cpuctl.NotStartedError) as error:
                cpuctl.make_node(machine, configuration)
            assert error.value.start == planned["start"]
            return
        node = cpuctl.make_node(machine, configuration, policy=drawn.policy)
        pods = cpuctl.read_pods(*files, templates=drawn.templates)
        assert [node.admit(each).answer for each in pods] == planned["pods"]
        assert (str(node.free), str(node.shared_pool)) == (
            planned["after"]["freeCPUs"],
            planned["after"]["sharedPool"],
        )
        last = pods[-1]
        assert node.explain(last).answer == printed("explain", last.name, *words)
        if last.name in node.pods:
            requested = printed("resize", *words, "--set", f"{last.name}:cpu={drawn.resized}")
            resized = node.resize(last.with_resources(last.containers[0], cpu=str(drawn.resized)))
            assert [{**resized.answer, "fix": each["fix"]} for each in requested["pods"]] == requested["pods"]
            assert len(requested["pods"]) == 1
