"""The zoo of broken inputs: one folder per failure, with the expected message and exit code.

A folder's ``case.json`` has the arguments of ``cpuctl`` (run inside the folder), the exit code and stderr.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Cpuctl

ZOO = ROOT / "fixtures" / "broken"
FOLDERS = sorted(folder for folder in ZOO.iterdir() if folder.is_dir())
USAGE, INPUT = 2, 4


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_broken_input_is_explained(folder: Path, cpuctl: Cpuctl) -> None:
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    stdin = folder / "stdin"
    result = cpuctl(*case["words"], cwd=folder, stdin=stdin.read_bytes() if stdin.exists() else b"")
    assert result.err.splitlines() == case["stderr"]
    assert (result.code, result.out) == (case["exit"], "")
    assert result.code == (USAGE if folder.name.startswith("usage-") else INPUT)


SAID_ENOUGH = {
    "the message names the place of the mistake in the file": {
        *("claims-request-twice", "claims-result-without-device", "devices-held-twice"),
        *("audit-status-without-name", "machine-cadvisor-cpu-twice"),
        *("machine-hwloc-cut-off", "machine-hwloc-entity", "machine-lscpu-json-cpu-twice"),
        *("machine-numactl-cut-off", "nrt-resource-without-available", "nrt-two-of-one-node"),
        *("nrt-without-zones", "nrt-zone-without-type", "pods-alias-to-itself"),
        *("pods-container-name-twice", "pods-container-without-name", "pods-containers-missing"),
        *("pods-limit-range-without-limits", "pods-no-name", "pods-no-spec", "pods-nul-bytes"),
        *("pods-quota-repeated-key", "pods-repeated-key-json", "pods-repeated-key-yaml", "pods-same-uid"),
        *("pods-truncated-json", "pods-unknown-alias", "pods-workload-without-template"),
        *("resize-policy-without-resource",),
    },
    "the typed path is to be corrected, and nothing similar exists": {
        *("checkpoint-missing-file", "devices-missing-file", "kubelet-a-directory", "kubelet-missing-file"),
        *("pods-directory-without-manifests", "pods-empty-name", "pods-lint-directory-without-manifests"),
        *("pods-lint-missing-file", "pods-missing-file", "reserve-missing-drop-ins", "reserve-missing-file"),
        *("resize-edited-missing-file", "timeline-missing-file", "topology-memory-missing-file"),
    },
    "it exceeds what cpuctl reads": {
        *("pods-deep-nesting", "pods-deep-nesting-json", "pods-lint-too-many-containers"),
    },
}
"""Messages that need no hint: there is nothing to type that they do not already say."""


def test_every_message_ends_with_what_to_do() -> None:
    unhinted = set()
    for folder in FOLDERS:
        *_, last = json.loads((folder / "case.json").read_text(encoding="utf-8"))["stderr"]
        if not (last.startswith("hint: ") or "expected" in last):
            unhinted.add(folder.name)
    assert unhinted == set().union(*SAID_ENOUGH.values())


def test_every_usage_error_says_what_to_type() -> None:
    """Messages from elsewhere (``str(error)``) say what is expected: the zoo has a case of each."""
    silent = []
    for file in sorted((ROOT / "cpuctl").rglob("*.py")):
        text = file.read_text()
        for function in ast.walk(ast.parse(text)) if "UsageError(" in text else ():
            if isinstance(function, ast.FunctionDef):
                silent += [f"{file.name}: {message}" for message in _silent(function)]
    assert silent == []


def _silent(function: ast.FunctionDef) -> Iterator[str]:
    """Yield usage errors with neither a hint nor the word "expected"."""
    named = {
        target.id: ast.unparse(node.value)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "UsageError"):
            continue
        message = ast.unparse(node.args[0])
        message = named.get(message, message)
        hinted = any(keyword.arg == "hint" for keyword in node.keywords)
        handed_on = message.startswith("str(") or message == "message"
        if not (hinted or handed_on or "expected" in message):
            yield message


TYPED = re.compile(r"cpuctl (.+?)(?= (?:says|shows|lists|has|< )|[;,]|$)")


def test_commands_in_hints_can_be_typed(cpuctl: Cpuctl) -> None:
    """Hints without a placeholder: the commands are written correctly."""
    typed = 0
    for folder in FOLDERS:
        case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        for found in TYPED.finditer("\n".join(line for line in case["stderr"] if line.startswith("hint"))):
            words = shlex.split(found[1].rstrip(")"))
            if not re.search("[A-Z]{4}| with ", found[1]) and words != ["checkpoint", "new"]:
                assert cpuctl(*words, cwd=folder).code not in (1, USAGE), words
                typed += 1
    assert typed >= 5
