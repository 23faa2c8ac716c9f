from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from cpuctl.documents import files
from cpuctl.documents.files import nearest_path, read_input, read_member
from cpuctl.errors import InputError


def test_a_file_is_read_completely(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_bytes(b"a: 1\n" * 10_000)
    assert read_input(str(path)) == b"a: 1\n" * 10_000


def test_a_file_above_the_size_limit_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_INPUT_BYTES", 1 << 20)
    path = tmp_path / "pods.yaml"
    path.write_bytes(bytes((1 << 20) + 1))
    for read in (read_input, read_member):
        with pytest.raises(InputError, match=r"pods\.yaml: is larger than 1 MiB$"):
            read(str(path))


def test_an_endless_device_is_not_read() -> None:
    with pytest.raises(InputError, match=r"^/dev/zero: is a device, expected a file$"):
        read_input("/dev/zero")
    with pytest.raises(InputError, match=r"^/dev/zero: expected a regular file, found a device$"):
        read_member("/dev/zero")


def test_endless_standard_input_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_INPUT_BYTES", 1 << 20)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes((1 << 20) + 1))))
    with pytest.raises(InputError, match=r"^<stdin>: is larger than 1 MiB$"):
        read_input("-")


def test_a_misspelt_path_is_recognized(tmp_path: Path) -> None:
    """It is recognized in any part of the path.

    Names that differ in a number, or only in their beginning, are not suggested.
    """
    (tmp_path / "machines").mkdir()
    for name in ("node7.tar.xz", "kubelet.yaml", "kubelet.md", "a.yaml"):
        (tmp_path / "machines" / name).touch()
    meant = {
        "machines/kubelte.yaml": "machines/kubelet.yaml",
        "machines/kubelett.yml": "machines/kubelet.yaml",
        "machines/nod7.tar.gz": "machines/node7.tar.xz",
        "machine/node7.tar.xz": "machines/node7.tar.xz",
        "machine/nothing.like": "machines",
        "machines/node8.tar.xz": "",
        "machines/b.yaml": "",
        "machines/kubelet.json": "machines/kubelet.yaml",
        "machines/kubelett.txt": "",
        "machines/kubelet.yaml": "",
        "elsewhere/kubelet.yaml": "",
        "machines.yaml": "",
    }
    found = {path: nearest_path(str(tmp_path / path)) for path in meant}
    assert found == {path: str(tmp_path / name) if name else "" for path, name in meant.items()}
