"""Builds one file that brings its own Python, for machines without Python 3.11: ``dist/cpuctl-x86_64``.

    python contrib/onefile/build.py dist [--python python3.12]

It runs on machines of the processor it was built on, with the glibc that its Python was built for or a later
one, which the line at the end names. ``Containerfile`` beside this file builds it for RHEL 8 and later.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_CONSTRAINTS = ROOT / "constraints"

# By name at run time: commands, renderers, schemas, tables of characters.
_COLLECTED = [
    "--collect-submodules=cpuctl",
    "--collect-data=cpuctl",
    "--collect-submodules=rich._unicode_data",
]
# What no command of cpuctl imports, though something that it imports would.
_LEFT_OUT = ["pygments", "markdown_it", "setuptools", "pip", "tkinter", "ssl"]


def main() -> None:
    """Build the file in the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Build a cpuctl that brings its own Python.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the Python that it brings, with libpython")
    options = parser.parse_args()
    target = options.folder / f"cpuctl-{platform.machine()}"
    with tempfile.TemporaryDirectory(prefix="cpuctl-onefile-") as name:
        needed = build(Path(name), target, options.python)
    sys.stdout.write(f"{target}: {target.stat().st_size} bytes, for glibc {needed} and later\n")


def build(work: Path, target: Path, python: str) -> str:
    """Build *target* with *work* for what lies between; return the oldest glibc that will do, as ``2.35``."""
    subprocess.run([python, "-m", "venv", work / "venv"], check=True)
    program = work / "venv" / "bin" / "python"
    constraints = work / "constraints.txt"
    constraints.write_text("".join(_pins()))
    quiet = ["--quiet", "--disable-pip-version-check", "--no-warn-script-location"]
    pip: list[str | Path] = [program, "-m", "pip", "install", *quiet, "--constraint", constraints]
    subprocess.run([*pip, "pyinstaller", str(ROOT)], check=True)
    words: list[str] = ["--onefile", "--strip", "--log-level=ERROR", *_COLLECTED]
    words += [f"--exclude-module={name}" for name in _LEFT_OUT]
    folders = [f"--{option}={work / option}" for option in ("workpath", "specpath", "distpath")]
    # The same seed gives the same order of sets in bytecode.
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYINSTALLER_CONFIG_DIR": str(work / "config")}
    name = f"--name={target.name}"
    subprocess.run(
        [program, "-m", "PyInstaller", *words, *folders, name, HERE / "start.py"], check=True, env=environment
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    (work / "distpath" / target.name).replace(work / "built")
    target.write_bytes((work / "built").read_bytes())
    target.chmod(0o755)
    return _oldest_glibc(work / "workpath")


def _pins() -> Iterator[str]:
    """Yield the versions of both lists; the hashes are those of one Python on one processor."""
    for name in ("zipapp.txt", "onefile.txt"):
        for line in (_CONSTRAINTS / name).read_text().splitlines():
            yield f"{line.partition(' --hash')[0]}\n"


def _oldest_glibc(work: Path) -> str:
    """Return the newest version of glibc's symbols that anything in the file asks for."""
    listed = next(work.rglob("PKG-00.toc")).read_text() + next(work.rglob("EXE-00.toc")).read_text()
    files = [Path(name) for name in re.findall(r"'(/[^']*)',\s*'(?:BINARY|EXTENSION)'", listed)]
    found = {version for file in files for version in re.findall(rb"GLIBC_(2\.[0-9]+)\b", file.read_bytes())}
    return max(
        (str(version, "ascii") for version in found), key=lambda version: int(version.partition(".")[2])
    )


if __name__ == "__main__":
    main()
