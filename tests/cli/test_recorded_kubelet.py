"""The flags and drop-in files in a recording are part of its kubelet's configuration."""

from __future__ import annotations

import errno
import json
import os
import shlex
from pathlib import Path
from typing import Any, NoReturn

import pytest

from cpuctl.errors import unreadable
from tests.capture.node_texts import process, written
from tests.cli.conftest import Cpuctl, Result
from tests.machine.sysfs_writer import small_machine

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
MAIN = f"{HEAD}cpuManagerPolicy: static\nmaxPods: 110.0\nstaticPodPath: manifests\n"
DROP_IN = f"{HEAD}kubeReserved: {{memory: 1Gi}}\ntopologyManagerPolicy: restricted\n"
COMMAND = ("/usr/bin/kubelet", "--config=/etc/k/main.yaml", "--config-dir=/etc/k/d", "--reserved-cpus=0")


def texts(*command: str, **files: str) -> dict[str, str]:
    """Write a node whose kubelet runs with *command*, and other files below /etc/k."""
    running = process(70, "kubelet", "/", *command) if command else {}
    return small_machine() | running | {f"etc/k/{name}": text for name, text in files.items()}


@pytest.fixture
def archive(tmp_path: Path, cpuctl: Cpuctl) -> str:
    """Record such a node."""
    files = {"main.yaml": MAIN, "d/10.conf": DROP_IN, "d/README": "none of the kubelet's business"}
    return captured(tmp_path, cpuctl, texts(*COMMAND, **files))


def captured(tmp_path: Path, cpuctl: Cpuctl, node: dict[str, str]) -> str:
    root, archive = str(written(node, tmp_path / "node")), str(tmp_path / "node7.tar.gz")
    assert cpuctl("capture", "--root", root, archive).code == 0
    return archive


def document(result: Result) -> dict[str, Any]:
    assert result.code == 0, result
    loaded: dict[str, Any] = json.loads(result.out)
    return loaded


def settings(result: Result) -> dict[str, tuple[Any, str | None]]:
    """Return every setting's value and origin."""
    return {each["setting"]: (each["value"], each["where"]) for each in document(result)["settings"]}


def test_recorded_flags_and_drop_ins_are_used(archive: str, cpuctl: Cpuctl) -> None:
    found = settings(cpuctl("config", "show", "-m", archive, "-o", "json"))
    drop_in = f"{archive}: etc/kubernetes/kubelet.conf.d/10.conf"
    assert found["reservedSystemCPUs"] == ("0", "--reserved-cpus")
    assert found["topologyManagerPolicy"] == ("restricted", f"{drop_in}:7")
    assert found["kubeReserved.memory"] == ("1Gi", f"{drop_in}:5")
    assert found["maxPods"] == (110, f"{archive}: var/lib/kubelet/config.yaml:5")


def test_relative_paths_are_relative_to_the_file_on_the_node(archive: str, cpuctl: Cpuctl) -> None:
    found = settings(cpuctl("config", "show", "-m", archive, "-o", "json"))
    assert found["staticPodPath"][0] == "/etc/k/manifests"


def test_check_and_plan_use_recorded_flags_and_drop_ins(archive: str, cpuctl: Cpuctl) -> None:
    check = document(cpuctl("config", "check", "-m", archive, "-o", "json"))
    assert check["node"]["reservedCPUs"] == "0"
    plan = document(cpuctl("plan", "-m", archive, "-T", "web=1/1,1Gi", "-o", "json"))
    assert plan["kubelet"]["topologyManagerPolicy"] == "restricted"
    for answer in (check, plan):
        assert answer["sources"]["dropInDirectory"] == {"value": "/etc/k/d", "from": "capture"}
        assert answer["sources"]["recordedArguments"] == {"value": "--reserved-cpus=0", "from": "capture"}


