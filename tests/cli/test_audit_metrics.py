"""``audit -o prom``, and the alerts and the dashboard that read it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.audit.node_tree import clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import ROOT, Cpuctl
from tests.cli.test_audit import faulty

MONITORING = ROOT / "contrib/monitoring"
SAMPLE = re.compile(r"(?P<name>cpuctl_\w+)(?:\{(?P<labels>[^}]*)\})? (?P<value>\d+)")
TWO = "fixtures/machines/2s-2numa-32cpu.tar.xz"
V36 = ("--kubelet-version", "1.36")


@pytest.fixture
def node(tmp_path: Path) -> str:
    return str(written(with_kubelet_files(faulty(clean_node())).files, tmp_path / "node"))


def read(text: str) -> dict[str, dict[str, int]]:
    """Read the values by metric and labels; a duplicate series is an error, as for the exporter."""
    found: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample is not None, line
        series = found.setdefault(sample["name"], {})
        assert (sample["labels"] or "") not in series, line
        series[sample["labels"] or ""] = int(sample["value"])
    return found


def test_what_an_audit_finds_is_counted(node: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("audit", "--root", node, *V36, "-q", "-o", "prom")
    assert result.code == 3, result
    audited = json.loads(cpuctl("audit", "--root", node, *V36, "-o", "json").out)
    metrics = read(result.out)
    assert metrics["cpuctl_audit_findings"] == {
        f'severity="{severity}"': audited["summary"][severity] for severity in ("error", "warning", "note")
    }
    by_code = metrics["cpuctl_audit_findings_by_code"]
    assert sum(by_code.values()) == len(audited["findings"])
    wrong = {each["path"] for each in audited["containers"] if each["verdict"] not in ("ok", "not checked")}
    reported = {labels for labels, value in metrics["cpuctl_audit_container_ok"].items() if not value}
    assert len(reported) == len(wrong) > 0
    assert all(any(f'path="{path}"' in labels for labels in reported) for path in wrong)
    assert result.out.endswith("\n")


def test_what_was_not_checked_is_not_0(tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = with_kubelet_files(clean_node())
    bare = {path: text for path, text in node.files.items() if not path.startswith("proc/")}
    metrics = read(cpuctl("audit", "--root", str(written(bare, tmp_path)), *V36, "-q", "-o", "prom").out)
    assert 'what="interrupts"' not in metrics.get("cpuctl_audit_checked", {})
    assert metrics["cpuctl_audit_unchecked"][""] > 0


def commands_of_units() -> dict[str, list[str]]:
    """Return, by file, the commands with which the shipped units write metrics; without a node's settings."""
    found: dict[str, list[str]] = {}
    for unit in (ROOT / "contrib").rglob("*.service"):
        for line in re.findall(r"^ExecStart=((?:.*\\\n)*.*)", unit.read_text(), re.MULTILINE):
            words = shlex.split(line.replace("$CPUCTL_INPUTS", ""))
            for file in (Path(word).name for word in words if word.endswith(".prom")):
                found[file] = words[words.index("/usr/local/bin/cpuctl") + 1 :]
    return found


def written_by_units(node: str, cpuctl: Cpuctl) -> dict[str, str]:
    """Run these commands on a node of the test; return the text of each file."""
    state = ("--state", f"{node}/var/lib/kubelet")
    ours = {
        "cpuctl_audit.prom": ("--root", node, "--for", "100ms", *V36),
        "cpuctl_verify.prom": (*state, "-m", node, *V36),
        "cpuctl_state.prom": (f"{node}/planned",),
    }
    static = ("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml", "-T", "a=4/4,1Gi")
    planned = cpuctl("plan", "-m", TWO, *V36, *static, "--write-state", f"{node}/planned", "-q")
    assert planned.code == 0, planned
    texts = {}
    for file, words in commands_of_units().items():
        result = cpuctl(*(word.replace("${TEXTFILES}", node) for word in words), *ours[file])
        assert result.code == 0, result
        texts[file] = (Path(node) / file).read_text() if "--textfile" in words else result.out
    return texts


def test_units_write_the_files_that_alerts_look_for(node: str, cpuctl: Cpuctl) -> None:
    texts = written_by_units(node, cpuctl)
    assert texts.keys() == {"cpuctl_audit.prom", "cpuctl_verify.prom", "cpuctl_state.prom"}
    (age,) = (query for query in queries()["alerts"] if "node_textfile_mtime_seconds" in query)
    pattern = re.findall(r'file=~"([^"]*)"', age)[0]
    assert all(re.fullmatch(pattern, f"/var/lib/prometheus/node-exporter/{file}") for file in texts)


def exported(node: str, cpuctl: Cpuctl) -> set[str]:
    """Name the metrics that the shipped units write, and the one that node_exporter adds."""
    texts = written_by_units(node, cpuctl).values()
    return {"node_textfile_mtime_seconds"}.union(*(read(each).keys() for each in texts))


def requested(query: str) -> set[str]:
    """Name the metrics of a query: words that are not functions, labels, keywords or durations."""
    bare = re.sub(r'"[^"]*"|\{[^}]*\}|\b(?:by|without)\s*\([^)]*\)', " ", query)
    return {word for word in re.findall(r"[a-z_]\w*", bare) if "_" in word and word != "label_values"}


def queries() -> dict[str, list[str]]:
    board: Any = json.loads((MONITORING / "dashboard.json").read_text())
    rules: Any = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    return {
        "dashboard": [target["expr"] for panel in board["panels"] for target in panel["targets"]],
        "variables": [each["query"]["query"] for each in board["templating"]["list"][1:]],
        "alerts": [rule["expr"] for group in rules["groups"] for rule in group["rules"]],
    }


def test_every_query_uses_existing_metrics(node: str, cpuctl: Cpuctl) -> None:
    names = exported(node, cpuctl)
    for where, texts in queries().items():
        assert texts, where
        for text in texts:
            assert requested(text) <= names, text
            assert requested(text), text


def test_the_dashboard_is_complete() -> None:
    board: Any = json.loads((MONITORING / "dashboard.json").read_text())
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


def test_alerts_say_what_to_do() -> None:
    (group,) = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert len(set(names)) == len(names)
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert {"summary", "description"} <= rule["annotations"].keys()
