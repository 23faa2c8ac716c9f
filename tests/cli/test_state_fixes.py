"""Every way out that a verdict on state files proposes, followed in the situation that printed it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cpuctl.checkpoints.model import CPUStateFile, MemoryBlock, MemoryStateFile
from cpuctl.checkpoints.reader import StateReader
from cpuctl.records import replace
from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_fixes import HEAD, done
from tests.support.proposals import not_run
from tests.support.state_files import (
    ALL_37,
    CPU_STATE,
    DB,
    GIB,
    GONE,
    KUBELET,
    MACHINE,
    MEMORY_STATE,
    PODS_36,
    RUNNING,
    V36,
    V37,
    WEB,
    block,
    cpus,
    drifted,
    numa_node,
    pod,
    write_states,
)

ENTRIES = {**CPU_STATE.entries}
STRICT = f"{KUBELET} --cpu-manager-policy-options=strict-cpu-reservation=true"
GATE = "--feature-gates=PodLevelResourceManagers=true"
RESIZES = "CPUManagerPolicyAlphaOptions=true,InPlacePodVerticalScalingExclusiveCPUs=true"
ALL_GATES = f"--feature-gates=PodLevelResourceManagers=true,{RESIZES}"
BY_POD = "--topology-manager-policy=restricted --topology-manager-scope=pod"
RECORDED = {
    each["name"]: each["text"]
    for each in json.loads((Path(__file__).parents[2] / "fixtures/state_files/recorded.json").read_text())
}
Change = Callable[[Path], None]


@dataclass(frozen=True)
class Situation:
    """State files on a node, and the words that a verdict was asked with."""

    name: str
    cpu: CPUStateFile | None = CPU_STATE
    memory: MemoryStateFile | None = MEMORY_STATE
    writer: StateReader = V36
    kubelet: str = KUBELET
    version: str = "1.36"
    machine: str = MACHINE
    change: Change | None = None
    running: Sequence[Any] | None = None

    def words(self, state: str) -> tuple[str, ...]:
        pods = () if self.running is None else ("--pods", "running.json")
        reported = ("-m", self.machine, "--kubelet-args", self.kubelet, "--kubelet-version", self.version)
        return (state, *reported, *pods)


def text_of(name: str, old: str, new: str) -> Change:
    """Change a text in a file; *old* is a pattern."""

    def change(directory: Path) -> None:
        file = directory / name
        changed, often = re.subn(old, new, file.read_text(), count=1)
        assert often, file.read_text()
        file.write_text(changed)

    return change


def torn(name: str) -> Change:
    return text_of(name, r"(?s)^(.{40}).*", r"\1")


def both(*changes: Change) -> Change:
    def change(directory: Path) -> None:
        for each in changes:
            each(directory)

    return change


def another_file(name: str, text: str) -> Change:
    def change(directory: Path) -> None:
        (directory / name).write_text(text)

    return change


def held(pool: str = str(CPU_STATE.default_cpu_set), **changes: Any) -> CPUStateFile:
    return replace(CPU_STATE, default_cpu_set=cpus(pool), **changes)


def in_two_containers() -> dict[str, Any]:
    """A pod with two containers that run at the same time."""
    both = pod(DB, "db", "server", 4, 4)
    other = json.loads(json.dumps(both["spec"]["containers"][0])) | {"name": "log"}
    both["spec"]["containers"].append(other)
    return both


def group_of_both(first: int, second: int) -> MemoryStateFile:
    """One container holds memory of both NUMA nodes, divided as told."""
    nodes = {0: numa_node(0, 16 * GIB, GIB, first, 1), 1: numa_node(1, 16 * GIB, 0, second, 1)}
    both = MemoryBlock(numa_affinity=(0, 1), type="memory", size=first + second)
    return replace(
        MEMORY_STATE,
        machine_state={number: replace(node, cells=(0, 1)) for number, node in nodes.items()},
        entries={DB: {"server": (both,)}},
    )


CPU, MEMORY = "cpu_manager_state", "memory_manager_state"
WRONG = (r'"checksum":\d+', '"checksum":1')
BUBBLE = held("0,4,6-8,12,14-15", pod_entries={DB: cpus("1-3,9-11")})
SITUATIONS = [
    Situation("a torn file", change=torn(CPU)),
    Situation("a wrong checksum", change=text_of(CPU, *WRONG)),
    Situation("a wrong checksum beside a torn file", change=both(text_of(CPU, *WRONG), torn(MEMORY))),
    Situation("a format of a gate", writer=PODS_36),
    Situation("a newer file with pods", BUBBLE, writer=ALL_37, version="1.35"),
    Situation("a copy that differs", writer=V37, version="1.37", change=text_of(CPU, "1-2,9-10", "1-2,9-11")),
    Situation("written under none", held(policy_name="none", entries={}), None),
    Situation("written under no policy", held(policy_name=""), None),
    Situation("a checksum that nobody compares", change=text_of(CPU, r'"checksum":\d+', '"checksum":0')),
    Situation(
        "devices with a wrong checksum",
        change=another_file(
            "kubelet_internal_checkpoint", RECORDED["two-gpus-of-a-node"].replace('"app"', '"web"')
        ),
    ),
    Situation("devices that end early", change=another_file("kubelet_internal_checkpoint", '{"Data":')),
    Situation(
        "claims of before",
        kubelet=f"{KUBELET} --feature-gates=DynamicResourceAllocation=true",
        version="1.31",
        change=another_file("dra_manager_state", RECORDED["claim-1.30"]),
    ),
    Situation("an empty pool", held("", entries={DB: {"server": cpus("1-7,9-15")}}), None, running=RUNNING),
    Situation("strictly reserved CPUs are shared", kubelet=STRICT),
    Situation(
        "reserved CPUs are held", held("3-4,6-7,11-12,14-15", entries=ENTRIES | {GONE: {"c": cpus("0,8")}})
    ),
    Situation(
        "strictly reserved CPUs are held",
        held("3-4,6-7,11-12,14-15", entries=ENTRIES | {GONE: {"c": cpus("0,8")}}),
        kubelet=STRICT,
    ),
    Situation("held and shared", held("0-4,6-8,10-12,14-15")),
    Situation("CPUs that are gone", machine=f"{MACHINE},offline=13+15"),
    Situation(
        "too few CPUs are left",
        held("0,8", entries={DB: {"server": cpus("1-3,9-11")}, WEB: {"app": cpus("4-7,12-15")}}),
        machine=f"{MACHINE},offline=13+15",
        running=RUNNING,
    ),
    Situation("CPUs that are new", machine="synthetic:2s2n4c3t,mem=16Gi"),
    Situation("what pods held is not read", BUBBLE, writer=ALL_37, version="1.37"),
    Situation("two pods with the same CPUs", held(entries=ENTRIES | {GONE: {"c": cpus("2,10")}})),
    Situation(
        "two containers with the same CPUs",
        held("0,3-8,11-15", entries={DB: {"server": cpus("1-2,9-10"), "log": cpus("1-2,9-10")}}),
        None,
        running=(in_two_containers(),),
    ),
    Situation(
        "a container outside of its pod",
        held(
            "0,4,6-8,12,14-15",
            entries=ENTRIES | {DB: {"server": cpus("1-3,9-11")}},
            pod_entries={DB: cpus("1-2")},
        ),
        writer=PODS_36,
        kubelet=f"{KUBELET} {GATE}",
    ),
    Situation(
        "a pod without containers",
        held("0,4,6-8,12,14-15", pod_entries={GONE: cpus("3,11")}),
        writer=PODS_36,
        kubelet=f"{KUBELET} {GATE}",
    ),
    Situation(
        "pods that are given others",
        held(pod_entries={DB: cpus("1-2,9-10")}),
        None,
        writer=PODS_36,
        kubelet=f"{KUBELET} {GATE} {BY_POD}",
        running=RUNNING,
    ),
    Situation(
        "promises that are not kept",
        held(baselines={WEB: {"app": cpus("4-5")}, GONE: {"c": cpus("4")}}),
        writer=ALL_37,
        kubelet=f"{KUBELET} {ALL_GATES}",
        version="1.37",
    ),
    Situation("a pod has gone", running=RUNNING[1:]),
    Situation("a container has gone", held(entries=ENTRIES | {WEB: {"old": cpus("5,13")}}), running=RUNNING),
    Situation("after a reboot", memory=drifted(MEMORY_STATE, node=1, more=3 << 20)),
    Situation("less memory", memory=drifted(MEMORY_STATE, node=1, more=8 * GIB)),
    Situation("no tables", memory=replace(MEMORY_STATE, machine_state={})),
    Situation("sums that differ", memory=replace(MEMORY_STATE, entries={DB: {"server": (block(3 * GIB),)}})),
    Situation(
        "no place for what a pod holds",
        memory=replace(
            MEMORY_STATE,
            machine_state={**MEMORY_STATE.machine_state, 1: numa_node(1, 16 * GIB, 0, 14 * GIB, 1)},
            entries={DB: {"server": (block(4 * GIB),)}, WEB: {"app": (block(14 * GIB, 1),)}},
        ),
        machine=MACHINE.replace("16Gi", "16Gi/8Gi"),
        running=RUNNING,
    ),
    Situation(
        "memory divided otherwise",
        CPU_STATE,
        group_of_both(14 * GIB, 2 * GIB),
        version="1.31",
        running=RUNNING,
    ),
]

VERIFY, CONFIG = ("checkpoint", "verify"), ("config", "check")
STATE_FILE = re.compile(r"\w+_state|kubelet_internal_checkpoint")


class Node:
    """What a person does by the words of a fix: to the pods, to the files, to the kubelet."""

    def __init__(self, situation: Situation, directory: Path, cpuctl: Cpuctl) -> None:
        directory.mkdir()
        self.situation, self.directory, self.cpuctl = situation, directory, cpuctl
        self.state, self.reported, self.tries = "state", situation.words("state")[1:], 0
        write_states(directory / "state", situation.cpu, situation.memory, situation.writer)
        if situation.change:
            situation.change(directory / "state")
        self.pods(*(situation.running or RUNNING))

    def pods(self, *pods: Any) -> None:
        self.running = list(pods)
        (self.directory / "running.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": self.running})
        )

    def ask(self, asks: Sequence[str]) -> Any:
        reported = list(self.reported)
        if asks == CONFIG and "--pods" in reported:
            del reported[-2:]
        result = self.cpuctl(*asks, "--state", self.state, *reported, "-o", "json", cwd=self.directory)
        assert result.out, result
        return json.loads(result.out)

    def do(self, step: str, finding: Any) -> None:
        """Do one thing."""
        if step.startswith("cpuctl checkpoint "):
            self._run(shlex.split(step)[1:])
        elif step == "drain the node and delete the file":
            self.pods()
            (self.directory / self.state / first_file(finding)).unlink()
        elif step == "remove the pods that do not fit from the node":
            for each in self.ask(VERIFY)["findings"]:
                if each["code"] == "memory-misfit":
                    self._without(each["podUID"])
        elif policy := re.fullmatch(r"configure policy (\w+)", step):
            self._tell(r"--cpu-manager-policy=\w+", f"--cpu-manager-policy={policy[1]}")
        elif gate := re.fullmatch(r"enable (\w+)", step):
            self._tell("$", f" --feature-gates={gate[1]}=true")
        elif step == "remove a pod that has exclusive CPUs from the node":
            self._without(next(iter((self.situation.cpu or CPU_STATE).entries)))
        elif step in ("remove this pod from the node", "delete the pod"):
            (uid,) = (each for each in (DB, WEB) if each in (finding.get("podUID") or finding["message"]))
            self._without(uid)
        else:
            raise AssertionError(step)

    def _run(self, words: list[str]) -> None:
        self.tries += 1
        new = f"new{self.tries}"
        requested = ["running.json" if word == "FILE" else word for word in words]
        done = self.cpuctl(*requested, "--write-state", new, cwd=self.directory)
        assert done.code == 0, done
        self.state = new

    def _tell(self, old: str, new: str) -> None:
        self.reported = tuple(
            re.sub(old, new, word) if word == self.situation.kubelet else word for word in self.reported
        )

    def _without(self, uid: str) -> None:
        left = [each for each in self.running if each["metadata"]["uid"] != uid]
        assert len(left) < len(self.running)
        self.pods(*left)


def file_of(finding: Any) -> str:
    """Name the state file that a finding is about; nothing for one on a setting."""
    return str(finding.get("file") or Path(finding["where"] or "").name)


def first_file(finding: Any) -> str:
    """Name the file that is in the way of others, else the finding's."""
    reported = re.match(r"(\w+) first: ", finding["fix"])
    return reported[1] if reported else file_of(finding)


