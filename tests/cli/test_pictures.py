"""``--svg`` and ``--html``: pictures in addition to the answer or in its place, as a whole file or none."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.exports.page import Markup
from tests.cli.conftest import ROOT, Cpuctl
from tests.support.pictures import Picture, letters, tooltip
from tests.support.state_files import KUBELET, MACHINE, write_pods, write_states

TWO_NODES = ("-m", str(ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz"))
STATIC = ("--kubelet-config", str(ROOT / "fixtures/kubelet/static.yaml"))
PLAN = ("plan", *TWO_NODES, *STATIC, "-f", str(ROOT / "fixtures/pods"))
TIMELINE = str(ROOT / "fixtures/timelines/scenario-3.yaml")
SECONDS = 60


def drawn(path: Path) -> Picture:
    return Picture(Markup(path.read_text("ascii")))


def owners(picture: Picture) -> dict[str, str]:
    """Return the CPUs of each mark, or of each use for CPUs without a mark."""
    found: dict[str, list[int]] = {}
    for cpu, group in picture.cpus.items():
        found.setdefault(group.attrib["data-owner"] or group.attrib["data-use"], []).append(cpu)
    return {key: str(CPUSet.of(cpus)) for key, cpus in found.items()}


# Contents


@pytest.mark.parametrize("words", [("topology",), ("topology", "map")], ids=" ".join)
def test_a_machine_is_drawn_in_addition_to_the_answer(
    words: tuple[str, ...], cpuctl: Cpuctl, tmp_path: Path
) -> None:
    plain = cpuctl(*words, *TWO_NODES)
    result = cpuctl(*words, *TWO_NODES, "--svg", "machine.svg", cwd=tmp_path)
    assert (result.code, result.out, result.err) == (0, plain.out, plain.err)
    assert owners(drawn(tmp_path / "machine.svg")) == {"plain": "0-31"}


def test_only_selected_cpus_are_drawn(cpuctl: Cpuctl, tmp_path: Path) -> None:
    cpuctl("topology", "map", *TWO_NODES, "--cpus", "node:1", "--svg", str(tmp_path / "a.svg"))
    picture = drawn(tmp_path / "a.svg")
    assert owners(picture) == {"plain": "16-31"}
    assert "only CPUs 16-31 are drawn" in {text.text for text in picture.texts()}


def test_states_of_cpus_are_drawn(cpuctl: Cpuctl, tmp_path: Path) -> None:
    machine = "synthetic:1s2n8c2t,offline=3+5,isolated=8-9,ecores=6-7"
    cpuctl("topology", "-m", machine, "--svg", str(tmp_path / "a.svg"))
    picture = drawn(tmp_path / "a.svg")
    assert owners(picture)["offline"] == "3,5"
    assert "isolated" in tooltip(picture.cpus[8])
    assert "efficiency" in tooltip(picture.cpus[6])


def test_a_plan_shows_each_cpu_with_its_owner(cpuctl: Cpuctl, tmp_path: Path) -> None:
    result = cpuctl(*PLAN, "-T", "odd=3/3,1Gi", "--svg", str(tmp_path / "a.svg"))
    assert result.code == 3
    picture = drawn(tmp_path / "a.svg")
    # The init container has passed its CPUs on to the server.
    assert owners(picture) == {"a": "2-7", "b": "8-15", "reserved": "0-1,16-17", "shared": "18-31"}
    assert tooltip(picture.cpus[3]).startswith("CPU 3; a shop/database server;")
    texts = {text.text for text in picture.texts()}
    assert {"8 pods: 7 admitted, 1 rejected", "not admitted: default/odd (SMTAlignmentError)"} <= texts
    assert {"0 of 16 free", "14 of 16 free", "telco/packet-gateway forwarder: 8-15"} <= texts


def test_a_plan_on_a_state_file_names_the_running_pods(cpuctl: Cpuctl, tmp_path: Path) -> None:
    write_states(tmp_path / "state")
    write_pods(tmp_path / "running.json")
    words = ("plan", "-m", MACHINE, "--kubelet-args", KUBELET, "-T", "new=2/2,1Gi")
    past = ("--state", str(tmp_path / "state"), "--pods", str(tmp_path / "running.json"))
    result = cpuctl(*words, *past, "--svg", str(tmp_path / "a.svg"))
    assert result.code == 0, result.out
    picture = drawn(tmp_path / "a.svg")
    found = owners(picture)
    # The CPUs of the new pod are taken from the shared pool of the state file.
    assert sorted(found.values()) == sorted(["0,8", "1-2,9-10", "5,13", "3,11", "4,6-7,12,14-15"])
    names = {tooltip(picture.cpus[cpu]).split(";")[1] for cpu in (1, 3, 5)}
    assert names == {" a default/new new", " b shop/db server", " c shop/web app"}


def test_a_plan_marks_isolated_cpus(cpuctl: Cpuctl, tmp_path: Path) -> None:
    words = ("plan", "-m", "synthetic:1s1n4c2t,isolated=2-3", "-T", "web=1/1,1Gi")
    cpuctl(*words, "--svg", str(tmp_path / "a.svg"))
    assert tooltip(drawn(tmp_path / "a.svg").cpus[2]).endswith("; isolated")


def test_without_a_policy_every_cpu_is_shared(cpuctl: Cpuctl, tmp_path: Path) -> None:
    cpuctl("plan", *TWO_NODES, "-T", "web=4/4,1Gi", "--svg", str(tmp_path / "a.svg"))
    assert owners(drawn(tmp_path / "a.svg")) == {"shared": "0-31"}


def test_if_the_kubelet_would_not_start_the_picture_says_so(cpuctl: Cpuctl, tmp_path: Path) -> None:
    files = ("--svg", str(tmp_path / "a.svg"), "--html", str(tmp_path / "a.html"))
    assert cpuctl("plan", "-m", "synthetic:1c", *STATIC, "-T", "web=1/1,1Gi", *files).code == 3
    picture = drawn(tmp_path / "a.svg")
    assert owners(picture) == {"plain": "0"}
    assert "The kubelet does not start" in {text.text for text in picture.texts()}
    assert "The kubelet would not start" in (tmp_path / "a.html").read_text()


def test_a_state_file_is_drawn_with_its_holders(cpuctl: Cpuctl, tmp_path: Path) -> None:
    write_states(tmp_path / "state")
    write_pods(tmp_path / "running.json")
    words = ("checkpoint", "dump", str(tmp_path / "state"), "-m", MACHINE, "-o", "json")
    named = ("--pods", str(tmp_path / "running.json"))
    plain = cpuctl(*words, *named)
    result = cpuctl(*words, *named, "--svg", str(tmp_path / "a.svg"))
    assert result.out == plain.out
    holders = {each["mark"]: each["cpus"] for each in json.loads(plain.out)["cpus"]["holders"]}
    found = owners(drawn(tmp_path / "a.svg"))
    assert {mark: cpus for mark, cpus in found.items() if mark in holders} == holders
    assert found["shared"] == json.loads(plain.out)["cpus"]["sharedPool"]
    assert "in the state file" not in (tmp_path / "a.svg").read_text()


def test_offline_cpus_of_a_state_file_are_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    state = '{"policyName":"static","defaultCpuSet":"0-1,3","entries":{"u":{"c":"2"}},"checksum":0}'
    (tmp_path / "cpu_manager_state").write_text(state)
    cpuctl(*("checkpoint", "dump", "-m", "synthetic:4c,offline=2+3", "--svg", "a.svg", "."), cwd=tmp_path)
    picture = drawn(tmp_path / "a.svg")
    assert owners(picture) == {"shared": "0-1", "a": "2", "offline": "3"}
    assert "offline, but in the state file: CPUs 2-3 (see" in (tmp_path / "a.svg").read_text()
    assert tooltip(picture.cpus[2]).startswith("CPU 2; a u c, offline;")
    assert tooltip(picture.cpus[3]).startswith("CPU 3; offline, in the shared pool;")


def test_a_replay_is_drawn_over_time(cpuctl: Cpuctl, tmp_path: Path) -> None:
    plain = cpuctl("replay", TIMELINE, "-o", "json")
    result = cpuctl("replay", TIMELINE, "-o", "json", "--svg", str(tmp_path / "a.svg"))
    assert result.out == plain.out
    chart: list[dict[str, Any]] = json.loads(plain.out)["chart"]
    groups = drawn(tmp_path / "a.svg").groups("use")
    assert {group.attrib["data-cpus"] for group in groups} == {row["cpus"] for row in chart}
    given_up = [group for group in groups if group.attrib["data-use"] == "leaving"]
    assert given_up
    assert all(letters(group) == ["a"] for group in given_up)


def test_a_live_replay_is_drawn_at_the_end(cpuctl: Cpuctl, tmp_path: Path) -> None:
    result = cpuctl("replay", TIMELINE, "--follow", "--speed", "10000x", "--svg", str(tmp_path / "a.svg"))
    assert result.code == 0
    assert drawn(tmp_path / "a.svg").groups("use")


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def test_the_page_has_placements_rejections_settings_and_inputs(cpuctl: Cpuctl, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = cpuctl(*PLAN, "-T", "odd=3/3,1Gi", "--capacity", "--html", str(page))
    assert result.code == 3
    cells = _Cells()
    cells.feed(page.read_text("ascii"))
    assert {"\N{MULTIPLICATION SIGN} 8 pods: 7 admitted, 1 rejected", "telco/packet-gateway", "8-15"} <= {
        *cells.texts
    }
    why = "SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
    assert why in cells.texts
    for heading in (
        "Not admitted",
        "Machine",
        "Placements",
        "Remaining resources",
        "Headroom",
        "Settings",
        "Inputs",
    ):
        assert heading in cells.texts
    assert {"cpuManagerPolicyOptions.full-pcpus-only", "true", TWO_NODES[1], "1.36", "default"} <= {
        *cells.texts
    }
    assert 'data-cpu="31"' in page.read_text()


def test_hostile_names_stay_names(cpuctl: Cpuctl, tmp_path: Path) -> None:
    write_states(tmp_path / "state")
    hostile = "</title><script>alert(1)</script>\x1b]]>\u202e"
    pods = json.loads((ROOT / "fixtures/resize/running.json").read_text())
    state = {
        "policyName": "static",
        "defaultCpuSet": "0-3",
        "entries": {hostile: {hostile: "4-5"}},
        "checksum": 0,
    }
    (tmp_path / "state" / "cpu_manager_state").write_text(json.dumps(state))
    assert pods
    cpuctl("checkpoint", "dump", str(tmp_path / "state"), "-m", MACHINE, "--svg", str(tmp_path / "a.svg"))
    picture = drawn(tmp_path / "a.svg")
    shown = r"</title><script>alert(1)</script>\x1b]]>\u202e"
    assert f"a {shown} {shown};" in tooltip(picture.cpus[4])
    assert not list(picture.root.iter("{http://www.w3.org/2000/svg}script"))


# Destinations


def test_a_dash_writes_the_picture_instead_of_the_answer(cpuctl: Cpuctl) -> None:
    done = process("topology", *TWO_NODES, "--svg", "-")
    assert done.returncode == 0
    assert sorted(Picture(Markup(done.stdout.decode("ascii"))).cpus) == list(range(32))
    assert process(*PLAN, "--html", "-").stdout.startswith(b"<!DOCTYPE html>\n")
    assert process("replay", TIMELINE, "--svg", "-").stdout.startswith(b"<svg ")


def process(*words: str, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "cpuctl", *words],
        capture_output="stdout" not in settings,
        check=False,
        cwd=ROOT,
        timeout=SECONDS,
        **settings,
    )


def test_the_same_input_gives_the_same_bytes() -> None:
    outputs = [
        process(*PLAN, "--html", "-", env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale}).stdout
        for seed, locale in (("1", "C"), ("2", "C.UTF-8"))
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 10_000


def test_a_file_is_replaced_only_with_force(cpuctl: Cpuctl, tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_text("mine")
    words = ("topology", "map", *TWO_NODES, "--svg", str(path))
    refused = cpuctl(*words)
    assert (refused.code, refused.out) == (2, "")
    assert path.read_text() == "mine"
    assert cpuctl(*words, "--force").code == 0
    assert len(drawn(path).cpus) == 32


def test_a_new_file_follows_the_umask(cpuctl: Cpuctl, tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        assert cpuctl("topology", *TWO_NODES, "--svg", str(tmp_path / "a.svg")).code == 0
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(mask)
    assert (tmp_path / "a.svg").stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_no_partial_file(tmp_path: Path) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = process("topology", *TWO_NODES, "--svg", str(tmp_path / "a.svg"), preexec_fn=small_files)
    assert done.returncode == 5
    assert done.stderr.startswith(f"error: {tmp_path}/a.svg: cannot be written: ".encode())
    assert done.stdout == b""
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_behind_stdout_is_reported() -> None:
    with Path("/dev/full").open("wb") as full:
        done = process("topology", *TWO_NODES, "--svg", "-", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 5
    assert done.stderr == b"error: stdout: the answer cannot be written: no space left on the device\n"


def test_a_closed_pipe_ends_it_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process("topology", *TWO_NODES, "--svg", "-", stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    plain_reading, plain_writing = os.pipe()
    os.close(plain_reading)
    try:
        plain = process("topology", *TWO_NODES, stdout=plain_writing, stderr=subprocess.PIPE)
    finally:
        os.close(plain_writing)
    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)
