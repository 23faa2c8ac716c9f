"""``cpu_manager_state``: exact bytes both ways, and a kubelet's error for a broken one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cpuctl.checkpoints import cpu_state
from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.memory_state import read_memory_state
from cpuctl.checkpoints.model import CPUStateFile, UnreadableState
from cpuctl.checkpoints.pods_state import read_pods_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.golang import json_values, state_types

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


def test_the_file_of_the_policy_none() -> None:
    none = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
    assert write_cpu_state(file("", "none")) == none


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
        "json: cannot unmarshal object into Go struct field CPUManagerCheckpointV1.entries of type string",
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


UNMARSHALLED = [
    ("false", "bool"),
    ('""', "string"),
    ('"7"', "string"),
    ("[]", "array"),
    ("{}", "object"),
    ("0.0", "number 0.0"),
    ("-1", "number -1"),
    ("-0", "number -0"),
    ("18446744073709551616", "number 18446744073709551616"),
    ("9" * 5000, f"number {'9' * 5000}"),
    ("1e400", "number 1e400"),
]


@pytest.mark.parametrize(("checksum", "found"), UNMARSHALLED, ids=[text[:20] for text, _ in UNMARSHALLED])
def test_a_sum_that_is_not_a_number_is_rejected(checksum: str, found: str) -> None:
    """This includes text that Python reads as zero, which would disable the check."""
    text = f'{{"policyName":"static","defaultCpuSet":"0-3","checksum":{checksum}}}'
    field = "CPUManagerCheckpointV1.checksum of type checksum.Checksum"
    assert read_cpu_state(text) == UnreadableState(
        f"json: cannot unmarshal {found} into Go struct field {field}"
    )


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ("Infinity", "invalid character 'I' looking for beginning of value"),
        ("-Infinity", "invalid character 'I' in numeric literal"),
    ],
)
def test_words_for_numbers_are_not_json(word: str, error: str) -> None:
    state = read_cpu_state(f'{{"policyName":"static","defaultCpuSet":"0-3","more":{word},"checksum":0}}')
    assert state == UnreadableState(error)


def test_lone_surrogates_are_replaced_as_in_go() -> None:
    """A lone surrogate could not be written again."""
    text = '{"policyName":"static","defaultCpuSet":"0","entries":{"p\\ud800":{"\\udc00c":"1"}},"checksum":0}'
    state = read_cpu_state(text)
    assert state == file("0", "static", **{"p\ufffd": {"\ufffdc": "1"}})
    assert write_cpu_state(file("0", "static", **{"p\ufffd": {"\ufffdc": "1"}})).encode()


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (read_cpu_state, "cpu_manager_state"),
        (read_memory_state, "memory_manager_state"),
        (read_pods_state, "allocated_pods_state"),
    ],
)
def test_an_oversized_file_is_not_even_parsed(
    read: Callable[[str], object], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_values, "MAX_CHARACTERS", 1 << 20)
    with pytest.raises(InputError, match=rf"^{name}: is larger than 1 MiB$"):
        read(" " * (1 << 20) + "{")


def test_a_file_of_brackets_is_read_or_rejected() -> None:
    """Go accepts ten thousand levels; Python's limit depends on its release."""
    text = f'{{"policyName":"none","more":{"[" * 9_998}{"]" * 9_998},"checksum":0}}'

    def outcome() -> object:
        try:
            return read_cpu_state(text)
        except InputError as error:
            return str(error)

    assert outcome() in (file("", "none"), "cpu_manager_state: is nested too deeply")


