"""Laws of reading a kubelet's settings: bad input is one ValueError or InputError, nothing else."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.engine.start import Started, check_start
from cpuctl.errors import InputError
from cpuctl.golang.durations import duration_text, parse_duration
from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.policy_options import CPU_POLICY_OPTIONS, parse_cpu_policy_options
from cpuctl.kubelet.version import KubeletVersion
from tests.support.kubelet_config import read_kubelet_config
from tests.support.topologies import CoreAt, machine_info

EIGHT = machine_info(CoreAt(cpus=(core, core + 4)) for core in range(4))
MINORS = st.integers(27, 38)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
values = leaves | st.lists(leaves, max_size=2) | st.dictionaries(st.text(max_size=5), leaves, max_size=2)
gates = st.sampled_from(
    ["AllAlpha", "AllBeta", "PodLevelResources", "MemoryQoS", "CPUManagerPolicyAlphaOptions"]
)


@given(MINORS, st.dictionaries(st.sampled_from([*FIELD_TYPES, "bogus"]), values, max_size=4))
def test_no_configuration_ends_in_a_traceback(minor: int, fields: dict[str, Any]) -> None:
    """A kubelet starts, or exits with an error text; all CPUs are either reserved or for pods."""
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    with suppress(InputError):
        config = read_kubelet_config(json.dumps(head | fields), "config", minor).config
        result = check_start(EIGHT, Kubelet(version=KubeletVersion(minor), config=config))
        if isinstance(result, Started):
            assert all(amount.sign >= 0 for amount in result.reserved.values())
        else:
            assert str(result)


@given(st.integers(-(2**63), 2**63 - 1))
def test_durations_read_back(nanoseconds: int) -> None:
    assert parse_duration(duration_text(nanoseconds)) == nanoseconds


@given(st.text(max_size=8) | st.from_regex(r"[-+]?([0-9.]{1,6}(ns|us|ms|s|m|h)?){0,3}", fullmatch=True))
def test_no_duration_ends_in_a_traceback(text: str) -> None:
    with suppress(ValueError):
        assert abs(parse_duration(text)) <= 2**63


@given(st.integers(0, 10**6), st.integers(0, 59), st.integers(0, 999))
def test_parts_of_a_duration_add_up(hours: int, minutes: int, millis: int) -> None:
    assert (
        parse_duration(f"{hours}h{minutes}m{millis}ms")
        == (hours * 3600 + minutes * 60) * 10**9 + millis * 10**6
    )


@given(MINORS, st.dictionaries(gates, st.booleans()))
def test_explicit_gates_are_what_they_were_set_to(minor: int, settings: dict[str, bool]) -> None:
    with suppress(ValueError):
        found = FeatureGates.for_minor(minor).with_overrides(settings)
        assert {name: found.enabled(name) for name in settings} == settings


@given(
    MINORS,
    st.dictionaries(st.sampled_from([*CPU_POLICY_OPTIONS, "bogus"]), st.sampled_from(["true", "false", "x"])),
)
def test_accepted_options_are_what_they_were_set_to(minor: int, options: dict[str, str]) -> None:
    alpha = FeatureGates.for_minor(minor).with_overrides({"CPUManagerPolicyAlphaOptions": True})
    with suppress(ValueError):
        found = parse_cpu_policy_options(options, alpha)
        for name, value in options.items():
            assert getattr(found, name.replace("-", "_")) is (value == "true")


@given(MINORS)
def test_versions_read_back(minor: int) -> None:
    assert KubeletVersion.parse(str(KubeletVersion(minor))).minor == minor
