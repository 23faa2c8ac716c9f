"""Options and arguments mean the same on every command that has them: one table covers all."""

from __future__ import annotations

import bz2
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cpuctl.cli.app import app
from cpuctl.cli.completion.command_tree import Command, command_tree
from tests.audit.node_tree import PODS, clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl, Result

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "fixtures" / "nodes" / "v2-2-numa" / "node.tar.xz"
MACHINE = "synthetic:1s1n16c1t"
V36 = ("--kubelet-version", "1.36")
STATIC = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
CHANGES = ("--set", "a:cpu=2")
TABLE = b"NAME    READY   STATUS    RESTARTS   AGE\nweb-1   1/1     Running   0          5d\n"


def commands(option: str, *ways: str) -> dict[str, Command]:
    """Return the commands that have an option and, if any *ways* are given, at least one of those."""
    return {
        each.path: each
        for each in command_tree().walk()
        if any(option in known.names for known in each.options)
        and (not ways or any(way in known.names for known in each.options for way in ways))
    }


def run(cpuctl: Cpuctl, path: str, *words: str, **more: Any) -> Result:
    return cpuctl(*path.split(), *words, **more)


@pytest.fixture
def node(tmp_path: Path) -> str:
    """Write a node with its kubelet's files, for commands that work on a live one."""
    return str(written(with_kubelet_files(clean_node()).files, tmp_path / "node"))


WITH_STATE: dict[str, tuple[str, ...]] = {
    "advise": ("--defragment", "-m", MACHINE, *V36, *STATIC, "-T", "a=1/1"),
    "plan": ("-m", MACHINE, *V36, *STATIC, "-T", "a=1/1"),
    "explain": ("-m", MACHINE, *V36, *STATIC, "-T", "a=1/1"),
    "resize": ("-m", MACHINE, *V36, *STATIC, "-T", "a=1/1", *CHANGES),
    "config check": ("-m", MACHINE, *V36, *STATIC),
    "config versions": ("-m", MACHINE, "--from", "1.36", *STATIC),
    "checkpoint verify": ("-m", MACHINE, *V36, *STATIC),
    "checkpoint repair": ("-m", MACHINE, *V36, *STATIC),
    "checkpoint migrate": ("--to", "1.36"),
    "checkpoint dump": (),
    "audit": ("--root", "NODE", *V36),
    "report": ("-m", MACHINE, *V36, *STATIC),
    "cgroups show": ("--root", "NODE", *V36),
    "cgroups apply": ("--root", "NODE", *V36),
    "top": ("--once", "--root", "NODE", *V36),
}
"""What else each command needs for an answer; NODE is a node below a directory."""


def placed(words: tuple[str, ...], node: str) -> list[str]:
    return [node if word == "NODE" else word for word in words]


def test_every_command_that_takes_state_files_is_run() -> None:
    assert WITH_STATE.keys() == commands("--state").keys()


