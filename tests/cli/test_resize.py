"""``cpuctl resize``: tables and documents, how to name pods, and where their resources come from."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cpuctl.checkpoints.model import PodsStateFile, RecordedPod, RecordedResources
from cpuctl.checkpoints.pods_state import write_pods_state
from cpuctl.quantity import Quantity
from tests.cli.conftest import Cpuctl, Result
from tests.support.schemas import follow_schema

NODE = ("-q", "-m", "synthetic:2s2n6c2t,mem=64Gi")
STATIC = "--cpu-manager-policy=static --reserved-cpus=0,12"
GATE = "InPlacePodVerticalScalingExclusiveCPUs=true"
PREVIEW = ("--kubelet-version", "1.38", "--feature-gates", GATE)
GATED = ("--kubelet-version", "1.36", "--feature-gates", GATE)
RESTRICTED = "--topology-manager-policy=restricted"
BEST_EFFORT = "--topology-manager-policy=best-effort"


def arguments(*flags: str) -> tuple[str, str]:
    return "--kubelet-args", " ".join(flags)


def running(*pods: str) -> tuple[str, ...]:
    return tuple(word for pod in pods for word in ("-T", pod))


def to(*changes: str) -> tuple[str, ...]:
    return tuple(word for change in changes for word in ("--set", change))


DB = running("db=4/4,8Gi")
ANSWERS: Mapping[str, tuple[str, ...]] = {
    "grows": (*NODE, *arguments(STATIC), *PREVIEW, *DB, *to("db:cpu=6")),
    "grows, wide": (*NODE, *arguments(STATIC, RESTRICTED), *PREVIEW, *DB, *to("db:cpu=6"), "-o", "wide"),
    "below what was promised": (*NODE, *arguments(STATIC), *PREVIEW, *DB, *to("db:cpu=2")),
    "no room on one NUMA node": (
        *NODE,
        *arguments(STATIC, RESTRICTED),
        *PREVIEW,
        *running("db=4/4,8Gi", "web=4/4,1Gi"),
        *to("db:cpu=9"),
    ),
    "the reference": (
        *(*NODE, *arguments(STATIC), *PREVIEW, *DB, *to("db:cpu=2")),
        *("--resize-semantics", "reference"),
    ),
    "no exclusive CPUs requested": (
        *(*NODE, *arguments("--cpu-manager-policy=none")),
        *running("web=500m/1,1Gi"),
        *to("web:cpu=700m/2,memory=2Gi"),
    ),
    "no gate": (*NODE, *arguments(STATIC), *DB, *to("db:cpu=6")),
    "memory alone": (*NODE, *arguments(STATIC), *DB, *to("db:memory=9Gi")),
    "less memory": (*NODE, *arguments(STATIC), *DB, *to("db:memory=1Gi")),
    "gate without an allocator": (*NODE, *arguments(STATIC), *GATED, *DB, *to("db:cpu=6")),
    "gate without an allocator, restricted": (
        *NODE,
        *arguments(STATIC, RESTRICTED),
        *GATED,
        *running("db=4/4,8Gi", "web=2/2,1Gi"),
        *to("db:cpu=6", "web:cpu=4"),
    ),
    "preview for an older one": (*NODE, *arguments(STATIC), *GATED, "--preview", *DB, *to("db:cpu=6")),
    "old words": (*NODE, *arguments(STATIC), "--kubelet-version", "1.32", *DB, *to("db:cpu=6")),
    "old gate": (
        *(*NODE, *arguments(STATIC), "--kubelet-version", "1.31"),
        *("--feature-gates", "InPlacePodVerticalScaling=true", "--apiserver-feature-gates"),
        *("InPlacePodVerticalScaling=true", *DB, *to("db:cpu=6")),
    ),
    "another class": (*NODE, *arguments(STATIC), *DB, *to("db:cpu=2/6")),
    "larger than the node": (*NODE, *arguments(STATIC), *DB, *to("db:cpu=60")),
    "nothing new": (*NODE, *arguments(STATIC), *DB, *to("db:cpu=4")),
    "waits and gets": (
        *(*NODE, *arguments("--cpu-manager-policy=none")),
        *running("a=12/12,1Gi", "b=10/10,1Gi"),
        *to("a:cpu=16", "b:cpu=4"),
    ),
    "with a delay": (
        *NODE,
        *arguments(STATIC, "--cpu-manager-policy-options=scale-delay-time=5s"),
        *("--kubelet-version", "1.38", "--feature-gates", f"{GATE},CPUManagerPolicyAlphaOptions=true"),
        *("--state", "fixtures/resize/grown", "--pods", "fixtures/resize/running.json"),
        *to("shop/database/server:cpu=4"),
    ),
    "pending": (
        *(*NODE, *arguments(STATIC), *PREVIEW, "--state", "fixtures/resize/grown"),
        *("--pods", "fixtures/resize/pending.json"),
    ),
    "edited": (
        *(*NODE, *arguments(STATIC), *PREVIEW, "-f", "fixtures/resize/pods.yaml"),
        *("--edited", "fixtures/resize/edited.yaml"),
    ),
    "departs": (
        *(*NODE, *arguments(STATIC, BEST_EFFORT), *PREVIEW, "--state", "fixtures/resize/grown"),
        *("--pods", "fixtures/resize/running.json", *to("shop/database/server:cpu=8")),
    ),
    "not started": ("-q", "-m", "synthetic:1c", *arguments("--cpu-manager-policy=static"), *running("a=1/1"),
                    *to("a:cpu=2")),
}  # fmt: skip


QUOTED = re.compile(
    "(warning: |The reference |cpu_manager_state |The kubelet |[a-z]+: [A-Za-z]+Error: |spec|Node |"
    "  fix: |  see: |Next, )"
)
"""Sentences of any length, which terminals wrap: quoted messages are not shortened."""


def resize(cpuctl: Cpuctl, *words: str, **settings: Any) -> Result:
    return cpuctl("resize", *words, **settings)


def document(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    result = resize(cpuctl, *words, "-o", "json")
    assert result.out, result.err
    answer: dict[str, Any] = json.loads(result.out)
    return answer


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", ANSWERS)
def test_tables_of_resizes(name: str, width: int, cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
    result = resize(cpuctl, *ANSWERS[name], columns=width)
    assert str(result) == snapshot
    assert [line for line in result.out.splitlines() if line != line.rstrip()] == []
    own = [line for line in result.out.splitlines() if not QUOTED.match(line)]
    assert [line for line in own if len(line) > width] == []


TABLES = {
    "grows": "CONTAINER CPU MEMORY RESTART GUARANTEED BEFORE AFTER ADDED",
    "with a delay": "CONTAINER CPU MEMORY RESTART GUARANTEED BEFORE AFTER REMOVED",
    "below what was promised": "CONTAINER CPU MEMORY GUARANTEED BEFORE AFTER",
    "memory alone": "CONTAINER CPU MEMORY RESTART BEFORE AFTER",
    "no exclusive CPUs requested": "CONTAINER CPU MEMORY RESTART BEFORE AFTER",
}


@pytest.mark.parametrize("name", TABLES)
def test_empty_columns_are_left_out(name: str, cpuctl: Cpuctl) -> None:
    lines = resize(cpuctl, *ANSWERS[name], columns=160).out.splitlines()
    [headings] = [line.split() for line in lines if line.startswith("CONTAINER")]
    assert headings == TABLES[name].split()


@pytest.mark.parametrize("name", ANSWERS)
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(name: str, cpuctl: Cpuctl) -> None:
    answer = document(cpuctl, *ANSWERS[name])
    follow_schema(answer, "resize")
    assert yaml.safe_load(resize(cpuctl, *ANSWERS[name], "-o", "yaml").out) == answer


EXITS = {
    "grows": 0,
    "below what was promised": 3,
    "no gate": 3,
    "gate without an allocator": 3,
    "gate without an allocator, restricted": 3,
    "memory alone": 0,
    "another class": 3,
    "old gate": 3,
    "nothing new": 0,
    "waits and gets": 0,
    "not started": 3,
}


@pytest.mark.parametrize("name", EXITS)
def test_exit_codes(name: str, cpuctl: Cpuctl) -> None:
    code = EXITS[name]
    assert resize(cpuctl, *ANSWERS[name]).code == code
    assert resize(cpuctl, *ANSWERS[name], "--exit-zero").code == (0 if code == 3 else code)


def pod(document: dict[str, Any], place: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = document["pods"][place]
    return found


def requested(answer: dict[str, Any], container: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = pod(answer)["containers"][container]["resources"]["requested"]
    return found


FORMS = {
    "db:cpu=6": ({"cpu": "6", "memory": "8Gi"}, {"cpu": "6", "memory": "8Gi"}),
    "default/db:cpu=6": ({"cpu": "6", "memory": "8Gi"}, {"cpu": "6", "memory": "8Gi"}),
    "db/db:cpu=6": ({"cpu": "6", "memory": "8Gi"}, {"cpu": "6", "memory": "8Gi"}),
    "default/db/db:memory=9Gi": ({"cpu": "4", "memory": "9Gi"}, {"cpu": "4", "memory": "9Gi"}),
    "db:cpu=5,memory=9Gi": ({"cpu": "5", "memory": "9Gi"}, {"cpu": "5", "memory": "9Gi"}),
    "db:cpu=3/5": ({"cpu": "3", "memory": "8Gi"}, {"cpu": "5", "memory": "8Gi"}),
    "db:cpu=3/": ({"cpu": "3", "memory": "8Gi"}, {"cpu": "4", "memory": "8Gi"}),
    "db:cpu=/5": ({"cpu": "4", "memory": "8Gi"}, {"cpu": "5", "memory": "8Gi"}),
    "db:cpu=2500u": ({"cpu": "3m", "memory": "8Gi"}, {"cpu": "3m", "memory": "8Gi"}),
}


@pytest.mark.parametrize("text", FORMS)
def test_how_new_resources_can_be_written(text: str, cpuctl: Cpuctl) -> None:
    answer = document(cpuctl, *NODE, *arguments(STATIC), *DB, *to(text))
    requests, limits = FORMS[text]
    assert requested(answer) == {"requests": requests, "limits": limits}


def test_a_missing_request_or_limit_is_not_added(cpuctl: Cpuctl) -> None:
    words = (*NODE, *arguments("--cpu-manager-policy=none"), "-f", "-", *to("one:cpu=700m"), "-o", "json")
    manifest = b"""
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: c, resources: {requests: {cpu: 500m}}}]}
"""
    answer = json.loads(resize(cpuctl, *words, stdin=manifest).out)
    assert requested(answer) == {"requests": {"cpu": "700m"}, "limits": {}}


ONE = b"""
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: c, resources: {requests: {memory: 1Gi}}}]}
"""


def test_a_limit_alone_is_requested_too(cpuctl: Cpuctl) -> None:
    """The API server fills in requests of a resize like those of a new pod."""
    words = (*NODE, *arguments("--cpu-manager-policy=none"), "-f", "-", *to("one:cpu=/2"), "-o", "json")
    answer = json.loads(resize(cpuctl, *words, stdin=ONE).out)
    assert requested(answer) == {"requests": {"memory": "1Gi", "cpu": "2"}, "limits": {"cpu": "2"}}


def test_several_changes_to_one_pod_are_one_resize(cpuctl: Cpuctl) -> None:
    changes = to("search/index:cpu=6", "search/cache:cpu=4,memory=3Gi")
    words = (*NODE, *arguments(STATIC), *PREVIEW, "-f", "fixtures/resize/pods.yaml")
    by_words = document(cpuctl, *words, *changes)
    by_file = document(cpuctl, *words, "--edited", "fixtures/resize/edited.yaml")
    assert len(by_words["pods"]) == 1
    assert by_words["pods"] == by_file["pods"]


def test_pod_level_resources_are_resized_if_the_pod_has_them(cpuctl: Cpuctl) -> None:
    manifest = b"""
