"""Laws of merging a kubelet's settings: JSON merge patches, drop-ins and flags."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.documents.document import Value
from cpuctl.errors import CpuctlError
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.configuration.loading import ConfigSources, LoadedConfiguration, load_configuration
from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.kubelet.configuration.settings import (
    OriginKind,
    Settings,
    ValueOrigin,
    merge_patch,
    plain,
    uniform,
    walk,
)
from cpuctl.kubelet.flags.command_line import read_flags
from cpuctl.kubelet.flags.kubelet_flags import KubeletFlags
from cpuctl.kubelet.flags.table import FLAGS as KUBELET_FLAGS
from cpuctl.kubelet.version import KubeletVersion

HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Folder:
    """Drop-ins that are not in a directory, in order."""

    drop_ins: tuple[Fields, ...] = ()
    name: str = "drop-ins"

    def files(self) -> Iterator[tuple[str, bytes]]:
        for number, fields in enumerate(self.drop_ins):
            yield f"{self.name}/{number:02}.conf", json.dumps(HEAD | dict(fields)).encode()

    def left_out(self) -> tuple[()]:
        return ()


FIELD_FLAGS = {name: forms[-1].field for name, forms in KUBELET_FLAGS.items() if forms[-1].field}


def load(main: Fields, *drop_ins: Fields, flags: KubeletFlags | None = None) -> LoadedConfiguration:
    sources = ConfigSources(
        main=(json.dumps(HEAD | dict(main)), "main.json"),
        drop_ins=Folder(drop_ins),
        flags=flags or KubeletFlags(),
    )
    return load_configuration(sources)


def config(main: Fields, *drop_ins: Fields) -> KubeletConfiguration:
    return load(main, *drop_ins).config


def value_of(settings: Settings, name: str) -> Value:
    return plain(settings[name]) if name in settings else None


def mapping(*names: str) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(names), st.sampled_from(["1", "2", "1.5Gi", "5%"]), max_size=3)


SETTINGS: Mapping[str, st.SearchStrategy[Any]] = {
    "maxPods": st.integers(0, 300),
    "podPidsLimit": st.integers(-5, 5),
    "failSwapOn": st.booleans(),
    "cpuManagerPolicy": st.sampled_from(["", "none", "static", "Static"]),
    "cpuManagerPolicyOptions": mapping("full-pcpus-only", "align-by-socket", "bogus"),
    "cpuManagerReconcilePeriod": st.sampled_from(["0s", "90s", "5000ms"]),
    "kubeReserved": mapping("cpu", "memory", "pid"),
    "evictionHard": mapping("memory.available", "nodefs.available", "bogus"),
    "enforceNodeAllocatable": st.lists(st.sampled_from(["pods", "none", "kube-reserved"]), max_size=3),
    "reservedSystemCPUs": st.sampled_from(["", "0-1", "0,"]),
    "reservedMemory": st.lists(
        st.builds(
            lambda node, limits: {"numaNode": node, "limits": limits}, st.integers(0, 1), mapping("memory")
        ),
        max_size=2,
    ).filter(lambda listed: not any("%" in amount for item in listed for amount in item["limits"].values())),
    "memorySwap": st.fixed_dictionaries({}, optional={"swapBehavior": st.sampled_from(["", "NoSwap"])}),
    "featureGates": st.dictionaries(st.sampled_from(["MemoryQoS", "QOSReserved", "AllAlpha"]), st.booleans()),
}


def some(settings: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=dict(settings))


MAINS = some(SETTINGS)
# Null deletes a field, and no null is left once files are merged; Go's exception is durations.
DROP_INS = some(
    {
        name: values if name == "cpuManagerReconcilePeriod" else values | st.none()
        for name, values in SETTINGS.items()
    }
)


@given(MAINS, st.lists(DROP_INS, max_size=2))
def test_an_empty_drop_in_changes_nothing(main: Fields, drop_ins: list[Fields]) -> None:
    assert config(main, *drop_ins, {}) == config(main, {}, *drop_ins) == config(main, *drop_ins)


@given(MAINS, DROP_INS)
def test_reading_a_drop_in_twice_is_the_same_as_once(main: Fields, drop_in: Fields) -> None:
    assert config(main, drop_in, drop_in) == config(main, drop_in)


@given(MAINS, DROP_INS, DROP_INS)
def test_the_last_drop_in_decides_scalars_and_lists(main: Fields, first: Fields, last: Fields) -> None:
    last_alone, both = load(main, last).settings, load(main, first, last).settings
    for name in last:
        if not isinstance(last[name], dict):
            assert value_of(both, name) == value_of(last_alone, name)


@given(MAINS, MAINS)
def test_drop_ins_about_other_fields_commute(main: Fields, drop_in: Fields) -> None:
    other = {name: value for name, value in main.items() if name not in drop_in}
    assert config({}, other, drop_in) == config({}, drop_in, other)


@given(MAINS, st.randoms(use_true_random=False))
def test_the_order_of_fields_does_not_matter(main: Fields, random: Any) -> None:
    names = sorted(main)
    random.shuffle(names)
    assert config({name: main[name] for name in names}) == config(main)


FLAGS: Mapping[str, st.SearchStrategy[str]] = {
    "max-pods": st.integers(-5, 300).map(str),
    "cpu-manager-policy": st.sampled_from(["none", "static", ""]),
    "fail-swap-on": st.sampled_from(["true", "f"]),
    "kube-reserved": st.sampled_from(["cpu=1", "memory=1Gi,pid=100"]),
    "eviction-hard": st.sampled_from(["memory.available<1Gi", "nodefs.available<5%"]),
    "enforce-node-allocatable": st.sampled_from(["pods", "none", "pods,kube-reserved"]),
}


@given(MAINS, DROP_INS, some(FLAGS))
def test_flags_win(main: Fields, drop_in: Fields, given_flags: dict[str, str]) -> None:
    flags = read_flags([f"--{name}={value}" for name, value in given_flags.items()])
    with_flags, without = load(main, drop_in, flags=flags), load(main, drop_in)
    assert {name: plain(setting) for name, setting in with_flags.settings.items()} == {
        name: plain(setting) for name, setting in {**without.settings, **flags.settings}.items()
    }
    assert flags.settings.keys() == {FIELD_FLAGS[name] for name in given_flags}


@given(MAINS, DROP_INS)
def test_every_value_knows_its_origin(main: Fields, drop_in: Fields) -> None:
    loaded = load(main, drop_in)
    for path, setting in walk(loaded.settings):
        said_by = {
            OriginKind.DROP_IN: _says(drop_in, path),
            OriginKind.FILE: _says(main, path),
            OriginKind.DEFAULT: True,
        }
        assert said_by[setting.origin.kind]


def _says(fields: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(fields, dict) or name not in fields:
            return False
        fields = fields[name]
    return True


leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
names = st.sampled_from(["a", "b", "c"])
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


def without_nulls(value: Any) -> Any:
    """Leave out null members, as the kubelet's library does in the lists of a patch."""
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return value


