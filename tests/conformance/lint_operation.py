"""What an API server answers when a pod is created: errors, or what it stores."""

from __future__ import annotations

import json

from cpuctl.diagnostics import Component, Severity
from cpuctl.documents.loading import load_documents
from cpuctl.engine.pod_rules import server_rules
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.model import ResourceRequirements
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.rules import POD_LEVEL_SINCE, NodeRules
from cpuctl.pods.stored import as_sent
from cpuctl.pods.validation.objects import ManifestObject, objects_of
from cpuctl.pods.validation.reading import read_draft
from cpuctl.pods.validation.resource_requirements import Claim
from cpuctl.pods.validation.server import check_at_server, defaulted_pod
from tests.conformance.corpus import Json, version_of


def lint(case: Json) -> Json:
    """Decode, default and validate a pod with the default gates of a release; unknown fields are accepted."""
    version = case.get("apiServerVersion", "1.36")
    rules = server_rules(FeatureGates.for_minor(version_of({"kubeletVersion": version}).minor))
    (item,) = objects_of(load_documents(json.dumps(case["pod"]), "case")[0])
    assert isinstance(item, ManifestObject)
    read = read_draft(item.kind, item.value, item.place, item.spec_steps)
    found = [*read.findings, *check_at_server(read.draft, rules)]
    errors = {
        str(finding)
        for finding in found
        if finding.severity is Severity.ERROR and finding.rejected_by is Component.API_SERVER
    }
    if errors:
        return {"errors": sorted(errors)}
    pod = as_sent(defaulted_pod(read.draft, rules))
    answer: Json = {
        "errors": [],
        "qos": str(pod_qos(NodeRules(pod_level=rules.pod_level).view(pod)).qos_class),
        "resources": {each.name: _amounts(each.resources) for each in pod.all_containers},
    }
    for raw in (*read.draft.inits, *read.draft.containers) if rules.claims else ():
        if raw.claims:
            answer["resources"][raw.name]["claims"] = [_claim(each) for each in raw.claims]
    if rules.minor >= POD_LEVEL_SINCE:
        answer["podResources"] = None if pod.resources is None else _amounts(pod.resources)
    return answer


def _claim(claim: Claim) -> Json:
    return {"name": claim.name} | ({"request": claim.request} if claim.request else {})


def _amounts(resources: ResourceRequirements) -> Json:
    both = {"limits": resources.limits, "requests": resources.requests}
    return {
        side: {name: str(amount) for name, amount in amounts.items()}
        for side, amounts in both.items()
        if amounts
    }