@pytest.mark.parametrize("limit", ["MAX_CHARACTERS", "MAX_VALUES"])
def test_the_largest_file_is_read(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are counted by their first character, both in lists and in objects."""
    text = '{"policyName":"none","more":["X",[2,{}]],"checksum":0}'
    most = len(text) if limit == "MAX_CHARACTERS" else 8
    monkeypatch.setattr(json_values, limit, most)
    assert read_cpu_state(text) == file("", "none")
    monkeypatch.setattr(json_values, limit, most - 1)
    with pytest.raises(
        InputError, match=r"^cpu_manager_state: (is larger than 0 MiB|holds more than 7 values)$"
    ):
        read_cpu_state(text)


def test_the_checksum_is_not_computed_over_millions_of_cpus() -> None:
    """It covers every CPU that a pod holds: thirty bytes of a file expand to ten megabytes to hash."""
    pods = {str(pod): {"cpuSet": "0-1000000"} for pod in range(3)}
    text = json.dumps({"policyName": "static", "defaultCpuSet": "0", "podEntries": pods, "checksum": 1})
    with pytest.raises(InputError, match=r"^cpu_manager_state: assigns pods more CPUs than any node has$"):
        read_cpu_state(text, StateReader(pod_level_managers=True))


def test_the_checksum_is_computed_over_the_most_cpus_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    state = CPUStateFile(
        policy_name="static",
        default_cpu_set=CPUSet.parse("0"),
        pod_entries={"p": CPUSet.parse("3"), "q": CPUSet.parse("5")},
    )
    text = write_cpu_state(state, StateReader(pod_level_managers=True))
    monkeypatch.setattr(state_types, "MAX_SHOWN_BITS", 10)
    assert read_cpu_state(text, StateReader(pod_level_managers=True)) == state
    monkeypatch.setattr(state_types, "MAX_SHOWN_BITS", 9)
    with pytest.raises(InputError, match="assigns pods more CPUs than any node has"):
        read_cpu_state(text, StateReader(pod_level_managers=True))


def test_sets_of_high_numbers_are_limited_in_total() -> None:
    """One short text requires a mask of 128 kB; a million of them would fill the memory."""
    entries = {str(pod): {str(number): "1000000" for number in range(100)} for pod in range(50)}
    text = json.dumps({"policyName": "static", "defaultCpuSet": "0", "entries": entries, "checksum": 0})
    with pytest.raises(InputError, match=r"^cpu_manager_state: holds more than 64 MiB of CPU sets$"):
        read_cpu_state(text)


@pytest.mark.parametrize(("most", "reads"), [(8, True), (7, False)])
def test_the_limit_covers_all_sets_together(most: int, reads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two for the shared pool, two and four for the containers."""
    monkeypatch.setattr(cpu_state, "MAX_BITS", most)
    state = file("0-1", "static", p={"a": "1", "b": "3"})
    text = write_cpu_state(state)
    if reads:
        assert read_cpu_state(text) == state
    else:
        with pytest.raises(InputError, match="MiB of CPU sets"):
            read_cpu_state(text)


@pytest.mark.parametrize("entries", [{}, {"u": {"a": "4294967295"}}])
def test_a_cpu_beyond_the_limit_of_cpuctl_is_not_a_kubelet_error(entries: dict[str, dict[str, str]]) -> None:
    default = "0" if entries else "0-4294967295"
    text = json.dumps({"policyName": "static", "defaultCpuSet": default, "entries": entries, "checksum": 0})
    with pytest.raises(InputError, match=r"^cpu_manager_state: CPU 4294967295 is beyond"):
        read_cpu_state(text)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_a_broken_file_is_rejected_in_the_kubelets_words(case: Broken) -> None:
    assert read_cpu_state(case.text) == UnreadableState(case.error)


def test_a_sum_of_zero_is_accepted() -> None:
    assert read_cpu_state(STATIC % ("0-3", 0)) == file("0-3")


def test_names_match_without_regard_to_case_and_unknown_ones_are_ignored() -> None:
    text = '{"POLICYNAME":"static","defaultCPUSet":"0-63","more":[1],"Checksum":1058907510}'
    assert read_cpu_state(text) == file("0-63")
    like_k_and_s = text.replace("Checksum", "Chec\u212asum").replace("CPUSet", "CPU\u017fet")
    assert read_cpu_state(like_k_and_s) == file("0-63")
