"""Edge cases: metrics of a node that does not start, odd arguments, too little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl
from tests.support.state_files import MACHINE, write_states

NOT_STARTED = ("-m", "synthetic:1s1n4c1t", "--kubelet-args=--cpu-manager-policy=static")
WHY = "The kubelet would not start: [cpumanager] unable to determine reserved CPU resources"
PROJECT = Path(__file__).parents[2]


def test_metrics_say_that_a_kubelet_would_not_start(cpuctl: Cpuctl) -> None:
    done = cpuctl("plan", *NOT_STARTED, "-T", "a=1/1", "-o", "prom", "-q")
    assert done.code == 3
    assert 'cpuctl_plan_start{outcome="Rejected"} 1\n' in done.out
    assert WHY in done.err
    fine = cpuctl("plan", *NOT_STARTED[:2], "-T", "a=1/1", "-o", "prom", "-q")
    assert (fine.code, fine.err) == (0, "")
    assert 'cpuctl_plan_start{outcome="Started"} 1\n' in fine.out


def test_metrics_of_a_verdict_give_the_reason(cpuctl: Cpuctl, tmp_path: Path) -> None:
    state = write_states(tmp_path / "state")
    done = cpuctl(
        "checkpoint", "verify", str(state), *NOT_STARTED, "--kubelet-version", "1.36", "-o", "prom", "-q"
    )
    assert done.code == 3
    assert "cpuctl_checkpoint_starts 0\n" in done.out
    assert WHY in done.err


@pytest.mark.parametrize("word", ["--no\u202eevil", "pl\u2066an", "a\x1b[2J", "x\nerror: forged"])
@pytest.mark.parametrize("command", [(), ("plan",), ("checkpoint", "dump", "-o")])
def test_control_characters_in_arguments_are_escaped(
    cpuctl: Cpuctl, command: tuple[str, ...], word: str
) -> None:
    done = cpuctl(*command, word)
    assert done.code in (2, 4)
    assert all(char.isprintable() for line in done.err.split("\n") for char in line)
    assert not any(line.startswith("error: forged") for line in done.err.split("\n"))


@pytest.mark.parametrize("content", ["{}", '{"policyName":""}', '{"checksum":0}'])
def test_a_state_file_without_a_policy_is_shown(cpuctl: Cpuctl, tmp_path: Path, content: str) -> None:
    node = tmp_path / "node"
    node.mkdir()
    archive = PROJECT / "fixtures/nodes/v2-2-numa/node.tar.xz"
    subprocess.run(["tar", "-xf", str(archive), "-C", str(node)], check=True)
    (node / "var/lib/kubelet/cpu_manager_state").write_text(content)
    for words in (
        ("audit",),
        ("cgroups", "show"),
        ("audit", "-o", "json"),
        ("cgroups", "show", "-o", "wide"),
    ):
        done = cpuctl(*words, "-m", str(node))
        assert done.code in (0, 3), done.err
        assert done.out


LIMITED = """
import resource, sys
from cpuctl.cli.app import run
import cpuctl.cli.plan, cpuctl.pods.reading.manifest_files, cpuctl.documents.loading
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.parametrize("spare", [8 << 20, 24 << 20, 48 << 20])
def test_too_little_memory_is_not_an_internal_error(tmp_path: Path, spare: int) -> None:
    pods = tmp_path / "pods.json"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c"}]},
    }
    pods.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod] * 60_000}))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(spare), "plan", "-m", MACHINE, "-f", str(pods)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "internal error" not in done.stderr
    assert done.returncode == 4, done.stderr
    assert "out of memory while reading pods" in done.stderr
