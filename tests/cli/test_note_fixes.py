"""Notes of ``config check`` on a kubelet that starts: once their ``fix:`` is applied, none are left."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.audit.node_tree import clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.cli.test_fixes import ALPHA, HEAD, MEMORY, STATIC, Config, memory_of, named
from tests.support.proposals import not_run
from tests.support.stand_ins import settle

WHOLE = "synthetic:2s4n16c2t,mem=64Gi"
UNEVEN = "synthetic:8c,cores=0+1/2+3/4/5/6/7,pcores=0-3,ecores=4-7,mem=8Gi"
RESTRICTED: Config = {"topologyManagerPolicy": "restricted"}
RESIZES: Config = {
    "featureGates": {"CPUManagerPolicyAlphaOptions": True, "InPlacePodVerticalScalingExclusiveCPUs": True}
}


class Reported(NamedTuple):
    """A configuration, a machine and a release."""

    config: Config
    machine: str = WHOLE
    release: str = "1.36"
    words: tuple[str, ...] = ()


def options(**given: str) -> Config:
    return {"cpuManagerPolicyOptions": {name.replace("_", "-"): value for name, value in given.items()}}


NOTED = [
    Reported({"cpuManagerPolicy": "Static"}),
    Reported({"cgroupDriver": "Systemd"}),
    Reported({"cgroupDriver": "docker"}),
    Reported({"topologyManagerPolicy": "single-numa"}),
    Reported({"topologyManagerScope": "Pod"}),
    *(
        Reported({name: "xyz"})
        for name in (
            "topologyManagerScope",
            "topologyManagerPolicy",
            "cpuManagerPolicy",
            "memoryManagerPolicy",
        )
    ),
    Reported({"topologyManagerScope": "pod"}),
    Reported({"memoryManagerPolicy": "none"}),
    Reported(STATIC | options(full_pcpu_only="true")),
    Reported(STATIC | options(xyz="true")),
    Reported(STATIC | options(strict_cpu_reservation="true"), release="1.31"),
    Reported(STATIC | options(distribute_cpus_across_cores="true")),
    Reported(STATIC | RESTRICTED | options(align_by_socket="true"), "synthetic:2s2n4c2t,mem=8Gi"),
    Reported(
        STATIC | {"topologyManagerPolicy": "single-numa-node"} | options(align_by_socket="true"),
        "synthetic:2s4n8c2t,mem=8Gi",
    ),
    Reported(STATIC | ALPHA | options(full_pcpus_only="yes")),
    Reported(STATIC | RESTRICTED | options(align_by_socket="true"), "synthetic:4s2n8c2t,mem=8Gi"),
    Reported(STATIC | options(align_by_socket="false")),
    Reported(
        RESTRICTED
        | {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "false"}}
        | {"featureGates": {"TopologyManagerPolicyBetaOptions": False}},
        release="1.31",
    ),
    Reported(STATIC | options(align_by_socket="yes")),
    Reported(STATIC | options(align_by_socket="so")),
    Reported(STATIC | ALPHA | options(full_pcpus_only="off")),
    Reported(STATIC | ALPHA | options(full_pcpus_only="maybe")),
    Reported(STATIC | options(scale_delay_time="5s"), release="1.37"),
    Reported(STATIC | options(scale_delay_time="11s"), release="1.37"),
    Reported(STATIC | RESIZES | options(scale_delay_time="11s"), release="1.37"),
    Reported(STATIC | ALPHA | options(scale_delay_time="5s"), release="1.37"),
    Reported(STATIC | ALPHA | options(scale_delay_time="11s"), release="1.37"),
    Reported(RESTRICTED | {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "7"}}),
    Reported(
        RESTRICTED | {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "7"}},
        "synthetic:2s12n12c1t,mem=24Gi",
    ),
    Reported({"featureGates": {"MemoryQOS": True}}),
    Reported({"featureGates": {"CPUManager": True}}),
    Reported({"featureGates": {"CPUManager": True, "CPUManagerPolicyOptions": False}}),
    Reported({"featureGates": {"MixedCPUsAllocation": True}}),
    Reported(STATIC | ALPHA | options(distribute_cpus_across_cores="true"), "synthetic:2s8c"),
    Reported({"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"}}),
    Reported(STATIC | {"kubeReserved": {"cpu": "1"}}),
    Reported({"reservedMemory": memory_of(0, memory="1Gi")}),
    Reported({"evictionHard": {"memory.available": "500Mi"}}),
    Reported({"kubeReserved": {"memory": "500m"}}),
    Reported(STATIC),
    Reported({"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}}),
    Reported(
        {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}, "systemReservedCgroup": "/system.slice"}
    ),
    Reported(STATIC, UNEVEN),
    Reported(
        {
            "cpuManagerPolicy": "static",
            "systemReserved": {"cpu": "5"},
            "systemReservedCgroup": "/system.slice",
        },
        UNEVEN,
    ),
    Reported(STATIC | {"reservedSystemCPUs": "0,32"}, f"{WHOLE},isolated=1-8+32"),
    Reported(STATIC, "synthetic:1s1n4c2t,offline=3,mem=8Gi"),
    Reported(
        STATIC | RESTRICTED | {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "34"}},
        "synthetic:2s34n68c1t,mem=68Gi",
    ),
    Reported(MEMORY | {"reservedMemory": memory_of(0, memory="1124Mi")}, "synthetic:2s34n68c1t,mem=68Gi"),
    Reported({"memoryManagerPolicy": "Static"}),
    Reported(MEMORY | {"reservedMemory": memory_of(0, memory="1Gi") + memory_of(99, memory="100Mi")}),
    Reported({"memoryManagerPolicy": "Static", "evictionHard": {"memory.available": "0%"}}),
    Reported(MEMORY | {"reservedMemory": memory_of(0, memory="1Gi")}),
    Reported(MEMORY | {"reservedMemory": memory_of(0, memory="3Gi")}),
    Reported(MEMORY | {"reservedMemory": memory_of(0, memory="1G")}),
    Reported(MEMORY | {"reservedMemory": memory_of(0, memory="1124Mi", hugepages_2Mi="2Mi")}),
    Reported(MEMORY | {"reservedMemory": memory_of(0, memory="1.5Gi")}),
    Reported(
        MEMORY | {"systemReserved": {"memory": "3000Mi"}, "reservedMemory": memory_of(0, memory="3100Mi")},
        "synthetic:2s2n4c2t,mem=4Gi,hugepages-2Mi=512/0",
    ),
    Reported(
        MEMORY | {"systemReserved": {"memory": "4000Mi"}, "reservedMemory": memory_of(0, memory="4100Mi")},
        "synthetic:2s2n4c2t,mem=4Gi",
    ),
    Reported(STATIC | RESIZES | options(scale_delay_time="5s"), release="1.37"),
    Reported(STATIC | options(numMinSharedCPUs="true")),
    Reported(RESTRICTED, "far.json"),
    Reported(
        {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}}
        | {"memoryManagerPolicy": "Static", "evictionHard": {"memory.available": "1Gi"}}
        | {"reservedMemory": memory_of(0, memory="1Gi")}
        | RESTRICTED
        | {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "18"}},
        "synthetic:2s18n18c1t,mem=4Gi",
    ),
]
IGNORED = [
    (STATIC | {"reservedCpus": "0-3"}, "remove reservedCpus: reservedSystemCPUs is set as well"),
    ({"reservedCpus": "0-3"}, "use reservedSystemCPUs"),
    (MEMORY | {"reservedMemory": [{"numaNode": 0, "limit": {"memory": "1124Mi"}}]}, "use limits"),
    (
        MEMORY | {"reservedMemory": [{"numaNode": 0, "limits": {"memory": "1124Mi"}, "limit": {}}]},
        "remove limit: limits is set as well",
    ),
]
FAR = {
    "num_cores": 4,
    "num_sockets": 2,
    "memory_capacity": 2 << 30,
    "topology": [
        {
            "node_id": node,
            "memory": 1 << 30,
            "cores": [
                {"core_id": core, "thread_ids": [core], "socket_id": core // 2} for core in (first, first + 1)
            ],
        }
        for node, first in ((0, 0), (70, 2))
    ],
}
"""The number of the second NUMA node fits in no mask."""

Finding = dict[str, Any]
WITHOUT_FIX = Reported(STATIC | RESIZES | options(scale_delay_time="0s"), release="1.37"), "option-announced"
"""A note on an option that delays nothing: it has no fix, unlike others from the same place."""
TOP, KUBEPODS = "sys/fs/cgroup/", "sys/fs/cgroup/kubepods.slice/"
GIVE = (
    "give the cgroup these CPUs (LXC: lxc.cgroup2.cpuset.cpus; systemd: AllowedCPUs=), or stop the other "
    "program that writes to it"
)
MEMBER = "write member to its cpuset.cpus.partition; containers that pin their own threads are not affected"
GROUPS = {
    ("parent-without-cpus", GIVE): (
        {f"{KUBEPODS}cpuset.cpus": "0-5\n"},
        {f"{KUBEPODS}cpuset.cpus": "0-7\n"},
    ),
    ("isolated-in-shared-pool", MEMBER): (
        {f"{KUBEPODS}cpuset.cpus.partition": "isolated\n", f"{TOP}cpuset.cpus.isolated": "0-7\n"},
        {f"{KUBEPODS}cpuset.cpus.partition": "member\n", f"{TOP}cpuset.cpus.isolated": "\n"},
    ),
}
"""Notes on a node's control groups: the files that cause them, and the same files once fixed.

