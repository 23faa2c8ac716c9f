"""Every "no" ends with what to type next, whole, and what is proposed works when it is typed.

Here are the answers that end with a command of ours; what findings propose is run by ``test_*_fixes``, what
complaints about inputs propose by ``test_broken_input``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl

MACHINE = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz")
STATIC = ("--kubelet-config", "fixtures/kubelet/static.yaml")
NODE = "fixtures/nodes/v2-2-numa/node.tar.xz"
MISSPELT = ("--kubelet-args", "--cpu-manager-policy=statik")
FLEET = "fixtures/machines"
TWO = ("-T", "big=20/20,1Gi", "-T", "web=14/14,1Gi")
NO, YES = 3, 0

STEPS: Mapping[tuple[str, ...], tuple[str, int]] = {
    ("plan", *MACHINE, *STATIC, "-T", "odd=3/3,1Gi"): ("explain default/odd", NO),
    ("plan", *MACHINE, *STATIC, "-f", "fixtures/telco/du.yaml"): ("plan", YES),
    ("plan", *MACHINE, "-T", "web=4/4,1Gi"): ("advise", YES),
    ("plan", "-m", "synthetic:1c", *STATIC, "-T", "web=1/1,1Gi"): ("config check", NO),
    ("explain", *MACHINE, *STATIC, "-T", "odd=3/3,1Gi"): ("explain default/odd", YES),
    ("explain", *MACHINE, *STATIC, "-f", "fixtures/telco/du.yaml"): ("explain telco/du", YES),
    ("explain", "-m", "synthetic:1c", *STATIC, "-T", "web=1/1,1Gi"): ("config check", NO),
    ("plan", *MACHINE, *STATIC, *TWO, "--compare", ".", "single-numa-node"): ("explain default/web", NO),
    ("plan", *MACHINE, *STATIC, *TWO[:2], "--compare", ".", "single-numa-node,full-pcpus-only"): (
        "explain default/big",
        NO,
    ),
    ("plan", *MACHINE, *STATIC, "-T", "odd=40/40", "--compare", "policy=koordinator,bind=spread", "1.34"): (
        "explain default/odd",
        NO,
    ),
    ("resize", "-m", "synthetic:1c", *STATIC, "-T", "a=1/1,1Gi", "--set", "a:cpu=2"): (
        "config check",
        NO,
    ),
    ("advise", "-m", "synthetic:1c", *STATIC, "-T", "huge=64/64,1Gi"): ("config check", NO),
    ("advise", *MACHINE, *STATIC, "-T", "huge=64/64,1Gi", "--budget", "9"): ("explain default/huge", NO),
    ("config", "reserve", *MACHINE): ("config reserve --cpu-count 1", YES),
    ("config", "reserve", *MACHINE, "--cpu-count", "2", *MISSPELT): ("config check", NO),
    ("config", "check", *MACHINE, "--kubelet-args", "--cpu-manager-policy=static"): (
        "config reserve --cpu-count 1",
        YES,
    ),
    ("fleet", "plan", FLEET, *STATIC, "-T", "big=200/200"): ("fleet list", YES),
    ("fleet", "plan", FLEET, *MISSPELT, "-T", "web=2/2"): ("fleet check --check config,state", NO),
    ("fleet", "list", FLEET, *MISSPELT): ("fleet check --check config,state", NO),
    ("checkpoint", "verify", NODE, *MISSPELT): ("config check", NO),
    ("checkpoint", "verify", NODE, "--kubelet-version", "1.36"): ("checkpoint repair", YES),
}
"""What is asked with what; the command that the answer ends with, and how that ends."""


@pytest.mark.parametrize("words", STEPS, ids=lambda words: " ".join(words)[:60])
def test_a_refusal_ends_with_a_command_that_works(words: tuple[str, ...], cpuctl: Cpuctl) -> None:
    verb, code = STEPS[words]
    answer = cpuctl(*words, "-q", columns=80)
    (command,) = proposed(answer.out)
    assert command.startswith(verb)
    inputs = set(words).intersection((*MACHINE, *STATIC, *MISSPELT, NODE, FLEET, "synthetic:1c"))
    assert inputs <= set(shlex.split(command))
    typed = cpuctl(*shlex.split(command), "-q", columns=80)
    assert (typed.code, typed.err) == (code, "")


def proposed(text: str) -> set[str]:
    """Return the commands that an answer proposes: those of a line of its own, and within a fix."""
    lines = re.findall(r"^(?:Next, .+?|  see): cpuctl (.+)$", text, re.MULTILINE)
    fixes = re.findall(r"^  fix: (?:.*; )?cpuctl (.+?)(?: proposes .*)?$", text, re.MULTILINE)
    return {*lines, *fixes}


POD = (
    b"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, resources: "
    b'{limits: {cpu: "2", memory: 1Gi, x.com/gpu: "1"}}}]}}'
)
BROKEN = (
    b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
    b"reservedSystemCPUs: 0-99\n"
)
CONFIG = "--kubelet-config -"
PIPED = {
    "plan -f -": POD,
    "explain a -f -": POD,
    f"plan -T web=4/4,1Gi {CONFIG}": BROKEN,
    f"explain -T web=4/4,1Gi {CONFIG}": BROKEN,
    f"resize -T web=4/4,1Gi --set web:cpu=2 {CONFIG}": BROKEN,
    f"advise -T web=64/64,1Gi --budget 9 {CONFIG}": BROKEN.replace(b"0-99", b"'0'"),
    f"config reserve --cpu-count 2 {CONFIG}": BROKEN.replace(b"static", b"statik"),
    f"checkpoint verify {NODE} {CONFIG}": BROKEN,
}
"""What is asked with something on standard input, and what is there."""


@pytest.mark.parametrize("words", PIPED)
def test_what_was_on_standard_input_is_a_file_to_fill_in(words: str, cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Standard input is read once: ``-`` again would wait for the terminal."""
    machine = () if NODE in words else MACHINE
    config = STATIC if "-f -" in words else ()
    answer = cpuctl(*words.split(), *machine, *config, "-q", stdin=PIPED[words])
    (command,) = proposed(answer.out)
    option = CONFIG.removesuffix(" -") if CONFIG in words else "-f"
    assert f"{option} FILE" in command
    assert "-" not in shlex.split(command)
    (tmp_path / "piped").write_bytes(PIPED[words])
    filled_in = command.replace(f"{option} FILE", f"{option} {tmp_path / 'piped'}")
    typed = cpuctl(*shlex.split(filled_in), "-q")
    assert (typed.code in (YES, NO), typed.err) == (True, "")