@pytest.mark.parametrize("path", WITH_STATE)
def test_a_wrong_file_is_not_a_state_file(path: str, node: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    (tmp_path / "wrong.txt").write_text("hello\n")
    result = run(cpuctl, path, *placed(WITH_STATE[path], node), "--state", str(tmp_path / "wrong.txt"))
    assert (result.code, result.out) == (4, ""), result
    assert "wrong.txt: is not a state file" in result.err


@pytest.mark.parametrize("path", WITH_STATE)
def test_state_files_are_read_from_a_recording(path: str, node: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    archive = tmp_path / "node.tar.bz2"
    archive.write_bytes(bz2.compress(lzma.decompress(RECORDED.read_bytes())))
    result = run(cpuctl, path, *placed(WITH_STATE[path], node), "--state", str(archive), "-o", "json")
    if path == "cgroups apply":
        # A copy of a node cannot be changed: without its own kernel, a test gets no further.
        assert "a copy of a node cannot be changed" in result.err
        return
    if path == "top":
        assert "this is a copy of a node's files" in result.err
        assert "hint: use cpuctl audit --root " in result.err
        return
    assert result.code in (0, 3), result
    sources = json.loads(result.out)["sources"]
    found = {each["value"] for each in sources.values()}
    assert f"{archive}: var/lib/kubelet/cpu_manager_state" in found


WITH_MACHINE: dict[str, tuple[str, ...]] = {
    "advise": ("-T", "a=1/1", "--budget", "20"),
    "plan": ("-T", "a=1/1"),
    "explain": ("-T", "a=1/1"),
    "resize": ("-T", "a=1/1", *CHANGES),
    "replay": ("fixtures/timelines/case-a.yaml",),
    "pods show": ("-T", "a=1/1"),
    "pods diff": ("fixtures/pods", "fixtures/pods"),
    "pods lint": ("-f", "fixtures/pods"),
    "topology show": (),
    "topology map": (),
    "topology distances": (),
    "topology synthetic": (),
    "topology devices": (),
    "dra slices": (),
    "dra allocate": ("-f", "fixtures/pods"),
    "config reserve": ("--cpu-count", "1"),
    "config show": (),
    "config check": (),
    "config versions": (),
    "cgroups show": V36,
    "audit": V36,
    "report": V36,
    "checkpoint dump": (),
    "checkpoint verify": V36,
    "checkpoint migrate": ("--to", "1.36"),
    "checkpoint repair": V36,
    "checkpoint new": (*V36, "-T", "a=1/1"),
    "cgroups apply": V36,
    "nri run": ("--dry-run",),
    "top": ("--once",),
}


def test_every_command_that_takes_a_machine_is_run() -> None:
    assert WITH_MACHINE.keys() == commands("--machine").keys()


@pytest.mark.parametrize("path", WITH_MACHINE)
def test_two_machines_are_an_error(path: str, cpuctl: Cpuctl) -> None:
    result = run(cpuctl, path, *WITH_MACHINE[path], "-m", MACHINE, "--machine", MACHINE)
    assert (result.code, result.out) == (2, "")
    assert "expected one machine, found two" in result.err


@pytest.mark.parametrize("path", sorted(WITH_MACHINE.keys() - {"cgroups apply", "nri run", "top"}))
def test_a_machine_can_come_from_standard_input(path: str, cpuctl: Cpuctl) -> None:
    """The answer is the same as for the file, apart from the name."""
    words = (*WITH_MACHINE[path], "-q", "-o", "json")
    named = run(cpuctl, path, *words, "-m", str(RECORDED))
    piped = run(cpuctl, path, *words, "-m", "-", stdin=RECORDED.read_bytes())
    assert piped.code == named.code, (piped, named)
    reported = [text.replace(str(RECORDED), "FILE") for text in (named.out, named.err)]
    requested = [text.replace("<stdin>", "FILE").replace('"-"', '"FILE"') for text in (piped.out, piped.err)]
    assert requested == reported


OTHER_ARGUMENTS = {
    "explain": "[POD]",
    "replay": "[TIMELINE]",
    "cgroups apply": "[NS/POD/CONTAINER=CPUS]...",
    "pods diff": "[OLD]",
    "fleet list": "RECORDINGS...",
    "fleet report": "RECORDINGS...",
    "fleet plan": "[RECORDINGS]...",
    **dict.fromkeys((f"checkpoint {verb}" for verb in ("dump", "verify", "migrate", "repair")), "[STATE]"),
}
"""Commands whose subject is something other than a machine or pods, or two of these."""
ABOUT_PODS = ("plan", "advise", "dra allocate", "resize", "pods show", "pods lint", "checkpoint new")
WITHOUT_ARGUMENT = {"nri run", "top"}
"""Their subject is one of several options, or the node that they run on."""
ABOUT_MACHINES = sorted(WITH_MACHINE.keys() - OTHER_ARGUMENTS.keys() - {*ABOUT_PODS} - WITHOUT_ARGUMENT)
PODS_TWICE = ["fixtures/pods/database.yaml", "fixtures/pods/web.yaml"]


def test_every_command_has_its_subject_as_an_argument() -> None:
    wanted = (
        OTHER_ARGUMENTS | dict.fromkeys(ABOUT_PODS, "[PODS]...") | dict.fromkeys(ABOUT_MACHINES, "[SOURCE]")
    )
    about = commands("--machine") | commands("--filename")
    arguments = {path: command.arguments for path, command in about.items()}
    assert all(arguments.pop(path) == () for path in WITHOUT_ARGUMENT)
    assert {path: found[0].metavar for path, found in arguments.items()} == wanted


@pytest.mark.parametrize("path", ABOUT_MACHINES)
def test_a_machine_is_an_argument_or_an_option(path: str, cpuctl: Cpuctl) -> None:
    words, name = (*WITH_MACHINE[path], "-q", "-o", "json"), str(RECORDED)
    by_option = run(cpuctl, path, *words, "-m", name)
    # This recording has no PCI devices.
    assert by_option.code in ((4,) if path == "topology devices" else (0, 3)), by_option
    assert run(cpuctl, path, name, *words) == by_option
    assert run(cpuctl, path, *words, "-m", name, name) == by_option
    for other in (MACHINE, "live", ""):
        both = run(cpuctl, path, *words, name, "-m", other)
        assert (both.code, both.out) == (2, "")
        assert f"-m {other}: conflicts with the argument {name}" in both.err
    unset = run(cpuctl, path, *words, "")
    assert (unset.code, unset.out) == (4, ""), "no machine is not this host"


def test_a_third_value_to_compare_is_not_a_manifest(cpuctl: Cpuctl) -> None:
    third = cpuctl("plan", "-f", "fixtures/pods", "--compare", ".", "restricted", "1.37", columns=200)
    assert "not both; --compare takes two values: join changes with commas" in third.err


@pytest.mark.parametrize("path", ABOUT_PODS)
def test_pods_are_arguments_or_options(path: str, cpuctl: Cpuctl) -> None:
    words = ["-m", MACHINE, *V36, "-q", "-o", "json"]
    words += ["--set", "database/server:cpu=4"] if path == "resize" else []
    words += ["--budget", "20"] if path == "advise" else []
    each = [word for name in PODS_TWICE for word in ("-f", name)]
    by_option = run(cpuctl, path, *words, *each)
    assert PODS_TWICE[1] in by_option.out, by_option
    assert run(cpuctl, path, *PODS_TWICE, *words) == by_option
    assert run(cpuctl, path, *PODS_TWICE, *words, *each) == by_option
    cut = run(cpuctl, path, *words, "-f", *PODS_TWICE)
    assert (cut.code, cut.out) == (2, "")
    assert f"-f {PODS_TWICE[0]}: conflicts with the arguments {PODS_TWICE[1]}" in cut.err
    assert "use arguments or -f, not both" in cut.err


def test_compared_pods_are_arguments_or_options(cpuctl: Cpuctl) -> None:
    old, new = PODS_TWICE
    by_option = cpuctl("pods", "diff", "-q", "-f", old, "-f", new)
    assert by_option.code == 0
    assert cpuctl("pods", "diff", "-q", old, new) == by_option
    assert cpuctl("pods", "diff", "-q", old, new, "-f", old, "-f", new) == by_option
    for words in ((old, "-f", new), (), ("-f", old, "-f", new, "-f", old)):
        assert cpuctl("pods", "diff", *words).code == 2


@pytest.mark.parametrize("verb", ["dump", "verify", "repair"])
def test_a_recording_of_state_files_is_an_argument_or_an_option(verb: str, cpuctl: Cpuctl) -> None:
    words = ("checkpoint", verb, "-q", "-o", "json", *(() if verb == "dump" else V36))
    ways = [cpuctl(*words, *way) for way in ((str(RECORDED),), ("-m", str(RECORDED)))]
    assert ways[0].code == ways[1].code in (0, 3)
    reported, wanted = (json.loads(each.out) for each in ways)
    assert (reported.get("start"), reported["files"]) == (wanted.get("start"), wanted["files"])


def test_a_group_with_a_machine_runs_its_default_verb(tmp_path: Path, cpuctl: Cpuctl) -> None:
    shown = cpuctl("topology", "show", "-q", "-m", str(RECORDED))
    assert cpuctl("topology", str(RECORDED), "-q") == shown
    (tmp_path / "node7").symlink_to(RECORDED)
    assert cpuctl("topology", "node7", "-q", cwd=tmp_path).out == shown.out
    assert cpuctl("topology", MACHINE, "-q").code == 0
    misspelt = cpuctl("topology", "shwo")
    assert (misspelt.code, "did you mean show?" in misspelt.err) == (2, True)


def test_a_configuration_is_not_a_machine(tmp_path: Path, cpuctl: Cpuctl) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    result = cpuctl("config", "check", str(file))
    assert (result.code, result.out) == (4, "")
    assert "is a kubelet configuration, not a machine\n" in result.err
    assert f"cpuctl config check --kubelet-config {file}" in result.err


def test_a_node_to_change_cannot_come_from_standard_input(cpuctl: Cpuctl) -> None:
    result = cpuctl("cgroups", "apply", "-m", "-", *V36, stdin=RECORDED.read_bytes())
    assert (result.code, result.out) == (2, "")


READERS: dict[tuple[str, str], tuple[str, ...]] = {
    ("plan", "-f"): ("-m", MACHINE),
    ("plan", "--pods"): ("-m", MACHINE, "-T", "a=1/1"),
    ("advise", "-f"): ("-m", MACHINE),
    ("advise", "--pods"): ("-m", MACHINE, "-T", "a=1/1"),
    ("explain", "-f"): ("-m", MACHINE),
    ("explain", "--pods"): ("-m", MACHINE, "a"),
    ("resize", "-f"): ("-m", MACHINE, *CHANGES),
    ("resize", "--pods"): ("-m", MACHINE, *CHANGES),
    ("pods show", "-f"): ("-m", MACHINE),
    ("pods lint", "-f"): ("-m", MACHINE),
    ("dra allocate", "-f"): ("-m", MACHINE),
    ("pods diff", "-f"): ("-m", MACHINE, "--to", "1.37"),
    ("config versions", "-f"): ("-m", MACHINE),
    ("config versions", "--pods"): ("-m", MACHINE),
    ("checkpoint new", "-f"): ("-m", MACHINE, *V36),
    ("cgroups show", "--pods"): ("--root", "NODE", *V36),
    ("cgroups apply", "--pods"): ("--root", "NODE", *V36),
    ("replay", "-f"): ("-m", MACHINE, str(ROOT / "fixtures" / "logs" / "kubelet-1.36.jsonl")),
    ("audit", "--pods"): ("--root", "NODE", *V36),
    ("top", "--pods"): ("--once", "--root", "NODE", *V36),
    ("report", "-f"): ("-m", MACHINE),
    ("report", "--pods"): ("-m", MACHINE),
    ("checkpoint dump", "--pods"): ("--state", str(RECORDED)),
    ("checkpoint verify", "--pods"): ("-m", str(RECORDED), *V36),
    ("checkpoint migrate", "--pods"): ("--state", str(RECORDED), "--to", "1.36"),
    ("checkpoint repair", "--pods"): ("-m", str(RECORDED), *V36),
    ("checkpoint diff", "--pods"): (str(RECORDED), str(RECORDED)),
    ("fleet check", "--pods"): (str(RECORDED), "--nrt", str(ROOT / "fixtures/fleet/nrt.json")),
    ("fleet diff", "--pods"): (str(RECORDED), str(RECORDED), "--check", "audit"),
    ("fleet plan", "-f"): (str(RECORDED),),
    ("fleet report", "-f"): (str(RECORDED),),
    ("fleet report", "--pods"): (str(RECORDED),),
    ("fleet plan", "--pods"): (str(RECORDED), "-T", "a=1/1"),
}


def test_every_command_that_reads_pods_is_run() -> None:
    # cgroups apply takes a plan of changes; fleet list uses pods only in the commands that it proposes.
    others = {"cgroups apply", "fleet list"}
    files = {(path, "-f") for path in commands("--filename").keys() - others}
    # watch reads them again and again, which standard input does not allow.
    assert READERS.keys() == files | {(path, "--pods") for path in commands("--pods").keys() - {"watch"}}


@pytest.mark.parametrize(("path", "option"), READERS)
def test_a_kubectl_table_is_an_error_that_suggests_json(
    path: str, option: str, node: str, cpuctl: Cpuctl
) -> None:
    words = placed(READERS[path, option], node)
    result = run(cpuctl, path, *words, option, "-", stdin=TABLE)
    assert (result.code, result.out) == (4, "")
    assert result.err.splitlines()[-2:] == [
        "error: <stdin>: found a kubectl table, expected manifests",
        "hint: add -o json to kubectl",
    ]


def test_pods_diff_suggests_json_for_a_kubectl_table(cpuctl: Cpuctl) -> None:
    result = cpuctl("pods", "diff", "fixtures/pods", "-", stdin=TABLE)
    assert (result.code, "hint: add -o json to kubectl" in result.err) == (4, True)


WRITERS: dict[str, tuple[str, ...]] = {
    "plan": ("-m", MACHINE, *V36, *STATIC, "-T", "a=1/1"),
    "resize": ("-m", MACHINE, *V36, *STATIC, "-T", "a=1/1", *CHANGES),
    "checkpoint new": ("-m", MACHINE, *V36, *STATIC, "-T", "a=1/1"),
    "checkpoint migrate": ("--state", "STATE", "--to", "1.36"),
    "checkpoint repair": ("-m", MACHINE, *V36, *STATIC, "--state", "STATE"),
}


def test_every_command_that_writes_state_files_is_run() -> None:
    assert WRITERS.keys() == commands("--write-state").keys()


@pytest.mark.parametrize("path", WRITERS)
def test_the_directory_of_state_files_is_created(path: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    state = str(tmp_path / "before")
    created = cpuctl("checkpoint", "new", "-q", *WRITERS["checkpoint new"], "--write-state", state)
    assert created.code == 0, created
    words = [state if word == "STATE" else word for word in WRITERS[path]]
    result = run(cpuctl, path, *words, "--write-state", str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b" / "cpu_manager_state").exists(), result


def test_the_pods_of_the_node_are_read(node: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """The table above would pass even if a command ignored the option."""
    (tmp_path / "pods.json").write_text(json.dumps(PODS))
    result = cpuctl("audit", "--root", node, *V36, "--pods", str(tmp_path / "pods.json"), "-o", "json")
    assert str(tmp_path / "pods.json") in {
        each["value"] for each in json.loads(result.out)["sources"].values()
    }


def options_of(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the options of all commands below one, each with its command's words."""
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from options_of(command.get_command(None, name), (*path, name))
    else:
        yield from ((path, each) for each in command.params)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "-1", "1e999"])
def test_shares_and_times_must_be_valid_numbers(number: str, cpuctl: Cpuctl) -> None:
    """Python parses "nan" as a float, which is neither inside nor outside any range."""
    found = [(path, each) for path, each in options_of(get_command(app)) if "float" in each.type.name]
    assert {" ".join(path) for path, _ in found} >= {"top", "watch"}
    for path, option in found:
        result = cpuctl(*path, f"{option.opts[-1]}={number}")
        assert (result.code, result.out) == (2, ""), result
        assert option.opts[-1] in result.err
