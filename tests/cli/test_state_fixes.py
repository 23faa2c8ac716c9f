"""Every fix that a verdict on state files proposes, followed in the situation that printed it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cpuctl.checkpoints.model import FROM_NODE, CPUStateFile, MemoryBlock, MemoryStateFile
from cpuctl.checkpoints.reader import StateReader
from cpuctl.exports.answer_text import advice
from cpuctl.option_names import NO_POD_LEFT
from cpuctl.records import replace
from tests.cli.conftest import Cpuctl
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
    """State files on a node, and the arguments that the verdict is computed with."""

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
    """Change text in a file; *old* is a pattern."""

    def change(directory: Path) -> None:
        file = directory / name
        changed, often = re.subn(old, new, file.read_text(), count=1)
        assert often, file.read_text()
        file.write_text(changed)

    return change


def cut_short(name: str) -> Change:
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


REST = cpus("3-4,6-7,11-12,14-15")


def emptied(
    name: str, entries: Any, running: Sequence[Any] | None = None, kubelet: str = STRICT
) -> Situation:
    return Situation(name, held("", entries=entries), None, kubelet=kubelet, running=running)


def in_two_containers() -> dict[str, Any]:
    """Return a pod with two containers that run at the same time."""
    both = pod(DB, "db", "server", 4, 4)
    other = json.loads(json.dumps(both["spec"]["containers"][0])) | {"name": "log"}
    both["spec"]["containers"].append(other)
    return both


def group_of_both(first: int, second: int) -> MemoryStateFile:
    """One container holds memory of both NUMA nodes, divided as given."""
    nodes = {0: numa_node(0, 16 * GIB, GIB, first, 1), 1: numa_node(1, 16 * GIB, 0, second, 1)}
    both = MemoryBlock(numa_affinity=(0, 1), type="memory", size=first + second)
    return replace(
        MEMORY_STATE,
        machine_state={number: replace(node, cells=(0, 1)) for number, node in nodes.items()},
        entries={DB: {"server": (both,)}},
    )


CPU, MEMORY = "cpu_manager_state", "memory_manager_state"
WRONG = (r'"checksum":\d+', '"checksum":1')
CROWD = [f"{number:08}-crowd" for number in range(12)]
BUBBLE = held("0,4,6-8,12,14-15", pod_entries={DB: cpus("1-3,9-11")})
SITUATIONS = [
    Situation("a truncated file", change=cut_short(CPU)),
    Situation("a wrong checksum", change=text_of(CPU, *WRONG)),
    Situation("a wrong checksum and a truncated file", change=both(text_of(CPU, *WRONG), cut_short(MEMORY))),
    Situation("the format of a feature gate", writer=PODS_36),
    Situation("a newer file with pods", BUBBLE, writer=ALL_37, version="1.35"),
    Situation("a copy that differs", writer=V37, version="1.37", change=text_of(CPU, "1-2,9-10", "1-2,9-11")),
    Situation("written under none", held(policy_name="none", entries={}), None),
    Situation("written without a policy", held(policy_name=""), None),
    Situation("a checksum that is not compared", change=text_of(CPU, r'"checksum":\d+', '"checksum":0')),
    Situation(
        "devices with a wrong checksum",
        change=another_file(
            "kubelet_internal_checkpoint", RECORDED["two-gpus-of-a-node"].replace('"app"', '"web"')
        ),
    ),
    Situation("a truncated file of devices", change=another_file("kubelet_internal_checkpoint", '{"Data":')),
    Situation(
        "claims from an older release",
        kubelet=f"{KUBELET} --feature-gates=DynamicResourceAllocation=true",
        version="1.31",
        change=another_file("dra_manager_state", RECORDED["claim-1.30"]),
    ),
    emptied("an empty pool", {DB: {"server": cpus("1-3,9-11")}, WEB: {"app": cpus("4-7,12-15")}}, RUNNING),
    emptied("an empty pool because of the only pod", {DB: {"server": cpus("1-7,9-15")}}, RUNNING),
    emptied("an empty pool because of a single pod, which may run", {DB: {"server": cpus("1-7,9-15")}}),
    emptied("an empty pool because of a pod that is gone", ENTRIES | {GONE: {"c": REST}}, RUNNING),
    emptied("an empty pool although CPUs are free", ENTRIES, RUNNING, KUBELET),
    Situation(
        "a restart rejects a running pod",
        held("0,2-4,6-8,10-12,14-15", entries={DB: {"server": cpus("1,5,9,13")}}),
        None,
        kubelet=f"{KUBELET} --topology-manager-policy=single-numa-node",
        running=RUNNING,
    ),
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
    Situation("CPUs that are missing", machine=f"{MACHINE},offline=13+15"),
    Situation(
        "too few CPUs are left",
        held("0,8", entries={DB: {"server": cpus("1-3,9-11")}, WEB: {"app": cpus("4-7,12-15")}}),
        machine=f"{MACHINE},offline=13+15",
        running=RUNNING,
    ),
    Situation("new CPUs", machine="synthetic:2s2n4c3t,mem=16Gi"),
    Situation("the CPUs of pods are not read", BUBBLE, writer=ALL_37, version="1.37"),
    Situation("two pods with the same CPUs", held(entries=ENTRIES | {GONE: {"c": cpus("2,10")}})),
    Situation(
        "two containers with the same CPUs",
        held(entries=ENTRIES | {DB: {"server": cpus("1-2,9-10"), "log": cpus("1-2,9-10")}}),
        None,
        running=(in_two_containers(), RUNNING[1]),
    ),
    Situation(
        "two containers of the only pod with the same CPUs",
        held("0,3-8,11-15", entries={DB: {"server": cpus("1-2,9-10"), "log": cpus("1-2,9-10")}}),
        None,
        running=(in_two_containers(),),
    ),
    Situation(
        "a container outside its pod",
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
        "pods that get other CPUs",
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
    Situation("a pod is not running", running=RUNNING[1:]),
    Situation("no pod of the files is running", running=(pod("uid-elsewhere", "x", "c", 1, 1),)),
    Situation(
        "a container is not running", held(entries=ENTRIES | {WEB: {"old": cpus("5,13")}}), running=RUNNING
    ),
    Situation("after a reboot", memory=drifted(MEMORY_STATE, node=1, more=3 << 20)),
    Situation("less memory", memory=drifted(MEMORY_STATE, node=1, more=8 * GIB)),
    Situation("no tables", memory=replace(MEMORY_STATE, machine_state={})),
    Situation("different sums", memory=replace(MEMORY_STATE, entries={DB: {"server": (block(3 * GIB),)}})),
    Situation(
        "not enough memory for what a pod holds",
        memory=replace(
            MEMORY_STATE,
            machine_state={**MEMORY_STATE.machine_state, 1: numa_node(1, 16 * GIB, 0, 14 * GIB, 1)},
            entries={DB: {"server": (block(4 * GIB),)}, WEB: {"app": (block(14 * GIB, 1),)}},
        ),
        machine=MACHINE.replace("16Gi", "16Gi/8Gi"),
        running=RUNNING,
    ),
    Situation(
        "not enough memory for two pods, and new CPUs",
        memory=replace(
            MEMORY_STATE,
            machine_state={**MEMORY_STATE.machine_state, 1: numa_node(1, 16 * GIB, 0, 14 * GIB, 1)},
            entries={DB: {"server": (block(4 * GIB),)}, WEB: {"app": (block(14 * GIB, 1),)}},
        ),
        machine="synthetic:2s2n4c3t,mem=16Gi/8Gi",
        running=RUNNING,
    ),
    Situation(
        "more memory than there is, which the kubelet does not notice",
        memory=replace(
            MEMORY_STATE,
            machine_state={**MEMORY_STATE.machine_state, 1: numa_node(1, 16 * GIB, 0, 16 * GIB, 1)},
            entries={DB: {"server": (block(4 * GIB),)}, WEB: {"app": (block(17 * GIB, 1),)}},
        ),
        running=RUNNING,
    ),
    Situation(
        "more memory than there is, held by two pods, one of which would fit",
        memory=replace(
            MEMORY_STATE,
            machine_state={**MEMORY_STATE.machine_state, 1: numa_node(1, 16 * GIB, 0, 16 * GIB, 2)},
            entries={DB: {"server": (block(17 * GIB, 1),)}, WEB: {"app": (block(1 * GIB, 1),)}},
        ),
        running=RUNNING,
    ),
    Situation(
        "more memory than there is, held by a pod that is not running",
        memory=replace(
            MEMORY_STATE,
            machine_state={**MEMORY_STATE.machine_state, 1: numa_node(1, 16 * GIB, 0, 16 * GIB, 1)},
            entries={DB: {"server": (block(4 * GIB),)}, GONE: {"c": (block(17 * GIB, 1),)}},
        ),
        running=RUNNING,
    ),
    Situation(
        "too many pods that do not fit to name them all",
        memory=replace(
            MEMORY_STATE,
            machine_state={**MEMORY_STATE.machine_state, 1: numa_node(1, 16 * GIB, 0, 12 * GIB, 12)},
            entries={DB: {"server": (block(4 * GIB),)}} | {each: {"c": (block(GIB, 1),)} for each in CROWD},
        ),
        machine=MACHINE.replace("16Gi", "16Gi/1Gi"),
        running=(*RUNNING, *(pod(each, each, "c", 0, 1) for each in CROWD)),
    ),
    Situation(
        "memory divided differently",
        CPU_STATE,
        group_of_both(14 * GIB, 2 * GIB),
        version="1.31",
        running=RUNNING,
    ),
]

VERIFY, CONFIG = ("checkpoint", "verify"), ("config", "check")
STATE_FILE = re.compile(r"\w+_state|kubelet_internal_checkpoint")


class Node:
    """Does what a person does to follow a fix: to the pods, the files, the kubelet."""

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
        """Take one step."""
        steps = {
            "drain the node and delete the file": lambda: self._drain(first_file(finding)),
            "drain the node and delete memory_manager_state": lambda: self._drain("memory_manager_state"),
            "drain the node and delete its state files": self._start_anew,
            "delete the state files": self._delete_files,
            NO_POD_LEFT: self._delete_files,
        }
        step = step.removesuffix(", list its pods again")  # as the removal of a pod does
        if step in steps:
            steps[step]()
        elif step.startswith("cpuctl explain "):
            explained = self.cpuctl(*shlex.split(step)[1:], cwd=self.directory)
            assert "rejected with TopologyAffinityError when the kubelet restarts" in explained.out, explained
        elif step.startswith("cpuctl checkpoint "):
            self._run(shlex.split(step)[1:])
        elif policy := re.fullmatch(r"configure policy (\w+) \(with.*\)", step):
            self._change_flags(r"--cpu-manager-policy=\w+", f"--cpu-manager-policy={policy[1]}")
        elif gate := re.fullmatch(r"enable (\w+)", step):
            self._change_flags("$", f" --feature-gates={gate[1]}=true")
        elif step == f"remove a pod that has exclusive CPUs {FROM_NODE}":
            self._without(next(iter((self.situation.cpu or CPU_STATE).entries)))
        elif named := re.fullmatch(
            rf"remove ((?!this|a )\S+(?:(?:,| and) \S+)*) {re.escape(FROM_NODE)}", step
        ):
            for name in re.split(", | and ", named[1]):
                self._without(next(uid for uid, names in NAMES.items() if name in names))
        elif step in (f"remove this pod {FROM_NODE}", "delete the pod"):
            (uid,) = (
                each for each in (DB, WEB, GONE) if each in (finding.get("podUID") or finding["message"])
            )
            self._without(uid)
        else:
            raise AssertionError(step)

    def _drain(self, file_name: str) -> None:
        self.pods()
        (self.directory / self.state / file_name).unlink()

    def _start_anew(self) -> None:
        self.pods()
        self._delete_files()

    def _delete_files(self) -> None:
        """Replace all files with those that the kubelet writes on an empty node."""
        node = [word for word in self.reported if word not in ("--pods", "running.json")]
        self._run(["checkpoint", "new", *node])

    def _run(self, words: list[str]) -> None:
        self.tries += 1
        new = f"new{self.tries}"
        requested = ["running.json" if word == "FILE" else word for word in words]
        done = self.cpuctl(*requested, "--write-state", new, cwd=self.directory)
        assert done.code == 0, done
        self.state = new

    def _change_flags(self, old: str, new: str) -> None:
        self.reported = tuple(
            re.sub(old, new, word) if word == self.situation.kubelet else word for word in self.reported
        )

    def _without(self, uid: str) -> None:
        left = [each for each in self.running if each["metadata"]["uid"] != uid]
        assert len(left) < len(self.running) or uid == GONE
        self.pods(*left)


NAMES = {
    each["metadata"]["uid"]: (f"shop/{each['metadata']['name']}", each["metadata"]["uid"]) for each in RUNNING
}


def file_of(finding: Any) -> str:
    """Return the name of the state file that a finding is about; empty if it is about a setting."""
    return str(finding.get("file") or Path(finding["where"] or "").name)


def first_file(finding: Any) -> str:
    """Return the name of the file that must be fixed first, or else the finding's file."""
    reported = re.match(r"(\w+) first: ", advice(finding))
    return reported[1] if reported else file_of(finding)


