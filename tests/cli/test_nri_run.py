"""``nri run``: a process that talks to a fake runtime, and what it rejects before it connects."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet, union
from cpuctl.machine.sources import read_machine
from cpuctl.nri.protocol import messages
from tests.cli.conftest import ROOT, Cpuctl
from tests.nri.runtime import FakeRuntime, Running, pod
from tests.support.schemas import follow_schema

TWO = str(ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz")
NODE = (
    "-m",
    TWO,
    "--kubelet-version",
    "1.36",
    "--kubelet-config",
    str(ROOT / "fixtures/kubelet/single-numa-node.yaml"),
)
PODS = ("-T", "a=4/4,1Gi", "-T", "b=1/2,1Gi", "-T", "c=2/2,1Gi")


@pytest.fixture
def plan(tmp_path: Path, cpuctl: Cpuctl) -> Path:
    result = cpuctl("plan", *NODE, *PODS, "-q", "-o", "json")
    assert result.code == 0, result
    (tmp_path / "plan.json").write_text(result.out)
    return tmp_path / "plan.json"


@contextmanager
def running(*words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "cpuctl", "nri", "run", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[FakeRuntime]:
    fake = FakeRuntime(tmp_path / "nri.sock")
    yield fake
    fake.stop()


def test_its_answers_are_those_of_the_plan(plan: Path, runtime: FakeRuntime, cpuctl: Cpuctl) -> None:
    """A dry run on another machine gives the same answers as ``plan -o nri``, one by one."""
    wanted = cpuctl("plan", *NODE, *PODS, "-q", "-o", "nri")
    answers = [
        {name: each[name] for name in ("event", "match", "adjust", "update")}
        for each in json.loads(wanted.out)["answers"]
    ]
    words = ("--plan", str(plan), "-m", TWO, "--socket", str(runtime.path), "--dry-run", "-o", "jsonl")
    with running(*words) as process:
        runtime.accept()
        for name in ("a", "b", "c"):
            assert runtime.create(pod(name), name).cpus == ""
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    events = [json.loads(line) for line in out.splitlines()]
    for each in events:
        follow_schema(each, "nrievent")
    assert {each["outcome"] for each in events} == {"DryRun"}
    created = [each for each in events if each["event"] == "CREATE_CONTAINER"]
    assert [{name: each[name] for name in answers[0]} for each in created] == answers
    assert err.splitlines()[-4:] == [
        "dry run: default/a/a: CPUs 2-5 (exclusive), NUMA node 0",
        "dry run: default/b/b: CPUs 0-1,6-31 (shared)",
        "dry run: default/c/c: CPUs 6-7 (exclusive), NUMA node 0; default/b/b: now CPUs 0-1,8-31",
        "stopping: containers keep their CPUs",
    ]


def on_this_machine(plan: Path) -> tuple[Path, str]:
    """Make a plan for this host, whatever its size: one container has exclusive use of CPU 0."""
    document = json.loads(plan.read_text())
    nodes = read_machine("live").machine.numa_nodes
    document["after"]["numaNodes"] = [{"id": node.id, "cpus": str(node.cpus)} for node in nodes if node.cpus]
    every = [cpu for node in nodes for cpu in node.cpus]
    rest = ",".join(map(str, every[1:]))
    document["after"]["sharedPool"] = rest
    document["pods"] = document["pods"][:1]
    document["pods"][0]["containers"][0] |= {"cpus": str(every[0]), "memory": None}
    plan.write_text(json.dumps(document))
    return plan, str(every[0])


def test_after_a_kill_it_resumes_where_it_was(plan: Path, runtime: FakeRuntime) -> None:
    plan, own = on_this_machine(plan)
    words = ("--plan", str(plan), "--socket", str(runtime.path))
    with running(*words) as process:
        runtime.accept()
        a, other = runtime.create(pod("a"), "a"), runtime.create(pod("z"), "z")
        pool = other.cpus
        assert (a.cpus, own in pool.split(",")) == (own, False)
        process.kill()
        process.communicate()
    late = Running("late", "main", pod("late"))  # created while the plugin was not running
    runtime.run_pod(late.pod)
    runtime.containers["late"] = late
    with running(*words, JOURNAL_STREAM="1:2") as process:
        runtime.accept()
        assert (a.cpus, other.cpus, late.cpus) == (own, pool, pool)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, "<6>" in err) == (0, False)


def test_a_kill_during_an_answer_leaves_no_overlap(runtime: FakeRuntime, tmp_path: Path) -> None:
    """It is killed before it has saved, after it has saved, or after it has answered."""
    state = tmp_path / "state"
    # A release that starts on this host with either version of control groups.
    kubelet = ("--kubelet-args", "--reserved-cpus=0", "--kubelet-version", "1.33")
    words = ("--policy", "static", *kubelet, "--state-file", str(state), "--socket", str(runtime.path))
    for number, moment in enumerate((0, 0.01, 0.1)):
        sandbox = runtime.run_pod(pod(f"pod{number}", parent=f"/kubepods/pod{number}"))
        new = Running(f"new{number}", "main", sandbox, shares=1024, quota=100_000, memory=1 << 30)
        with running(*words) as process:
            runtime.accept()
            request = messages()["ContainerEvent"](pod=sandbox, container=new.message())
            runtime.send(runtime.packed("CreateContainer", request.SerializeToString()))
            time.sleep(moment)
            process.kill()
            with suppress(EOFError, ConnectionError):
                payload = runtime.reply().payload
                new.apply(
                    messages()["CreateContainerResponse"].FromString(payload).adjust.linux.resources.cpu
                )
        runtime.containers[new.id] = new
    with running(*words):
        runtime.accept()
        sets = {name: CPUSet.parse(each.cpus) for name, each in runtime.containers.items()}
    own = [sets.pop(each["id"]) for each in json.loads(state.read_bytes())["containers"]]
    assert own, "the machine has more than the reserved CPU"
    assert sum(map(len, own)) == len(union(own)) == len(own)
    assert not union(own) & union(sets.values())
    assert all(sets.values())


def test_the_journal_gets_levels(plan: Path, runtime: FakeRuntime, tmp_path: Path) -> None:
    plan, _ = on_this_machine(plan)
    with (tmp_path / "log").open("w+") as log:
        found = os.fstat(log.fileno())
        process = subprocess.Popen(
            [sys.executable, "-m", "cpuctl", "nri", "run", "--plan", plan, "--socket", runtime.path, "-q"],
            stderr=log,
            cwd=ROOT,
            env={**os.environ, "JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"},
        )
        runtime.accept()
        runtime.create(pod("z"), "z")
        process.terminate()
        assert process.wait(20) == 0
        log.seek(0)
        lines = log.read().splitlines()
    assert lines[0].startswith("<6>registered as 10-cpuctl with fake 1.0")
    assert "<4>default/z/z is not in the plan, and runs in the shared pool" in lines


def test_a_signal_to_any_thread_is_noticed(plan: Path, runtime: FakeRuntime) -> None:
    words = ("--plan", str(plan), "-m", TWO, "--socket", str(runtime.path), "--dry-run")
    with running(*words) as process:
        runtime.accept()
        runtime.create(pod("a"), "a")
        time.sleep(0.3)  # until it waits for the runtime again
        threads = {int(each.name) for each in Path(f"/proc/{process.pid}/task").iterdir()}
        thread = max(threads - {process.pid})
        assert ctypes.CDLL(None).tgkill(process.pid, thread, signal.SIGTERM) == 0
        assert process.wait(20) == 0


def test_a_policy_assigns_cpus(runtime: FakeRuntime, tmp_path: Path) -> None:
    kubelet = ("--kubelet-args", "--reserved-cpus=0", "--kubelet-version", "1.36")
    words = ("--policy", "static", "-m", TWO, *kubelet, "--dry-run", "-q")
    with running(*words, "--socket", str(runtime.path)) as process:
        runtime.accept()
        web = pod("web", parent="/kubepods/poduid-web-0")
        runtime.create(web, "app", shares=2048, quota=200_000, memory=1 << 30)
        runtime.create(pod("log", parent="/kubepods/besteffort/pod1"), "log", shares=2)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert err.splitlines()[-3:-1] == [
        "dry run: default/web/app: CPUs 2-3 (exclusive)",
        "dry run: default/log/log: CPUs 0-1,4-31 (shared)",
    ]


def refused(cpuctl: Cpuctl, *words: str, socket: str = "/dev/null") -> tuple[int, str]:
    """Run with words that are rejected before it connects; everybody may connect to *socket*."""
    result = cpuctl("nri", "run", *words, "--socket", socket)
    assert result.out == ""
    return result.code, result.err


def test_a_plan_for_another_machine_is_rejected(plan: Path, cpuctl: Cpuctl) -> None:
    other = str(ROOT / "fixtures/machines/2s-8numa-64cpu.tar.xz")
    code, err = refused(cpuctl, "--plan", str(plan), "-m", other, "--dry-run")
    assert (
        code,
        "plan.json: the plan is for a different machine: NUMA node 0 has CPUs 0-15 there" in err,
    ) == (
        4,
        True,
    )
    code, err = refused(cpuctl, "--plan", str(plan), "-m", other)
    assert (code, "--machine: containers run on this machine only" in err) == (2, True)


def test_without_a_runtime_it_says_how_to_enable_nri(
    plan: Path, cpuctl: Cpuctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    words = ("--plan", str(plan), "-m", TWO, "--dry-run")
    code, err = refused(cpuctl, *words, socket=str(tmp_path / "none.sock"))
    assert (code, "none.sock: no container runtime socket found" in err) == (5, True)
    assert "disable = false" in err


def test_protobuf_is_required(plan: Path, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch) -> None:
    messages.cache_clear()
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    code, err = refused(cpuctl, "--plan", str(plan), "-m", TWO, "--dry-run")
    messages.cache_clear()
    assert (code, "pip install '.[nri]' in cpuctl's source directory" in err) == (2, True)


def test_users_other_than_root_are_rejected(
    plan: Path, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    code, err = refused(cpuctl, "--plan", str(plan), socket="/nowhere/nri.sock")
    assert (code, "only root" in err, "sudo" in err) == (5, True, True)


@pytest.mark.parametrize(
    ("document", "stated"),
    [
        ({"kind": "NRIPlan", "answers": []}, "an NRIPlan cannot be applied"),
        ({"kind": "Audit"}, "found Audit, expected the output of cpuctl plan -o json"),
        ({"kind": "Plan", "start": {"outcome": "Rejected"}}, "nothing was planned"),
        ({"a": 1}, "found no kind"),
    ],
)
def test_documents_other_than_plans_are_rejected(
    document: Any, stated: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text(json.dumps(document))
    code, err = refused(cpuctl, "--plan", str(tmp_path / "x.json"))
    assert (code, stated in err) == (4, True), err


def test_a_plan_of_a_kubelet_that_does_not_start_names_the_reason_and_the_next_command(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    words = ("-m", str(ROOT / "fixtures/kubeadm/node7.tar.xz"), "-T", "a=2/2,1Gi", "-q", "-o", "json")
    flags = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
    written = cpuctl("plan", *words, *flags)
    (tmp_path / "x.json").write_text(written.out)
    code, err = refused(cpuctl, "--plan", str(tmp_path / "x.json"))
    document = json.loads(written.out)
    assert (code, document["start"]["outcome"]) == (4, "Rejected")
    assert f"the kubelet would not start: {document['start']['error']}" in err
    assert f"hint: to see what to change: {document['next']}\n" in err
    assert document["next"].startswith("cpuctl checkpoint verify -m ")


def test_options_that_do_not_go_together_are_rejected(cpuctl: Cpuctl, plan: Path) -> None:
    assert refused(cpuctl)[0] == 2
    assert refused(cpuctl, "--plan", str(plan), "--policy", "static")[0] == 2
    code, err = refused(cpuctl, "--plan", str(plan), "--state-file", "/var/lib/cpuctl/nri_state")
    assert (code, "--state-file: requires --policy: a plan has no state" in err) == (2, True)
    assert "require --policy" in refused(cpuctl, "--plan", str(plan), "--kubelet-version", "1.36")[1]
    code, err = refused(cpuctl, "--plan", str(plan), "--index", "7")
    assert (code, "--index: expected two digits, found '7'" in err) == (2, True)


def test_the_unit_runs_an_existing_command(cpuctl: Cpuctl) -> None:
    unit = (ROOT / "contrib/nri/cpuctl-nri.service").read_text()
    words = unit.partition('"CPUCTL_NRI_OPTIONS=')[2].partition('"')[0].split()
    assert "ExecStart=/usr/local/bin/cpuctl nri run $CPUCTL_NRI_OPTIONS\n" in unit
    code, err = refused(cpuctl, *words)
    assert (code, "/etc/cpuctl/plan.json" in err) == (4, True), "only the plan is missing"


def test_it_answers_even_if_its_output_is_not_read(plan: Path, runtime: FakeRuntime) -> None:
    words = ("--plan", str(plan), "-m", TWO, "--socket", str(runtime.path), "--dry-run", "-o", "jsonl")
    with running(*words) as process:
        runtime.accept()
        assert runtime.end
        assert process.stderr
        runtime.end.settimeout(10)
        for number in range(20):  # more than a pipe holds
            runtime.create(pod(f"{number}\n{'x' * 8192}"), "main")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        written = process.stderr.read()
    assert "default/0\\nxxx" in written, "and no name breaks a line"
