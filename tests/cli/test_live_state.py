"""On the node itself, commands start from the state files in the kubelet's root directory."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.starting_state import StartingState, load_starting_state
from cpuctl.machine.sources import LIVE, MachineSource, read_machine
from cpuctl.machine.tree import DirectoryTree
from cpuctl.option_names import NO_STATE
from cpuctl.records import replace
from tests.capture.node_texts import process, written
from tests.cli.conftest import Cpuctl, Result
from tests.support.state_files import pod, write_pods

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
HELD = '{"policyName":"static","defaultCpuSet":"0,2-3","entries":{"u":{"c":"1"}},"checksum":0}'
STATIC = "--cpu-manager-policy=static --reserved-cpus=0 --fail-cgroupv1=false"


def started(root: Path, *flags: str, state: str = "", config: str | None = None) -> tuple[StartingState, Any]:
    """Start from the state of a host whose kubelet runs with its root directory at *root*."""
    node = written(process(70, "kubelet", "/", "kubelet", *flags), root / "node")
    synthetic: MachineSource = read_machine("synthetic:1s1n4c1t")
    machine = replace(synthetic, origin=LIVE, files=DirectoryTree(node))
    sources = Sources()
    inputs = KubeletInputs(config=config, arguments=f"--root-dir={root}/kubelet", version="1.34")
    kubelet = load_kubelet(inputs, sources, machine=machine).kubelet
    return load_starting_state(state, "", machine, kubelet, sources), sources.entries


@pytest.fixture
def kubelet(tmp_path: Path) -> Path:
    """Write a kubelet's directory with CPU 1 of a pod."""
    (tmp_path / "kubelet").mkdir()
    (tmp_path / "kubelet" / "cpu_manager_state").write_text(HELD)
    return tmp_path


def test_the_files_of_the_root_directory_are_used(kubelet: Path) -> None:
    initial, sources = started(kubelet)
    assert (initial.texts, initial.known) == ({"cpu_manager_state": HELD}, False)
    assert sources["state"] == {"value": f"{kubelet}/kubelet/cpu_manager_state", "from": "live"}


def test_without_files_the_node_is_empty_and_the_reason_is_stated(tmp_path: Path) -> None:
    initial, sources = started(tmp_path)
    assert initial.texts == {}
    missing = f"{tmp_path}/kubelet/cpu_manager_state"
    assert sources["state"] == {
        "value": f"none, as on a fresh node, because there is no {missing}",
        "from": "default",
    }


def test_an_empty_node_can_be_requested(kubelet: Path) -> None:
    initial, sources = started(kubelet, state=NO_STATE)
    assert (initial.texts, sources["state"]["from"]) == ({}, "given")


def test_another_configuration_is_tried_on_an_empty_node(kubelet: Path) -> None:
    """As with a recording: a kubelet rejects a state that it did not write."""
    (kubelet / "config.yaml").write_text(HEAD)
    initial, sources = started(kubelet, config=f"{kubelet}/config.yaml")
    assert initial.texts == {}
    assert f"use --state {kubelet}/kubelet to start from them" in sources["state"]["value"]


def node(cpuctl: Cpuctl, directory: Path, *words: str) -> Result:
    """Run a command on this host, whose kubelet has its files in *directory*."""
    arguments = f"{STATIC} --root-dir={directory}"
    return cpuctl(*words, "--kubelet-args", arguments, "--kubelet-version", "1.34")


POD = ("-T", "a=1/1,64Mi")
NEW = ("-T", "b=1/1,64Mi", "-o", "json")


@pytest.fixture
def directory(tmp_path: Path, cpuctl: Cpuctl) -> Path:
    """Write the files that the kubelet of this host would have with one pod."""
    done = node(cpuctl, tmp_path, "plan", "--state", "none", *POD, "--write-state", str(tmp_path))
    if done.code:
        pytest.skip("this host has a single CPU")
    return tmp_path


def decided(answer: Result) -> Any:
    document = json.loads(answer.out)
    return document["pods"] if "pods" in document else document["pod"]


