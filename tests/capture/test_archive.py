""""""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cpuctl.capture.archive import Compression, compression_of, make_capture, write_members
from cpuctl.capture.collected import Collected, Content, KubeletFacts, Link
from cpuctl.capture.node import files as node_files
from cpuctl.capture.node.node import record
from cpuctl.machine.archive import read_archive
from cpuctl.schemas import schema_text
from tests.capture.node_texts import SECRETS, node, node_texts, recorded


def members(collected: Collected) -> dict[str, Any]:
    return dict(make_capture(collected, cpuctl="1.2").members)


def manifest(collected: Collected) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(members(collected)["MANIFEST.json"])
    return loaded


def check(document: Any) -> None:
    schema = json.loads(schema_text("capture"))
    jsonschema.validate(document, {"$defs": schema["$defs"], "$ref": "#/$defs/manifest"})


EMPTY = Collected(live=True, members={}, processes=(), kubelet=KubeletFacts(), areas=(), unreadable=())


@pytest.mark.parametrize(
    "collected",
    [recorded(), recorded({}), recorded(node_texts(), "sys", "proc", "var"), EMPTY],
    ids=["a node", "no node", "nothing readable", "empty"],
)
def test_the_manifest_follows_its_schema_and_equals_the_answer(collected: Collected) -> None:
    found = manifest(collected)
    check(found)
    assert found == make_capture(collected, cpuctl="1.2").manifest


def test_the_manifest_comes_first_then_checksums_then_all_files_in_order() -> None:
    first, second, *rest = [path for path, _ in make_capture(recorded(), cpuctl="1.2").members]
    assert (first, second) == ("MANIFEST.json", "SHA256SUMS")
    assert rest == sorted(rest)
    assert "processes.jsonl" in rest


def test_the_manifest_lists_what_is_recorded() -> None:
    found = manifest(record(node(kubelet_version=("v1.36.2", "/usr/bin/kubelet"))))
    assert (found["layoutVersion"], found["cpuctl"], found["source"]) == ("v1", "1.2", "directory")
    assert (found["anonymized"], found["stateChecksumsValid"]) == (False, True)
    assert found["kubelet"]["version"] == "v1.36.2"
    assert found["kubelet"]["versionSource"] == "/usr/bin/kubelet"
    assert found["kubelet"]["config"] == {"path": "/var/lib/kubelet/config.yaml", "state": "recorded"}
    assert {area["name"]: area["counts"] for area in found["areas"]} == {
        "topology": {"cpus": 8, "numaNodes": 2},
        "kubelet": {"flags": 3, "stateFiles": 1},
        "cgroups": {"cgroups": 4},
        "processes": {"processes": 5, "threads": 5},
        "interrupts": {"interrupts": 1},
        "volumes": {},
    }
    assert sum(area["entries"] for area in found["areas"]) == found["members"]


def test_the_manifest_lists_what_is_not_recorded_and_why() -> None:
    refused = manifest(recorded(node_texts(), "var/lib/kubelet", "proc/80"))["unreadable"]
    assert {each["path"]: each["reason"] for each in refused} == {
        "proc/80/status": "permission denied",
        "var/lib/kubelet/config.yaml": "permission denied",
        "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint": "permission denied",
        "var/lib/kubelet/pods": "permission denied",
        **{
            f"var/lib/kubelet/{name}_state": "permission denied"
            for name in (
                "actuated_pods",
                "allocated_pods",
                "cpu_manager",
                "dra_manager",
                "memory_manager",
                "pod_status_manager",
            )
        },
    }


def test_the_time_is_recorded_only_on_request() -> None:
    assert "recordedAt" not in manifest(recorded())
    later = make_capture(recorded(), cpuctl="1.2", recorded_at="2026-11-20T20:00:00+00:00").manifest
    assert later["recordedAt"] == "2026-11-20T20:00:00+00:00"
    check(later)


def test_every_file_has_its_checksum() -> None:
    files = members(recorded())
    sums = files.pop("SHA256SUMS")
    found = json.loads(files.pop("MANIFEST.json"))
    assert found["checksums"]["sha256"] == hashlib.sha256(sums.encode()).hexdigest()
    lines = dict(reversed(line.split("  ")) for line in sums.splitlines())
    texts = {path: text for path, text in files.items() if isinstance(text, str)}
    assert lines == {path: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()}


