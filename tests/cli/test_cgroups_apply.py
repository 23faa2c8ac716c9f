"""``cgroups apply`` on this machine's own kernel, in groups of the test; elsewhere guest tests cover it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.group_node import V1, Node, node_of_groups, real_kernel, wait_until


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with node_of_groups(tmp_path) as made:
        yield made


@real_kernel
def test_a_dry_run_changes_nothing(node: Node) -> None:
    code, document = node.answer("--exit-code")
    assert (code, document["outcome"], node.lists) == (3, "Planned", ["0-1", "0-1"])
    assert [(each["subject"], each["before"], each["after"]) for each in document["writes"]] == [
        ("shop/shared/app", "0-1", "0"),
        ("shop/own/app", "0-1", "1"),
    ]


@real_kernel
@pytest.mark.parametrize("words", [[], ["--yes", "--no-wait", "-o", "wide"]], ids=["dry", "done"])
def test_output(node: Node, words: list[str], snapshot: SnapshotAssertion) -> None:
    done = node.run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace(node.root.name, "ROOT") == snapshot


@real_kernel
def test_it_writes_waits_and_logs(node: Node, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    code, document = node.answer("--yes", "--log", str(log))
    assert (code, document["outcome"], node.lists) == (0, "Applied", ["1", "0"])
    assert document["result"]["watchedSeconds"] == 3
    steps = [json.loads(line)["step"] for line in log.read_text().splitlines()]
    assert steps == ["writing", "written", "writing", "written"]
    assert node.answer("--yes")[1]["outcome"] == "Clean"


@real_kernel
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_undoes_everything(node: Node, number: int, code: int) -> None:
    process = subprocess.Popen(node.command("--yes"), stdout=subprocess.DEVNULL)
    wait_until(node, ["1", "0"])
    process.send_signal(number)
    assert process.wait(20) == code
    assert node.lists == ["0-1", "0-1"]


@real_kernel
def test_a_second_run_finishes_what_a_killed_one_leaves(node: Node) -> None:
    process = subprocess.Popen(node.command("--yes"), stdout=subprocess.DEVNULL)
    wait_until(node, ["1", "0"])
    process.kill()
    process.wait()
    assert node.answer("--yes", "--no-wait")[0] == 0
    assert node.lists == ["1", "0"]


@real_kernel
def test_another_writer_is_left_alone_and_reported(node: Node) -> None:
    with subprocess.Popen(node.command("--yes", "-o", "json"), stdout=subprocess.PIPE) as process:
        wait_until(node, ["1", "0"])
        (node.shared / "cpuset.cpus").write_text("1")
        output, _ = process.communicate()
    document = json.loads(output)
    assert (process.returncode, document["outcome"]) == (6, "NotRestored")
    assert [each["group"].endswith("b" * 64) for each in document["result"]["notRestored"]] == [True]
    assert node.lists == ["0-1", "1"]


@real_kernel
def test_a_child_group_of_the_container_shrinks_first(node: Node) -> None:
    child = node.own / "init"
    child.mkdir()
    (child / "cpuset.mems").write_text((V1 / "cpuset.mems").read_text())
    (child / "cpuset.cpus").write_text("0-1")
    assert node.answer("--yes", "--no-wait")[0] == 0
    assert (child / "cpuset.cpus").read_text() == "1\n"