@pytest.mark.parametrize("command", ["plan", "explain"])
def test_a_pod_is_decided_on_as_the_running_kubelet_would(
    command: str, directory: Path, cpuctl: Cpuctl
) -> None:
    """CPUs of running pods are not free: on the node itself, the pod was said to be admitted."""
    answer, named, empty = (
        node(cpuctl, directory, command, *state, *NEW)
        for state in ((), ("--state", str(directory)), ("--state", "none"))
    )
    assert decided(answer) == decided(named) != decided(empty)
    sources = json.loads(answer.out)["sources"]
    assert sources["state"] == {"value": f"{directory}/cpu_manager_state", "from": "live"}
    assert sources["memoryState"] == {"value": f"{directory}/memory_manager_state", "from": "live"}


def test_the_next_commands_are_run_as_root(directory: Path, cpuctl: Cpuctl) -> None:
    pods = ("-T", "huge=4096/4096,1Gi")
    answer = json.loads(node(cpuctl, directory, "plan", *pods, "-o", "json").out)
    command = shlex.split(answer["explain"])
    assert command[:4] == ["sudo", "cpuctl", "explain", "default/huge"]
    explained = cpuctl(*command[2:])
    assert (explained.code, "ANSWER" in explained.out) == (3, True), explained
    assert "Next, to see what is free and what else fits: sudo cpuctl plan --capacity" in explained.out
    empty = json.loads(node(cpuctl, directory, "plan", "--state", "none", *pods, "-o", "json").out)
    assert empty["explain"].startswith("cpuctl explain ")


def test_settings_are_searched_without_state_files_and_thus_not_as_root(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """The search starts from an empty node: it reads nothing that belongs to root."""
    (tmp_path / "cpu_manager_state").write_text(
        '{"policyName":"none","defaultCpuSet":"","entries":{},"checksum":0}'
    )
    arguments = f"--fail-cgroupv1=false --root-dir={tmp_path}"
    answer = cpuctl("plan", *POD, "--kubelet-args", arguments, "--kubelet-version", "1.34", "-o", "json")
    document = json.loads(answer.out)
    assert document["sources"]["state"]["from"] == "live"
    assert document["next"].startswith("cpuctl advise ")


def test_a_rejected_pod_is_explained_with_the_state_of_the_root_directory(
    directory: Path, cpuctl: Cpuctl
) -> None:
    config, pods = directory / "kubelet.yaml", directory / "pods.json"
    config.write_text(f'{HEAD}reservedSystemCPUs: "0"\n')
    huge = pod("u", "huge", "c", 4096, 1)
    del huge["status"]["containerStatuses"]
    write_pods(pods, huge)
    words = ("--kubelet-config", str(config), "--pods", str(pods))
    answer = node(cpuctl, directory, "checkpoint", "verify", *words)
    assert "  see: sudo cpuctl explain " in answer.out
    assert f" --state {directory} " in answer.out


def test_a_start_that_fails_on_a_state_file_leads_to_the_check_of_the_files(
    directory: Path, cpuctl: Cpuctl
) -> None:
    (directory / "cpu_manager_state").write_text(HELD.replace("0,2-3", "9999"))
    answer = node(cpuctl, directory, "plan", *POD)
    assert answer.code == 3
    assert ": sudo cpuctl checkpoint verify " in answer.out


@pytest.mark.parametrize(
    "words", [("advise", *POD), ("checkpoint", "new", *POD)], ids=["advise", "checkpoint new"]
)
def test_questions_about_an_empty_node_stay_such(
    words: tuple[str, ...], directory: Path, cpuctl: Cpuctl
) -> None:
    answer = node(cpuctl, directory, *words, "-o", "json")
    state = json.loads(answer.out)["sources"]["state"]
    assert state == {"value": "none, as on a fresh node", "from": "given"}, answer


def test_the_node_resource_topology_counts_what_is_held(directory: Path, cpuctl: Cpuctl) -> None:
    answers = (
        node(cpuctl, at, "topology", "show", "-o", "nrt").out for at in (directory, directory / "none")
    )
    held, empty = (
        sum(
            int(resource["available"])
            for zone in yaml.safe_load(text)["zones"]
            for resource in zone["resources"]
            if resource["name"] == "cpu"
        )
        for text in answers
    )
    assert empty - held == 1
