"""``cpuctl config``: effective configurations, failed starts, what changes between releases.

The snapshots are in ``__snapshots__``; ``pytest --snapshot-update`` takes new ones, to be reviewed before
they are committed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_golden import BLANKS, NO_LIMIT, broken_words, drawn_lines
from tests.support.schemas import follow_schema

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
MACHINE = ("-m", "synthetic:2s4n16c2t")
MAIN = f"""{HEAD}cpuManagerPolicy: static
cpuManagerPolicyOptions:
  full-pcpus-only: "true"
  align-by-socket: "true"
reservedSystemCPUs: 0,32,1
topologyManagerPolicy: restricted
kubeReserved: {{memory: 1Gi}}
featureGates: {{CPUManagerPolicyAlphaOptions: true}}
maxPosd: 5
"""
DROP_IN = f"{HEAD}kubeReserved: {{memory: 2Gi, pid: '1000'}}\nevictionHard: {{memory.available: 5%}}\n"
FLAGS = "--max-pods=200 --v=2"

FILES = {
    "uncore.yaml": HEAD
    + "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
    + "cpuManagerPolicyOptions: {prefer-align-cpus-by-uncorecache: 'true'}\n"
    + "featureGates: {CPUManagerPolicyAlphaOptions: true}\n",
    "main.yaml": MAIN,
    "conf.d/10.conf": DROP_IN,
    "kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS="--max-pods=50 --reserved-cpu=0,32"\n',
    "static.yaml": f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,32\n",
    "case.yaml": f"{HEAD}cpuManagerPolicy: Static\nreservedSystemCPUs: 0,32\n",
    "several.yaml": f"{HEAD}maxPods: -1\npodsPerCore: -1\ntopologyManagerScope: node\n",
    "gate.yaml": f"{HEAD}featureGates:\n  MemoryQOS: true\n",
    "openshift.yaml": f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,32\n"
    "featureGates: {MixedCPUsAllocation: true, MemoryQoS: true}\n",
    "type.yaml": f"{HEAD}maxPods: many\n",
    "memory.yaml": f"{HEAD}memoryManagerPolicy: Static\nkubeReserved: {{memory: 1Gi}}\n"
    "evictionHard: {memory.available: 0%}\nreservedMemory:\n- {numaNode: 0, limits: {memory: 1Gi}}\n",
    "wrong-reservation.yaml": f"{HEAD}kubeReserved: {{cpu: some}}\n",
    "logs.yaml": f"{HEAD}containerLogMaxFiles: 1\n",
    "quota.yaml": f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,32\n"
    "cpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}\n"
    "featureGates: {DisableCPUQuotaWithExclusiveCPUs: false}\n",
}

Config = Callable[..., Result]


@pytest.fixture
def config(tmp_path: Path, cpuctl: Cpuctl) -> Config:
    """Return a function that runs ``cpuctl config`` in a directory with the files."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def call(*words: str, stdin: bytes = b"", columns: int = 120) -> Result:
        return cpuctl("config", *words, stdin=stdin, columns=columns, cwd=tmp_path)

    return call


def reported(name: str) -> tuple[str, ...]:
    return (*MACHINE, "--kubelet-config", name)


EVERYTHING = (*reported("main.yaml"), "--config-dir", "conf.d", "--kubelet-args", FLAGS)


@dataclass(frozen=True)
class Case:
    """A command line and its exit code."""

    name: str
    words: tuple[str, ...]
    code: int = 0
    stdin: bytes = field(default=b"")


