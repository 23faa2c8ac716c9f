"""Files that the kubelet's flags name (``--kubelet-args``) are looked up in a recording first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.capture.node_texts import written
from tests.cli.conftest import ROOT, Cpuctl
from tests.cli.test_recorded_kubelet import COMMAND, DROP_IN, HEAD, JUDGING, MAIN, captured, settings, texts
from tests.machine.support.archives import tar_of
from tests.machine.sysfs_writer import small_machine

NODES = ("nodes/v2-2-numa/node", "nodes/hybrid-8-numa/node", "kubeadm/node7")
PASTED = "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf"


def source(cpuctl: Cpuctl, node: object, flags: str) -> tuple[dict[str, Any], str]:
    """Return the sources of a configuration that flags name, and what is written to stderr."""
    result = cpuctl("config", "show", "-m", str(node), "--kubelet-args", flags, "-o", "json")
    assert result.code == 0, result
    return json.loads(result.out)["sources"], result.err


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Write a node whose kubelet's files are not at their usual places."""
    files = {"main.yaml": MAIN, "d/10.conf": DROP_IN, "other.yaml": f"{HEAD}maxPods: 5\n"}
    return written(texts(*COMMAND, **files) | {"etc/default/kubelet": ""}, tmp_path / "node")


@pytest.fixture
def archive(node: Path, tmp_path: Path, cpuctl: Cpuctl) -> str:
    """Record this node: the files are at other places in the recording."""
    archive = str(tmp_path / "node7.tar.gz")
    assert cpuctl("capture", "--root", str(node), archive).code == 0
    return archive


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("words", [*JUDGING, ("audit",)], ids=lambda words: " ".join(words[:2]))
def test_a_pasted_command_line_uses_the_recorded_configuration(
    words: Sequence[str], name: str, cpuctl: Cpuctl
) -> None:
    """It is what the legend of proposed commands (``FLAGS``) says to insert."""
    recording = f"fixtures/{name}.tar.xz"
    release = "--from=1.35" if "versions" in words else "--kubelet-version=1.35"
    about = (*words, "-m", recording, release, "-o", "json")
    pasted = cpuctl(*about, "--kubelet-args", PASTED)
    assert (pasted.code, "warning" in pasted.err) == (cpuctl(*about).code, False), pasted
    expected = {"value": f"{recording}: var/lib/kubelet/config.yaml", "from": "capture"}
    assert json.loads(pasted.out)["sources"]["kubeletConfiguration"] == expected


@pytest.mark.parametrize("verb", ["check", "list"])
def test_every_node_of_a_fleet_has_its_own_file(verb: str, cpuctl: Cpuctl) -> None:
    recordings = [f"fixtures/{name}.tar.xz" for name in NODES[:2]]
    about = ("fleet", verb, *recordings, "--kubelet-version=1.35", "-o", "json")
    pasted, own = (json.loads(cpuctl(*about, *more).out) for more in (("--kubelet-args", PASTED), ()))
    assert len(own["nodes"]) == 2
    for with_flags, without in zip(pasted["nodes"], own["nodes"], strict=True):
        for known in (with_flags, without):
            del known["answerKey"]
            known["assumed"].pop("unknownFlags", None)
            # Proposed commands have the flags; without them, the flags are not checked.
            known["findings"] = [each["code"] for each in known.get("findings", ())]
            known["unchecked"] = []
        assert with_flags == without


def test_flags_of_a_fleet_are_checked_before_any_node(cpuctl: Cpuctl) -> None:
    result = cpuctl("fleet", "check", "fixtures/nodes", "--kubelet-args", f"{PASTED} '--max-pods")
    assert (result.code, result.out) == (2, "")
    assert "--kubelet-args: cannot be split into words" in result.err


def test_files_of_the_running_kubelet_are_found_in_a_recording(archive: str, cpuctl: Cpuctl) -> None:
    flags = " ".join(COMMAND)
    found, stated = source(cpuctl, archive, flags)
    assert found["kubeletConfiguration"]["value"] == f"{archive}: var/lib/kubelet/config.yaml"
    assert found["dropInDirectory"] == {"value": "/etc/k/d", "from": "capture"}
    assert "recordedArguments" not in found
    assert stated == ""
    own = settings(cpuctl("config", "show", "-m", archive, "-o", "json"))
    assert settings(cpuctl("config", "show", "-m", archive, "--kubelet-args", flags, "-o", "json")) == own


def test_any_file_of_a_root_directory_is_found(node: Path, cpuctl: Cpuctl) -> None:
    found, stated = source(cpuctl, node, "--config=/etc/k//other.yaml --config-dir=/etc/k/d/")
    assert found["kubeletConfiguration"] == {"value": f"{node}: etc/k/other.yaml", "from": "capture"}
    assert found["dropInDirectory"] == {"value": "/etc/k/d", "from": "capture"}
    assert "with --config, the flags (--reserved-cpus=0) of the node's kubelet are ignored" in stated


