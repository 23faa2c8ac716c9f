"""``cpuctl fleet diff``: which nodes are gone, new and changed, and each change once."""

from __future__ import annotations

import json
import shutil
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import ROOT, Cpuctl
from tests.machine.support.archives import write_tree
from tests.machine.sysfs_writer import small_machine
from tests.support.schemas import follow_schema

NODES = ROOT / "fixtures/nodes"
MACHINES = ROOT / "fixtures/machines"
RELEASE = ("--kubelet-version", "1.36")


def changed(source: Path, target: Path, name: str, old: bytes, new: bytes) -> None:
    """Copy a recording with one of its files changed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(source) as before, tarfile.open(target, "w") as after:
        for member in before:
            data = before.extractfile(member)
            content = data.read() if data else b""
            if member.name.endswith(name):
                assert old in content
                content = content.replace(old, new)
                member.size = len(content)
            after.addfile(member, BytesIO(content))


@pytest.fixture
def fleets(tmp_path: Path) -> Path:
    """Create two fleets: two nodes get another setting, one another machine, one leaves, one enters."""
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
    node, machine = NODES / "v2-2-numa/node.tar.xz", MACHINES / "2s-2numa-32cpu.tar.xz"
    for name in ("node1", "node2", "node3", "node4", "gone"):
        shutil.copy(node, tmp_path / f"before/{name}.tar.xz")
    shutil.copy(node, tmp_path / "after/node3.tar.xz")
    shutil.copy(machine, tmp_path / "after/node4.tar.xz")
    shutil.copy(node, tmp_path / "after/fresh.tar.xz")
    for name in ("node1", "node2"):
        reserved = (b'"reservedSystemCPUs": "0-1"', b'"reservedSystemCPUs": "0-3"')
        changed(node, tmp_path / f"after/{name}.tar", "kubelet/config.yaml", *reserved)
    return tmp_path


def words(fleets: Path, *more: str) -> tuple[str, ...]:
    return ("fleet", "diff", str(fleets / "before"), str(fleets / "after"), *RELEASE, *more)


def test_nodes_are_gone_new_changed_or_the_same_in_every_form(fleets: Path, cpuctl: Cpuctl) -> None:
    result = cpuctl(*words(fleets, "-o", "json"))
    assert result.code == 0, result
    answer: Any = json.loads(result.out)
    follow_schema(answer, "fleetdiff")
    assert {node["node"]: node["outcome"] for node in answer["nodes"]} == {
        "gone": "Gone",
        "fresh": "New",
        "node1": "Changed",
        "node2": "Changed",
        "node3": "Same",
        "node4": "Changed",
    }
    assert cpuctl(*words(fleets, "-o", "json", "--jobs", "3")).out == result.out
    assert yaml.safe_load(cpuctl(*words(fleets, "-o", "yaml")).out) == answer
    lines = cpuctl(*words(fleets, "-o", "jsonl")).out.splitlines()
    assert [json.loads(line) for line in lines] == answer["nodes"]


def test_equal_changes_are_shown_once(fleets: Path, cpuctl: Cpuctl) -> None:
    lines = cpuctl(*words(fleets)).out.splitlines()
    assert lines[:4] == [
        "5 nodes before, 5 after: 1 gone, 1 new, 3 changed, 1 the same",
        "",
        "gone: gone",
        "new: fresh",
    ]
    assert "2 nodes (node1, node2): reservedSystemCPUs: 0-1 -> 0-3" in lines
    (start,) = (line for line in lines if line.startswith("node4: kubelet's start: would not start"))
    assert start.endswith(" -> would start")
    assert any(line.startswith("node4: CPUs: 15 -> 32") for line in lines)


def test_resolved_and_new_findings_are_shown_on_request(fleets: Path, cpuctl: Cpuctl) -> None:
    assert "quota-on-exclusive" not in cpuctl(*words(fleets)).out
    out = cpuctl(*words(fleets, "--check", "audit")).out
    assert "node4: resolved: error: quota-on-exclusive: " in out
    back = ("fleet", "diff", str(fleets / "after"), str(fleets / "before"), *RELEASE, "--check", "audit")
    assert "node4: new: error: quota-on-exclusive: " in cpuctl(*back).out


def test_the_exit_code_shows_differences_on_request(fleets: Path, cpuctl: Cpuctl) -> None:
    assert cpuctl(*words(fleets)).code == 0
    assert cpuctl(*words(fleets, "--exit-code")).code == 3
    same = ("fleet", "diff", str(fleets / "before"), str(fleets / "before"), *RELEASE, "--exit-code")
    result = cpuctl(*same)
    assert (result.code, result.out) == (0, "5 nodes before, 5 after: 5 the same\n")


def test_a_broken_recording_is_reported_and_all_others_are_compared(fleets: Path, cpuctl: Cpuctl) -> None:
    (fleets / "after/node3.tar.xz").write_bytes(b"\x1f\x8bnothing")
    result = cpuctl(*words(fleets, "--exit-code"))
    assert (result.code, "unreadable: node3: " in result.out) == (4, True)
    assert "reservedSystemCPUs: 0-1 -> 0-3" in result.out
    assert cpuctl(*words(fleets, "--exit-zero")).code == 0


def test_nodes_with_the_same_name_are_matched_by_path(tmp_path: Path, cpuctl: Cpuctl) -> None:
    for folder in ("before", "after"):
        for rack in ("rack1", "rack2"):
            (tmp_path / folder / rack).mkdir(parents=True)
            shutil.copy(MACHINES / "2s-2numa-32cpu.tar.xz", tmp_path / folder / rack / "node.tar.xz")
    command = ("fleet", "diff", str(tmp_path / "before"), str(tmp_path / "after"), "--exit-code")
    assert cpuctl(*command).code == 0


def test_answers_of_earlier_lists_are_reused(fleets: Path, cpuctl: Cpuctl) -> None:
    listed = cpuctl("fleet", "list", str(fleets / "before"), *RELEASE, "-o", "jsonl").out
    (fleets / "earlier").write_text(listed.replace('"cgroup version": "2"', '"cgroup version": "known"'))
    out = cpuctl(*words(fleets, "--resume", str(fleets / "earlier"))).out
    assert "cgroup version: known -> 2" in out


def test_stdin_cannot_be_both(cpuctl: Cpuctl) -> None:
    assert cpuctl("fleet", "diff", "-", "-").code == 2


def test_a_machine_that_was_replaced_does_not_hide_the_others(tmp_path: Path, cpuctl: Cpuctl) -> None:
    machines = {"a": ("synthetic:2s2n8c2t,mem=64Gi", "synthetic:2s8n8c2t,mem=64Gi,l3=8")}
    for at, folder in enumerate(("before", "after")):
        (tmp_path / folder).write_text(f"{machines['a'][at]}\n")
    reported = ("--kubelet-args=--cpu-manager-policy=static --reserved-cpus=0", *RELEASE)
    named = (f"@{tmp_path}/before", f"@{tmp_path}/after")
    assert "gone: synthetic" in cpuctl("fleet", "diff", *named, *reported).out
    for at, folder in enumerate(("old", "new")):
        written(machines["a"][at], tmp_path / folder / "a")
    words = ("fleet", "diff", str(tmp_path / "old"), str(tmp_path / "new"), *reported)
    few, every = (cpuctl(*words, "-o", form).out.splitlines() for form in ("table", "wide"))
    facts = [
        line for line in every if line.startswith("a: ") and "free for" not in line and "largest" not in line
    ]
    assert f"a: and {len(facts) - 12} more facts (-o wide)" in few
    assert len(few) == len(every) - (len(facts) - 12) + 1


def written(description: str, folder: Path) -> None:
    """Write all files in which a kernel describes a machine."""
    write_tree(small_machine(description), folder)


def test_a_missing_collection_is_an_error(fleets: Path, cpuctl: Cpuctl) -> None:
    """A fleet without nodes would be a different answer: all nodes are gone."""
    for before, after in (("befor", "after"), ("before", "aftr")):
        result = cpuctl("fleet", "diff", f"{fleets}/{before}", f"{fleets}/{after}", *RELEASE)
        missing, meant = (before, "before") if before == "befor" else (after, "after")
        expected = (
            f"error: {fleets}/{missing}: cannot be read: no such file or directory\n"
            f"hint: did you mean {fleets}/{meant}?\n"
        )
        assert (result.code, result.out, result.err) == (4, "", expected)


def test_node_objects_provide_releases_missing_from_recordings(
    fleets: Path, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """For the nodes as they are now, and as they were."""
    shutil.copy(MACHINES / "2s-2numa-32cpu.tar.xz", fleets / "before/node4.tar.xz")
    names = []
    for release in ("v1.31.2", "v1.34.1"):
        info = {"allocatable": {}, "nodeInfo": {"kubeletVersion": release}}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node4"}, "status": info}
        names.append(tmp_path / f"{release}.json")
        names[-1].write_text(json.dumps(node))
    words = ("fleet", "diff", f"{fleets}/before/node4.tar.xz", f"{fleets}/after/node4.tar.xz", "-o", "json")
    assert json.loads(cpuctl(*words, "--nodes", str(names[0])).out)["changes"] == []
    both = cpuctl(*words, "--nodes-before", str(names[0]), "--nodes", str(names[1])).out
    assert [(each["what"], each["before"], each["after"]) for each in json.loads(both)["changes"]] == [
        ("kubelet", "1.31.2", "1.34.1")
    ]


def test_findings_name_the_pods(fleets: Path, cpuctl: Cpuctl) -> None:
    """For the nodes as they are now, and as they were; without pods, there are no such findings."""
    pods = json.loads((NODES / "v2-2-numa/pods.json").read_text())
    for pod in pods["items"]:
        pod["spec"]["nodeName"] = "node3"
    (fleets / "pods.json").write_text(json.dumps(pods))
    for option, word in (("--pods", "new"), ("--pods-before", "resolved")):
        reported = ("--check", "state", option, str(fleets / "pods.json"))
        lines = cpuctl(*words(fleets, *reported)).out.splitlines()
        found = [line for line in lines if line.startswith("node3: ") and "the pod is not running" in line]
        assert [line.split(": ")[1:3] for line in found] == [[word, "warning"]] * 2
    alone = cpuctl(*words(fleets, "--pods", str(fleets / "pods.json")))
    assert (alone.code, "--pods: requires --check state or audit" in alone.err) == (2, True)


def test_findings_keep_their_words_and_lose_names_and_numbers(tmp_path: Path, cpuctl: Cpuctl) -> None:
    for folder, node in (("before", "v2-2-numa"), ("after", "hybrid-8-numa")):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / f"fixtures/nodes/{node}/node.tar.xz", tmp_path / folder / "node.tar.xz")
    shown = cpuctl(
        "fleet", "diff", "before", "after", "--check", "audit", "-q", cwd=tmp_path, columns=400
    ).out
    assert "new: error: cpuset-differs: ...: no container of its pod should have CPUs ...; allowed: " in shown
    assert "use --pods to identify the container" in shown


def test_long_lists_are_shown_by_what_was_removed_and_added(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Cut at the same place, they may look equal."""
    for folder, node in (("before", "v2-2-numa"), ("after", "hybrid-8-numa")):
        (tmp_path / folder).mkdir()
        shutil.copy(NODES / node / "node.tar.xz", tmp_path / folder / "node1.tar.xz")
    shown = cpuctl(*words(tmp_path))
    assert "node1: cores: removed 14, added 14-15 16-17 " in shown.out
