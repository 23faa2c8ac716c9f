"""``plan -o memory-qos|balloons|crictl|systemd``: input for other programs that carry out a plan."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuctl.answering.plan.carrying_out import WAYS, Carried, balloons, crictl, memory_qos, systemd
from cpuctl.cli.plan import FOR_RUNTIMES, PlanOutput
from cpuctl.records import replace
from tests.cli.conftest import ROOT, Cpuctl
from tests.support.state_files import CPU_STATE, DB, KUBELET, MACHINE, WEB, cpus, write_states

TWO = str(ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz")
SINGLE = ("--kubelet-config", str(ROOT / "fixtures/kubelet/single-numa-node.yaml"))
WORDS = ("plan", "-m", TWO, "--kubelet-version", "1.36", "-q")
PODS = ("-T", "b=1/2,1Gi", "-T", "a=4/4,1Gi")
UID = "5f1c2d3e-0000-4000-8000-00000000000a"
HOSTILE = "x'; reboot #\n$(id)"
PLAN: Any = {"node": {"reservedCPUs": "0-1"}, "after": {"sharedPool": "0-1,4-7"}}
"""The parts of a plan that the texts use."""
ODD = [
    Carried(HOSTILE, HOSTILE, HOSTILE, "2-3", "0", own=True, runs=False, uid=f"../../{HOSTILE}"),
    Carried("shop", "web", "c" * 60, "0-1,4-7", "", own=False, runs=True),
]


def reported(cpuctl: Cpuctl, way: str, *words: str, code: int = 0) -> str:
    result = cpuctl(*WORDS, "-o", way, *SINGLE, *(words or PODS))
    assert result.code == code, result
    return result.out


def test_annotations_of_memory_qos(cpuctl: Cpuctl) -> None:
    text = reported(cpuctl, "memory-qos")
    pods = list(yaml.safe_load_all(text))
    assert {pod["metadata"]["name"]: pod["metadata"]["annotations"] for pod in pods} == {
        "b": {"cpuset.cpus.memory-qos.nri.io/b": "0-1,6-31"},
        "a": {"cpuset.cpus.memory-qos.nri.io/a": "2-5", "cpuset.mems.memory-qos.nri.io/a": "0"},
    }
    assert "# unifiedannotations: [cpuset.cpus, cpuset.mems]" in text


def test_a_balloon_for_each_container_with_exclusive_cpus(cpuctl: Cpuctl) -> None:
    policy, pod = yaml.safe_load_all(reported(cpuctl, "balloons"))
    assert (policy["apiVersion"], policy["kind"]) == ("config.nri/v1alpha1", "BalloonsPolicy")
    assert policy["spec"]["reservedResources"] == {"cpu": "cpuset:0-1,16-17"}
    (kind,) = policy["spec"]["balloonTypes"]
    assert {key: kind[key] for key in ("name", "minCPUs", "maxCPUs", "minBalloons", "maxBalloons")} == {
        "name": "planned-1",
        "minCPUs": 4,
        "maxCPUs": 4,
        "minBalloons": 1,
        "maxBalloons": 1,
    }
    assert kind["preferCloseToDevices"][0] == "/sys/devices/system/cpu/cpu2/cache/index2"
    key = "balloon.balloons.resource-policy.nri.io/container.a"
    assert pod["metadata"]["annotations"] == {key: "planned-1"}


def test_a_script_moves_containers_with_shared_cpus_first(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A crictl that prints its arguments stands in for the runtime."""
    fake = tmp_path / "crictl"
    print_id = 'echo id-of-"$8" | sed s/io.kubernetes.pod.name=//'
    fake.write_text(f'#!/bin/sh\n[ "$1" = ps ] && {{ {print_id}; exit; }}\necho "$@"\n')
    fake.chmod(0o755)
    script = reported(cpuctl, "crictl")
    ran = subprocess.run(
        ["/bin/sh", "-c", script],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == [
        "update --cpuset-cpus 0-1,6-31 id-of-b",
        "update --cpuset-cpus 2-5 --cpuset-mems 0 id-of-a",
    ]


NAMED_A = (
    "io.kubernetes.pod.namespace=default --label io.kubernetes.pod.name=a"
    " --label io.kubernetes.container.name=a"
)


@pytest.fixture
def unnamed(tmp_path: Path) -> tuple[str, ...]:
    """Return a plan beside a running pod with shared CPUs, of which the state files have only the UID."""
    cpu = replace(CPU_STATE, default_cpu_set=CPU_STATE.default_cpu_set | cpus("5,13"))
    cpu = replace(cpu, entries={DB: CPU_STATE.entries[DB]})
    state = str(write_states(tmp_path / "state", cpu))
    node = ("-m", MACHINE, "--kubelet-args", KUBELET, "--kubelet-version", "1.36", "--state", state)
    return ("plan", *node, "-T", "a=2/2,1Gi", "-q", "-o")


def test_a_pod_without_a_known_name_is_matched_by_its_uid(unnamed: tuple[str, ...], cpuctl: Cpuctl) -> None:
    (answer,) = json.loads(cpuctl(*unnamed, "nri").out)["answers"]
    assert [each["match"] for each in answer["update"]] == [
        {"namespace": "", "pod": "", "container": "app", "uid": WEB}
    ]
    assert f'Already running, so it cannot be changed: "{WEB}/app"' in cpuctl(*unnamed, "memory-qos").out
    for way in ("systemd", "balloons"):
        assert WEB not in cpuctl(*unnamed, way).out


def test_a_pod_without_a_known_name_is_moved_by_its_uid(
    unnamed: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    script = cpuctl(*unnamed, "crictl").out
    fake = tmp_path / "crictl"
    fake.write_text('#!/bin/sh\n[ "$1" = update ] || echo "$@" >&2\n')
    fake.chmod(0o755)
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run(["/bin/sh", "-c", script], env=path, capture_output=True, text=True, check=True)
    listed = "ps --quiet --state running --label"
    assert ran.stderr.splitlines() == [
        f"{listed} io.kubernetes.pod.uid={WEB} --label io.kubernetes.container.name=app",
        f"not running: {WEB}/app",
        f"{listed} {NAMED_A}",
        "not running: default/a/a",
    ]


def test_drop_ins_keep_the_host_off_exclusive_cpus_and_bound_existing_pods(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    text = reported(cpuctl, "systemd")
    assert '# No UID yet, so its slice has no name: "default/a"' in text
    resources = {"limits": {"cpu": "4", "memory": "1Gi"}}
    spec = {"containers": [{"name": "app", "resources": resources}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "real", "uid": UID}, "spec": spec}
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    units = drop_ins(reported(cpuctl, "systemd", "-f", str(tmp_path / "pod.json")))
    host = "AllowedCPUs=0-1,6-31"
    assert units == {
        "init.scope": ["[Scope]", host],
        "system.slice": ["[Slice]", host],
        "user.slice": ["[Slice]", host],
        "kubepods-pod5f1c2d3e_0000_4000_8000_00000000000a.slice": [
            "[Slice]",
            "AllowedCPUs=2-5",
            "AllowedMemoryNodes=0",
        ],
    }


def drop_ins(text: str) -> dict[str, list[str]]:
    """Parse the text, as ``systemctl cat`` prints it: the lines of every unit's drop-in."""
    found: dict[str, list[str]] = {}
    for block in text.split("\n# /etc/systemd/system/")[1:]:
        path, *lines = block.strip().split("\n")
        found[path.removesuffix(".d/50-cpuctl.conf")] = [line for line in lines if line[:1] not in ("#", "")]
    return found


@pytest.mark.parametrize("way", WAYS)
def test_hostile_names_are_escaped(way: str) -> None:
    text = WAYS[way](ODD, PLAN)
    for line in text.splitlines():
        assert not line.startswith("reboot"), line
    assert "../.." not in text
    if way in ("memory-qos", "balloons"):
        names = {each["metadata"]["name"] for each in yaml.safe_load_all(text) if each["kind"] == "Pod"}
        assert names == {HOSTILE}
    if way == "crictl":
        requested = 'set -eu\ncrictl() { [ "$1" = ps ] && echo id; :; }\n' + text.replace("#!/bin/sh", "")
        ran = subprocess.run(["bash", "-c", requested], capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_what_cannot_be_changed_is_reported() -> None:
    folded = memory_qos(ODD, PLAN).replace("\n# ", " ")
    assert f'Already running, so it cannot be changed: "shop/web/{"c" * 60}"' in folded
    long = [Carried("a", "b", "c" * 60, "2-3", "", own=True, runs=False)]
    folded = balloons(long, PLAN).replace("\n# ", " ")
    assert f'Name too long for an annotation, skipped: "a/b/{"c" * 60}"' in folded
    assert "move 'shop' 'web'" in crictl(ODD, PLAN)
    assert "No UID yet" in systemd(ODD, PLAN)


def test_nothing_is_written_if_the_kubelet_does_not_start(cpuctl: Cpuctl) -> None:
    result = cpuctl(*WORDS, "--kubelet-args", "--cpu-manager-policy=static", "-T", "a=1/1", "-o", "crictl")
    assert (result.code, result.out, "The kubelet would not start" in result.err) == (3, "", True)
    both = cpuctl(*WORDS, *SINGLE, *PODS, "-o", "systemd", "--compare", ".", "1.37")
    assert (both.code, "-o systemd: cannot be used with --compare" in both.err) == (2, True)


@pytest.mark.parametrize("way", WAYS)
def test_without_a_policy_no_container_has_exclusive_cpus(way: str, cpuctl: Cpuctl) -> None:
    result = cpuctl(*WORDS, "-o", way, *PODS)
    assert (result.code, "AllowedCPUs" in result.out, "planned-1" in result.out) == (0, False, False)
    if way == "balloons":
        (policy,) = yaml.safe_load_all(result.out)
        assert policy["spec"]["reservedResources"] == {"cpu": "1"}


def test_without_a_policy_a_warning_names_the_options_that_plan_with_one(cpuctl: Cpuctl) -> None:
    words = [word for word in WORDS if word != "-q"]
    advice = "so containers have no exclusive CPUs: to plan as if the policy were static, add --kubelet-args"
    assert advice in cpuctl(*words, "-o", "crictl", *PODS).err
    assert advice not in cpuctl(*words, *SINGLE, "-o", "crictl", *PODS).err


def test_every_way_has_its_output_form() -> None:
    assert {PlanOutput.NRI, *WAYS} == FOR_RUNTIMES
