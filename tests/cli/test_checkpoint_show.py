"""``cpuctl checkpoint dump``, ``diff`` and ``versions``: what state files contain, and how they differ."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cpuctl.checkpoints.model import PodsStateFile, RecordedPod, RecordedResources
from cpuctl.checkpoints.pods_state import write_pods_state
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.audit.node_tree import clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_golden import drawn_lines
from tests.support.schemas import follow_schema
from tests.support.state_files import (
    ALL_37,
    CPU_STATE,
    DB,
    GONE,
    MACHINE,
    MEMORY_STATE,
    RUNNING,
    WEB,
    cpus,
    write_pods,
    write_states,
)

V1 = '{"policyName":"static","defaultCpuSet":"0-3","entries":{"aaaa":"4-5","cccc":"6-7"},"checksum":0}'
Checkpoint = Callable[..., Result]
GATHERED = "fixtures/openshift/must-gather.tar.xz"


@pytest.fixture
def checkpoint(tmp_path: Path, cpuctl: Cpuctl) -> Checkpoint:
    """Return a function that runs ``cpuctl checkpoint`` next to some state files."""
    write_states(tmp_path / "state")
    bubble = replace(
        CPU_STATE,
        default_cpu_set=cpus("0,4,6-8,12,14-15"),
        pod_entries={DB: cpus("1-3,9-11")},
        baselines={WEB: {"app": cpus("5")}, DB: {"server": cpus("1-2,9-10")}},
    )
    write_states(tmp_path / "newest", bubble, writer=ALL_37)
    odd = replace(
        CPU_STATE,
        default_cpu_set=cpus("0,3-4,6-8,11-12,20"),
        entries={**CPU_STATE.entries, GONE: {"c": cpus("2,10")}},
    )
    write_states(tmp_path / "odd", odd, None)
    amounts = RecordedResources(requests={"cpu": Quantity.parse("4")}, limits={"cpu": Quantity.parse("4")})
    for name, count in (("state", 1), ("newest", 2)):
        pods = {uid: RecordedPod(containers={"server": amounts}) for uid in (DB, WEB)[:count]}
        text = write_pods_state(PodsStateFile(pods=pods))
        (tmp_path / name / "allocated_pods_state").write_text(text)
    text = (tmp_path / "state" / "cpu_manager_state").read_text()
    (tmp_path / "wrong.json").write_text(text.replace('"checksum":', '"checksum":1'))
    (tmp_path / "v1.json").write_text(V1)
    (tmp_path / "bad-list.json").write_text('{"policyName":"static","defaultCpuSet":"0-","checksum":0}')
    write_pods(tmp_path / "running.json")

    def call(*words: str, stdin: bytes = b"", columns: int = 120) -> Result:
        return cpuctl("checkpoint", *words, stdin=stdin, columns=columns, cwd=tmp_path)

    return call


@dataclass(frozen=True)
class Case:
    name: str
    words: tuple[str, ...]


PODS = ("--pods", "running.json")
ANSWERS = [
    Case("dump", ("dump", "state")),
    Case("dump with names", ("dump", "state", *PODS)),
    Case("dump CPUs of whole pods", ("dump", "newest", *PODS)),
    Case("dump a file", ("dump", "--state", "state/memory_manager_state", *PODS)),
    Case("dump a map", ("dump", "odd", "-m", MACHINE, "--map", *PODS)),
    Case("dump a map of pods", ("dump", "newest", "-m", f"{MACHINE},offline=15", "--map", *PODS)),
    Case("dump a wrong checksum", ("dump", "wrong.json")),
    Case("dump container IDs", ("dump", "v1.json")),
    Case("dump container IDs with names", ("dump", "v1.json", *PODS)),
    Case("dump an invalid CPU list", ("dump", "bad-list.json")),
    Case("diff of directories", ("diff", "state", "newest", *PODS)),
    Case("diff of files", ("diff", "state/cpu_manager_state", "odd", *PODS)),
    Case("diff of formats", ("diff", "v1.json", "wrong.json", *PODS)),
    Case("diff of equal directories", ("diff", "state", "state")),
    Case("diff with an additional file", ("diff", "newest", "state")),
    Case("versions", ("versions",)),
]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
@pytest.mark.parametrize(("form", "width"), [("table", 80), ("wide", 160)])
def test_answers(
    case: Case, form: str, width: int, checkpoint: Checkpoint, snapshot: SnapshotAssertion
) -> None:
    result = checkpoint(*case.words, "-o", form, columns=width)
    assert result.code == 0
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]
    assert [line for line in drawn_lines(result.out) if len(line) > width] == []


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(case: Case, checkpoint: Checkpoint) -> None:
    document = answer(checkpoint(*case.words, "-o", "json"))
    follow_schema(document)
    assert document == yaml.safe_load(checkpoint(*case.words, "-o", "yaml").out)


def answer(result: Result) -> Any:
    assert result.out, result.err
    return json.loads(result.out)


def test_owners_are_named_and_missing_ones_are_marked(checkpoint: Checkpoint) -> None:
    holders = answer(checkpoint("dump", "odd", *PODS, "-o", "json"))["cpus"]["holders"]
    assert [(each["namespace"], each["pod"], each["container"], each["owner"]) for each in holders] == [
        ("shop", "db", "server", "running"),
        ("shop", "web", "app", "running"),
        (None, None, "c", "podGone"),
    ]


def test_a_container_that_the_pod_does_not_have_is_gone(checkpoint: Checkpoint, tmp_path: Path) -> None:
    other = json.loads(json.dumps(RUNNING[1]).replace('"app"', '"other"'))
    write_pods(tmp_path / "running.json", RUNNING[0], other)
    holders = answer(checkpoint("dump", "state", *PODS, "-o", "json"))["cpus"]["holders"]
    assert [each["owner"] for each in holders] == ["running", "containerGone"]


def test_files_are_read_from_stdin_and_recordings(checkpoint: Checkpoint, tmp_path: Path) -> None:
    text = (tmp_path / "state" / "cpu_manager_state").read_bytes()
    by_name = answer(checkpoint("dump", "state/cpu_manager_state", "-o", "json"))
    assert answer(checkpoint("dump", "-", "-o", "json", stdin=text))["cpus"] == by_name["cpus"]
    (tmp_path / "node" / "sys" / "devices" / "system" / "cpu" / "cpu0" / "topology").mkdir(parents=True)
    for name, content in {
        "sys/devices/system/cpu/online": "0\n",
        "sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
        "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
    }.items():
        (tmp_path / "node" / name).write_text(content)
    (tmp_path / "node" / "var" / "lib").mkdir(parents=True)
    write_states(tmp_path / "node" / "var" / "lib" / "kubelet")
    recorded = answer(checkpoint("dump", "node", "-o", "json"))
    assert recorded["cpus"] == by_name["cpus"]
    assert recorded["sources"]["cpuManagerState"] == {
        "value": "node: var/lib/kubelet/cpu_manager_state",
        "from": "capture",
    }
    assert answer(checkpoint("dump", "-m", "node", "-o", "json"))["cpus"] == by_name["cpus"]


def test_a_pipe_is_read_once(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """For example, a shell's process substitution <(ssh node7 cat ...)."""
    text = (tmp_path / "state" / "cpu_manager_state").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(text,))
    writer.start()
    document = answer(checkpoint("dump", "pipe", "-o", "json"))
    writer.join()
    assert document["cpus"]["exclusiveCPUs"] == 6