ANSWERS = [
    Case("show", ("show", *EVERYTHING)),
    Case("show without a file", ("show", *MACHINE)),
    Case("show memory by NUMA node", ("show", *reported("memory.yaml"))),
    Case("show what cannot be reserved", ("show", *reported("wrong-reservation.yaml"))),
    Case("check", ("check", *reported("static.yaml"))),
    Case("check without a file", ("check", *MACHINE)),
    Case("check with findings", ("check", *EVERYTHING)),
    Case("check with findings, strict", ("check", *EVERYTHING, "--strict"), 3),
    Case("check a name in the wrong case", ("check", *reported("case.yaml")), 3),
    Case("check, with --exit-zero", ("check", *reported("case.yaml"), "--exit-zero")),
    Case("check several mistakes", ("check", *reported("several.yaml")), 3),
    Case("check a gate that crashes", ("check", *reported("gate.yaml")), 3),
    Case(
        "check a gate that crashes, of a patch release",
        ("check", *reported("gate.yaml"), "--kubelet-version=v1.33.4+k3s1"),
        3,
    ),
    Case("check a gate of a flag", ("check", *MACHINE, "--feature-gates", "MemoryQOS=true"), 3),
    Case("check a value of a wrong type", ("check", *reported("type.yaml")), 3),
    Case("check a flag that cannot be read", ("check", *MACHINE, "--kubelet-args=--max-pods=many"), 3),
    Case("check a missing drop-in directory", ("check", *reported("static.yaml"), "--config-dir=none"), 3),
    Case(
        "check a gate before a missing directory",
        ("check", *reported("gate.yaml"), "--config-dir=none"),
        3,
    ),
    Case("check the memory manager", ("check", *reported("memory.yaml"))),
    Case(
        "check a host with cgroup v1",
        ("check", *reported("static.yaml"), "--cgroup-version=1", "--kubelet-version=1.36"),
        3,
    ),
    Case("check from stdin", ("check", *reported("-")), 3, FILES["case.yaml"].encode()),
    Case("versions", ("versions", *reported("quota.yaml"), "--from=1.32", "--to=1.38"), 3),
    Case(
        "versions to one without drop-ins",
        ("versions", *reported("static.yaml"), "--config-dir=conf.d", "--from=1.28", "--to=1.27"),
        3,
    ),
    Case(
        "versions with a rule that applies earlier",
        ("versions", *reported("logs.yaml"), "--from=1.32", "--to=1.33"),
        3,
    ),
    Case("versions to the next", ("versions", *reported("static.yaml"), "--from=1.30")),
    Case("versions down", ("versions", *reported("static.yaml"), "--from=1.37", "--to=1.36")),
    Case("versions, everything", ("versions", *MACHINE, "--from=1.35", "--to=1.36", "--all")),
    Case(
        "versions of which one no longer has a flag",
        (
            "versions",
            *reported("static.yaml"),
            "--kubelet-args=--pod-infra-container-image=registry.k8s.io/pause:3.9",
            "--from=1.34",
            "--to=1.35",
        ),
        3,
    ),
    Case("check of a distribution's gate", ("check", *reported("openshift.yaml")), code=3),
    Case(
        "check of a distribution's gate on its node",
        (
            "check",
            *reported("openshift.yaml"),
            "--ignore-unknown-gates",
            "--feature-gates=AlibabaPlatform=true",
        ),
    ),
    Case(
        "check of flags in a file, one of them misspelt",
        ("check", *reported("static.yaml"), "--kubelet-args=@kubeadm-flags.env"),
        code=3,
    ),
    Case(
        "versions between two patches, shown by a pod",
        (
            *("versions", "-m", "synthetic:1s1n16c2t,l3=4,near", "--kubelet-config", "uncore.yaml"),
            *("--from=1.33.4", "--to=v1.33.13+k3s1", "-T", "odd=7/7,1Gi"),
        ),
    ),
    Case(
        "check a release whose patch version decides",
        ("check", *reported("uncore.yaml"), "--kubelet-version=1.33"),
    ),
    Case(
        "versions without an effect on the pods",
        ("versions", *reported("static.yaml"), "--from=1.35", "--to=1.36", "-T", "web=2/2,1Gi"),
    ),
    Case("versions that are equal", ("versions", *reported("static.yaml"), "--from=1.36", "--to=1.36")),
    Case(
        "versions from stdin",
        ("versions", *reported("-"), "--from=1.34", "--to=1.35"),
        stdin=FILES["static.yaml"].encode(),
    ),
]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
@pytest.mark.parametrize("form", ["table", "wide"])
def test_answers(case: Case, form: str, config: Config, snapshot: SnapshotAssertion) -> None:
    result = config(*case.words, "-o", form, stdin=case.stdin)
    assert result.code == case.code
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_tables_fit_a_narrow_terminal(case: Case, config: Config) -> None:
    """Wide ones may be wider, but no word in them is broken."""
    result = config(*case.words, "-o", "table", stdin=case.stdin, columns=80)
    assert [line for line in drawn_lines(result.out) if len(line) > 80] == []
    narrow, whole = (
        config(*case.words, "-o", "wide", stdin=case.stdin, columns=width) for width in (80, NO_LIMIT)
    )
    assert broken_words(narrow.out, whole.out, BLANKS) == set()


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(case: Case, config: Config) -> None:
    result = config(*case.words, "-o", "json", stdin=case.stdin)
    document = json.loads(result.out)
    assert result.code == case.code
    follow_schema(document)
    assert document == yaml.safe_load(config(*case.words, "-o", "yaml", stdin=case.stdin).out)


