"""Builds one file that contains its own Python, for machines without Python 3.11: ``dist/cpuctl-x86_64``.

    python contrib/onefile/build.py dist [--python python3.12]

It runs on machines with the same processor architecture, and at least the glibc that its last line of output
shows. ``Containerfile`` in this folder builds it for RHEL 8 and later.
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

# Loaded by name at run time: commands, renderers, schemas, tables of characters.
_COLLECTED = [
    "--collect-submodules=cpuctl",
    "--collect-data=cpuctl",
    "--collect-submodules=rich._unicode_data",
]
# Not needed by any command of cpuctl, but imported by its dependencies.
_LEFT_OUT = ["pygments", "markdown_it", "setuptools", "pip", "tkinter", "ssl"]


def main() -> None:
    """Build the file in the folder that is named on the command line."""
    parser = argparse.ArgumentParser(description="Build a cpuctl that contains its own Python.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the Python to include, with libpython")
    options = parser.parse_args()
    target = options.folder / f"cpuctl-{platform.machine()}"
    with tempfile.TemporaryDirectory(prefix="cpuctl-onefile-") as name:
        needed = build(Path(name), target, options.python)
    sys.stdout.write(f"{target}: {target.stat().st_size} bytes, for glibc {needed} and later\n")


def build(work: Path, target: Path, python: str) -> str:
    """Build *target*, with *work* for temporary files; return the minimum glibc version, such as ``2.35``."""
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
    """Yield the versions of both lists without hashes, which only apply to one Python on one processor."""
    for name in ("zipapp.txt", "onefile.txt"):
        for line in (_CONSTRAINTS / name).read_text().splitlines():
            yield f"{line.partition(' --hash')[0]}\n"


def _oldest_glibc(work: Path) -> str:
    """Return the newest version of glibc's symbols that any binary in the file requires."""
    listed = next(work.rglob("PKG-00.toc")).read_text() + next(work.rglob("EXE-00.toc")).read_text()
    files = [Path(name) for name in re.findall(r"'(/[^']*)',\s*'(?:BINARY|EXTENSION)'", listed)]
    found = {version for file in files for version in re.findall(rb"GLIBC_(2\.[0-9]+)\b", file.read_bytes())}
    return max(
        (str(version, "ascii") for version in found), key=lambda version: int(version.partition(".")[2])
    )


if __name__ == "__main__":
    main()
