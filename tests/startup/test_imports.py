"""Loaded modules determine how fast a command answers, so tests check these instead of milliseconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.processes import COMMANDS, Command

ROOT = Path(__file__).parents[2]
HEAVY = {"rich", "rich.console", "yaml", "jsonschema", "psutil", "pydantic", "asyncio", "importlib.metadata"}
MACHINE = str(ROOT / "fixtures" / "machines" / "2s-2numa-32cpu.tar.xz")

PROBE = """
import gc, json, sys, typing
from cpuctl.__main__ import main

def searches():
    return sum(each["collections"] for each in gc.get_stats())

sys.argv = ["cpuctl", *sys.argv[1:]]
before = searches()
try:
    main()
except SystemExit as end:
    code = end.code or 0
else:
    code = 0
own = [(name, module) for name, module in sys.modules.items() if name.startswith("cpuctl")]
dataclasses = [
    f"{name}.{word}" for name, module in own for word, value in vars(module).items()
    if "__dataclass_fields__" in getattr(value, "__dict__", ()) and value.__module__ == name
]
tuples = [
    f"{name}.{word}" for name, module in own for word, value in vars(module).items()
    if isinstance(value, type) and hasattr(value, "_make") and value.__module__ == name
]
compiled = {
    f"{name}.{word}": sum(isinstance(each, typing.ForwardRef) for each in value.__annotations__.values())
    for name, module in own for word, value in vars(module).items()
    if hasattr(value, "_fields") and value.__module__ == name
}
report = {
    "code": code, "modules": sorted(sys.modules), "dataclasses": dataclasses, "tuples": tuples,
    "compiled": compiled,
    "searches": searches() - before, "frozen": gc.get_freeze_count(),
}
sys.stderr.write(json.dumps(report))
"""


def modules_loaded(*arguments: str) -> set[str]:
    """Run cpuctl in its own process; return the imported modules."""
    return set(probed(*arguments)["modules"])


def probed(*arguments: str) -> dict[str, Any]:
    """Run cpuctl in its own process; return the probe's report."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True, cwd=ROOT
    )
    report: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    assert not report.pop("code"), done.stderr
    return report


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["plan", "--help"],
        ["topology", "--help"],
        ["checkpoint", "repair", "--help"],
        ["checkpoint", "versions", "-o", "json"],
        ["plan", "-q", "-m", MACHINE, "-T", "web=4/4,2Gi", "-o", "json"],
        ["explain", "--help"],
        ["explain", "-q", "-m", MACHINE, "-T", "web=4/4,2Gi", "-o", "json"],
        ["topology", "show", "-q", "-m", MACHINE, "-o", "json"],
    ],
    ids=lambda arguments: " ".join(Path(argument).name for argument in arguments),
)
def test_heavy_modules_stay_out_of_help_and_json(arguments: list[str]) -> None:
    assert not modules_loaded(*arguments) & HEAVY


@pytest.mark.parametrize("words", [("list",), ("plan", "-T", "web=4/4,2Gi")], ids=lambda words: words[0])
def test_a_fleet_on_this_machine_needs_no_dask(words: tuple[str, ...]) -> None:
    loaded = modules_loaded("fleet", words[0], MACHINE, *words[1:], "-q", "-o", "json")
    assert not loaded & ({"dask", "distributed", "cpuctl.fleet.on_dask"} | HEAVY)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_loads_few_modules(command: Command) -> None:
    """Limits are slightly above today's numbers; a command that needs more gets a new limit in the table."""
    words = (*command.words, "--exit-zero") if command.words[0] == "audit" else command.words
    own = {name for name in modules_loaded(*words) if name.partition(".")[0] == "cpuctl"}
    assert 0.85 * command.modules < len(own) <= command.modules


def test_version_is_answered_before_typer_is_imported() -> None:
    assert not modules_loaded("--version") & (HEAVY | {"typer", "cpuctl.cli.app"})


def test_a_completed_word_needs_no_typer_and_a_pod_only_yaml() -> None:
    words = ("cpuctl", "audit", "--check", "state,")
    assert not modules_loaded("__complete", "checks", "bash", *words) & (HEAVY | {"typer"})
    pods = str(ROOT / "fixtures" / "pods")
    loaded = modules_loaded("__complete", "pod", "bash", "cpuctl", "explain", "-f", pods, "shop/")
    assert not loaded & ((HEAVY - {"yaml"}) | {"typer"})


