"""A node sampled twice: what is reported for the interval, and what is unknown."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cpuctl.answering.top_answer import current
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.live_node import NodeInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.top import RunningNode, load_running_node
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, OWN, WEB, entries, with_kubelet_files
from tests.support.running_node import Running, counting_node
from tests.support.schemas import follow_schema

NODE = "fixtures/nodes/v2-2-numa/node.tar.xz"


def reported(node: RunningNode) -> Any:
    window = node.take()
    assert window is not None
    document = current(node.top, window, Sources().entries)
    follow_schema(document)
    return document


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(tmp_path, counting_node())


def test_the_time_is_that_of_the_counters_of_cpus(running: Running) -> None:
    """If reading the rest takes three seconds, the report is as of three seconds ago."""
    node = running.start()
    running.pass_time(1)
    running.write()
    window = node.take()
    assert window is not None
    running.now += 3
    assert node.age(window) == 3
    document = current(node.top, window, Sources().entries, node.age(window))
    assert 3 <= (datetime.now(UTC) - datetime.fromisoformat(document["time"])).total_seconds() < 4


def test_a_cpu_that_goes_offline_and_comes_back(running: Running) -> None:
    """CPU 5 is one of the container's two: the other one is still reported, and no value becomes 0."""
    node = running.start()

    def look() -> Any:
        running.pass_time(1, {1: {"user": 0.5}})
        running.used += 0.25
        running.came = {"24": {1: running.came.get("24", {}).get(1, 0) + 40}}
        running.write()
        document = reported(node)
        (container,) = document["containers"]
        parts = ("loads", "others", "steal", "interrupts")
        return [each["cpu"] for each in document["cpus"]], [container[part] for part in parts], document

    cpus, (loads, _, _, came), _ = look()
    assert (cpus, loads, came["devices"]) == (list(range(8)), [0.5, 0.0], 40)
    running.offline = (5,)
    cpus, parts, document = look()
    assert (cpus, parts) == ([0, 1, 2, 3, 4, 6, 7], [[0.5, None], 0.25, 0.0, None])
    assert {each["interrupts"] for each in document["cpus"]} == {None}, "of one text of these columns"
    assert [each["what"] for each in document["unknown"]] == ["interrupts", "loads of CPU 5"]
    _, (_, _, _, came), document = look()
    assert (came["devices"], document["unknown"]) == (40, [{"what": "loads of CPU 5", "why": "not online"}])
    running.offline = ()
    cpus, (loads, _, _, _), _ = look()
    assert (cpus, loads) == (list(range(8)), [0.5, None]), "a single moment shows nothing"
    assert look()[1][0] == [0.5, 0.0]


def test_a_busy_and_disturbed_container(running: Running) -> None:
    """CPU 1 is half the container's, half a stray thread's; CPU 5 serves interrupts."""
    node = running.start()
    running.tree.process(500, "stray", "/system.slice/backup.service", "0-7")
    running.pass_time(2, {1: {"user": 0.9, "steal": 0.1}, 5: {"softirq": 0.25}})
    running.used += 1.0
    running.ran[500], running.on[500] = 0.8, 1
    running.came = {"24": {5: 400, 0: 6}, "LOC": {1: 500}}
    running.waited, running.moved = {90: 0.5, 91: 0.1}, {91: 4}
    for tid, ran in ((15, 1.0001), (30, 1.5)):
        running.ran[tid], running.on[tid] = ran, 5
    running.missed += 10
    running.stalled += 1.0
    running.write()
    document = reported(node)
    (container,) = document["containers"]
    assert (container["pod"], container["container"], container["cpus"]) == ("database-0", "server", OWN)
    assert (container["loads"], container["used"], container["others"]) == ([0.9, 0.25], 0.5, 0.4)
    assert (container["steal"], container["throttled"], container["throttledPeriods"]) == (0.1, 0.0, 0.0)
    assert (container["runQueueDelay"], container["migrations"], container["threads"]) == (0.3, 2.0, 2)
    assert container["interrupts"] == {
        "devices": 200.0,
        "timer": 250.0,
        "others": 0.0,
        "mostFrequent": [{"name": "24", "title": "PCI-MSI 524288-edge eth0", "rate": 200.0}],
    }
    assert container["foreign"] == [
        {
            "tid": 500,
            "pid": 500,
            "comm": "stray",
            "cgroup": "/system.slice/backup.service",
            "cpu": 1,
            "kernel": False,
            "used": 0.4,
        },
        {"tid": 30, "pid": 30, "comm": "kswapd0", "cgroup": "/", "cpu": 5, "kernel": True, "used": 0.25},
    ]
    assert container["numaMisses"] == 10.0 / 2 * len(CPUSet.parse(container["numaNodes"]))
    assert container["pressure"] == {"some": 0.5, "full": 0.0, "average": 0.015}
    assert {each["scope"]: each["some"] for each in document["pressure"]} == {"node": 0.5, "pods": 0.5}
    assert document["reserved"]["interrupts"] == 3.0
    assert document["unknown"] == []
    assert [each["owner"] for each in document["cpus"]] == ["reserved", "exclusive", "shared", "shared"] * 2