def test_every_cpu_is_in_the_map_once(checkpoint: Checkpoint) -> None:
    document = answer(checkpoint("dump", "odd", "-m", MACHINE, "--map", "-o", "json"))
    rows = {row["cpu"]: row for row in document["map"]["cpus"]}
    assert {cpu for cpu, row in rows.items() if row["shared"]} == {0, 3, 4, 6, 7, 8, 11, 12}
    assert [cpu for cpu, row in rows.items() if len(row["marks"]) == 2] == [2, 10]
    assert [cpu for cpu, row in rows.items() if not row["marks"] and not row["shared"]] == [14, 15]
    assert document["map"]["notOnMachine"] == "20"


def samples(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            yield name, float(value)


def test_metrics_are_what_prometheus_reads(checkpoint: Checkpoint, snapshot: SnapshotAssertion) -> None:
    result = checkpoint("dump", "newest", *PODS, "-o", "prom")
    assert (result.code, result.err) == (0, "")
    assert result.out == snapshot
    metrics = dict(samples(result.out))
    assert len(metrics) == len(list(samples(result.out))), "every series once"
    assert metrics["cpuctl_checkpoint_exclusive_cpus"] == 8
    assert metrics['cpuctl_checkpoint_checksums_ok{file="cpu_manager_state"}'] == 1


def test_a_difference_sets_the_exit_code_on_request(checkpoint: Checkpoint) -> None:
    assert checkpoint("diff", "state", "newest", "--exit-code").code == 3
    assert checkpoint("diff", "state", "newest").code == 0
    assert checkpoint("diff", "state", "state", "--exit-code").code == 0


def test_an_embedded_copy_that_differs_is_reported(checkpoint: Checkpoint, tmp_path: Path) -> None:
    path = tmp_path / "newest" / "cpu_manager_state"
    path.write_text(path.read_text().replace('"defaultCpuSet":"0,4', '"defaultCpuSet":"0,3', 1))
    (file,) = answer(checkpoint("dump", str(path), "-o", "json"))["files"]
    assert file["embeddedDiffers"]
    assert [(each["name"], each["ok"]) for each in file["checksums"]] == [
        ("checksum", False),
        ("dataChecksum", True),
    ]


def test_memory_is_included_for_a_directory(checkpoint: Checkpoint) -> None:
    memory = answer(checkpoint("dump", "state", "-o", "json"))["memory"]
    assert [holder["podUID"] for holder in memory["holders"]] == [*MEMORY_STATE.entries]
    assert memory["numaNodes"][0]["resources"][0]["reserved"] == 4 << 30


@pytest.mark.parametrize("width", [80])
@pytest.mark.parametrize("verb", ["dump", "verify", "diff", "migrate", "repair", "new", "versions"])
def test_help_fits_and_has_examples(verb: str, width: int, checkpoint: Checkpoint) -> None:
    result = checkpoint(verb, "--help", columns=width)
    assert [line for line in result.out.splitlines() if len(line) > width] == []
    assert f"cpuctl checkpoint {verb}" in result.out.partition("Examples:")[2]


@pytest.mark.parametrize("option", [(), ("-m",)])
def test_a_truncated_file_of_a_recording_is_verified_through_the_recording(
    option: tuple[str, ...], cpuctl: Cpuctl, tmp_path: Path
) -> None:
    recording = written(with_kubelet_files(clean_node()).files, tmp_path / "node")
    (recording / "var/lib/kubelet/cpu_manager_state").write_text('{"policyName":')
    refused = cpuctl("checkpoint", "dump", *option, str(recording))
    assert f"hint: to see what a kubelet does with it: cpuctl checkpoint verify {recording}\n" in refused.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("dump", GATHERED), "on the node: sudo cpuctl checkpoint dump"),
        (("dump", "-m", GATHERED), "on the node: sudo cpuctl checkpoint dump"),
        (
            ("migrate", GATHERED, "--to", "1.33"),
            "read them on the node, or record it there: sudo cpuctl capture",
        ),
    ],
)
def test_a_must_gather_has_no_state_files(words: tuple[str, ...], hint: str, cpuctl: Cpuctl) -> None:
    nothing = cpuctl("checkpoint", *words, "-q")
    assert (nothing.code, nothing.out) == (4, "")
    assert f"error: {GATHERED}: the state files are not in the recording\nhint: {hint}" in nothing.err
