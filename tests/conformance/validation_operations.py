"""Recorded validations of configurations: decoded, defaulted and checked as at the start of a kubelet."""

from __future__ import annotations

from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.gates.feature_gates import STAGE, BadGatesError, FeatureGates, gates_at_start
from cpuctl.kubelet.validation.rule import Build, Subject
from cpuctl.kubelet.validation.rules import validate, validation_text
from cpuctl.records import replace
from tests.conformance.corpus import Json, version_of
from tests.conformance.node_start import kubelet_of

RECORDING = Build(previous="0.18446744073709551615", log_formats=("text",), image_patterns=False)
"""The program that recorded: it has no version, no JSON logs and no parser of image names.

A kubelet registers the JSON format (``cmd/kubelet/kubelet.go``).
"""


def validate_configuration(case: Json) -> Json:
    """Return what a kubelet finds wrong with a configuration file."""
    version = version_of(case)
    try:
        kubelet = kubelet_of(case["kubelet"], version)
        gates = gates_at_start(version.minor, [kubelet.config.feature_gates], {}, patch=version.patch)
    except ConfigRefusedError as refused:
        return _refused(refused.refusal.stage, refused.refusal.error)
    except BadGatesError as error:
        return _refused("panic" if error.crash else STAGE, str(error))
    gates = replace(gates, settings={**_set_by_the_recording(gates), **gates.settings})
    if errors := validate(Subject(config=kubelet.config, gates=gates, build=RECORDING)):
        return _refused("configValidation", validation_text(errors))
    return {"ok": True}


def _set_by_the_recording(gates: FeatureGates) -> dict[str, bool]:
    """Return the gates that are on by default in the recorded source trees, which are a distribution's."""
    off_with_its_group = gates.minor < 30 and gates.settings.get("AllAlpha") is False
    return {} if off_with_its_group else {"NodeLogQuery": True}


def _refused(stage: str, error: str) -> Json:
    return {"ok": False, "stage": stage, "error": error}