def answer(result: Result) -> Any:
    return json.loads(result.out)


def test_every_value_is_shown_with_its_origin(config: Config) -> None:
    shown = answer(config("show", *EVERYTHING, "-o", "json"))["settings"]
    settings = {entry["setting"]: (entry["value"], entry["from"], entry["where"]) for entry in shown}
    names = ("kubeReserved.memory", "kubeReserved.pid", "maxPods", "cpuManagerPolicy", "port")
    assert {name: settings[name] for name in names} == {
        "kubeReserved.memory": ("2Gi", "drop-in", "conf.d/10.conf:3"),
        "kubeReserved.pid": ("1000", "drop-in", "conf.d/10.conf:3"),
        "maxPods": (200, "flag", "--max-pods"),
        "cpuManagerPolicy": ("static", "file", "main.yaml:3"),
        "port": (10250, "default", None),
    }


def test_a_failed_start_reports_stage_error_and_place(config: Config) -> None:
    start = answer(config("check", *reported("case.yaml"), "-o", "json"))["start"]
    assert start["outcome"] == "Rejected"
    assert (start["stage"], start["error"]) == ("cpuManager", 'unknown policy: "Static"')
    assert start["settingsToFix"] == [{"setting": "cpuManagerPolicy", "from": "file", "where": "case.yaml:3"}]


@pytest.mark.parametrize("drop_in", [False, True])
def test_all_values_of_wrong_types_are_reported_at_once(
    config: Config, tmp_path: Path, *, drop_in: bool
) -> None:
    """An invalid duration ends the kubelet's decoding, and hides the errors before it."""
    wrong = f"{HEAD}cpuManagerPolicy: 7\ncpuManagerReconcilePeriod: soon\nmaxPods: many\n"
    (tmp_path / "conf.d" / "20.conf").write_text(wrong if drop_in else HEAD)
    (tmp_path / "wrong.yaml").write_text(HEAD if drop_in else wrong)
    result = config("check", *reported("wrong.yaml"), "--config-dir=conf.d", "-o", "json")
    document = answer(result)
    assert (result.code, document["summary"]["error"]) == (3, 3)
    assert 'time: invalid duration "soon"' in document["start"]["error"]
    place = "conf.d/20.conf" if drop_in else "wrong.yaml"
    assert [(each["code"], each["where"], each["setting"]) for each in document["findings"]] == [
        ("not-loaded", f"{place}:4", "cpuManagerReconcilePeriod"),
        ("not-loaded-next", f"{place}:3", "cpuManagerPolicy"),
        ("not-loaded-next", f"{place}:5", "maxPods"),
    ]


def test_storage_is_reserved_as_by_the_kubelet(config: Config) -> None:
    """A tenth of 100Gi as a 32-bit float; without a size, the answer omits storage."""
    words = ("show", *reported("quota.yaml"), "-o", "json")
    allocatable = allocatable_numbers(config(*words, "--ephemeral-storage=100Gi"))
    assert allocatable["ephemeral-storage"] == 96636764000
    assert "ephemeral-storage" not in allocatable_numbers(config(*words))


def allocatable_numbers(result: Result) -> dict[str, float]:
    resources = answer(result)["reservation"]["resources"]
    return {entry["resource"]: entry["allocatable"]["number"] for entry in resources}


def test_a_plan_uses_the_same_configuration(cpuctl: Cpuctl, config: Config, tmp_path: Path) -> None:
    """Drop-ins and flags apply to a plan, too: without them, nothing is reserved and no kubelet starts."""
    words = ("plan", *reported("main.yaml"), "-T", "web=2/2,1Gi", "-o", "json")
    config("show", *MACHINE)
    flags = ("--kubelet-args", "--reserved-cpus=2,34")
    result = cpuctl(*words, "--config-dir", "conf.d", *flags, cwd=tmp_path)
    assert result.code == 0
    assert '"2,34"' in result.out


