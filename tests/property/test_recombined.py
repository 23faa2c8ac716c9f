"""Recorded answers on one field, combined: what kubelets reject in each field, they reject in all at once.

That is an oracle next to the table of rules: the errors of a configuration of several fields should be those
of its parts, unless fields depend on each other. Which do is learnt from recordings of
two fields at a time, and that no others do is tested on recordings of up to eight.
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
"""Gates affect other fields; the other two depend on what was linked into the recorded binary."""
IMAGES = frozenset({"imagePullCredentialsVerificationPolicy", "preloadedImagesVerificationAllowlist"})
"""Patterns are checked only under one policy, as the error about another one says; no recording has both."""
Config = dict[str, Any]


@cache
def answers(minor: int) -> dict[str, str | None]:
    """Return the error of every recorded configuration: empty if it is valid, None if a gate is wrong."""
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
    """Split errors at every comma: the pieces are the same in any order of the errors."""
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    return set(inner.split(", ")) if inner else set()


def predicted(config: Config, minor: int) -> set[str] | None:
    """Combine the errors of each single field; return None if one was not recorded."""
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
    """Join what is learnt from all releases: not every pair was recorded for each."""
    return frozenset({IMAGES}).union(*(tied(minor) for minor in RECORDED))


def independent(names: Iterable[str]) -> bool:
    return LEFT_OUT.isdisjoint(names) and not any(
        frozenset(pair) in all_tied() for pair in combinations(names, 2)
    )


@cache
def single_fields(minor: int) -> tuple[Config, ...]:
    configs = (json.loads(text) for text, error in answers(minor).items() if error is not None)
    return tuple(config for config in configs if len(config) == 1 and LEFT_OUT.isdisjoint(config))


def reported(config: Config, minor: int) -> tuple[set[str], bool]:
    """Validate; return the errors, and whether a whole start fails because of them."""
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
def test_recombined_fields_have_the_errors_of_each_field(minor: int, data: st.DataObject) -> None:
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