def patched(target: Any, patch: Any) -> Any:
    """The algorithm of RFC 7386, section 2, as printed there, except for lists."""
    if not isinstance(patch, dict):
        return without_nulls(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = patched(result.get(name), value)
    return result


def merged(target: Value, patch: Value) -> Value:
    base, change = ValueOrigin(OriginKind.FILE, "base"), ValueOrigin(OriginKind.DROP_IN, "patch")
    return plain(merge_patch(uniform(target, base), uniform(patch, change)))


@given(trees, trees)
def test_patches_apply_as_the_standard_says(target: Value, patch: Value) -> None:
    once = merged(target, patch)
    assert once == patched(target, patch)
    assert merged(once, patch) == once


anything = st.recursive(
    leaves | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
wild = st.dictionaries(
    st.sampled_from([*FIELD_TYPES, *map(str.upper, FIELD_TYPES), "bogus"]), anything, max_size=4
)
words = st.sampled_from([f"--{name}" for name in FIELD_FLAGS]) | st.text(max_size=5)


@given(
    st.integers(27, 38),
    wild,
    st.lists(wild, max_size=2),
    st.lists(st.tuples(words, st.text(max_size=6)), max_size=2),
)
def test_nothing_ends_in_a_traceback(
    minor: int, main: Fields, drop_ins: list[Fields], arguments: list[tuple[str, str]]
) -> None:
    with suppress(CpuctlError):
        flags = read_flags([f"{name}={value}" for name, value in arguments])
        sources = ConfigSources(
            main=(json.dumps(HEAD | dict(main)), "main.json"), drop_ins=Folder(tuple(drop_ins)), flags=flags
        )
        loaded = load_configuration(sources, KubeletVersion(minor))
        assert loaded.settings.keys() <= FIELD_TYPES.keys()
