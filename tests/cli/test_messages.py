"""``explain --message``: what people paste, and what they get."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from cpuctl.cli.app import app
from cpuctl.cli.render.layouts.messages import PLACEHOLDERS
from cpuctl.messages.recognition import MESSAGES
from tests.cli.conftest import ROOT, Cpuctl
from tests.support.manifests import exclusive_manifest
from tests.support.schemas import follow_schema
from tests.support.state_files import write_pods

SMT = "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
NODE = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", "--kubelet-config", "fixtures/kubelet/static.yaml")


def test_a_log_on_stdin_is_summarized(cpuctl: Cpuctl) -> None:
    log = "".join(f'E1 x.go:1] "no" pod="shop/db" err="{SMT}"\nsomething else\n\n' for _ in range(500))
    answer = cpuctl("explain", "--message", "-", "-o", "json", stdin=log.encode())
    document = json.loads(answer.out)
    assert (answer.code, document["lines"], document["unrecognized"]) == (0, 1000, 500)
    (found,) = document["messages"]
    assert (found["count"], found["line"], found["pod"]) == (500, 1, "shop/db")
    assert found["values"] == {"requested": "3", "perCore": "2"}


def test_a_reason_is_left_out_beside_its_message(cpuctl: Cpuctl) -> None:
    """``kubectl describe`` has both, and events repeat them."""
    full = "Node didn't have enough resource: cpu, requested: 4000, used: 3000, capacity: 6000"
    described = (
        f"Reason:  OutOfcpu\nMessage:  Pod was rejected: {full}\nWarning  OutOfcpu  5s  kubelet  {full}\n"
    )
    answer = cpuctl("explain", "--message", "-", "-o", "json", stdin=described.encode())
    assert [each["text"] for each in json.loads(answer.out)["messages"]] == [full]
    alone = cpuctl("explain", "--message", "OutOfmemory", "-o", "json")
    assert [each["text"] for each in json.loads(alone.out)["messages"]] == ["OutOfmemory"]


def test_one_rejection_on_two_lines_is_one_message(cpuctl: Cpuctl) -> None:
    """A manager logs the container, and the kubelet the pod, with the same text."""
    log = (
        f'E1 x.go:1] "no" pod="shop/db" containerName="main" err="{SMT}"\n'
        f'E1 x.go:2] "no" pod="shop/db" err="{SMT}"\nE1 x.go:2] "no" pod="shop/web" err="{SMT}"\n'
    )
    answer = cpuctl("explain", "--message", "-", "-o", "json", stdin=log.encode())
    found = json.loads(answer.out)["messages"]
    assert [(each["pod"], each["container"]) for each in found] == [("shop/db", "main"), ("shop/web", None)]


def test_bytes_that_are_not_text_do_no_harm(cpuctl: Cpuctl) -> None:
    answer = cpuctl("explain", "--message", "-", stdin=b"\xff\x00\x1b[31m default cpuset cannot be empty\n")
    assert answer.code == 0
    assert "\x1b" not in answer.out


def test_a_message_of_another_release_is_reported_as_such(cpuctl: Cpuctl) -> None:
    stated = "not enough cpus available to satisfy request: requested=4, available=2"
    answer = cpuctl("explain", "--message", stated, "--kubelet-version", "1.28")
    assert "1.29 and later: not printed by kubelet 1.28" in answer.out


def test_the_placeholders_of_a_command_are_explained(cpuctl: Cpuctl) -> None:
    """A recording has its node's configuration, so another one is named only if it was given."""
    answer = cpuctl("explain", "--message", SMT)
    assert "cpuctl explain POD -f PODS -m NODE\n" in answer.out
    assert "\nPOD: the pod\nPODS: the pod's manifest\nNODE: a recording (cpuctl capture); " in answer.out


@pytest.mark.parametrize("words", [("",), ("-",)], ids=["empty", "stdin"])
def test_an_empty_message_is_reported(words: tuple[str, ...], cpuctl: Cpuctl) -> None:
    answer = cpuctl("explain", "--message", *words, stdin=b"")
    assert (answer.code, answer.out) == (
        3,
        "There is no message to explain: expected a line of an event, a status or a log.\n",
    )


def test_the_exit_code_is_3_for_an_unknown_message(cpuctl: Cpuctl) -> None:
    assert cpuctl("explain", "--message", "hello").code == 3
    assert cpuctl("explain", "--message", "hello", "--exit-zero").code == 0


@pytest.mark.parametrize("words", [("--kubelet-version", "1.2"), ("-f", "-")])
def test_wrong_use_is_an_error(cpuctl: Cpuctl, words: tuple[str, ...]) -> None:
    answer = cpuctl("explain", "--message", "-", *words)
    assert (answer.code, answer.out) == (2, "")


