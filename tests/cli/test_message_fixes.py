"""Every fix of ``explain --message``, followed in a situation in which a kubelet prints the message."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cpuctl.messages.admission import ADMISSION
from cpuctl.messages.configuration import CONFIGURATION
from cpuctl.messages.recognition import recognize
from cpuctl.messages.starting import STARTING
from tests.cli.conftest import Cpuctl
from tests.cli.test_fixes import HEAD
from tests.support.admission_messages import ADMISSIONS
from tests.support.followed_fixes import Case, Node
from tests.support.start_messages import STARTS


class Kubelet:
    """Asks ``plan`` why a kubelet does not start or, if it does, why it rejects a pod."""

    def __init__(self, cpuctl: Cpuctl, directory: Path) -> None:
        self.cpuctl, self.directory = cpuctl, directory

    def prints(self, node: Node) -> str:
        (self.directory / "config.json").write_text(json.dumps(HEAD | node.config))
        given = ("-m", node.machine, "--kubelet-config", "config.json", "--kubelet-version", node.release)
        pods = ("-T", "one=100m,1Mi")
        if node.pods:
            items = {"apiVersion": "v1", "kind": "List", "items": node.pods}
            (self.directory / "pods.json").write_text(json.dumps(items))
            pods = ("-f", "pods.json")
        result = self.cpuctl("plan", *given, *pods, "-o", "json", cwd=self.directory)
        assert result.out, result
        answer: dict[str, Any] = json.loads(result.out)
        if answer["start"]["outcome"] != "Started":
            return str(answer["start"].get("error") or answer["start"]["why"])
        return "".join(each["message"] for each in answer["pods"] if each["outcome"] != "Admitted")


@pytest.fixture
def kubelet(cpuctl: Cpuctl, tmp_path: Path) -> Kubelet:
    return Kubelet(cpuctl, tmp_path)


NOT_FOLLOWED = {
    "whole-cores": "the reason of an event, beside a message that has its own fix",
    "reserved-cpus-unknown": "needs a machine whose online CPUs are not in its topology",
    "static-pod-references": "``plan`` takes the pods of manifests as those of an API server",
    "static-pod-manifest": "about a file that is no pod",
    "static-pod-invalid": "the invalid field is in the message",
    "preemption-failed": "``plan`` does not evict pods",
    "devices-unavailable": "about device plugins",
    "devices-unregistered": "about device plugins",
    "devices-unhealthy": "about device plugins",
    "cgroup-controllers": "about control groups",
    "cgroup-root": "about control groups",
    "cgroup-v1": "about the boot parameters; test_fixes.py follows failCgroupV1",
    "swap-needs-cgroup-v2": "about the boot parameters; test_fixes.py follows the setting",
    "configuration-kind": "the file does not load: test_fixes.py follows the advice",
    "configuration-decode": "the file does not load: test_fixes.py follows the advice",
    "configuration-lenient": "a warning",
    "flag-rejected": "the flags do not load: test_fixes.py follows the advice",
}
"""Messages whose fixes nothing here can follow, and why."""
CASES = [*STARTS, *ADMISSIONS]


def fix_of(case: Case, kubelet: Kubelet) -> str:
    """Return the fix of the message that a kubelet prints."""
    printed = kubelet.prints(case.node)
    (found,) = [each for each in recognize(f"kubelet[1]: {printed}") if each.message.code == case.code]
    return found.message.fix_of(found.values)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_message_is_gone_once_its_fix_is_applied(case: Case, kubelet: Kubelet) -> None:
    fix = fix_of(case, kubelet)
    assert all(way in fix for way in case.ways), fix
    for way, node in case.ways.items():
        assert kubelet.prints(node) == "", way


def test_every_part_of_a_fix_is_followed(kubelet: Kubelet) -> None:
    """A new fix, or another part of one, needs a case."""
    followed: dict[tuple[str, str], set[str]] = {}
    for case in CASES:
        followed.setdefault((case.code, fix_of(case, kubelet)), set()).update(case.ways)
    assert {fix for (_, fix), ways in followed.items() if left(fix, ways)} == set()
    named = {each.code for each in (*ADMISSION, *STARTING, *CONFIGURATION) if each.fix or each.fixes}
    assert named - {code for code, _ in followed} == {*NOT_FOLLOWED}


def left(fix: str, ways: set[str]) -> str:
    """Return the parts of a fix that were not followed."""
    for way in sorted(ways, key=len, reverse=True):
        fix = fix.replace(way, "")
    return re.sub(r"\bor\b|[,;\s]", "", fix)
