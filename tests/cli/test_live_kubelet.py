"""The kubelet that runs on this host: its flags, files and drop-ins are those that it was started with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cpuctl.answers.values import Source
from cpuctl.capture.kubelet.live import live_kubelet
from cpuctl.capture.recorded_kubelet import RecordedKubelet
from cpuctl.errors import InputError
from cpuctl.inputs.configuration import KubeletInputs, LoadedKubelet
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.machine.sources import LIVE, MachineSource, read_machine
from cpuctl.machine.tree import DirectoryTree
from cpuctl.records import replace
from tests.capture.node_texts import process, written

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FLAGS = ("--config-dir=etc/d", "--max_pods", "77", "--hostname-override=n", "--bootstrap-token=secret")


def found(root: Path, *command: str, **facts: int | str) -> RecordedKubelet:
    node = process(7, "systemd", "/", "systemd") | process(70, "kubelet", "/", *command, **facts)
    return live_kubelet(DirectoryTree(written(node, root)))


def test_its_flags_are_read_except_secrets(tmp_path: Path) -> None:
    kubelet = found(tmp_path, "/usr/bin/kubelet", "--config=/etc/k.yaml", *FLAGS)
    assert kubelet == RecordedKubelet(
        flags=("--max-pods=77",),
        runs=True,
        other_flags=("bootstrap-token",),
        config_path="/etc/k.yaml",
        config_directory="/etc/d",
    )


@pytest.mark.parametrize("facts", [{"user": 1000}, {"ids": "70\t1"}], ids=["not root's", "in a container"])
def test_a_process_that_is_a_kubelet_only_by_name_is_ignored(
    facts: dict[str, int | str], tmp_path: Path
) -> None:
    assert not found(tmp_path, "kubelet", "--max-pods=7", **facts).known


def reported(root: Path, flags: str = "", **words: Any) -> tuple[LoadedKubelet, dict[str, Source]]:
    """Read the configuration of a host whose kubelet runs with *flags* and has its files below *root*."""
    node = written(process(70, "kubelet", "/", "kubelet", *flags.split()), root)
    synthetic: MachineSource = read_machine("synthetic:1s1n2c1t")
    machine = replace(synthetic, origin=LIVE, files=DirectoryTree(node))
    sources = Sources()
    return load_kubelet(KubeletInputs(**words), sources, machine=machine), sources.entries


@pytest.fixture
def files(tmp_path: Path) -> str:
    """Write a main file and a drop-in, and return the flags that name them."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.conf").write_text(f"{HEAD}maxPods: 7\npodsPerCore: 3\n")
    (tmp_path / "main.yaml").write_text(f"{HEAD}maxPods: 6\nstaticPodPath: manifests\n")
    return f"--config={tmp_path}/main.yaml --config-dir={tmp_path}/d --max-pods=8"


def test_its_flags_files_and_drop_ins_are_used(tmp_path: Path, files: str) -> None:
    kubelet, sources = reported(tmp_path / "root", files)
    config = kubelet.kubelet.config
    assert (config.max_pods, config.pods_per_core) == (8, 3)
    assert kubelet.configuration.settings["staticPodPath"].value == f"{tmp_path}/manifests"
    assert sources["kubeletConfiguration"] == {"value": f"{tmp_path}/main.yaml", "from": "live"}
    assert sources["dropInDirectory"] == {"value": f"{tmp_path}/d", "from": "live"}
    assert sources["runningArguments"] == {"value": "--max-pods=8", "from": "live"}


def test_given_flags_override_its_own(tmp_path: Path, files: str) -> None:
    kubelet, _ = reported(tmp_path / "root", files, arguments="--max-pods=9")
    assert (kubelet.kubelet.config.max_pods, kubelet.kubelet.config.pods_per_core) == (9, 3)


def test_a_given_configuration_replaces_its_own(tmp_path: Path, files: str) -> None:
    kubelet, sources = reported(tmp_path / "root", files, config=f"{tmp_path}/main.yaml")
    assert (kubelet.kubelet.config.max_pods, kubelet.kubelet.config.pods_per_core) == (6, 0)
    assert {"dropInDirectory", "runningArguments"}.isdisjoint(sources)


def test_without_a_file_it_has_the_defaults(tmp_path: Path) -> None:
    _, sources = reported(tmp_path, "--max-pods=8")
    assert sources["kubeletConfiguration"] == {"value": "the kubelet's defaults", "from": "live"}


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.yaml: cannot be read: no such file or directory"):
        reported(tmp_path, f"--config={tmp_path}/gone.yaml")