def ways(fix: str) -> Iterator[list[str]]:
    """Split a fix into its alternatives, each step by step, without the reasons."""
    for way in re.split(r", or (?=cpuctl |remove )", re.sub(r"^\w+ first: ", "", fix)):
        yield re.split(r", then ", re.sub(r": which entry is correct.*", "", way))


def found_in(situation: Situation, asks: tuple[str, ...], directory: Path, cpuctl: Cpuctl) -> list[Any]:
    """Return the findings on state files that have a fix."""
    findings = Node(situation, directory, cpuctl).ask(asks)["findings"]
    return [each for each in findings if advice(each) and STATE_FILE.fullmatch(file_of(each))]


@pytest.mark.parametrize("asks", [VERIFY, CONFIG], ids=" ".join)
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_each_proposed_fix_repairs_the_finding(
    situation: Situation, asks: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    found = found_in(situation, asks, tmp_path / "found", cpuctl)
    for number, finding in enumerate(found):
        for other, way in enumerate(ways(advice(finding))):
            node = Node(situation, tmp_path / f"{number}-{other}", cpuctl)
            for step in way:
                node.do(step, finding)
            after = node.ask(asks)
            if "see" in finding:
                continue  # it shows the reason, and changes nothing
            left = {(each["code"], file_of(each)): each["severity"] for each in after["findings"]}
            assert (finding["code"], file_of(finding)) not in left, (way, after)
            # Another file may be invalid as well.
            assert "error" in left.values() or after["start"] == {"outcome": "Started"}, (way, after)


def test_every_fix_of_a_state_file_is_tested(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A new finding with a fix, or another way in an existing fix, needs a situation above."""
    run = {
        (each["code"], fix)
        for number, situation in enumerate(SITUATIONS)
        for each in found_in(situation, VERIFY, tmp_path / str(number), cpuctl)
        for fix in bare(advice(each))
    }
    assert not_run(["cpuctl/engine/state_checks"], run) == []


def bare(fix: str) -> tuple[str, str]:
    """Remove the given options from a command; it may have included the pods among them."""
    found = re.fullmatch(r"(.*?)( (?:state )?-m .*?)?(: which entry .*)?", fix)
    assert found
    begun, reported, rest = found.groups()
    pods = " --pods FILE" if "--pods" in (reported or "") else ""
    return f"{begun}{rest or ''}", f"{begun}{pods}{rest or ''}"


def test_a_file_that_no_repair_helps_is_to_be_deleted(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """With the right checksum, the kubelet would reject its format."""
    node = ("-m", "synthetic:4c2t", "--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
    release = ("--kubelet-version", "1.36")
    assert cpuctl("checkpoint", "new", *node, *release, "--write-state", str(tmp_path)).code == 0
    (tmp_path / "dra_manager_state").write_text('{"version":"v1","entries":[],"checksum":1}')
    for verb in ("verify", "repair"):
        out = cpuctl("checkpoint", verb, str(tmp_path), *node, *release).out
        assert "  fix: drain the node and delete" in out
        assert "config check" not in out
        assert "checkpoint repair" not in out