The kernel updates its list of CPUs in isolated partitions.
"""


class Kubelet:
    """Runs ``config check``, and applies fixes."""

    def __init__(self, cpuctl: Cpuctl, directory: Path) -> None:
        self.cpuctl, self.directory = cpuctl, directory
        (directory / "far.json").write_text(json.dumps(FAR))

    def ask(self, reported: Reported, *words: str) -> Any:
        (self.directory / "config.json").write_text(json.dumps(HEAD | reported.config))
        given = (
            "-q",
            "-m",
            reported.machine,
            "--kubelet-config",
            "config.json",
            "-o",
            "json",
            *reported.words,
        )
        release = () if words else ("--kubelet-version", reported.release)
        requested = words or ("check",)
        result = self.cpuctl("config", *requested, *given, *release, cwd=self.directory)
        assert result.out, result
        return json.loads(result.out)

    def notes(self, reported: Reported) -> list[Finding]:
        """Return the notes that have a fix; in proposed commands the given options are left out."""
        found = [
            each for each in self.ask(reported)["findings"] if each["fix"] and each["code"] != "not-started"
        ]
        return [each | {"fix": re.sub(_WITH_OPTIONS, "cpuctl config reserve", each["fix"])} for each in found]

    def done(self, reported: Reported, note: Finding, way: str) -> Reported:
        """Apply one way of a fix to the configuration or the machine."""
        config: Config = json.loads(json.dumps(reported.config))
        field, _, member = str(note["setting"] or "").partition(".")
        if "cpuctl config reserve" in way:
            if way.startswith("set "):
                config.pop("evictionHard", None)
            if way.startswith("reserve less"):
                config["systemReserved"] = {"memory": "1Gi"}
            config.pop("reservedMemory", None)
            proposed = self.ask(reported._replace(config=config), "reserve")["proposal"]["settings"]
            return reported._replace(config=config | proposed)
        for pattern, change in WAYS.items():
            if found := re.fullmatch(pattern, way):
                change(config, (field, member.strip('["]')), *found.groups())
                return reported._replace(config=config)
        if "--ignore-unknown-gates" in way:
            return reported._replace(words=("--ignore-unknown-gates",))
        if "isolcpus" in way:
            return reported._replace(machine=re.sub(r",isolated=[^,]*", "", reported.machine))
        raise AssertionError(way)


_WITH_OPTIONS = r"cpuctl config reserve -m .*"
Place = tuple[str, str]
"""A field and a name in it, which may be empty."""
REST = ("nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree")


def _leave_out(config: Config, place: Place) -> None:
    field, member = place
    if member:
        del config[field][member]
    else:
        config.pop(field)


def _rename(config: Config, place: Place, name: str) -> None:
    field, member = place
    config[field][name] = config[field].pop(member)


def _set_quantity(config: Config, place: Place, amount: str) -> None:
    field, member = place
    if field == "reservedMemory":
        config[field][0]["limits"]["memory"] = amount
    else:
        config[field][member] = amount


def _set(config: Config, _: Place, name: str, value: str) -> None:
    (field,) = [each for each in config if name in (config[each] or ())] or [""]
    (config[field] if field else config)[name] = value


def _reserve_in_all(config: Config, place: Place, count: str) -> None:
    config[place[0]][place[1]] = count


def _switch_on(config: Config, _: Place, gate: str) -> None:
    config.setdefault("featureGates", {})[gate] = True


def _switch_both_on(config: Config, place: Place, gate: str, other: str) -> None:
    _switch_on(config, place, gate)
    _switch_on(config, place, other)


def _switch_on_and_set(config: Config, place: Place, gate: str, name: str, value: str) -> None:
    _switch_on(config, place, gate)
    _set(config, place, name, value)


def _switch_both_on_and_set(
    config: Config, place: Place, gate: str, other: str, name: str, value: str
) -> None:
    _switch_both_on(config, place, gate, other)
    _set(config, place, name, value)


def _without_pages(config: Config, _: Place, kind: str) -> None:
    del config["reservedMemory"][0]["limits"][kind]


def _reserve_others(config: Config, _: Place) -> None:
    config["reservedSystemCPUs"] = "9,41"


def _merge(config: Config, _: Place) -> None:
    config["mergeDefaultEvictionSettings"] = True


def _name_too(config: Config, _: Place) -> None:
    config["evictionHard"] |= dict.fromkeys(REST, "5%")


WAYS: dict[str, Callable[..., None]] = {
    r"use (.+)": _rename,
    r"set ([0-9]\w+)(?:, if that is what you meant)?": _set_quantity,
    r"reserve (\d+) CPUs in total": _reserve_in_all,
    r"reserve other CPUs": _reserve_others,
    r"list them as well": _name_too,
    r"set mergeDefaultEvictionSettings: true in the kubelet's --config file, .*": _merge,
    r"set featureGates: \{(\w+): true\}": _switch_on,
    r"set featureGates: \{(\w+): true, (\w+): true\}": _switch_both_on,
    r'set featureGates: \{(\w+): true\}, and set ([\w-]+): "(\w+)"(?: or "\w+")?': _switch_on_and_set,
    r'set featureGates: \{(\w+): true, (\w+): true\}, and set ([\w-]+): "(\w+)"': _switch_both_on_and_set,
    r"remove (hugepages-\w+)": _without_pages,
    r"leave it out|remove \S+(?:: .*)?": _leave_out,
    r'set ([\w-]+): "(\w+)"(?: or "\w+")?': _set,
    r"(?:reserve whole cores: )?set (\w+): (\S+)": _set,
    r"set (\w+) to ([^\s,]+)(?:,? .*)": _set,
}


def ways(fix: str) -> Iterator[str]:
    """Split a fix into its alternatives, without exceptions to it."""
    if "cpuctl config reserve" in fix:
        yield fix
        return
    yield from re.split(r",? or,? (?=if|reserve|set|\d)", re.split("; containers|, or taint ", fix)[0])


@pytest.mark.parametrize("reported", NOTED, ids=lambda reported: named(reported.config))
def test_fixes_of_notes_remove_the_notes(reported: Reported, tmp_path: Path, cpuctl: Cpuctl) -> None:
    kubelet = Kubelet(cpuctl, tmp_path)
    notes = kubelet.notes(reported)
    assert notes
    for note in notes:
        for way in ways(note["fix"]):
            left = {
                (each["code"], each["setting"]) for each in kubelet.notes(kubelet.done(reported, note, way))
            }
            assert (note["code"], note["setting"]) not in left, way


@pytest.mark.parametrize(("config", "fix"), IGNORED, ids=lambda each: "" if isinstance(each, dict) else each)
def test_a_misspelt_field_is_only_renamed_if_the_right_one_is_not_set(
    config: Config, fix: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    notes = Kubelet(cpuctl, tmp_path).notes(Reported(config))
    assert fix in [each["fix"] for each in notes if each["code"] == "unknown-field"]


@pytest.mark.parametrize("reported", GROUPS, ids=lambda reported: reported[0])
def test_fixes_of_notes_on_control_groups_remove_the_notes(
    reported: tuple[str, str], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    root = written(with_kubelet_files(clean_node()).files, tmp_path / "node")
    words = ("config", "check", "-m", str(root), "--kubelet-version", "1.36", "-o", "json")

    def is_noted(files: dict[str, str]) -> bool:
        written(files, root)
        settle(root)
        found = json.loads(cpuctl(*words).out)["findings"]
        return reported in [(each["code"], each["fix"]) for each in found]

    begun, repaired = GROUPS[reported]
    assert is_noted(begun)
    assert not is_noted(repaired)


def test_every_fix_of_a_note_is_tested(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A new note with a fix, or another way in an existing fix, needs a configuration above."""
    kubelet = Kubelet(cpuctl, tmp_path)
    run = {(each["code"], each["fix"]) for reported in NOTED for each in kubelet.notes(reported)} | {*GROUPS}
    reported, code = WITHOUT_FIX
    assert [each["fix"] for each in kubelet.ask(reported)["findings"] if each["code"] == code] == [""]
    missing = not_run(["cpuctl/engine/config_lints"], run)
    assert [each for each in missing if each.code != re.escape(code)] == []
