"""The output of ``cpuctl report``, compared with the kernel's and the kubelet's files of that time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.guest.live_session.events import PER_PLACE, abouts, can_tell, reported
from tests.guest.live_session.kernel import Round, cpus_of

_COMPARED = (*PER_PLACE, "cpus-offline", "interrupts-allowed", "interrupts-default", "kernel-work")
_STATE = "/var/lib/kubelet/cpu_manager_state"


class Reported(NamedTuple):
    """One report, and the rounds of the observer while it was made."""

    name: str
    document: Any
    taken: Mapping[str, Any]
    rounds: Sequence[Round]

    def checks(self) -> dict[str, bool]:
        """Return what was compared, and whether one of the rounds agrees with the report."""
        document = self.document
        moment = datetime.fromisoformat(document["recordedAt"]).timestamp()
        made = {
            "taken meanwhile": self.taken["from"] - 1 <= moment <= self.taken["until"],
            "CPUs online": self.any(_same_online, document["machine"]),
            "NUMA nodes": self.any(_same_nodes, document["machine"]),
            "who holds CPUs": self._holders(),
            "groups of containers": self.any(_same_groups, document["audit"]["containers"]),
        }
        findings = document["audit"]["findings"]
        for code in _COMPARED:
            mine = [each for each in findings if each["code"] == code]
            rounds = [each for each in self.rounds if can_tell(code, each)]
            made[code] = any(_same_facts(code, mine, each) for each in rounds)
        for finding in findings:
            if finding["code"] not in _COMPARED:
                made[f"{finding['code']} ({finding['subject']})"] = self.any(reported, finding)
        return made

    def _holders(self) -> bool:
        """Compare who holds CPUs; if the report does not know, the state was being written."""
        if "holders" in self.document:
            return self.any(_same_holders, self.document["holders"]["cpus"])
        unknown = [each["what"] for each in self.document["unknown"] if each["part"] == "holders"]
        changed = len({each.sha256(_STATE) for each in self.rounds}) > 1
        return changed and any("cannot be used" in what for what in unknown)

    def any(self, same: Callable[[Any, Round], bool], part: Any) -> bool:
        """Return whether a part of the report agrees with one of the rounds."""
        return any(same(part, each) for each in self.rounds if each.thorough)

    def cells(self) -> tuple[str, ...]:
        """Return the cells of a row of the table."""
        made = self.checks()
        codes = sorted({each["code"] for each in self.document["audit"]["findings"]})
        return self.name, ", ".join(codes) or "nothing", f"{sum(made.values())} of {len(made)}"

    def wrong(self) -> list[str]:
        """List where the report differs from the kernel's files."""
        return [f"report {self.name}: {what}" for what, same in self.checks().items() if not same]


HEADING = ("report", "findings", "as the kernel's files")


def _same_facts(code: str, findings: Sequence[Mapping[str, Any]], found: Round) -> bool:
    facts = {about for each, about in found.facts() if each == code}
    if code in PER_PLACE:
        return facts == set().union(*(abouts(each) for each in findings))
    return bool(facts) == bool(findings)


def _same_online(machine: Any, found: Round) -> bool:
    online = cpus_of(found.text("/sys/devices/system/cpu/online"))
    return cpus_of(machine["summary"]["online"]) == online


def _same_nodes(machine: Any, found: Round) -> bool:
    reported_cpus = {str(each["id"]): cpus_of(each["cpus"]) for each in machine["numaNodes"]}
    paths = [path for path in found.raw["files"] if path.endswith("/cpulist")]
    return reported_cpus == {
        path.split("/node")[-1].split("/")[0]: cpus_of(found.text(path)) for path in paths
    }


def _same_holders(cpus: Any, found: Round) -> bool:
    held: dict[str, dict[str, str]] = {}
    for each in cpus["holders"]:
        held.setdefault(each["podUID"], {})[each["container"]] = each["cpus"]
    same = held == found.entries and cpus_of(cpus["sharedPool"]) == cpus_of(found.pool)
    return same and cpus_of(cpus["exclusive"]) == found.exclusive


def _same_groups(containers: Any, found: Round) -> bool:
    """Return whether every group with processes is there, with the kernel's CPUs and NUMA nodes for it."""
    reported_groups = {
        each["path"]: (
            cpus_of(each["cpus"]["configured"]),
            cpus_of(each["cpus"]["effective"]),
            cpus_of(each["mems"]["effective"]),
            each["threads"],
        )
        for each in containers
    }
    return reported_groups == {
        path: (
            cpus_of(found.text("cpuset.cpus", path)),
            cpus_of(found.text("cpuset.cpus.effective", path)),
            cpus_of(found.text("cpuset.mems.effective", path)),
            len(group["threads"]),
        )
        for path, group in found.raw["groups"].items()
        if path.endswith(".scope") and group["threads"]
    }


def read_reports(out: Path, session: Mapping[str, Any], rounds: Sequence[Round]) -> list[Reported]:
    """Read the reports of a session, each with the rounds of its time."""
    found = []
    for taken in session["reports"]:
        document = json.loads((out / f"report-{taken['name']}.json").read_text(encoding="utf-8"))
        # Memory is read only in every fourth round.
        near = [each for each in rounds if taken["from"] - 15 <= each.until and each.at <= taken["until"] + 5]
        found.append(Reported(taken["name"], document, taken, near))
    return found