def test_checksums_escape_names_as_sha256sum_does() -> None:
    """Systemd escapes dashes inside a name as a backslash and digits."""
    group = r"sys/fs/cgroup/kubepods\x2da"
    sums = members(recorded({"sys/fs/cgroup/cgroup.controllers": "", f"{group}/cpu.max": "max\n"}))
    digest = hashlib.sha256(b"max\n").hexdigest()
    assert rf"\{digest}  sys/fs/cgroup/kubepods\\x2da/cpu.max" in sums["SHA256SUMS"].splitlines()


def test_no_secret_is_in_any_member() -> None:
    """Neither from the configuration nor from command lines, environments, keys or serial numbers."""
    texts = node_texts()
    for secret in SECRETS:
        assert any(secret in text for text in texts.values())
    content = repr(make_capture(recorded(texts), cpuctl="1.2"))
    assert [secret for secret in SECRETS if secret in content] == []


def test_a_capture_stays_small_enough_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_files, "MAX_MEMBERS", node_files._SPARE_MEMBERS + 10)
    found = manifest(recorded())
    check(found)
    assert found["members"] == 11  # and the processes, which have a separate limit
    assert found["areas"][-1]["name"] == "limits"
    assert "files are left out" in found["areas"][-1]["notes"][0]


def test_texts_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_files, "MAX_KEPT_BYTES", node_files._SPARE_BYTES + 5)
    collected = recorded()
    assert sum(len(text) for text in collected.members.values() if isinstance(text, str)) <= 5


def test_names_that_are_not_text_are_left_out(tmp_path: Path) -> None:
    collected = recorded({"proc/irq/24/eth\udcff/x": "", "proc/irq/24/smp_affinity_list": "0\n"})
    assert set(collected.members) == {"proc/irq/24/smp_affinity_list"}
    (refused,) = collected.unreadable
    assert (refused.path, refused.reason) == (r"proc/irq/24/eth\xff", "its name is not valid UTF-8")


LONG = "sys/fs/cgroup/" + "kubepods-burstable/" * 20 + "cpuset.cpus"
MEMBERS: Mapping[str, Content] = {
    "sys/a": "0-3\n",
    "sys/empty": "",
    "sys/cpu0": None,
    "sys/node0/cpu0": Link("../../cpu/cpu0"),
    LONG: "1\n",
    "sys/Füße": "grün\n",
}


def packed(members: Mapping[str, Content], compression: Compression = Compression.NONE) -> bytes:
    file = io.BytesIO()
    write_members(members.items(), file, compression)
    return file.getvalue()


@pytest.mark.parametrize("compression", Compression)
def test_cpuctl_reads_back_what_was_written(compression: Compression, tmp_path: Path) -> None:
    path = tmp_path / f"node{compression}"
    path.write_bytes(packed(MEMBERS, compression))
    tree = read_archive(path)
    assert {name: tree.read(name) for name in MEMBERS} == {
        name: content if isinstance(content, str) else None for name, content in MEMBERS.items()
    }
    assert {"a", "cpu0", "empty", "fs", "node0", "Füße"} == set(tree.names("sys"))


def test_tar_reads_it_back_too() -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(MEMBERS))) as tar:
        members = tar.getmembers()
        assert [member.name for member in members] == list(MEMBERS)
        kinds = {member.name: (member.isdir(), member.linkname, member.mode) for member in members}
        assert kinds["sys/a"] == (False, "", 0o644)
        assert kinds["sys/cpu0"] == (True, "", 0o755)
        assert kinds["sys/node0/cpu0"] == (False, "../../cpu/cpu0", 0o777)
        assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, 0, "", "")}


@pytest.mark.parametrize("compression", Compression)
def test_the_same_node_gives_the_same_bytes(compression: Compression) -> None:
    texts = node_texts()
    backwards = dict(reversed(texts.items()))
    first, second = (
        packed(dict(make_capture(recorded(files), cpuctl="1").members), compression)
        for files in (texts, backwards)
    )
    assert first == second


@pytest.mark.parametrize(
    ("name", "want"), [("a.tar", ".tar"), ("a.tar.gz", ".tar.gz"), ("d/a.b.tar.xz", ".tar.xz")]
)
def test_the_file_name_determines_the_compression(name: str, want: str) -> None:
    assert compression_of(name) == want


@pytest.mark.parametrize("name", ["a", "a.zip", "a.tar.zst", "a.tgz", "tar", "a.tar/"])
def test_other_file_names_mean_no_compression(name: str) -> None:
    with pytest.raises(ValueError, match=r"expected a name that ends in \.tar, \.tar\.gz, \.tar\.xz"):
        compression_of(name)