def test_a_release_on_standard_input_is_a_file_to_fill_in(cpuctl: Cpuctl) -> None:
    """The option takes a Node, too: what stands for its file keeps the sign before it."""
    node = b'{"kind": "Node", "status": {"nodeInfo": {"kubeletVersion": "v1.36.1"}}}'
    words = ("--kubelet-version", "@-", "--kubelet-args=--cpu-manager-policy=static --reserved-cpus=0-99")
    refused = cpuctl("plan", *MACHINE, *words, "-T", "web=4/4,1Gi", "-q", stdin=node)
    assert refused.code == NO
    assert refused.out.endswith("--kubelet-version @FILE\n")


def test_a_pod_on_standard_input_that_is_not_admitted(cpuctl: Cpuctl) -> None:
    odd = POD.replace(b', x.com/gpu: "1"', b"").replace(b'"2"', b'"3"')
    for verb, code in ((("plan",), NO), (("resize", "--set", "a:cpu=2"), 4)):
        said = cpuctl(*verb, *MACHINE, *STATIC, "-f", "-", "-q", stdin=odd)
        assert said.code == code
        text = said.out + said.err
        assert "cpuctl explain default/a" in text
        assert text.count("-f FILE") == 1


def test_an_undetermined_start_is_said_once(cpuctl: Cpuctl) -> None:
    answer = cpuctl("checkpoint", "verify", NODE, *MISSPELT, "-q", columns=80)
    assert answer.out.count('unknown policy: "statik"') == 1


HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
CHECK = ("config", "check", "-q", "-m", "synthetic:2s2n8c2t,mem=64Gi", "--kubelet-config", "-")


def test_a_misspelt_reservation_is_one_error(cpuctl: Cpuctl) -> None:
    """That the kubelet has no reservation is no second mistake."""
    config = f'{HEAD}cpuManagerPolicy: static\nreservedSystemCPU: "0"\n'
    answer = cpuctl(*CHECK, stdin=config.encode(), columns=80)
    found = re.findall(r"^(?:error|warning): .*", answer.out, re.MULTILINE)
    assert answer.code == NO
    assert [line.partition(" is ignored")[0] for line in found] == [
        'error: <stdin>:4: reservedSystemCPU: unknown field "reservedSystemCPU"'
    ]
    assert "  fix: write reservedSystemCPUs\n" in answer.out
    assert "1 error, 0 warnings" in answer.out


def test_what_the_kubelet_says_is_shown_once(cpuctl: Cpuctl) -> None:
    config = f'{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: "99"\n'
    answer = cpuctl(*CHECK, stdin=config.encode(), columns=80)
    assert answer.out.count("99 is not a subset of online-cpus") == 1
    assert "  where: <stdin>:4: reservedSystemCPUs\n  fix: leave out reservedSystemCPUs\n" in answer.out
    assert "1 error, 0 warnings" in answer.out
    wide = cpuctl(*CHECK, "-o", "wide", stdin=config.encode(), columns=200)
    assert "SEVERITY" in wide.out


def test_an_audit_without_state_files_says_what_to_name(cpuctl: Cpuctl) -> None:
    answer = cpuctl("audit", "fixtures/machines/2s-2numa-32cpu.tar.xz", "-q", columns=80)
    assert answer.code == NO
    assert answer.out.splitlines()[-1].startswith(
        "Next: specify the directory of cpu_manager_state (--state "
    )


def test_this_host_is_not_named_where_nobody_named_it(
    cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("plan", "-q", "-T", "huge=999/999,1Gi", "--kubelet-args", "--fail-cgroupv1=false")
    (command,) = proposed(cpuctl(*words).out)
    assert " -m " not in command
    monkeypatch.setenv("CPUCTL_MACHINE", "synthetic:4c")
    (command,) = proposed(cpuctl(*words, "-m", "live").out)
    assert " -m live" in command