@pytest.mark.parametrize("thorough", [True, False])
def test_a_stray_process_among_many_is_found_at_once_or_in_turn(thorough: bool, running: Running) -> None:
    for pid in range(1000, 1100):
        running.tree.process(pid, "worker", "/system.slice/backup.service", "0-7")
    node, looks = running.start(thorough=thorough), 0
    seen: list[Any] = []
    while not seen:
        looks += 1
        running.pass_time(1)
        running.ran[1099], running.on[1099] = 1.0 + looks, 5
        running.write()
        seen = reported(node)["containers"][0]["foreign"]
    assert ([each["tid"] for each in seen], looks) == ([1099], 1 if thorough else 2)
    assert seen[0]["used"] == 1.0


def test_values_that_a_kernel_does_not_provide_are_null_and_reported(tmp_path: Path) -> None:
    missing = ("proc/pressure", "cpu.pressure", "schedstat", "/sched", "interrupts", "numastat", "cpu.stat")
    running = Running(tmp_path, counting_node(), missing=missing)
    node = running.start()
    running.pass_time(1, {1: {"user": 1.0}})
    running.write()
    document = reported(node)
    (container,) = document["containers"]
    unknown = {name for name, value in container.items() if value is None}
    assert unknown == {
        "used", "others", "throttled", "throttledPeriods", "pressure", "threads", "runQueueDelay",
        "migrations", "interrupts", "numaMisses",
    }  # fmt: skip
    assert container["loads"] == [1.0, 0.0]
    assert document["pressure"] == []
    assert [each["runQueueDelay"] for each in document["cpus"]] == [None] * 8
    listed = " ".join(each["what"] for each in document["unknown"])
    assert all(word in listed for word in ("pressure", "runQueueDelay", "interrupts", "used")), listed


def test_ticks_that_miss_the_threads_of_a_busy_cpu(running: Running) -> None:
    """A thread that sleeps at every tick: the CPU is busy, but the cause is unknown."""
    node = running.start()
    running.pass_time(1, {1: {"user": 0.3}, 5: {"user": 0.4}})
    running.spent[1]["user"] = 0
    running.spent[5]["user"] /= 2
    running.used += 0.3
    running.write()
    document = reported(node)
    first, second = document["cpus"][1], document["cpus"][5]
    assert (first["busy"], first["user"]) == (0.3, None)
    assert (second["busy"], second["user"], second["system"]) == (0.4, 0.4, 0.0)
    (container,) = document["containers"]
    assert (container["loads"], container["used"], container["others"]) == ([0.3, 0.4], 0.3, None)


def test_groups_of_version_1(tmp_path: Path) -> None:
    running = Running(tmp_path, counting_node(version=1))
    node = running.start()
    running.pass_time(2)
    running.used, running.throttled = running.used + 3, (4, 0.5)
    running.waited = {90: 0.2}
    running.write()
    (container,) = reported(node)["containers"]
    assert (container["used"], container["throttled"], container["throttledPeriods"]) == (1.5, 0.25, 2.0)
    assert (container["pressure"], container["threads"], container["runQueueDelay"]) == (None, 2, 0.1)


def test_the_pod_s_quota_throttles_its_container(running: Running) -> None:
    node = running.start()
    running.pass_time(1)
    running.write()
    reported(node)
    above = running.tree.server.rpartition("/")[0]
    running.tree.put("cpu", above, "cpu.stat", "usage_usec 1\nnr_throttled 3\nthrottled_usec 250000")
    running.pass_time(1)
    running.write()
    (container,) = reported(node)["containers"]
    assert (container["throttled"], container["throttledPeriods"]) == (0.25, 3.0)


def test_a_new_pod_gets_its_own_row(running: Running) -> None:
    """The kubelet's state changes: the owners of CPUs are read again, and no counter restarts."""
    node = running.start()
    running.pass_time(1)
    entries(running.tree, WEB, front="2,6")
    running.tree.state = replace(running.tree.state, default_cpu_set=CPUSet.parse("0,3-4,7"))
    with_kubelet_files(running.tree)
    running.used += 1
    running.write()
    document = reported(node)
    assert [(each["container"], each["cpus"], each["used"]) for each in document["containers"]] == [
        ("server", OWN, 1.0),
        ("front", "2,6", None),
    ]
    assert document["sharedPool"]["cpus"] == "0,3-4,7"


