"""Possible origins of unexpected values: cases from public reports, identified by what the value equals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cpuctl.capture.node.cpu_settings import CpuSetting, read_cpu_settings
from cpuctl.capture.node.files import NodeFiles
from cpuctl.errors import InputError
from cpuctl.machine.recording_layout import CPU_SETTINGS
from cpuctl.machine.tree import MemoryTree
from cpuctl.records import replace
from tests.audit.node_tree import OWN, POOL, WEB, NodeTree, clean_node, entries

MANAGER = "etc/systemd/system.conf"


def moved(node: NodeTree, cpus: str, own: str | None = None) -> None:
    """Move the database elsewhere, including its threads."""
    node.cpuset(node.server, cpus=cpus if own is None else own, effective=cpus, mems="0")
    node.process(90, "postgres", node.server, cpus, mems="0")
    node.process(91, "writer", node.server, cpus, mems="0", of=90)


def by_daemon_reload(node: NodeTree) -> None:
    """Kubernetes issue 134218, systemd issue 40438: systemd reloads its files, and applies their values."""
    node.files[MANAGER] = "[Manager]\nCPUAffinity=0 4\n"
    moved(node, "0,4")


def by_a_slice(node: NodeTree) -> None:
    node.files["etc/systemd/system/kubepods.slice.d/50-cpus.conf"] = "[Slice]\nAllowedCPUs=2-3\n"
    moved(node, "2-3")


def by_its_scope(node: NodeTree) -> None:
    scope = node.server.rpartition("/")[2]
    node.files[f"run/systemd/transient/{scope}.d/50-AllowedCPUs.conf"] = "[Scope]\nAllowedCPUs=6\n"
    moved(node, "6")


def by_a_neighbour(node: NodeTree) -> None:
    """Koordinator issue 1460: an agent has written the CPUs of another pod."""
    entries(node, WEB, front="2,6")
    node.state = replace(
        node.state, default_cpu_set=node.state.default_cpu_set - node.state.entries[WEB]["front"]
    )
    node.cpuset(node.front, cpus="2,6")
    node.process(95, "nginx", node.front, "2,6")
    moved(node, "2,6")


@dataclass(frozen=True)
class Case:
    """A value that was set, and what it is reported to equal."""

    name: str
    plant: Callable[[NodeTree], None]
    equals: str


CASES = [
    Case(
        "daemon-reload",
        by_daemon_reload,
        "; 0,4 matches systemd's CPUAffinity=0 4 in /etc/systemd/system.conf, PID 1 and the system "
        "(the reserved CPUs)",
    ),
    Case(
        "AllowedCPUs of a slice",
        by_a_slice,
        "; 2-3 matches kubepods.slice by systemd's AllowedCPUs=2-3 in "
        "/etc/systemd/system/kubepods.slice.d/50-cpus.conf",
    ),
    Case("AllowedCPUs of the scope", by_its_scope, "AllowedCPUs=6 in /run/systemd/transient/"),
    Case("another pod's", by_a_neighbour, "; 2,6 matches shop/web-0/front"),
    Case(
        "a runtime update",
        lambda node: moved(node, POOL),
        "; 0,2-4,6-7 matches the shared pool (written for containers without exclusive CPUs by a "
        "runtime update)",
    ),
    Case(
        "no list any more",
        lambda node: moved(node, "0-7", own=""),
        "; 0-7 matches the whole machine and the parent group",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_origin_that_a_list_equals_is_reported(case: Case) -> None:
    node = clean_node()
    case.plant(node)
    (finding,) = [each for each in node.findings("cpusets") if each.code == "cpuset-differs"]
    assert case.equals in finding.message


def test_the_origin_of_a_left_over_list_is_reported() -> None:
    """Under the policy none no container has exclusive CPUs: these are systemd's."""
    node = clean_node()
    by_a_slice(node)
    node.state = replace(node.state, policy_name="none", entries={})
    node.cpuset(node.front)
    (finding,) = node.findings("cpusets")
    assert finding.code == "cpuset-left-over"
    assert "; 2-3 matches kubepods.slice by systemd's AllowedCPUs=2-3 in" in finding.message


def test_the_origin_of_the_affinity_of_threads_is_reported() -> None:
    node = clean_node()
    node.files[MANAGER] = "[Manager]\n#CPUAffinity=1\nCPUAffinity=0,4\n"
    node.process(91, "writer", node.server, "0,4", mems="0", of=90)
    finding, present = node.findings("threads")
    assert "; 0,4 matches systemd's CPUAffinity=0,4" in finding.message
    assert (present.code, str(present.severity), present.detected) == ("agents-present", "note", "systemd")
    assert "systemd sets for all programs CPUAffinity=0,4 (/etc/systemd/system.conf)" in present.message


