"""An invalid command line results in one line that says what to type instead."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.conftest import Cpuctl

CONFIG = "fixtures/kubelet/static.yaml"


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        ("plan -q=3", "-q: takes no value", "use -q alone"),
        ("plan --root /host", "no such option: --root", "use -m /host"),
        ("plan --root='/a b' -T web", "no such option: --root", "use -m '/a b'"),
        (
            "pods diff fixtures/pods/web.yaml --to-feature-gates MemoryQoS",
            "--to-feature-gates: expected GATE=true or GATE=false, found 'MemoryQoS'",
            "write GATE=true or GATE=false, separated by commas",
        ),
        (
            "topology show -m synthetic:1s1n4c2t --cpus 1 --numa-memory",
            "--cpus: shows only CPUs and cannot be used with --numa-memory",
            "use one of them",
        ),
        ("plan --topology node7 -T web", "no such option: --topology", "use -m node7"),
        (
            "config reserve --reserved-cpus 0,2-4",
            "--cpu-count: expected a whole number of at least 1, found '0,2-4'",
            "to check given CPUs: cpuctl config check --kubelet-args '--reserved-cpus=0,2-4'",
        ),
        (
            "config versions --kubelet-version 1.36 --to 1.37",
            "no such option: --kubelet-version",
            "use --from 1.36",
        ),
        ("config versions 1.37", "unexpected argument: 1.37", "use --to 1.37"),
        ("config versions v1.37.2", "unexpected argument: v1.37.2", "use --to v1.37.2"),
        ("config versions --kubelet-version", "no such option: --kubelet-version", "use --from"),
        (
            "plan --cpu-maneger X",
            "no such option: --cpu-maneger",
            "did you mean --kubelet-args --cpu-manager-policy=X?",
        ),
        (
            "plan --cpu-manager-policy=static",
            "no such option: --cpu-manager-policy",
            "it is a kubelet flag: use --kubelet-args --cpu-manager-policy=static",
        ),
        ("plan --ephem 3", "no such option: --ephem", "did you mean --ephemeral-storage?"),
        ("checkpoint new --pods x", "no such option: --pods", "use -f x"),
        ("cgroups show --pod x", "no such option: --pod", "did you mean --pods?"),
        (
            "plan -T a=1/1 --kubelet-args --topology-manager-policy single-numa-node",
            "--kubelet-args: --topology-manager-policy has no value",
            "join flag and value: --kubelet-args --topology-manager-policy=single-numa-node",
        ),
        ("plan --version 1.37", "no such option: --version", "use --kubelet-version 1.37"),
        ("plan --cpu 4", "no such option: --cpu", "cpuctl plan -h lists the options"),
        (
            "watch -m node7.tar.xz",
            "no such option: -m",
            "it reads a running node; for a recording, use cpuctl audit -m node7.tar.xz",
        ),
        (
            "explain TopologyAffinityError",
            "POD: expected a pod's name, found a message",
            "use cpuctl explain --message TopologyAffinityError",
        ),
        ("plan --xyzzy", "no such option: --xyzzy", "cpuctl plan -h lists the options"),
        ("capture -o", "-o: expected a value, found none", "choose from table, wide, json, yaml"),
        (
            "watch 'a b'",
            "unexpected argument: a b",
            "it reads a running node; for a recording, use cpuctl audit 'a b'",
        ),
        (
            "watch a b",
            "unexpected argument: a b",
            "it reads a running node; for a recording, use cpuctl audit NODE",
        ),
        (
            "watch -- -x",
            "unexpected argument: -x",
            "it reads a running node; for a recording, use cpuctl audit -- -x",
        ),
        ("plan --=3", "no such option: --", "cpuctl plan -h lists the options"),
        (
            "plan --node-ip 'a b'",
            "no such option: --node-ip",
            """it is a kubelet flag: use --kubelet-args '--node-ip='"'"'a b'"'"''""",
        ),
        (
            "audit --fail-swap-on NODE",
            "no such option: --fail-swap-on",
            "it is a kubelet flag: use --kubelet-args --fail-swap-on",
        ),
        ("fleet check --check stat x", "--check: unknown check 'stat'", "did you mean state?"),
        ("fleet list", "RECORDINGS is missing", "usage: cpuctl fleet list [OPTIONS] RECORDINGS..."),
        ("'pla\"n'", 'no such command: pla"n', "did you mean plan?"),
        ('"pla\'n"', "no such command: pla'n", "did you mean plan?"),
        (
            'watch -o "line\'s"',
            '--output: expected one of lines, jsonl, found "line\'s"',
            "did you mean lines?",
        ),
        ("topology --columns sockt", "--columns: unknown column 'sockt'", "did you mean socket?"),
    ],
    ids=lambda text: text[:30],
)
def test_what_to_type_instead(words: str, error: str, hint: str, cpuctl: Cpuctl) -> None:
    result = cpuctl(*shlex.split(words))
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {error}\nhint: {hint}\n"


@pytest.mark.parametrize("machine", [("-m", CONFIG), (f"-m{CONFIG}",), (f"--machine={CONFIG}",)])
def test_a_configuration_given_as_machine_leads_to_kubelet_config(
    machine: tuple[str, ...], cpuctl: Cpuctl
) -> None:
    result = cpuctl("plan", *machine, "-T", "a=1/1 x2")
    command = f"cpuctl plan --kubelet-config {CONFIG} -T 'a=1/1 x2'"
    assert result.err.endswith(f"hint: use it as an option: {command}\n")


def test_a_configuration_leads_to_config_check_without_such_an_option(cpuctl: Cpuctl) -> None:
    assert f"config check --kubelet-config {CONFIG}" in cpuctl("topology", "map", "-m", CONFIG).err
    twice = cpuctl("plan", "-m", CONFIG, "--kubelet-config", CONFIG, "-T", "a=1/1")
    assert f"hint: use it as an option: cpuctl config check --kubelet-config {CONFIG}\n" in twice.err


def test_a_recording_in_place_of_containers_leads_to_its_option(cpuctl: Cpuctl) -> None:
    node = "fixtures/nodes/v2-2-numa/node.tar.xz"
    assert f"hint: for a recording, use -m {node}\n" in cpuctl("cgroups", "apply", node).err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("plan", "--state", CONFIG, "-m", CONFIG), f"--state {CONFIG} --kubelet-config {CONFIG}"),
        (("audit", "-q", CONFIG), f"audit -q --kubelet-config {CONFIG}"),
        (("plan", "-qm", CONFIG, "-T", "a=1/1"), f"config check --kubelet-config {CONFIG}"),
    ],
)
def test_only_the_file_of_the_machine_gets_another_option(
    words: tuple[str, ...], option: str, cpuctl: Cpuctl
) -> None:
    """Another option may name the same file, and single-letter options may be combined."""
    assert f"{option}\n" in cpuctl(*words).err
