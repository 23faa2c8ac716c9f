"""``cpuctl audit`` and ``cgroups show`` on nodes written to disk, and on recordings of them.

The snapshots are in ``__snapshots__``; ``pytest --snapshot-update`` takes new ones, to be reviewed before
they are committed.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cpuctl.cgroups.names import Driver
from cpuctl.checkpoints import device_state
from tests.audit.node_tree import (
    DATABASE,
    OWN,
    PODS,
    SERVER,
    NodeTree,
    clean_node,
    entries,
    with_kubelet_files,
)
from tests.audit.test_faults import memory_elsewhere
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_golden import BLANKS, NO_LIMIT, broken_words, drawn_lines
from tests.machine.sysfs_writer import small_machine
from tests.support.schemas import follow_schema


def faulty(node: NodeTree) -> NodeTree:
    """Add one fault of nearly every kind."""
    node.cpuset(node.front, cpus="0-7")
    node.quota(node.server, 150_000, shares=2048)
    node.cpuset(node.server, cpus=OWN, mems="0-1")
    node.process(71, "sshd", "/system.slice/sshd.service", "0-7")
    node.process(31, "khugepaged", "/", "0-7", parent=2)
    node.interrupt(25, "nvme0q1", "0-7", "5")
    entries(node, "gone-1", worker="3")
    return node


NODES: dict[str, Callable[[], NodeTree]] = {
    "clean": clean_node,
    "faulty": lambda: faulty(clean_node()),
    "faulty-v1": lambda: faulty(clean_node(1, Driver.CGROUPFS)),
}

Run = Callable[..., Result]
COMMAND = re.compile(r"cpuctl (checkpoint [^&;]*)")


@pytest.mark.parametrize("name", ["clean", "faulty"])
def test_a_kubelet_is_restarted_only_if_it_would_start(name: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """The check before a restart is run on the node, without what only exists where the audit is run."""
    node = clean_node() if name == "clean" else faulty(clean_node())
    entries(node, "gone-1", worker="3")
    at = str(written(with_kubelet_files(node).files, tmp_path / "node"))
    (tmp_path / "pods.json").write_text(json.dumps(PODS))
    reported = ("--kubelet-version", "1.36", "--pods", str(tmp_path / "pods.json"))
    findings = json.loads(cpuctl("audit", "--root", at, *reported, "-o", "json").out)["findings"]
    restarts = {each["fix"] for each in findings if "systemctl restart kubelet" in each["fix"]}
    assert restarts
    for fix in restarts:
        requested = COMMAND.search(fix)
        assert requested
        assert fix == f"cpuctl {requested[1]}&& systemctl restart kubelet"
        words = shlex.split(requested[1])
        assert words == ["checkpoint", "verify", "--pods", "FILE"]
        done = cpuctl("checkpoint", "verify", "-m", at, *reported, "-o", "json")
        start = json.loads(done.out)["start"]
        assert (done.code == 0) == (start["outcome"] == "Started"), start


@pytest.mark.parametrize("reported", [(), ("--kubelet-version", "1.36")])
def test_an_unknown_release_is_a_placeholder_where_it_is_needed(
    reported: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """State files can be verified for any release, but are repaired for one."""
    node = clean_node()
    entries(node, "gone-1", worker="3")
    at = str(written(with_kubelet_files(node).files, tmp_path / "node"))
    (tmp_path / "pods.json").write_text(json.dumps(PODS))
    pods = ("--pods", str(tmp_path / "pods.json"))
    found = json.loads(cpuctl("checkpoint", "verify", "-m", at, *reported, *pods, "-o", "json").out)
    commands = {each["fix"] for each in found["findings"] if COMMAND.fullmatch(each["fix"])}
    requested = reported or ("--kubelet-version", "VERSION")
    assert commands == {shlex.join(("cpuctl", "checkpoint", "repair", "-m", at, *requested, *pods))}
    done = cpuctl(*("1.36" if word == "VERSION" else word for word in shlex.split(commands.pop())[1:]))
    assert done.code == 0, done


EXPLAINED = "VERSION: the kubelet's version, unknown here (kubelet --version prints it)"


def test_what_to_fill_in_is_explained_once(tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = clean_node()
    entries(node, "gone-1", worker="3")
    at = str(written(with_kubelet_files(node).files, tmp_path / "node"))
    words = ("checkpoint", "verify", "-m", at)
    assert cpuctl(*words, columns=400).out.splitlines().count(EXPLAINED) == 1
    assert EXPLAINED not in cpuctl(*words, "--kubelet-version", "1.36", columns=400).out


def place(name: str, directory: Path) -> Path:
    """Write a node below a directory."""
    return written(with_kubelet_files(NODES[name]()).files, directory / name)


@pytest.fixture
def run(tmp_path: Path, cpuctl: Cpuctl) -> Run:
    """Return a function that runs cpuctl next to the nodes and the pod file."""
    (tmp_path / "pods.json").write_text(json.dumps(PODS))

    def call(*words: str, stdin: bytes = b"", columns: int = 160) -> Result:
        for name in NODES.keys() & set(words):
            if not (tmp_path / name).exists():
                place(name, tmp_path)
        return cpuctl(*words, stdin=stdin, columns=columns, cwd=tmp_path)

    return call


@dataclass(frozen=True)
class Case:
    """A command line and its exit code."""

    name: str
    words: tuple[str, ...]
    code: int = 0


STATE = "var/lib/kubelet/cpu_manager_state"
NAMED = ("--pods", "pods.json")
CASES = [
    Case("audit a clean node", ("audit", "--root", "clean", *NAMED)),
    Case("audit a faulty node", ("audit", "--root", "faulty", *NAMED), 3),
    Case("audit without names", ("audit", "-m", "faulty"), 3),
    Case("audit version 1", ("audit", "-m", "faulty-v1", *NAMED), 3),
    Case("audit some checks", ("audit", "-m", "faulty", *NAMED, "--check", "quota, stale", "--exit-zero")),
    Case("show a clean node", ("cgroups", "show", "-m", "clean", *NAMED, "--exit-code")),
    Case("show a faulty node", ("cgroups", "show", "-m", "faulty", *NAMED)),
    Case("show without names", ("cgroups", "show", "-m", "faulty", "--exit-code"), 3),
    Case(
        "show version 1 with a known runtime",
        ("cgroups", "show", "-m", "faulty-v1", *NAMED, "--oci-runtime", "crun-1.23"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("form", ["table", "wide"])
def test_answers(case: Case, form: str, run: Run, snapshot: SnapshotAssertion) -> None:
    result = run(*case.words, "-o", form)
    assert result.code == case.code
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tables_fit_a_narrow_terminal(case: Case, run: Run) -> None:
    """Wide ones may be wider, but no word in them is broken."""
    result = run(*case.words, "-o", "table", columns=80)
    assert [line for line in drawn_lines(result.out) if len(line) > 80] == []
    narrow, whole = (run(*case.words, "-o", "wide", columns=width) for width in (80, NO_LIMIT))
    assert broken_words(narrow.out, whole.out, BLANKS) == set()


def answer(result: Result, code: int = 0) -> Any:
    assert result.code == code, result
    document = json.loads(result.out)
    follow_schema(document)
    return document


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(case: Case, run: Run) -> None:
    document = answer(run(*case.words, "-o", "json"), case.code)
    assert yaml.safe_load(run(*case.words, "-o", "yaml").out) == document


@pytest.mark.parametrize(
    ("words", "items"), [(("audit",), "findings"), (("cgroups", "show"), "groups")], ids=["audit", "show"]
)
def test_streams_have_one_item_a_line(words: tuple[str, ...], items: str, run: Run) -> None:
    lines = run(*words, "-m", "faulty", "-o", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == json.loads(run(*words, "-m", "faulty", "-o", "json").out)[
        items
    ]
    assert len(lines) > 3


def test_a_node_without_groups_is_not_reported_as_correct(tmp_path: Path, cpuctl: Cpuctl) -> None:
    machine = str(written(small_machine(), tmp_path / "dump"))
    shown = cpuctl("cgroups", "show", "-m", machine, "--exit-code")
    assert shown.code == 3
    assert shown.out.endswith(
        "\n0 groups, nothing to compare\n"
        "Next: specify a node that runs pods, by its recording (-m FILE) or its root directory (--root DIR)\n"
    )


def test_the_next_step_records_what_is_missing(cpuctl: Cpuctl) -> None:
    audited = cpuctl("audit", "-m", "fixtures/kubeadm/node7.tar.xz")
    assert audited.code == 3
    assert "not checked: cgroups: " in audited.out
    assert audited.out.endswith("\nNext, on the node while its pods run: sudo cpuctl capture NODE.tar.gz\n")


@pytest.mark.parametrize("words", [("audit",), ("cgroups", "show")], ids=["audit", "show"])
@pytest.mark.parametrize("name", NODES)
def test_a_recording_answers_as_the_node_did(words: tuple[str, ...], name: str, run: Run) -> None:
    assert run("capture", "--root", name, f"{name}.tar.xz").code == 0
    live = run(*words, "-m", name, *NAMED, "-o", "json")
    recorded = run(*words, "-m", f"{name}.tar.xz", *NAMED, "-o", "json")
    named = recorded.out.replace(f"-m {name}.tar.xz", f"-m {name}")
    assert {**json.loads(named), "sources": None} == {**json.loads(live.out), "sources": None}
    assert recorded.code == live.code


def test_an_anonymous_recording_gives_the_same_answer_without_names(run: Run) -> None:
    assert run("capture", "--root", "faulty", "a.tar.xz", "--anonymize").code == 0
    known = answer(run("audit", "-m", "faulty", "-o", "json"), 3)
    anonymous = answer(run("audit", "-m", "a.tar.xz", "-o", "json"), 3)
    assert [each["code"] for each in anonymous["findings"]] == [each["code"] for each in known["findings"]]
    sets = [[each["cpus"] for each in document["containers"]] for document in (known, anonymous)]
    assert sets[0] == sets[1]
    assert SERVER not in json.dumps(anonymous)


def test_what_could_not_be_read_while_recording_is_reported_as_closed(run: Run, tmp_path: Path) -> None:
    """If only root can read the state, the audit of another user cannot say that nothing is wrong."""
    node = place("clean", tmp_path)
    assert run("capture", "--root", "clean", "c.tar").code == 0
    with tarfile.open(tmp_path / "c.tar") as archive:
        archive.extractall(tmp_path / "c", filter="data")
    manifest = json.loads((tmp_path / "c" / "MANIFEST.json").read_text())
    manifest["unreadable"] = [{"path": STATE, "reason": "permission denied"}]
    (tmp_path / "c" / "MANIFEST.json").write_text(json.dumps(manifest))
    (tmp_path / "c" / STATE).unlink()
    document = answer(run("audit", "-m", "c", "-o", "json"), 3)
    assert [each["code"] for each in document["findings"]] == ["state-closed"]
    assert document["node"]["cpuManagerState"] == "unreadable"
    assert document["unreadable"] == [{"path": f"/{STATE}", "reason": "permission denied"}]
    (node / STATE).unlink()
    document = answer(run("audit", "-m", "clean", "-o", "json"), 3)
    assert [each["code"] for each in document["findings"]] == ["state-missing"]


def test_a_wrong_list_and_the_memory_that_it_misplaced_are_one_finding(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    node = clean_node()
    node.cpuset(node.server, cpus=OWN, mems="0-1")
    memory_elsewhere(node)
    root = written(with_kubelet_files(node).files, tmp_path / "node")
    document = answer(cpuctl("audit", str(root), "--check", "mems,memory", "-o", "json"), 3)
    (finding,) = document["findings"]
    assert (finding["code"], "; migratepages 90 1 0" in finding["fix"]) == ("mems-differ", True)


def test_the_plan_records_what_must_not_have_changed(run: Run) -> None:
    plan = answer(run("audit", "-m", "faulty", *NAMED, "-o", "plan"), 3)
    assert [each["path"] for each in plan["state"]] == [
        "/var/lib/kubelet/cpu_manager_state",
        "/var/lib/kubelet/memory_manager_state",
    ]
    front, server = plan["groups"]
    assert front["cpus"] == {"now": "0-7", "desired": "0,2-4,6-7", "effective": "0-7"}
    assert (front["mems"], front["process"]) == (None, {"pid": 95, "startTime": 950})
    assert (server["cpus"], server["mems"]) == (None, {"now": "0-1", "desired": "0", "effective": "0-1"})
    assert server["owner"]["containerID"] == SERVER
    assert server["path"].endswith(f"/cri-containerd-{SERVER}.scope")


def test_a_clean_node_needs_no_plan(run: Run) -> None:
    assert answer(run("audit", "-m", "clean", "-o", "plan"))["groups"] == []


def test_a_node_without_control_groups_has_nothing_to_show(run: Run, cpuctl: Cpuctl) -> None:
    machine = "fixtures/machines/2s-2numa-32cpu.tar.xz"
    document = answer(cpuctl("cgroups", "show", "-m", machine, "-o", "json"))
    assert (document["groups"], document["node"]["cgroupVersion"]) == ([], None)
    audited = cpuctl("audit", "-m", machine, "-o", "json")
    document = answer(audited, 3)
    assert document["findings"] == []
    missing = [each["missing"].partition(":")[0] for each in document["unchecked"]]
    assert missing == ["the kubelet's cpu_manager_state", "cgroups", "processes", "interrupts"]
    table = cpuctl("audit", "-q", "-m", machine)
    assert "no findings in what could be checked" in table.out
    assert "not checked: interrupts: where they are delivered is unknown (checks: interrupts)" in table.out
    assert cpuctl("audit", "-m", machine, "--exit-zero").code == 0
    only = answer(cpuctl("audit", "-m", machine, "--check", "quota", "-o", "json"), 3)
    assert [each["checks"] for each in only["unchecked"]] == [["quota"], ["quota"]]


def test_interrupts_are_read_even_without_their_directories(run: Run, tmp_path: Path) -> None:
    """must-gather copies /proc/interrupts and files below /proc/irq, but no empty directories."""
    node = place("clean", tmp_path)
    for each in (node / "proc/irq").glob("*/*"):
        if each.is_dir():
            shutil.rmtree(each)
    heading = "".join(f"{f'CPU{cpu}':>11}" for cpu in range(8))
    counts = "".join(f"{5:>11}" for _ in range(8))
    table = (
        f"    {heading}\n 24:{counts}  PCI-MSI 1-edge      eth0\n 99:{counts}  PCI-MSI 2-edge      nvme0q1\n"
    )
    (node / "proc/interrupts").write_text(table)
    reported = json.loads(run("audit", "-m", "clean", "-o", "json").out)
    assert reported["summary"]["interrupts"] == 2
    assert reported["unchecked"] == []
    shutil.rmtree(node / "proc/irq")
    reported = answer(run("audit", "-m", "clean", "-o", "json"), 3)
    (finding,) = reported["findings"]
    assert (finding["code"], finding["severity"]) == ("interrupts-delivered", "note")
    assert "24 (eth0): " in finding["message"]
    (gap,) = reported["unchecked"]
    assert gap["missing"] == "interrupt affinities (/proc/irq): only interrupt counts are known"


def test_a_complete_node_has_nothing_unchecked(run: Run, tmp_path: Path) -> None:
    place("clean", tmp_path)
    assert json.loads(run("audit", "-m", "clean", "-o", "json").out)["unchecked"] == []


def test_reserved_cpus_are_unknown_if_the_configuration_cannot_be_loaded(run: Run, tmp_path: Path) -> None:
    """The running kubelet has read another one: everything else is audited."""
    (place("clean", tmp_path) / "var/lib/kubelet/config.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: many\n"
    )
    result = run("audit", "-m", "clean", "-o", "json")
    reported = json.loads(result.out)
    follow_schema(reported, "audit")
    assert (result.code, reported["findings"], reported["node"]["reserved"]) == (3, [], None)
    (gap,) = reported["unchecked"]
    assert gap["missing"] == (
        "the kubelet's configuration: cannot be loaded: clean: var/lib/kubelet/config.yaml:3: maxPods: "
        'expected a whole number, found the string "many" (see cpuctl config check); reserved '
        "CPUs and quotas are unknown"
    )
    planned = run("audit", "-m", "clean", "-o", "plan")
    assert (planned.code, planned.out) == (4, "")


def test_this_host_can_be_audited(cpuctl: Cpuctl) -> None:
    assert cpuctl("audit", "-q", "--exit-zero").code == 0
    assert cpuctl("cgroups", "show", "-q").code == 0


def test_a_state_that_no_kubelet_would_load_is_a_finding(run: Run, tmp_path: Path) -> None:
    (place("clean", tmp_path) / STATE).write_text('{"policyName":"static"')
    document = answer(run("audit", "-m", "clean", "-o", "json"), 3)
    assert [each["code"] for each in document["findings"]] == ["state-unusable"]
    assert {each["verdict"] for each in document["containers"]} == {"not checked"}
    assert document["node"]["cpuManagerState"] == "unusable"
    shown = run("cgroups", "show", "-m", "clean").out
    assert shown.startswith("cgroup v2, CPU Manager state that no kubelet would load\n")


def test_another_state_can_be_specified(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    text = (place("clean", tmp_path) / STATE).read_text()
    (other / "cpu_manager_state").write_text(text.replace('"1,5"', '"1"'))
    assert answer(run("audit", "-m", "clean", "--state", "other", "-o", "json"), 3)["findings"]


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (("audit", "--check", "cpu"), "--check: unknown check 'cpu'"),
        (("audit", "--root", "clean", "-m", "faulty"), "--root: -m specifies another node"),
        (("watch", "--for", "1s", "--root", "/etc/hostname"), "--root: /etc/hostname is not a directory"),
        (("audit", "-m", "synthetic:2c"), "synthetic:2c: this is a description, not a running node"),
        (("audit", "--state", "-", "--pods", "-"), "standard input (-) is used twice"),
        (("cgroups", "show", "--oci-runtime", "rkt"), "expected runc or crun"),
    ],
)
def test_invalid_options(words: tuple[str, ...], want: str, run: Run) -> None:
    result = run(*words)
    assert (result.code, result.out) == (2, "")
    assert want in result.err


@pytest.mark.parametrize("broken", [False, True])
def test_recorded_devices_are_checked(tmp_path: Path, cpuctl: Cpuctl, *, broken: bool) -> None:
    root = written(with_kubelet_files(clean_node()).files, tmp_path / "node")
    path = root / "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
    path.parent.mkdir(parents=True)
    entry = {
        "PodUID": "gone",
        "ContainerName": "main",
        "ResourceName": "x.com/gpu",
        "DeviceIDs": {0: ["g0"]},
        "AllocResp": None,
    }
    data = {"PodDeviceEntries": [entry], "RegisteredDevices": {"x.com/gpu": ["g0"]}}
    text = device_state.BY_NODE.write({"Data": data, "Checksum": 0})
    path.write_text("{" if broken else text)
    result = cpuctl("audit", "-m", str(root), "--check", "devices", "-o", "json")
    codes = [each["code"] for each in json.loads(result.out)["findings"]]
    assert codes == (["devices-unusable"] if broken else ["stale-devices"])


def shown_files(run: Run, *words: str) -> dict[str, Any]:
    """Return the files of the database's container as ``cgroups show`` reports them."""
    document = answer(run("cgroups", "show", "-m", "clean", *NAMED, *words, "-o", "json"))
    (found,) = (each["files"] for each in document["groups"] if each["path"].endswith(f"{SERVER}.scope"))
    files: dict[str, Any] = found
    return files


