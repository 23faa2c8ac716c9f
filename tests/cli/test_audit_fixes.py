"""The fix of an audit finding is run in a shell as it stands, and then the finding is gone.

The node is a copy with an emulated kubelet; other programs are stand-ins that do to the copy what the real
ones do to a node. Options are passed on: the paths contain spaces.
"""

from __future__ import annotations

import ctypes
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cpuctl.audit.commands import RESTART
from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import DRAIN, CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import advice
from tests.audit.node_tree import DATABASE, FRONT, OWN, WEB, clean_node
from tests.audit.test_claims import DRIVEN, LIMITLESS, MOVED
from tests.audit.test_fixes import BOOTS, COMMANDS
from tests.cli.conftest import Cpuctl
from tests.machine.sysfs_writer import CPU_DIR
from tests.support import kubelet_stand_in as kubelet
from tests.support import stand_ins
from tests.support.audited_node import CPU, V36, V37, Node
from tests.support.proposals import not_run

GPU = "x.com/gpu"
CPUS_FILE = f"{kubelet.DIRECTORY}/pods/{DATABASE}/volumes/kubernetes.io~downward-api/podinfo/cpus"
SERVER_GROUP = clean_node().server
WHOLE_CORES = 'cpuManagerPolicyOptions: {full-pcpus-only: "true"}\n'
SERVES = ("--feature-gates", "DownwardAPIAssignedResources=true")


@pytest.fixture
def node(tmp_path: Path, cpuctl: Cpuctl) -> Node:
    return Node(tmp_path, cpuctl)


def state(node: Node, pool: str, policy: str = "static", **entries: Any) -> None:
    """Overwrite the CPU Manager's state file behind the kubelet's back."""
    held = {
        uid: {name: CPUSet.parse(cpus) for name, cpus in containers.items()}
        for uid, containers in (entries.get("entries") or {DATABASE: {"server": OWN}}).items()
    }
    text = write_cpu_state(CPUStateFile(policy_name=policy, default_cpu_set=CPUSet.parse(pool), entries=held))
    node.path(CPU).write_text(text)


def devices(node: Node, *entries: dict[str, Any]) -> None:
    registered = {GPU: ["g0", "g1", "g2", "g3"]}
    kubelet.write_devices(node.root, {"PodDeviceEntries": list(entries), "RegisteredDevices": registered})


def requests_devices(node: Node) -> None:
    for pod in node.pods["items"]:
        for container in pod["spec"]["containers"]:
            container["resources"].setdefault("limits", {})[GPU] = 1


def reads_its_cpus(node: Node) -> None:
    node.reported = (*V37, *SERVES)
    item = {"path": "cpus", "resourceFieldRef": {"containerName": "server", "resource": "assigned.cpuset"}}
    volume = {"name": "podinfo", "downwardAPI": {"items": [item]}}
    node.pods["items"][0]["spec"]["volumes"] = [volume]
    node.tree.files |= {CPUS_FILE: OWN, f"{CPUS_FILE}-and-more": ""}


def gate_is_off(node: Node) -> None:
    reads_its_cpus(node)
    node.reported = V37


def kubelet_is_too_old(node: Node) -> None:
    reads_its_cpus(node)
    node.reported = V36


def not_whole_cores(node: Node) -> None:
    name = f"{kubelet.DIRECTORY}/config.yaml"
    node.tree.files[name] = node.tree.files[name].replace(WHOLE_CORES, "")


def lacks_a_cpu(node: Node) -> None:
    """Let the kubelet start while a core has only one CPU."""
    node.tree.files |= {f"{CPU_DIR}/online": "0-2,4-7\n", f"{CPU_DIR}/offline": "3\n"}
    node.tree.files[f"{CPU_DIR}/cpu3/online"] = "0\n"


def lacks_a_cpu_and_whole_cores(node: Node) -> None:
    lacks_a_cpu(node)
    not_whole_cores(node)


def requests_one_cpu(node: Node) -> None:
    not_whole_cores(node)
    node.pods["items"][0]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = 1


