"""Which programs a capture runs, and which it does not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from cpuctl.capture.kubelet.running import installed_version


@pytest.fixture
def kubelet(tmp_path: Path) -> Path:
    """Write a program that answers as the kubelet does, and leaves a trace when it runs."""
    return program(tmp_path / "kubelet", f"touch {tmp_path}/ran; echo Kubernetes v1.36.2+k3s1")


def program(path: Path, script: str, mode: int = 0o755) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(mode)
    return path


def requested(*paths: Path, owner: int | None = None, patience: float = 5) -> tuple[str, str]:
    return installed_version(
        [str(path) for path in paths], owner=os.getuid() if owner is None else owner, patience=patience
    )


def test_the_installed_kubelet_prints_its_version(kubelet: Path) -> None:
    assert requested(kubelet) == ("v1.36.2+k3s1", str(kubelet))


def test_the_first_that_answers_is_taken(kubelet: Path, tmp_path: Path) -> None:
    silent = program(tmp_path / "silent", "exit 1")
    assert requested(tmp_path / "missing", silent, kubelet) == ("v1.36.2+k3s1", str(kubelet))


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_program_that_others_may_write_is_never_run(mode: int, kubelet: Path, tmp_path: Path) -> None:
    kubelet.chmod(mode)
    assert requested(kubelet) == ("", "")
    assert not (tmp_path / "ran").exists()


def test_a_program_of_another_user_is_never_run(kubelet: Path, tmp_path: Path) -> None:
    assert requested(kubelet, owner=os.getuid() + 1) == ("", "")
    assert not (tmp_path / "ran").exists()


def test_a_link_is_never_run(kubelet: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(kubelet)
    assert requested(link) == ("", "")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("answer", ["echo hello", "echo Kubernetes v1", "true", "printf '\\377'"])
def test_an_unexpected_answer_is_not_a_version(answer: str, tmp_path: Path) -> None:
    assert requested(program(tmp_path / "other", answer)) == ("", "")


def test_a_program_that_does_not_answer_times_out(tmp_path: Path) -> None:
    started = time.monotonic()
    assert requested(program(tmp_path / "slow", "exec sleep 60"), patience=0.2) == ("", "")
    assert time.monotonic() - started < 10


def test_it_gets_nothing_from_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    curious = program(tmp_path / "curious", 'echo "Kubernetes v1.36.$((SECRET + 2))"')
    assert requested(curious)[0] == "v1.36.2"