def test_without_a_match_no_origin_is_claimed_and_gaps_are_reported() -> None:
    node = clean_node()
    moved(node, "2-3")
    (finding,) = node.findings("cpusets")
    assert finding.message.endswith(
        "; possible cause: systemd's AllowedCPUs= or CPUAffinity=, whose values are not recorded"
    )
    node.files[MANAGER] = "[Manager]\n"
    (finding,) = node.findings("cpusets")
    assert finding.message == "the container's exclusive CPUs are 1,5, but it may run on 2-3"


def test_systemd_writes_no_list_on_cgroup_v1() -> None:
    node = clean_node(1)
    moved(node, "2-3")
    (finding,) = node.findings("cpusets")
    assert finding.message == "the container's exclusive CPUs are 1,5, but it may run on 2-3"
    by_a_slice(node)
    (finding,) = node.findings("cpusets")
    assert finding.message == "the container's exclusive CPUs are 1,5, but it may run on 2-3"


def test_systemd_sets_the_affinity_of_threads_on_cgroup_v1_too() -> None:
    node = clean_node(1)
    node.process(91, "writer", node.server, "2-3", mems="0", of=90)
    finding, *_ = node.findings("threads")
    assert finding.message.endswith("; possible cause: systemd's CPUAffinity=, whose values are not recorded")


@pytest.mark.parametrize(
    ("name", "project"),
    [
        ("koordlet", "Koordinator"),
        ("crane-agent", "Crane"),
        ("katalyst-agent", "Katalyst"),
        ("nri-resource-po", "an NRI resource policy"),
        ("dracpu", "the DRA driver for CPUs"),
        ("cpusetter", "CPU-Pooler"),
    ],
)
def test_an_agent_next_to_the_cpu_manager_is_reported(name: str, project: str) -> None:
    node = clean_node()
    node.process(75, name, "/system.slice/agent.service", "0,4")
    (finding,) = node.findings()
    assert (finding.code, str(finding.severity), finding.detected) == ("agents-contend", "warning", name)
    assert finding.message.startswith(f"{project} ({name}, process 75) ")
    node.state = replace(node.state, policy_name="none", entries={})
    node.cpuset(node.server, mems="0")
    node.cpuset(node.front)
    assert "agents-contend" not in node.codes()


def test_harmless_agents_are_named_only_if_something_differs() -> None:
    node = clean_node()
    for pid, name in ((75, "tuned"), (76, "numad"), (77, "cgrulesengd")):
        node.process(pid, name, f"/system.slice/{name}.service", "0,4")
    assert node.findings() == ()
    moved(node, "2-3")
    _, present = node.findings("cpusets")
    assert (present.code, present.detected) == ("agents-present", "cgrulesengd, numad, tuned")
    assert "systemd's CPU settings are not recorded" in present.message


def test_a_shield_of_cset_is_known_by_its_groups() -> None:
    node = clean_node(1)
    node.cpuset("/system", cpus="0")
    node.cpuset("/user", cpus="1-7")
    assert node.findings() == ()
    moved(node, "2-3")
    _, present = node.findings("cpusets")
    assert "a cset shield is active" in present.message


def settings(files: dict[str, str]) -> tuple[CpuSetting, ...] | None:
    return read_cpu_settings(NodeFiles(MemoryTree(dict(files)), str))


def test_only_cpu_settings_are_read_from_units() -> None:
    unit = "usr/lib/systemd/system/app.service"
    files = {unit: "[Service]\nEnvironment=PASSWORD=x\nCPUAffinity=1-3\nExecStart=/bin/app\n"}
    assert settings(files) == (CpuSetting("app.service", "CPUAffinity", "1-3", f"/{unit}"),)
    assert settings({unit: "[Service]\n"}) == ()
    assert settings({}) is None


def test_an_invalid_recording_is_rejected() -> None:
    with pytest.raises(InputError, match="not a setting"):
        settings({CPU_SETTINGS: '{"unit": 1}\n'})


def test_threads_pile_up_in_an_isolated_partition_as_on_isolated_cpus() -> None:
    """Kubernetes issue 96091: the kernel balances neither."""
    node = clean_node()
    node.put("cpuset", node.server, "cpuset.cpus.partition", "isolated")
    node.process(91, "writer", node.server, OWN, mems="0", of=90)
    assert "isolated-threads" in node.codes()
    node.put("cpuset", node.server, "cpuset.cpus.partition", "root")
    assert "isolated-threads" not in node.codes()
