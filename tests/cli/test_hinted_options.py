"""An option that a hint names exists on the command that prints the hint."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import typer

from cpuctl import option_names
from cpuctl.cli.app import app
from cpuctl.cli.command_table import COMMANDS

ROOT = Path(__file__).parents[2]
NAMED_WITH = re.compile(
    r"(?:kubectl|lstopo|journalctl|k3s|cpuctl [a-z]+)\b[^,;]*|--config flag|(?<=--kubelet-args )'[^']*'"
)
"""Options after these belong to that program or to the named command; quoted ones, to the kubelet."""
_MACHINE_ALONE = (
    "capture",
    "checkpoint diff",
    "checkpoint dump",
    "topology devices",
    "topology distances",
    "topology map",
    "topology synthetic",
)
NEVER_FROM: Mapping[str, tuple[str, ...]] = {
    # These do not read a kubelet configuration.
    "cpuctl.capture.recorded_kubelet": _MACHINE_ALONE,
    "cpuctl.inputs.configuration": _MACHINE_ALONE,
}
"""Commands that import a module, but never print its hints."""
ONLY_FROM: Mapping[str, tuple[str, ...]] = {
    # Files are written, and existing ones replaced with --force.
    "cpuctl.capture.saving": ("capture", "checkpoint new", "plan", "replay", "topology map", "topology show"),
    # In place, too.
    "cpuctl.cli.checkpoint.commit": ("checkpoint migrate", "checkpoint repair"),
    "cpuctl.operations.checkpoint.changes": ("checkpoint migrate", "checkpoint new", "checkpoint repair"),
    # With a known configuration.
    "cpuctl.inputs.sources": (
        "cgroups apply",
        "checkpoint migrate",
        "checkpoint new",
        "checkpoint repair",
        "plan",
        "resize",
    ),
    "cpuctl.operations.checkpoint.states": ("checkpoint repair",),
    "cpuctl.operations.plan_inputs": ("explain", "plan"),
    # Other fleet commands take the pods from the fleet's nodes.
    "cpuctl.fleet.plan_inputs": ("fleet plan",),
    "cpuctl.cli.topology": ("topology show",),
    "cpuctl.fleet.checking": ("fleet check",),
    "cpuctl.operations.cgroups.writing": ("cgroups apply",),
    "cpuctl.operations.resize_inputs": ("resize",),
    "cpuctl.operations.topology_publishing": ("plan", "topology show"),
}
"""The only commands that print the hints of a module, of many that import it."""


FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:(?: .*)?\n)+", re.MULTILINE)
IMPORT = re.compile(r"^ *from (cpuctl[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def commands() -> dict[str, tuple[str, set[str]]]:
    """Return the module of every command and its options."""
    root: Any = typer.main.get_command(app)
    found: dict[str, tuple[str, set[str]]] = {}
    waiting: list[tuple[tuple[str, ...], Any]]
    waiting = [((name,), root.get_command(None, name)) for name in COMMANDS]
    while waiting:
        words, command = waiting.pop()
        if hasattr(command, "list_commands"):
            below = command.list_commands(None)
            waiting += [((*words, name), command.get_command(None, name)) for name in below]
        else:
            options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            found[" ".join(words)] = (command.callback.__module__, options | {"--help"})
    return found


@cache
def module_file(module: str) -> Path | None:
    path = ROOT / module.replace(".", "/")
    places = (path / "__init__.py", path.with_suffix(".py"))
    return next((place for place in places if place.exists()), None)


@cache
def imported(module: str) -> frozenset[str]:
    """Return the cpuctl modules that a module imports, at its top or in a function, but not for types."""
    file = module_file(module)
    text = FOR_TYPES.sub("", file.read_text()) if file else ""
    found = set()
    for name, names in IMPORT.findall(text):
        found |= {name, *(f"{name}.{each}" for each in re.findall(r"\w+", names))}
    return frozenset(each for each in found if module_file(each))


def reached(module: str) -> set[str]:
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        if (next_one := waiting.pop()) not in seen:
            seen.add(next_one)
            waiting += imported(next_one)
    return seen


def hinted() -> Iterator[tuple[str, str]]:
    """Yield every option that a hint names, with the module of the hint."""
    for file in sorted((ROOT / "cpuctl").rglob("*.py")):
        if "hint" not in file.read_text():
            continue
        tree = ast.parse(file.read_text())
        values = {
            each.id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for each in node.targets
            if isinstance(each, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                value = values.get(node.value.id) if isinstance(node.value, ast.Name) else node.value
                text = NAMED_WITH.sub("", spelled(value) if value else "")
                module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
                yield from ((module, option) for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text))


def spelled(value: ast.AST) -> str:
    """Return the text of an expression, with the options for constants that name them."""
    match value:
        case ast.Constant(value=str(text)):
            return text
        case ast.Attribute(value=ast.Name(id="option_names"), attr=name):
            return str(getattr(option_names, name))
        case _:
            return "".join(map(spelled, ast.iter_child_nodes(value)))


def test_a_hint_names_an_option_of_the_command_that_prints_it() -> None:
    known = commands()
    modules = {path: reached(module) for path, (module, _) in known.items()}
    found = set(hinted())
    assert len(found) > 20
    assert {*NEVER_FROM, *ONLY_FROM} <= {module for module, _ in found}
    missing = [
        (path, module, option)
        for module, option in sorted(found)
        for path in sorted(ONLY_FROM.get(module, known.keys() - {*NEVER_FROM.get(module, ())}))
        if module in modules[path] and option not in known[path][1]
    ]
    assert missing == []
    assert all(module in modules[path] for module, paths in ONLY_FROM.items() for path in paths)
