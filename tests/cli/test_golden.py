"""What people see, word for word, on a narrow and a wide terminal without colour.

The snapshots are in ``__snapshots__``; ``pytest --snapshot-update`` takes new ones, to be reviewed before
they are committed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from syrupy.assertion import SnapshotAssertion

from cpuctl.cli.app import app
from tests.cli.conftest import Cpuctl

TWO_NODES = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz")
EIGHT_NODES = ("-m", "fixtures/machines/2s-8numa-64cpu.tar.xz")
STATIC = ("--kubelet-config", "fixtures/kubelet/static.yaml")
# One CPU of every NUMA node is reserved: the kubelet looks for whole cores that exist only in its count.
ENDLESS = b"""
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true", distribute-cpus-across-numa: "true"}
reservedSystemCPUs: 0,8,16,24
"""
HEADINGS = re.compile(r"[A-Z0-9 -]+")

ANSWERS: Mapping[str, tuple[str, ...]] = {
    "plan of the shipped pods": ("plan", *TWO_NODES, *STATIC, "-f", "fixtures/pods"),
    "plan, wide": ("plan", *TWO_NODES, *STATIC, "-f", "fixtures/pods", "-o", "wide"),
    "plan, distributed": (
        *("plan", *EIGHT_NODES, "--kubelet-config", "fixtures/kubelet/distribute.yaml"),
        *("-T", "spread=24/24,1Gi", "-T", "web=500m/1,1Gi x5", "-o", "wide"),
    ),
    "plan, rejected": (
        *("plan", *TWO_NODES, *STATIC),
        *("-T", "odd=3/3,1Gi", "-T", "huge=64/64,1Gi", "-T", "web=2/2,1Gi"),
    ),
    "plan with a warning": ("plan", *TWO_NODES, *STATIC, "-T", "most=28/28,1Gi"),
    "plan without a policy": ("plan", *TWO_NODES, "-T", "web=4/4,1Gi"),
    "plan, not started": ("plan", "-m", "synthetic:1c", *STATIC, "-T", "web=1/1,1Gi"),
    "plan, endless loop": (
        *("plan", "-m", "synthetic:2s4n16c2t", "--kubelet-config", "-"),
        *("-T", "gateway=54/54,1Gi", "-T", "web=2/2,1Gi x5"),
    ),
    **{
        f"topology {name}, {nodes} nodes": ("topology", *words, *machine)
        for name, words in {
            "show": ("show",),
            "wide": ("show", "-o", "wide"),
            "columns": ("show", "--columns", "cpu,core,siblings,l2,l3,capacity,maxkhz", "--cpus", "node:1"),
            "map": ("map",),
            "distances": ("distances",),
        }.items()
        for nodes, machine in (("2", TWO_NODES), ("8", EIGHT_NODES))
    },
    "advise": (
        *("advise", *TWO_NODES, *STATIC, "-f", "fixtures/pods"),
        *("--keep", "reservedSystemCPUs", "--keep", "memoryManagerPolicy"),
    ),
    **{
        f"moves {name}": (
            *("advise", "--defragment", *TWO_NODES, *STATIC),
            *("--kubelet-args", "--topology-manager-policy=single-numa-node"),
            *("--state", "fixtures/fragmented", "--pods", "fixtures/fragmented/pods.json", *words),
        )
        for name, words in {
            "for a pod": ("-T", "big=8/8,256Mi"),
            "for the largest": (),
            "that do not exist": ("-T", "big=12/12,256Mi"),
        }.items()
    },
    "advise, ended by its budget": (
        *("advise", "-m", "synthetic:1s2n8c2t", *STATIC, "-T", "odd=3/3,1Gi", "--budget", "2", "-o", "wide"),
    ),
    "topology map of an uneven machine": (
        *("topology", "map"),
        *("-m", "synthetic:1s2n8c2t,offline=3+5,isolated=8-9,ecores=6-7"),
    ),
    "topology of a small machine": ("topology", "show", "-m", "synthetic:0n1c"),
}


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name: str, width: int, cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
    result = cpuctl(*ANSWERS[name], columns=width, stdin=ENDLESS)
    assert result.code in (0, 3)
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]
    if "wide" not in ANSWERS[name]:
        assert [line for line in drawn_lines(result.out) if len(line) > width] == []
    whole = cpuctl(*ANSWERS[name], columns=NO_LIMIT, stdin=ENDLESS)
    assert broken_words(result.out, whole.out) == set()


NODE = "fixtures/nodes/v2-2-numa/node.tar.xz"
RECORDED: tuple[tuple[str, ...], ...] = (
    ("audit", NODE),
    ("cgroups", "show", NODE),
    ("checkpoint", "dump", NODE),
    ("checkpoint", "verify", NODE),
    ("checkpoint", "migrate", NODE, "--to", "1.37"),
    ("checkpoint", "versions"),
    ("checkpoint", "diff", NODE, "fixtures/fragmented"),
    ("config", "show", NODE),
    ("config", "check", NODE),
    ("config", "versions", NODE, "--to", "1.37"),
    ("config", "reserve", NODE),
    ("dra", "slices", NODE),
    ("plan", *TWO_NODES, "-f", "fixtures/devices/pods.yaml", "--devices", "fixtures/devices/two-nodes.yaml"),
    ("policies", "list"),
    ("pods", "show", "-f", "fixtures/pods"),
    ("pods", "lint", "-f", "fixtures/pods", *TWO_NODES),
    ("topology", "show", "--numa-memory", NODE),
    ("fleet", "list", "fixtures/fleet/recordings", "NAMED"),
    ("fleet", "plan", "fixtures/fleet/recordings", "NAMED", "-T", "web=4/4,2Gi"),
)
"""More answers that people read; NAMED is a node with a long name."""
LONG_NAME = "ip-10-0-131-217.eu-central-1.compute.internal"


@pytest.mark.parametrize("words", RECORDED, ids=" ".join)
def test_no_word_is_broken_in_a_narrow_terminal(
    words: tuple[str, ...], cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """No UID is split over lines either; truncated text is complete with ``-o wide``, which wraps no name."""
    named = tmp_path / f"{LONG_NAME}.tar.xz"
    named.symlink_to(Path("fixtures/machines/2s-2numa-32cpu.tar.xz").absolute())
    placed = [str(named) if word == "NAMED" else word for word in words]
    wholes = {}
    for form, separators, widths in (("table", PARTS, (80,)), ("wide", BLANKS, (80, 120))):
        wholes[form] = cpuctl(*placed, "-q", "-o", form, columns=NO_LIMIT)
        assert wholes[form].code in (0, 3), wholes[form]
        for width in widths:
            narrow = cpuctl(*placed, "-q", "-o", form, columns=width)
            assert broken_words(narrow.out, wholes[form].out, separators) == set(), (form, width)
    if words[:2] == ("fleet", "list"):
        assert LONG_NAME in wholes["wide"].out


NO_LIMIT = 10_000
BLANKS = re.compile(r"[\s,;]+")
UID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
PARTS = re.compile(r"[\s,;/-]+")


def broken_words(narrow: str, whole: str, separators: re.Pattern[str] = PARTS) -> set[str]:
    """Return the words, UIDs and options of an answer that its narrow form breaks.

    Truncation in the middle is allowed: beginning and end are on one line.
    """
    names = {*BLANKS.split(whole)}
    cut = [each.partition("...")[::2] for each in BLANKS.split(narrow) if "..." in each]
    long = " ".join(
        name for name in names for head, end in cut if name.startswith(head) and name.endswith(end)
    )
    words = {*separators.split(whole), *UID.findall(whole), *re.findall(r"(?<= )--\w+", whole)}
    # A block of a row leaves out empty cells, with their headings.
    reported = {word for word in words if re.search(r"\w", word) and not word.isupper()}
    return {word for word in reported if word not in narrow and word not in long}


def drawn_lines(text: str) -> Iterator[str]:
    """Yield the lines of tables and boxes; notes and paragraphs may have any length."""
    for block in text.split("\n\n"):
        first, *others = block.splitlines()
        if HEADINGS.fullmatch(first) or first.startswith("╭"):
            yield from (first, *others)


def command_lines(words: tuple[str, ...], command: Any) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of every one below it."""
    yield words
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from command_lines((*words, name), command.get_command(None, name))