def test_given_flags_override_the_recorded_ones(archive: str, cpuctl: Cpuctl) -> None:
    given = "--reserved-cpus=1 --max-pods=9"
    found = settings(cpuctl("config", "show", "-m", archive, "--kubelet-args", given, "-o", "json"))
    assert (found["reservedSystemCPUs"][0], found["maxPods"][0]) == ("1", 9)
    assert found["topologyManagerPolicy"][0] == "restricted"


def test_a_given_directory_replaces_the_recorded_one(archive: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.conf").write_text(f"{HEAD}maxPods: 7\n")
    found = settings(cpuctl("config", "show", "-m", archive, "--config-dir", str(other), "-o", "json"))
    assert (found["maxPods"][0], found["topologyManagerPolicy"][0]) == (7, "none")
    assert found["reservedSystemCPUs"] == ("0", "--reserved-cpus")


def test_recorded_flags_and_drop_ins_are_ignored_with_another_configuration(
    archive: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    (tmp_path / "other.yaml").write_text(HEAD)
    given = ("--kubelet-config", str(tmp_path / "other.yaml"))
    answer = document(cpuctl("config", "show", "-m", archive, *given, "-o", "json"))
    assert {"dropInDirectory", "recordedArguments"}.isdisjoint(answer["sources"])
    assert "reservedSystemCPUs" not in {each["setting"] for each in answer["settings"]}


def test_a_kubelet_without_a_file_uses_its_flags(tmp_path: Path, cpuctl: Cpuctl) -> None:
    state = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
    node = texts("kubelet", "--max-pods=7") | {"var/lib/kubelet/cpu_manager_state": state}
    archive = captured(tmp_path, cpuctl, node)
    plan = document(cpuctl("plan", "-m", archive, "-T", "web=1/1,1Gi", "-o", "json"))
    assert plan["sources"]["kubeletConfiguration"] == {"value": "the kubelet's defaults", "from": "capture"}
    assert plan["sources"]["state"]["from"] == "capture"
    assert settings(cpuctl("config", "show", "-m", archive, "-o", "json"))["maxPods"] == (7, "--max-pods")


def test_a_missing_configuration_file_is_not_treated_as_defaults(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A node that has not joined yet is like that: its kubelet exits."""
    unit = "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/k/main.yaml\n"
    archive = captured(tmp_path, cpuctl, texts() | {"etc/systemd/system/kubelet.service": unit})
    for question in (("config", "check"), ("plan", "-T", "web=1/1,1Gi"), ("checkpoint", "verify")):
        result = cpuctl(*question, "-m", archive)
        assert (result.code, result.out) == (4, "")
        assert (
            f"error: {archive}: /etc/k/main.yaml: cannot be read: no such file or directory\n" in result.err
        )


def test_the_reason_for_a_missing_configuration_file_in_a_tree_is_not_guessed(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    unit = "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/k/main.yaml\n"
    tree = str(written(small_machine() | {"etc/systemd/system/kubelet.service": unit}, tmp_path))
    for words in (("config", "check", "-m", tree), ("audit", "--root", tree)):
        result = cpuctl(*words)
        why = "no such file: the node does not have it, or it was not recorded"
        assert (result.code, f"error: {tree}: /etc/k/main.yaml: {why}\n" in result.err) == (4, True)
        assert "hint: specify a configuration with --kubelet-config" in result.err


def test_drop_ins_not_known_to_be_used_are_ignored(tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = texts() | {"etc/kubernetes/kubelet.conf.d/a.conf": f"{HEAD}maxPods: 7\n"}
    archive = captured(tmp_path, cpuctl, node)
    result = cpuctl("config", "show", "-m", archive)
    assert result.code == 0
    assert (
        "warning: the recording has drop-in files of /etc/kubernetes/kubelet.conf.d, but no running"
        " kubelet that shows whether they are used: they are ignored"
    ) in result.err
    assert "maxPods" not in result.out


def test_drop_ins_that_could_not_be_recorded_are_an_error(tmp_path: Path, cpuctl: Cpuctl) -> None:
    archive = captured(tmp_path, cpuctl, texts(*COMMAND, **{"main.yaml": MAIN, "d/10.conf": "maxPods: 1"}))
    result = cpuctl("config", "check", "-m", archive)
    assert (result.code, result.out) == (4, "")
    assert (
        f"error: {archive}: drop-in files of /etc/k/d are missing because they could not be read"
        in result.err
    )


def test_an_invalid_flag_is_attributed_to_the_recording(tmp_path: Path, cpuctl: Cpuctl) -> None:
    archive = captured(tmp_path, cpuctl, texts("kubelet", "--max-pods=many"))
    result = cpuctl("config", "check", "-m", archive, "-o", "json")
    assert result.code == 3
    answer = json.loads(result.out)
    assert answer["start"]["stage"] == "flags"
    assert answer["findings"][0]["where"] == f"{archive}: the recorded kubelet's flags"


def test_an_invalid_field_is_located_in_the_recording(tmp_path: Path, cpuctl: Cpuctl) -> None:
    archive = captured(tmp_path, cpuctl, texts("kubelet", "--config=/etc/k/a", a=f"{HEAD}maxPods: many"))
    finding = json.loads(cpuctl("config", "check", "-m", archive, "-o", "json").out)["findings"][0]
    assert finding["where"] == f"{archive}: var/lib/kubelet/config.yaml:4"
    assert finding["setting"] == "maxPods"


def test_the_drop_in_directory_is_rejected_by_releases_without_it(archive: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("config", "check", "-m", archive, "--kubelet-version", "1.27", "-o", "json")
    assert result.code == 3
    assert json.loads(result.out)["start"]["error"] == "unknown flag: --config-dir"


NONE_STATE = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
RELEASE = ("--kubelet-version", "1.36")


@pytest.fixture
def stuck(tmp_path: Path, cpuctl: Cpuctl) -> str:
    """Record a node whose policy has changed since its state file was written."""
    node = texts(*COMMAND, **{"main.yaml": MAIN}) | {"var/lib/kubelet/cpu_manager_state": NONE_STATE}
    return captured(tmp_path, cpuctl, node)


@pytest.mark.parametrize(
    "words",
    [
        ("checkpoint", "verify", *RELEASE),
        ("config", "check", *RELEASE),
        ("config", "versions", "--from=1.36", "--to=1.37"),
        ("plan", "-T", "web=1/1,1Gi", *RELEASE),
        ("explain", "-T", "web=1/1,1Gi", *RELEASE),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_every_command_starts_the_kubelet_on_the_recorded_state(
    words: tuple[str, ...], stuck: str, cpuctl: Cpuctl
) -> None:
    result = cpuctl(*words, "-m", stuck, "-o", "json")
    start = json.loads(result.out)["start"]
    start = start.get("from", start)
    assert start["outcome"] == "Rejected"
    assert 'configured policy "static" differs from state checkpoint policy "none"' in start["error"]
    assert result.code == 3


def test_a_check_finds_what_a_verification_finds(stuck: str, cpuctl: Cpuctl) -> None:
    check = json.loads(cpuctl("config", "check", *RELEASE, "-m", stuck, "-o", "json").out)
    verified = json.loads(cpuctl("checkpoint", "verify", *RELEASE, "-m", stuck, "-o", "json").out)
    assert check["start"]["error"] == verified["start"]["error"]
    assert check["sources"]["cpuManagerState"] == verified["sources"]["cpuManagerState"]
    found = {each["code"] for each in check["findings"] if each["severity"] == "error"}
    assert found == {each["code"] for each in verified["findings"]} == {"policy-differs"}
    assert not any("state files" in each["what"] for each in check["notChecked"])


def test_both_ends_of_an_upgrade_start_on_the_recorded_state(stuck: str, cpuctl: Cpuctl) -> None:
    words = ("config", "versions", "--from=1.36", "-m", stuck, "-o", "json", "--exit-zero")
    start = document(cpuctl(*words))["start"]
    assert start["from"]["stage"] == start["to"]["stage"] == "cpuManagerStart"


JUDGING = (
    ("config", "check"),
    ("config", "versions"),
    ("checkpoint", "verify"),
    ("plan", "-T", "web=1/1,1Gi"),
    ("explain", "-T", "web=1/1"),
)
"""Commands that check a recording's state files, with the arguments they need."""


@pytest.mark.parametrize("words", JUDGING, ids=lambda words: " ".join(words[:2]))
def test_an_outcome_that_all_releases_share_is_reported_without_a_release(
    words: tuple[str, ...], stuck: str, cpuctl: Cpuctl
) -> None:
    start = json.loads(cpuctl(*words, "-m", stuck, "-o", "json").out)["start"]
    start = start.get("from", start)
    assert (start["outcome"], start["stage"]) == ("Rejected", "cpuManagerStart")
    assert 'configured policy "static" differs from state checkpoint policy "none"' in start["error"]


@pytest.mark.parametrize("words", JUDGING, ids=lambda words: " ".join(words[:2]))
def test_the_assumed_release_has_the_flags_of_the_node(
    words: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """The newest release would exit because of a removed flag, so it is not the one that runs there."""
    node = texts(*COMMAND, "--pod-infra-container-image=pause", **{"main.yaml": MAIN})
    archive = captured(tmp_path, cpuctl, node)
    result = cpuctl(*words, "-m", archive, "-o", "json")
    answer = json.loads(result.out)
    assert answer["sources"]["kubeletVersion"] == {"value": "1.34", "from": "default"}
    assert answer["start"].get("from", answer["start"]) == {"outcome": "Started"}
    reported = cpuctl(*words, "-m", archive).err
    assert "kubelet 1.36 has no --pod-infra-container-image: 1.34 is assumed" in reported


ALL_ASKING = (
    *JUDGING,
    ("config", "show"),
    ("config", "reserve"),
    ("topology", "show", "-o", "nrt"),
    ("pods", "show", "-T", "web=1/1,1Gi"),
    ("resize", "-T", "web=1/1,1Gi", "--set", "web:cpu=2"),
    ("audit",),
)
"""All commands that take one node's kubelet."""


def sources_and_notes(words: tuple[str, ...], archive: str, cpuctl: Cpuctl) -> tuple[dict[str, Any], str]:
    """Return an answer's sources, empty if it has none, and what is written to stderr."""
    result = cpuctl(*words, "-m", archive) if "nrt" in words else cpuctl(*words, "-m", archive, "-o", "json")
    answer = {} if "nrt" in words else json.loads(result.out)
    start = answer.get("start", {})
    assert start.get("from", start).get("outcome", "Started") == "Started", answer
    return answer.get("sources", {}), result.err


@pytest.mark.parametrize("words", ALL_ASKING, ids=" ".join)
def test_the_assumed_release_has_the_gates_of_the_node(
    words: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Gates that no release has are ignored."""
    node = texts(*COMMAND, **{"main.yaml": f"{MAIN}featureGates: {{CPUManager: true, AllBeta: false}}\n"})
    archive = captured(tmp_path, cpuctl, node)
    why = (
        f"warning: {archive}: var/lib/kubelet/config.yaml:8: kubelet 1.36 has no feature gate CPUManager: "
        "1.32 is assumed, the newest version with all of these gates (set the node's kubelet version with "
        "--kubelet-version)"
    )
    sources, stated = sources_and_notes(words, archive, cpuctl)
    assert stated.splitlines().count(why) == 1
    assert sources.get("kubeletVersion", {"value": "1.32"})["value"] == "1.32"


@pytest.mark.parametrize("verb", ["list", "check", "plan"])
def test_a_fleet_assumes_a_release_for_each_node(verb: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = texts(*COMMAND, **{"main.yaml": f"{MAIN}featureGates: {{CPUManager: true}}\n"})
    captured(tmp_path, cpuctl, node)
    pods = ("-T", "web=1/1,1Gi") if verb == "plan" else ()
    result = cpuctl("fleet", verb, str(tmp_path / "node7.tar.gz"), *pods, "-o", "json")
    assert (result.code in (0, 3), "node7" in result.out) == (True, True)
    assert "unrecognized feature gate" not in result.out


def test_the_assumed_release_has_given_gates_and_flags_of_the_node(tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = texts(*COMMAND, "--pod-infra-container-image=pause", **{"main.yaml": MAIN})
    archive = captured(tmp_path, cpuctl, node)

    def assumed(gates: str) -> tuple[str, str]:
        answer = json.loads(
            cpuctl("config", "check", "-m", archive, "--feature-gates", gates, "-o", "json").out
        )
        return answer["sources"]["kubeletVersion"]["value"], answer["start"]["outcome"]

    assert assumed("CPUManager=true") == ("1.32", "Started")
    named = cpuctl("config", "check", "-m", archive, "--feature-gates=CPUManager=true", *RELEASE)
    assert "is assumed" not in named.err
    assert "unknown flag: --pod-infra-container-image" in named.out
    assert assumed("CPUManager=true,TopologyManager=true") == ("1.28", "Started")
    # Gates that no release has, or that no release has together with all others.
    assert assumed("Nonsense=true") == ("1.34", "Rejected")
    assert assumed("CPUManager=true,Nonsense=true") == ("1.32", "Rejected")
    assert assumed("TopologyManager=true,DRAWorkloadResourceClaims=true") == ("1.34", "Rejected")


@pytest.mark.parametrize("words", JUDGING, ids=lambda words: " ".join(words[:2]))
def test_releases_that_disagree_on_a_state_file_are_listed(
    words: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Claims are read since they are on by default; before that, their file does not matter."""
    (tmp_path / "dra_manager_state").write_text("{")
    requested = (*words, "-m", "synthetic:1s1n4c1t,mem=8Gi", "--state", str(tmp_path), "-o", "json")
    document = json.loads(cpuctl(*requested).out)
    start = document["start"].get("from", document["start"])
    assert start == {
        "outcome": "Undetermined",
        "why": "the kubelet's version is unknown, and versions read these state files differently "
        "(--kubelet-version); kubelet 1.27 to 1.33 would start; kubelet 1.34 to 1.38 would not start: create "
        "ResourceClaim cache: GetOrCreate() on checkpoint state: failed to get checkpoint dra_manager_state: "
        "unexpected end of JSON input",
    }
    assert document.get("summary", {}).get("error", 0) == 0
    reported = cpuctl(*requested[:-2], columns=400).out
    assert "Whether the kubelet would start is unknown: the kubelet's version is unknown" in reported


STATE = '{"policyName":"static","defaultCpuSet":"0-3","checksum":1}'


@pytest.mark.parametrize(
    "words",
    [
        ("config", "check", "--state"),
        ("config", "versions", "--state"),
        ("checkpoint", "verify", "--state"),
        ("plan", "-T", "web=1/1,1Gi", "--state"),
        ("explain", "-T", "web=1/1", "--state"),
        ("resize", "-T", "web=1/1", "--set", "web:cpu=2", "--state"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_named_state_file_is_treated_like_a_recorded_one(
    words: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    (tmp_path / "cpu_manager_state").write_text(STATE)
    node = ("-m", "synthetic:1s1n4c1t", "--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
    result = cpuctl(*words, str(tmp_path), *node, "-o", "json")
    start = json.loads(result.out)["start"]
    start = start.get("from", start)
    assert start["outcome"] == "Rejected"
    assert result.code == 3
    assert "checkpoint is corrupted" in start["error"]


def test_proposed_commands_require_a_release_if_it_was_assumed(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """``checkpoint repair`` and ``verify`` do not judge a state file without a release."""
    state = '{"policyName":"static","defaultCpuSet":"0-3","checksum":1}'
    node = texts(*COMMAND, **{"main.yaml": MAIN}) | {"var/lib/kubelet/cpu_manager_state": state}
    requested = ("config", "check", "-m", captured(tmp_path, cpuctl, node), "-o", "json")
    findings = json.loads(cpuctl(*requested).out)["findings"]
    proposed = [each["fix"] for each in findings if each["fix"].startswith("cpuctl checkpoint ")]
    assert proposed
    for fix in proposed:
        words = shlex.split(fix)[1:]
        assert words[words.index("--kubelet-version") + 1] == "VERSION"
        done = cpuctl(*("1.36" if word == "VERSION" else word for word in words))
        assert done.code in (0, 3), done


def test_state_files_that_only_root_may_read_are_mentioned(
    stuck: str, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object) -> NoReturn:
        raise unreadable(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), stuck)

    monkeypatch.setattr("cpuctl.inputs.state_files.named_states", closed)
    monkeypatch.setattr("cpuctl.inputs.state_files._of_machine", closed)
    result = cpuctl("config", "check", *RELEASE, "-m", stuck, "-o", "json")
    answer = json.loads(result.out)
    assert (result.code, answer["start"]["outcome"]) == (3, "Undetermined")
    what = answer["notChecked"][0]["what"]
    assert what == ("state files: cannot be read: permission denied (see sudo cpuctl checkpoint verify)")
    assert cpuctl("config", "check", *RELEASE, "-m", stuck, "--state", stuck).code == 5


def test_a_machine_without_state_files_is_mentioned(archive: str, cpuctl: Cpuctl) -> None:
    unseen = document(cpuctl("config", "check", "-m", archive, "-o", "json"))["notChecked"][0]["what"]
    assert unseen == f"state files: {archive} has none (see cpuctl checkpoint verify STATE)"


@pytest.mark.parametrize("words", [("config", "check"), ("plan", "-T", "web=1/1,1Gi")])
def test_the_version_of_recorded_control_groups_is_detected(
    words: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    groups = {"sys/fs/cgroup/cpuset/cpuset.cpus": "0-7", "sys/fs/cgroup/memory/tasks": ""}
    archive = captured(tmp_path, cpuctl, texts(*COMMAND, **{"main.yaml": HEAD}) | groups)
    result = cpuctl(*words, "-m", archive, "--kubelet-version=1.36")
    assert result.code == 3
    assert "would not start" in result.out
    assert "kubelet is configured to not run on a host using cgroup v1" in result.out
    assert cpuctl(*words, "-m", archive, "--kubelet-version=1.34").code == 0
    assert cpuctl("config", "check", "-m", archive, "--cgroup-version=2").code == 0


@pytest.mark.parametrize("words", JUDGING, ids=lambda words: " ".join(words[:2]))
def test_releases_that_disagree_on_a_configuration_are_listed(
    words: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Since 1.35 a kubelet does not run on cgroup v1 unless configured to."""
    groups = {"sys/fs/cgroup/cpuset/cpuset.cpus": "0-7", "sys/fs/cgroup/memory/tasks": ""}

    def start(name: str, reported: str) -> dict[str, Any]:
        (tmp_path / name).mkdir()
        node = texts(*COMMAND, **{"main.yaml": HEAD + reported}) | groups
        answer = json.loads(cpuctl(*words, "-m", captured(tmp_path / name, cpuctl, node), "-o", "json").out)
        found: dict[str, Any] = answer["start"].get("from", answer["start"])
        return found

    default, refusing = start("default", ""), start("refusing", "failCgroupV1: true\n")
    assert default["outcome"] == refusing["outcome"] == "Undetermined"
    assert "kubelet 1.27 to 1.34 would start; kubelet 1.35 to 1.38 would not start: kub" in default["why"]
    assert (
        "kubelet 1.27 to 1.30 would start; kubelet 1.31 to 1.38 would not start, 1.36 with: kub"
        in refusing["why"]
    )
    assert start("taking", "failCgroupV1: false\n") == {"outcome": "Started"}
