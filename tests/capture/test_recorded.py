"""What a recording shows about its kubelet, and how foreign archives are handled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.capture.archive import make_capture
from cpuctl.capture.collected import Unreadable
from cpuctl.capture.node.node import record
from cpuctl.capture.recorded import recorded_kubelet
from cpuctl.capture.recorded_kubelet import RecordedKubelet
from cpuctl.capture.recorded_manifest import recorded_gaps
from cpuctl.errors import InputError
from cpuctl.machine.tree import MemoryTree
from tests.capture.node_texts import FLAGS, node, node_texts, process

CONFIG = "var/lib/kubelet/config.yaml"
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def files(texts: dict[str, str], *closed: str) -> dict[str, str | None]:
    """Record a node from texts and return the archive's files."""
    collected = record(node(texts, *closed, kubelet_version=("v1.37.1", "/usr/bin/kubelet")))
    members = make_capture(collected, cpuctl="1").members
    return {path: text if isinstance(text, str) else None for path, text in members}


def reported(found: dict[str, str | None]) -> RecordedKubelet:
    return recorded_kubelet(MemoryTree(found), "node7")


def test_a_capture_includes_its_kubelet() -> None:
    found = files(node_texts())
    kubelet = reported(found)
    assert kubelet == RecordedKubelet(
        version="v1.37.1",
        config=found[CONFIG],
        config_path="/var/lib/kubelet/config.yaml",
        flags=("--max-pods=200",),
        runs=True,
        other_flags=("token",),
    )
    assert len(FLAGS) == 3  # two of them show only where its files are, and under which name it is registered


def test_drop_ins_of_a_node_without_a_running_kubelet_are_perhaps_not_used() -> None:
    drop_ins = reported(files({"etc/kubernetes/kubelet.conf.d/a.conf": HEAD})).drop_ins
    assert drop_ins is not None
    assert (drop_ins.name, drop_ins.used) == ("/etc/kubernetes/kubelet.conf.d", False)


def test_drop_ins_are_sorted_as_the_kubelet_reads_them() -> None:
    names = ("9.conf", "10.conf", "b.conf", "b/c.conf", ".hidden.conf")
    texts = process(7, "kubelet", "/", "kubelet", "--config-dir=/opt/d")
    found = files({**texts, **{f"opt/d/{name}": f"{HEAD}maxPods: 7" for name in names}})
    drop_ins = reported(found).drop_ins
    assert drop_ins is not None
    assert (drop_ins.name, drop_ins.used) == ("/opt/d", True)
    start = "node7: etc/kubernetes/kubelet.conf.d/"
    assert [path.removeprefix(start) for path, _ in drop_ins.files()] == [
        ".hidden.conf", "10.conf", "9.conf", "b/c.conf", "b.conf",
    ]  # fmt: skip


@pytest.mark.parametrize("content", ["{", f"{HEAD}maxPods: 1\nmaxPods: 2", ""])
def test_incompletely_recorded_drop_ins_are_not_used(content: str) -> None:
    """Without them the configuration would differ: a kubelet might not start with them."""
    texts = process(7, "kubelet", "/", "kubelet", "--config-dir=/opt/d")
    drop_ins = reported(files({**texts, "opt/d/a.conf": content, "opt/d/b.conf": HEAD})).drop_ins
    assert drop_ins is not None
    with pytest.raises(
        InputError, match=r"^node7: drop-in files of /opt/d are missing because they could not"
    ):
        list(drop_ins.files())


def test_a_configuration_that_could_not_be_recorded_is_not_missing() -> None:
    assert reported(files(node_texts(), CONFIG)).config_refused
    assert not reported(files({})).config_refused


def test_a_plain_directory_may_have_only_a_configuration() -> None:
    assert reported({CONFIG: HEAD, "sys/a": "1"}) == RecordedKubelet(
        config=HEAD, flags_gap="no kubelet process or unit was found"
    )
    assert reported({"sys/a": "1"}) == RecordedKubelet()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "an extension"}', "[" * 100_000])
def test_manifests_of_other_programs_are_skipped(text: str) -> None:
    assert reported({"MANIFEST.json": text}) == RecordedKubelet()


def edited(**members: Any) -> dict[str, str | None]:
    found = files(node_texts())
    manifest = json.loads(found["MANIFEST.json"] or "")
    return found | {"MANIFEST.json": json.dumps(manifest | members)}


@pytest.mark.parametrize(
    ("members", "want"),
    [
        ({"layoutVersion": "v2"}, 'layoutVersion: expected v1, found the string "v2"'),
        ({"layoutVersion": None}, "layoutVersion is missing"),
        ({"kubelet": None}, "kubelet is missing"),
        ({"kubelet": 5}, "kubelet: expected a mapping, found the number 5"),
        ({"kubelet": {"config": {"state": "lost"}}}, "expected one of recorded, absent, unreadable"),
        ({"kubelet": {"config": {"state": "absent"}, "version": 5}}, "kubelet.version: expected a string"),
    ],
)
def test_an_invalid_manifest_is_rejected_with_its_place(members: dict[str, Any], want: str) -> None:
    with pytest.raises(InputError) as error:
        reported(edited(**members))
    assert str(error.value).startswith("MANIFEST.json")
    assert want in str(error.value)


def test_a_capture_reports_its_gaps() -> None:
    found = files(node_texts(), CONFIG)
    assert list(recorded_gaps(MemoryTree(found))) == [Unreadable(CONFIG, "permission denied")]
    assert list(recorded_gaps(MemoryTree({}))) == []


@pytest.mark.parametrize("gaps", ["x", [1], [{"path": 1, "reason": "x"}], [{"path": "x"}]])
def test_an_invalid_list_of_gaps_is_rejected(gaps: object) -> None:
    found = files(node_texts())
    manifest = json.loads(found["MANIFEST.json"] or "")
    found["MANIFEST.json"] = json.dumps(manifest | {"unreadable": gaps})
    with pytest.raises(InputError, match="unreadable"):
        list(recorded_gaps(MemoryTree(found)))
