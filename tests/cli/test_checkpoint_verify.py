"""``cpuctl checkpoint verify`` and ``cpuctl config check --state``: which kubelets start on which files."""

from __future__ import annotations

import json
import re
import shlex
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cpuctl.checkpoints.model import FROM_NODE
from cpuctl.records import replace
from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_golden import drawn_lines
from tests.support.schemas import follow_schema
from tests.support.state_files import (
    ALL_37,
    CPU_STATE,
    DB,
    GONE,
    KUBELET,
    MACHINE,
    MEMORY_STATE,
    PODS_36,
    RUNNING,
    V37,
    WEB,
    cpus,
    drifted,
    pod,
    write_pods,
    write_states,
)

Checkpoint = Callable[..., Result]
NODE = ("-m", MACHINE, "--kubelet-args", KUBELET)
V36 = ("--kubelet-version", "1.36")
PODS = ("--pods", "running.json")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a directory with state files of many kinds."""
    held_twice = {**CPU_STATE.entries, GONE: {"c": cpus("2,10")}}
    bubble = replace(CPU_STATE, default_cpu_set=cpus("0,4,6-8,12,14-15"), pod_entries={DB: cpus("1-3,9-11")})
    for name, cpu, memory, writer in (
        ("fine", CPU_STATE, MEMORY_STATE, None),
        ("newer", CPU_STATE, MEMORY_STATE, V37),
        ("odd", replace(CPU_STATE, entries=held_twice), MEMORY_STATE, None),
        ("drift", CPU_STATE, drifted(MEMORY_STATE, node=1, more=3 << 20), None),
        ("less", CPU_STATE, drifted(MEMORY_STATE, node=1, more=-(8 << 30)), None),
        ("other-policy", replace(CPU_STATE, policy_name="none"), None, None),
        ("overlap", replace(CPU_STATE, default_cpu_set=cpus("0-4,6-15")), None, None),
        ("pods-36", bubble, None, PODS_36),
        ("pods-37", bubble, None, ALL_37),
    ):
        write_states(tmp_path / name, cpu, memory, *(() if writer is None else (writer,)))
    wrong = write_states(tmp_path / "wrong", CPU_STATE, None) / "cpu_manager_state"
    wrong.write_text(wrong.read_text().replace('"checksum":', '"checksum":1'))
    torn = write_states(tmp_path / "torn", CPU_STATE, None) / "cpu_manager_state"
    torn.write_text(torn.read_text()[:40])
    (write_states(tmp_path / "promises") / "allocated_pods_state").write_text('{"data":"{}","checksum":1}')
    (tmp_path / "empty").mkdir()
    write_pods(tmp_path / "running.json")
    return tmp_path


@pytest.fixture
def verify(directory: Path, cpuctl: Cpuctl) -> Checkpoint:
    """Return a function that runs ``cpuctl checkpoint verify`` in that directory."""

    def call(*words: str, stdin: bytes = b"", columns: int = 120) -> Result:
        return cpuctl("checkpoint", "verify", *words, stdin=stdin, columns=columns, cwd=directory)

    return call


@dataclass(frozen=True)
class Case:
    name: str
    words: tuple[str, ...]
    code: int = 0


RESERVED = ("--kubelet-args", KUBELET.replace("0,8", "0-1,8-9"))
STRICT = ("--kubelet-args", f"{KUBELET} --cpu-manager-policy-options=strict-cpu-reservation=true")
GATE = ("--feature-gates", "PodLevelResourceManagers=true")
CASES = [
    Case("starts", ("fine", *NODE, *V36)),
    Case("starts with names", ("fine", *NODE, *V36, *PODS)),
    Case("a newer file", ("newer", *NODE, *V36)),
    Case("wrong, but accepted", ("odd", *NODE, *V36, *PODS)),
    Case("wrong, strictly", ("odd", *NODE, *V36, *PODS, "--strict"), 3),
    Case("reserved CPUs have changed", ("fine", *NODE, *RESERVED, *V36, *PODS), 3),
    Case("strict reservation", ("fine", *NODE, *STRICT, *V36), 3),
    Case("CPUs are missing", ("fine", "-m", f"{MACHINE},offline=13+15", *NODE[2:], *V36, *PODS), 3),
    Case("CPUs are new", ("fine", "-m", "synthetic:2s2n4c3t,mem=16Gi", *NODE[2:], *V36), 3),
    Case("benign drift", ("drift", *NODE, *V36), 3),
    Case("less memory than before", ("less", *NODE, *V36), 3),
    Case("huge pages", ("fine", "-m", f"{MACHINE},hugepages-2Mi=512", *NODE[2:], *V36), 3),
    Case("another policy", ("other-policy", *NODE, *V36), 3),
    Case("an overlap", ("overlap", *NODE, *V36, *PODS), 3),
    Case("a wrong checksum", ("wrong", *NODE, *V36), 3),
    Case("a truncated file", ("torn", *NODE, *V36), 3),
    Case("allocations that panic", ("promises", *NODE, *V36), 3),
    Case("a format of a gate", ("pods-36", *NODE, *V36), 3),
    Case("the gate", ("pods-36", *NODE, *V36, *GATE)),
    Case("the gate is off later", ("pods-37", *NODE, "--kubelet-version", "1.37"), 3),
    Case("no configuration", ("fine", *NODE, *V36, "--kubelet-args", "--cpu-manager-policy=Static"), 3),
    Case("a flag that cannot be read", ("fine", *NODE, *V36, "--kubelet-args", "--max-pods=many"), 3),
    Case("with --exit-zero", ("wrong", *NODE, *V36, "--exit-zero")),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("form", "width"), [("table", 80), ("wide", 160)])
def test_answers(case: Case, form: str, width: int, verify: Checkpoint, snapshot: SnapshotAssertion) -> None:
    result = verify(*case.words, "-o", form, columns=width)
    assert result.code == case.code
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]
    assert [line for line in drawn_lines(result.out) if len(line) > width] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_json_follows_the_schema_and_agrees_with_the_exit_code(case: Case, verify: Checkpoint) -> None:
    result = verify(*case.words, "-o", "json")
    document = answer(result)
    follow_schema(document)
    assert result.code == case.code
    if not {"--strict", "--exit-zero"} & {*case.words}:
        assert (document["start"]["outcome"] == "Started") == (result.code == 0)


COMMAND = re.compile(r"cpuctl (checkpoint (?:repair|migrate).*)")
PROPOSING = [case for case in CASES if not {"--strict", "--exit-zero"} & {*case.words}]


@pytest.mark.parametrize("check_command", [("checkpoint", "verify"), ("config", "check")], ids=" ".join)
@pytest.mark.parametrize("case", PROPOSING, ids=lambda case: case.name)
def test_a_proposed_command_fixes_its_finding(
    case: Case, check_command: tuple[str, ...], directory: Path, cpuctl: Cpuctl
) -> None:
    """Run each proposed command as it stands, and check what it writes."""
    state, *others = case.words
    if check_command == ("config", "check"):
        others = [word for word in others if word not in PODS]
    found = answer(cpuctl(*check_command, "--state", state, *others, "-o", "json", cwd=directory))
    proposed = [(each, COMMAND.search(each["fix"])) for each in found["findings"]]
    for number, (finding, command) in enumerate(proposed):
        if command is None or "then cpuctl" in finding["fix"]:
            continue
        words = shlex.split(command[1])
        pods = [str(directory / "running.json") if word == "FILE" else word for word in words]
        done = cpuctl(*pods, "--write-state", f"new{number}", cwd=directory)
        assert done.code == 0, (finding, done)
        after = answer(
            cpuctl(*check_command, "--state", f"new{number}", *others, "-o", "json", cwd=directory)
        )
        assert after["start"] == {"outcome": "Started"}, finding
        assert finding["code"] not in {each["code"] for each in after["findings"]}, finding


@pytest.mark.parametrize("case", PROPOSING, ids=lambda case: case.name)
def test_a_command_proposed_by_a_migration_fixes_its_finding(
    case: Case, directory: Path, cpuctl: Cpuctl
) -> None:
    """Another command, with the given options: a migration that was rejected is not proposed again."""
    state, *others = case.words
    if "--kubelet-version" not in others:
        return
    place = others.index("--kubelet-version")
    words = (state, *others[:place], "--to", *others[place + 1 :])
    migrated = cpuctl("checkpoint", "migrate", *words, "-o", "json", cwd=directory)
    if not migrated.out:
        return
    for number, each in enumerate((answer(migrated)["proof"] or {"findings": []})["findings"]):
        assert "checkpoint migrate" not in each["fix"]
        command = COMMAND.search(each["fix"])
        if command is None or "then cpuctl" in each["fix"]:
            continue
        requested = [
            str(directory / "running.json") if word == "FILE" else word for word in shlex.split(command[1])
        ]
        done = cpuctl(*requested, "--write-state", f"new{number}", cwd=directory)
        assert done.code == 0, (each, done)
        after = answer(cpuctl("checkpoint", "verify", f"new{number}", *others, "-o", "json", cwd=directory))
        assert each["code"] not in {left["code"] for left in after["findings"]}, each


@pytest.mark.parametrize("case", PROPOSING, ids=lambda case: case.name)
def test_a_repair_does_not_propose_itself(case: Case, directory: Path, cpuctl: Cpuctl) -> None:
    result = cpuctl("checkpoint", "repair", *case.words, cwd=directory)
    assert "fix: cpuctl checkpoint repair" not in result.out


@pytest.mark.parametrize(("threads", "deleted"), [(3, "its state files"), (2, "memory_manager_state")])
def test_a_fix_of_all_findings_is_shown_once(threads: int, deleted: str, verify: Checkpoint) -> None:
    """The memory of a pod no longer fits, which also keeps new CPUs from being added to the other file."""
    words = ("fine", "-m", f"synthetic:2s2n4c{threads}t,mem=3Gi", *NODE[2:], *V36)
    assert len({each["fix"] for each in answer(verify(*words, "-o", "json"))["findings"]}) == 1
    first, command = verify(*words).out.partition("\nNext, to repair the state files: ")[2].splitlines()[:2]
    assert (
        first == f"drain the node and delete {deleted}, or remove {DB} {FROM_NODE}, list its pods again, then"
    )
    assert command.startswith("  cpuctl checkpoint repair fine ")


def answer(result: Result) -> Any:
    assert result.out, result.err
    return json.loads(result.out)


def test_yaml_is_the_same_answer(verify: Checkpoint) -> None:
    words = ("odd", *NODE, *V36, *PODS)
    assert yaml.safe_load(verify(*words, "-o", "yaml").out) == answer(verify(*words, "-o", "json"))


def test_a_release_is_assumed_if_all_give_the_same_answer(verify: Checkpoint) -> None:
    """The release is named; without it, a file that other releases would reject is not reported as fine."""
    result = verify("fine", *NODE, "-o", "json")
    assert (result.code, answer(result)["start"]) == (0, {"outcome": "Started"})
    assert answer(result)["sources"]["kubeletVersion"] == {"value": "1.36", "from": "default"}
    assert "note: kubelet version: 1.36 (default)" in verify("fine", *NODE).err


def test_a_broken_configuration_is_rejected_with_or_without_a_release(verify: Checkpoint) -> None:
    config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: many\n"
    words = ("fine", "-m", MACHINE, "--kubelet-config", "-", "-o", "json")
    starts = [
        answer(verify(*words, *release, stdin=config.encode()))["start"]["outcome"] for release in ((), V36)
    ]
    assert starts == ["Rejected", "Rejected"]


def test_drift_after_a_reboot_differs_from_a_real_change(verify: Checkpoint) -> None:
    benign = answer(verify("drift", *NODE, *V36, "-o", "json"))
    assert benign["memoryDrift"] == {
        "kind": "benign",
        "podsNoLongerFit": False,
        "changes": [
            {
                "numaNode": 1,
                "resource": "memory",
                "field": "total",
                "saved": (16 << 30) + (3 << 20),
                "now": 16 << 30,
                "cause": "reboot",
            }
        ],
    }
    assert [finding["code"] for finding in benign["findings"]] == ["memory-drift"]
    pages = answer(verify("fine", "-m", f"{MACHINE},hugepages-2Mi=512", *NODE[2:], *V36, "-o", "json"))
    assert pages["memoryDrift"]["kind"] == "real"
    assert {change["cause"] for change in pages["memoryDrift"]["changes"]} == {"hugePages"}


def test_memory_that_no_longer_fits_is_not_benign_drift(verify: Checkpoint, directory: Path) -> None:
    """The memory of a NUMA node was in use to the last byte."""
    full = drifted(MEMORY_STATE, node=1, more=(2 << 30) - (16 << 30))
    write_states(directory / "full", CPU_STATE, drifted(full, node=1, more=1 << 20))
    words = ("full", "-m", "synthetic:2s2n4c2t,mem=16Gi", *NODE[2:], *V36, "-o", "json")
    assert answer(verify(*words))["memoryDrift"]["kind"] == "real"


def test_disabling_the_gate_loses_cpus_that_only_pods_hold(verify: Checkpoint) -> None:
    off = answer(verify("pods-37", *NODE, "--kubelet-version", "1.37", "-o", "json"))
    assert "pod-cpus-unread" in {finding["code"] for finding in off["findings"]}
    assert 'current set of available CPUs "0-15"' in off["start"]["error"]
    on = verify("pods-37", *NODE, "--kubelet-version", "1.37", *GATE, "-o", "json")
    assert on.code == 0


def test_the_kubelets_root_directory_is_in_its_error(verify: Checkpoint) -> None:
    result = verify(
        "wrong", *NODE, *V36, "--kubelet-args", f"{KUBELET} --root-dir=/data/kubelet", "-o", "json"
    )
    assert 'checkpoint file "/data/kubelet/cpu_manager_state"' in answer(result)["start"]["error"]


def test_an_empty_directory_has_no_state_file(verify: Checkpoint) -> None:
    result = verify("empty", *NODE, *V36)
    assert (result.code, result.out) == (4, "")


def test_errors_that_quote_a_file_are_truncated(verify: Checkpoint, directory: Path) -> None:
    odd = ",".join(str(number) for number in range(0, 20_000, 2))
    text = f'{{"policyName":"static","defaultCpuSet":"{odd}","checksum":0}}'
    (directory / "fine" / "cpu_manager_state").write_text(text)
    result = verify("fine/cpu_manager_state", *NODE, *V36, "-o", "json")
    assert result.code == 3
    error = answer(result)["start"]["error"]
    assert error.endswith(" characters)")
    assert len(error) < 5000


def test_control_characters_of_a_file_do_not_reach_the_terminal(verify: Checkpoint, directory: Path) -> None:
    text = '{"policyName":"\\u001b[31mred\\n","defaultCpuSet":"0","checksum":0}'
    (directory / "fine" / "cpu_manager_state").write_text(text)
    result = verify("fine", *NODE, *V36)
    assert "\x1b" not in result.out + result.err
    assert "\\x1b[31mred" in result.out


def test_metrics_of_a_verdict(verify: Checkpoint) -> None:
    lines = verify("wrong", *NODE, *V36, "-o", "prom").out.splitlines()
    assert "cpuctl_checkpoint_starts 0" in lines
    assert 'cpuctl_checkpoint_findings{severity="error"} 1' in lines


def check(cpuctl: Cpuctl, directory: Path, *words: str) -> Result:
    return cpuctl("config", "check", *words, cwd=directory)


def test_config_check_gives_the_same_answer(cpuctl: Cpuctl, directory: Path) -> None:
    fine = check(cpuctl, directory, *NODE, *V36, "--state", "fine", "-o", "json")
    assert (fine.code, answer(fine)["start"]) == (0, {"outcome": "Started"})
    wrong = check(cpuctl, directory, *NODE, *V36, "--state", "wrong", "-o", "json")
    document = answer(wrong)
    follow_schema(document, "configcheck")
    assert wrong.code == 3
    assert document["start"]["stage"] == "cpuManagerStart"
    found = [(each["severity"], each["code"], each["where"]) for each in document["findings"]]
    assert found[0] == ("error", "unreadable", "wrong/cpu_manager_state")
    assert document["summary"]["error"] == 1
    assert document["sources"]["cpuManagerState"] == {"value": "wrong/cpu_manager_state", "from": "given"}


def test_config_check_assumes_a_release_for_state_files_too(cpuctl: Cpuctl, directory: Path) -> None:
    result = check(cpuctl, directory, *NODE, "--state", "fine")
    assert (result.code, "Kubelet 1.36 would start" in result.out) == (0, True)
    assert "state files" not in result.out
    assert check(cpuctl, directory, *NODE).code == 0


def test_config_check_does_not_read_state_files_that_are_not_named(cpuctl: Cpuctl, directory: Path) -> None:
    document = answer(check(cpuctl, directory, *NODE, *V36, "-o", "json"))
    assert not {"cpuManagerState", "memoryManagerState"} & document["sources"].keys()


def test_what_pods_request_is_compared_with_what_they_hold(verify: Checkpoint, directory: Path) -> None:
    larger = json.loads(json.dumps(RUNNING[1]).replace('"cpu": "2"', '"cpu": "4"'))
    write_pods(directory / "running.json", RUNNING[0], larger)
    one = replace(CPU_STATE, entries={WEB: CPU_STATE.entries[WEB]}, default_cpu_set=cpus("0-4,6-12,14-15"))
    write_states(directory / "fine", one)
    document = answer(verify("fine", *NODE, *V36, *PODS, "-o", "json"))
    found = {finding["code"]: finding["podUID"] for finding in document["findings"]}
    assert found == {"not-recorded": DB, "other-size": WEB}


def test_a_pod_with_a_pending_resize_is_compared_by_its_allocated_resources(
    verify: Checkpoint, directory: Path
) -> None:
    larger = json.loads(json.dumps(RUNNING[1]).replace('"cpu": "2"', '"cpu": "4"'))
    larger["status"]["containerStatuses"][0]["allocatedResources"] = {"cpu": "2", "memory": "2Gi"}
    larger["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]
    write_pods(directory / "running.json", RUNNING[0], larger)
    assert answer(verify("fine", *NODE, *V36, *PODS, "-o", "json"))["findings"] == []


def test_the_running_kubelets_answers_are_compared_with_the_files(
    verify: Checkpoint, directory: Path
) -> None:
    answers = directory / "answers.json"
    answers.write_text('{"pod_resources": []}\n---\n{"cpu_ids": [1, 2]}\n')
    words = ("fine", *NODE, *V36, *PODS, "--pod-resources", "answers.json", "-o", "json")
    result = verify(*words)
    document = json.loads(result.out)
    codes = {each["code"] for each in document["findings"]}
    assert codes == {"pod-not-listed", "allocatable-differs"}
    assert (result.code, document["start"]["outcome"]) == (0, "Started")
    assert verify(*words, "--strict").code == 3
    nameless = verify("fine", *NODE, *V36, "--pod-resources", "answers.json")
    assert (
        "warning: pods (--pods): which pods the kubelet's answers (--pod-resources) belong to is unknown"
        in nameless.err
    )


def test_a_kubelet_that_does_not_answer_is_reported(verify: Checkpoint) -> None:
    result = verify("fine", *NODE, *V36, *PODS, "--pod-resources", "no.sock")
    assert result.code == 0
    assert "warning: the kubelet's answer (--pod-resources): no.sock: " in result.err


def test_a_recording_has_no_running_kubelet(verify: Checkpoint) -> None:
    result = verify("fine", *NODE, *V36, "--pod-resources")
    assert (result.code, "a recording has no running kubelet" in result.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("checkpoint", "verify", *V36),
        ("checkpoint", "dump"),
        ("checkpoint", "migrate", "--to", "1.36"),
        ("checkpoint", "repair", *V36),
        ("plan", "-T", "a=1", *NODE),
        ("config", "check", *NODE),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_an_unrelated_archive_is_an_error_that_says_what_is_expected(
    words: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    (tmp_path / "readme.txt").write_text("hello")
    with tarfile.open(tmp_path / "other.tgz", "w:gz") as archive:
        archive.add(tmp_path / "readme.txt", "readme.txt")
    result = cpuctl(*words, "--state", "other.tgz", cwd=tmp_path)
    assert (result.code, result.out) == (4, "")
    error, hint = result.err.splitlines()[-2:]
    assert error.startswith("error: other.tgz: contains no sys/ directory")
    assert "cpu_manager_state" in hint
    assert "the directory that contains them, or a recording" in hint
    assert "a recording contains sys/devices/system/cpu" in hint


def test_cpus_that_are_only_offline_can_be_brought_back(verify: Checkpoint) -> None:
    """CPUs that do not exist on the machine cannot."""
    found = [
        {
            each["message"]
            for each in answer(verify("fine", "-m", machine, *NODE[2:], *V36, "-o", "json"))["findings"]
            if each["code"] == "no-such-cpus"
        }
        for machine in (f"{MACHINE},offline=15", "synthetic:2s2n3c2t,mem=16Gi")
    ]
    online = "offline: bring it online (chcpu --enable 15), or repair the file"
    assert found[0] == {f"CPU 15 of the shared pool is {online}"}
    assert found[1]
    assert not any("chcpu" in message for message in found[1])


STATIC = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")


def test_without_state_files_nothing_is_checked(cpuctl: Cpuctl) -> None:
    words = ("checkpoint", "verify", "fixtures/openshift/must-gather.tar.xz")
    answer = cpuctl(*words, "-q")
    assert answer.code == 3
    unknown = "Whether kubelet 1.32.9 would start is unknown: the state files are not in the recording\n"
    assert answer.out.startswith(unknown)
    assert answer.out.endswith("Next, on the node: sudo cpuctl checkpoint verify\n")
    assert "see: " not in answer.out
    assert "warning" not in answer.err
    assert "warning: no state files: nothing was checked" in cpuctl(*words, "-o", "json").err


def test_one_command_repairs_what_several_findings_report(cpuctl: Cpuctl) -> None:
    node = "fixtures/nodes/v2-2-numa"
    words = ("-m", f"{node}/node.tar.xz", "--kubelet-version", "1.36", "--pods", f"{node}/pods.json")
    answer = cpuctl("checkpoint", "verify", *words, "-q")
    repair = f"cpuctl checkpoint repair {' '.join(words)}\n"
    assert answer.out.count("cpuctl checkpoint repair ") == 1, answer.out
    assert f"\nNext, to repair the state files: {repair}" in answer.out


def test_no_repair_is_proposed_for_the_pods_of_another_node(cpuctl: Cpuctl, directory: Path) -> None:
    write_pods(directory / "others.json", pod("uid-elsewhere", "x", "c", 1, 1))
    words = ("fine", *NODE, *V36, "--pods", "others.json")
    answer = cpuctl("checkpoint", "verify", *words, cwd=directory).out
    assert answer.count("check that --pods lists all pods of this node") == 1
    assert "checkpoint repair" not in answer


def test_no_repair_is_proposed_while_the_configuration_keeps_the_kubelet_from_starting(
    cpuctl: Cpuctl,
) -> None:
    """The repair would refuse to change anything; a setting may be what makes the files wrong."""
    node = "fixtures/nodes/v2-2-numa"
    words = ("-m", f"{node}/node.tar.xz", "--pods", f"{node}/pods.json", "--kubelet-version", "1.35")
    policy = ("--kubelet-args", "--cpu-manager-policy=none", "-q")
    answer = cpuctl("checkpoint", "verify", *words, *policy).out
    assert "warning: cpu_manager_state: " in answer
    assert answer.splitlines()[-1].startswith("Next, to see what to change: cpuctl config check ")
    assert "checkpoint repair" not in answer
    assert "not changed: " in cpuctl("checkpoint", "repair", *words, *policy).out


def test_commands_after_words_are_lines_of_their_own(cpuctl: Cpuctl) -> None:
    node = "fixtures/nodes/hybrid-8-numa/node.tar.xz"
    machine = ("-m", "synthetic:1s1n8c1t,mem=8Gi", "--kubelet-version", "1.36")
    answer = cpuctl("checkpoint", "verify", node, *machine, *STATIC, "-q").out
    removal = f"remove a pod that has exclusive CPUs {FROM_NODE}, list its pods again, then"
    first = f"repair the state files: {removal}\n"
    repair, meaning = answer.partition(first)[2].splitlines()[:2]
    assert repair.startswith(f"  cpuctl checkpoint repair {node} -m {machine[1]} ")
    assert repair.endswith(" --pods FILE")
    assert meaning.startswith("FILE: ")
