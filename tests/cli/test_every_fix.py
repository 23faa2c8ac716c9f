"""No module proposes a fix without a test that runs what it proposes, or a reason why nobody can."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.proposals import ROOT

COLLECTED = {
    "cpuctl/answering/checkpoint/verdict_answer.py": "tests/cli/test_state_fixes.py",
    "cpuctl/audit": "tests/cli/test_audit_fixes.py",
    "cpuctl/engine/config_lints": "tests/cli/test_note_fixes.py",
    "cpuctl/engine/pod_lints.py": "tests/cli/test_pod_lint_fixes.py",
    "cpuctl/engine/state_checks": "tests/cli/test_state_fixes.py",
}
"""All that these could propose is collected there from the code, and must have been run."""
BY_CASES = {
    "cpuctl/answering/config": "tests/cli/test_fixes.py",
    "cpuctl/answering/resize_answer.py": "tests/cli/test_resize_gates.py",
    "cpuctl/kubelet/configuration": "tests/cli/test_note_fixes.py",
    "cpuctl/operations/checkpoint": "tests/cli/test_state_fixes.py",
}
"""What these propose is run there in the situations that the test thought of."""
NOT_RUN = {
    "what the API server or KubeVirt says is wrong with a manifest, which is for its author to write anew": [
        "cpuctl/operations/machine_lint.py",
        "cpuctl/operations/pod_lint.py",
        "cpuctl/pods/validation",
    ],
    "what a message of another program means, which nobody has named a node for": [
        "cpuctl/answering/explain/messages_answer.py",
        "cpuctl/messages",
    ],
    "hands on what others propose": [
        "cpuctl/answering/parts.py",
        "cpuctl/cli/render/fleet_page.py",
        "cpuctl/cli/render/node_page.py",
        "cpuctl/fleet",
    ],
}
PLACES = (*COLLECTED, *BY_CASES, *(place for places in NOT_RUN.values() for place in places))


def test_every_module_that_proposes_is_known() -> None:
    proposing = [file.relative_to(ROOT) for file in sorted((ROOT / "cpuctl").rglob("*.py")) if proposes(file)]
    homeless = [str(file) for file in proposing if not any(file.is_relative_to(place) for place in PLACES)]
    assert homeless == []
    idle = [place for place in PLACES if not any(file.is_relative_to(place) for file in proposing)]
    assert idle == []


def test_what_is_collected_is_collected() -> None:
    for place, test in COLLECTED.items():
        assert re.search(rf'(?:not_run|proposals)\(\[?"{place}"', (ROOT / test).read_text())
    for test in BY_CASES.values():
        assert "fix" in (ROOT / test).read_text()


def proposes(file: Path) -> bool:
    """Return whether a module gives anything a ``fix``: by keyword, or in a part of an answer."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.keyword(arg="fix"):
                return True
            case ast.Dict(keys=keys) if any(getattr(key, "value", None) == "fix" for key in keys):
                return True
            case _:
                pass
    return False