def test_a_restarted_container_is_found_by_its_new_group(running: Running) -> None:
    node = running.start()
    old = running.tree.server
    new = running.group = old.replace("5e" * 32, "6f" * 32)
    for path in [each for each in running.tree.files if old in each]:
        running.tree.files[path.replace(old, new)] = running.tree.files.pop(path)
    running.tree.files["proc/90/cgroup"] = f"0::{new}\n"
    shutil.rmtree(running.root / f"sys/fs/cgroup{old}")
    node._files.close()  # open files of a removed group can still be read on disk, but not from the kernel
    running.pass_time(6)
    running.write()
    assert [each["used"] for each in reported(node)["containers"]] == [None]
    running.pass_time(1)
    running.write()
    assert [each["path"] for each in reported(node)["containers"]] == [new]


def test_the_cpu_time_of_a_container_restarted_in_a_group_of_the_same_name_is_unknown(
    running: Running,
) -> None:
    """Counters restart: that is not idle time in which others used all of its CPUs."""
    node = running.start()
    running.pass_time(1, {1: {"user": 1.0}, 5: {"user": 1.0}})
    running.used, running.throttled, running.stalled = 0.25, (0, 0.0), 0.0
    running.waited, running.moved = {90: 0.0}, {91: 0}
    running.write()
    document = reported(node)
    (container,) = document["containers"]
    assert container["loads"] == [1.0, 1.0]
    assert (container["used"], container["others"], container["pressure"]) == (None, None, None)
    assert {each["what"]: each["why"] for each in document["unknown"]}["used"].startswith(
        "the cgroups of some"
    )
    running.pass_time(1, {1: {"user": 0.5}})
    running.used += 0.5
    running.write()
    assert reported(node)["containers"][0]["used"] == 0.5


def test_a_thread_that_reuses_a_thread_id_does_not_decrease_totals(running: Running) -> None:
    running.waited, running.moved = {90: 5.0, 91: 1.0}, {90: 900, 91: 5}
    node = running.start()
    running.pass_time(1)
    running.waited, running.moved = {90: 0.0, 91: 1.25}, {90: 0, 91: 7}
    running.write()
    (container,) = reported(node)["containers"]
    assert (container["runQueueDelay"], container["migrations"]) == (0.25, 2.0)


def test_this_process_stays_off_cpus_that_become_exclusive_later(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[set[int]] = []
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: requested[-1] if requested else set(range(8)))
    monkeypatch.setattr("os.sched_setaffinity", lambda _pid, cpus: requested.append(set(cpus)))
    node = running.start()
    node.keep_off()
    assert requested == [{0, 2, 3, 4, 6, 7}]
    for cpus, kept in (("2,6", {0, 3, 4, 7}), ("3", {0, 2, 4, 6, 7})):
        running.pass_time(1)
        entries(running.tree, WEB, front=cpus)
        with_kubelet_files(running.tree)
        running.write()
        reported(node)
        assert requested[-1] == kept


def test_a_state_that_is_being_written_is_not_an_error(running: Running) -> None:
    """It is half written for a moment: top continues, and reads it completely the next time."""
    node = running.start()
    state = running.root / "var/lib/kubelet/cpu_manager_state"
    whole = state.read_text()
    running.pass_time(1)
    running.write()
    state.write_text(whole[: len(whole) // 2])
    document = reported(node)
    assert document["unknown"][0]["what"] == "containers, sharedPool"
    running.pass_time(1)
    running.write()
    state.write_text(whole)
    assert [each["cpus"] for each in reported(node)["containers"]] == [OWN]


def test_an_entry_of_the_state_without_a_group_keeps_its_cpus(running: Running) -> None:
    entries(running.tree, DATABASE, server=OWN, other="2,6")
    with_kubelet_files(running.tree)
    node = running.start()
    running.pass_time(1, {2: {"user": 0.5}})
    running.write()
    rows = reported(node)["containers"]
    assert [(each["container"], each["path"] is None, each["loads"][0]) for each in rows] == [
        ("server", False, 0.0),
        ("other", True, 0.5),
    ]


def test_without_a_state_no_container_has_exclusive_cpus(running: Running) -> None:
    del running.tree.files["var/lib/kubelet/cpu_manager_state"]
    node = running.start()
    running.pass_time(1, {3: {"system": 1.0}})
    running.write()
    document = reported(node)
    assert (document["containers"], document["sharedPool"], document["cpuManagerPolicy"]) == ([], None, None)
    assert document["unknown"][0]["what"] == "containers, sharedPool"
    assert document["cpus"][3]["system"] == 1.0


def test_a_copy_of_a_node_is_refused(running: Running) -> None:
    node = running.start()
    running.now += 1
    with pytest.raises(InputError, match="do not change"):
        node.take()


def test_a_recording_is_refused() -> None:
    with pytest.raises(UsageError, match="a recording is a snapshot") as caught:
        load_running_node(NodeInputs(machine=NODE), Sources())
    assert "--replay" in caught.value.hint