def has_an_init_container(node: Node) -> None:
    """With full-pcpus-only, it would get the CPUs of the app container."""
    not_whole_cores(node)
    database = node.pods["items"][0]
    amounts = {"limits": {"cpu": 2, "memory": "1Gi"}}
    database["spec"]["initContainers"] = [{"name": "load", "resources": amounts}]
    ended = {"name": "load", "containerID": f"containerd://{'1d' * 32}", "state": {"terminated": {}}}
    database["status"]["initContainerStatuses"] = [ended]


@dataclass(frozen=True)
class Situation:
    """A fault of the node: set up before its files are written, then behind the kubelet's back."""

    code: str
    fix: str
    after: Callable[[Node], object]
    before: Callable[[Node], object] = lambda _: None


REPAIR = (
    "cpuctl checkpoint repair && systemctl stop kubelet && cpuctl checkpoint repair --yes; "
    "systemctl start kubelet"
)
BAN = "/etc/default/irqbalance"
DELETE, DELETE_WEB = (f"kubectl -n shop delete pod {name}" for name in ("database-0", "web-0"))
SWITCH = "chcpu --{} 3"


def wrong_checksum(node: Node) -> None:
    file = node.path(CPU)
    file.write_text(file.read_text().replace('checksum":', 'checksum":1'))


def smt_off(node: Node) -> None:
    node.path("sys/devices/system/cpu/smt/control").write_text("off\n")


def apart(node: Node) -> None:
    group = node.path("sys/fs/cgroup/apart.slice/cpuset.cpus").parent
    for name, text in (("cpus", "5"), ("mems", ""), ("cpus.partition", "root")):
        (group / f"cpuset.{name}").write_text(f"{text}\n")


def left_fewer(node: Node) -> None:
    """Run the whole node in a container that allows it fewer CPUs than there are."""
    node.path("sys/fs/cgroup/cpuset.cpus.effective").write_text("0-4,6-7\n")


def wants_huge_pages(node: Node) -> None:
    """Let both pods request huge pages; the Memory Manager's state has those of the database only."""
    for pod, amount in zip(node.pods["items"], ("12Mi", "8Mi"), strict=True):
        pod["spec"]["containers"][0]["resources"].setdefault("limits", {})["hugepages-2Mi"] = amount


def takes_pages(node: Node, group: str = clean_node().front) -> None:
    """Let a group use half of the pages of the NUMA node that those of the database belong to."""
    for each in (SERVER_GROUP, group):
        used = (8 << 20) * (each == group)
        for name, text in (("current", f"{used}"), ("numa_stat", f"total={used} N0={used} N1=0")):
            node.path(f"sys/fs/cgroup{each}/hugetlb.2MB.{name}").write_text(f"{text}\n")


def host_takes_pages(node: Node) -> None:
    takes_pages(node, "/system.slice")
    maps = "7f00 default file=/dev/hugepages/x huge N0=4 kernelpagesize_kB=2048\n"
    node.path("proc/70/numa_maps").write_text(maps)


def without_a_group(node: Node) -> None:
    for each in [*node.root.glob(f"sys/fs/cgroup/**/*{FRONT}*")]:
        shutil.rmtree(each)


