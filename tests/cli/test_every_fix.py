"""Every module that proposes fixes has a test that runs them, or a reason why no test can."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.proposals import ROOT

COLLECTED = {
    "cpuctl/answering/checkpoint/verdict_answer.py": "tests/cli/test_state_setting_fixes.py",
    "cpuctl/audit": "tests/cli/test_audit_fixes.py",
    "cpuctl/engine/config_lints": "tests/cli/test_note_fixes.py",
    "cpuctl/engine/pod_lints.py": "tests/cli/test_pod_lint_fixes.py",
    "cpuctl/engine/state_checks": "tests/cli/test_state_fixes.py",
}
"""Every fix that these could propose is collected from the code by the test, and must have been run."""
BY_CASES = {
    "cpuctl/answering/config": "tests/cli/test_fixes.py",
    "cpuctl/answering/resize_answer.py": "tests/cli/test_resize_gates.py",
    "cpuctl/kubelet/configuration": "tests/cli/test_note_fixes.py",
    "cpuctl/operations/checkpoint": "tests/cli/test_state_fixes.py",
}
"""The fixes that these propose are run in the situations that the test sets up."""
NOT_RUN = {
    "errors that the API server or KubeVirt reports in a manifest, which its author must correct": [
        "cpuctl/operations/machine_lint.py",
        "cpuctl/operations/pod_lint.py",
        "cpuctl/pods/validation",
    ],
    "the meaning of another program's message, for which no node is given": [
        "cpuctl/answering/explain/messages_answer.py",
        "cpuctl/messages",
    ],
    "passes on what other modules propose": [
        "cpuctl/answering/checkpoint/change_answer.py",
        "cpuctl/answering/parts.py",
        "cpuctl/cli/render/fleet_page.py",
        "cpuctl/cli/render/node_page.py",
        "cpuctl/fleet",
    ],
}
PLACES = (*COLLECTED, *BY_CASES, *(place for places in NOT_RUN.values() for place in places))


def test_every_module_that_proposes_fixes_is_listed() -> None:
    proposing = [file.relative_to(ROOT) for file in sorted((ROOT / "cpuctl").rglob("*.py")) if proposes(file)]
    unlisted = [str(file) for file in proposing if not any(file.is_relative_to(place) for place in PLACES)]
    assert unlisted == []
    unused = [place for place in PLACES if not any(file.is_relative_to(place) for file in proposing)]
    assert unused == []


def test_the_listed_tests_collect_the_fixes() -> None:
    for place, test in COLLECTED.items():
        assert re.search(rf'(?:not_run|proposals)\(\[?"{place}"', (ROOT / test).read_text())
    for test in BY_CASES.values():
        assert "fix" in (ROOT / test).read_text()


def proposes(file: Path) -> bool:
    """Return whether a module sets a ``fix``: as a keyword, or as a key in a part of an answer."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.keyword(arg="fix"):
                return True
            case ast.Dict(keys=keys) if any(getattr(key, "value", None) == "fix" for key in keys):
                return True
            case _:
                pass
    return False
