"""PCI devices of a recording, and the devices file drafted from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.machine.sysfs_writer import small_machine
from tests.support.schemas import follow_schema


def pci(path: str, class_code: str, vendor: str, device: str, node: int) -> dict[str, str]:
    return {
        f"{path}/class": f"0x{class_code}\n",
        f"{path}/vendor": f"0x{vendor}\n",
        f"{path}/device": f"0x{device}\n",
        f"{path}/numa_node": f"{node}\n",
    }


BRIDGE = "sys/devices/pci0000:00/0000:00:01.0"
FILES = (
    pci(BRIDGE, "060400", "8086", "1901", 0)
    | pci(f"{BRIDGE}/0000:3b:00.0", "030200", "10de", "20b5", 0)
    | pci("sys/devices/pci0000:80/0000:86:00.0", "030200", "10de", "20b5", 1)
    | pci("sys/devices/pci0000:80/0000:87:00.0", "030000", "1a03", "2000", -1)
    | pci("sys/devices/pci0000:80/0000:af:00.1", "020000", "8086", "1572", 1)
    | pci("sys/devices/pci0000:80/0000:af:02.0", "020000", "8086", "154c", 1)
    | {"sys/devices/pci0000:80/0000:af:02.0/physfn/class": "0x020000\n"}
)


def machine(directory: Path, more: dict[str, str]) -> str:
    return str(written(small_machine("2s2n4c1t,mem=8Gi") | more, directory / "node7"))


def test_devices_are_listed_with_their_numa_nodes(cpuctl: Cpuctl, tmp_path: Path) -> None:
    out = cpuctl("topology", "devices", "-q", "-m", machine(tmp_path, FILES)).out
    assert [line.split() for line in out.splitlines()[1:6]] == [
        ["0000:3b:00.0", "3D", "controller", "10de:20b5", "0", "nvidia.com/gpu"],
        ["0000:86:00.0", "3D", "controller", "10de:20b5", "1", "nvidia.com/gpu"],
        ["0000:87:00.0", "VGA", "controller", "1a03:2000", "-", "-"],
        ["0000:af:00.1", "Ethernet", "controller", "8086:1572", "1", "-"],
        [
            "0000:af:02.0", "Ethernet", "controller,", "virtual", "function",
            "8086:154c", "1", "example.com/sriov-8086-154c",
        ],
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_draft_is_a_valid_devices_file(cpuctl: Cpuctl, tmp_path: Path, form: str) -> None:
    spec = machine(tmp_path, FILES)
    text = cpuctl("topology", "devices", "-m", spec, "-o", form).out
    draft = yaml.safe_load(text)
    follow_schema(draft, "devices")
    assert draft["resources"] == {
        "example.com/sriov-8086-154c": {"1": 1},
        "nvidia.com/gpu": {"0": 1, "1": 1},
    }
    (tmp_path / "devices.yaml").write_text(text)
    planned = cpuctl("plan", "-m", spec, "-T", "a=1/1,1Gi", "--devices", str(tmp_path / "devices.yaml"))
    assert planned.code == 0
    assert "nvidia.com/gpu" in planned.out


def test_an_empty_draft_says_that_resources_must_be_added(cpuctl: Cpuctl, tmp_path: Path) -> None:
    files = pci("sys/bus/pci/devices/0000:af:00.1", "020000", "8086", "1572", 1)
    drafted = cpuctl("topology", "devices", "-m", machine(tmp_path, files), "-o", "yaml")
    assert yaml.safe_load(drafted.out)["resources"] == {}
    assert (
        "note: no device has a resource that common plugins advertise: add resources by hand" in drafted.err
    )


def test_without_collected_devices_the_bus_is_read(cpuctl: Cpuctl, tmp_path: Path) -> None:
    files = pci("sys/bus/pci/devices/0000:3b:00.0", "030200", "10de", "20b5", 1)
    text = cpuctl("topology", "devices", "-m", machine(tmp_path, files), "-o", "json").out
    assert json.loads(text)["resources"] == {"nvidia.com/gpu": {"1": 1}}


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("synthetic:4c", "PCI devices are unknown: the machine is described without them"),
        ("fixtures/machines/2s-2numa-32cpu.tar.xz", "PCI devices are not recorded"),
    ],
)
def test_a_source_without_pci_devices_is_an_error(cpuctl: Cpuctl, spec: str, error: str) -> None:
    result = cpuctl("topology", "devices", "-m", spec, "-o", "yaml")
    assert (result.code, result.out) == (4, "")
    assert f"{spec}: {error}\n" in result.err


def test_a_capture_contains_the_devices_for_pods(cpuctl: Cpuctl, tmp_path: Path) -> None:
    spec, recording = machine(tmp_path, FILES), str(tmp_path / "recording.tar.gz")
    assert cpuctl("capture", "--root", spec, recording).code == 0
    listed = cpuctl("topology", "devices", "-q", "-m", recording)
    assert listed.out == cpuctl("topology", "devices", "-q", "-m", spec).out


def test_a_capture_of_a_machine_without_such_devices_shows_this(cpuctl: Cpuctl, tmp_path: Path) -> None:
    bridge = pci(BRIDGE, "060400", "8086", "1901", 0) | {"sys/bus/pci/devices/empty/file": ""}
    recording = str(tmp_path / "recording.tar.gz")
    assert cpuctl("capture", "--root", machine(tmp_path, bridge), recording).code == 0
    assert "contains no PCI devices that pods could use" in cpuctl("topology", "devices", "-m", recording).err


def test_an_invalid_file_is_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    spec = machine(tmp_path, FILES | {f"{BRIDGE}/class": "bridge\n"})
    result = cpuctl("topology", "devices", "-m", spec)
    assert result.code == 4
    assert "0000:00:01.0/class: found 'bridge', expected a number such as 0x10de" in result.err


def test_links_between_devices_are_not_followed_for_ever(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """A mounted image may contain anything."""
    spec = machine(tmp_path, FILES)
    for number in range(3):
        (Path(spec) / f"sys/devices/pci0000:80/0000:00:00.{number}").symlink_to(".")
    listed = cpuctl("topology", "devices", "-q", "-m", spec)
    assert listed.code == 0
    assert "0000:86:00.0" in listed.out
