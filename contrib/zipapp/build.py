"""Builds ``cpuctl.pyz``: cpuctl and its dependencies in one file for Python 3.11 or later.

    python contrib/zipapp/build.py dist/cpuctl.pyz [--python python3.12 ...]

The file contains no machine code: PyYAML is included without its C extension, ``rpds.py`` replaces the
compiled rpds that jsonschema needs, and ``psutil_linux.py`` replaces the C extension of psutil. Builds are
reproducible: the same sources and Python versions give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PINS = ROOT / "constraints" / "zipapp.txt"

_LEFT_OUT = re.compile(r"(^|/)(tests?|benchmarks|__pycache__)/|^_yaml/|\.(so|pyi|pyx|typed)$")
_LICENCE = re.compile(r"\.dist-info/(?:licenses/)?((?:LICEN[CS]E|COPYING|NOTICE)[^/]*)$", re.IGNORECASE)
_SHEBANG = b"#!/usr/bin/env python3\n"
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the earliest time a ZIP archive can store
# Always download the wheels of one platform, so that the pinned hashes match; compiled modules are dropped.
_ONE_PLATFORM = ["--platform", "manylinux2014_x86_64", "--python-version", "3.11", "--implementation", "cp"]


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel downloaded from PyPI."""

    file: Path

    @property
    def label(self) -> str:
        """Name and version: ``rich-15.0.0``."""
        return "-".join(self.file.name.split("-")[:2])

    def unpack(self, target: Path) -> None:
        """Unpack the platform-independent files into *target*, and the licence into ``licenses/``."""
        with zipfile.ZipFile(self.file) as archive:
            for name in archive.namelist():
                if place := self._place(name):
                    _write(target / place, archive.read(name))

    def _place(self, name: str) -> str:
        if licence := _LICENCE.search(name):
            return f"licenses/{self.label}/{licence[1]}"
        return "" if name.endswith("/") or ".dist-info/" in name or _LEFT_OUT.search(name) else name


def main() -> None:
    """Build the archive that is named on the command line."""
    parser = argparse.ArgumentParser(description="Build cpuctl.pyz.")
    parser.add_argument("target", type=Path)
    parser.add_argument("--python", action="append", default=[], help="add its bytecode; can be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cpuctl-zipapp-") as name:
        work = Path(name)
        told = build(work, options.target, options.python or [sys.executable])
    sys.stdout.write(f"{options.target}: {options.target.stat().st_size} bytes, bytecode for {told}\n")


def build(work: Path, target: Path, pythons: Iterable[str]) -> str:
    """Build *target*, with *work* for temporary files; return the Python versions of its bytecode."""
    tree = work / "tree"
    wheels = _fetch(work / "wheels")
    for wheel in wheels:
        wheel.unpack(tree)
    _add_cpuctl(tree)
    releases = sorted({_compile(python, tree, work / "bytecode") for python in pythons}, key=_release_order)
    shutil.move(work / "bytecode", tree / "bytecode")
    shutil.copy(HERE / "start.py", tree / "__main__.py")
    told = {"bytecode": releases, "packages": [wheel.label for wheel in wheels]}
    _write(tree / "CONTENTS.json", json.dumps(told, indent=2).encode() + b"\n")
    _pack(tree, target)
    return ", ".join(releases)


def _fetch(folder: Path) -> list[Wheel]:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    words = [sys.executable, "-m", "pip", "download", *quiet, "--require-hashes", "--requirement", str(PINS)]
    subprocess.run([*words, *_ONE_PLATFORM, "--dest", str(folder)], check=True)
    return [Wheel(file) for file in sorted(folder.iterdir(), key=lambda file: file.name.lower())]


def _add_cpuctl(tree: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "py.typed")
    shutil.copytree(ROOT / "cpuctl", tree / "cpuctl", ignore=ignored)
    shutil.copy(HERE / "rpds.py", tree / "rpds.py")
    shutil.copy(HERE / "psutil_linux.py", tree / "psutil" / "_psutil_linux.py")
    _write(tree / "licenses" / "cpuctl" / "LICENSE", (ROOT / "LICENSE").read_bytes())


def _compile(python: str, tree: Path, target: Path) -> str:
    """Compile in a bare interpreter with a fixed hash seed, which makes the bytecode reproducible."""
    # Not -I: with it, Python ignores the seed.
    words = [python, "-s", "-S", "-P", str(HERE / "bytecode.py"), str(tree), str(target)]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONHASHSEED": "0"}
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    return done.stdout.strip()


def _release_order(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def _pack(tree: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    with part.open("wb") as stream:
        stream.write(_SHEBANG)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, file in _members(tree):
                archive.writestr(_entry(name), file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    part.chmod(0o755)
    part.replace(target)


def _members(tree: Path) -> Iterator[tuple[str, Path]]:
    files = (file for file in tree.rglob("*") if file.is_file())
    yield from sorted((file.relative_to(tree).as_posix(), file) for file in files)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _BEGINNING)
    entry.create_system = 3  # Unix, on any build platform
    entry.external_attr = 0o100644 << 16
    return entry


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


if __name__ == "__main__":
    main()
