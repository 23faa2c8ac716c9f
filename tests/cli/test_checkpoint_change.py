"""``cpuctl checkpoint migrate``, ``repair`` and ``new``: what they write, reject and lose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.records import replace
from tests.capture.node_texts import written as written_tree
from tests.cli.conftest import ROOT, Cpuctl, Result
from tests.cli.test_differences import HEAD
from tests.cli.test_golden import drawn_lines
from tests.machine.sysfs_writer import small_machine
from tests.support.schemas import follow_schema
from tests.support.state_files import (
    ALL_37,
    CPU_STATE,
    DB,
    GONE,
    KUBELET,
    MACHINE,
    MEMORY_STATE,
    RUNNING,
    V37,
    WEB,
    block,
    cpus,
    drifted,
    pod,
    write_pods,
    write_states,
)
from tests.support.state_files import V36 as WRITER_36

Checkpoint = Callable[..., Result]
NODE = ("-m", MACHINE, "--kubelet-args", KUBELET)
V36 = ("--kubelet-version", "1.36")


def on(machine: str) -> tuple[str, ...]:
    """Return the options of a 1.36 kubelet on another machine."""
    return ("-m", machine, *NODE[2:], *V36)


ON_36 = on(MACHINE)
PODS = ("--pods", "running.json")
RECORDED = str(ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz")
RESERVED = KUBELET.replace("0,8", "0-1,8-9")
STRICT = f"{KUBELET} --cpu-manager-policy-options=strict-cpu-reservation=true"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a directory with state files of many kinds."""
    bubble = replace(
        CPU_STATE,
        default_cpu_set=cpus("0,4,6-8,12,14-15"),
        pod_entries={DB: cpus("1-3,9-11")},
        baselines={WEB: {"app": cpus("5")}, DB: {"server": cpus("1-2,9-10")}},
    )
    covered = replace(CPU_STATE, pod_entries={DB: cpus("1-2,9-10")}, baselines=bubble.baselines)
    odd = replace(
        CPU_STATE,
        default_cpu_set=cpus("0,3-4,6-8,11-12"),
        entries={**CPU_STATE.entries, GONE: {"c": cpus("2,10")}},
    )
    every = replace(CPU_STATE, default_cpu_set=cpus("0,8"), entries={DB: {"server": cpus("1-7,9-15")}})
    gone = {**MEMORY_STATE.entries, GONE: {"c": (block(1 << 30),)}}
    for name, cpu, memory, writer in (
        ("fine", CPU_STATE, MEMORY_STATE, WRITER_36),
        ("newest", bubble, MEMORY_STATE, ALL_37),
        ("covered", covered, MEMORY_STATE, ALL_37),
        ("odd", odd, replace(MEMORY_STATE, entries=gone), WRITER_36),
        ("drift", CPU_STATE, drifted(MEMORY_STATE, node=1, more=3 << 20), WRITER_36),
        ("full", every, None, WRITER_36),
        ("none", replace(CPU_STATE, policy_name="none", entries={}), None, WRITER_36),
    ):
        write_states(tmp_path / name, cpu, memory, writer)
    wrong = write_states(tmp_path / "wrong", CPU_STATE, None) / "cpu_manager_state"
    wrong.write_text(wrong.read_text().replace('"checksum":', '"checksum":1'))
    (tmp_path / "torn").write_text(wrong.read_text()[:40])
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "cpu_manager_state").write_text(
        '{"policyName":"static","defaultCpuSet":"0-2,4,6-10,12,14-15",'
        '"entries":{"aaaa":"5,13","cccc":"3,11"},"checksum":0}'
    )
    broken = write_states(tmp_path / "broken", CPU_STATE, None, V37) / "cpu_manager_state"
    broken.write_text(broken.read_text().replace('"data":"{', '"data":"', 1))
    (tmp_path / "new").mkdir()
    write_pods(tmp_path / "running.json")
    return tmp_path


@pytest.fixture
def checkpoint(directory: Path, cpuctl: Cpuctl) -> Checkpoint:
    """Return a function that runs ``cpuctl checkpoint`` in that directory."""

    def call(*words: str, stdin: bytes = b"", columns: int = 120) -> Result:
        return cpuctl("checkpoint", *words, stdin=stdin, columns=columns, cwd=directory)

    return call


