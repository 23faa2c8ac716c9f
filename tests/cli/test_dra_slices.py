"""The ResourceSlices of a machine on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Cpuctl


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_slices_are_objects_that_kubectl_applies(cpuctl: Cpuctl, form: str) -> None:
    words = (
        "--cpu-device-mode",
        "individual",
        "--reserved-cpus",
        "node:0",
        "--hostname-override",
        "worker-1",
    )
    out = cpuctl("dra", "slices", "synthetic:2s2n2c2t", *words, "-o", form).out
    document = json.loads(out) if form == "json" else yaml.safe_load(out)
    (only,) = document["items"]
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    assert only["metadata"] == {"name": "00000-dra.cpu-worker-1"}
    assert [each["attributes"]["dra.cpu/cpuID"]["int"] for each in only["spec"]["devices"]] == [2, 6, 3, 7]


def test_the_table_shows_the_cpus_of_every_device(cpuctl: Cpuctl) -> None:
    lines = cpuctl("dra", "slices", "-m", "synthetic:2s4n8c2t", "--group-by", "socket", "-q").out.splitlines()
    assert [line.split() for line in lines] == [
        ["DEVICE", "SLICE", "CPUS", "COUNT", "SOCKET"],
        ["cpudevsocket000", "0", "0-7,16-23", "16", "0"],
        ["cpudevsocket001", "0", "8-15,24-31", "16", "1"],
        [],
        ["2", "devices", "in", "1", "slice", "of", "node", "node:", "available", "CPUs", "0-31"],
    ]


def test_unexpected_behaviour_of_the_driver_is_reported(cpuctl: Cpuctl) -> None:
    reported = cpuctl(
        "dra", "slices", "synthetic:2s2n2c2t", "--expose-pcie-roots", "--reserved-cpus", "9"
    ).err
    assert "core IDs repeat across sockets (0, 1)" in reported
    assert "no PCIe roots are recorded" in reported
    assert "--reserved-cpus names CPUs that are not online: 9" in reported
    assert "skips CPUs 0-1: they have no NUMA node" in cpuctl("dra", "slices", "synthetic:0n2c").err


def test_invalid_reserved_cpus_are_rejected(cpuctl: Cpuctl) -> None:
    refused = cpuctl("dra", "slices", "synthetic:2c", "--reserved-cpus", "node:7")
    assert refused.code == 2
    assert "--reserved-cpus" in refused.err


def test_a_static_policy_next_to_the_driver_is_reported(cpuctl: Cpuctl, tmp_path: Path) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
    )
    words = ("dra", "slices", "synthetic:2n16c2t", "--kubelet-config", str(config))
    reported = cpuctl(*words, "--reserved-cpus", "0-1").err
    assert "CPU Manager policy is static" in reported
    assert "reserves CPUs" not in reported
    assert "the kubelet reserves CPUs 0-1, the driver reserves none" in cpuctl(*words).err
    assert "kubelet" not in cpuctl(*words[:3]).err


@pytest.mark.parametrize(("name", "node"), [("Node7.tar.xz", "node7"), ("a b.tar.xz", "a-b"), ("-", "node")])
def test_a_recording_without_a_host_name_names_its_node(
    name: str, node: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """The name is that in ``plan -o nrt``; on standard input, there is none."""
    recording = Path("fixtures/machines/2s-2numa-32cpu.tar.xz").read_bytes()
    (tmp_path / name).write_bytes(recording)
    stated = cpuctl("dra", "slices", name, "-o", "yaml", cwd=tmp_path, stdin=recording)
    assert yaml.safe_load(stated.out)["items"][0]["spec"]["nodeName"] == node
