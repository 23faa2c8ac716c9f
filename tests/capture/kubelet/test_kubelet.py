"""The kubelet's files and flags: found where it has them, reduced to what is not secret."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from cpuctl.capture.anonymous import anonymized
from cpuctl.capture.collected import FileState, Unreadable
from cpuctl.capture.kubelet import files as kubelet_files
from cpuctl.capture.kubelet.redaction import reduced_configuration
from cpuctl.capture.kubelet.running import kept_flags
from cpuctl.capture.node.node import record
from tests.capture.node_texts import (
    COMMAND,
    CONFIG,
    CPU_STATE,
    FLAGS,
    SECRETS,
    UID,
    node,
    node_texts,
    process,
    recorded,
)

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SERVICE = "/system.slice/kubelet.service"


@dataclass(frozen=True)
class Flags:
    name: str
    arguments: tuple[str, ...]
    want: tuple[str, ...]


FLAG_CASES = [
    Flags("a value behind =", ("--max-pods=5",), ("--max-pods=5",)),
    Flags("a value that follows", ("--max-pods", "5", "--root-dir=/k"), ("--max-pods=5", "--root-dir=/k")),
    Flags(
        "a switch has no value", ("--fail-swap-on", "--max-pods=5"), ("--fail-swap-on=true", "--max-pods=5")
    ),
    Flags("a switch turned off", ("--fail-swap-on=false",), ("--fail-swap-on=false",)),
    Flags("underscores", ("--cpu_manager_policy=static",), ("--cpu-manager-policy=static",)),
    Flags("an empty value", ("--reserved-cpus=",), ("--reserved-cpus=",)),
    Flags("a value that is missing", ("--max-pods",), ("--max-pods=",)),
    Flags("secrets", ("--token=X", "--token", "X", "-v=2", "X", "--kubeconfig=/k"), ()),
    Flags("values that hold =", ("--feature-gates=A=true,B=false",), ("--feature-gates=A=true,B=false",)),
    Flags("nothing after --", ("--", "--max-pods=5"), ()),
    Flags("one dash is another flag", ("-max-pods=5",), ()),
    Flags("repeated", ("--max-pods=5", "--max-pods=6"), ("--max-pods=5", "--max-pods=6")),
]


@pytest.mark.parametrize("case", FLAG_CASES, ids=lambda case: case.name)
def test_flags_are_reduced_to_known_ones(case: Flags) -> None:
    assert tuple(kept_flags(case.arguments)) == case.want


def test_a_configuration_keeps_what_resource_managers_read() -> None:
    assert json.loads(reduced_configuration(CONFIG)) == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "kubeletCgroups": "/acme.slice",
    }


def test_a_drop_ins_deletion_and_spelling_stay() -> None:
    """``null`` deletes a field, and drop-in files may write its name in any case."""
    reduced = json.loads(reduced_configuration(f"{HEAD}cpumanagerpolicy: none\nevictionHard: null\n"))
    assert reduced["cpumanagerpolicy"] == "none"
    assert reduced["evictionHard"] is None


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("{", "it is not YAML or JSON"),
        ("", "it is not a KubeletConfiguration"),
        ("root:x:0:0:SECRET\n: : :", "it is not a KubeletConfiguration"),
        ("root: x: SECRET", "it is not YAML or JSON"),
        ("kind: Config\nusers: [SECRET]\n", "it is not a KubeletConfiguration"),
        ("- SECRET\n", "it is not a KubeletConfiguration"),
    ],
)
def test_an_invalid_configuration_is_not_quoted(text: str, want: str) -> None:
    with pytest.raises(ValueError, match=f"^{want}$"):
        reduced_configuration(text)


def test_the_running_kubelet_determines_where_its_files_are() -> None:
    texts = {
        **process(7, "kubelet", SERVICE, "kubelet", "--config=etc/k.yaml", "--root-dir=/data/kubelet/"),
        "etc/k.yaml": f"{HEAD}maxPods: 5\n",
        "var/lib/kubelet/config.yaml": f"{HEAD}maxPods: 6\n",
        "data/kubelet/cpu_manager_state": CPU_STATE,
        "var/lib/kubelet/memory_manager_state": "{}",
    }
    collected = recorded(texts)
    kept = {path: text for path, text in collected.members.items() if path.startswith("var/")}
    assert set(kept) == {"var/lib/kubelet/config.yaml", "var/lib/kubelet/cpu_manager_state"}
    assert json.loads(str(kept["var/lib/kubelet/config.yaml"]))["maxPods"] == 5
    assert collected.kubelet.config_path == "/etc/k.yaml"
    assert collected.kubelet.root_directory == "/data/kubelet"
    assert collected.kubelet.flags == ("--config=etc/k.yaml", "--root-dir=/data/kubelet/")


def test_a_kubelet_without_a_config_flag_has_no_configuration_although_a_file_exists() -> None:
    texts = process(7, "kubelet", SERVICE, "kubelet", "-v=2") | {"var/lib/kubelet/config.yaml": CONFIG}
    collected = recorded(texts)
    assert "var/lib/kubelet/config.yaml" not in collected.members
    assert (collected.kubelet.config_path, collected.kubelet.config_state) == ("", FileState.ABSENT)
    assert collected.kubelet.flags == ()


@dataclass(frozen=True)
class Stranger:
    name: str
    texts: dict[str, str]


STRANGERS = [
    Stranger("another user's", process(7, "kubelet", "/", *COMMAND, user=1000)),
    Stranger("in a container, as in kind", process(7, "kubelet", "/", *COMMAND, ids="7 1")),
    Stranger("of another name", process(7, "kubelet2", "/", *COMMAND)),
    Stranger("ending", process(7, "kubelet", "/")),
]


@pytest.mark.parametrize("stranger", STRANGERS, ids=lambda stranger: stranger.name)
def test_only_the_nodes_own_kubelet_is_trusted(stranger: Stranger) -> None:
    facts = recorded(stranger.texts).kubelet
    assert facts.flags is None
    assert facts.config_path == "/var/lib/kubelet/config.yaml"


def test_without_a_running_kubelet_the_usual_places_are_recorded() -> None:
    texts = {
        "var/lib/kubelet/config.yaml": CONFIG,
        "etc/kubernetes/kubelet.conf.d/10-a.conf": f"{HEAD}maxPods: 7\n",
    }
    collected = recorded(texts)
    assert collected.kubelet.config_state is FileState.RECORDED
    assert collected.kubelet.drop_in_directory == "/etc/kubernetes/kubelet.conf.d"
    assert collected.kubelet.drop_ins_used is False
    assert "etc/kubernetes/kubelet.conf.d/10-a.conf" in collected.members


def test_drop_ins_are_recorded_from_their_directory() -> None:
    directory = "/opt/kubelet.d"
    texts = {
        **process(7, "kubelet", SERVICE, "kubelet", f"--config-dir={directory}"),
        "opt/kubelet.d/10-a.conf": f"{HEAD}maxPods: 7\nstaticPodURL: {SECRETS[0]}\n",
        "opt/kubelet.d/more/b.conf": f"{HEAD}maxPods: 8\n",
        "opt/kubelet.d/more.conf/c.conf": f"{HEAD}maxPods: 9\n",
        "opt/kubelet.d/readme.md": "hello",
        "opt/kubelet.d/wrong.conf": SECRETS[0],
    }
    collected = recorded(texts)
    start = "etc/kubernetes/kubelet.conf.d"
    kept = {path for path in collected.members if path.startswith("etc/")}
    assert kept == {f"{start}/10-a.conf", f"{start}/more/b.conf", f"{start}/more.conf/c.conf"}
    assert (collected.kubelet.drop_in_directory, collected.kubelet.drop_ins_used) == (directory, True)
    assert collected.unreadable == (
        Unreadable("opt/kubelet.d/wrong.conf", "it is not a KubeletConfiguration"),
    )


def test_the_number_of_drop_ins_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet_files, "MAX_DROP_INS", 2)
    files = {f"etc/kubernetes/kubelet.conf.d/{number}.conf": HEAD for number in range(9)}
    assert len([path for path in recorded(files).members if path.startswith("etc/")]) == 2


@pytest.mark.parametrize(
    ("closed", "state"),
    [("var/lib/kubelet/config.yaml", FileState.UNREADABLE), ("etc", FileState.RECORDED)],
)
def test_an_unreadable_configuration_is_not_absent(closed: str, state: FileState) -> None:
    collected = recorded(node_texts(), closed)
    assert collected.kubelet.config_state is state
    assert (Unreadable(closed, "permission denied") in collected.unreadable) == (state != "recorded")


def test_links_to_a_configuration_are_followed_inside_the_tree_only() -> None:
    texts = {"opt/real.yaml": f"{HEAD}maxPods: 7\n", "var/lib/kubelet/config.yaml": None}
    inside = record(node(texts, follow=lambda _: "opt/real.yaml"))
    assert "var/lib/kubelet/config.yaml" in inside.members
    outside = record(node(texts, follow=lambda _: None))
    assert outside.kubelet.config_state is FileState.UNREADABLE
    assert outside.unreadable == (
        Unreadable("var/lib/kubelet/config.yaml", "is a link out of the recorded tree"),
    )


def test_links_in_place_of_state_files_are_not_followed() -> None:
    """A state file is kept whatever it contains, so it must be the kubelet's own."""
    texts = {"var/lib/kubelet/cpu_manager_state": None, "etc/shadow": SECRETS[0]}
    assert not record(node(texts, follow=lambda _: "etc/shadow")).members