@dataclass(frozen=True)
class Case:
    name: str
    words: tuple[str, ...]
    code: int = 0


NEW = ("-f", "running.json")
GATE = ("--feature-gates", "PodLevelResourceManagers=true")
NO_POLICY = ("--kubelet-args", "--cpu-manager-policy=x")
CASES = [
    Case("migrate up", ("migrate", "fine", "--to", "1.37")),
    Case("migrate down", ("migrate", "covered", "--to", "1.36", *PODS)),
    Case("migrate down with the same gates", ("migrate", "newest", "--to", "1.36", *GATE)),
    Case("migrate CPUs that only pods hold", ("migrate", "newest", "--to", "1.36", *PODS), 3),
    Case("migrate container IDs", ("migrate", "v1", "--to", "1.37", *PODS), 3),
    Case("migrate a wrong checksum", ("migrate", "wrong", "--to", "1.37"), 3),
    Case("migrate, proven", ("migrate", "fine", "--to", "1.37", *NODE)),
    Case("migrate what does not start", ("migrate", "drift", "--to", "1.37", *NODE), 3),
    Case("repair a broken part", ("repair", "broken", *NODE, "--kubelet-version", "1.37", *PODS)),
    Case("repair nothing", ("repair", "fine", *ON_36, *PODS)),
    Case("repair a checksum", ("repair", "wrong", *ON_36)),
    Case("repair an overlap, missing pods and lost CPUs", ("repair", "odd", *ON_36, *PODS)),
    Case("repair without pods", ("repair", "odd", *ON_36)),
    Case("repair after CPUs were reserved", ("repair", "fine", *ON_36, "--kubelet-args", RESERVED, *PODS)),
    Case("repair for strict reservation", ("repair", "fine", *ON_36, "--kubelet-args", STRICT)),
    Case("repair after CPUs were removed", ("repair", "fine", *on(f"{MACHINE},offline=5+9"), *PODS)),
    Case("repair after CPUs were added", ("repair", "fine", *on("synthetic:2s2n4c3t,mem=16Gi"))),
    Case("repair with too few CPUs", ("repair", "full", *on(f"{MACHINE},offline=5")), 3),
    Case("repair after a reboot", ("repair", "drift", *ON_36)),
    Case("repair with less memory", ("repair", "fine", *on("synthetic:2s2n4c2t,mem=3Gi"), *PODS), 3),
    Case("repair for no policy", ("repair", "fine", *ON_36, "--kubelet-args", "--max-pods=9", *PODS)),
    Case("repair for a policy", ("repair", "none", *ON_36)),
    Case("repair without the gate", ("repair", "newest", *NODE, "--kubelet-version", "1.37", *PODS)),
    Case("repair container IDs", ("repair", "v1", *ON_36, *PODS)),
    Case("repair unknown container IDs", ("repair", "v1", *ON_36), 3),
    Case("repair a newer file", ("repair", "newest", *ON_36)),
    Case(
        "repair a wrong configuration",
        ("repair", "wrong", *ON_36, *NO_POLICY),
        3,
    ),
    Case("new", ("new", *ON_36, *NEW)),
    Case("new without pods", ("new", *NODE, "--kubelet-version", "1.37")),
    Case("new, rejected", ("new", *ON_36, "-T", "big=40/40,1Gi"), 3),
    Case("new, not started", ("new", *ON_36, *NO_POLICY), 3),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("form", "width"), [("table", 80), ("wide", 160)])
def test_answers(
    case: Case, form: str, width: int, checkpoint: Checkpoint, snapshot: SnapshotAssertion
) -> None:
    result = checkpoint(*case.words, "-o", form, columns=width)
    assert result.code == case.code
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]
    assert [line for line in drawn_lines(result.out) if len(line) > width] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_json_follows_the_schema_and_nothing_is_written(
    case: Case, checkpoint: Checkpoint, directory: Path
) -> None:
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    result = checkpoint(*case.words, "-o", "json")
    document = answer(result)
    follow_schema(document)
    assert (result.code, document["written"]) == (case.code, False)
    assert (document["outcome"] == "Rejected") == (result.code == 3)
    assert {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()} == before


