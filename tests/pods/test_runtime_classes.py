"""The overhead that the API server's admission plugin RuntimeClass sets in new pods, or refuses."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_server import PodServer
from cpuctl.pods.model import Pod, RuntimeClass
from cpuctl.pods.reading.manifests import Manifests, decode_manifests, finished
from cpuctl.pods.rules import PodRules, ServerRules
from cpuctl.pods.stored import AmountField, provenance, stored_pod
from tests.support.pods import amounts, app, manifest

KATA = RuntimeClass("kata", known=True, overhead=amounts("cpu=250m memory=160Mi"))
PLAIN = RuntimeClass("kata", known=True)
UNKNOWN = RuntimeClass("kata")

OBJECT = "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata"
POD = """{apiVersion: v1, kind: Pod, metadata: {name: vm}, spec: {
  runtimeClassName: kata, containers: [{name: main}]}}"""


def of_class(runtime_class: RuntimeClass, overhead: str = "") -> Pod:
    written = manifest(app("cpu=1"), overhead=overhead)
    return written._replace(runtime_class=runtime_class)


def read(*texts: str) -> Manifests:
    return finished([decode_manifests(text, "pods.yaml") for text in texts], "pods.yaml")


def test_a_new_pod_gets_the_overhead_of_its_class() -> None:
    stored = provenance(of_class(KATA), PodRules())
    assert stored.pod.overhead == KATA.overhead
    place = AmountField("", "overhead", "cpu")
    assert stored.sources[place].rule == "the overhead of RuntimeClass kata"


def test_a_created_pod_keeps_what_it_has() -> None:
    created = of_class(KATA)._replace(phase="Running")
    assert stored_pod(created, PodRules()).overhead == {}
    assert stored_pod(of_class(KATA), PodRules(), before=of_class(KATA)).overhead == {}


@pytest.mark.parametrize(
    ("runtime_class", "overhead", "want"),
    [
        (KATA, "", ""),
        (KATA, "cpu=0.25 memory=163840Ki", ""),
        (KATA, "cpu=250m", "Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        (PLAIN, "cpu=1", "Pod Overhead set without corresponding RuntimeClass defined Overhead"),
        (UNKNOWN, "cpu=1", ""),
    ],
)
def test_other_overhead_is_refused(runtime_class: RuntimeClass, overhead: str, want: str) -> None:
    pod = stored_pod(of_class(runtime_class, overhead), PodRules())
    refusals = PodServer(ServerRules()).create(pod).refusals
    assert refusals == ((f'pods "pod" is forbidden: pod rejected: {want}',) if want else ())


@pytest.mark.parametrize("first", [True, False])
def test_classes_apply_to_pods_of_all_texts(*, first: bool) -> None:
    given = f"{OBJECT}, overhead: {{podFixed: {{cpu: 250m, memory: 160Mi}}}}}}"
    (pod,) = read(given, POD).pods if first else read(POD, given).pods
    assert pod.runtime_class == KATA


def test_a_class_may_define_no_overhead() -> None:
    assert read(f"{OBJECT}}}", POD).pods[0].runtime_class == PLAIN
    assert read(POD).pods[0].runtime_class == UNKNOWN
