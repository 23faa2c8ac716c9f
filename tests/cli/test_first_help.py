"""With ``cpuctl --help`` alone, on a terminal of 80 columns, users find what they need."""

from __future__ import annotations

import re
import shlex

import pytest

from cpuctl.cli.command_table import COMMANDS, GROUPS
from cpuctl.cli.completion.command_tree import command_tree
from tests.cli.conftest import Cpuctl

VERBS = [each for each in command_tree().walk() if each.words]


def test_every_command_is_in_one_group() -> None:
    assert [name for entries in GROUPS.values() for name in entries] == list(COMMANDS)


def test_summaries_of_commands_fit_on_one_line(cpuctl: Cpuctl) -> None:
    lines = [line.split(None, 1) for line in cpuctl("--help", columns=80).out.splitlines()]
    assert [name for name, entry in COMMANDS.items() if [name, entry.help] not in lines] == []


@pytest.mark.parametrize("group", sorted({each.words[0] for each in VERBS if len(each.words) > 1}))
def test_summaries_of_verbs_fit_on_one_line(cpuctl: Cpuctl, group: str) -> None:
    lines = cpuctl(group, "--help", columns=80).out.splitlines()
    summaries = {each.words[-1]: each.summary for each in VERBS if each.words[:-1] == (group,)}
    shown = lines[lines.index("Commands:") + 1 :]
    assert [line.split(None, 1) for line in shown] == [list(item) for item in summaries.items()]


def test_the_commands_to_start_with_have_their_own_help(cpuctl: Cpuctl) -> None:
    first = cpuctl("--help", columns=80).out
    commands = [line for line in first.splitlines() if re.match(r" +(sudo )?cpuctl ", line)]
    wanted = {
        ("plan",),
        ("explain",),
        ("checkpoint", "verify"),
        ("config", "versions"),
        ("audit",),
        ("capture",),
    }
    known = {each.words for each in VERBS}
    found = set()
    for line in commands:
        words = shlex.split(line.removeprefix("sudo"), comments=True)
        words = words[words.index("cpuctl") + 1 :]
        found.add(next(tuple(words[:length]) for length in (2, 1) if tuple(words[:length]) in known))
    assert found == wanted
    assert all(cpuctl(*words, "--help", columns=80).code == 0 for words in wanted)


# The five tasks, each with the text in its help that leads to the next step.
NEXT = {
    "plan": "cpuctl explain POD",
    "explain": "RESULT shows the outcome",
    "checkpoint verify": "cpuctl checkpoint repair",
    "config versions": "cpuctl checkpoint verify --kubelet-version",
    "audit": "cpuctl cgroups apply",
}


@pytest.mark.parametrize(("command", "follows"), NEXT.items())
def test_help_says_what_to_type_next(cpuctl: Cpuctl, command: str, follows: str) -> None:
    described = " ".join(cpuctl(*command.split(), "--help", columns=80).out.partition("Examples:")[0].split())
    assert follows in described


def test_no_help_line_is_too_wide_or_ends_within_a_word(cpuctl: Cpuctl) -> None:
    for words in [(), *{each.words[:1] for each in VERBS}, *(each.words for each in VERBS)]:
        out = cpuctl(*words, "--help", columns=80).out
        assert [line for line in out.splitlines() if len(line) > 80 or re.search(r"\w-$", line)] == []


@pytest.mark.parametrize("command", ["plan", "explain", "resize --set a:cpu=3"])
def test_if_the_kubelet_rejects_its_state_a_command_shows_what_to_change(
    cpuctl: Cpuctl, command: str
) -> None:
    words = ("-m", "fixtures/kubeadm/node7.tar.xz", "--kubelet-version", "1.35", "-T", "a=2/2,1Gi")
    static = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
    answer = cpuctl(*command.split(), *words, *static, "-q", columns=80)
    *_, line = answer.out.splitlines()
    requested = cpuctl(*shlex.split(line.removeprefix("Next, to see what to change: cpuctl ")), "-q")
    assert (answer.code, requested.code) == (3, 3)
    assert 'the file was written with policy "none"' in requested.out
    assert (
        "  fix: configure policy none (without cpuManagerPolicyOptions), or\n    cpuctl checkpoint repair "
        in requested.out
    )


def test_without_a_policy_a_guaranteed_pod_gets_a_hint_on_exclusive_cpus(cpuctl: Cpuctl) -> None:
    words = (
        "plan",
        "-m",
        "synthetic:1s1n4c2t,mem=8Gi",
        "--kubelet-config",
        "fixtures/kubelet/none.yaml",
        "-q",
    )
    wanted = "  exclusive CPUs need cpuManagerPolicy: static"
    assert wanted in cpuctl(*words, "-T", "a=2/2,1Gi", columns=80).out.splitlines()
    assert wanted not in cpuctl(*words, "-T", "a=1/2,1Gi", columns=80).out.splitlines()


def test_an_unknown_message_has_a_next_step_too(cpuctl: Cpuctl) -> None:
    answer = cpuctl("explain", "-q", "--message", "no route to host", columns=80)
    assert answer.code == 3
    assert [line.split("  ")[-1].strip() for line in answer.out.splitlines()[-2:]] == [
        "cpuctl explain POD -f PODS",
        "cpuctl config check; cpuctl checkpoint verify",
    ]
    known = cpuctl("explain", "-q", "--message", "checkpoint is corrupted", columns=80)
    assert (known.code, "Try instead" in known.out) == (0, False)


def test_a_misspelt_file_is_one_error_with_a_suggestion(cpuctl: Cpuctl) -> None:
    machine = "fixtures/machine/2s-2numa-32cpu.tar.xz"
    for words, name, meant in (
        (("-m", machine, "-T", "a=1/1"), machine, "fixtures/machines/2s-2numa-32cpu.tar.xz"),
        (("-m", "synthetic:2c", "-f", "fixtures/podz"), "fixtures/podz", "fixtures/pods"),
    ):
        result = cpuctl("plan", *words, "-q")
        assert (result.code, result.out) == (4, "")
        message = f"error: {name}: cannot be read: no such file or directory"
        assert result.err == f"{message}\nhint: did you mean {meant}?\n"
