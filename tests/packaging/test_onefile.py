"""The single-file program with its own Python, in a root directory with only a C library and zlib."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import COMMANDS, ROOT

pytestmark = pytest.mark.packaging

LIBRARIES = (
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
    "libz.so.1",
)
LARGEST = 20_000_000
"""Bytes: a reader of the documentation expects 14 million."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Build the file like ``make onefile``; return it with the last line of the build's output."""
    folder = tmp_path_factory.mktemp("onefile")
    words: list[str | Path] = [sys.executable, ROOT / "contrib" / "onefile" / "build.py", folder]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return folder / f"cpuctl-{platform.machine()}", done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def bare(built: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a root directory with the file, a C library and zlib, an empty /tmp, and the commands' inputs."""
    root = tmp_path_factory.mktemp("root")
    listed = subprocess.run(["ldd", "/bin/sh"], check=True, capture_output=True, text=True).stdout
    (libc,) = re.findall(r"libc\.so\.6 => (\S+)", listed)
    (loader,) = re.findall(r"^\s*(/\S+) \(", listed, re.MULTILINE)
    for file in (*(Path(libc).with_name(name) for name in LIBRARIES), Path(loader)):
        target = root / str(file).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    (root / "tmp").mkdir()
    shutil.copytree(
        ROOT / "fixtures", root / "fixtures", ignore=shutil.ignore_patterns("conformance", "broken")
    )
    shutil.copy(built[0], root / "cpuctl")
    return root


def test_it_answers_like_the_installed_program(
    bare: Path, installed: dict[str, tuple[int, str, str]]
) -> None:
    """There is no Python, shell or environment variable, and unpacked files are removed at the end."""
    for name, words in COMMANDS.items():
        done = subprocess.run(
            ["/usr/sbin/chroot", bare, "/cpuctl", *words],
            check=False,
            capture_output=True,
            text=True,
            env={"COLUMNS": "100"},
        )
        assert (done.returncode, done.stdout, done.stderr) == installed[name], name
    assert list((bare / "tmp").iterdir()) == []


def test_the_build_reports_the_required_c_library(built: tuple[Path, str]) -> None:
    file, reported = built
    size = file.stat().st_size
    assert re.fullmatch(rf"{file}: {size} bytes, for glibc 2\.\d\d and later", reported)
    assert size < LARGEST
    here = platform.libc_ver()[1].split(".")
    needed = reported.split()[-3].split(".")
    assert [int(part) for part in needed] <= [int(part) for part in here]


def test_child_processes_do_not_get_the_bundled_libraries() -> None:
    """Programs that cpuctl starts get the variables with which cpuctl was started."""
    probe = "import os; print(os.environ.get('LD_LIBRARY_PATH', 'unset'))"
    start = (ROOT / "contrib" / "onefile" / "start.py").read_text().partition("from cpuctl")[0]
    for given, wanted in (({}, "unset"), ({"LD_LIBRARY_PATH_ORIG": "/mine"}, "/mine")):
        environment = {"LD_LIBRARY_PATH": "/unpacked", **given}
        done = subprocess.run(
            [sys.executable, "-c", start + probe], check=True, capture_output=True, text=True, env=environment
        )
        assert done.stdout == f"{wanted}\n"
