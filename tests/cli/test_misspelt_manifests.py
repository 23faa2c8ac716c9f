"""A misspelt field of a manifest is one mistake, and every command reports it."""

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
"""Each text with its misspelling, and the place where it is ignored."""


@pytest.mark.parametrize("right", IGNORED)
@pytest.mark.parametrize("verb", ["plan", "explain web", "pods show"])
def test_a_field_that_is_ignored_is_named(verb: str, right: str, cpuctl: Cpuctl) -> None:
    """A pod without amounts is admitted without exclusive CPUs: nothing else would show the mistake."""
    wrong, place = IGNORED[right]
    answer = cpuctl(*verb.split(), *NODE, "-f", "-", stdin=POD.replace(right, wrong).encode())
    meant = "initContainers" if right == "containers:" else right.removesuffix(":")
    warnings = [line for line in answer.err.splitlines() if line.startswith("warning: ")]
    assert warnings == [f"warning: <stdin>:{place} is ignored: did you mean {meant}?"]
    assert "warning: " not in cpuctl(*verb.split(), *NODE, "-f", "-", stdin=POD.encode()).err


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        (POD.replace("      limits", "    limits"), "9: spec.containers[0].limits"),
        (POD.replace("      limits", "  limits"), "9: spec.limits"),
    ],
)
@pytest.mark.parametrize("verb", ["plan", "explain web", "pods show"])
def test_limits_beside_resources_are_named(verb: str, wrong: str, place: str, cpuctl: Cpuctl) -> None:
    answer = cpuctl(*verb.split(), *NODE, "-f", "-", stdin=wrong.encode())
    warnings = [line for line in answer.err.splitlines() if line.startswith("warning: ")]
    assert warnings == [f"warning: <stdin>:{place} is ignored: did you mean resources.limits?"]


@pytest.mark.parametrize("verb", ["plan", "explain web", "pods show"])
def test_an_api_version_in_lower_case_is_named(verb: str, cpuctl: Cpuctl) -> None:
    answer = cpuctl(*verb.split(), *NODE, "-f", "-", stdin=POD.replace("apiVersion", "apiversion").encode())
    warnings = [line for line in answer.err.splitlines() if line.startswith("warning: ")]
    assert warnings == ["warning: <stdin>:1: apiversion is ignored: did you mean apiVersion?"]


@pytest.mark.parametrize(("right", "wrong"), [("apiVersion", "apiversion"), ("kind", "Kind")])
def test_lint_guesses_a_missing_field(right: str, wrong: str, cpuctl: Cpuctl) -> None:
    answer = cpuctl("pods", "lint", "-q", "-f", "-", stdin=POD.replace(right, wrong).encode())
    assert answer.out.count(": error: ") == 1
    assert f"{right} not set\n  fix: found {wrong}: did you mean {right}?\n" in answer.out


def test_a_kind_with_a_capital_letter_is_guessed(cpuctl: Cpuctl) -> None:
    answer = cpuctl("plan", *NODE, "-f", "-", stdin=POD.replace("kind", "Kind").encode())
    assert (answer.code, "hint: found Kind: did you mean kind?\n" in answer.err) == (4, True)


def test_a_kubelet_configuration_among_manifests_suggests_its_option(cpuctl: Cpuctl) -> None:
    answer = cpuctl("plan", *NODE, "-f", "fixtures/kubelet/static.yaml")
    assert (
        "found only KubeletConfiguration: specify the kubelet's configuration with --kubelet-config"
        in answer.err
    )


@pytest.mark.parametrize(("name", "words"), [("web", "web"), ("shop/web", "-n shop web")])
@pytest.mark.parametrize("verb", ["plan", "pods lint"])
def test_a_pods_name_in_place_of_a_manifest(verb: str, name: str, words: str, cpuctl: Cpuctl) -> None:
    answer = cpuctl(*verb.split(), name)
    assert answer.code == 4
    assert answer.err.endswith(
        f"hint: if this is a pod's name, specify its manifest: kubectl get pod {words} -o yaml\n"
    )


def test_a_missing_manifest_is_not_taken_for_a_pod(cpuctl: Cpuctl) -> None:
    assert "hint" not in cpuctl("plan", "-f", "no-such.yaml").err
    assert "hint" not in cpuctl("plan", *NODE, "-T", "web=1/1", "--pods", "missing").err


_MANIFEST = "specify its manifest: kubectl get pod {} | cpuctl explain {} -f -"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ((), "specify manifests with -f PODS, or pods with -T web=4/4,1Gi"),
        (
            ("shop/web", "-m", "synthetic:1c"),
            _MANIFEST.format("-n shop web -o yaml", "shop/web -m synthetic:1c"),
        ),
        (
            ("web", "--events", "events.json"),
            _MANIFEST.format("web -o yaml", "web --events events.json"),
        ),
    ],
)
def test_explain_says_how_to_get_a_manifest(words: tuple[str, ...], hint: str, cpuctl: Cpuctl) -> None:
    answer = cpuctl("explain", *words)
    assert (answer.code, answer.err) == (2, f"error: no pods to explain\nhint: {hint}\n")


def test_a_message_in_place_of_a_pods_name(cpuctl: Cpuctl) -> None:
    answer = cpuctl("explain", "Resources cannot be allocated with Topology locality")
    assert answer.err.endswith(
        "hint: use cpuctl explain --message 'Resources cannot be allocated with Topology locality'\n"
    )


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


def test_lint_reports_once_a_field_of_the_wrong_type(cpuctl: Cpuctl) -> None:
    pod = POD.partition("  containers:")[0] + "  containers: {}\n"
    answer = cpuctl("pods", "lint", "-q", "-f", "-", stdin=pod.encode())
    (error,) = (line for line in answer.out.splitlines() if ": error: " in line)
    assert error.endswith("spec.containers: expected a list, found a mapping")


def test_lint_still_reports_what_is_missing_next_to_another_mistake(cpuctl: Cpuctl) -> None:
    pod = POD.replace("name: main", "command: [x]").replace("limits:", "limts:")
    answer = cpuctl("pods", "lint", "-q", "-f", "-", stdin=pod.encode())
    assert "spec.containers[0].name: Required value" in answer.out
    assert answer.out.count(": error: ") == 2
