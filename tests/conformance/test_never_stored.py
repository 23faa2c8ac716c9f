"""Planning rejects exactly the pods that API servers rejected, in their words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cpuctl.engine.pod_rules import server_rules
from cpuctl.engine.pod_server import PodServer
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from tests.conformance.corpus import CorpusFile, corpus_files, version_of
from tests.support.manifests import read_pods

FIXTURES = Path(__file__).parents[2] / "fixtures" / "conformance"
FILES = [each for each in corpus_files(FIXTURES) if each.path.name == "lint.jsonl.gz"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_planning_rejects_what_the_api_server_rejected(file: CorpusFile) -> None:
    for recorded in file.recorded():
        version = recorded.case.get("apiServerVersion", "1.36")
        rules = server_rules(FeatureGates.for_minor(version_of({"kubeletVersion": version}).minor))
        (pod,) = read_pods(json.dumps(recorded.case["pod"]), "case").pods
        stated = PodServer(rules).create(stored_pod(pod, PodRules(server=rules))).refusals
        assert bool(stated) == bool(recorded.expect["errors"]), recorded.name
        assert all(text in stated[0] for text in recorded.expect["errors"]), recorded.name


def test_several_releases_are_recorded() -> None:
    assert len(FILES) > 1
