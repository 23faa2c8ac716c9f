"""Every command, run by a user who may not read the kubelet's files, gives an answer or a hint."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from cpuctl.cli.app import app
from tests.robustness.forks import NONE, OWN_MOUNTS, PROJECT, Circumstances, Forks, without_mounts

KUBELET = "/var/lib/kubelet"
OWN = "/var/lib/own"
"""A directory that everybody may write to."""

SHORT = "-m synthetic:1s1n4c1t"
STATIC = "--kubelet-config fixtures/kubelet/static.yaml"
ON_36 = "--kubelet-version 1.36"
LIVE = {
    "advise": "-T a=1/1,1Gi --budget 20",
    "audit": "",
    "capture": f"{OWN}/node.tar.gz",
    "cgroups apply": "",
    "cgroups show": "",
    "checkpoint diff": f"{KUBELET} {KUBELET}",
    "checkpoint dump": "",
    "checkpoint migrate": "--to 1.37",
    "checkpoint new": ON_36,
    "checkpoint repair": ON_36,
    "checkpoint verify": ON_36,
    "checkpoint versions": "",
    "completion": "bash",
    "config check": "",
    "config reserve": "",
    "config show": "",
    "config versions": "",
    "dra allocate": "-f fixtures/pods",
    "dra slices": "",
    "explain": "-T a=1/1,1Gi",
    "fleet check": "fixtures/nodes/v2-2-numa/node.tar.xz",
    "fleet diff": "fixtures/nodes/v2-2-numa/node.tar.xz fixtures/nodes/v2-2-numa/node.tar.xz",
    "fleet list": "fixtures/nodes/v2-2-numa/node.tar.xz",
    "fleet plan": "fixtures/nodes/v2-2-numa/node.tar.xz -T a=1/1,1Gi",
    "fleet report": "fixtures/nodes/v2-2-numa/node.tar.xz",
    "nri run": "--plan fixtures/timelines/case-a.yaml",
    "plan": "-T a=1/1,1Gi",
    "pods diff": "fixtures/pods fixtures/pods",
    "pods lint": "-f fixtures/pods -m live",
    "pods show": "-f fixtures/pods -m live",
    "policies list": "",
    "policies new": f"{OWN}/mine.py",
    "policies show": "koordinator",
    "replay": "fixtures/timelines/case-a.yaml",
    "report": "",
    "resize": "-T a=1/1,1Gi --set a:cpu=2",
    "schema": "plan",
    "top": "--once --interval 0.2",
    "topology devices": "",
    "topology distances": "",
    "topology map": "",
    "topology show": "--numa-memory",
    "topology synthetic": "",
    "watch": "--for 100ms",
}
"""A command line for every command, on the live node where the command looks at one."""

CLOSED = (
    f"plan {SHORT} -f {KUBELET}",
    f"plan {SHORT} -f {KUBELET}/pods.yaml",
    f"plan {SHORT} -T a=1/1 --state {KUBELET}",
    f"plan {SHORT} -T a=1/1 --state {KUBELET}/cpu_manager_state",
    f"plan {SHORT} -T a=1/1 --config-dir {KUBELET}/drop-ins",
    f"plan {SHORT} -T a=1/1 --devices {KUBELET}/devices.yaml",
    f"plan {SHORT} -T a=1/1 --pods {KUBELET}/pods.json",
    f"plan {SHORT} -T a=1/1 --write-state {KUBELET}",
    f"plan {SHORT} -T a=1/1 --svg {KUBELET}/inside/a.svg",
    f"plan -T a=1/1 -m {KUBELET}",
    f"plan -T a=1/1 -m {KUBELET}/node.tar.gz",
    f"explain {SHORT} -T a=1/1 --state {KUBELET}/memory_manager_state",
    f"resize {SHORT} -T a=1/1 --set a:cpu=2 --state {KUBELET}/cpu_manager_state --kubelet-version 1.38",
    f"cgroups apply --root {KUBELET}/inside",
    f"cgroups apply --state {KUBELET}/cpu_manager_state",
    f"cgroups apply -f {KUBELET}/cpu_manager_state",
    f"cgroups show --root {KUBELET}/inside",
    f"audit --root {KUBELET}/inside",
    f"audit --state {KUBELET}/cpu_manager_state",
    f"audit --pods {KUBELET}/pods.json",
    f"pods show -f fixtures/pods --usage {KUBELET}/usage.yaml",
    f"pods diff {KUBELET}/a.yaml fixtures/pods",
    f"pods lint -f {KUBELET}",
    f"replay {KUBELET}/timeline.yaml",
    f"capture {KUBELET}/node.tar.gz",
    f"capture --root {KUBELET}/inside {OWN}/other.tar.gz",
    f"config check {SHORT} --kubelet-config {KUBELET}/config.yaml",
    f"checkpoint dump {KUBELET}/cpu_manager_state",
    f"checkpoint repair {KUBELET}/cpu_manager_state {ON_36} {SHORT} {STATIC}",
    f"checkpoint migrate {KUBELET} --to 1.37 --yes",
)
"""Command lines that name what only root may read or write."""

SETTING = f"""
mount -t tmpfs -o mode=755 none /var/lib && mkdir -m 777 {OWN} && mkdir {KUBELET} && cd {KUBELET} &&
cp {shlex.quote(str(PROJECT / "fixtures/kubelet/static.yaml"))} config.yaml && mkdir inside &&
echo '{{}}' | tee cpu_manager_state >memory_manager_state && chmod -R go= .
"""


@pytest.fixture(scope="module")
def unprivileged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """A node whose kubelet's directory is readable only by root, as on most nodes."""
    if reason := without_mounts(tmp_path_factory.mktemp("mount")):
        pytest.skip(reason)
    if not all(each.stat().st_mode & 0o005 == 0o005 for each in (PROJECT, *PROJECT.parents)):
        pytest.skip("only its owner may read the project")
    forks = Forks(*OWN_MOUNTS)
    forks.shell(SETTING)
    yield forks
    forks.end()


