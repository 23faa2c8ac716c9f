"""The Containerfile: its rules, its steps without an engine, and the image itself if there is one."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / "contrib" / "Containerfile"
ONEFILE = ROOT / "contrib" / "onefile" / "Containerfile"
KNOWN = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"}


def instructions(file: Path = FILE) -> list[tuple[str, str]]:
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def last(word: str) -> str:
    return [rest for each, rest in instructions() if each == word][-1]


def copied(file: Path = FILE) -> list[list[str]]:
    """Return sources and target of every COPY from the project."""
    return [shlex.split(rest) for word, rest in instructions(file) if word == "COPY" and "--from" not in rest]


def test_every_instruction_is_a_basic_one() -> None:
    """No ADD, which fetches and unpacks; no HEALTHCHECK, VOLUME or EXPOSE, because this is not a server."""
    assert {word for word, _ in instructions()} == KNOWN


def test_images_have_full_names() -> None:
    images = [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    assert len(images) == 2
    assert all(re.fullmatch(r"docker\.io/library/python:\$\{PYTHON\}-slim", image) for image in images)


def test_the_image_does_not_run_as_root() -> None:
    """The user is a number, because Kubernetes' runAsNonRoot cannot look up a name."""
    user, _, group = last("USER").partition(":")
    assert int(user) > 0
    assert int(group) > 0


def test_the_program_receives_signals_directly() -> None:
    assert last("ENTRYPOINT") == '["cpuctl"]'
    assert last("CMD") == '["--help"]'


@pytest.mark.parametrize("file", [FILE, ONEFILE], ids=["image", "onefile"])
def test_all_copied_files_exist(file: Path) -> None:
    sources = [source for *sources, _ in copied(file) for source in sources]
    assert sources
    assert all((ROOT / source).exists() for source in sources)


@pytest.mark.packaging
def test_the_steps_install_a_working_program(tmp_path: Path) -> None:
    """The steps run without an engine: only copied files, in a virtual environment like the image's."""
    opt = tmp_path / "opt"
    source = _copy_all(FILE, tmp_path / "source")
    step = last("RUN").replace("/opt/cpuctl", str(opt)).replace("python -m venv", f"{sys.executable} -m venv")
    subprocess.run(["sh", "-ec", step], cwd=source, check=True, capture_output=True)
    done = subprocess.run([opt / "bin" / "cpuctl", "--version"], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("cpuctl ")
    assert (opt / "share/man/man1/cpuctl.1").exists()


@pytest.mark.packaging
def test_the_steps_build_a_file_with_its_own_python(tmp_path: Path) -> None:
    """The steps run without an engine, with this Python instead of the image's."""
    step = [rest for word, rest in instructions(ONEFILE) if word == "RUN"][-1]
    assert "python3.12 " in step
    step = step.replace("python3.12 ", f"{sys.executable} ").replace("/dist", str(tmp_path / "dist"))
    source = _copy_all(ONEFILE, tmp_path / "source")
    done = subprocess.run(["sh", "-ec", step], cwd=source, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1].startswith("cpuctl ")


def _copy_all(file: Path, source: Path) -> Path:
    for *names, target in copied(file):
        for name in names:
            _copy(ROOT / name, source / target / (name if target == "./" else ""))
    return source


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


@pytest.mark.packaging
def test_the_image_runs() -> None:
    engine = shutil.which("docker") or shutil.which("podman")
    if engine is None or subprocess.run([engine, "info"], check=False, capture_output=True).returncode:
        pytest.skip("no container engine runs here")
    build: list[str | Path] = [engine, "build", "--quiet", "--file", FILE, ROOT]
    image = subprocess.run(build, check=True, capture_output=True, text=True).stdout.strip()
    done = subprocess.run(
        [engine, "run", "--rm", image, "--version"], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("cpuctl ")