def answer(result: Result) -> Any:
    assert result.out, result.err
    return json.loads(result.out)


def test_yaml_is_the_same_answer(checkpoint: Checkpoint) -> None:
    words = ("repair", "odd", *ON_36, *PODS)
    assert yaml.safe_load(checkpoint(*words, "-o", "yaml").out) == answer(checkpoint(*words, "-o", "json"))


def written(directory: Path, name: str = "cpu_manager_state") -> str:
    return (directory / "new" / name).read_text()


REPAIRED = [case for case in CASES if case.words[0] == "repair" and case.code == 0]


@pytest.mark.parametrize("case", REPAIRED, ids=lambda case: case.name)
def test_a_kubelet_starts_on_what_was_repaired(case: Case, checkpoint: Checkpoint, directory: Path) -> None:
    assert checkpoint(*case.words, "--write-state", "new", "-q").code == 0
    assert checkpoint("verify", "new", *case.words[2:]).code == 0


def test_a_repaired_file_is_not_repaired_again(checkpoint: Checkpoint) -> None:
    assert checkpoint("repair", "odd", *ON_36, *PODS, "--write-state", "new", "-q").code == 0
    again = answer(checkpoint("repair", "new", *ON_36, *PODS, "-o", "json"))
    assert again["outcome"] == "Unchanged"
    assert [file["actions"] for file in again["files"]] == [[], []]


@pytest.mark.parametrize("case", REPAIRED, ids=lambda case: case.name)
def test_new_checksums_are_those_of_the_new_files(
    case: Case, checkpoint: Checkpoint, directory: Path
) -> None:
    """They cover what is repaired, not what was read."""
    result = answer(checkpoint(*case.words, "--write-state", "new", "-o", "json"))
    for file in result["files"]:
        for action in file["actions"]:
            if action["kind"] == "checksum":
                assert f'"checksum":{action["after"]}}}' in written(directory, file["file"])


def test_the_verdict_is_on_the_changes_that_are_shown(checkpoint: Checkpoint) -> None:
    """New CPUs are added, but the memory of a pod no longer fits: only that is left to solve."""
    words = ("repair", "fine", *on("synthetic:2s2n4c3t,mem=3Gi"), *PODS)
    repaired = answer(checkpoint(*words, "-o", "json"))
    assert [file["outcome"] for file in repaired["files"]] == ["changed", "rejected"]
    assert "expected machine state" in repaired["proof"]["start"]["error"]
    assert {each["file"] for each in repaired["proof"]["findings"]} == {"memory_manager_state"}
    shown = checkpoint(*words).out
    assert "\nWith these changes, kubelet 1.36 would not start: [memorymanager]" in shown
    because = "because memory_manager_state cannot be changed safely"
    assert f"\nNothing was written, {because}.\nNext, for memory_manager_state: drain the node and " in shown


def test_a_wrong_checksum_of_a_newer_format_is_dropped_with_it(
    checkpoint: Checkpoint, directory: Path
) -> None:
    file = write_states(directory / "newer", CPU_STATE, None, V37) / "cpu_manager_state"
    file.write_text(re.sub(r'([cC]hecksum\\?"):', r"\1:1", file.read_text()))
    (changed,) = answer(checkpoint("repair", "newer", *ON_36, "-o", "json"))["files"]
    assert [(each["reason"], bool(each["after"])) for each in changed["actions"]] == [
        ("checksum does not match the content", True),
        ("dataChecksum does not match the content, and format V2 does not have it", False),
    ]


def test_without_a_configuration_a_policy_is_only_the_default(checkpoint: Checkpoint) -> None:
    result = answer(checkpoint("verify", "fine", "-m", RECORDED, *V36, "-o", "json"))
    found = {each["code"]: each for each in result["findings"]}
    finding = found["policy-differs"]
    assert finding["severity"] == "warning"
    assert "no kubelet configuration was found" in finding["message"]
    assert finding["fix"] == "pass the configuration: --kubelet-config FILE"
    verdicts = {each["file"]: each["verdict"] for each in result["files"]}
    assert verdicts["cpu_manager_state"] == result["start"]
    assert result["start"]["outcome"] == verdicts["memory_manager_state"]["outcome"] == "Undetermined"
    shown = checkpoint("verify", "fine", "-m", RECORDED, *V36).out
    assert shown.count('configured policy "none" differs') == 1
    assert "rejected" not in shown