def test_help_imports_no_command() -> None:
    loaded = modules_loaded("--help")
    assert "cpuctl.cli.app" in loaded
    assert not {"cpuctl.cli.plan", "cpuctl.cli.topology", "cpuctl.engine.node"} & loaded


_PLAN = ("plan", "-q", "-m", MACHINE, "-o", "json")
_STATIC = ("--kubelet-config", str(ROOT / "fixtures" / "kubelet" / "static.yaml"))
_TEMPLATE = ("-T", "web=4/4,2Gi")
_FILES = ("-f", str(ROOT / "fixtures" / "pods"))
_NEVER = {
    "cpuctl.capture.collected",
    "cpuctl.checkpoints",
    "cpuctl.engine.cpu.picking.balance",
    "cpuctl.engine.devices.allocation",
    "cpuctl.engine.hints.merge",
    "cpuctl.engine.memory.manager",
    "cpuctl.engine.cpu.pod_level",
    "cpuctl.engine.cpu.resizing.request",
    "cpuctl.inputs.pod_resources",
    "cpuctl.kubelet.configuration.drop_ins",
    "cpuctl.kubelet.flags.command_line",
    "cpuctl.kubelet.flags.table",
    "cpuctl.kubelet.foreign.tools",
    "cpuctl.machine.devices",
    "cpuctl.pods.cgroups",
    "cpuctl.pods.limit_ranges",
    "cpuctl.pods.resource_quotas",
    "cpuctl.pods.running",
    "cpuctl.pods.validation.refusals",
    "cpuctl.spelling",
}
"""Modules that a plan with these inputs does not need."""


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        ((*_PLAN, *_TEMPLATE), {*_NEVER, "cpuctl.pods.reading.manifests"}),
        ((*_PLAN, *_STATIC, *_TEMPLATE), {*_NEVER, "cpuctl.pods.reading.manifests"}),
        ((*_PLAN, *_STATIC, *_FILES), _NEVER),
    ],
    ids=["defaults", "static", "manifests"],
)
def test_a_plan_loads_no_unneeded_modules(words: tuple[str, ...], unused: set[str]) -> None:
    assert not modules_loaded(*words) & unused


_EXPLAIN = ("explain", "-q", "-m", MACHINE, *_STATIC, "-o", "json")
_RESIZE = ("resize", "-q", "-m", MACHINE, *_TEMPLATE, "--set", "web:cpu=6", "-o", "json")
_NODE = ("-q", "-m", str(ROOT / "fixtures" / "nodes" / "v2-2-numa" / "node.tar.xz"), "-o", "json")
_REPLAY = ("replay", str(ROOT / "fixtures" / "timelines" / "case-a.yaml"), "-q", "-o", "json")
_AUDIT = ("audit", *_NODE, "--exit-zero")


@pytest.mark.parametrize(
    ("words", "module"),
    [
        ((*_PLAN, *_STATIC, *_FILES), "cpuctl.documents.json_text"),
        (("config", "show", "-m", MACHINE, "-o", "json"), "cpuctl.documents.document"),
        ((*_PLAN, *_TEMPLATE), "cpuctl.documents.document"),
        ((*_EXPLAIN, *_TEMPLATE), "cpuctl.engine.explain.searches.searches"),
        ((*_EXPLAIN, *_TEMPLATE), "cpuctl.engine.resize.handler"),
        (("plan", "--help"), "cpuctl.engine.cpu.provider"),
        (("topology", "-m", MACHINE, "-o", "json"), "cpuctl.answering.cpu_columns"),
        (("cgroups", "show", *_NODE), "cpuctl.audit.checks"),
        (_AUDIT, "cpuctl.engine.node"),
        (_AUDIT, "cpuctl.pods.stored"),
        (_AUDIT, "cpuctl.operations.checkpoint.states"),
        (_RESIZE, "cpuctl.engine.cpu.resizing.kep"),
        (_RESIZE, "cpuctl.checkpoints.pods_state"),
        (_RESIZE, "cpuctl.engine.cpu.resizing.distributed"),
        (_AUDIT, "cpuctl.engine.memory.hints"),
        (_AUDIT, "hashlib"),
        (("checkpoint", "dump", *_NODE), "cpuctl.cli.checkpoint.repair"),
        (_REPLAY, "cpuctl.pods.limit_ranges"),
    ],
    ids=[
        "JSON for YAML",
        "documents for a machine",
        "documents for a template",
        "a search for an admitted pod",
        "resizes for a pod that has none pending",
        "managers for help",
        "columns that are not selected",
        "a whole audit for groups",
        "admissions for an audit",
        "manifests for an audit without a list of pods",
        "state files to change for an audit",
        "an allocator without the static policy",
        "granted resources without a state",
        "distribution across NUMA nodes for a packing policy",
        "hints for an audit, which admits nothing",
        "checksums for an audit, which only plans show",
        "other verbs",
        "limits of namespaces for a timeline without",
    ],
)
def test_modules_for_some_inputs_are_not_loaded_for_others(words: tuple[str, ...], module: str) -> None:
    assert module not in modules_loaded(*words)


