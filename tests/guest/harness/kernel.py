"""Debian's kernel for virtual machines: downloaded and unpacked, never installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from tests.guest.harness.errors import GuestError
from tests.guest.harness.host_tools import tool_output

_META_PACKAGE = "linux-image-cloud-amd64"
_HINT = "package lists may be old: run apt-get update"


def guest_kernel(cache: Path) -> Path:
    """Return the kernel's image in *cache*; fetch it if it is missing."""
    kernel = cache / "vmlinuz"
    if not kernel.exists():
        with tempfile.TemporaryDirectory(dir=cache, prefix="kernel-") as name:
            fetched = Path(name) / "vmlinuz"
            _unpack(_download(Path(name)), fetched)
            fetched.replace(kernel)
    return kernel


def _download(folder: Path) -> Path:
    reported = tool_output(["apt-cache", "depends", _META_PACKAGE], hint=_HINT)
    package = re.search(r"Depends: (linux-image-\S+)", reported)
    if package is None:
        raise GuestError(f"apt knows no kernel behind {_META_PACKAGE} ({_HINT})")
    # Without a sandbox: apt's own user may not write into the cache.
    tool_output(
        ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package[1]], cwd=folder, hint=_HINT
    )
    return next(folder.glob("*.deb"))


def _unpack(package: Path, target: Path) -> None:
    """Copy the kernel out of *package* while streaming it: a hundred MB of modules stay packed."""
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as unpacker,
        tarfile.open(fileobj=unpacker.stdout, mode="r|") as tar,
    ):
        for member in tar:
            if member.name.startswith("./boot/vmlinuz-") and (content := tar.extractfile(member)):
                with target.open("wb") as stream:
                    shutil.copyfileobj(content, stream)
    if not target.exists():
        raise GuestError(f"{package.name} holds no kernel")
