"""The table of rules: complete, distinct, and each broken by a configuration that a kubelet rejected."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path

import pytest

from cpuctl.kubelet.configuration.schema import FIELD_TYPES, SINCE
from cpuctl.kubelet.validation.housekeeping import pattern_problem
from cpuctl.kubelet.validation.rule import Rule
from cpuctl.kubelet.validation.rules import RULES
from cpuctl.kubelet.version import NEWEST, OLDEST

CORPUS = Path(__file__).parents[3] / "fixtures" / "conformance"
MINORS = range(OLDEST, NEWEST + 1)
NOT_RECORDED = {
    "failCgroupV1": "the recording host had cgroup v2",
    "singleProcessOOMKill": "the recording host had cgroup v2",
    "containerRuntimeEndpoint": "a file cannot empty it, its default comes in; a flag can",
}
UNSEEN_TEXTS = (
    "RotateKubeletServerCertificate",
    "is disabled, see LoggingBetaOptions",
    "invalid image pattern",
    "must not contain equal sign",
    "logging.vmodule[{}]: Invalid value: {}: Must be",
    "logging.options.text.infoBufferSize",
    "must be a multiple of 65536",
    "NodeLogQuery feature gate is required",
    "topologyManagerPolicy (--topology-manager-policy)",
)
"""Rules that no recorded configuration breaks: most for lack of a case, two for lack of a build."""


@cache
def recorded(minor: int) -> str:
    folder = CORPUS if minor == 36 else CORPUS / f"1.{minor}"
    with gzip.open(folder / "validation.jsonl.gz", "rt", encoding="utf-8") as lines:
        return "\n".join(json.loads(line)["expect"].get("error", "") for line in lines)


def test_rules_are_distinct_in_every_release() -> None:
    for minor in MINORS:
        texts = [rule.text for rule in RULES if rule.holds_in(minor)]
        assert len(texts) == len(set(texts))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.field} {rule.since} {rule.text[-40:]}")
def test_a_rule_is_about_a_field_that_its_releases_have(rule: Rule) -> None:
    field = rule.path[0]
    assert field in FIELD_TYPES
    assert any(rule.holds_in(minor) for minor in MINORS)
    assert max(rule.since, OLDEST) >= SINCE.get(field, OLDEST) or not any(
        rule.breaks is other.breaks for other in RULES if other is not rule
    )


def test_every_rule_is_recorded_or_listed_as_not_recorded() -> None:
    unseen = []
    for rule in RULES:
        words = ".+".join(map(re.escape, re.sub(r"\{\{(.*?)\}\}", r"{\1}", rule.text).split("{}")))
        minors = [minor for minor in range(OLDEST, 37) if rule.holds_in(minor)]
        if not any(re.search(words, recorded(minor)) for minor in minors):
            unseen.append(rule)
    explained = [
        rule
        for rule in unseen
        if rule.field in NOT_RECORDED or any(text in rule.text for text in UNSEEN_TEXTS)
    ]
    assert [rule.text for rule in unseen if rule not in explained] == []
    assert [text for text in UNSEEN_TEXTS if not any(text in rule.text for rule in unseen)] == []


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("registry.io/a", ""),
        ("registry.io:5000/a/b_c", ""),
        ("registry.io/*", ""),
        ("", "the supplied pattern is too short: "),
        (" a", "leading/trailing spaces are not allowed:  a"),
        ("*", "not a valid wildcard pattern, only patterns ending with '/*' are allowed: *"),
        ("/*", "at least registry hostname is required"),
        ("a:1", "neither tag nor digest is accepted in an image reference: a:1"),
        ("A/b@", "failed to parse as an image name: invalid reference format"),
        ("registry.io/Abc", "failed to parse as an image name: repository name must be lowercase"),
    ],
)
def test_names_of_images_that_need_no_credentials(pattern: str, problem: str) -> None:
    assert pattern_problem(pattern) == problem
