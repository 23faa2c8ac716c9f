"""Settings with the wrong indentation: ``config check`` names their place, and moving them there helps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.conftest import Cpuctl
from tests.cli.test_differences import HEAD

STATIC = 'cpuManagerPolicy: static\nreservedSystemCPUs: "0,16"\n'
MEMORY = "memoryManagerPolicy: Static\nreservedMemory:\n- numaNode: 0\n  limits:\n"


class Misplaced(NamedTuple):
    """A file, the proposed fix, and the file with that fix."""

    text: str
    fix: str
    fixed: str


CASES = {
    "an option beside its options": Misplaced(
        f'{STATIC}cpuManagerPolicyOptions:\nfull-pcpus-only: "true"\n',
        "indent it below cpuManagerPolicyOptions",
        f'{STATIC}cpuManagerPolicyOptions:\n  full-pcpus-only: "true"\n',
    ),
    "without quotes": Misplaced(
        f"{STATIC}cpuManagerPolicyOptions:\nfull-pcpus-only: true\n",
        "indent it below cpuManagerPolicyOptions, in quotes",
        f'{STATIC}cpuManagerPolicyOptions:\n  full-pcpus-only: "true"\n',
    ),
    "far from its options": Misplaced(
        f'full-pcpus-only: "true"\n{STATIC}',
        "move it below cpuManagerPolicyOptions",
        f'{STATIC}cpuManagerPolicyOptions:\n  full-pcpus-only: "true"\n',
    ),
    "set below them as well": Misplaced(
        f'{STATIC}cpuManagerPolicyOptions:\n  full-pcpus-only: "true"\nfull-pcpus-only: "true"\n',
        "remove full-pcpus-only: cpuManagerPolicyOptions.full-pcpus-only is set as well",
        f'{STATIC}cpuManagerPolicyOptions:\n  full-pcpus-only: "true"\n',
    ),
    "the threshold that reservedMemory is compared with": Misplaced(
        f"{MEMORY}    memory: 500Mi\nevictionHard:\nmemory.available: 500Mi\n",
        "indent it below evictionHard",
        f"{MEMORY}    memory: 500Mi\nevictionHard:\n  memory.available: 500Mi\n",
    ),
    "memory beside limits": Misplaced(
        f"{MEMORY}  memory: 100Mi\n", "indent it below limits", f"{MEMORY}    memory: 100Mi\n"
    ),
    "of two settings, the one above": Misplaced(
        'kubeReserved:\n  cpu: "1"\nsystemReserved:\n  cpu: "1"\nmemory: 2Gi\n',
        "indent it below systemReserved",
        'kubeReserved:\n  cpu: "1"\nsystemReserved:\n  cpu: "1"\n  memory: 2Gi\n',
    ),
    "a member of a struct": Misplaced(
        "authentication:\nanonymous:\n  enabled: false\n",
        "indent it below authentication",
        "authentication:\n  anonymous:\n    enabled: false\n",
    ),
    "inside a struct": Misplaced(
        "authentication:\n  anonymous:\n  enabled: false\n",
        "indent it below anonymous",
        "authentication:\n  anonymous:\n    enabled: false\n",
    ),
    "a gate": Misplaced(
        "featureGates:\nCPUManagerPolicyAlphaOptions: true\n",
        "indent it below featureGates",
        "featureGates:\n  CPUManagerPolicyAlphaOptions: true\n",
    ),
    "a setting below thresholds": Misplaced(
        f'{STATIC[:25]}evictionHard:\n  memory.available: 1Gi\n  reservedSystemCPUs: "0,16"\n',
        "move reservedSystemCPUs out of evictionHard: it is a setting of its own",
        f"{STATIC}evictionHard:\n  memory.available: 1Gi\n",
    ),
    "a setting among options": Misplaced(
        f'{STATIC}cpuManagerPolicyOptions:\n  full-pcpus-only: "true"\n  topologyManagerPolicy: restricted\n',
        "move topologyManagerPolicy out of cpuManagerPolicyOptions: it is a setting of its own",
        f'{STATIC}cpuManagerPolicyOptions:\n  full-pcpus-only: "true"\ntopologyManagerPolicy: restricted\n',
    ),
    "a setting that cannot be decoded there": Misplaced(
        'kubeReserved:\n  cpu: "1"\n  evictionHard:\n    memory.available: 1Gi\n',
        "move evictionHard out of kubeReserved: it is a setting of its own",
        'kubeReserved:\n  cpu: "1"\nevictionHard:\n  memory.available: 1Gi\n',
    ),
    "a setting in a struct": Misplaced(
        f"authentication:\n  maxPods: 20\n{STATIC}",
        "move maxPods out of authentication: it is a setting of its own",
        f"maxPods: 20\n{STATIC}",
    ),
    "a misspelt policy with options": Misplaced(
        f'{STATIC.replace("Policy", "Polcy")}cpuManagerPolicyOptions: {{full-pcpus-only: "true"}}\n',
        "use cpuManagerPolicy",
        f'{STATIC}cpuManagerPolicyOptions: {{full-pcpus-only: "true"}}\n',
    ),
    "options without a policy": Misplaced(
        'reservedSystemCPUs: "0,16"\ncpuManagerPolicyOptions: {full-pcpus-only: "true"}\n',
        "set cpuManagerPolicy: static, or remove cpuManagerPolicyOptions",
        f'{STATIC}cpuManagerPolicyOptions: {{full-pcpus-only: "true"}}\n',
    ),
}


@pytest.mark.parametrize("misplaced", CASES.values(), ids=CASES)
def test_a_misplaced_setting_is_moved(misplaced: Misplaced, cpuctl: Cpuctl, tmp_path: Path) -> None:
    def check(text: str) -> Any:
        (tmp_path / "config.yaml").write_text(HEAD + text)
        words = ("-m", "synthetic:2s2n8c2t,mem=64Gi", "--kubelet-config", "config.yaml", "-o", "json")
        return json.loads(cpuctl("config", "check", *words, "-q", cwd=tmp_path).out)

    before, after = check(misplaced.text), check(misplaced.fixed)
    noted = [each["fix"] for each in before["findings"] if each["severity"] in ("error", "warning")]
    assert noted == [misplaced.fix]
    assert after["start"] == {"outcome": "Started"}
    assert after["summary"]["error"] == after["summary"]["warning"] == 0


def test_without_a_setting_above_the_alternatives_are_listed(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """An option of a later release belongs nowhere."""
    (tmp_path / "config.yaml").write_text(f'{HEAD}pid: "100"\nstrict-cpu-reservation: "true"\n')
    words = ("-m", "synthetic:4c", "--kubelet-config", "config.yaml", "--kubelet-version", "1.31")
    shown = cpuctl("config", "check", *words, cwd=tmp_path).out
    assert re.findall(r"config.yaml:\d+: .*|  fix: .*", shown) == [
        'config.yaml:3: pid: unknown field "pid" is ignored: it belongs below kubeReserved or systemReserved',
        "  fix: move it below kubeReserved or systemReserved",
        'config.yaml:4: strict-cpu-reservation: unknown field "strict-cpu-reservation" is ignored',
    ]
