"""Audits of a node with a real kernel, untuned, tuned, broken and fixed: all faults are found, no others."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import CASES, HERE, ROOT, one_boot
from tests.guest.harness.guest import run_in_guest
from tests.guest.harness.machine import Cgroup, GuestMachine, even_nodes
from tests.support.planted_faults import by_code, check_planted
from tests.support.schemas import follow_schema

pytestmark = pytest.mark.guest

TWO = CASES["2-sockets-16-cpus"].machine
# The guest's files are on one of the nodes; a process with memory there needs space next to them.
EIGHT = replace(CASES["8-nodes-32-cpus"].machine, parameters="", nodes=even_nodes(8, cpus=4, mib=256))


@dataclass(frozen=True, slots=True)
class Layout:
    """A machine, the version of its control groups, and the programs that make and name them."""

    machine: GuestMachine
    cgroup: Cgroup
    driver: str
    runtime: str


LAYOUTS = {
    "v2-2-nodes": Layout(TWO, "v2", "systemd", "containerd"),
    "v2-8-nodes": Layout(EIGHT, "v2", "systemd", "crio"),
    "v1-2-nodes": Layout(TWO, "v1", "cgroupfs", "containerd"),
    "hybrid-8-nodes": Layout(EIGHT, "hybrid", "cgroupfs", "crio"),
}


@dataclass(frozen=True, slots=True)
class Audited:
    """The output in the guest."""

    layout: Layout
    folder: Path

    def answer(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / f"{name}.json").read_text())
        follow_schema(document)
        return document

    def found(self, name: str) -> dict[str, list[dict[str, Any]]]:
        """Return the findings of an audit by code."""
        return by_code(self.answer(name))

    @property
    def planted(self) -> dict[str, str]:
        reported: dict[str, str] = json.loads((self.folder / "planted.json").read_text())
        return reported


@pytest.fixture(scope="module", params=one_boot("audit", LAYOUTS))
def audited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """Boot a machine once, and do everything in it."""
    layout = LAYOUTS[request.param]
    result = run_in_guest(
        f"python3 audit_node.py {layout.driver} {layout.runtime}",
        replace(layout.machine, cgroup=layout.cgroup),
        tmp_path_factory.mktemp("audit"),
        share=[
            ROOT / "cpuctl",
            *(HERE / name for name in ("audit_node.py", "audit-kubelet.yaml", "audit-pods.yaml")),
        ],
    )
    assert result.code == 0, result.stderr
    return Audited(layout, result.out_dir)


CERTAIN = {"foreign-processes", "interrupts-default", "kernel-threads"}
UNTUNED = CERTAIN | {"interrupt", "interrupts-allowed", "kernel-work"}


def test_an_untuned_host_has_findings_but_no_errors(audited: Audited) -> None:
    answer = audited.answer("untuned")
    assert answer["summary"]["error"] == 0
    assert CERTAIN <= audited.found("untuned").keys() <= UNTUNED
    assert {each["verdict"] for each in answer["containers"]} == {"ok", "not checked"}


def test_every_proposed_command_works(audited: Audited) -> None:
    """The next test checks that they also repair the node."""
    for name in ("untuned", "faulty"):
        assert json.loads((audited.folder / f"{name}.json.failed").read_text()) == []


@pytest.mark.parametrize("name", ["clean", "fixed"])
def test_a_correct_node_has_no_findings(audited: Audited, name: str) -> None:
    answer = audited.answer(name)
    assert (answer["findings"], answer["unreadable"]) == ([], [])
    code, _ = (audited.folder / f"{name}.json.code").read_text().split()
    assert code == "0"
    busy = [each for each in answer["containers"] if each["container"] == "server"]
    assert [each["cpus"]["threads"] for each in busy] == [busy[0]["cpus"]["expected"]]


def test_every_planted_fault_is_found_and_nothing_else(audited: Audited) -> None:
    check_planted(audited.found("faulty"), audited.planted)


def test_the_plan_contains_only_the_faults(audited: Audited) -> None:
    (group,) = audited.answer("plan")["groups"]
    assert group["owner"]["container"] == "server"
    assert group["cpus"]["now"] == audited.planted["cpuset-differs"].split()[1]
    assert group["process"]["startTime"] > 0


def answer_of(audited: Audited, *words: str) -> dict[str, Any]:
    """Run the host's cpuctl on the recording."""
    recording = audited.folder / "faulty.tar.xz"
    done = subprocess.run(
        [sys.executable, "-m", "cpuctl", *words, "-m", recording, "-q", "-o", "json"],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
    )
    assert done.returncode in (0, 3)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_recording_gives_the_same_answer_as_the_live_node(audited: Audited) -> None:
    again = answer_of(audited, "audit", "--pods", str(audited.folder / "pods.json"))
    live = audited.answer("faulty")
    seen = [[(each["code"], each["subject"]) for each in answer["findings"]] for answer in (live, again)]
    assert seen[0] == seen[1]
    assert again["containers"] == live["containers"]
    assert again["node"] == live["node"]


def test_groups_of_the_recording_are_shown_with_their_owners(audited: Audited) -> None:
    shown = answer_of(audited, "cgroups", "show", "--pods", str(audited.folder / "pods.json"))
    owners = {each["owner"]["container"] for each in shown["groups"] if each["level"] == "container"}
    assert owners == {"server", "forwarder", "front", None}
    quota = "cpu.max" if audited.layout.cgroup == "v2" else "cpu.cfs_quota_us"
    limited = [each["owner"]["container"] for each in shown["groups"] if each["files"][quota]["differs"]]
    assert limited == ["forwarder"]
