"""``cpuctl config reserve``: what it proposes, that a kubelet starts with it, and why it proposes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_golden import drawn_lines
from tests.support.schemas import follow_schema

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FOUR_NODES = ("-m", "synthetic:2s4n16c2t,mem=16Gi,hugepages-1Gi=4/0/0/0")
HYBRID = ("-m", "synthetic:1s1n12c1t,ecores=4-11,mem=8Gi")
ISOLATED = ("-m", "synthetic:1s1n8c2t,isolated=0-3+8-11,mem=8Gi")

FILES = {
    "static.yaml": f"""{HEAD}cpuManagerPolicy: static
memoryManagerPolicy: Static
kubeReserved: {{memory: 1Gi, cpu: 500m}}
systemReserved: {{memory: 512Mi}}
evictionHard: {{memory.available: 5%}}
reservedSystemCPUs: 0,32
reservedMemory:
- {{numaNode: 0, limits: {{memory: 1Gi}}}}
""",
    "none.yaml": f"{HEAD}kubeReserved: {{memory: 1Gi}}\nevictionHard: {{memory.available: 0%}}\n",
    "cpu-static.yaml": f"{HEAD}cpuManagerPolicy: static\nkubeReserved: {{cpu: '1'}}\n",
    "nothing-kept.yaml": f"{HEAD}evictionHard: {{memory.available: 0%}}\n",
    "too-much.yaml": f"{HEAD}kubeReserved: {{memory: 63Gi}}\n",
    "fraction.yaml": f"{HEAD}kubeReserved: {{memory: 1500m}}\n",
    "other.yaml": f"{HEAD}kubeReserved: {{memory: 1Gi}}\nmaxPods: -1\n",
    "cgroup.yaml": f"{HEAD}kubeReservedCgroup: /kube\n",
}

Reserve = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, cpuctl: Cpuctl) -> Reserve:
    """Return a function that runs ``cpuctl config`` in a directory with the files."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def call(*words: str, columns: int = 120) -> Result:
        return cpuctl("config", *words, columns=columns, cwd=tmp_path)

    return call


def reported(name: str, machine: tuple[str, ...] = FOUR_NODES) -> tuple[str, ...]:
    return ("reserve", *machine, "--kubelet-config", name)


@dataclass(frozen=True)
class Case:
    """A command line and its exit code."""

    name: str
    words: tuple[str, ...]
    code: int = 0


ANSWERS = [
    Case("memory", reported("static.yaml")),
    Case("memory by size", (*reported("static.yaml"), "--spread", "proportional")),
    Case("memory of one node", (*reported("static.yaml"), "--spread", "one-node")),
    Case("memory of a named node", (*reported("static.yaml"), "--numa-node", "2")),
    Case("memory without a policy", reported("none.yaml")),
    Case("CPUs and memory", (*reported("static.yaml"), "--cpu-count", "5")),
    Case("CPUs of every node", (*reported("static.yaml"), "--cpu-count", "8", "--per-numa", "--whole-cores")),
    Case("CPUs only", (*reported("cpu-static.yaml"), "--cpu-count", "2")),
    Case("CPUs without a policy", (*reported("none.yaml"), "--cpu-count", "2")),
    Case(
        "efficient CPUs",
        (*reported("cpu-static.yaml", HYBRID), "--cpu-count", "3", "--keep-p-cores"),
    ),
    Case(
        "CPUs on a machine of equal cores",
        (*reported("cpu-static.yaml"), "--cpu-count", "2", "--keep-p-cores"),
    ),
    Case("CPUs that are isolated last", (*reported("cpu-static.yaml", ISOLATED), "--cpu-count", "9")),
    Case("nothing is reserved", reported("nothing-kept.yaml"), 3),
    Case("too much is reserved", reported("too-much.yaml"), 3),
    Case("a fraction is reserved", reported("fraction.yaml"), 3),
    Case("the kubelet would not start anyway", reported("other.yaml"), 3),
    Case("a list next to a cgroup", (*reported("cgroup.yaml"), "--cpu-count", "2"), 3),
    Case("nothing, with --exit-zero", (*reported("nothing-kept.yaml"), "--exit-zero")),
]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_answers(case: Case, run: Reserve, snapshot: SnapshotAssertion) -> None:
    result = run(*case.words)
    assert result.code == case.code
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]
    assert run(*case.words, "-o", "wide").out == result.out


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_tables_fit_a_narrow_terminal(case: Case, run: Reserve) -> None:
    assert [line for line in drawn_lines(run(*case.words, columns=80).out) if len(line) > 80] == []


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(case: Case, run: Reserve) -> None:
    result = run(*case.words, "-o", "json")
    document = json.loads(result.out)
    assert result.code == case.code
    follow_schema(document, "configreserve")
    assert document == yaml.safe_load(run(*case.words, "-o", "yaml").out)
    assert ("rejection" in document) == (case.code != 0 or "--exit-zero" in case.words)


def proposal(result: Result) -> Any:
    return json.loads(result.out)["proposal"]


PROPOSED = [case for case in ANSWERS if case.code == 0 and "--exit-zero" not in case.words]