apiVersion: v1
kind: Pod
metadata: {name: whole}
spec:
  resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 3, memory: 1Gi}}
  containers: [{name: a}, {name: b}]
"""
    words = (*NODE, *arguments("--cpu-manager-policy=none"), "-f", "-", *to("whole:cpu=3/4"), "-o", "json")
    answer = json.loads(resize(cpuctl, *words, stdin=manifest).out)
    level = pod(answer)["podLevel"]
    assert (pod(answer)["outcome"], level["changed"]) == ("Admitted", True)
    assert level["resources"]["desired"]["requests"] == {"cpu": "3", "memory": "1Gi"}
    gate = "InPlacePodLevelResourcesVerticalScaling"
    off = ("--feature-gates", f"{gate}=false", "--apiserver-feature-gates", f"{gate}=true")
    refused = json.loads(resize(cpuctl, *words, *off, stdin=manifest).out)
    assert (pod(refused)["outcome"], pod(refused)["decidedBy"]) == ("Infeasible", "podResizes")
    assert pod(refused)["message"] == "InPlacePodLevelResourcesVerticalScaling is disabled"


def test_the_pods_status_shows_what_is_pending_and_its_generation(cpuctl: Cpuctl) -> None:
    answer = document(cpuctl, *ANSWERS["pending"])
    states = pod(answer)["containers"][0]["resources"]
    assert {state: states[state]["requests"]["cpu"] for state in states} == {
        "before": "16",
        "requested": "6",
        "desired": "6",
        "allocated": "6",
        "actuated": "16",
        "actual": "16",
    }
    assert (pod(answer)["generation"], pod(answer)["conditions"][0]["observedGeneration"]) == (5, 5)


def test_a_resize_that_restarts_a_container_says_so(cpuctl: Cpuctl) -> None:
    answer = document(cpuctl, *ANSWERS["edited"])
    assert [each["restarts"] for each in pod(answer)["containers"]] == [[], [], ["memory"]]


def test_the_next_resize_can_start_from_the_written_state_files(cpuctl: Cpuctl, tmp_path: Path) -> None:
    setting = (*NODE, *arguments(STATIC), *PREVIEW)
    grown = document(cpuctl, *setting, *DB, *to("db:cpu=6"), "--write-state", str(tmp_path))
    text = (tmp_path / "cpu_manager_state").read_text()
    assert grown["after"]["cpuManagerState"] == text
    uid = pod(grown)["uid"]
    assert json.loads(json.loads(text)["data"])["baselines"] == {uid: {"db": {"baseline": "1-2,13-14"}}}
    state = ("--state", str(tmp_path))
    back = document(cpuctl, *setting, *state, *running("db=6/6,8Gi"), *to("db:cpu=4"))
    cpus = pod(back)["containers"][0]["cpus"]
    assert (cpus["before"], cpus["after"], cpus["baseline"]) == ("1-3,13-15", "1-2,13-14", "1-2,13-14")
    again = resize(cpuctl, *setting, *DB, *to("db:cpu=6"), "--write-state", str(tmp_path))
    assert (again.code, again.out) == (2, "")
    forced = resize(cpuctl, *setting, *DB, *to("db:cpu=6"), "--write-state", str(tmp_path), "--force")
    assert forced.code == 0


def test_a_rejected_resize_leaves_the_state_file_unchanged(cpuctl: Cpuctl) -> None:
    answer = document(
        cpuctl,
        *(*NODE, *arguments(STATIC), *PREVIEW, "--state", "fixtures/resize/grown"),
        *("--pods", "fixtures/resize/running.json", *to("shop/database/server:cpu=3")),
    )
    before = Path("fixtures/resize/grown/cpu_manager_state").read_text()
    assert (pod(answer)["outcome"], answer["after"]["cpuManagerState"]) == ("Infeasible", before)


def test_granted_resources_are_read_from_the_kubelets_own_files(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """They take precedence over the status, which may be out of date."""
    both = {"cpu": Quantity.parse("16"), "memory": Quantity.parse("8Gi")}
    uid = "7a0c2f3e-52a1-4c8e-9d3b-0f6f1f2b9a11"
    granted = RecordedPod(containers={"server": RecordedResources(requests=both, limits=both)})
    (tmp_path / "allocated_pods_state").write_text(write_pods_state(PodsStateFile(pods={uid: granted})))
    state = Path("fixtures/resize/grown/cpu_manager_state").read_text()
    (tmp_path / "cpu_manager_state").write_text(state)
    late = json.loads(Path("fixtures/resize/running.json").read_text())
    late["spec"]["containers"][0]["resources"] = {side: {"cpu": "10", "memory": "8Gi"} for side in BOTH}
    late["status"] = {}
    (tmp_path / "pods.json").write_text(json.dumps(late))
    answer = document(
        cpuctl,
        *(*NODE, *arguments(STATIC), *PREVIEW, "--state", str(tmp_path)),
        *("--pods", str(tmp_path / "pods.json")),
    )
    states = pod(answer)["containers"][0]["resources"]
    assert (states["before"]["requests"]["cpu"], states["requested"]["requests"]["cpu"]) == ("16", "10")
    assert answer["sources"]["allocatedState"]["from"] == "given"


BOTH = ("requests", "limits")
USAGE = {
    "no amounts": (("--set", "db"), "expected a container and its resources, found 'db'"),
    "another resource": (("--set", "db:gpu=1"), "expected cpu=... or memory=..., found 'gpu=1'"),
    "twice": (("--set", "db:cpu=1,cpu=2"), "cpu is set twice"),
    "no amount": (("--set", "db:cpu=/"), "expected a quantity after 'cpu=/'"),
    "no quantity": (("--set", "db:cpu=many"), 'expected a quantity, found "many"'),
    "negative": (("--set", "db:cpu=-1"), "expected a quantity of at least 0, found -1"),
    "no such pod": (("--set", "dp:cpu=1"), 'there is no pod "dp"'),
    "no such container": (("--set", "default/db/x:cpu=1"), "pod default/db has no container 'x'"),
    "which container": (("--set", "two:cpu=1"), "pod default/two has more than one container"),
    "control characters": (("--set", "a\x1b[31m:cpu=1"), "there is no pod"),
    "both ways": (
        ("--set", "db:cpu=5", "--edited", "fixtures/resize/edited.yaml"),
        "--set and --edited cannot be used together",
    ),
    "no changes": ((), "nothing to resize: no pod gets different resources"),
}
WITHOUT_HINT = {"twice", "negative"}
"""Messages that need no hint."""
TWO = b"""
apiVersion: v1
kind: Pod
metadata: {name: two}
spec: {containers: [{name: a}, {name: b}]}
"""


@pytest.mark.parametrize("name", USAGE)
def test_invalid_arguments_are_rejected_with_a_hint(name: str, cpuctl: Cpuctl) -> None:
    words, message = USAGE[name]
    result = resize(cpuctl, *NODE, *arguments(STATIC), *DB, "-f", "-", *words, stdin=TWO)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert "\x1b" not in result.err
    assert "\nhint: " in result.err or name in WITHOUT_HINT


def test_pods_that_are_not_admitted_cannot_be_resized(cpuctl: Cpuctl) -> None:
    result = resize(cpuctl, *NODE, *arguments(STATIC), *running("db=60/60,8Gi"), *to("db:cpu=6"))
    assert (result.code, result.out) == (4, "")
    assert "error: default/db is not admitted (UnexpectedAdmissionError: " in result.err
    assert ", so it cannot be resized" in result.err
    assert "\nhint: to see why: cpuctl explain default/db " in result.err


def test_the_command_that_says_why_treats_running_pods_as_running(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """As a new pod, it would request what its spec has, not what is allocated to it."""
    pod = Path("fixtures/resize/pending.json").read_text().replace("8Gi", "2Gi")
    (tmp_path / "pending.json").write_text(pod)
    node = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", "--kubelet-config")
    words = (*node, "fixtures/kubelet/single-numa-node.yaml", "--pods", str(tmp_path / "pending.json"))
    result = resize(cpuctl, *words)
    assert (result.code, "is not admitted (TopologyAffinityError: " in result.err) == (4, True)
    command = result.err[result.err.index("cpuctl explain") :].splitlines()[0]
    explained = cpuctl(*shlex.split(command)[1:])
    assert (explained.code, "ANSWER" in explained.out) == (3, True)
    assert "rejected with TopologyAffinityError when the kubelet restarts" in explained.out


def test_a_request_for_parts_of_cores_is_answered_with_whole_cores(cpuctl: Cpuctl) -> None:
    flags = (STATIC, "--cpu-manager-policy-options=full-pcpus-only=true")
    result = resize(cpuctl, *NODE, *arguments(*flags), *PREVIEW, *DB, *to("db:cpu=5"))
    assert "db: SMTAlignmentError: " in result.out
    assert "\n  fix: request a multiple of 2 CPUs, such as 6\n" in result.out
    assert "plan --capacity" not in result.out


def test_a_policy_decides_on_admission_but_not_on_resizes(cpuctl: Cpuctl) -> None:
    node = ("-q", "-m", "synthetic:2s2n8c2t,mem=64Gi", "--kubelet-config", "fixtures/kubelet/static.yaml")
    words = (*node, "-T", "web=4/4,2Gi", "--set", "web:cpu=6", "--policy", "koordinator,bind=spread")
    document = json.loads(cpuctl("resize", *words, "-o", "json").out)
    assert document["kubelet"]["policy"]["status"] == "what-if"
    assert document["after"]["freeCPUs"] == "6-15,18-31"
    assert "no kubelet does this" in cpuctl("resize", *words).out
    gate = ("--kubelet-version", "1.38", "--feature-gates", "InPlacePodVerticalScalingExclusiveCPUs=true")
    refused = cpuctl("resize", *words, *gate)
    assert (refused.code, "policies cannot decide on resizes" in refused.err) == (2, True)
    assert cpuctl("resize", *words, "--write-state", "here").code == 2