FIXED = {
    "no file": Situation("state-missing", RESTART, lambda node: node.path(CPU).unlink()),
    "a wrong checksum": Situation("state-unusable", REPAIR, wrong_checksum),
    "a truncated file": Situation(
        "state-unusable", DRAIN, lambda node: node.path(CPU).write_text('{"policyName":"static"')
    ),
    "another policy": Situation(
        "state-policy", REPAIR, lambda node: state(node, "0-7", "none", entries={WEB: {}})
    ),
    "a pod that no longer exists": Situation(
        "stale-entry",
        RESTART,
        lambda node: state(node, "0,3-4,6-7", entries={DATABASE: {"server": OWN}, "gone": {"a": "2"}}),
    ),
    "shared and held": Situation("held-twice", REPAIR, lambda node: state(node, "0-4,6-7")),
    "reserved and held": Situation(
        "reserved-in-use",
        REPAIR,
        lambda node: state(node, "2-3,5-7", entries={DATABASE: {"server": "0-1,4"}}),
    ),
    "a CPU that went offline": Situation(
        "cpus-offline",
        SWITCH.format("enable"),
        lambda node: node.path("sys/devices/system/cpu/cpu3/online").write_text("0\n"),
    ),
    "cores of one thread each": Situation(
        "cpus-offline", "echo on > /sys/devices/system/cpu/smt/control", smt_off
    ),
    "CPUs that do not exist": Situation("cpus-offline", REPAIR, lambda node: state(node, "0,3-4,6-15")),
    "a new CPU": Situation("cpus-unknown", SWITCH.format("disable"), lambda node: state(node, "0,2,4,6-7")),
    "a file with outdated CPUs": Situation(
        "assigned-cpuset-stale",
        RESTART,
        lambda node: node.path(CPUS_FILE).write_text("1-2,5"),
        reads_its_cpus,
    ),
    "a missing file": Situation(
        "assigned-cpuset-missing", RESTART, lambda node: node.path(CPUS_FILE).unlink(), reads_its_cpus
    ),
    "an API server that drops the file": Situation(
        "assigned-cpuset-gate",
        "enable DownwardAPIAssignedResources in the API server",
        lambda _: None,
        gate_is_off,
    ),
    "a kubelet that is too old": Situation(
        "assigned-cpuset-unserved",
        "remove assigned.cpuset from the pod, or upgrade the kubelet",
        lambda _: None,
        kubelet_is_too_old,
    ),
    "a partition with its own CPU": Situation(
        "effective-differs", "echo member > /sys/fs/cgroup/apart.slice/cpuset.cpus.partition", apart
    ),
    "another agent that assigns CPUs": Situation(
        "agents-contend",
        "remove koordlet from this node",
        lambda _: None,
        lambda node: node.tree.process(75, "koordlet", "/system.slice/koordlet.service", "0"),
    ),
    "a core of two": Situation(
        "siblings-shared",
        DELETE,
        lambda node: state(node, "0,3-7", entries={DATABASE: {"server": "1-2"}}),
    ),
    "a core of two, without full-pcpus-only": Situation(
        "siblings-shared",
        f"set the CPU Manager policy option full-pcpus-only, then {DELETE}",
        lambda node: state(node, "0,3-7", entries={DATABASE: {"server": "1-2"}}),
        not_whole_cores,
    ),
    "a core of two, as pods request parts of cores": Situation(
        "siblings-shared",
        "change the CPU requests of shop/database-0 to multiples of 2, "
        "then set the CPU Manager policy option "
        f"full-pcpus-only, then {DELETE}",
        lambda _: None,
        requests_one_cpu,
    ),
    "a core of two, as pods request parts of cores, and the kubelet has not restarted": Situation(
        "siblings-shared",
        f"change the CPU requests of shop/database-0 to multiples of 2, then {DELETE}",
        lambda node: node.configure(WHOLE_CORES),
        requests_one_cpu,
    ),
    "a core of two, while the kubelet counts one CPU per core": Situation(
        "siblings-shared",
        f"{SWITCH.format('enable')}, then {REPAIR}, then {DELETE}",
        lambda _: None,
        lacks_a_cpu,
    ),
    "a core of two, with neither the option nor all CPUs": Situation(
        "siblings-shared",
        f"{SWITCH.format('enable')}, then {REPAIR}, then set the CPU Manager policy option full-pcpus-only, "
        f"then {DELETE}",
        lambda node: state(node, "0,4-7", entries={DATABASE: {"server": "1-2"}}),
        lacks_a_cpu_and_whole_cores,
    ),
    "an irqbalance without configuration": Situation(
        "irqbalance",
        f"touch {BAN}; sed -i /^IRQBALANCE_BANNED_CPU/d {BAN}; echo IRQBALANCE_BANNED_CPULIST=1,5 >>{BAN}; "
        "systemctl restart irqbalance",
        lambda node: node.path("etc/default").mkdir(parents=True),
        lambda node: node.tree.process(72, "irqbalance", "/system.slice/irqbalance.service", "0"),
    ),
    "an init container that has ended": Situation(
        "finished-init-container",
        DELETE,
        lambda node: state(node, "0,3-4,7", entries={DATABASE: {"server": OWN, "load": "2,6"}}),
        has_an_init_container,
    ),
    "huge pages that are allocated and taken": Situation(
        "huge-pages-taken",
        f"make shop/web-0 Guaranteed, then {DELETE_WEB}",
        takes_pages,
        wants_huge_pages,
    ),
    "fewer devices than requested": Situation(
        "devices-differ",
        DELETE,
        lambda node: devices(node, kubelet.device_entry(WEB, "front", GPU, "g1")),
        requests_devices,
    ),
    "a device of two": Situation(
        "device-held-twice",
        DELETE_WEB,
        lambda node: devices(
            node,
            kubelet.device_entry(DATABASE, "server", GPU, "g1"),
            kubelet.device_entry(WEB, "front", GPU, "g1"),
        ),
        requests_devices,
    ),
}
LOOKS = {
    "a node that is itself a container": Situation(
        "effective-differs",
        f"cat /sys/fs/cgroup{SERVER_GROUP}/cpuset.cpus*",
        left_fewer,
    ),
    "huge pages that the host has taken": Situation(
        "huge-pages-taken",
        "grep -ls huge /proc/[0-9]*/numa_maps",
        host_takes_pages,
        wants_huge_pages,
    ),
    "a container without a group": Situation(
        "group-missing",
        "kubectl -n shop get pod -o json web-0",
        without_a_group,
    ),
    "a truncated device file": Situation(
        "devices-unusable",
        "cpuctl checkpoint verify",
        lambda node: node.path(kubelet.DEVICES).write_text('{"Data":'),
    ),
}
PERSON: dict[str, Callable[[Node], object]] = {
    "make shop/web-0 Guaranteed": lambda node: node.limit(1, cpu="500m", memory="100Mi"),
    "remove koordlet from this node": lambda node: shutil.rmtree(node.path("proc/75")),
    DRAIN: lambda node: node.drain(CPU),
    "enable DownwardAPIAssignedResources in the API server": lambda node: node.restart_as(*V37, *SERVES),
    "remove assigned.cpuset from the pod": lambda node: node.read_nothing(),
    "upgrade the kubelet": lambda node: node.restart_as(*V37, *SERVES),
    "change the CPU requests of shop/database-0 to multiples of 2": lambda node: node.request_cpus("2"),
    "set the CPU Manager policy option full-pcpus-only": lambda node: node.configure(WHOLE_CORES),
}
"""Steps that are not commands, and are done by hand."""
MONITORS = (
    "mkdir -p /etc/crio/crio.conf.d; printf '[crio.runtime]\\ninfra_ctr_cpuset = \"0\"\\n' "
    "> /etc/crio/crio.conf.d/99-infra-cpuset.conf; systemctl restart crio"
)
LOOP = "for id in 1 2; do true; done"
NOT_RUN = {
    "needs the runtime, because pods are not named": [
        "crictl inspect 5e",
        "crictl pods --label x",
        *(
            f"{first}{option}delete the pod that this lists: crictl pods --label x"
            for first in ("", "change the CPU requests of a/b to multiples of 2, then ")
            for option in ("", "set the CPU Manager policy option full-pcpus-only, then ")
        ),
    ],
    "no recording can answer like a running kubelet": [RESTART],
    "damaged state files are repaired in the tests of checkpoint repair": [REPAIR],
    "shows what is not recorded": ["cat /proc/irq/*/effective_affinity_list"],
    "no name of a pod begins with a dash": [
        "kubectl -n shop delete pod -- -a",
        "kubectl -n shop get pod -o json -- -a",
    ],
    "a loop is run below foreign-processes": [
        LOOP,
        f"{MONITORS}; {LOOP}",
    ],
    "another list for the same parameter, or none": [
        *(f"boot with{more}" for name in ("isolcpus", "nohz_full") for more in (f" {name}=1", f"out {name}")),
        "boot without isolcpus, or reserve other CPUs",
    ],
}


