"""Running one command in a throw-away machine: QEMU's emulation, no disk, no network, no traces."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.guest.harness.cpio import Entry, copies, regular_file, write_archive
from tests.guest.harness.errors import GuestError, GuestTimeoutError
from tests.guest.harness.host_tools import installed
from tests.guest.harness.image import Image, compile_ahead, guest_image
from tests.guest.harness.machine import GuestMachine

_INIT = Path(__file__).with_name("init")
_ATTEMPTS = 3
_LAST_LINES = 60  # a kernel panic with all its registers
_NOT_SHARED = shutil.ignore_patterns("__pycache__", ".git")
_PORTS = ("console", "stdout", "stderr", "report")

# One emulating thread: with several, emulated CPUs race with the kernel that patches its own code, and now
# and then a boot dies of it.
_BARE_MACHINE = ("-accel", "tcg,thread=single,tb-size=256", "-M", "q35,usb=off,vmport=off,hpet=on")
_NOTHING_ELSE = ("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot")


@dataclass(frozen=True, slots=True)
class GuestResult:
    """How a command ended in the guest; ``out_dir`` holds what it wrote to /out."""

    code: int
    stdout: str
    stderr: str
    out_dir: Path


def run_in_guest(
    command: str,
    machine: GuestMachine,
    out_dir: Path,
    *,
    share: Sequence[Path] = (),
    timeout: float = 1500,
) -> GuestResult:
    """Boot *machine*, run *command* with a shell in /share, and bring back what it wrote to /out.

    Every path in *share* is copied to /share under its own name; /share is on Python's path. *timeout* is in
    seconds. Raise GuestTimeoutError, or GuestError with the guest's whole output, on failure.
    """
    image = guest_image()
    with tempfile.TemporaryDirectory(prefix="cpuctl-guest-") as name:
        work = Path(name)
        _copy(share, work / "share")
        _write_files(work / "initrd", image, command, work / "share")
        report = _boot(work, image, machine, timeout)
        return _result(work, report, out_dir)


def _copy(share: Sequence[Path], folder: Path) -> None:
    """Copy the shared files, and compile Python files: under emulation, compiling is slower than running."""
    folder.mkdir()
    for path in share:
        if path.is_dir():
            shutil.copytree(path, folder / path.name, symlinks=True, ignore=_NOT_SHARED)
        else:
            shutil.copy2(path, folder)
    compile_ahead("-s", folder, "-p", "/share", folder)


def _write_files(initrd: Path, image: Image, command: str, share: Path) -> None:
    """Write the guest's files: the kernel unpacks two concatenated archives, one over the other."""
    with initrd.open("wb") as stream:
        with image.root.open("rb") as root:
            shutil.copyfileobj(root, stream)
        write_archive(stream, _entries(command, share))


def _entries(command: str, share: Path) -> Iterator[Entry]:
    yield regular_file("init", _INIT.read_bytes(), 0o755)
    yield regular_file("command", f"{command}\n".encode())
    yield from copies(share, "share")


def _boot(work: Path, image: Image, machine: GuestMachine, timeout: float) -> bytes:
    """Return the guest's report; a guest that died before its first process is booted again."""
    words = list(_qemu_words(work, image, machine))
    report = b""
    for _ in range(_ATTEMPTS):
        _run_qemu(work, words, timeout)
        report = (work / "report").read_bytes()
        if report:
            break
    return report


def _qemu_words(work: Path, image: Image, machine: GuestMachine) -> Iterator[str]:
    # A killed test run also ends its guest.
    yield from (str(installed("setpriv")), "--pdeathsig", "KILL", str(installed("qemu-system-x86_64")))
    yield from (*_BARE_MACHINE, *_NOTHING_ELSE, *machine.qemu_words())
    yield from ("-kernel", str(image.kernel), "-initrd", str(work / "initrd"))
    yield from ("-append", machine.kernel_parameters())
    for port in _PORTS:
        yield from ("-chardev", f"file,id={port},path={work / port}", "-serial", f"chardev:{port}")


def _run_qemu(work: Path, words: Sequence[str], timeout: float) -> None:
    try:
        done = subprocess.run(
            words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise GuestTimeoutError(_reported(work, f"no result after {timeout:g} s")) from None
    if done.returncode:
        raise GuestError(_reported(work, f"QEMU ended with {done.returncode}: {done.stderr.strip()}"))


def _result(work: Path, report: bytes, out_dir: Path) -> GuestResult:
    if not report:
        raise GuestError(_reported(work, f"the guest died before its first process, {_ATTEMPTS} times"))
    lines = re.match(rb"UP\n(EXIT \d+|FAIL .*)\n", report)
    if lines is None:
        raise GuestError(_reported(work, "the guest died after it had started"))
    word, _, rest = lines[1].decode().partition(" ")
    if word == "FAIL":
        raise GuestError(_reported(work, rest))
    _unpack(work, report[lines.end() :], out_dir)
    return GuestResult(int(rest), _text(work / "stdout"), _text(work / "stderr"), out_dir)


def _unpack(work: Path, archive: bytes, out_dir: Path) -> None:
    out_dir.mkdir(parents=True, exist_ok=True)
    words = ["tar", "-xz", "--no-same-owner", "-C", str(out_dir)]
    done = subprocess.run(words, input=archive, check=False, capture_output=True)
    if done.returncode:
        raise GuestError(_reported(work, f"/out did not come back whole: {done.stderr.decode().strip()}"))


def _text(file: Path) -> str:
    return file.read_bytes().decode(errors="backslashreplace") if file.exists() else ""


def _reported(work: Path, reason: str) -> str:
    """Add the last output of each of the guest's ports to *reason*."""
    parts = [reason]
    for port in _PORTS[:3]:
        if lines := _text(work / port).splitlines()[-_LAST_LINES:]:
            parts += [f"--- {port}", *lines]
    return "\n".join(parts)
