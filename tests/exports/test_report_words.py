"""The verdict of a report in words and colours: the worst part decides, and unknown is not clean."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.exports.report_words import standings, verdict

CLEAN = {"error": 0, "warning": 0, "note": 0}


def report(start: str = "Started", machine: tuple[str, ...] = (), unknown: int = 0, **counts: int) -> Any:
    """Make the parts of a report that its verdict uses; *machine* are the severities of its findings."""
    configuration = {"start": {"outcome": start}, "summary": {**CLEAN, **counts}}
    found = [{"severity": each} for each in machine]
    total = {name: count + machine.count(name) for name, count in configuration["summary"].items()}  # type: ignore[attr-defined]
    sizes = {"sockets": 1, "numaNodes": 1, "cores": 2, "cpus": 4, "memoryBytes": None}
    return {
        "machine": {"kubelet": {}, "findings": found, "summary": sizes},
        "configuration": configuration,
        "unknown": [{"part": "configuration", "what": "flags"}] * unknown,
        "summary": {**total, "start": start, "notAdmitted": None, "unmet": None, "unknown": unknown},
    }


@pytest.mark.parametrize(
    ("severities", "tone"),
    [((), ""), (("note",), ""), (("warning", "note"), "warn"), (("warning", "error"), "bad")],
)
def test_a_machine_is_as_bad_as_its_worst_finding(severities: tuple[str, ...], tone: str) -> None:
    document = report(machine=severities)
    assert next(standings(document)).status.tone == tone
    assert verdict(document).tone == (tone or "good")


@pytest.mark.parametrize(
    ("document", "text", "tone"),
    [
        (report(), "No problems found", "good"),
        (
            report(unknown=1),
            "No problems found in what could be checked; 1 item unknown",
            "unknown",
        ),
        (report("Undetermined"), "unknown whether the kubelet would start", "unknown"),
        (
            report("Undetermined", warning=1),
            "unknown whether the kubelet would start; 1 warning",
            "unknown",
        ),
        (report("Undetermined", error=1), "unknown whether the kubelet would start; 1 error", "bad"),
        (report("Rejected"), "the kubelet would not start", "bad"),
        (report(warning=2), "2 warnings", "warn"),
        (report(warning=2, unknown=2), "2 warnings; 2 items unknown", "warn"),
    ],
)
def test_the_verdict_has_the_colour_of_its_worst_part(document: Any, text: str, tone: str) -> None:
    assert verdict(document) == (text, tone, *verdict(document)[2:])
    reported = next(each.status for each in standings(document) if each.part == "configuration")
    assert (reported.tone == "bad") == (tone == "bad")


def test_all_cpus_are_shared_with_policy_none() -> None:
    """The state file's pool is empty then."""
    document = report()
    document["holders"] = {
        "files": [{"file": "cpu_manager_state", "policy": "none"}],
        "cpus": {"holders": [], "exclusiveCPUs": 0, "sharedCPUs": 0},
    }
    status = next(each.status for each in standings(document) if each.part == "holders")
    assert status.text == "no exclusive CPUs: policy none, all 4 CPUs are shared"


def test_sandboxes_are_not_counted_as_containers() -> None:
    document = report()
    document["audit"] = {
        "summary": {"containers": 3, "threads": 9},
        "containers": [{"part": "app"}, {"part": "sandbox"}, {"part": "app"}],
        "findings": [],
    }
    status = next(each.status for each in standings(document) if each.part == "audit")
    assert status.text == "2 containers, 1 sandbox, 9 threads: no findings"