@dataclass(frozen=True)
class Misuse:
    """An invalid command line, or input that cannot be read."""

    words: tuple[str, ...]
    code: int
    want: str


MISUSES = [
    Misuse(("check", *MACHINE, "--cgroup-version=3"), 2, "--cgroup-version: expected 1 or 2, found '3'"),
    Misuse(("check", *MACHINE, "--kubelet-args", "'open"), 2, "--kubelet-args: cannot be split into words"),
    Misuse(("check", *MACHINE, "--config-dir", ""), 2, "--config-dir: missing directory name"),
    Misuse(("versions", *MACHINE, "--to=9"), 2, "--to:"),
    Misuse(
        ("show", *MACHINE, "--ephemeral-storage=-1"), 2, "--ephemeral-storage: expected a quantity from 0"
    ),
    Misuse(
        ("show", *MACHINE, "--ephemeral-storage=1G1"), 2, "--ephemeral-storage: expected a quantity, found"
    ),
    Misuse(("versions", *MACHINE, "--from=1.26"), 2, "--from: kubelet 1.26"),
    Misuse(("show", *reported("missing.yaml")), 4, "missing.yaml"),
    Misuse(("bogus",), 2, "bogus"),
]


@pytest.mark.parametrize("case", MISUSES, ids=lambda case: " ".join(case.words))
def test_misuse(case: Misuse, config: Config) -> None:
    result = config(*case.words)
    assert (result.code, result.out) == (case.code, "")
    assert case.want in result.err


def test_the_group_alone_prints_its_help(config: Config) -> None:
    assert config() == config("--help")


def test_warnings_go_to_stderr_once(config: Config) -> None:
    shown, checked = config("show", *EVERYTHING), config("check", *EVERYTHING)
    assert shown.err.count("unknown field") == 1
    assert checked.err.count("unknown field") == 0
    assert checked.out.count("unknown field") == 1
    assert config("show", *EVERYTHING, "--quiet").err == ""


def test_show_reports_like_check_where_shared_containers_run(config: Config) -> None:
    """Only check looks for a state file, which would have to be repaired to keep them off reserved CPUs."""
    shown, checked = config("show", *EVERYTHING), config("check", *EVERYTHING)
    (line,) = (line for line in checked.out.splitlines() if line.startswith("On an empty node, "))
    where, advice, how = line.partition(" (1.33+;")
    assert f"\n{where}{advice}" in shown.out
    assert how.endswith(" before the kubelet first starts")
    assert "Burstable and BestEffort" not in config("show", *MACHINE).out


def test_the_fix_of_an_option_in_a_flag_is_written_as_in_the_flag(cpuctl: Cpuctl, tmp_path: Path) -> None:
    options, machine = "full-pcpus-only=yes", ("-m", "synthetic:2s2n4c2t")
    flags = f"--cpu-manager-policy=static --reserved-cpus=0 --cpu-manager-policy-options={options}"
    answer = cpuctl("config", "check", *machine, "--kubelet-args", flags, "-q")
    assert "\n  fix: set full-pcpus-only=true\n" in answer.out
    listed = flags.replace("yes", "yes,strict-cpu-reservation=true")
    several = cpuctl("config", "check", *machine, "--kubelet-args", listed, "-q", columns=300)
    flag = "--cpu-manager-policy-options"
    assert f"\n  fix: set {flag}=full-pcpus-only=true {flag}=strict-cpu-reservation=true\n" in several.out
    unclear = flags.replace("yes", "sometimes,strict-cpu-reservation=true")
    either = cpuctl("config", "check", *machine, "--kubelet-args", unclear, "-q", columns=300)
    assert "\n  fix: set full-pcpus-only=true or full-pcpus-only=false\n" in either.out
    fixed = cpuctl("config", "check", *machine, "--kubelet-args", flags.replace("yes", "true"), "-q")
    assert fixed.out.startswith("Kubelet 1.36 would start")


SMT_ON = "switch SMT on (echo on | sudo tee /sys/devices/system/cpu/smt/control)"
LIST = "for a list of CPUs of this machine:\n    cpuctl config reserve --cpu-count 2 -m "