def begin(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a kubelet on the node."""
    node.write()
    for name in ("PODS", "KUBELET"):
        monkeypatch.setenv(name, node.environment[name])
    kubelet.start(node.root)
    stand_ins.settle(node.root)


def started(node: Node, situation: Situation, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start a kubelet on the node, then cause the fault, and audit."""
    situation.before(node)
    begin(node, monkeypatch)
    assert kubelet.runs(node.root)
    situation.after(node)
    stand_ins.settle(node.root)
    found = [each for each in node.audit() if each["code"] == situation.code]
    assert node.without_options(advice(found[0])) == situation.fix
    return found[0]


@pytest.mark.parametrize("name", FIXED)
def test_what_is_proposed_fixes_the_finding(
    name: str, node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    situation = FIXED[name]
    fix = started(node, situation, monkeypatch)["fix"]
    ways, begun = fix.split(", or "), tmp_path / "begun"
    if len(ways) > 1:
        shutil.copytree(node.root, begun)
    for at, way in enumerate(ways):
        if at:
            shutil.rmtree(node.root)
            shutil.copytree(begun, node.root)
        node.file.write_text(json.dumps(node.pods))
        for step in way.split(", then "):
            if step in PERSON:
                PERSON[step](node)
                continue
            done = node.run(step)
            assert done.returncode == 0, (step, done)
        assert kubelet.runs(node.root), fix
        assert situation.code not in [each["code"] for each in node.audit()], fix


@pytest.mark.parametrize("name", LOOKS)
def test_a_fix_that_only_inspects_prints_an_answer(
    name: str, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its output shows what to fix."""
    finding = started(node, LOOKS[name], monkeypatch)
    assert finding["fix"] == ""
    done = node.run(finding["see"])
    assert (done.returncode, "fix: " in done.stdout) in ((0, False), (0, True), (3, True)), (finding, done)
    assert done.stdout


def test_a_fix_that_needs_a_service_of_the_node_names_nothing_from_here(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A debugging pod has the node's files below its root, but neither has the paths of the other."""
    begin(node, monkeypatch)
    state(node, "0,3-4,6-7", entries={DATABASE: {"server": OWN}, "gone": {"a": "2"}})
    config = str(node.path(f"{kubelet.DIRECTORY}/config.yaml"))
    given = ("--root", str(node.root), "--pods", str(node.file), "--kubelet-config", config)
    lines = node.cpuctl("audit", *given, columns=400).out.splitlines()
    assert f"  fix, on the node: {RESTART.replace('verify', 'verify --pods FILE')}" in lines
    assert [line for line in lines if line.startswith("FILE: the pods running on the node (")]
    assert [line for line in lines if str(node.directory) in line] == []


CLOSED = ("state-closed", "sudo cpuctl audit")


def as_unprivileged() -> None:
    """Permanently drop, in a new process, what lets root read every file (capabilities 1 and 2)."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: a user other than root has none to drop


def test_a_file_without_read_permission_is_read_with_sudo(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(node, monkeypatch)
    state(node, "0-4,6-7")
    node.path(CPU).chmod(0)

    def audit(*words: str, **given: Any) -> list[Any]:
        requested = (*words, "-o", "json")
        done = subprocess.run(
            requested, env=node.environment, capture_output=True, text=True, check=False, **given
        )
        assert done.stdout, done.stderr
        found: list[Any] = json.loads(done.stdout)["findings"]
        return found

    reported = ("--root", str(node.root), "--pods", str(node.file), *node.reported)
    begun = audit("cpuctl", "audit", *reported, preexec_fn=as_unprivileged)
    (closed,) = [each for each in begun if each["code"] == "state-closed"]
    assert "held-twice" not in [each["code"] for each in begun]
    assert (closed["code"], node.without_options(closed["fix"])) == CLOSED
    seen = [each["code"] for each in audit(*shlex.split(closed["fix"]))]
    assert "state-closed" not in seen
    assert "held-twice" in seen


def test_every_proposed_fix_is_run() -> None:
    """A finding with a new fix needs a situation here, or a fault in the table of faults."""
    run = {(each.code, each.fix) for each in (*FIXED.values(), *LOOKS.values())}
    run |= {(each.code, each.fix) for each in (*COMMANDS, *BOOTS)} | {CLOSED, DRIVEN, LIMITLESS, MOVED}
    excused = [fix for fixes in NOT_RUN.values() for fix in fixes]
    missing = not_run(["cpuctl/audit"], run)
    assert [each for each in missing if not any(re.fullmatch(each.fix, fix) for fix in excused)] == []
    assert [fix for fix in excused if not any(re.fullmatch(each.fix, fix) for each in missing)] == []
