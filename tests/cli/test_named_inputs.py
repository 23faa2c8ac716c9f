"""Inputs named on the command line: state files, machines and tables on standard input, directories."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.operations.command_lines import planning_command
from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.machine.sysfs_writer import small_machine

ROOT = Path(__file__).parents[2]
MACHINE = ROOT / "fixtures" / "machines" / "2s-2numa-32cpu.tar.xz"
STATIC = (
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
    "reservedSystemCPUs: '0'\n"
)
SYNTHETIC = ("-m", "synthetic:1s1n16c1t")


@pytest.fixture
def static(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "static.yaml").write_text(STATIC)
    return ("--kubelet-config", str(tmp_path / "static.yaml"), "--kubelet-version", "1.36")


def test_the_kubelet_rejects_a_garbled_state_file_that_is_named(
    cpuctl: Cpuctl, tmp_path: Path, static: tuple[str, ...]
) -> None:
    (tmp_path / "cpu_manager_state").write_text("hello\n")
    result = cpuctl(
        "plan", "-T", "a=1/1", *SYNTHETIC, *static, "--state", str(tmp_path / "cpu_manager_state")
    )
    assert (result.code, "would not start" in result.out) == (3, True)


def test_a_machine_on_standard_input(cpuctl: Cpuctl) -> None:
    named = cpuctl("topology", "show", "-q", "-m", str(MACHINE), "-o", "json")
    piped = cpuctl("topology", "show", "-q", "-m", "-", "-o", "json", stdin=MACHINE.read_bytes())
    assert piped.code == 0, piped.err
    found, wanted = json.loads(piped.out), json.loads(named.out)
    assert found.pop("sources") != wanted.pop("sources")
    assert found == wanted


def test_empty_or_wrong_standard_input_is_rejected(cpuctl: Cpuctl) -> None:
    assert "<stdin>: nothing was read" in cpuctl("topology", "show", "-m", "-").err
    wrong = cpuctl("topology", "show", "-m", "-", stdin=b"hello")
    assert (wrong.code, wrong.err.startswith("error: <stdin>: cannot be read as an archive")) == (4, True)
    config = cpuctl("topology", "show", "-m", "-", stdin=STATIC.encode())
    assert config.err.endswith("cpuctl config check --kubelet-config FILE\n")
    twice = cpuctl("plan", "-m", "-", "-f", "-", stdin=b"hello")
    assert (twice.code, "used twice" in twice.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        "plan -T a=1/1 --pods -",
        "plan -T a=1/1 --kubelet-config -",
        "plan -T a=1/1 --state -",
        "plan -T a=1/1 --devices -",
        "explain a -f -",
        "resize -f -",
        "replay -",
        "pods show -f -",
        "pods lint -f -",
        "config show --kubelet-config -",
        "config check --kubelet-config -",
        "config check --state -",
        "config versions --kubelet-config -",
        "config versions -f -",
        "config reserve --kubelet-config -",
        "topology show --numa-memory --kubelet-config -",
        "checkpoint verify - --kubelet-version 1.36",
        "checkpoint dump -",
        "checkpoint new -f - --kubelet-version 1.36",
        "checkpoint repair - --kubelet-version 1.36",
        "checkpoint migrate - --to 1.36",
        "cgroups show --pods -",
        "audit --pods -",
        "audit --state -",
    ],
)
def test_standard_input_is_read_once(cpuctl: Cpuctl, words: str) -> None:
    """A machine and another input cannot both use standard input: the second would find it empty."""
    result = cpuctl(*words.split(), "-m", "-", stdin=b"hello")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: standard input (-) is used twice, but can be read only once")


CHECKED = [
    ("config", "check"),
    ("plan", "-T", "a=1/1,1Gi"),
    ("explain", "-T", "a=1/1,1Gi"),
    ("resize", "-T", "a=1/1,1Gi", "--set", "a:cpu=2"),
]
MEMORY_MANAGER = (
    "memoryManagerPolicy: Static\nkubeReserved: {memory: 1Gi}\n"
    "reservedMemory:\n- {numaNode: 0, limits: {memory: 1124Mi}}\n"
)


def without_memory(directory: Path) -> str:
    """Write a machine with two NUMA nodes as a dump of sysfs alone contains it."""
    files = {path: text for path, text in small_machine().items() if "meminfo" not in path}
    return str(written(files, directory))


@pytest.mark.parametrize("command", CHECKED, ids=lambda words: words[0])
@pytest.mark.parametrize("more", ["", MEMORY_MANAGER], ids=["", "memory manager"])
def test_unrecorded_memory_is_unknown_rather_than_zero(
    cpuctl: Cpuctl, tmp_path: Path, static: tuple[str, ...], command: tuple[str, ...], more: str
) -> None:
    (tmp_path / "static.yaml").write_text(STATIC + more)
    words = (*command, "-m", without_memory(tmp_path / "dump"), *static)
    unknown = cpuctl(*words, "-o", "json")
    assert unknown.code == 3
    start = json.loads(unknown.out)["start"]
    assert (start["outcome"], ": set --memory QUANTITY" in start["why"]) == ("Undetermined", True)
    known = cpuctl(*words, "--memory", "16Gi", "-o", "json")
    found = json.loads(known.out)
    assert found["start"]["outcome"] == "Started", known
    assert found["sources"]["memory"] == {"value": "16Gi", "from": "given"}


def test_a_kubelet_that_reserves_more_than_the_given_memory_does_not_start(
    cpuctl: Cpuctl, tmp_path: Path, static: tuple[str, ...]
) -> None:
    dump = without_memory(tmp_path / "dump")
    result = cpuctl("config", "check", "-m", dump, *static, "--memory", "50Mi")
    assert (result.code, "would not start" in result.out) == (3, True)


def test_memory_can_be_given_only_for_machines_without_memory(cpuctl: Cpuctl, tmp_path: Path) -> None:
    dump = without_memory(tmp_path / "dump")
    has = cpuctl("plan", "-m", "synthetic:1s1n4c1t,mem=8Gi", "-T", "a=1/1", "--memory", "16Gi")
    assert (has.code, "the machine description already includes memory" in has.err) == (2, True)
    wrong = cpuctl("plan", "-m", dump, "-T", "a=1/1", "--memory", "much")
    assert (wrong.code, "--memory: expected a quantity" in wrong.err) == (2, True)
    evenly = cpuctl("plan", "-m", dump, "-T", "a=1/1", "--memory", "16Gi")
    assert "16Gi is assumed to be spread evenly over 2 NUMA nodes" in evenly.err


def test_arguments_from_a_file_are_spelt_out_when_others_follow(tmp_path: Path) -> None:
    (tmp_path / "flags").write_text('KUBELET_EXTRA_ARGS="--max-pods=5 --v=2"\n')
    kubelet = KubeletInputs(arguments=f"@{tmp_path}/flags", ignores_unknown_gates=True)
    words = PlanningInputs((), (), "synthetic:1s", kubelet, "", "", memory="8Gi")
    line = planning_command(words, ("explain",), ("--reserved-cpus=0",))
    assert "--kubelet-args '--max-pods=5 --v=2 --reserved-cpus=0'" in line
    assert "--ignore-unknown-gates" in line
    assert "--memory 8Gi" in line


@pytest.mark.parametrize("command", CHECKED, ids=lambda words: words[0])
def test_every_command_sees_the_same_control_groups(
    cpuctl: Cpuctl, tmp_path: Path, static: tuple[str, ...], command: tuple[str, ...]
) -> None:
    groups = {
        "sys/fs/cgroup/cpuset/cpuset.cpus": "0-7\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "1\n",
    }
    node = written({**small_machine(), **groups}, tmp_path / "node")
    start = json.loads(cpuctl(*command, "-m", str(node), *static, "-o", "json").out)["start"]
    assert (start["outcome"], start["stage"]) == ("Rejected", "configValidation")
    assert "cgroup v1" in start["error"]


def test_recorded_state_files_that_are_not_used_are_named(cpuctl: Cpuctl) -> None:
    node, config = "fixtures/nodes/v2-2-numa/node.tar.xz", "fixtures/kubelet/static.yaml"
    words = ("plan", "-m", node, "-T", "a=1/1")
    assert "not looked at" not in cpuctl(*words).err
    err = cpuctl(*words, "--kubelet-config", config).err
    assert "state: none, as on a fresh node; the state files of this node are not used" in err
    assert f"(use --state {node} to start from them, or cpuctl checkpoint verify to check them)" in err


def test_proposed_commands_keep_every_input(tmp_path: Path) -> None:
    """A new input must be passed on as well; blanks in names are preserved."""
    handed_by_another = {
        "arguments",
        "as_root",
        "config_data",
        "events",
        "fallback_version",
        "kubelet",
        "node",
        "version_option",
    }
    forms = (PlanningInputs, KubeletInputs, NodeOptions)
    reported = {
        field: f"a {field}"
        for field in (name for form in forms for name in form._fields)
        if field not in handed_by_another
    }
    flags: dict[str, Any] = {
        name: True for form in forms for name, kind in form.__annotations__.items() if "bool" in str(kind)
    }
    del flags["as_root"]
    lists = {"filenames": [reported["filenames"]], "templates": [reported["templates"]]}
    given = reported | flags | lists
    (tmp_path / "the flags").write_text('--node-labels="a=b c"\n')
    kubelet = KubeletInputs(
        **{name: given[name] for name in KubeletInputs._fields if name in given},
        arguments=f"@{tmp_path}/the flags",
    )
    inputs = PlanningInputs(
        **{name: given[name] for name in PlanningInputs._fields if name in given},
        kubelet=kubelet,
        node=NodeOptions(**{name: given[name] for name in NodeOptions._fields}),
    )
    words = shlex.split(planning_command(inputs, ("explain",)))
    assert {text for name, text in reported.items() if name not in flags} <= {*words}
    options = {
        "--ignore-unknown-gates"
        if "gates" in name
        else f"--{name.replace('_', '-').replace('api-server', 'apiserver')}"
        for name in flags
    }
    assert options <= {*words}
    assert shlex.split(words[words.index("--kubelet-args") + 1]) == ["--node-labels=a=b c"]
