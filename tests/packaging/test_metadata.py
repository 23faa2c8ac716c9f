"""The metadata in pyproject.toml: dependencies, and supported Pythons."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RELEASES = ("3.11", "3.12", "3.13", "3.14")
COMPILED = {".so", ".pyd", ".pyx", ".c", ".h", ".cc", ".cpp", ".rs", ".go"}


def requirements() -> dict[str, Requirement]:
    return {each.name: each for each in map(Requirement, PROJECT["dependencies"])}


def pins(name: str) -> dict[str, str]:
    """Return the versions of a constraints file by package."""
    text = (ROOT / "constraints" / name).read_text()
    return dict(re.findall(r"^([\w-]+)==(\S+)", text, flags=re.MULTILINE))


def imported(file: Path) -> set[str]:
    """Return all packages that a source file imports, at any level."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def all_imported() -> set[str]:
    return set().union(*(imported(file) for file in (ROOT / "cpuctl").rglob("*.py")))


def test_the_oldest_constraints_are_the_lower_bounds() -> None:
    """Including those of the extras that the tests need."""
    extras = PROJECT["optional-dependencies"]
    tested = next(each for each in map(Requirement, extras["test"]) if each.name == PROJECT["name"])
    optional = [Requirement(each) for name in tested.extras for each in extras[name]]
    lowest = {
        each.name: Version(bound.version)
        for each in (*requirements().values(), *optional)
        for bound in each.specifier
        if bound.operator == ">="
    }
    assert len(lowest) == len(requirements()) + len(optional)
    assert {name: Version(version) for name, version in pins("oldest.txt").items()} == lowest


def test_every_dependency_has_both_bounds() -> None:
    for each in requirements().values():
        assert {bound.operator for bound in each.specifier} == {">=", "<"}, each


def test_bundled_versions_of_the_zipapp_are_allowed() -> None:
    allowed = {name.lower(): each for name, each in requirements().items()}
    bundled = pins("zipapp.txt")
    for name, version in bundled.items():
        assert name not in allowed or allowed[name].specifier.contains(version), name
    assert allowed.keys() <= bundled.keys()


def test_every_pin_of_the_zipapp_has_a_hash() -> None:
    lines = (ROOT / "constraints" / "zipapp.txt").read_text().splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    assert pinned
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in pinned)


def test_exactly_the_declared_packages_are_imported() -> None:
    third_party = all_imported() - sys.stdlib_module_names - {"cpuctl", "compression", "__future__"}
    declared = {"yaml" if name == "PyYAML" else name for name in requirements()}
    extras = PROJECT["optional-dependencies"]
    optional = {Requirement(each).name for name in ("dra", "fleet", "nri", "top") for each in extras[name]}
    assert optional == {"cel-python", "dask", "distributed", "protobuf", "textual"}
    assert third_party == declared | {"celpy", "dask", "distributed", "google", "textual"}


def test_classifiers_and_constraints_list_the_same_pythons() -> None:
    prefix = "Programming Language :: Python :: 3."
    classified = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if each.startswith(prefix)]
    assert tuple(classified) == RELEASES
    assert PROJECT["requires-python"] == f">={RELEASES[0]}"
    assert f"in {' '.join(RELEASES)}; do" in (ROOT / "contrib" / "pythons").read_text()


@pytest.mark.parametrize("folder", ["cpuctl", "contrib"])
def test_there_are_no_compiled_files(folder: str) -> None:
    files = [file for file in (ROOT / folder).rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if file.suffix in COMPILED]