def test_without_a_configuration_a_repair_says_the_same_at_its_beginning_and_end(
    checkpoint: Checkpoint,
) -> None:
    """What is not written is not what the last sentence is about."""
    words = ("repair", "fine", "-m", RECORDED, *V36)
    changed = answer(checkpoint(*words, "-o", "json"))
    (refused,) = {each["reason"] for each in changed["files"] if each["outcome"] == "rejected"}
    assert "with the default configuration, it would not start" in refused
    assert refused.endswith(changed["proof"]["start"]["why"])
    assert "it would start" not in checkpoint(*words).out


def test_a_checksum_of_the_original_content_is_not_repaired_with_it(
    checkpoint: Checkpoint, directory: Path
) -> None:
    file = directory / "fine" / "cpu_manager_state"
    original = file.read_text()
    file.write_text(original.replace('"defaultCpuSet":"0,3', '"defaultCpuSet":"0'))
    assert file.read_text() != original
    words = ("repair", "fine", *ON_36, *PODS)
    (changed, _) = answer(checkpoint(*words, "-o", "json", "--write-state", "new"))["files"]
    assert [each["kind"] for each in changed["actions"]] == ["pool"]
    assert written(directory) == original


def test_a_file_in_another_form_is_written_again(checkpoint: Checkpoint, directory: Path) -> None:
    """The checksum, which the kubelet computes from its own form, is the same."""
    file = directory / "fine" / "cpu_manager_state"
    original = file.read_text()
    file.write_text(original.replace('"5,13"', '"5,13,13"'))
    assert file.read_text() != original
    (changed, _) = answer(checkpoint("repair", "fine", *ON_36, *PODS, "-o", "json"))["files"]
    assert [(each["kind"], each["reason"]) for each in changed["actions"]] == [
        ("format", "the content is not written as the kubelet writes it")
    ]


def test_a_mounted_disk_without_state_files_is_no_recording(checkpoint: Checkpoint, directory: Path) -> None:
    """All of the node's files are there, so it is not unknown whether it has state files."""
    machine = small_machine() | {"var/lib/kubelet/config.yaml": HEAD}
    written_tree(machine, directory / "disk")
    for words in (
        ("repair",),
        ("migrate", "--to", "1.37", "--kubelet-config", "disk/var/lib/kubelet/config.yaml"),
    ):
        nothing = checkpoint(*words, "--root", "disk", *(V36 if words[0] == "repair" else ()), "-q")
        assert (nothing.code, nothing.out) == (4, "")
        assert (
            f"disk: found no state file to {words[0]}\nhint: without state files, the kubelet starts"
            in nothing.err
        )
        recorded = checkpoint(*words, "-m", "disk", *(V36 if words[0] == "repair" else ()), "-q")
        assert "disk: the state files are not in the recording\n" in recorded.err


def test_containers_keep_the_cpus_that_are_still_allowed(checkpoint: Checkpoint, directory: Path) -> None:
    words = ("repair", "fine/cpu_manager_state", *ON_36, "--kubelet-args", RESERVED, *PODS)
    assert checkpoint(*words, "--write-state", "new", "-q").code == 0
    state = read_cpu_state(written(directory), WRITER_36)
    assert isinstance(state, CPUStateFile)
    server = state.entries[DB]["server"]
    assert len(server) == 4
    assert cpus("2,10") <= server, "kept"
    assert server - cpus("2,10") <= cpus("3,11"), "a whole core of the same NUMA node in their place"
    assert state.entries[WEB] == CPU_STATE.entries[WEB]