def test_the_pod_in_the_message_is_explained_if_manifests_are_given(cpuctl: Cpuctl) -> None:
    """Of two rejected pods, the one in the message is explained; the next commands repeat the options."""
    pods = ("-T", "one=64/64,1Gi", "-T", "odd=3/3,1Gi")
    answer = cpuctl("explain", "--message", f'pod="default/odd" err="{SMT}"', *NODE, *pods, "-o", "json")
    document = json.loads(answer.out)
    assert document["explanation"]["pod"]["name"] == "odd"
    assert f"-m {NODE[1]} --kubelet-config {NODE[3]}" in document["messages"][0]["commands"][0]


NUMA = "Resources cannot be allocated with Topology locality"
CORES = (
    "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 28, "
    "requested CPUs = 64, CPUs per core = 2"
)


def log(text: str, pod: str = "default/odd") -> str:
    return f'E1 x.go:1] "Pod admission denied" pod="{pod}" message="{text}"'


@pytest.mark.parametrize(
    ("lines", "stated", "agrees"),
    [
        ([log(SMT)], SMT, True),
        ([log(NUMA)], NUMA, False),
        ([log(NUMA), log(SMT), log(CORES)], SMT, True),
        ([log(NUMA), log(CORES)], CORES, False),
        ([log(CORES, "default/big"), log(NUMA)], NUMA, False),
        (["SMTAlignmentError"], "SMTAlignmentError", True),
        (["UnexpectedAdmissionError"], "UnexpectedAdmissionError", False),
    ],
    ids=["same", "differs", "one agrees", "none agrees", "of two pods", "a reason", "another reason"],
)
def test_the_answer_is_compared_with_the_message(
    lines: list[str], stated: str, agrees: bool, cpuctl: Cpuctl
) -> None:
    """Of several messages about the pod, one that agrees is named, else the last one."""
    words = ("explain", "odd", "--message", "-", *NODE, "-T", "odd=3/3,1Gi")
    given = "\n".join(lines).encode()
    document = json.loads(cpuctl(*words, "-o", "json", stdin=given).out)
    reported = document["explanation"]["reported"]
    assert (reported["message"], reported["agrees"]) == (stated, agrees)
    follow_schema(document, "messages")
    shown = " ".join(cpuctl(*words, stdin=given).out.split())
    assert f"SAID by the kubelet: {stated}" in shown
    differs = "(the answer differs: other pods, state files or settings were in effect then)"
    assert (differs in shown) == (not agrees)


def test_another_resource_is_another_reason(cpuctl: Cpuctl) -> None:
    words = (*NODE, "-T", "big=100m,900Gi", "-o", "json")
    answers = [cpuctl("explain", "--message", f"OutOf{name}", *words) for name in ("cpu", "memory")]
    reported = [json.loads(answer.out)["explanation"]["reported"] for answer in answers]
    assert [each["agrees"] for each in reported] == [False, True]


def test_a_rejection_differs_from_an_admitted_pod(cpuctl: Cpuctl) -> None:
    answer = cpuctl("explain", "--message", log(SMT), *NODE, "-T", "odd=4/4,1Gi", "-o", "json")
    assert json.loads(answer.out)["explanation"]["reported"]["agrees"] is False


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (log(SMT, "default/gone"), ()),
        (SMT, ("-T", "web=64/64,1Gi")),
        (log("the checkpoint is corrupted: checkpoint is corrupted"), ()),
    ],
    ids=["another pod", "one of two pods", "no rejection"],
)
def test_messages_about_something_else_are_not_compared(
    message: str, words: tuple[str, ...], cpuctl: Cpuctl
) -> None:
    answer = cpuctl("explain", "--message", message, *NODE, "-T", "odd=3/3,1Gi", *words, "-o", "json")
    document = json.loads(answer.out)
    assert document["messages"]
    assert "reported" not in document["explanation"]


def test_a_command_is_not_proposed_if_its_answer_follows(cpuctl: Cpuctl) -> None:
    words = ("-T", "odd=3/3,1Gi", "-o", "json")
    shown = json.loads(cpuctl("explain", "--message", log(SMT), *NODE, *words).out)["messages"][0]
    (command,) = shown["commands"]
    assert command.startswith("cpuctl pods show ")
    live = json.loads(cpuctl("explain", "--message", log(SMT), *NODE[2:], *words).out)["messages"][0]
    assert live["commands"][1].startswith("cpuctl explain default/odd -T odd=3/3,1Gi -m NODE ")
    devices = "requested number of devices unavailable for x/y. Requested: 2, Available: 1"
    asked = json.loads(cpuctl("explain", "--message", log(devices), *NODE, *words).out)["messages"][0]
    (command,) = asked["commands"]
    assert command.endswith(" --devices FILE")


