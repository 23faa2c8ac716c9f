"""Claims of pods on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.dra.claims import claim, cpus, pod
from tests.dra.machines import Row, machine_of
from tests.machine.sysfs_writer import sysfs_files
from tests.support.schemas import follow_schema

MACHINE = ("-m", "synthetic:2n16c2t", "--hostname-override", "worker-1")


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    file = tmp_path / "pods.yaml"
    file.write_text(
        claim("four", cpus(4)) + claim("many", cpus(17)) + pod("web", "four") + pod("big", "many")
    )
    return str(file)


def test_every_claim_has_a_row_and_unsatisfied_pods_a_reason(cpuctl: Cpuctl, manifest: str) -> None:
    result = cpuctl("dra", "allocate", manifest, *MACHINE, "-q")
    assert result.code == 3
    *rows, blank, why, _, advice, _, rest, _, following = result.out.splitlines()
    assert advice.startswith("warning: pod default/web: container four requests no CPUs, but its claims")
    assert [line.split() for line in rows] == [
        ["POD", "CLAIM", "CONTAINER", "DEVICES", "CPUS", "COUNT", "NODE"],
        ["default/web", "four", "four", "cpudevnuma000(4)", "0-1,16-17", "4", "0"],
        ["default/big", "-", "-", "-", "not", "satisfied", "-", "-"],
    ]
    assert (blank, rest) == ("", "CPUs of containers without a claim: 2-15,18-31")
    assert following.startswith("Next, to see which devices match: cpuctl explain default/big ")
    assert why == (
        "default/big: not satisfied: claim default/many, request cpus: requests 1 device, 2 match, 0 have "
        "enough capacity left (dra.cpu/cpu: 17 requested, at most 16 left on one device)"
    )
    assert cpuctl("dra", "allocate", manifest, *MACHINE, "--exit-zero").code == 0


def test_a_driver_without_devices_satisfies_no_claim(cpuctl: Cpuctl, manifest: str) -> None:
    """If all CPUs are reserved, it is known that it publishes none."""
    result = cpuctl("dra", "allocate", manifest, *MACHINE, "-q", "--reserved-cpus", "0-31")
    assert result.code == 3
    assert "default/web: not satisfied: claim default/four, request " in result.out
    assert "undetermined" not in result.out


def test_the_answer_follows_its_schema(cpuctl: Cpuctl, manifest: str) -> None:
    answer = json.loads(cpuctl("dra", "allocate", "-f", manifest, *MACHINE, "-o", "json").out)
    follow_schema(answer, "claimallocation")
    web, big = answer["pods"]
    assert (web["outcome"], big["outcome"]) == ("Allocated", "Unsatisfied")
    assert web["claims"] == [
        {
            "name": "four",
            "claim": "default/four",
            "containers": ["four"],
            "devices": [
                {
                    "request": "cpus",
                    "driver": "dra.cpu",
                    "device": "cpudevnuma000",
                    "consumed": {"dra.cpu/cpu": "4"},
                    "numaNode": 0,
                }
            ],
            "cpus": "0-1,16-17",
            "numaNodes": [0],
            "aligned": True,
            "extraCPUs": "",
        }
    ]


def test_cpus_of_another_socket_are_reported(cpuctl: Cpuctl, tmp_path: Path) -> None:
    rows = [Row(cpu, cpu // 4 % 2, cpu // 4 % 2, cpu % 4, cpu // 2 % 4) for cpu in range(16)]
    written(sysfs_files(machine_of(rows)), tmp_path / "node7")
    manifest = tmp_path / "pods.yaml"
    manifest.write_text(claim("four", cpus(4)) + pod("a", "four"))
    words = ("dra", "allocate", str(manifest), "-m", str(tmp_path / "node7"), "--reserved-cpus", "0,11", "-q")
    reported = cpuctl(*words).out
    assert "gets CPUs 5,13, which are not among its devices: core IDs repeat across sockets" in reported
    assert "(add --fixed to see what it should get)" in reported
    assert "outside" not in cpuctl(*words, "--fixed").out
    actual, corrected = (
        json.loads(cpuctl(*words, *more, "-o", "json").out)["pods"][0]["claims"][0]["cpus"]
        for more in ((), ("--fixed",))
    )
    assert (actual, corrected) == ("1,5,9,13", "1-2,9-10")
