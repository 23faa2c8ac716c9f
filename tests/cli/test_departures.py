"""An answer that depends on a departure from the KEPs links to its section of ``docs/keps.md``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpuctl import departures
from tests.audit.node_tree import clean_node
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl

PAGE = (Path(__file__).parents[2] / "docs" / "keps.md").read_text(encoding="utf-8")
MACHINE = ("-q", "-m", "synthetic:1s2n8c2t")
POD_LEVEL = "fixtures/pod-level"
STATIC = "--cpu-manager-policy=static --reserved-cpus=0"
DIVIDED = (*MACHINE, "--kubelet-config", f"{POD_LEVEL}/kubelet.yaml", "-f", f"{POD_LEVEL}/sharing.yaml")


def sharing(version: str, more: str = "") -> tuple[str, ...]:
    gates = ("--feature-gates", "PodLevelResources=true", "--kubelet-args", f"{STATIC}{more}")
    return (
        "explain",
        "pool",
        *MACHINE,
        "-f",
        f"{POD_LEVEL}/sharing.yaml",
        "--kubelet-version",
        version,
        *gates,
    )


POINTING = {
    departures.STATIC_MEMORY: (
        "explain",
        "pool",
        *DIVIDED,
        "--kubelet-args",
        "--topology-manager-scope=container",
    ),
    departures.SUMS: (
        "explain",
        "sums",
        *MACHINE,
        "-f",
        f"{POD_LEVEL}/never-stored.yaml",
        "--skip-apiserver",
    ),
    departures.INIT_LIMITS: ("explain", "init-above", *MACHINE, "-f", f"{POD_LEVEL}/init-above.yaml"),
    departures.GATES: (
        *("config", "check", *MACHINE, "--kubelet-version", "1.37"),
        *("--feature-gates", "PodLevelResourcesFixUpdateDefaulting=true"),
    ),
    departures.POD_DEFAULTS: ("explain", "plain", *MACHINE, "-f", f"{POD_LEVEL}/limited.yaml"),
    departures.STRICT_RESERVATION: (
        "config",
        "check",
        *MACHINE,
        "--kubelet-config",
        f"{POD_LEVEL}/strict.yaml",
    ),
    departures.OPTION_GROUPS: (
        *("config", "check", *MACHINE, "--kubelet-version", "1.33"),
        *("--kubelet-config", f"{POD_LEVEL}/no-group.yaml"),
    ),
    departures.CLASSES: ("explain", "processors", *MACHINE, "-f", f"{POD_LEVEL}/processors.yaml"),
    departures.GATE_OFF: sharing("1.33"),
    departures.CONTAINER_SCOPE: sharing("1.34", " --topology-manager-policy=restricted"),
    departures.LEAST_SHARED: ("config", "check", *MACHINE, "--kubelet-config", f"{POD_LEVEL}/archived.yaml"),
}


@pytest.mark.parametrize(
    ("line", "words"), POINTING.items(), ids=[line.partition("#")[2] for line in POINTING]
)
def test_an_answer_links_to_the_departure_that_decides(
    line: str, words: tuple[str, ...], cpuctl: Cpuctl
) -> None:
    result = cpuctl(*(word for word in words if word != "-q"), columns=1000)
    assert line in result.out + result.err


def test_control_groups_of_version_1_link_to_their_departure(cpuctl: Cpuctl, tmp_path: Path) -> None:
    node = written(clean_node(1).files, tmp_path / "node")
    # From 1.35 on such a node needs failCgroupV1: false.
    reported = ("-m", str(node), "-f", f"{POD_LEVEL}/init-above.yaml", "--kubelet-version", "1.34")
    assert departures.CGROUP_V1 in cpuctl("explain", "init-above", *reported, columns=1000).out


HALF = """apiVersion: v1
kind: Pod
metadata: {name: half}
spec:
  resources: {requests: {cpu: 4, memory: 2Gi}, limits: {cpu: 4, memory: 2Gi}}
  containers:
  - {name: app, image: x, resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}}
"""
"""Half of the pod's resources belong to no container."""


def divided(cpuctl: Cpuctl, state: Path) -> tuple[str, ...]:
    """Let a 1.37 kubelet divide a pod; return the options for commands about what it leaves."""
    state.mkdir()
    (state.parent / "half.yaml").write_text(HALF)
    reported = (
        "--kubelet-version",
        "1.37",
        "-f",
        str(state.parent / "half.yaml"),
        "--write-state",
        str(state),
    )
    assert cpuctl("plan", *DIVIDED[:5], *reported).code == 0
    return (*DIVIDED[1:5], "--kubelet-version", "1.37")


def test_restarts_with_pod_level_allocations_link_to_their_departure(cpuctl: Cpuctl, tmp_path: Path) -> None:
    words = divided(cpuctl, tmp_path / "state")
    pods = ("--state", str(tmp_path / "state"), "--pods", str(tmp_path / "half.yaml"))
    assert departures.RESTARTS in cpuctl("explain", "half", *words, *pods, columns=1000).out


def test_state_files_that_prevent_a_rollback_link_to_their_departure(cpuctl: Cpuctl, tmp_path: Path) -> None:
    words = divided(cpuctl, tmp_path / "state")
    verify = ("checkpoint", "verify", str(tmp_path / "state"), *words)
    assert departures.RESTARTS in cpuctl(*verify, columns=1000).out
    off = ("--feature-gates", "PodLevelResourceManagers=false")
    assert departures.ROLLBACK in cpuctl(*verify, *off, columns=1000).out
    assert departures.ROLLBACK in cpuctl(*verify[:-1], "1.35", *off, columns=1000).out


NOT_LINKED = {
    "oom-scores-of-burstable-pods": "explain and config check do not show OOM scores",
    "the-schedulers-minimum": "the minimum does not affect admission",
    "gate-off-in-the-api-server": "explain and config check are about the kubelet",
    "messages-for-unknown-fields": "the messages themselves name the field",
}
"""The departures that no command links to, and why."""


def test_every_other_departure_is_linked_to() -> None:
    names = re.findall(r"^## (.*?)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", name.lower()).replace(" ", "-") for name in names}
    named = {
        text.partition("#")[2] for name, text in vars(departures).items() if name.isupper() and "#" in text
    }
    named.discard("")  # the page itself
    assert named == {*anchors} - {*NOT_LINKED}
    tested_elsewhere = {departures.CGROUP_V1, departures.RESTARTS, departures.ROLLBACK}
    assert {line.partition("#")[2] for line in {*POINTING, *tested_elsewhere}} == named
