"""``cpuctl.pyz`` alone: without installed packages or environment, any Python, another processor."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import COMMANDS, ROOT, Python, build_zipapp, run, stated

pytestmark = pytest.mark.packaging

ALONE = ["-I", "-S"]


@pytest.mark.parametrize("release", ["3.11", "3.12", "3.13", "3.14"])
def test_it_answers_like_the_installed_program(
    release: str, pythons: list[Python], zipapp: Path, installed: dict[str, tuple[int, str, str]]
) -> None:
    programs = [each.program for each in pythons if each.release == release]
    if not programs:
        pytest.skip(f"there is no Python {release} here")
    for name, words in COMMANDS.items():
        assert stated(run(programs[0], *ALONE, zipapp, *words)) == installed[name], name


def test_it_runs_from_a_read_only_directory(zipapp: Path, tmp_path: Path, pythons: list[Python]) -> None:
    copy = tmp_path / "read-only" / "cpuctl"
    copy.parent.mkdir()
    shutil.copy(zipapp, copy)
    copy.parent.chmod(0o555)
    done = run(pythons[0].program, *ALONE, copy, "--help", cwd=tmp_path)
    copy.parent.chmod(0o755)
    assert done.returncode == 0
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["cpuctl"], "nothing is unpacked"


def test_the_same_sources_give_the_same_bytes(zipapp: Path, tmp_path: Path, pythons: list[Python]) -> None:
    again = build_zipapp(tmp_path / "again.pyz", pythons)
    assert again.read_bytes() == zipapp.read_bytes()


def test_it_contains_a_list_of_its_contents(zipapp: Path, pythons: list[Python]) -> None:
    with zipfile.ZipFile(zipapp) as archive:
        names = archive.namelist()
        contents = json.loads(archive.read("CONTENTS.json"))
    assert contents["bytecode"] == [each.release for each in pythons]
    assert all(any(name.startswith(f"licenses/{each}/") for name in names) for each in contents["packages"])
    assert not [name for name in names if re.search(r"\.so$|\.pyc$|__pycache__|/tests?/", name)]


def test_modules_have_bytecode_and_a_source(zipapp: Path, pythons: list[Python]) -> None:
    """Bytecode makes it start fast; sources are for tracebacks and for other Pythons."""
    with zipfile.ZipFile(zipapp) as archive:
        names = archive.namelist()
    kinds = {name.split("/")[1] for name in names if name.startswith("bytecode/")}
    assert len(kinds) == len(pythons)
    assert {f"bytecode/{kind}/{top}" for kind in kinds for top in ("cpuctl", "typer", "rich", "yaml")} <= set(
        names
    )
    probe = (
        "import runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, sys.argv[0]);"
        "start = runpy.run_path(sys.argv[0], run_name='start');"
        "loader = start['_importer'](sys.argv[0] + '/cpuctl');"
        "print(loader.get_code('cpuctl.cpuset').co_filename, len(loader.get_source('cpuctl.cpuset')))"
    )
    for python in pythons:
        done = run(python.program, *ALONE, "-c", probe, zipapp)
        shown, length = done.stdout.split()
        assert (shown, int(length) > 0) == ("cpuctl.pyz/cpuctl/cpuset.py", True), done.stderr


def test_an_old_python_gets_an_error_with_a_hint(zipapp: Path) -> None:
    """The text must be readable for Python 3.6 and later; skipped if no old Python is installed."""
    old = next(iter(sorted(Path.home().glob(".pyenv/versions/3.[6-9]*/bin/python3"))), None)
    if old is None:
        pytest.skip("there is no Python before 3.11 here")
    done = run(old, zipapp, "--version")
    assert done.returncode == 5
    assert re.fullmatch(
        r"error: python3: expected Python 3\.11 or later, found 3\.\S+\nhint: .*\n", done.stderr
    )


def test_another_processor_runs_it(
    zipapp: Path, tmp_path: Path, installed: dict[str, tuple[int, str, str]]
) -> None:
    """Debian's Python for 64-bit Arm under QEMU's user emulation."""
    emulator = shutil.which("qemu-aarch64-static")
    if emulator is None:
        pytest.skip("there is no qemu-aarch64-static here: apt-get install qemu-user-static")
    subprocess.run([ROOT / "tests/packaging/fetch-aarch64-python", tmp_path], check=True, capture_output=True)
    root = tmp_path / "root"
    python: list[str | Path] = [emulator, "-L", root, root / "usr/bin/python3", *ALONE]
    assert run(*python, "-c", "import os; print(os.uname().machine)").stdout == "aarch64\n"
    for name in ("table", "validation"):
        assert stated(run(*python, zipapp, *COMMANDS[name])) == installed[name], name


def test_python_3_14_runs_it(
    zipapp: Path, tmp_path: Path, installed: dict[str, tuple[int, str, str]]
) -> None:
    """CPython 3.14 for WebAssembly, from npm, which works even if there is no other 3.14."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm here")
    fetched: list[str | Path] = ["npm", "install", "--silent", "--prefix", tmp_path, "pyodide@314.0.7"]
    subprocess.run(fetched, check=True, capture_output=True)
    script = tmp_path / "run.mjs"
    shutil.copy(Path(__file__).with_name("python-3.14.mjs"), script)
    shutil.copy(zipapp, tmp_path / "cpuctl.pyz")
    node = shutil.which("node") or "node"
    for name in ("table", "yaml", "validation", "no"):
        words = [word.replace("fixtures/", "/project/fixtures/") for word in COMMANDS[name]]
        done = run(node, script, ROOT, tmp_path, "/work/cpuctl.pyz", *words)
        code, stdout, _ = installed[name]
        assert (done.returncode, done.stdout.replace("/project/", "")) == (code, stdout), done.stderr