def test_a_command_that_starts_no_kubelet_loads_no_managers() -> None:
    loaded = modules_loaded("pods", "show", *_FILES, "-o", "json")
    assert not loaded & {"cpuctl.engine.start", "cpuctl.engine.node"}


def test_needed_modules_are_loaded() -> None:
    """The probe detects them: the same plan with flags loads them."""
    flags = "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=restricted"
    loaded = modules_loaded(*_PLAN, *_TEMPLATE, "--kubelet-args", flags)
    assert {"cpuctl.kubelet.flags.command_line", "cpuctl.engine.hints.merge"} <= loaded


@pytest.mark.parametrize(
    "words",
    [
        (*_PLAN, *_STATIC, *_FILES),
        (*_EXPLAIN, *_TEMPLATE),
        _RESIZE,
        _AUDIT,
        ("cgroups", "show", *_NODE),
        ("checkpoint", "repair", *_NODE, "--kubelet-version", "1.36"),
        _REPLAY,
    ],
    ids=lambda words: " ".join(word for word in words[:2] if word != "-q" and "/" not in word),
)
def test_no_dataclasses_are_defined(words: tuple[str, ...]) -> None:
    """Defining a dataclass takes 0.6 to 1 ms: a hundred of them took a third of a plan."""
    assert not probed(*words)["dataclasses"]


def test_the_probe_detects_dataclasses() -> None:
    found = probed("pods", "lint", "-q", str(ROOT / "fixtures" / "pods" / "database.yaml"))["dataclasses"]
    assert "cpuctl.operations.pod_lint.LintRun" in found


def test_annotations_of_large_tuples_are_not_strings() -> None:
    """Each takes as long as a field: large tuples are in modules without the ``__future__`` import."""
    compiled = probed(*_PLAN, *_STATIC, *_FILES)["compiled"]
    assert {name: fields for name, fields in compiled.items() if fields > 12} == {}
    assert compiled["cpuctl.documents.cursor.Cursor"], "the probe detects them"


@pytest.mark.parametrize(
    "words",
    [(*_PLAN, *_STATIC, *_FILES), (*_EXPLAIN, *_TEMPLATE), _RESIZE, _REPLAY],
    ids=lambda words: words[0],
)
def test_few_named_tuples_are_defined(words: tuple[str, ...]) -> None:
    """Defining one takes ten times as long as a record, which pays off only for thousands of values."""
    tuples = probed(*words)["tuples"]
    assert len(tuples) < 18, tuples
    assert "cpuctl.machine.model.CPU" in tuples, "the probe detects them"


@pytest.mark.parametrize(
    "words",
    [(*_PLAN, *_STATIC, *_FILES), (*_EXPLAIN, *_TEMPLATE), ("cgroups", "show", *_NODE)],
    ids=lambda words: words[0],
)
def test_the_garbage_collector_does_not_run(words: tuple[str, ...]) -> None:
    """Neither during imports nor at the end: cycles would only be among long-lived objects."""
    report = probed(*words)
    assert not report["searches"]
    assert report["frozen"] > 10_000


def test_only_a_table_loads_rich() -> None:
    """The probe detects it: the same command without ``-o json`` does load it."""
    assert "rich.console" in modules_loaded("topology", "show", "-q", "-m", MACHINE)


@pytest.mark.parametrize(
    "words", [_AUDIT, ("cgroups", "show", *_NODE), (*_PLAN, *_TEMPLATE)], ids=lambda words: words[0]
)
def test_types_of_answers_are_never_loaded(words: tuple[str, ...]) -> None:
    assert not {name for name in modules_loaded(*words) if name.startswith("cpuctl.answers")}


def test_modules_for_claims_are_loaded_only_if_pods_have_some() -> None:
    def of_claims(*words: str) -> list[str]:
        return [name for name in modules_loaded(*words) if name.startswith("cpuctl.dra.")]

    assert of_claims(*_PLAN, *_STATIC, *_FILES) == []
    assert of_claims(*_PLAN, "-f", "fixtures/dra/examples/grouped.yaml")
