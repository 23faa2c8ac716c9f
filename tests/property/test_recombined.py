"""Recorded answers on one field, put together: what kubelets refuse of each, they refuse of all at once.

That is an oracle beside the table of rules: what a configuration of several fields should be told is what
kubelets have said of its parts, but where fields depend on each other. Which do is learnt from recordings of
two fields at a time, and that nothing else does is tried on recordings of up to eight.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.engine.outcome import StartRefused
from cpuctl.engine.start import check_start
from cpuctl.kubelet.configuration.loading import ConfigSources, load_configuration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.validation.rule import Subject
from cpuctl.kubelet.validation.rules import validate, validation_text
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance"
HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
MACHINE = read_machine("synthetic:1s2n4c2t,mem=16Gi")
RECORDED = range(27, 37)
LEFT_OUT = frozenset({"featureGates", "logging", "showHiddenMetricsForVersion"})
"""Gates decide on other fields; the other two hang on what was linked into the binary that was recorded."""
Config = dict[str, Any]


@cache
def answers(minor: int) -> dict[str, str | None]:
    """Return the error of every recorded configuration, empty where it is valid, None for one of a gate."""
    folder = CORPUS if minor == 36 else CORPUS / f"1.{minor}"
    with gzip.open(folder / "validation.jsonl.gz", "rt", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    return {
        written(entry["case"]["kubelet"]): None
        if entry["expect"].get("stage") not in (None, "configValidation")
        else entry["expect"].get("error", "")
        for entry in entries
    }


def written(config: Config) -> str:
    return json.dumps(config, sort_keys=True)


def parts(text: str) -> set[str]:
    """Take errors apart at every comma: in whatever order they come, the pieces are the same."""
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    return set(inner.split(", ")) if inner else set()


def predicted(config: Config, minor: int) -> set[str] | None:
    """Put together what was said of each field alone; None where one was not recorded."""
    found = [answers(minor).get(written({name: value})) for name, value in config.items()]
    if any(each is None for each in found):
        return None
    return {part for each in found for part in parts(each or "")}


@cache
def tied(minor: int) -> frozenset[frozenset[str]]:
    """Learn from recordings of two fields which of them depend on each other."""
    pairs = set()
    for text, error in answers(minor).items():
        config = json.loads(text)
        wanted = predicted(config, minor) if len(config) == 2 else None
        if error is not None and wanted is not None and parts(error) != wanted:
            pairs.add(frozenset(config))
    return frozenset(pairs)


@cache
def all_tied() -> frozenset[frozenset[str]]:
    """Join what is learnt of all releases: not every pair was recorded for each."""
    return frozenset().union(*(tied(minor) for minor in RECORDED))


def independent(names: Iterable[str]) -> bool:
    return LEFT_OUT.isdisjoint(names) and not any(
        frozenset(pair) in all_tied() for pair in combinations(names, 2)
    )


@cache
def single_fields(minor: int) -> tuple[Config, ...]:
    configs = (json.loads(text) for text, error in answers(minor).items() if error is not None)
    return tuple(config for config in configs if len(config) == 1 and LEFT_OUT.isdisjoint(config))


def reported(config: Config, minor: int) -> tuple[set[str], bool]:
    """Validate; return what is wrong, and whether a whole start is refused for it."""
    version = KubeletVersion(minor)
    loaded = load_configuration(ConfigSources(main=(json.dumps(HEAD | config), "config.json")), version)
    subject = Subject(config=loaded.config, gates=FeatureGates.for_minor(minor))
    kubelet = Kubelet(version=version, config=loaded.config, gates_of_main_file=loaded.gates_of_main_file)
    outcome = check_start(MACHINE.info, kubelet)
    refused = isinstance(outcome, StartRefused) and outcome.stage == "configValidation"
    return parts(validation_text(validate(subject))), refused


@pytest.mark.parametrize("minor", RECORDED)
def test_what_is_learnt_holds_for_recordings_of_many_fields(minor: int) -> None:
    tried = 0
    for text, error in answers(minor).items():
        config = json.loads(text)
        wanted = predicted(config, minor)
        if error is not None and wanted is not None and len(config) > 2 and independent(config):
            tried += 1
            assert parts(error) == wanted, config
    assert tried > 20


@settings(max_examples=400)
@given(minor=st.sampled_from(RECORDED), data=st.data())
def test_recombined_fields_are_told_what_kubelets_say_of_each(minor: int, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(single_fields(minor)), min_size=2, max_size=8))
    config: Config = {}
    for each in chosen:
        if not each.keys() & config.keys() and independent([*config, *each]):
            config |= each
    wanted = predicted(config, minor)
    assert wanted is not None
    found, refused = reported(config, minor)
    assert found == wanted
    assert refused == bool(wanted)
