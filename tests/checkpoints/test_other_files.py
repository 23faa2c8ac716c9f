"""The files of resizes up to 1.32, of devices and of resource claims: recorded ones, and their readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl.checkpoints import claim_state, device_state, status_state
from cpuctl.checkpoints.claim_state import read_claims_state
from cpuctl.checkpoints.device_state import read_devices_state
from cpuctl.checkpoints.formats import data_checksum, decoded_text
from cpuctl.checkpoints.inspection import inspect_state
from cpuctl.checkpoints.model import ClaimsStateFile, DevicesStateFile, PodsStateFile, UnreadableState
from cpuctl.checkpoints.reader import StateReader
from cpuctl.checkpoints.status_state import read_status_state
from cpuctl.errors import InputError

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures/state_files/recorded.json").read_text())
BY_NAME = {each["name"]: each["text"] for each in RECORDED}
CORRUPTED = "checkpoint is corrupted"
UNMARSHAL = "json: cannot unmarshal"
ENTRY = "Go struct field PodDevicesEntry.Data.PodDeviceEntries"
MANY = '{"Data":' + "[" * 10 + "0," * 300_000


def reader(minor: int) -> StateReader:
    return StateReader(minor=minor)


@pytest.mark.parametrize("fact", RECORDED, ids=lambda fact: fact["name"])
def test_recorded_files_are_known_and_their_checksums_reproduced(fact: dict[str, Any]) -> None:
    found = inspect_state(fact["text"])
    assert inspect_state(fact["text"], fact["file"]) == found
    assert (found.file_name, found.problem) == (fact["file"], "")
    assert all(each.ok for each in found.checksums) == fact["right"]
    assert found.state is not None
    again = inspect_state(found.resummed, fact["file"])
    assert all(each.ok for each in again.checksums)
    assert again.state == found.state
    if fact["right"] and fact["name"] not in ("claim-1.27", "claim-1.31"):
        assert found.resummed == fact["text"]


def test_devices_are_listed_with_their_numa_nodes() -> None:
    state = read_devices_state(BY_NAME["two-gpus-of-a-node"], reader(36))
    assert isinstance(state, DevicesStateFile)
    (entry,) = state.entries
    assert (entry.container, entry.resource, [*entry.devices]) == ("app", "nvidia.com/gpu", [1])
    assert len(entry.names) == 2
    assert len(state.registered["nvidia.com/gpu"]) == 3


def flat_devices() -> str:
    """Write the format of kubelets before 1.20."""
    entry = {
        "PodUID": "u",
        "ContainerName": "c",
        "ResourceName": "x/y",
        "DeviceIDs": ["d1", "d0"],
        "AllocResp": b"\x01\xff",
    }
    data = {"PodDeviceEntries": [entry], "RegisteredDevices": {"x/y": ["d0", "d1"]}}
    return device_state.FLAT.write({"Data": data, "Checksum": 0})


@pytest.mark.parametrize(("minor", "reads"), [(27, True), (30, True), (31, False), (36, False)])
def test_devices_without_numa_nodes_are_read_up_to_1_30(minor: int, *, reads: bool) -> None:
    state = read_devices_state(flat_devices(), reader(minor))
    if reads:
        assert isinstance(state, DevicesStateFile)
        assert state.entries[0].devices == {0: ("d1", "d0")}
    else:
        wanted = "json: cannot unmarshal array into Go struct field "
        assert isinstance(state, UnreadableState)
        assert state.error.startswith(wanted)
    found = inspect_state(flat_devices())
    assert (found.format, [each.ok for each in found.checksums]) == ("V1", [True])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "unexpected end of JSON input"),
        (BY_NAME["device-of-one-gpu"].replace("tegra", "other"), CORRUPTED),
        (
            BY_NAME["device-of-one-gpu"].replace("Ch8KFk5W", "C!8KFk5W"),
            "illegal base64 data at input byte 1",
        ),
        (
            '{"Data":{"PodDeviceEntries":[{"DeviceIDs":{"x":[]}}]},"Checksum":1}',
            f"{UNMARSHAL} number x into {ENTRY}.DeviceIDs of type int64",
        ),
        (
            '{"Data":{"PodDeviceEntries":[{"AllocResp":5}]},"Checksum":1}',
            f"{UNMARSHAL} number into {ENTRY}.AllocResp of type []uint8",
        ),
    ],
)
def test_devices_that_cannot_be_read(text: str, error: str) -> None:
    assert read_devices_state(text, reader(36)) == UnreadableState(error)


def test_files_larger_than_any_kubelet_writes_are_rejected() -> None:
    for read in (read_devices_state, read_claims_state, read_status_state):
        with pytest.raises(InputError):
            read(MANY, reader(31))


OLD, NEW = "failed to create claimInfo cache: error calling ", "create ResourceClaim cache: "
GET = "GetOrCreate() on checkpoint state: failed to get checkpoint dra_manager_state: "
ENTRIES = "GetEntries() on checkpoint: "


@pytest.mark.parametrize(
    ("name", "readers"),
    [
        ("claim-1.27", {27, 28, 29, 30}),
        ("claim-1.30", {30}),
        ("claim-1.31", {31, 32, 33, 34, 35, 36}),
        ("claim-wrong-sum", set()),
    ],
)
def test_claims_are_read_by_the_releases_that_know_their_form(name: str, readers: set[int]) -> None:
    for minor in range(27, 37):
        state = read_claims_state(BY_NAME[name], reader(minor))
        if minor in readers:
            assert isinstance(state, ClaimsStateFile)
            assert [each.name for each in state.claims] == ["example"]
            assert state.claims[0].pod_uids == ("139cdb46-f989-4f17-9561-ca10cfb509a6",)
        else:
            assert state == UnreadableState((NEW if minor >= 34 else OLD) + GET + CORRUPTED)


@pytest.mark.parametrize(("minor", "head"), [(31, OLD), (33, OLD), (34, NEW)])
def test_claims_with_a_broken_string(minor: int, head: str) -> None:
    broken = claim_state.write_string("{")
    assert read_claims_state(broken, reader(minor)) == UnreadableState(
        f"{head}{ENTRIES}unexpected end of JSON input"
    )
    no_json = read_claims_state("[", reader(minor))
    assert no_json == UnreadableState(f"{head}{GET}unexpected end of JSON input")
    number = read_claims_state('{"Data":5}', reader(minor))
    field = "json: cannot unmarshal number into Go struct field Checkpoint.Data of type string"
    assert number == UnreadableState(f"{head}{GET}{field}")


def test_a_set_of_pods_has_empty_members() -> None:
    """Go decodes a ``sets.Set`` as the map that it is: a member is an object or null, nothing else."""

    def claims(members: str) -> str:
        claim = f'{{"ClaimUID":"u","ClaimName":"c","Namespace":"n","PodUIDs":{members},"DriverState":{{}}}}'
        return claim_state.write_string(f'{{"ClaimInfoStateList":[{claim}]}}')

    found = read_claims_state(claims('{"q":null,"p":{}}'), reader(36))
    assert isinstance(found, ClaimsStateFile)
    assert found.claims[0].pod_uids == ("p", "q")
    field = "Go struct field ClaimInfoState.ClaimInfoStateList.PodUIDs of type"
    for members, kind, type_name in (
        ('{"p":5}', "number", "sets.Empty"),
        ("[]", "array", "sets.Set[string]"),
    ):
        assert read_claims_state(claims(members), reader(36)) == UnreadableState(
            f"{NEW}{ENTRIES}json: cannot unmarshal {kind} into {field} {type_name}"
        )


def test_structured_parameters_are_reported_as_unsupported() -> None:
    text = BY_NAME["claim-1.30"].replace('"data":', '"structuredData":{"results":[]},"data":')
    found = inspect_state(text)
    assert (found.file_name, found.format, found.state) == ("dra_manager_state", "V3", None)
    assert "cpuctl cannot compute" in found.problem


WORDS = "resizeStatusEntries of type v1.PodResizeStatus"
FLAT = {"u": {"c": {"cpu": "2", "memory": "1536Mi"}}}
"""Amounts whose text a kubelet keeps (no multiples of 8 before the suffix)."""


def flat_status(entries: object = FLAT) -> str:
    text = json.dumps({"allocationEntries": entries, "resizeStatusEntries": {"u": "InProgress"}})
    loaded = decoded_text(status_state.FLAT.struct, text)
    assert not loaded.error
    return status_state.FLAT.write(loaded.document)


def test_the_checksum_of_resizes_up_to_1_31_covers_amounts_as_go_holds_them() -> None:
    loaded = decoded_text(status_state.FLAT.struct, flat_status({"u": {"c": {"cpu": "2", "memory": "8Gi"}}}))
    shown = status_state.FLAT.hashed(loaded.document, "PodResourceAllocationCheckpoint")
    none = "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>}"
    assert shown == (
        "(*state.PodResourceAllocationCheckpoint){AllocationEntries:(map[string]map[string]v1.ResourceList)"
        f"map[u:map[c:map[cpu:{{i:(resource.int64Amount){{value:(int64)2 scale:(resource.Scale)0}} {none} "
        "s:(string)2 Format:(resource.Format)DecimalSI} memory:{i:(resource.int64Amount){"
        f"value:(int64)8589934592 scale:(resource.Scale)0}} {none} s:(string) "
        "Format:(resource.Format)BinarySI}]]] "
        "ResizeStatusEntries:(map[string]v1.PodResizeStatus)map[u:InProgress] Checksum:(checksum.Checksum)0}"
    )


@pytest.mark.parametrize("minor", [27, 31])
def test_resizes_up_to_1_31_have_requests_and_a_status(minor: int) -> None:
    state = read_status_state(flat_status(), reader(minor))
    assert isinstance(state, PodsStateFile)
    held = state.pods["u"].containers["c"]
    assert ({name: str(each) for name, each in held.requests.items()}, held.limits) == (FLAT["u"]["c"], {})
    assert state.resizes == {"u": "InProgress"}


def test_neither_format_of_resizes_is_read_by_the_other_release() -> None:
    assert read_status_state(flat_status(), reader(32)) == UnreadableState(CORRUPTED)
    assert read_status_state(BY_NAME["status-1.32"], reader(31)) == UnreadableState(CORRUPTED)
    assert isinstance(read_status_state(BY_NAME["status-1.32"], reader(32)), PodsStateFile)


@pytest.mark.parametrize(
    ("minor", "text", "error"),
    [
        (31, "x", "invalid character 'x' looking for beginning of value"),
        (
            32,
            '{"data":"{\\"allocations\\":{}}","checksum":1}"x',
            "invalid character '\"' after top-level value",
        ),
        (
            31,
            '{"resizeStatusEntries":{"u":1},"checksum":1}',
            f"{UNMARSHAL} number into Go struct field PodResourceAllocationCheckpoint.{WORDS}",
        ),
        (
            32,
            '{"data":"{","checksum":%d}',
            "failed to get pod resource allocation info: unexpected end of JSON input",
        ),
    ],
)
def test_resizes_that_cannot_be_read(minor: int, text: str, error: str) -> None:
    given = text % data_checksum("{") if "%d" in text else text
    assert read_status_state(given, reader(minor)) == UnreadableState(error)


def test_amounts_of_many_digits_are_shown_as_decimals() -> None:
    text = '{"allocationEntries":{"u":{"c":{"memory":"1.5Gi","cpu":"0"}}}}'
    loaded = decoded_text(status_state.FLAT.struct, text)
    shown = status_state.FLAT.hashed(loaded.document, "PodResourceAllocationCheckpoint")
    assert (
        "memory:{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} "
        "d:(resource.infDecAmount){Dec:(*inf.Dec){unscaled:(big.Int){neg:(bool)false "
        "abs:(big.nat)[1610612736000000000]} "
        "scale:(inf.Scale)9}} s:(string) Format:(resource.Format)BinarySI}"
    ) in shown
    assert "s:(string)0 Format:(resource.Format)DecimalSI" in shown
