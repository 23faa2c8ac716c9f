"""An option has the same name in every command, and its former name works for one more release."""

from __future__ import annotations

from collections import defaultdict

from cpuctl.cli.completion.command_tree import Option, command_tree
from cpuctl.option_names import FORMER_NAMES
from tests.cli.conftest import Cpuctl

MACHINE = ("-m", "synthetic:1s2n8c1t", "--kubelet-version", "1.36")
STATIC = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0,4")
FORMER: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("topology show", "--memory"): (MACHINE, ()),
    ("config reserve", "--node"): ((*MACHINE, "--kubelet-args", "--memory-manager-policy=Static"), ("1",)),
    ("config reserve", "--reserved-cpus"): (MACHINE, ("2",)),
    ("fleet list", "--scheduler"): (("fixtures/nodes", "--kubelet-version", "1.36", "-j", "2"), ("far",)),
    ("plan", "--skip-api-server"): ((*MACHINE, *STATIC, "-T", "a=3/2"), ()),
    ("resize", "--to"): (
        (
            *("-m", "synthetic:2s2n6c2t,mem=64Gi", "-f", "fixtures/resize/pods.yaml", "--kubelet-args"),
            *("--cpu-manager-policy=static --reserved-cpus=0,12", "--kubelet-version", "1.36"),
        ),
        ("fixtures/resize/edited.yaml",),
    ),
    ("checkpoint migrate", "--to-kubelet"): (("fixtures/nodes/v2-2-numa/node.tar.xz",), ("1.37",)),
    ("pods diff", "--to-kubelet-version"): (
        ("fixtures/pods/web.yaml", "--kubelet-version", "1.36"),
        ("1.37",),
    ),
    ("pods lint", "--warnings-as-errors"): (("-f", "fixtures/pods", "--kubelet-version", "1.36"), ()),
}
"""Old names of options by command: other options that are given, and the values."""


def test_every_former_name_is_tested() -> None:
    assert {former for _, former in FORMER} == {former for former, _ in FORMER_NAMES}


def test_a_former_name_still_works(cpuctl: Cpuctl) -> None:
    for (path, former), (words, value) in FORMER.items():
        name = {known.names[-1] for known in _options(path)} & {
            name for before, name in FORMER_NAMES if before == former
        }
        (name_of_today,) = name
        wanted = cpuctl(*path.split(), *words, name_of_today, *value)
        found = cpuctl(*path.split(), *words, former, *value)
        assert (found.code, found.out) == (wanted.code, wanted.out), path
        assert found.code == 2 if former == "--scheduler" else found.code in (0, 3), found
        note = f"warning: {former} is deprecated, use {name_of_today} instead\n"
        assert found.err == note + wanted.err, path
        assert cpuctl(*path.split(), *words, former, *value, "-q").err.startswith(note) is False, path


def test_a_former_name_in_the_value_of_an_option_is_not_deprecated(cpuctl: Cpuctl) -> None:
    words = ("config", "reserve", *MACHINE, "--cpu-count", "1")
    result = cpuctl(*words, "--kubelet-args", "--reserved-cpus=0")
    assert (result.code, "deprecated" in result.err) == (0, False)


def test_both_names_of_an_option_together_are_rejected(cpuctl: Cpuctl) -> None:
    result = cpuctl("checkpoint", "migrate", "x", "--to-kubelet", "1.36", "--to", "1.37")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: --to-kubelet: is the old name of --to\nhint: use only --to\n"


def test_a_name_means_the_same_in_every_command() -> None:
    """All commands that have an option agree on its short name, kind of value and panel."""
    forms: dict[str, dict[tuple[object, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for command in command_tree().walk():
        for option in command.options:
            value = "CHOICE" if option.choices else option.metavar
            forms[option.names[-1]][option.names, value, option.panel].append(command.path)
    several = {name: {value for _, value, _ in found} for name, found in forms.items() if len(found) > 1}
    assert several == {
        "--help": {""},  # closes the last panel
        "--filename": {"PODS", "FILE"},  # cgroups apply -f takes a plan
        "--html": {"FILE", "DIR"},  # fleet report writes a page per node
        "--snippet": {"", "N"},  # advise has several to choose from
    }


def test_help_does_not_list_former_names() -> None:
    for command in command_tree().walk():
        names = {name for option in command.options for name in option.names}
        for former, name in FORMER_NAMES:
            assert not {former, name} <= names, command.path


def _options(path: str) -> tuple[Option, ...]:
    (command,) = [each for each in command_tree().walk() if each.path == path]
    return command.options