def test_migrating_up_and_down_again_changes_nothing(checkpoint: Checkpoint, directory: Path) -> None:
    before = (directory / "fine" / "cpu_manager_state").read_text()
    (directory / "up").mkdir()
    assert checkpoint("migrate", "fine", "--to", "1.38", "--write-state", "up", "-q").code == 0
    assert checkpoint("migrate", "up", "--to", "1.30", "--write-state", "new", "-q").code == 0
    assert written(directory) == before
    memory = (directory / "fine" / "memory_manager_state").read_text()
    assert written(directory, "memory_manager_state") == memory


def test_container_ids_are_replaced_with_names_if_all_are_known(
    checkpoint: Checkpoint, directory: Path
) -> None:
    """With the names that a kubelet up to 1.36 would write."""
    pods = json.loads(json.dumps(RUNNING).replace('"containerd://bbbb"', '"containerd://cccc"'))
    write_pods(directory / "running.json", *pods)
    words = ("migrate", "v1", "--to", "1.37", *PODS, "--write-state", "new", "-q")
    assert checkpoint(*words).code == 0
    state = read_cpu_state(written(directory), V37)
    assert isinstance(state, CPUStateFile)
    assert state.entries == {DB: {"server": cpus("5,13")}, WEB: {"app": cpus("3,11")}}


def test_losses_are_reported(checkpoint: Checkpoint) -> None:
    document = answer(checkpoint("migrate", "covered", "--to", "1.36", *PODS, "-o", "json"))
    losses = document["files"][0]["losses"]
    assert [(loss["kind"], loss["holder"]["pod"], loss["before"]) for loss in losses] == [
        ("podCPUs", "db", "1-2,9-10"),
        ("baseline", "web", "5"),
    ]


def test_the_new_files_match_the_plan(checkpoint: Checkpoint, cpuctl: Cpuctl, directory: Path) -> None:
    assert checkpoint("new", *ON_36, *NEW, "--write-state", "new", "-q").code == 0
    planned = cpuctl("plan", *ON_36, *NEW, "-o", "json", cwd=directory)
    state = read_cpu_state(written(directory), WRITER_36)
    assert isinstance(state, CPUStateFile)
    for each in answer(planned)["pods"]:
        for container in each["containers"]:
            assert str(state.entries[each["uid"]][container["name"]]) == container["cpus"]


def test_the_release_is_never_guessed(checkpoint: Checkpoint) -> None:
    for words in (("repair", "fine", *NODE), ("new", *NODE, *NEW), ("migrate", "fine")):
        result = checkpoint(*words)
        assert (result.code, result.out) == (2, "")


def test_what_cannot_be_read_is_an_error(checkpoint: Checkpoint) -> None:
    result = checkpoint("repair", "torn", *ON_36)
    assert (result.code, result.out) == (4, "")
    assert (
        "error: torn: is not a state file: unexpected end of JSON input\nhint: expected cpu_manager_state"
        in result.err
    )


def test_the_exit_code_shows_that_something_would_change(checkpoint: Checkpoint) -> None:
    assert checkpoint("repair", "wrong", *ON_36, "--exit-code").code == 3
    assert checkpoint("repair", "fine", *ON_36, "--exit-code").code == 0
    assert checkpoint("migrate", "fine", "--to", "1.37", "--exit-code").code == 3


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("repair", "fine", *ON_36, "--yes", "--write-state", "new"), "cannot be used together"),
        (("repair", "fine", *ON_36, "--yes", "--force"), "requires --write-state"),
        (("repair", "fine", "--state", "odd", *ON_36), "expected one state, found fine and odd"),
        (("migrate", "fine", "--to", "1.40"), "kubelet 1.40 is not supported"),
        (
            ("migrate", "fine", "--to", "1.37", "--feature-gates", "Foo=true"),
            "unrecognized feature gate",
        ),
        (("repair", "-", *ON_36, "--yes"), "cannot be written in place"),
    ],
)
def test_options_that_exclude_each_other(
    words: tuple[str, ...], error: str, checkpoint: Checkpoint, directory: Path
) -> None:
    result = checkpoint(*words, stdin=(directory / "wrong" / "cpu_manager_state").read_bytes())
    assert (result.code, result.out) == (2, "")
    assert error in result.err