@pytest.mark.parametrize(
    ("machine", "reserved", "fix"),
    [
        ("1s1n4c2t", "0-1,16-17", "set --reserved-cpus=0-1\n"),
        ("1s1n4c2t", "0,17", "set --reserved-cpus=0\n"),
        (
            "1s1n4c2t,offline=1",
            "0-1",
            "bring CPU 1 online (chcpu --enable 1), or set --reserved-cpus=0\n",
        ),
        (
            "1s1n4c2t,nosmt",
            "0,4",
            f"{SMT_ON}, or set --reserved-cpus=0\n",
        ),
        ("1s1n4c2t,offline=1", "0-1,9", "set --reserved-cpus=0\n"),
        (
            "1s1n4c2t,offline=0-1",
            "0-1",
            "bring CPUs 0-1 online (chcpu --enable 0-1), or list other CPUs in --reserved-cpus; " + LIST,
        ),
        ("1s1n4c2t", "8-9", "list only online CPUs in --reserved-cpus; " + LIST),
        ("1s1n4c2t", "0-9", "list only online CPUs in --reserved-cpus; " + LIST),
    ],
)
def test_of_reserved_cpus_that_are_not_online_as_many_as_possible_are_kept(
    machine: str, reserved: str, fix: str, cpuctl: Cpuctl
) -> None:
    flags = ("--kubelet-args", f"--cpu-manager-policy=static --reserved-cpus={reserved}")
    answer = cpuctl("config", "check", "-m", f"synthetic:{machine}", *flags, "-q", columns=300)
    assert f"  fix: {fix}" in answer.out


UNHELD = "CPUs that no container has exclusively)"


@pytest.mark.parametrize(
    ("gone", "fix"),
    [
        ("9", "bring CPU 9 online (chcpu --enable 9), or set --reserved-cpus=0,8"),
        (
            "0+8-9",
            "bring CPUs 0,8-9 online (chcpu --enable 0,8-9), or set --reserved-cpus=3,11 (" + UNHELD,
        ),
    ],
)
def test_fixes_of_reserved_cpus_take_none_from_running_pods(
    gone: str, fix: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """``config reserve`` proposes CPUs that pods may have: the kubelet would then reject its state file."""
    saved = CPUStateFile(
        policy_name="static",
        default_cpu_set=CPUSet.parse("0,3-15"),
        entries={"u1": {"c": CPUSet.parse("1-2")}},
    )
    (tmp_path / "cpu_manager_state").write_text(write_cpu_state(saved))
    flags = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0,8-9")
    node = ("-m", f"synthetic:1s1n8c2t,offline={gone}", "--state", str(tmp_path))
    checked = cpuctl("config", "check", *node, *flags, "-q", "-o", "json")
    (finding,) = json.loads(checked.out)["findings"]
    assert finding["fix"] == fix


def test_after_the_newest_release_a_version_is_required(cpuctl: Cpuctl) -> None:
    refused = cpuctl("config", "versions", "--from", "1.38", "-m", "synthetic:2c")
    assert (refused.code, refused.out) == (2, "")
    assert (
        "error: --to: no version after 1.38 is known\nhint: specify another version, up to 1.38\n"
        in refused.err
    )


def test_a_static_memory_manager_does_not_accept_an_empty_reservation(cpuctl: Cpuctl) -> None:
    flags = "--cpu-manager-policy=static --reserved-cpus=0 --memory-manager-policy=Static"
    words = ("-m", "synthetic:1s1n4c,mem=4Gi", "--kubelet-args", flags, "-q")
    stated = "memory: reservedMemory 0: rejected by the Memory Manager, which requires some"
    shown = cpuctl("config", "show", *words).out
    assert stated in shown
    assert "as the Memory Manager requires" not in shown
    assert cpuctl("config", "check", *words).code == 3


@pytest.mark.parametrize(("form", "limit"), [("table", "11.3Gi"), ("wide", "11882828Ki")])
def test_the_memory_limit_of_pods_has_the_unit_of_all_memory(form: str, limit: str, cpuctl: Cpuctl) -> None:
    node = ("-m", "synthetic:1s1n4c,mem=11882828Ki")
    shown = cpuctl("config", "show", *node, "-q", "-o", form).out
    assert f"\nMemory limit of all pods: {limit}\n" in shown
