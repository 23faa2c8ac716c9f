"""A misspelt field of a manifest is one mistake, and no command is silent about it."""

from __future__ import annotations

import textwrap

import pytest

from tests.cli.conftest import Cpuctl

POD = """apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: main
    resources:
      requests: {cpu: "2", memory: 1Gi}
      limits: {cpu: "2", memory: 1Gi}
"""
NODE = ("-m", "synthetic:2s2n8c2t,mem=64Gi", "--kubelet-config", "fixtures/kubelet/static.yaml")
IGNORED = {
    "resources:": ("resourcs:", "7: spec.containers[0].resourcs"),
    "limits:": ("limit:", "9: spec.containers[0].resources.limit"),
    "containers:": ("initContainer: []\n  containers:", "5: spec.initContainer"),
}
"""What is replaced by what, and where it is ignored."""


@pytest.mark.parametrize("right", IGNORED)
@pytest.mark.parametrize("verb", ["plan", "explain web", "pods show"])
def test_a_field_that_is_ignored_is_named(verb: str, right: str, cpuctl: Cpuctl) -> None:
    """A pod without amounts is admitted, and has no exclusive CPUs: nothing else would tell."""
    wrong, place = IGNORED[right]
    answer = cpuctl(*verb.split(), *NODE, "-f", "-", stdin=POD.replace(right, wrong).encode())
    meant = "initContainers" if right == "containers:" else right.removesuffix(":")
    warnings = [line for line in answer.err.splitlines() if line.startswith("warning: ")]
    assert warnings == [f"warning: <stdin>:{place} is ignored: did you mean {meant}?"]
    assert "warning: " not in cpuctl(*verb.split(), *NODE, "-f", "-", stdin=POD.encode()).err


def test_replicas_share_a_mistake(cpuctl: Cpuctl) -> None:
    spec = textwrap.indent(POD.partition("spec:\n")[2].replace("limits:", "limts:"), "    ")
    deployment = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        f"spec:\n  replicas: 3\n  template:\n    spec:\n{spec}"
    )
    err = cpuctl("plan", *NODE, "-f", "-", stdin=deployment.encode()).err
    assert err.count("spec.template.spec.containers[0].resources.limts is ignored") == 1


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("metadata:", "metdata:"),
        ("spec:", "spce:"),
        ("containers:", "contaners:"),
        ("name: main", "nmae: main"),
        ("limits:", "limts:"),
    ],
)
def test_lint_has_one_error_for_one_misspelt_field(right: str, wrong: str, cpuctl: Cpuctl) -> None:
    answer = cpuctl("pods", "lint", "-q", "-f", "-", stdin=POD.replace(right, wrong).encode())
    (error,) = (line for line in answer.out.splitlines() if ": error: " in line)
    assert f'{wrong.partition(":")[0]}"' in error
    assert f"  fix: did you mean {right.partition(':')[0]}?" in answer.out


def test_lint_says_once_that_a_field_is_of_a_wrong_kind(cpuctl: Cpuctl) -> None:
    pod = POD.partition("  containers:")[0] + "  containers: {}\n"
    answer = cpuctl("pods", "lint", "-q", "-f", "-", stdin=pod.encode())
    (error,) = (line for line in answer.out.splitlines() if ": error: " in line)
    assert error.endswith("spec.containers: expected a list, found a mapping")


def test_lint_still_says_what_is_missing_beside_another_mistake(cpuctl: Cpuctl) -> None:
    pod = POD.replace("name: main", "command: [x]").replace("limits:", "limts:")
    answer = cpuctl("pods", "lint", "-q", "-f", "-", stdin=pod.encode())
    assert "spec.containers[0].name: Required value" in answer.out
    assert answer.out.count(": error: ") == 2