def test_a_broken_part_is_rebuilt_from_the_copy_for_older_kubelets(
    checkpoint: Checkpoint, directory: Path
) -> None:
    words = ("broken", *NODE, "--kubelet-version", "1.37")
    refused = answer(checkpoint("verify", *words, "-o", "json"))["start"]["error"]
    assert "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint data: " in refused
    assert checkpoint("repair", *words, "--write-state", "new", "-q").code == 0
    state = read_cpu_state(written(directory), V37)
    assert state == CPU_STATE


def test_existing_files_are_replaced_only_with_force(checkpoint: Checkpoint, directory: Path) -> None:
    words = ("repair", "wrong", *ON_36, "--write-state", "new", "-q")
    assert checkpoint(*words).code == 0
    assert checkpoint(*words).code == 2
    assert checkpoint(*words, "--force").code == 0


def test_files_that_one_reason_keeps_from_being_changed_are_named_together(checkpoint: Checkpoint) -> None:
    result = checkpoint("repair", "fine", *ON_36, *NO_POLICY, columns=2000)
    assert result.code == 3
    assert "fine/cpu_manager_state, fine/memory_manager_state: not changed: the kubelet would" in result.out
    ending = "\nNext, for cpu_manager_state and memory_manager_state: correct the configuration first:\n"
    assert result.out.count(ending) == 1


def test_a_file_with_the_content_of_another_one(tmp_path: Path, cpuctl: Cpuctl) -> None:
    state = tmp_path / "state"
    write_states(state)
    text = write_cpu_state(CPU_STATE, V37).replace('"defaultCpuSet"', '"nulldefaultCpuSet"')
    (state / "cpu_manager_state").write_text(text)
    refused = cpuctl("checkpoint", "repair", str(state), *ON_36, columns=2000)
    assert refused.code == 3
    assert "its content is that of allocated_pods_state" in refused.out


def test_a_command_that_only_shows_more_is_not_called_a_fix(checkpoint: Checkpoint, directory: Path) -> None:
    """It is labelled alike in lines, in columns and in JSON."""
    write_pods(directory / "large.json", *RUNNING, pod(GONE, "large", "c", 10, 1))
    by_node = f"{KUBELET} --topology-manager-policy=single-numa-node"
    words = ("verify", "fine", "-m", MACHINE, "--kubelet-args", by_node, *V36, "--pods", "large.json")
    found = answer(checkpoint(*words, "-o", "json"))["findings"]
    (rejected,) = (each for each in found if each["code"] == "rejected-again")
    assert rejected["fix"] == ""
    assert rejected["see"].startswith("cpuctl explain shop/large ")
    assert f"\n  see: {rejected['see']}\n" in checkpoint(*words).out
    assert f"see: {rejected['see']}" in checkpoint(*words, "-o", "wide", columns=2000).out


def test_every_pod_that_is_rejected_again_has_its_command(checkpoint: Checkpoint, directory: Path) -> None:
    state = CPUStateFile(policy_name="static", default_cpu_set=cpus("0-15"))
    write_states(directory / "empty", state, None)
    write_pods(directory / "large.json", *(pod(name, name, "c", 10, 1) for name in "ab"))
    by_node = f"{KUBELET} --topology-manager-policy=single-numa-node"
    words = ("empty", "-m", MACHINE, "--kubelet-args", by_node, *V36, "--pods", "large.json")
    found = answer(checkpoint("verify", *words, "-o", "json"))["findings"]
    rejected = [each for each in found if each["code"] == "rejected-again"]
    assert [each["see"].split(" --")[0] for each in rejected] == [
        f"cpuctl explain shop/{name} -m {MACHINE}" for name in "ab"
    ]
    shown = checkpoint("verify", *words).out
    assert all(f"\n  see: {each['see']}\n" in shown for each in rejected)


def test_files_that_need_no_change_are_not_called_accepted_without_a_machine(checkpoint: Checkpoint) -> None:
    unverified = checkpoint("migrate", "fine", "--to", "1.36")
    assert unverified.out.endswith("\nNot verified on a machine (use -m MACHINE).\nNothing to write.\n")
    assert "Not verified" not in checkpoint("migrate", "fine", "--to", "1.36", *NODE).out
