"""The harness itself: its guarantees to the tests that boot guests."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.guest.harness import debian
from tests.guest.harness.errors import GuestError, GuestTimeoutError
from tests.guest.harness.guest import run_in_guest
from tests.guest.harness.machine import GuestMachine, GuestNode

pytestmark = pytest.mark.guest

SMALL = GuestMachine(sockets=1, cores=1, threads=1, nodes=(GuestNode("0", 400),))


def test_a_result_has_all_output_of_the_command(tmp_path: Path) -> None:
    """One boot of a hybrid machine: exit status, both streams, and identical files in and out."""
    shared = tmp_path / "shared"
    (shared / "deep").mkdir(parents=True)
    noise = os.urandom(100_001)
    (shared / "deep" / "noise").write_bytes(noise)
    (shared / "link").symlink_to("deep/noise")
    command = r"""
        sha256sum <shared/link
        printf 'two\r\nlines\n' >&2
        mkdir /out/sub && cp shared/deep/noise /out/sub && ln -s sub/noise /out/link
        test -f /sys/fs/cgroup/cpuset/cpuset.cpus && test -f /sys/fs/cgroup/unified/cgroup.procs && exit 7
    """
    result = run_in_guest(command, replace(SMALL, cgroup="hybrid"), tmp_path / "out", share=[shared])
    assert result.code == 7
    assert result.stdout.split() == [hashlib.sha256(noise).hexdigest(), "-"]
    assert result.stderr == "two\r\nlines\n"
    assert (result.out_dir / "link").read_bytes() == noise


def test_a_guest_that_takes_too_long_is_killed_without_leftovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(GuestTimeoutError, match=r"^no result after 0\.5 s"):
        run_in_guest("true", SMALL, tmp_path / "out", timeout=0.5)
    assert list(tmp_path.iterdir()) == []
    assert not any(str(tmp_path).encode() in words for words in command_lines())


def command_lines() -> list[bytes]:
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(process.read_bytes())
        except OSError:
            continue
    return found


def test_the_error_of_a_crashed_guest_has_its_last_output(tmp_path: Path) -> None:
    dying = "echo last words; sleep 1; echo c >/proc/sysrq-trigger"
    with pytest.raises(GuestError, match=r"(?s)died after it had started.*sysrq.*--- stdout\nlast words"):
        run_in_guest(dying, SMALL, tmp_path)


def test_a_kernel_that_cannot_start_is_booted_three_times(tmp_path: Path) -> None:
    with pytest.raises(GuestError, match=r"(?s)before its first process, 3 times.*Unable to mount root"):
        run_in_guest("true", replace(SMALL, parameters="rdinit=/none"), tmp_path)


def test_impossible_hardware_is_rejected_with_the_message_of_qemu(tmp_path: Path) -> None:
    with pytest.raises(GuestError, match=r"QEMU ended with 1: .*node-id"):
        run_in_guest("true", replace(SMALL, nodes=(GuestNode("0", 200),) * 2), tmp_path)


def test_packages_are_fetched_once_for_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise two concurrent processes would move one tree into the other."""
    fetched = []

    def fetch(folder: Path, release: str, packages: Sequence[str]) -> None:
        fetched.append((release, *packages))
        time.sleep(0.2)
        folder.mkdir()

    monkeypatch.setattr(debian, "_fetch", fetch)
    with ThreadPoolExecutor() as pool:
        found = set(pool.map(lambda _: debian.debian_tree(tmp_path, "trixie", ["runc"]), range(4)))
    assert (found, fetched) == ({tmp_path / "debian-trixie-runc"}, [("trixie", "runc")])
