"""What ``cpuctl __complete`` prints, and what the scripts contain; tests/shells types into real shells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cpuctl.cli.completion.candidates import candidates
from cpuctl.cli.completion.command_tree import command_tree
from cpuctl.cli.completion.value_kinds import Kind, value_of, value_of_argument
from tests.cli.conftest import Cpuctl

ROOT = Path(__file__).parents[2]
PODS = "fixtures/pods"
RUNNING = "fixtures/resize/running.json"


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pod", "zsh", "cpuctl", "explain", "-f", PODS, "shop/d"], ["shop/database"]),
        (["pod", "zsh", "cpuctl", "explain", f"--filename={PODS}", "telco/"], ["telco/packet-gateway"]),
        (["pod", "zsh", "cpuctl", "explain", f"-f{PODS}", "packet"], ["packet-gateway"]),
        (["pod", "bash", "cpuctl", "explain", "-f", f"'{PODS}'", "tel"], ["telco/packet-gateway"]),
        (["pod", "bash", "cpuctl", "explain", "-f", PODS, "'tel"], ["telco/packet-gateway"]),
        (["pod", "zsh", "cpuctl", "explain", "-T", "web=4/4 x2", ""], ["default/web-0", "default/web-1"]),
        (
            ["pod", "zsh", "cpuctl", "explain", "-f", PODS, "shop/database/"],
            ["shop/database/warm-up", "shop/database/ship-log", "shop/database/server"],
        ),
        (
            ["resize", "zsh", "cpuctl", "resize", "--pods", RUNNING, "--set", "shop/database/server:c"],
            ["shop/database/server:cpu="],
        ),
        (
            ["resize", "zsh", "cpuctl", "resize", "--pods", RUNNING, "--set", "shop/"],
            ["shop/database:cpu=", "shop/database:memory="],
        ),
        (
            ["resize", "zsh", "cpuctl", "resize", "--set", "a:cpu=4,"],
            ["a:cpu=4,memory="],
        ),
        (
            ["container", "zsh", "cpuctl", "cgroups", "apply", "--pods", RUNNING, ""],
            ["shop/database/server="],
        ),
        (
            ["container", "zsh", "cpuctl", "cgroups", "apply", "-m", "synthetic:2s2n4c2t", "a/b/c=0,soc"],
            ["a/b/c=0,socket:"],
        ),
        (["cpus", "zsh", "cpuctl", "-m", "synthetic:2s2n4c2t", "0,node:"], ["0,node:0", "0,node:1"]),
        (["cpus", "zsh", "cpuctl", "-m", "synthetic:2s2n4c2t", "chip:"], []),
        (
            ["machine", "zsh", "cpuctl", "-m", "synthetic:1s1n8c2t,near,hugepages-1"],
            ["synthetic:1s1n8c2t,near,hugepages-1Gi="],
        ),
        (["gates", "zsh", "cpuctl", "--feature-gates", "MemoryQoS=t"], ["MemoryQoS=true"]),
        (["gates", "zsh", "cpuctl", "--feature-gates", "MemoryQoS=true,MemoryQ"], []),
        (["checks", "zsh", "cpuctl", "audit", "--check", "state,i"], ["state,interrupts", "state,isolation"]),
        (
            ["columns", "zsh", "cpuctl", "topology", "--columns", "CPU,L"],
            ["CPU,L1D", "CPU,L1I", "CPU,L2", "CPU,L3"],
        ),
    ],
    ids=" ".join,
)
def test_candidates_come_from_the_line(words: list[str], expected: list[str]) -> None:
    assert candidates(words)[: max(len(expected), 1)] == expected


def test_containers_of_a_node_are_found_by_the_links_to_their_logs(tmp_path: Path) -> None:
    logs = tmp_path / "var/log/containers"
    logs.mkdir(parents=True)
    (logs / f"web-0_shop_server-{'a' * 64}.log").write_text("")
    words = ["container", "zsh", "cpuctl", "cgroups", "apply", "--root", str(tmp_path), "shop/"]
    assert candidates(words) == ["shop/web-0/server="]


def test_names_that_no_api_server_accepts_are_not_offered(tmp_path: Path) -> None:
    names = ["good", "$(touch x)", "a;b", "c d", "-x", "e\nf", "`g`"]
    items = "".join(
        f"- {{kind: Pod, metadata: {{name: {n!r}}}, spec: {{containers: [{{name: c}}]}}}}\n" for n in names
    )
    (tmp_path / "pods.yaml").write_text(f"kind: List\nitems:\n{items}")
    assert candidates(["pod", "zsh", "cpuctl", "explain", "-f", str(tmp_path), "default/"]) == [
        "default/good",
        "default/-x",
    ]


def run_complete(*words: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cpuctl", "__complete", *words],
        capture_output=True,
        text=True,
        stdin=stdin,
        timeout=60,
        check=False,
    )


def test_without_candidates_nothing_is_printed(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("kind: [")
    for words in (
        [],
        ["pod"],
        ["pod", "bash"],
        ["nothing", "zsh", "x"],
        ["pod", "zsh", "-f", f"{tmp_path}/broken.yaml", ""],
    ):
        done = run_complete(*words)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), words


def test_standard_input_pipes_and_devices_are_never_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    reading, writing = os.pipe()
    try:
        for name in ("-", str(tmp_path / "pipe.yaml"), str(tmp_path), "/dev/zero"):
            done = run_complete("pod", "zsh", "cpuctl", "explain", "-f", name, "", stdin=reading)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    finally:
        os.close(reading)
        os.close(writing)


def test_large_files_are_skipped(tmp_path: Path) -> None:
    text = (ROOT / RUNNING).read_text()
    (tmp_path / "large.json").write_text(text + " " * (4 << 20))
    (tmp_path / "large.yaml").write_text(f"---\n{text}\n# {' ' * (300 << 10)}\n")
    (tmp_path / "small.json").write_text(text)
    words = [
        "pod",
        "zsh",
        "cpuctl",
        "explain",
        "-f",
        str(tmp_path / "large.json"),
        f"-f{tmp_path}/large.yaml",
    ]
    assert candidates([*words, ""]) == []
    assert candidates([*words, "-f", str(tmp_path / "small.json"), ""]) == ["shop/database"]


def test_scripts_are_printed_and_other_shells_rejected(cpuctl: Cpuctl) -> None:
    assert "complete -F _cpuctl cpuctl" in cpuctl("completion", "bash").out
    assert cpuctl("completion", "zsh").out.startswith("#compdef cpuctl\n")
    assert "complete -c cpuctl" in cpuctl("completion", "fish").out
    refused = cpuctl("completion", "tcsh")
    assert refused.code == 2
    assert "bash" in refused.err


def test_shells_complete_every_file_and_name() -> None:
    """Amounts, durations and numbers are typed by hand; a new kind of file or name needs ``value_kinds``."""
    uncompleted = {
        option.metavar
        for command in command_tree().walk()
        for option in command.options
        if not option.is_flag and value_of(option).kind is Kind.NOTHING
    }
    assert not {
        metavar
        for metavar in uncompleted
        if any(word in metavar for word in ("FILE", "DIR", "POD", "CONTAINER"))
    }
    arguments = [each for command in command_tree().walk() for each in command.arguments]
    assert [each.metavar for each in arguments if value_of_argument(each).kind is Kind.NOTHING] == []