def ways(fix: str) -> Iterator[list[str]]:
    """Take apart what is proposed: one way or the other, each step by step; reasons are nobody's to do."""
    for way in re.split(r", or (?=cpuctl |remove )", re.sub(r"^\w+ first: ", "", fix)):
        yield re.split(r", then ", re.sub(r": which entry is correct.*", "", way))


def found_in(situation: Situation, asks: tuple[str, ...], directory: Path, cpuctl: Cpuctl) -> list[Any]:
    """Return what is said of state files with a way out."""
    findings = Node(situation, directory, cpuctl).ask(asks)["findings"]
    return [each for each in findings if each["fix"] and STATE_FILE.fullmatch(file_of(each))]


@pytest.mark.parametrize("asks", [VERIFY, CONFIG], ids=" ".join)
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_each_way_out_mends_what_was_found(
    situation: Situation, asks: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    found = found_in(situation, asks, tmp_path / "found", cpuctl)
    for number, finding in enumerate(found):
        for other, way in enumerate(ways(finding["fix"])):
            node = Node(situation, tmp_path / f"{number}-{other}", cpuctl)
            for step in way:
                node.do(step, finding)
            after = node.ask(asks)
            left = {(each["code"], file_of(each)): each["severity"] for each in after["findings"]}
            assert (finding["code"], file_of(finding)) not in left, (way, after)
            # Another file may be wrong, too.
            assert "error" in left.values() or after["start"] == {"outcome": "Started"}, (way, after)


def test_nothing_is_proposed_that_is_not_run(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A new finding with a way out, or another way out of one, needs a situation above."""
    run = {
        (each["code"], fix)
        for number, situation in enumerate(SITUATIONS)
        for each in found_in(situation, VERIFY, tmp_path / str(number), cpuctl)
        for fix in bare(each["fix"])
    }
    assert not_run(["cpuctl/engine/state_checks"], run) == []


SETTINGS: dict[str, Any] = {
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0,8",
    "memoryManagerPolicy": "Static",
    "kubeReserved": {"memory": "924Mi"},  # 1Gi with what is kept free before pods are evicted
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
}
"""With these, a kubelet starts on the files; what is changed of it below keeps it from starting."""


class Configured:
    """A node whose kubelet is told by a file; a verdict is asked of its state files."""

    def __init__(self, config: dict[str, Any], directory: Path, cpuctl: Cpuctl) -> None:
        self.config, self.directory, self.cpuctl = SETTINGS | config, directory, cpuctl
        self.followed: set[tuple[str, str]] = set()
        write_states(directory / "state")

    def call(self, *words: str) -> Any:
        (self.directory / "kubelet.json").write_text(json.dumps(HEAD | self.config))
        result = self.cpuctl(*words, "-o", "json", cwd=self.directory)
        assert result.out, result
        return json.loads(result.out)

    def verify(self) -> Any:
        reported = ("-m", MACHINE, "--kubelet-config", "kubelet.json", "--kubelet-version", "1.36")
        return self.call(*VERIFY, "state", *reported)

    def reserve(self, _: object, *words: str, command: str, machine: str) -> Result:
        reported = ("--kubelet-config", "kubelet.json", "--kubelet-version", "1.36")
        return self.cpuctl("config", command, "-q", "-m", machine, *reported, *words, cwd=self.directory)

    def follow(self, finding: Any) -> None:
        """Do what a fix says; where that is to ask the check of the configuration, what that says."""
        fix = finding["fix"]
        self.followed.add((finding["code"], re.sub(" -m .*", "", fix)))
        if fix.startswith("cpuctl config check "):
            found = self.call(*shlex.split(fix)[1:])["findings"]
            fix = next(each["fix"] for each in found if each["severity"] == "error")
        self.config = done(self.config, fix, self.reserve, MACHINE)


WRONG_SETTINGS: list[dict[str, Any]] = [
    {},
    {"reservedSystemCPUs": ""},
    {"featureGates": {"NodeSwap": False}},
    {"maxPods": "many", "podPidsLimit": "some", "maxOpenFiles": "few"},
]


def followed(config: dict[str, Any], directory: Path, cpuctl: Cpuctl) -> set[tuple[str, str]]:
    """Follow the last fix about settings until there is none; return what was followed.

    Then the kubelet reads its state files, which may not fit other reservations.
    """
    directory.mkdir()
    node = Configured(config, directory, cpuctl)
    while found := [each for each in node.verify()["findings"] if not each["file"]]:
        assert found[-1]["severity"] == "error"
        node.follow(found[-1])
        left = [(each["code"], each["message"]) for each in node.verify()["findings"]]
        assert (found[-1]["code"], found[-1]["message"]) not in left, (found[-1], left)
    assert "NotReached" not in [each["verdict"]["outcome"] for each in node.verify()["files"]]
    return node.followed


def test_a_verdict_that_settings_decide_names_the_way_out(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Those of files that do not load, and the check of a configuration with which no kubelet starts."""
    run = [followed(config, tmp_path / str(at), cpuctl) for at, config in enumerate(WRONG_SETTINGS)]
    assert [bool(each) for each in run] == [False, True, True, True]
    assert not_run(["cpuctl/answering/checkpoint/verdict_answer.py"], set.union(*run)) == []


def bare(fix: str) -> tuple[str, str]:
    """Take the options that were given out of a command, which may have asked for the pods among them."""
    found = re.fullmatch(r"(.*?)( state -m .*?)?(: which entry .*)?", fix)
    assert found
    begun, reported, rest = found.groups()
    pods = " --pods FILE" if "--pods" in (reported or "") else ""
    return f"{begun}{rest or ''}", f"{begun}{pods}{rest or ''}"
