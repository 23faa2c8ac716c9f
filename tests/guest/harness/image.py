"""The guest's root file system: busybox, Debian's Python, cpuctl's dependencies and two reference tools.

Everything is in memory and uncompressed, because unpacking is what costs under emulation; Python is compiled
ahead for the same reason.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tests.guest.harness.cpio import copies, write_archive
from tests.guest.harness.host_tools import installed, tool_output
from tests.guest.harness.kernel import guest_kernel

_PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
_PYTHON = Path("/usr/bin/python3")
_TOOLS = ("lscpu", "numactl", "taskset", "chcpu", "migratepages")
_PACKAGES = "opt/packages"
_DIRECTORIES = ("bin", "dev", "etc", "out", "proc", "root", "share", "sys", "tmp", "usr", "usr/bin")
_LEFT_OUT = ("__pycache__", "config-*", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "turtledemo")


@dataclass(frozen=True, slots=True)
class Image:
    """The image from which every guest boots."""

    kernel: Path
    root: Path


def guest_cache() -> Path:
    """Return ``CPUCTL_GUEST_CACHE`` or ~/.cache/cpuctl-guest, some 80 MB; deleting it is safe."""
    cache = Path(os.environ.get("CPUCTL_GUEST_CACHE") or Path.home() / ".cache" / "cpuctl-guest")
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def guest_image() -> Image:
    """Return the image from the cache; build it if it is missing."""
    cache = guest_cache()
    requirements = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    root = cache / f"root-{_fingerprint(requirements)}.cpio"
    with one_at_a_time(cache):
        if not root.exists():
            _build(root, requirements)
        return Image(guest_kernel(cache), root)


def _fingerprint(requirements: Iterable[str]) -> str:
    """Name the image by its ingredients: another interpreter, tool or requirement makes another image."""
    files = [installed(name).stat() for name in ("busybox", str(_PYTHON), *_TOOLS)]
    parts = [*requirements, *(f"{file.st_size} {file.st_mtime_ns}" for file in files)]
    recipe = Path(__file__).read_bytes() + "\n".join(parts).encode()
    return hashlib.sha256(recipe).hexdigest()[:12]


@contextmanager
def one_at_a_time(cache: Path) -> Iterator[None]:
    """Keep other processes out of the cache in this context."""
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(image: Path, requirements: Iterable[str]) -> None:
    with tempfile.TemporaryDirectory(dir=image.parent, prefix="root-") as name:
        root = Path(name) / "root"
        for folder in _DIRECTORIES:
            (root / folder).mkdir(parents=True)
        shutil.copy(installed("busybox"), root / "bin" / "busybox")
        (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        for tool in _TOOLS:
            shutil.copy(installed(tool), root / "usr" / "bin" / tool)
        _add_python(root)
        _add_packages(root / _PACKAGES, requirements)
        _add_libraries(root)
        _compile(root)
        _pack(root, image)


def _ask_python(expression: str) -> str:
    return tool_output([_PYTHON, "-Ic", f"import sys, sysconfig; print({expression})"]).strip()


def _add_python(root: Path) -> None:
    shutil.copy(_PYTHON, root / "usr" / "bin" / "python3")
    library = Path(_ask_python("sysconfig.get_path('stdlib')"))
    shutil.copytree(
        library,
        _inside(root, library),
        ignore=shutil.ignore_patterns(*_LEFT_OUT),
        ignore_dangling_symlinks=True,
    )


def _add_packages(target: Path, requirements: Iterable[str]) -> None:
    version = _ask_python("sysconfig.get_python_version()")
    wheels = ["--python-version", version, "--implementation", "cp", "--only-binary", ":all:"]
    quiet = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    pip = [sys.executable, "-m", "pip", "install", *quiet, *wheels, "--target", str(target)]
    tool_output([*pip, *requirements])


def _add_libraries(root: Path) -> None:
    """Copy every shared library that a program or a compiled module in *root* is linked to."""
    programs = [*(root / "usr" / "bin").iterdir(), *root.rglob("*.so")]
    # ldd fails if one of the files is linked statically.
    reported = subprocess.run(["ldd", *programs], check=False, capture_output=True, text=True).stdout
    # The C library loads this one by name, to end a thread.
    unwinder = re.findall(r"/\S+/libgcc_s\.so\.1", tool_output(["/sbin/ldconfig", "-p"]))[:1]
    for name in {*re.findall(r"(/\S+) \(0x", reported), *unwinder}:
        target = _inside(root, Path(name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, target)


def _compile(root: Path) -> None:
    folders = [next((root / "usr" / "lib").glob("python3*")), root / _PACKAGES]
    compile_ahead("-s", root, "-p", "/", *folders)


def compile_ahead(*words: str | Path) -> None:
    """Compile Python as the guest's interpreter does; *words* are those of compileall."""
    ahead = ["-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    tool_output([_PYTHON, *ahead, *words])


def _inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _pack(root: Path, image: Path) -> None:
    part = root.with_suffix(".cpio")
    with part.open("wb") as stream:
        folders = sorted(root.iterdir())
        write_archive(stream, chain.from_iterable(copies(child, child.name) for child in folders))
    part.replace(image)