@pytest.mark.parametrize(
    ("words", "quota"),
    [
        (("--kubelet-version", "1.32"), "200000 100000"),
        (("--kubelet-version", "1.33"), "max 100000"),
        (
            ("--kubelet-version", "1.33", "--feature-gates", "DisableCPUQuotaWithExclusiveCPUs=false"),
            "200000 100000",
        ),
    ],
)
def test_the_quota_of_exclusive_cpus_depends_on_the_release_and_its_gate(
    words: tuple[str, ...], quota: str, run: Run
) -> None:
    shown = shown_files(run, *words)["cpu.max"]
    assert shown == {"actual": "max 100000", "expected": [quota], "differs": quota != "max 100000"}


@pytest.mark.parametrize(
    ("words", "high", "minimum"),
    [
        (("--kubelet-version", "1.35"), [], []),
        # If requests equal limits, there is nothing to throttle.
        (("--kubelet-version", "1.35", "--feature-gates", "MemoryQoS=true"), [], [str(1 << 30)]),
        (("--kubelet-version", "1.36", "--feature-gates", "MemoryQoS=true"), [], ["0"]),
    ],
)
def test_memory_limits_and_protection_depend_on_the_gate_and_the_release(
    words: tuple[str, ...], high: list[str], minimum: list[str], run: Run, tmp_path: Path
) -> None:
    node = clean_node()
    for name, text in {"max": 1 << 29, "high": "max", "min": 0, "low": 0}.items():
        node.put("memory", node.server, f"memory.{name}", str(text))
    written(with_kubelet_files(node).files, tmp_path / "clean")
    shown = shown_files(run, *words)
    assert shown["memory.max"] == {"actual": str(1 << 29), "expected": [str(1 << 30)], "differs": True}
    assert (shown["memory.high"]["expected"], shown["memory.min"]["expected"]) == (high, minimum)


