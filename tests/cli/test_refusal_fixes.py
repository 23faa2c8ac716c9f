"""Every ``fix:`` for a kubelet that would not start, followed to the letter: afterwards it starts."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cpuctl.answering.config.check_answer import CheckedStart, suggested_fix
from cpuctl.engine.start import Started, check_start
from cpuctl.kubelet.configuration.loading import ConfigSources, LoadedConfiguration, load_configuration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine
from cpuctl.operations.reservable import reservable_cpus
from tests.cli.conftest import Cpuctl
from tests.cli.test_fixes import CASES, rename_in_all
from tests.support.proposals import texts_of

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance"
MACHINE = read_machine("synthetic:2s2n8c2t,mem=64Gi")
NUMA_NODES = len(MACHINE.machine.numa_nodes)
HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
Config = dict[str, Any]
STAGES = ("", "configValidation", "featureGates")
"""Crashes, and what is rejected on any machine."""


def started(config: Config, minor: int) -> tuple[LoadedConfiguration, CheckedStart]:
    version = KubeletVersion(minor)
    loaded = load_configuration(ConfigSources(main=(json.dumps(HEAD | config), "config.json")), version)
    kubelet = Kubelet(version=version, config=loaded.config, gates_of_main_file=loaded.gates_of_main_file)
    outcome = check_start(MACHINE.info, kubelet)
    return loaded, CheckedStart(
        outcome, reservable_cpus(MACHINE, kubelet, ()), len(MACHINE.machine.numa_nodes)
    )


def followed(config: Config, fix: str) -> Config:
    """Apply a fix as written."""
    changed: Config = json.loads(json.dumps(config))
    for step in fix.split("; "):
        if removed := re.fullmatch(r"remove (.+?)(?: from (\S+))?", step):
            _remove(changed, removed[1], removed[2])
        elif meant := re.fullmatch(r"set (\S+)(?:: | to a list, such as )(\S+)", step):
            *above, last = meant[1].split(".")
            _within(changed, above)[last] = meant[2]
        elif named := re.fullmatch(r"use (\S+) instead of (\S+) in (.+)", step):
            rename_in_all(changed, *named.groups())
        elif gates := re.fullmatch(r"set featureGates: \{(.+)\}", step):
            enabled = {each.removesuffix(": true"): True for each in gates[1].split(", ")}
            changed["featureGates"] = changed.get("featureGates", {}) | enabled
        elif grace := re.fullmatch(r"set evictionSoftGracePeriod: \{(\S+): (\S+)\}", step):
            changed.setdefault("evictionSoftGracePeriod", {})[grace[1]] = grace[2]
        elif group := re.fullmatch(r"set (.+), or remove (.+) from enforceNodeAllocatable", step):
            changed[group[1]] = "/group"
        elif step == "set imageGCHighThresholdPercent above imageGCLowThresholdPercent":
            changed["imageGCHighThresholdPercent"] = changed.get("imageGCLowThresholdPercent", 80) + 1
        else:
            raise AssertionError(step)
    return changed


def _remove(config: Config, what: str, field: str | None) -> None:
    for name in re.split(", | and ", what):
        if field == "enforceNodeAllocatable":
            config[field].remove(name)
        else:
            _leave_out(config, [field, name] if field else name.split("."))


def _within(config: Config, path: list[str]) -> Config:
    for name in path:
        config = config[name]
    return config


def _leave_out(config: Config, path: list[str]) -> None:
    _within(config, path[:-1]).pop(path[-1], None)


def refused(minor: int) -> Iterator[tuple[str, Config]]:
    folder = CORPUS if minor == 36 else CORPUS / f"1.{minor}"
    with gzip.open(folder / "validation.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if not entry["expect"]["ok"] and entry["expect"]["stage"] != "configDecode":
                yield entry["case"]["name"], entry["case"]["kubelet"]


@pytest.mark.parametrize("minor", [27, 31, 33, 36])
def test_a_kubelet_starts_once_the_fix_for_its_validation_error_is_applied(minor: int) -> None:
    for name, config in refused(minor):
        changed = config
        loaded, start = started(changed, minor)
        for _ in range(5):
            if isinstance(start.outcome, Started) or getattr(start.outcome, "stage", "") not in STAGES:
                break
            fix = suggested_fix(start, loaded)
            assert fix, (name, start)
            changed = followed(changed, fix)
            loaded, start = started(changed, minor)
        else:
            raise AssertionError((name, changed, start))


def _is_not_loaded(config: Config) -> bool:
    """Return whether the configuration fails before it is validated."""
    mistyped = {"evictionHard": list, "failSwapOn": str, "kubeReserved": str, "reservedSystemCPUs": list}
    wrong = any(isinstance(config.get(name), kind) for name, kind in mistyped.items())
    return wrong or "maxPods" in config or "AllBeta" in config.get("featureGates", {})


LOADED = [(36, config) for config in CASES if not _is_not_loaded(config)]
NOT_HERE = (
    # These need a flag, control groups of version 1 or another machine, and are tested in test_fixes.py.
    "list the reserved CPUs in reservedSystemCPUs",
    "set failCgroupV1: false",
    "set topologyManagerPolicy: none or, ",
    # A kubelet has an endpoint unless it is set to empty, and then the setting should be left out.
    "set containerRuntimeEndpoint",
    # Without a configuration, there is nothing to change.
    "cpuctl config check .* FILE",
)


def test_every_suggested_fix_is_tested() -> None:
    """A new fix needs a configuration that the kubelet rejects, here or in ``test_fixes.py``."""
    reported: set[str] = set()
    broken = [(minor, config) for minor in (27, 36) for _, config in refused(minor)]
    for minor, config in (*broken, *LOADED):
        loaded, start = started(config, minor)
        if not isinstance(start.outcome, Started):
            fix = suggested_fix(start, loaded)
            reported.update(fix.split("; "), [fix])
    ways = texts_of("cpuctl.answering.config.check_answer", "suggested_fix") - {""}
    left = [way for way in ways if not any(re.fullmatch(way, each) for each in reported)]
    assert [way for way in left if not re.sub(r"\\(.)", r"\1", way).startswith(NOT_HERE)] == []
    assert len(left) == len(NOT_HERE)


def test_the_fix_for_a_value_from_a_flag_removes_the_flag(cpuctl: Cpuctl) -> None:
    words = ("-m", "synthetic:4c,mem=8Gi", "--kubelet-args=--container-runtime-endpoint=")
    assert "  fix: remove --container-runtime-endpoint\n" in cpuctl("config", "check", *words).out


@pytest.mark.parametrize(
    ("flag", "fix", "fixed"),
    [
        (
            "--kube-reserved=cpu=500m,memory=1GB",
            "set memory=1G in --kube-reserved",
            "--kube-reserved=cpu=500m,memory=1G",
        ),
        (
            "--system-reserved=cpu=1x",
            "set cpu in --system-reserved to a quantity, such as 500m or 2",
            "--system-reserved=cpu=500m",
        ),
        (
            "--kube-reserved=memry=1Gi",
            "use memory instead of memry in --kube-reserved",
            "--kube-reserved=memory=1Gi",
        ),
        (
            "--eviction-hard=memory.available<100MB",
            "set memory.available<100M in --eviction-hard",
            "--eviction-hard=memory.available<100M",
        ),
        (
            "--eviction-hard=memory.avail<5%",
            "use memory.available instead of memory.avail in --eviction-hard",
            "--eviction-hard=memory.available<5%",
        ),
    ],
)
def test_a_member_of_a_flag_is_corrected_in_the_flag(flag: str, fix: str, fixed: str, cpuctl: Cpuctl) -> None:
    words = ("config", "check", "-m", "synthetic:4c,mem=8Gi", "-q", "--kubelet-args")
    assert f"\n  fix: {fix}\n" in cpuctl(*words, flag, columns=400).out
    assert " would start." in cpuctl(*words, fixed).out


@pytest.mark.parametrize(
    ("settings", "release", "fix"),
    [
        (
            {
                "cpuManagerPolicy": "static",
                "reservedSystemCPUs": "0",
                "featureGates": {"CPUManagerPolicyOptions": False},
                "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
            },
            "1.32",
            "remove CPUManagerPolicyOptions from featureGates, or remove cpuManagerPolicyOptions",
        ),
        (
            {
                "topologyManagerPolicy": "restricted",
                "featureGates": {"AllAlpha": False, "TopologyManagerPolicyAlphaOptions": True},
                "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
            },
            "1.27",
            "set featureGates: {TopologyManagerPolicyOptions: true}, or remove topologyManagerPolicyOptions",
        ),
        (
            {
                "topologyManagerPolicy": "restricted",
                "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
            },
            "1.27",
            "set featureGates: {TopologyManagerPolicyOptions: true, TopologyManagerPolicyAlphaOptions: true}",
        ),
    ],
    ids=["given", "by default", "two gates"],
)
def test_the_gate_of_all_options_is_proposed_before_their_removal(
    settings: Config, release: str, fix: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    (tmp_path / "k.json").write_text(json.dumps(HEAD | settings))
    words = ("config", "check", "-m", "synthetic:2s2n8c2t,mem=8Gi", "-q", "--kubelet-version", release)
    result = cpuctl(*words, "--kubelet-config", str(tmp_path / "k.json"), columns=400)
    assert f"\n  fix: {fix}\n" in result.out