KUBEADM = {
    "etc/systemd/system/kubelet.service": "[Service]\nEnvironmentFile=-/etc/default/kubelet\n"
    "ExecStart=/usr/bin/kubelet --config=CONFIG $KUBELET_EXTRA_ARGS\n",
    "etc/default/kubelet": "KUBELET_EXTRA_ARGS=--reserved-cpus=0 --max-pods=8\n",
}


def stopped(root: Path, files: dict[str, str], **words: Any) -> tuple[LoadedKubelet, dict[str, Source]]:
    """Read the configuration of a host whose kubelet is not running."""
    config = root / "config.yaml"
    root.mkdir()
    config.write_text(f"{HEAD}cpuManagerPolicy: static\n")
    texts = {path: text.replace("CONFIG", str(config)) for path, text in files.items()}
    synthetic: MachineSource = read_machine("synthetic:1s1n2c1t")
    machine = replace(synthetic, origin=LIVE, files=DirectoryTree(written(texts, root / "node")))
    sources = Sources()
    return load_kubelet(KubeletInputs(**words), sources, machine=machine), sources.entries


@pytest.mark.parametrize("where", ["default", "sysconfig"])
def test_a_stopped_kubelet_has_the_flags_of_its_unit(where: str, tmp_path: Path) -> None:
    files = {each.replace("default", where): text.replace("default", where) for each, text in KUBEADM.items()}
    kubelet, sources = stopped(tmp_path / "root", files)
    assert (kubelet.kubelet.config.reserved_system_cpus, kubelet.kubelet.config.max_pods) == ("0", 8)
    assert sources["unitArguments"] == {"value": "--reserved-cpus=0 --max-pods=8", "from": "live"}
    assert sources["kubeletConfiguration"]["value"].endswith("config.yaml")
    assert kubelet.kubelet.flags_gap == ""


def test_a_unit_with_a_flag_that_the_release_does_not_have(tmp_path: Path) -> None:
    files = {**KUBEADM, "etc/default/kubelet": "KUBELET_EXTRA_ARGS=--pod-infra-container-image=p\n"}
    assert stopped(tmp_path / "old", files, version="1.34")[0].kubelet.version.minor == 34
    with pytest.raises(ConfigRefusedError, match=r"--pod-infra-container-image was removed in 1\.35"):
        stopped(tmp_path / "new", files, version="1.35")
    # If no release is given, one that has the flag is assumed instead of the default.
    assert stopped(tmp_path / "unknown", files)[0].kubelet.version.minor == 34
    # One flag was added when the other was removed: no release has both.
    both = {**KUBEADM, "etc/default/kubelet": "KUBELET_EXTRA_ARGS=--fail-cgroupv1 --iptables-drop-bit=1\n"}
    assert stopped(tmp_path / "none", both)[0].kubelet.version.minor == 36


def test_a_running_kubelet_can_have_unknown_but_not_removed_flags(tmp_path: Path) -> None:
    assert (
        reported(tmp_path / "a", "--acme-flag=x --max-pods=8", version="1.36")[0].kubelet.config.max_pods == 8
    )
    with pytest.raises(ConfigRefusedError, match=r"removed in 1\.34"):
        reported(tmp_path / "b", "--cloud-config=/etc/cloud", version="1.36")


def test_the_release_of_the_live_host_is_that_of_the_installed_kubelet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = ("v1.33.4", "/usr/bin/kubelet")
    monkeypatch.setattr("cpuctl.capture.kubelet.running.installed_version", lambda: installed)
    kubelet, entries = reported(tmp_path)
    assert str(kubelet.kubelet.version) == "1.33.4"
    assert entries["kubeletVersion"] == {"value": "v1.33.4", "from": "live"}
    named, entries = reported(tmp_path, version="1.30")
    assert (named.kubelet.version.minor, entries["kubeletVersion"]["from"]) == (30, "given")


def test_settings_ignored_with_another_configuration_are_reported(tmp_path: Path) -> None:
    node = written(process(70, "kubelet", "/", "kubelet", "--max-pods=7", "--config-dir=/etc/d"), tmp_path)
    synthetic: MachineSource = read_machine("synthetic:1s1n2c1t")
    machine = replace(synthetic, origin=LIVE, files=DirectoryTree(node))
    main = tmp_path / "main.yaml"
    main.write_text(HEAD)
    sources = Sources()
    load_kubelet(KubeletInputs(config=str(main)), sources, machine=machine)
    (stated,) = sources.warnings
    assert stated == (
        "with --kubelet-config, the flags (--max-pods=7) and the drop-in files of the node's kubelet "
        "are ignored: set them with --kubelet-args and --config-dir"
    )