@pytest.mark.parametrize(
    "pods", [("-f", "fixtures/pods/web.yaml"), ("-T", "odd=3/3,1Gi", "-T", "web=4/4,1Gi")]
)
def test_the_next_command_asks_the_same_question(cpuctl: Cpuctl, pods: tuple[str, ...]) -> None:
    """Another release, gate or policy may decide differently."""
    kubelet = (
        "--kubelet-args=--topology-manager-policy=single-numa-node", "--kubelet-version", "1.33",
        "--feature-gates", "CPUManagerPolicyAlphaOptions=true", "--state", "none",
    )  # fmt: skip
    answer = cpuctl("explain", "--message", "TopologyAffinityError", *NODE, *kubelet, *pods, "-o", "json")
    (command,) = json.loads(answer.out)["messages"][0]["commands"]
    expected = " ".join((" ".join(pods), " ".join(NODE), *kubelet)).replace("args=", "args ")
    assert command == f"cpuctl explain POD {expected}"


def test_files_of_the_node_are_named_once(cpuctl: Cpuctl) -> None:
    message = "no healthy devices present; cannot allocate unhealthy devices example.com/x"
    words = ("--pods", "fixtures/fragmented/pods.json", "-o", "json")
    document = json.loads(cpuctl("explain", "--message", message, *NODE, *words).out)
    (command,) = document["messages"][0]["commands"]
    assert command == (
        f"cpuctl explain POD -f PODS {' '.join(NODE)} --pods fixtures/fragmented/pods.json --devices FILE"
    )


@pytest.mark.parametrize(
    ("message", "pod", "said"),
    [
        ("5s  Warning  SMTAlignmentError  pod/odd  no", "odd", ""),
        ("5s  Warning  SMTAlignmentError  pod/gone  no", "big", "no manifest of gone is given"),
        ("SMTAlignmentError", "big", "the message names no pod"),
    ],
)
def test_a_pod_that_the_message_does_not_name_is_not_explained_silently(
    cpuctl: Cpuctl, message: str, pod: str, said: str
) -> None:
    pods = ("-T", "big=64/64,1Gi", "-T", "odd=3/3,1Gi")
    answer = cpuctl("explain", "--message", message, *NODE, *pods, "-o", "json")
    assert json.loads(answer.out)["explanation"]["pod"]["name"] == pod
    note = f"note: {said}: explaining default/{pod}\n"
    assert (note in answer.err) == bool(said)
    assert ("explaining" in answer.err) == bool(said)


def test_a_pod_without_a_manifest_is_not_looked_for_in_others(cpuctl: Cpuctl) -> None:
    """Neither is the only pod that is given silently taken for it."""
    message = "5s  Warning  SMTAlignmentError  pod/gone  no"
    answer = cpuctl("explain", "--message", message, *NODE, "-T", "odd=3/3,1Gi", "-o", "json")
    document = json.loads(answer.out)
    assert answer.err.endswith("note: no manifest of gone is given: explaining default/odd\n")
    assert document["explanation"]["pod"]["name"] == "odd"
    assert document["messages"][0]["commands"] == [
        f"cpuctl explain gone -f PODS {' '.join(NODE)} --pods RUNNING"
    ]


def test_a_long_unknown_message_is_not_taken_for_a_file(cpuctl: Cpuctl) -> None:
    answer = cpuctl("explain", "--message", "Error: failed to start container " * 20)
    assert (answer.code, answer.err) == (3, "")
    assert answer.out.startswith("0 messages recognized in 1 line, 1 not recognized\n")


def test_a_configuration_on_standard_input_becomes_a_placeholder(cpuctl: Cpuctl) -> None:
    words = (*NODE[:3], "-", "-T", "odd=3/3,1Gi", "-o", "json")
    answer = cpuctl("explain", "--message", SMT, *words, stdin=(ROOT / NODE[3]).read_bytes())
    commands = json.loads(answer.out)["messages"][0]["commands"]
    assert f"-m {NODE[1]} --kubelet-config CONFIG" in commands[0]


def parsed(words: list[str]) -> str:
    """Parse a command line as the program does, without running it; return the path of the command."""
    command: Any = typer.main.get_command(app)
    context: Any = None
    name, rest = "cpuctl", words
    while hasattr(command, "get_command"):
        context = command.context_class(command, info_name=name, parent=context)
        name, *rest = command.make_parser(context).parse_args(args=rest)[1]
        command = command.get_command(context, name)
    return str(command.make_context(name, rest, parent=context).command_path)


