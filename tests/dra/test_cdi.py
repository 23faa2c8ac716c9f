"""The driver's file for container runtimes."""

from __future__ import annotations

import json

import pytest

from cpuctl.dra.cdi import CDIFile, read_cdi
from cpuctl.errors import InputError
from cpuctl.machine.recording_layout import CDI_FILE
from cpuctl.machine.tree import MemoryTree

CPUS = "DRA_CPUSET_7d5a=2-5,18"


def spec(*, kind: str = "dra.k8s.io/cpu", name: str = "claim-7d5a", env: str = CPUS) -> str:
    device = {"name": name, "containerEdits": {"env": [env]}}
    return json.dumps({"cdiVersion": "0.8.0", "kind": kind, "devices": [device]})


@pytest.mark.parametrize("path", [CDI_FILE, "run/cdi/dra.cpu.json"])
def test_cpus_of_prepared_claims_are_read(path: str) -> None:
    found = read_cdi(MemoryTree({path: spec()}))
    assert isinstance(found, CDIFile)
    assert found.path == path
    assert {uid: str(cpus) for uid, cpus in found.claims.items()} == {"7d5a": "2-5,18"}


def test_a_missing_file_differs_from_an_empty_one() -> None:
    assert read_cdi(MemoryTree({})) is None
    assert read_cdi(None) is None
    for text in ("", '{"kind": "dra.k8s.io/cpu", "devices": []}'):
        assert read_cdi(MemoryTree({CDI_FILE: text})) == CDIFile(CDI_FILE, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "dra.cpu.json"),
        (spec(kind="nvidia.com/gpu"), "expected dra.k8s.io/cpu"),
        (spec(name="7d5a"), "expected claim- and the UID of a claim"),
        (spec(env="PATH=/bin"), "expected a variable DRA_CPUSET_7d5a"),
        (spec(env="DRA_CPUSET_7d5a=5-2"), "5-2"),
    ],
)
def test_an_invalid_file_is_rejected_with_its_place(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_cdi(MemoryTree({CDI_FILE: text}))
    assert words in f"{caught.value.where}: {caught.value.message}"
