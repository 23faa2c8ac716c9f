from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from cpuctl.documents import files
from cpuctl.documents.files import read_input
from cpuctl.errors import InputError


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_bytes(b"a: 1\n" * 10_000)
    assert read_input(str(path)) == b"a: 1\n" * 10_000


def test_a_file_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_INPUT_BYTES", 1 << 20)
    with pytest.raises(InputError, match=r"^/dev/zero: is larger than 1 MiB$"):
        read_input("/dev/zero")


def test_standard_input_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_INPUT_BYTES", 1 << 20)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes((1 << 20) + 1))))
    with pytest.raises(InputError, match=r"^<stdin>: is larger than 1 MiB$"):
        read_input("-")
