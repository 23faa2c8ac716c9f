"""Whatever a file of devices contains, it is read or rejected."""

from __future__ import annotations

import json
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.errors import InputError
from cpuctl.machine.devices.reading import read_devices

KEYS = st.sampled_from(
    [
        *(
            "apiVersion",
            "kind",
            "resources",
            "nvidia.com/gpu",
            "0",
            "0-1",
            "none",
            "healthy",
            "free",
            "total",
        ),
        *("devices", "pod_resources", "podResources", "containers", "name", "namespace", "resource_name"),
        *("resourceName", "device_ids", "deviceIds", "topology", "nodes", "ID", "\x1b[31m"),
    ]
)
WORDS = st.sampled_from(["cpuctl/v1alpha1", "Devices", "nvidia.com/gpu", "0", "12", "gpu-0", "", "\x07"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2_000_000) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(VALUES, min_size=1, max_size=3))
def test_anything_is_read_or_rejected(documents: list[object]) -> None:
    text = "\n".join(json.dumps(document) for document in documents)
    with suppress(InputError):
        for groups in read_devices(text.encode(), "devices.json").inventory.resources.values():
            assert all(0 <= group.free <= group.healthy <= group.total for group in groups)


COUNTS = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)).map(sorted)


@given(st.dictionaries(st.sampled_from(["0", "1", "0-1", "none"]), COUNTS))
def test_counts_are_what_was_written(groups: dict[str, list[int]]) -> None:
    document = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Devices",
        "resources": {
            "x.com/d": {
                nodes: {"free": free, "healthy": healthy, "total": total}
                for nodes, (free, healthy, total) in groups.items()
            }
        },
    }
    read = read_devices(json.dumps(document).encode(), "devices.json").inventory.resources["x.com/d"]
    assert {
        str(group.numa_nodes) or "none": [group.free, group.healthy, group.total] for group in read
    } == groups