def test_the_whole_node() -> None:
    collected = recorded()
    assert collected.kubelet.flags == FLAGS
    assert collected.members["var/lib/kubelet/cpu_manager_state"] == CPU_STATE
    assert {path for path in collected.members if path.startswith(("var/", "etc/"))} == {
        "var/lib/kubelet/config.yaml",
        "var/lib/kubelet/cpu_manager_state",
    }
    assert collected.unreadable == ()


@pytest.mark.parametrize("path", ["var/run/cdi/dra.cpu.json", "run/cdi/dra.cpu.json"])
def test_prepared_claims_are_recorded(path: str) -> None:
    env = f"DRA_CPUSET_{UID}=2-5"
    device = {"name": f"claim-{UID}", "containerEdits": {"env": [env]}}
    text = json.dumps({"kind": "dra.k8s.io/cpu", "devices": [device]})
    collected = record(node({**node_texts(), path: text}))
    assert env in str(collected.members["var/run/cdi/dra.cpu.json"])
    hidden = str(anonymized(collected).members["var/run/cdi/dra.cpu.json"])
    pod = "00000000-0000-4000-8000-000000000001"
    assert f"DRA_CPUSET_{pod}=2-5" in hidden
    assert UID not in hidden
    broken = record(node({**node_texts(), path: "{"}))
    assert [each.reason for each in broken.unreadable] == ["it is not a CDI specification"]