def leaves(command: Any, *names: str) -> Iterator[str]:
    """Yield the words of every command that has no subcommands."""
    context = typer.Context(command)
    inner = command.list_commands(context) if hasattr(command, "list_commands") else ()
    if not inner:
        yield " ".join(names)
    for name in inner:
        yield from leaves(command.get_command(context, name), *names, name)


def test_every_command_is_listed() -> None:
    assert sorted(leaves(typer.main.get_command(app))) == sorted(LIVE)


@pytest.mark.parametrize("name", LIVE)
def test_every_command_answers_or_gives_a_hint(name: str, unprivileged: Forks) -> None:
    """A command that cannot answer without the kubelet's files names the file, and a solution."""
    words = shlex.split(f"{name} {LIVE[name]}")
    done = unprivileged.run(words, Circumstances(user=NONE))
    if done.code == 5:
        assert f"error: {'/var/run/nri' if name == 'nri run' else KUBELET}" in done.err
        assert "hint: try again with sudo" in done.err
    else:
        assert done.code in {0, 3}, done.err
        assert done.out


@pytest.mark.parametrize("line", CLOSED)
def test_files_that_only_root_may_access_are_named(line: str, unprivileged: Forks) -> None:
    done = unprivileged.run(shlex.split(line), Circumstances(user=NONE))
    assert (done.code, done.out) == (5, ""), done.err
    error, hint = done.err.splitlines()[-2:]
    assert error.startswith(f"error: {KUBELET}")
    assert error.endswith(("cannot be read: permission denied", "cannot be written: permission denied"))
    assert hint.startswith("hint: try again with sudo")


def test_an_audit_without_root_names_unreadable_files(unprivileged: Forks) -> None:
    done = unprivileged.run(["audit"], Circumstances(user=NONE))
    assert f"warning: {KUBELET}/config.yaml: permission denied" in done.err
    assert "4 files could not be read: try again with sudo" in done.err


@pytest.fixture
def readable_configuration(unprivileged: Forks) -> Iterator[Forks]:
    """Only the state files are root's, as where the kubelet's directory may be listed by everybody."""
    unprivileged.shell(f"cd {KUBELET} && chmod o+rx . && chmod o+r config.yaml")
    yield unprivileged
    unprivileged.shell(f"cd {KUBELET} && chmod o-rwx . config.yaml")


@pytest.mark.parametrize("line", ["plan -T a=1/1", "explain -T a=1/1", "resize -T a=1/1 --set a:cpu=2"])
def test_state_files_that_only_root_may_read_are_not_taken_for_none(
    line: str, readable_configuration: Forks
) -> None:
    """A plan on an empty node would be another answer: it has to be requested."""
    done = readable_configuration.run(shlex.split(line), Circumstances(user=NONE))
    assert (done.code, done.out) == (5, ""), done.err
    assert done.err.splitlines()[-2:] == [
        f"error: {KUBELET}/cpu_manager_state: cannot be read: permission denied",
        "hint: try again with sudo, or use --state none to start from an empty node",
    ]
    empty = readable_configuration.run([*shlex.split(line), "--state", "none"], Circumstances(user=NONE))
    assert empty.code in {0, 3}, empty.err
    topology = readable_configuration.run(["topology", "show", "-o", "nrt"], Circumstances(user=NONE))
    assert (topology.code, topology.err.splitlines()[-1]) == (5, "hint: try again with sudo")


def test_a_start_on_state_files_that_only_root_may_read_is_unknown(readable_configuration: Forks) -> None:
    """The configuration is checked, but whether the kubelet starts also depends on the files."""
    why = (
        f"{KUBELET}/cpu_manager_state: cannot be read: permission denied (try again with sudo, or use "
        "--state none to check an empty node)"
    )
    settings = ["--kubelet-config", str(PROJECT / "fixtures/kubelet/none.yaml"), "--kubelet-args", ""]
    check = ["config", "check", *settings, "--kubelet-version", "1.33", "-o", "json"]
    done = readable_configuration.run(check, Circumstances(user=NONE))
    answer = json.loads(done.out)
    assert (done.code, answer["start"]) == (3, {"outcome": "Undetermined", "why": why})
    assert answer["node"]["cpuManagerPolicy"] == "none"
    empty = readable_configuration.run([*check, "--state", "none"], Circumstances(user=NONE))
    assert (empty.code, json.loads(empty.out)["start"]) == (0, {"outcome": "Started"}), empty.err
    versions = ["config", "versions", *settings, "--from", "1.33", "--to", "1.34"]
    done = readable_configuration.run(versions, Circumstances(user=NONE))
    lines = done.out.splitlines()
    assert (done.code, lines[0]) == (3, f"Whether either kubelet would start is unknown: {why}")
    verify = "sudo cpuctl checkpoint verify --kubelet-version 1.34"
    assert lines[-1] == f"Next, to check the state files on the node: {verify}"


def test_root_starts_from_the_state_files_of_the_node(unprivileged: Forks) -> None:
    answer = json.loads(unprivileged.run(["plan", "-T", "a=1/1", "-o", "json"]).out)
    assert answer["sources"]["state"] == {"value": f"{KUBELET}/cpu_manager_state", "from": "live"}
    given = ("--kubelet-config", f"{KUBELET}/config.yaml")
    other = json.loads(unprivileged.run(["plan", "-T", "a=1/1", "-o", "json", *given]).out)
    assert f"use --state {KUBELET} to start from them" in other["sources"]["state"]["value"]