@pytest.mark.parametrize("case", PROPOSED, ids=lambda case: case.name)
def test_what_is_proposed_passes_the_check(case: Case, run: Reserve, tmp_path: Path) -> None:
    """As a drop-in file and as flags, with the same configuration and machine."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "90-reserved.conf").write_text(run(*case.words, "--snippet").out)
    flags = " ".join(f"'{flag}'" for flag in proposal(run(*case.words, "-o", "json"))["flags"])
    subject = case.words[1:5]
    for how in (("--config-dir", "conf.d"), ("--kubelet-args", flags)):
        checked = json.loads(run("check", *subject, *how, "-o", "json").out)
        assert checked["start"] == {"outcome": "Started"}
        assert checked["summary"]["error"] == 0


def test_flags_that_a_shell_would_change_are_quoted(run: Reserve) -> None:
    lines = run(*reported("none.yaml")).out.splitlines()
    assert "--memory-manager-policy=Static" in lines
    assert "'--reserved-memory=0:memory=256Mi;1:memory=256Mi;2:memory=256Mi;3:memory=256Mi'" in lines


def test_numbers_are_quoted_in_the_snippet(run: Reserve) -> None:
    """An unquoted ``reservedSystemCPUs: 0`` is a number, which the kubelet rejects."""
    snippet = run(*reported("cpu-static.yaml"), "--cpu-count", "1", "--snippet").out
    assert snippet == f'{HEAD}reservedSystemCPUs: "0"\n'


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing-kept.yaml", "error: no memory is reserved"),
        ("other.yaml", "--max-pods) -1 must not be"),
    ],
)
def test_a_failed_snippet_prints_nothing(name: str, why: str, run: Reserve) -> None:
    result = run(*reported(name), "--snippet")
    assert (result.code, result.out) == (3, "")
    assert why in result.err


def test_huge_pages_leave_less_memory_to_reserve(run: Reserve) -> None:
    """The node with 4 pages of 1 GiB has 12 GiB left; reserving 56 GiB takes more from the others."""
    words = (*reported("none.yaml"), "--kubelet-args=--kube-reserved=memory=56Gi", "-o", "json")
    nodes = proposal(run(*words))["memory"]["numaNodes"]
    assert [(node["hugePages"] >> 30, node["reserved"] >> 20) for node in nodes] == [
        (4, 12 << 10),
        (0, 15020),
        (0, 15018),
        (0, 15018),
    ]


def test_a_setting_in_a_flag_is_named(run: Reserve) -> None:
    words = (*reported("none.yaml"), "--kubelet-args=--reserved-memory=0:memory=1Gi", "-o", "json")
    assert proposal(run(*words))["replaces"] == [
        {"setting": "reservedMemory", "from": "flag", "where": "--reserved-memory"}
    ]


@dataclass(frozen=True)
class Misuse:
    """An invalid command line, or input that cannot be read."""

    words: tuple[str, ...]
    code: int
    want: str


RESERVE = ("reserve", *FOUR_NODES)
MISUSES = [
    Misuse((*RESERVE, "--cpu-count", "0"), 2, "--cpu-count"),
    Misuse((*RESERVE, "--cpu-count", "65"), 2, "the machine has 64"),
    Misuse((*RESERVE, "--cpu-count", "64"), 2, "leaving none for pods"),
    Misuse((*RESERVE, "--per-numa"), 2, "--per-numa: requires --cpu-count"),
    Misuse((*RESERVE, "--keep-p-cores"), 2, "--keep-p-cores: requires --cpu-count"),
    Misuse(
        (*RESERVE, "--numa-node", "4"), 2, "--numa-node: this machine has no NUMA node 4: expected one of 0-3"
    ),
    Misuse((*RESERVE, "--numa-node", "1", "--spread", "even"), 2, "--numa-node: requires --spread one-node"),
    Misuse((*RESERVE, "--spread", "odd"), 2, "--spread"),
    Misuse((*RESERVE, "--cgroup-version", "3"), 2, "--cgroup-version: expected 1 or 2"),
    Misuse(reported("missing.yaml"), 4, "missing.yaml"),
]


@pytest.mark.parametrize("case", MISUSES, ids=lambda case: " ".join(case.words))
def test_misuse(case: Misuse, run: Reserve) -> None:
    result = run(*case.words)
    assert (result.code, result.out) == (case.code, "")
    assert case.want in result.err


def test_the_check_names_the_difference(run: Reserve) -> None:
    """Of 4.7 GiB to reserve, the configuration reserves one."""
    checked = json.loads(run("check", *FOUR_NODES, "--kubelet-config", "static.yaml", "-o", "json").out)
    found = {finding["code"]: finding for finding in checked["findings"]}["reserved-memory-unequal"]
    assert (found["where"], found["expected"], found["detected"]) == ("static.yaml:9", "5046586624", "1Gi")
    assert found["message"].endswith(
        "(kubeReserved 1Gi + systemReserved 512Mi + evictionHard 3435973888): 3972844800 is missing"
    )


def test_a_flag_that_a_snippet_does_not_override_is_named(cpuctl: Cpuctl) -> None:
    words = ("config", "reserve", "-m", "synthetic:2s2n8c2t,mem=64Gi", "--cpu-count", "2", "-q")
    flags = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0-1")
    answer = cpuctl(*words, *flags)
    assert (
        "has no effect while a flag sets reservedSystemCPUs: remove or change --reserved-cpus\n" in answer.out
    )
    snippet = cpuctl(*words, *flags, "--snippet")
    assert snippet.out.startswith("apiVersion: ")
    assert snippet.err == "warning: flags override files; remove or change these: --reserved-cpus\n"
    assert not cpuctl(*words, "--snippet").err
