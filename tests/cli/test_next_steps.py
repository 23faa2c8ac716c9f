"""Every "no" ends with a complete command to type next, and proposed commands work when typed.

Answers that end with a cpuctl command are tested here; ``test_*_fixes`` runs what findings propose, and
``test_broken_input`` what errors in inputs propose.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from cpuctl.exports.outcomes import PODS, RESIZES
from tests.cli.conftest import ROOT, Cpuctl

MACHINE = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz")
STATIC = ("--kubelet-config", "fixtures/kubelet/static.yaml")
NODE = "fixtures/nodes/v2-2-numa/node.tar.xz"
BAD_STATE = ("-m", NODE, "--kubelet-version", "1.36")
MISSPELT = ("--kubelet-args", "--cpu-manager-policy=statik")
FLEET = "fixtures/machines"
TWO = ("-T", "big=20/20,1Gi", "-T", "web=14/14,1Gi")
ROOMY = ("-m", "synthetic:2s2n16c2t,mem=64Gi")
RUNNING = ("--pods", "fixtures/resize/running.json")
CLAIM, INVALID = "tests/cli/next_steps/claim.yaml", "tests/cli/next_steps/invalid.yaml"
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
    ("config", "reserve", *MACHINE): ("config reserve --cpu-count 2", YES),
    ("config", "reserve", *MACHINE, "--cpu-count", "2", *MISSPELT): ("config check", NO),
    ("config", "check", *MACHINE, "--kubelet-args", "--cpu-manager-policy=static"): (
        "config reserve --cpu-count 2",
        YES,
    ),
    ("fleet", "plan", FLEET, *STATIC, "-T", "big=200/200"): ("fleet list", YES),
    ("fleet", "plan", FLEET, *MISSPELT, "-T", "web=2/2"): ("fleet check --check config,state", NO),
    ("fleet", "list", FLEET, *MISSPELT): ("fleet check --check config,state", NO),
    ("plan", *MACHINE, "-f", CLAIM): ("explain default/web", NO),
    ("dra", "allocate", *MACHINE, "-f", CLAIM, "--reserved-cpus", "0"): ("explain default/web", NO),
    ("explain", *MACHINE, "-f", CLAIM): ("dra slices", YES),
    ("explain", *MACHINE, "-f", CLAIM, "--driver-args", "--group-by=socket --expose-pcie-roots"): (
        "dra slices -m fixtures/machines/2s-2numa-32cpu.tar.xz --group-by socket --expose-pcie-roots",
        YES,
    ),
    ("plan", *MACHINE, "-f", INVALID): ("pods lint", NO),
    ("explain", *MACHINE, "-f", INVALID): ("pods lint", NO),
    ("explain", *MACHINE, "-T", "web=4/4,1Gi"): ("advise", YES),
    ("resize", *MACHINE, *STATIC, "-T", "a=2/2,1Gi", "--set", "a:cpu=64"): ("plan --capacity", YES),
    ("resize", *MACHINE, "-T", "a=2/2,1Gi", "-T", "b=28/28,1Gi", "--set", "a:cpu=8"): (
        "plan --capacity",
        YES,
    ),
    ("resize", *ROOMY, *STATIC, *RUNNING, "--set", "shop/database/server:cpu=64"): ("plan --capacity", YES),
    ("plan", *BAD_STATE, "-T", "web=2/2,1Gi"): ("checkpoint verify", NO),
    ("plan", *BAD_STATE, *MISSPELT, "-T", "web=2/2,1Gi"): ("config check", NO),
    ("explain", *BAD_STATE, "-T", "web=2/2,1Gi"): ("checkpoint verify", NO),
    ("resize", *BAD_STATE, "-T", "web=2/2,1Gi", "--set", "web:cpu=4"): ("checkpoint verify", NO),
    ("advise", *BAD_STATE, *RUNNING, "--defragment"): ("checkpoint verify", NO),
    ("config", "versions", *MACHINE, *MISSPELT): ("config check", NO),
    ("config", "versions", "-m", NODE): ("checkpoint verify", NO),
    ("cgroups", "show", "-m", NODE): ("audit", NO),
    ("checkpoint", "verify", NODE, *MISSPELT): ("config check", NO),
    ("checkpoint", "migrate", NODE, "--to", "1.36", *MISSPELT): ("config check", NO),
    ("checkpoint", "verify", NODE, "--kubelet-version", "1.36"): ("checkpoint repair", YES),
}
"""Command lines; the command that each answer ends with, and the exit code of that command."""


ELSEWHERE = {
    "audit": "every finding has its fix: test_audit_fixes",
    "checkpoint/diff": "a difference is the answer, as of diff",
    "config/show": "a configuration that cannot be loaded has its fix: test_fixes",
    "fleet/check": "every finding has its fix, and nodes are recorded again: test_fleet",
    "fleet/diff": "a difference is the answer, as of diff",
    "fleet/report": "test_reports_say_where_to_find_fixes",
    "pods/diff": "a difference is the answer, as of diff",
    "pods/lint": "every finding has its fix: test_pod_lint_fixes",
    "replay": "what differs from an expectation is shown, and only its author knows who is right",
    "report": "test_reports_say_where_to_find_fixes",
    "topology": "test_a_failed_start_is_reported_on_stderr",
    "watch": "findings that end it have their fixes: test_watch",
}
"""Other commands that can end with a no: where their next steps are tested, or why there are none."""
AS_COMMANDS = {"checkpoint/commit": "checkpoint/migrate"}
OTHER_OUTCOMES = {
    "Admitted": "a yes",
    "Unchanged": "nothing to do",
    "KubeletFault": "explained like a rejection, and needs huge memory: test_plan_memory",
    "Infeasible": "the gate to switch on: test_resize_gates",
    "Ignored": "the gate to switch on: test_resize_gates",
    "NoEffect": "the gate to switch on: test_resize_gates",
}
"""Outcomes of pods and resizes that no case of ``STEPS`` has, and why."""


def test_every_command_that_says_no_is_known() -> None:
    """A new one needs a case in ``STEPS`` or an entry in ``ELSEWHERE``."""
    cli = ROOT / "cpuctl/cli"
    ends = re.compile(r"Exit\((?:.* )?EXIT_NO\)|code = EXIT_NO")
    modules = {
        str(file.relative_to(cli).with_suffix(""))
        for file in cli.rglob("*.py")
        if ends.search(file.read_text())
    }
    cases = {name for words in STEPS for name in (words[0], "/".join(words[:2]))}
    assert {AS_COMMANDS.get(each, each) for each in modules} - cases == set(ELSEWHERE)
    tests = Path(__file__).parent
    known = {file.stem for file in tests.glob("test_*.py")} | {
        *re.findall(r"def (test_\w+)", Path(__file__).read_text())
    }
    assert {name for why in ELSEWHERE.values() for name in re.findall(r"test_\w+", why)} <= known


def test_every_outcome_has_a_next_step(cpuctl: Cpuctl) -> None:
    found = set()
    for words in STEPS:
        if words[0] in ("plan", "resize") and "--compare" not in words:
            document = json.loads(cpuctl(*words, "-o", "json", "-q").out)
            found |= {pod["outcome"] for pod in document["pods"]}
    assert {*PODS, *RESIZES} - set(OTHER_OUTCOMES) <= found


@pytest.mark.parametrize("words", STEPS, ids=lambda words: " ".join(words)[:60])
def test_a_no_ends_with_a_command_that_works(words: tuple[str, ...], cpuctl: Cpuctl) -> None:
    verb, code = STEPS[words]
    answer = cpuctl(*words, "-q", columns=80)
    (command,) = proposed(answer.out)
    assert command.startswith(verb)
    known = (*MACHINE, *STATIC, *MISSPELT, NODE, FLEET, CLAIM, INVALID, "synthetic:1c")
    inputs = set(words).intersection(known)
    # The devices of a node do not depend on claims.
    assert inputs - ({CLAIM} if verb.startswith("dra slices") else set()) <= set(shlex.split(command))
    typed = cpuctl(*shlex.split(command), "-q", columns=80)
    assert (typed.code, typed.err) == (code, "")


def proposed(text: str) -> set[str]:
    """Return the commands that an answer proposes, on separate lines or within a fix."""
    lines = re.findall(r"^(?:Next, .+?|  see): cpuctl (.+)$", text, re.MULTILINE)
    fixes = re.findall(r"^  (?:fix: |  )cpuctl (.+)$", text, re.MULTILINE)
    return {*lines, *fixes}


@pytest.mark.parametrize(
    "words",
    [
        ("topology", *MACHINE, "-o", "nrt"),
        ("plan", *MACHINE, "-T", "web=2/2", "-o", "nrt"),
        ("plan", *MACHINE, "-T", "web=2/2", "-o", "prom"),
        ("plan", *MACHINE, "-T", "web=2/2", "-o", "crictl"),
        ("checkpoint", "verify", NODE, "-o", "prom"),
    ],
    ids=" ".join,
)
def test_a_failed_start_is_reported_on_stderr(words: tuple[str, ...], cpuctl: Cpuctl) -> None:
    """With a hint what to type, if the output format cannot express it."""
    stated = cpuctl(*words, *MISSPELT, "-q")
    assert stated.code == NO
    why, hint = stated.err.splitlines()
    assert why == 'The kubelet would not start: unknown policy: "statik"'
    assert hint.startswith("hint: cpuctl config check -m ")
    typed = cpuctl(*shlex.split(hint.removeprefix("hint: cpuctl ")), "-q")
    assert (typed.code, typed.err) == (NO, "")
    assert "unknown policy" in typed.out


def test_an_explanation_without_changes_has_no_empty_table(cpuctl: Cpuctl) -> None:
    stated = cpuctl("explain", *MACHINE, "-f", CLAIM, "-q")
    assert stated.code == NO
    change = "change the claim's requests, or the devices of the driver (see cpuctl dra slices)"
    assert f"\n\nNo changes were tried: {change}.\n\nNext, " in stated.out
    assert "CHANGE" not in stated.out


def test_lint_names_the_command_that_shows_why_the_kubelet_does_not_start(cpuctl: Cpuctl) -> None:
    stated = cpuctl("pods", "lint", *MACHINE, *MISSPELT, "-f", "fixtures/pods/web.yaml")
    found = re.search(r"would not start: .* \(see: cpuctl (config check .*)\)$", stated.err, re.MULTILINE)
    assert found
    assert cpuctl(*shlex.split(found[1]), "-q").code == NO


def test_reports_say_where_to_find_fixes(cpuctl: Cpuctl) -> None:
    stated = cpuctl("report", "-m", NODE)
    assert stated.code == NO
    found = re.search(r"\nNext, to see notes and fixes: cpuctl (.* -o wide)\n", stated.out)
    assert found
    assert "\n  fix, on the node: " in cpuctl(*shlex.split(found[1])).out
    of_all = cpuctl("fleet", "report", "fixtures/nodes/v2-2-numa")
    assert of_all.code == NO
    assert "note: for fixes, run cpuctl fleet check fixtures/nodes/v2-2-numa; " in of_all.err
    assert "\n  fix: " in cpuctl("fleet", "check", "fixtures/nodes/v2-2-numa", "-q").out


def test_a_resize_that_changes_the_qos_class_suggests_recreating_the_pod(cpuctl: Cpuctl) -> None:
    refused = cpuctl("resize", *MACHINE, "-T", "a=2/2,1Gi", "--set", "a:cpu=2/4", "-q")
    assert refused.code == NO
    assert "QOS Class may not change" in refused.out
    last = "Next, to recreate the pod with these resources: kubectl replace --force -f FILE\n"
    assert refused.out.endswith(f"{last}FILE: the manifest, with the new resources\n")
    below = cpuctl("resize", *MACHINE, "-T", "a=500m/1", "--set", "a:cpu=2/1", "-q")
    assert below.code == NO
    assert "kubectl" not in below.out


WORKLOAD = """apiVersion: apps/v1
kind: %s
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, resources: {limits: {cpu: "2", memory: 1Gi}}}]}
"""


OWNERS = {
    "of a Deployment": ("apps/v1", "ReplicaSet", {"pod-template-hash": "7d9f"}, "kubectl apply -f FILE"),
    "ReplicaSet": ("apps/v1", "ReplicaSet", {}, "kubectl apply -f FILE && kubectl delete pod -n default a"),
    "DaemonSet": ("apps/v1", "DaemonSet", {}, "kubectl apply -f FILE"),
    "Job": ("batch/v1", "Job", {}, "kubectl replace --force -f FILE"),
    "Node": ("v1", "Node", {}, None),
    "custom": ("x.io/v1", "CloneSet", {}, "kubectl edit -n default cloneset.x.io/o"),
    "virtual machine": (
        *("kubevirt.io/v1", "VirtualMachineInstance", {}),
        "kubectl edit -n default virtualmachine.kubevirt.io/o",
    ),
}


@pytest.mark.parametrize("case", OWNERS)
def test_pods_of_an_owner_are_changed_through_the_owner(case: str, cpuctl: Cpuctl) -> None:
    """Only some owners replace running pods: a ReplicaSet does not, but the Deployment behind it does."""
    version, kind, labels, last = OWNERS[case]
    controller = {"apiVersion": version, "kind": kind, "name": "o", "controller": True}
    limits = {"cpu": "2", "memory": "1Gi"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": labels, "ownerReferences": [controller]},
        "spec": {"containers": [{"name": "a", "resources": {"limits": limits}}]},
    }
    words = ("resize", *MACHINE, "-f", "-", "--set", "a:cpu=2/4", "-q")
    refused = cpuctl(*words, "-o", "json", stdin=json.dumps(pod).encode())
    assert (refused.code, json.loads(refused.out).get("next")) == (NO, last)
    shown = cpuctl(*words, stdin=json.dumps(pod).encode()).out
    meaning = "\nFILE: the manifest, with the new resources" if "FILE" in (last or "") else ""
    assert shown.endswith(f": {last}{meaning}\n") if last else "kubectl" not in shown


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_pods_of_a_workload_are_recreated_by_the_workload(kind: str, cpuctl: Cpuctl) -> None:
    """Replacing a single pod of a workload does not help: the template remains unchanged."""
    manifest = (WORKLOAD % kind).encode()
    refused = cpuctl("resize", *MACHINE, "-f", "-", "--set", "a-0:cpu=2/4", "-q", stdin=manifest)
    assert refused.code == NO
    assert "QOS Class may not change" in refused.out
    *_, line, meaning = refused.out.splitlines()
    assert (line.partition(": ")[2].startswith("kubectl apply -f FILE"), meaning[:6]) == (True, "FILE: ")


def test_static_pods_are_not_recreated_by_the_api_server(cpuctl: Cpuctl) -> None:
    static = POD.replace(
        b"metadata: {name: a}",
        b"metadata: {name: a, annotations: {kubernetes.io/config.source: file}}",
    ).replace(b', x.com/gpu: "1"', b"")
    refused = cpuctl("resize", *MACHINE, "-f", "-", "--set", "a:cpu=4", "-q", stdin=static)
    assert refused.code == NO
    assert "static pods cannot be resized" in refused.out
    assert "kubectl" not in refused.out


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
"""Command lines, and what they get on standard input."""


@pytest.mark.parametrize("words", PIPED)
def test_proposed_commands_have_a_file_in_place_of_standard_input(
    words: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """Standard input is read once: another ``-`` would wait for the terminal."""
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


def test_a_node_on_standard_input_becomes_a_file_to_fill_in(cpuctl: Cpuctl) -> None:
    """``--kubelet-version`` also takes a Node: the placeholder for its file keeps the ``@``."""
    node = b'{"kind": "Node", "status": {"nodeInfo": {"kubeletVersion": "v1.36.1"}}}'
    words = ("--kubelet-version", "@-", "--kubelet-args=--cpu-manager-policy=static --reserved-cpus=0-99")
    refused = cpuctl("plan", *MACHINE, *words, "-T", "web=4/4,1Gi", "-q", stdin=node)
    assert refused.code == NO
    assert refused.out.endswith("--kubelet-version @FILE\n")


def test_a_pod_on_standard_input_that_is_not_admitted(cpuctl: Cpuctl) -> None:
    odd = POD.replace(b', x.com/gpu: "1"', b"").replace(b'"2"', b'"3"')
    for verb, code in ((("plan",), NO), (("resize", "--set", "a:cpu=2"), 4)):
        stated = cpuctl(*verb, *MACHINE, *STATIC, "-f", "-", "-q", stdin=odd)
        assert stated.code == code
        text = stated.out + stated.err
        assert "cpuctl explain default/a" in text
        assert text.count("-f FILE") == 1


def test_the_error_of_a_start_is_shown_once(cpuctl: Cpuctl) -> None:
    answer = cpuctl("checkpoint", "verify", NODE, *MISSPELT, "-q", columns=80)
    assert answer.out.count('unknown policy: "statik"') == 1


HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
CHECK = ("config", "check", "-q", "-m", "synthetic:2s2n8c2t,mem=64Gi", "--kubelet-config", "-")


def test_a_misspelt_reservation_is_one_error(cpuctl: Cpuctl) -> None:
    """The missing reservation is not reported as a second error."""
    config = f'{HEAD}cpuManagerPolicy: static\nreservedSystemCPU: "0"\n'
    answer = cpuctl(*CHECK, stdin=config.encode(), columns=80)
    found = re.findall(r"^(?:error|warning): .*", answer.out, re.MULTILINE)
    assert answer.code == NO
    assert [line.partition(" is ignored")[0] for line in found] == [
        'error: <stdin>:4: reservedSystemCPU: unknown field "reservedSystemCPU"'
    ]
    assert "  fix: use reservedSystemCPUs\n" in answer.out
    assert "1 error, 0 warnings" in answer.out


def test_the_kubelets_message_is_shown_once(cpuctl: Cpuctl) -> None:
    config = f'{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: "99"\n'
    answer = cpuctl(*CHECK, stdin=config.encode(), columns=80)
    assert answer.out.count("99 is not a subset of online-cpus") == 1
    assert "  where: <stdin>:4: reservedSystemCPUs\n  fix: list only online CPUs in reserved" in answer.out
    assert "1 error, 0 warnings" in answer.out
    wide = cpuctl(*CHECK, "-o", "wide", stdin=config.encode(), columns=200)
    assert "SEVERITY" in wide.out


def test_an_audit_without_state_files_says_what_to_specify(cpuctl: Cpuctl) -> None:
    answer = cpuctl("audit", "fixtures/machines/2s-2numa-32cpu.tar.xz", "-q", columns=80)
    assert answer.code == NO
    assert answer.out.splitlines()[-1] == (
        "Next, on the node while its pods run: sudo cpuctl capture NODE.tar.gz"
    )


def test_proposals_name_this_host_only_if_the_command_line_does(
    cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("plan", "-q", "-T", "huge=999/999,1Gi", "--kubelet-args", "--fail-cgroupv1=false")
    (command,) = proposed(cpuctl(*words).out)
    assert " -m " not in command
    monkeypatch.setenv("CPUCTL_MACHINE", "synthetic:4c")
    (command,) = proposed(cpuctl(*words, "-m", "live").out)
    assert " -m live" in command


def test_a_pod_that_no_setting_helps_leads_to_plan_capacity(cpuctl: Cpuctl) -> None:
    stated = cpuctl("explain", *MACHINE, *STATIC, "-T", "a=64/64,1Gi", "-q")
    assert stated.code == NO
    (command,) = proposed(stated.out)
    assert command.startswith("plan --capacity ")
    assert "LARGEST REQUEST" in cpuctl(*shlex.split(command), "-q").out


@pytest.mark.parametrize(
    "given",
    [
        "--topology-manager-policy=restricted --cpu-manager-policy=static --reserved-cpus=0,16",
        "--cpu-manager-policy=static --topology-manager-policy restricted --reserved-cpus=0,16",
    ],
)
def test_a_proposed_flag_replaces_the_given_one(given: str, cpuctl: Cpuctl) -> None:
    pods = ("-T", "a=10/10,1Gi", "-T", "b=10/10,1Gi", "-T", "c=8/8,1Gi")
    stated = cpuctl("explain", *MACHINE, "--kubelet-args", given, *pods, "-q")
    (command,) = proposed(stated.out)
    words = shlex.split(command)
    assert words[words.index("--kubelet-args") + 1].split() == [
        "--cpu-manager-policy=static",
        "--reserved-cpus=0,16",
        "--topology-manager-policy=best-effort",
    ]
    assert cpuctl(*words, "-q").code == YES


def test_options_in_flags_of_their_own_stay(cpuctl: Cpuctl) -> None:
    """A kubelet adds up the options of repeated flags."""
    flag = "--cpu-manager-policy-options"
    options = f"{flag}=full-pcpus-only=true {flag}=distribute-cpus-across-numa=true"
    given = f"--cpu-manager-policy=static --reserved-cpus=0,16 {options}"
    stated = cpuctl("explain", *MACHINE, "--kubelet-args", given, "-T", "web=3/3,1Gi", "-q", "-o", "json")
    commands = [each["command"] for each in json.loads(stated.out)["suggestions"] if each["command"]]
    repeated = [command for command in commands if "full-pcpus-only=false" in command]
    assert repeated, commands
    assert all(options in command for command in repeated)
    assert cpuctl(*shlex.split(repeated[0])[1:], "-q").code == YES


def test_the_next_check_is_of_the_same_state_files(tmp_path: Path, cpuctl: Cpuctl) -> None:
    repaired, dropins = tmp_path / "repaired", tmp_path / "conf.d"
    words = (NODE, "--kubelet-version", "1.36", "--write-state", str(repaired), "-q")
    assert cpuctl("checkpoint", "repair", *words).code == 0
    dropins.mkdir()
    (dropins / "1.conf").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: none\n"
    )
    given = f"-m {NODE} --config-dir {dropins} --state {repaired}"
    checked = cpuctl("config", "check", *given.split(), "-q").out
    assert f"  fix: cpuctl config check {given} --kubelet-args FLAGS\n" in checked
    machine = "fixtures/machines/2s-8numa-64cpu.tar.xz"
    verified = cpuctl("checkpoint", "verify", str(repaired), "-m", machine, "-q").out
    following = f"cpuctl config check -m {machine} --state {repaired}"
    assert verified.endswith(f"Next, to see what is known: {following}\n")


@pytest.mark.parametrize("copies", ["max", "3"])
def test_pods_that_do_not_fit_once_are_explained(copies: str, cpuctl: Cpuctl) -> None:
    """The first copies are the pods themselves."""
    stated = cpuctl("plan", *MACHINE, *STATIC, "-T", "a=64/64,1Gi", "--repeat", copies, "-q")
    (command,) = proposed(stated.out)
    assert command.startswith("explain default/a ")
    assert cpuctl(*shlex.split(command), "-q").code == NO


def test_a_copy_that_does_not_fit_leads_to_what_is_left(cpuctl: Cpuctl) -> None:
    stated = cpuctl("plan", *MACHINE, *STATIC, "-T", "a=12/12,1Gi", "--repeat", "4", "-q")
    assert (stated.code, "copies of all pods fit" in stated.out) == (NO, True)
    (command,) = proposed(stated.out)
    assert command.startswith("plan --capacity --repeat 4 ")
    again = cpuctl(*shlex.split(command), "-q").out
    assert "LARGEST REQUEST" in again
    assert not list(proposed(again))


def test_the_purpose_of_assumed_devices_is_stated(cpuctl: Cpuctl) -> None:
    stated = cpuctl("plan", "-m", "synthetic:2s2n8c2t", "-f", "fixtures/devices/pods.yaml", "-q").out
    assert "\nNext, to assume enough devices: cpuctl plan -m synthetic:2s2n8c2t --assume-devices " in stated
    assumed = cpuctl(
        "plan", "-m", "synthetic:2s2n8c2t", "-f", "fixtures/devices/pods.yaml", "--assume-devices"
    )
    assert re.search(r"nvidia\.com/gpu +1 +0 +-$", assumed.out, re.MULTILINE)