def test_the_copy_in_a_recording_is_not_a_file_of_the_node(archive: str, cpuctl: Cpuctl) -> None:
    """A capture has the configuration at the usual place, wherever it is on the node."""
    for flag in ("--config=/var/lib/kubelet/config.yaml", "--config-dir=/etc/kubernetes/kubelet.conf.d"):
        result = cpuctl("config", "show", "-m", archive, "--kubelet-args", flag)
        assert f"{flag.partition('=')[2]}: not in {archive}, and not found on this host" in result.err


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        ("--config=/etc/k/gone", "leave out the --config flag, or specify another configuration with --kub"),
        ("--config-dir=/etc/k/gone", "leave out the --config-dir flag, or specify a directory of this host"),
    ],
)
@pytest.mark.parametrize(
    "words",
    [*JUDGING, ("audit",)],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_file_that_nobody_has_is_an_error(
    words: Sequence[str], flag: str, hint: str, archive: str, cpuctl: Cpuctl
) -> None:
    result = cpuctl(*words, "-m", archive, "--kubelet-args", flag)
    assert (result.code, result.out) == (4, "")
    assert f"error: /etc/k/gone: not in {archive}, and not found on this host\nhint: {hint}" in result.err


@pytest.fixture
def packed(tmp_path: Path) -> str:
    """Pack a node's files, which are not a capture."""
    archive = tmp_path / "packed.tar.gz"
    archive.write_bytes(tar_of(small_machine() | {"etc/k/main.yaml": MAIN, "etc/k/d/10.conf": DROP_IN}))
    return str(archive)


@pytest.mark.parametrize("flag", ["--config=/etc/k/main.yaml", "--config-dir=/etc/k/d"])
def test_only_the_usual_files_of_an_archive_are_read(flag: str, packed: str, cpuctl: Cpuctl) -> None:
    """The archive has the file: it is not said to be missing."""
    result = cpuctl("config", "check", "-m", packed, "--kubelet-version=1.35", "--kubelet-args", flag)
    path = flag.partition("=")[2]
    lacking = "not among the files that are read from an archive, and not found on this host"
    assert (
        f"error: {path}: {lacking}\nhint: unpack the archive and use the directory instead, or specify"
        in result.err
    )


def test_a_file_of_this_host_is_used_with_a_warning(archive: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    (tmp_path / "k.yaml").write_text(HEAD)
    (tmp_path / "d").mkdir()
    found, stated = source(cpuctl, archive, f"--config={tmp_path}/k.yaml --config-dir={tmp_path}/d")
    assert found["kubeletConfiguration"] == {"value": f"{tmp_path}/k.yaml", "from": "given"}
    assert found["dropInDirectory"] == {"value": f"{tmp_path}/d", "from": "given"}
    assert f"warning: --config {tmp_path}/k.yaml is not in {archive}: that of this host is used" in stated
    assert f"warning: --config-dir {tmp_path}/d is not in {archive}: that of this host is used" in stated


def test_a_file_of_this_host_may_also_be_in_an_archive(packed: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    (tmp_path / "k.yaml").write_text(HEAD)
    _, stated = source(cpuctl, packed, f"--config={tmp_path}/k.yaml")
    lacking = "is not among the files that are read from an archive: that of this host is used"
    assert (
        f"warning: --config {tmp_path}/k.yaml {lacking} (unpack the archive and use the directory instead)"
        in stated
    )


def test_a_drop_in_directory_that_is_none_is_an_error(node: Path, cpuctl: Cpuctl) -> None:
    """Even if this host has such a directory: the recording's own is meant."""
    (node / "tmp").symlink_to("/etc/gone")
    for path, problem in (
        ("/etc/k/main.yaml", "expected a directory, found a file"),
        ("/tmp", "/tmp is a link to /etc/gone, which does not exist"),  # noqa: S108
    ):
        result = cpuctl("config", "check", "-m", str(node), "--kubelet-args", f"--config-dir={path}")
        assert (result.code, result.out) == (4, "")
        assert f"error: {path}: {problem}" in result.err


def test_a_relative_path_is_a_file_of_this_host(archive: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    (tmp_path / "k.yaml").write_text(HEAD)
    flags = ("--kubelet-args", "--config=k.yaml --reserved-cpus=0")
    result = cpuctl("config", "show", "-m", archive, *flags, "-o", "json", cwd=tmp_path)
    assert json.loads(result.out)["sources"]["kubeletConfiguration"]["value"] == "k.yaml"
    assert "is not in" not in result.err


def test_a_configuration_that_could_not_be_recorded_is_an_error(tmp_path: Path, cpuctl: Cpuctl) -> None:
    archive = captured(tmp_path, cpuctl, texts(*COMMAND, **{"main.yaml": "maxPods: 1"}))
    result = cpuctl("config", "check", "-m", archive, "--kubelet-args", "--config=/etc/k/main.yaml")
    assert (result.code, result.out) == (4, "")
    assert "configuration is missing because it could not be read when the node was recorded" in result.err


def test_a_described_machine_uses_files_of_this_host(cpuctl: Cpuctl) -> None:
    static = str(ROOT / "fixtures" / "kubelet" / "static.yaml")
    found, stated = source(cpuctl, "synthetic:1s1n4c1t", f"--config={static}")
    assert found["kubeletConfiguration"] == {"value": static, "from": "given"}
    assert "is not in" not in stated
