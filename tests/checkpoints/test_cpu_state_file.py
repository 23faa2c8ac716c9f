"""``cpu_manager_state``: exact bytes both ways, and what a kubelet says of a broken one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.memory_state import write_memory_state_of_none
from cpuctl.checkpoints.model import CPUStateFile, UnreadableState
from cpuctl.cpuset import CPUSet

STATIC = '{"policyName":"static","defaultCpuSet":"%s","checksum":%d}'


def file(default: str, policy: str = "static", **entries: dict[str, str]) -> CPUStateFile:
    assigned = {
        uid: {name: CPUSet.parse(cpus) for name, cpus in containers.items()}
        for uid, containers in entries.items()
    }
    return CPUStateFile(policy_name=policy, default_cpu_set=CPUSet.parse(default), entries=assigned)


@pytest.mark.parametrize(
    ("default", "checksum"), [("0-63", 1058907510), ("2-15,17-31,34-47,49-63", 4141502832)]
)
def test_the_files_of_kep_4540(default: str, checksum: int) -> None:
    text = STATIC % (default, checksum)
    assert write_cpu_state(file(default)) == text
    assert read_cpu_state(text) == file(default)


def test_pods_and_containers_are_written_in_order() -> None:
    state = file("0-1,6-7", "static", **{"uid-b": {"c2": "4-5", "c1": "2-3"}, "uid-a": {"c1": "8"}})
    text = write_cpu_state(state)
    assert json.loads(text)["checksum"] == 2801685752
    assert text.index("uid-a") < text.index("uid-b")
    assert text.index('"c1":"2-3"') < text.index('"c2":"4-5"')
    assert read_cpu_state(text) == state


def test_the_files_of_the_policies_that_do_nothing() -> None:
    none = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
    assert write_cpu_state(file("", "none")) == none
    assert write_memory_state_of_none() == '{"policyName":"None","machineState":{},"checksum":4236770233}'


@dataclass(frozen=True, slots=True)
class Broken:
    name: str
    text: str
    error: str


BROKEN = [
    Broken("empty", "", "unexpected end of JSON input"),
    Broken("cut off", '{"policyName":"static","defaultC', "unexpected end of JSON input"),
    Broken("wrong sum", STATIC % ("0-63", 1), "checkpoint is corrupted"),
    Broken(
        "wrong sum with entries",
        '{"policyName":"static","defaultCpuSet":"0","entries":{"p":{"c":"1"}},"checksum":1}',
        "json: cannot unmarshal object into Go struct field CPUManagerCheckpointV1.entries.p of type string",
    ),
    Broken(
        "no CPU list",
        STATIC % ("0-x", 0),
        'could not parse default cpu set "0-x": strconv.Atoi: parsing "x": invalid syntax',
    ),
    Broken(
        "no CPU list for a container",
        '{"policyName":"static","defaultCpuSet":"0","entries":{"p":{"c":"3-1"}},"checksum":0}',
        'could not parse cpuset "3-1" for container "c" in pod "p": invalid range "3-1" (3 > 1)',
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_a_broken_file_is_refused_in_the_kubelets_words(case: Broken) -> None:
    assert read_cpu_state(case.text) == UnreadableState(case.error)


def test_a_sum_of_zero_is_accepted() -> None:
    assert read_cpu_state(STATIC % ("0-3", 0)) == file("0-3")


def test_names_match_without_regard_to_case_and_unknown_ones_are_ignored() -> None:
    text = '{"POLICYNAME":"static","defaultCPUSet":"0-63","more":[1],"Checksum":1058907510}'
    assert read_cpu_state(text) == file("0-63")


def test_real_files_from_bug_reports_keep_their_sums() -> None:
    """Every V2 file that was recorded reads and writes back with the checksum it was reported with."""
    recorded = json.loads(
        (Path(__file__).parents[2] / "fixtures/conformance/recorded_state_files.json").read_text()
    )
    texts = [entry for entry in _strings(recorded) if '"defaultCpuSet"' in entry and '"checksum"' in entry]
    read = [(text, read_cpu_state(text)) for text in texts]
    good = [(text, state) for text, state in read if isinstance(state, CPUStateFile)]
    assert good
    for text, state in good:
        assert json.loads(write_cpu_state(state))["checksum"] == json.loads(text)["checksum"]


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _strings(each)]