COMMAND_LINES = list(command_lines((), typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMAND_LINES, ids=lambda words: " ".join(["cpuctl", *words]))
def test_help(words: tuple[str, ...], cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
    result = cpuctl(*words, "--help", columns=80)
    assert (result.code, result.err) == (0, "")
    assert str(result) == snapshot
    assert [line for line in result.out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("option", ["--help", "--help-kubelet"])
def test_wide_help_and_kubelet_help(
    option: str, width: int, cpuctl: Cpuctl, snapshot: SnapshotAssertion
) -> None:
    """Prose keeps to a readable width, and each option is explained in only one of the two helps."""
    result = cpuctl("pods", "show", option, columns=width)
    assert (result.code, result.err) == (0, "")
    assert str(result) == snapshot
    widest = min(width, 120)
    assert widest - 12 <= max(map(len, result.out.splitlines())) <= widest
    assert ("--oci-runtime" in result.out) == (option == "--help")
    assert ("drop-in directory" in result.out) == (option == "--help-kubelet")


@pytest.mark.parametrize("words", COMMAND_LINES, ids=lambda words: " ".join(["cpuctl", *words]))
def test_kubelet_options_are_only_in_their_own_help(words: tuple[str, ...], cpuctl: Cpuctl) -> None:
    """Every command that has such options leaves them to ``--help-kubelet``, and says so."""
    before, folded, after = cpuctl(*words, "--help", columns=160).out.partition("--help-kubelet explains")
    names, _, after = after.partition(".")
    assert not re.search(r"^  --(kubelet-|feature-|config-dir|ignore-unknown)", before + after, re.MULTILINE)
    if folded:
        reported = cpuctl(*words, "--help-kubelet", columns=160)
        found = re.findall(r"^  (--[a-z-]+)", reported.out, re.MULTILINE)
        assert (reported.code, reported.err, found) == (
            0,
            "",
            [*names.replace(",", "").split(), "--help-kubelet"],
        )
