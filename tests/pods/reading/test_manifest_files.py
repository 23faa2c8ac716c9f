from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.pods.reading import manifests
from cpuctl.pods.reading.manifest_files import _files_of, find_manifest_files, read_manifests

POD = "{kind: Pod, metadata: {name: %s}, spec: {containers: [{name: main}]}}"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "b.yaml").write_text(POD % "b")
    (tmp_path / "a.json").write_text('{"kind": "Service"}')
    (tmp_path / "c.yml").write_text(POD % "c")
    (tmp_path / "README.md").write_text("not a manifest")
    (tmp_path / "below.yaml").mkdir()
    (tmp_path / "below.yaml" / "d.yaml").write_text(POD % "d")
    return tmp_path


def test_directory_means_its_manifests_sorted_by_name(directory: Path) -> None:
    assert [Path(file.source).name for file in find_manifest_files([str(directory)])] == [
        "a.json",
        "b.yaml",
        "c.yml",
    ]


def test_files_keep_the_order_they_were_named_in(directory: Path) -> None:
    names = [str(directory / "c.yml"), "-", str(directory / "b.yaml")]
    assert [file.source for file in find_manifest_files(names)] == [names[0], "<stdin>", names[2]]


def test_all_files_are_read_as_one(directory: Path) -> None:
    found = read_manifests([str(directory), str(directory / "b.yaml")])
    assert [pod.name for pod in found.pods] == ["b", "c", "b"]
    assert len({pod.uid for pod in found.pods}) == 3
    assert [item.kind for item in found.skipped] == ["Service"]


def test_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((POD % "a").encode())))
    assert [pod.name for pod in read_manifests(["-"]).pods] == ["a"]


def test_file_named_explicitly_must_contain_a_pod(directory: Path) -> None:
    with pytest.raises(InputError, match=r"a.json: no pods: expected a Pod"):
        read_manifests([str(directory / "a.json"), str(directory / "b.yaml")])


def test_limits_apply_to_all_files_together(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_PODS", 2)
    assert len(read_manifests([str(directory)]).pods) == 2
    with pytest.raises(InputError, match=r"b.yaml:1: more than 2 pods$"):
        read_manifests([str(directory), str(directory / "b.yaml")])


def test_directory_must_contain_a_pod(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text("kind: Service")
    with pytest.raises(InputError, match="no pods: expected a Pod"):
        read_manifests([str(tmp_path)])


def test_directory_without_manifests_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no \.yaml, \.yml or \.json file in this directory"):
        find_manifest_files([str(tmp_path)])


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"web.yaml: cannot be read: no such file or directory"):
        read_manifests([str(tmp_path / "web.yaml")])


def test_vanished_directory_is_reported(tmp_path: Path) -> None:
    """Between the check and the listing, a directory can vanish or become unreadable except for root."""
    with pytest.raises(InputError, match=r"gone: cannot be read: no such file or directory"):
        _files_of(tmp_path / "gone")