COMMANDS = sorted({command for message in MESSAGES for command in message.commands})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_can_be_typed_once_names_are_filled_in(command: str) -> None:
    """A word in the wrong place, such as a file after an option that takes another value, is rejected."""
    command = command.removeprefix("sudo ")
    words = [word.format(pod="shop/db").replace("VERSION", "1.36") for word in command.split()]
    assert command.startswith(parsed(words[1:]))


PAGE = (ROOT / "docs" / "how-to.md").read_text()
FIRST = PAGE[PAGE.index("\n## ") :].split("\n## ")[1]
ROWS = re.findall(r"^\| `(.+)` \| `((?:sudo )?cpuctl .+)` \|$", FIRST, re.MULTILINE)


def test_the_how_to_begins_with_messages() -> None:
    assert FIRST.startswith("Look up a message\n")
    assert len(ROWS) == 12


@pytest.mark.parametrize(("message", "command"), ROWS, ids=[message for message, _ in ROWS])
def test_the_next_commands_of_the_how_to_are_proposed(message: str, command: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("explain", "-q", "-o", "json", "--message", message)
    assert result.code == 0, result
    (found,) = json.loads(result.out)["messages"]
    assert command in found["commands"]


def test_every_placeholder_has_a_meaning() -> None:
    used = {word for command in COMMANDS for word in re.findall(r"\b[A-Z_]{1,}\b", command)}
    assert used <= {*PLACEHOLDERS}


def test_a_message_is_explained_even_if_no_given_pod_is_rejected(cpuctl: Cpuctl) -> None:
    """The status of a pod does not contain its name."""
    answer = cpuctl("explain", "--message", SMT, *NODE, "-f", "fixtures/pods/web.yaml")
    assert answer.code == 0
    assert answer.out.startswith(f"MESSAGE {SMT}\n")
    assert "note: all 3 pods are admitted, and none is named; choose one to explain: " in answer.err


def test_running_pods_without_a_named_one_do_no_harm(cpuctl: Cpuctl) -> None:
    running = ("--pods", "fixtures/fragmented/pods.json")
    answer = cpuctl("explain", "--message", SMT, *NODE, *running)
    assert answer.code == 0
    assert "note: no new pods are given, and no running pod is named; specify one: shop/" in answer.err


def test_the_name_of_a_file_is_recognized(cpuctl: Cpuctl) -> None:
    answer = cpuctl("explain", "--message", "fixtures/logs/kubelet-1.27.log")
    assert (
        "note: to read the file: cpuctl explain --message - < fixtures/logs/kubelet-1.27.log\n" in answer.err
    )


def test_a_message_about_other_amounts_is_not_the_same_rejection(cpuctl: Cpuctl) -> None:
    """What a pod requests, and the machine's threads, do not depend on other pods."""
    for requested, agrees in (("3", True), ("5", False)):
        text = SMT.replace("3", requested)
        words = ("explain", "--message", f'"x" pod="default/a" message="{text}"', *NODE, "-T", "a=3/3,1Gi")
        answer = json.loads(cpuctl(*words, "-o", "json").out)
        assert answer["explanation"]["reported"]["agrees"] is agrees


def test_an_empty_shared_pool_is_repaired_with_the_proposed_command(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The pod that makes room has to be missing from the list: its entry stays in the file otherwise."""
    (tmp_path / "k.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
        "reservedSystemCPUs: 0-1\ncpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}\n"
        "evictionHard: {memory.available: 16Mi}\n"
    )
    state, running = tmp_path / "s", write_pods(tmp_path / "p.json", exclusive_manifest("a", 4))
    node = (
        "-m",
        "synthetic:1s1n4c2t",
        "--kubelet-config",
        str(tmp_path / "k.yaml"),
        "--kubelet-version",
        "1.36",
    )
    both = write_pods(tmp_path / "both.json", exclusive_manifest("a", 4), exclusive_manifest("b", 2))
    assert cpuctl("plan", *node, "-f", str(both), "--write-state", str(state)).code == 0
    words = ("--message", "default cpuset cannot be empty", "--state", str(state), "--pods", str(running))
    (found,) = json.loads(cpuctl("explain", *words, *node, "-o", "json").out)["messages"]
    *_, command = found["commands"]
    assert cpuctl(*shlex.split(command.replace("--pods", "--yes --pods"))[1:]).code == 0
    assert cpuctl("checkpoint", "verify", str(state), *node, "--pods", str(running)).code == 0