@pytest.mark.parametrize(("gates", "high"), [("", None), ("MemoryQoS=true", 0.9)])
def test_memory_of_a_container_that_may_grow_is_throttled_below_its_limit(
    gates: str, high: float | None, run: Run, tmp_path: Path
) -> None:
    node = clean_node()
    node.put("memory", node.server, "memory.max", "max")
    node.put("memory", node.server, "memory.high", "max")
    written(with_kubelet_files(node).files, tmp_path / "clean")
    pods = json.loads(json.dumps(PODS))
    limits = pods["items"][0]["spec"]["containers"][0]["resources"]
    limits["requests"] = {**limits["limits"], "memory": "512Mi"}
    (tmp_path / "pods.json").write_text(json.dumps(pods))
    shown = shown_files(run, "--kubelet-version", "1.36", "--feature-gates", gates)["memory.high"]
    half = 1 << 29
    assert shown["expected"] == ([] if high is None else [str(int(half + half * high) // 4096 * 4096)])


def test_a_plan_reports_the_wrong_sets_that_it_cannot_correct(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Without --pods, a pod's container may be any of several: an empty plan is no answer."""
    node = clean_node()
    node.cpuset(node.server, cpus="2", mems="0")
    written(with_kubelet_files(node).files, tmp_path / "node")
    (tmp_path / "pods.json").write_text(json.dumps(PODS))
    audit = ("audit", "--root", f"{tmp_path}/node", "-o", "plan", "--exit-zero")
    result = cpuctl(*audit)
    assert answer(result)["groups"] == []
    assert result.err == (
        "warning: 1 wrong CPU set is not in the plan, because the container's name is unknown "
        f"(use --pods FILE): {DATABASE}/{SERVER[:12]}\n"
    )
    named = cpuctl(*audit, "--pods", f"{tmp_path}/pods.json")
    assert (len(answer(named)["groups"]), named.err) == (1, "")
