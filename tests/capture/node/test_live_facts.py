"""Facts that an audit needs from a recording: process starts, their memory, interrupt counts, names."""

from __future__ import annotations

import pytest

from cpuctl.capture.anonymous import anonymized
from cpuctl.capture.collected import Process, Thread
from cpuctl.capture.node import processes
from cpuctl.capture.node.processes import private_memory, process_lines, recorded_processes
from cpuctl.errors import InputError
from tests.capture.node_texts import CONTAINER_ID, node_texts, process, recorded

LOG = f"var/log/containers/web-0_shop_trading-{CONTAINER_ID}.log"
STAT = "5 (a) b) S 1 1 1 0 -1 67108928 " + "0 " * 12 + "4711 0\n"
NODES = {"sys/devices/system/node/has_memory": "0-1\n"}


def bound(pid: int = 5) -> dict[str, str]:
    """Return the files of a process that may use only node 0, and has memory on both."""
    texts = {name: text.replace("0-1\n", "0\n") for name, text in process(pid, "main", "/pod").items()}
    maps = "55 default anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=4\n"
    return texts | {f"proc/{pid}/numa_maps": maps}


def only(texts: dict[str, str]) -> Process:
    (found,) = recorded(texts).processes
    return found


def test_start_and_flags_are_read_behind_the_name() -> None:
    found = only(process(5, "main", "/") | {"proc/5/stat": STAT})
    assert (found.started, found.fixed) == (4711, True)


@pytest.mark.parametrize(
    "text", ["", "5", "5 (x) S", "5 (x) S " + "y " * 40, "5 (x) S " + "9" * 30 + " 1" * 30]
)
def test_an_invalid_stat_shows_nothing(text: str) -> None:
    found = only(process(5, "main", "/") | {"proc/5/stat": text})
    assert found.fixed is False


def test_memory_is_read_of_processes_that_may_not_use_all_nodes() -> None:
    assert only(NODES | bound()).memory == {0: 8192, 1: 4096}
    assert (
        only(NODES | process(5, "main", "/") | {"proc/5/numa_maps": "x N0=1 kernelpagesize_kB=4"}).memory
        is None
    )
    assert only(bound()).memory is None


def test_pages_of_files_belong_to_no_process() -> None:
    text = (
        "55 default file=/lib/libc.so mapped=9 N1=9 kernelpagesize_kB=4\n"
        "56 bind:0 file=/anon_hugepage\\040(deleted) huge anon=1 N0=1 kernelpagesize_kB=2048\n"
        "57 default heap anon=2 N0=1 N1=1 kernelpagesize_kB=4\n"
        "58 default\n59 default N0=1\nN0=1 kernelpagesize_kB=4\n"
    )
    assert private_memory(text) == {0: (2 << 20) + 4096, 1: 4096}


def test_the_number_of_such_processes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MAX_NUMA_MAPS", 1)
    collected = recorded(NODES | bound(5) | bound(6))
    assert [found.memory is None for found in collected.processes] == [False, True]
    area = {area.name: area for area in collected.areas}["processes"]
    assert area.notes == ("memory is recorded for only 1 processes",)


def test_counts_masks_and_bans_are_recorded_and_no_other_setting() -> None:
    texts = node_texts() | {
        "proc/interrupts": "CPU0\n 24: 7 x eth0\n",
        "sys/devices/virtual/workqueue/cpumask": "ff\n",
        "etc/default/irqbalance": (
            'SECRET=1\n#IRQBALANCE_BANNED_CPULIST=9\nIRQBALANCE_BANNED_CPUS="fc"; echo SECRET\n'
            "export IRQBALANCE_BANNED_CPULIST=2-7\nIRQBALANCE_ARGS=--SECRET\n"
        ),
    }
    members = recorded(texts).members
    assert members["proc/interrupts"] == "CPU0\n 24: 7 x eth0\n"
    assert members["sys/devices/virtual/workqueue/cpumask"] == "ff\n"
    assert members["etc/default/irqbalance"] == (
        'IRQBALANCE_BANNED_CPUS="fc"\nexport IRQBALANCE_BANNED_CPULIST=2-7\n'
    )


def test_names_of_containers_are_recorded_without_their_logs() -> None:
    texts = node_texts() | {LOG: "a line with a SECRET\n", "var/log/containers/README": "SECRET"}
    assert {path: text for path, text in recorded(texts).members.items() if path.startswith("var/log")} == {
        LOG: ""
    }


def test_names_of_containers_become_matching_pseudonyms() -> None:
    """They are those of the state file and of the control groups."""
    collected = anonymized(recorded(node_texts() | {LOG: ""}))
    (path,) = (path for path in collected.members if path.startswith("var/log"))
    assert path == f"var/log/containers/podname1_namespace1_container1-{1:064x}.log"
    assert '"container1"' in str(collected.members["var/lib/kubelet/cpu_manager_state"])
    assert any(f"cri-containerd-{1:064x}.scope" in member for member in collected.members)


def test_processes_read_back_as_they_were_written() -> None:
    threads = (Thread(5, 'odd "name"\n', "0-3", None), Thread(6, "\N{MOUSE FACE}", None, "0"))
    processes = [
        Process(
            pid=5,
            cgroup="/pod",
            kernel=False,
            user=None,
            nested=False,
            threads=threads,
            started=9,
            memory={0: 1 << 40, 1023: 1},
        ),
        Process(pid=7, cgroup="/", kernel=True, user=None, nested=False, threads=(), fixed=True),
    ]
    assert list(recorded_processes(process_lines(processes))) == processes


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "5",
        "{}",
        '{"pid":"5","cgroup":"/","threads":[]}',
        '{"pid":true,"cgroup":"/","threads":[]}',
        '{"pid":5,"cgroup":7,"threads":[]}',
        '{"pid":5,"cgroup":"/","threads":[{"tid":5}]}',
        '{"pid":5,"cgroup":"/","threads":[],"memory":{"x":1}}',
        '{"pid":5,"cgroup":"/","threads":[],"memory":[]}',
        "[" * 100_000,
    ],
)
def test_an_invalid_line_is_rejected_with_its_number(line: str) -> None:
    good = '{"pid":5,"cgroup":"/","threads":[]}'
    with pytest.raises(InputError) as error:
        list(recorded_processes(f"{good}\n{line}\n{good}\n"))
    assert error.value.where == "processes.jsonl:2"
