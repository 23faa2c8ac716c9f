"""Every fix that a verdict on state files proposes for the configuration, followed until there is none."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from cpuctl.exports.answer_text import advice
from cpuctl.records import replace
from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_fixes import HEAD, done
from tests.support.proposals import not_run
from tests.support.state_files import CPU_STATE, MACHINE, WEB, cpus, write_states

SETTINGS: dict[str, Any] = {
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0,8",
    "memoryManagerPolicy": "Static",
    "kubeReserved": {"memory": "924Mi"},  # 1Gi together with the eviction threshold
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
}
"""With these settings a kubelet starts on the files; each change below keeps it from starting."""


class Configured:
    """A node whose kubelet is configured by a file, and the verdict on its state files."""

    def __init__(self, config: dict[str, Any], directory: Path, cpuctl: Cpuctl) -> None:
        self.config, self.directory, self.cpuctl = SETTINGS | config, directory, cpuctl
        self.followed: set[tuple[str, str]] = set()
        write_states(directory / "state")

    def call(self, *words: str) -> Any:
        (self.directory / "kubelet.json").write_text(json.dumps(HEAD | self.config))
        result = self.cpuctl(*words, "-o", "json", cwd=self.directory)
        assert result.out, result
        return json.loads(result.out)

    def verify(self) -> Any:
        reported = ("-m", MACHINE, "--kubelet-config", "kubelet.json", "--kubelet-version", "1.36")
        return self.call("checkpoint", "verify", "state", *reported)

    def reserve(self, _: object, *words: str, command: str, machine: str) -> Result:
        reported = ("--kubelet-config", "kubelet.json", "--kubelet-version", "1.36")
        return self.cpuctl("config", command, "-q", "-m", machine, *reported, *words, cwd=self.directory)

    def follow(self, finding: Any) -> None:
        """Apply a fix; if it says to check the configuration, apply what that check proposes."""
        fix = advice(finding)
        self.followed.add((finding["code"], re.sub(" -m .*", "", fix)))
        if fix.startswith("cpuctl config check "):
            found = self.call(*shlex.split(fix)[1:])["findings"]
            fix = next(each["fix"] for each in found if each["severity"] == "error")
        self.config = done(self.config, fix, self.reserve, MACHINE)


WRONG_SETTINGS: list[dict[str, Any]] = [
    {},
    {"reservedSystemCPUs": ""},
    {"featureGates": {"NodeSwap": False}},
    {"maxPods": "many", "podPidsLimit": "some", "maxOpenFiles": "few"},
    {"kubeReserved": {"evictionMinimumReclaim": {}, "evictionSoft": {}}},
]


def followed(config: dict[str, Any], directory: Path, cpuctl: Cpuctl) -> set[tuple[str, str]]:
    """Follow the last fix about settings until there is none; return the fixes followed.

    Then the kubelet reads its state files, which may not match other reservations.
    """
    directory.mkdir()
    node = Configured(config, directory, cpuctl)
    while found := [each for each in node.verify()["findings"] if not each["file"]]:
        assert found[-1]["severity"] == "error"
        node.follow(found[-1])
        left = [(each["code"], each["message"]) for each in node.verify()["findings"]]
        assert (found[-1]["code"], found[-1]["message"]) not in left, (found[-1], left)
    assert "NotReached" not in [each["verdict"]["outcome"] for each in node.verify()["files"]]
    return node.followed


def test_a_verdict_decided_by_settings_has_a_fix(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Both for files that do not load, and for configurations with which no kubelet starts."""
    run = [followed(config, tmp_path / str(at), cpuctl) for at, config in enumerate(WRONG_SETTINGS)]
    assert [bool(each) for each in run] == [False, True, True, True, True]
    assert not_run(["cpuctl/answering/checkpoint/verdict_answer.py"], set.union(*run)) == []


def test_a_fix_that_state_files_do_not_match_repairs_them(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """The kubelet starts before it, and again after it."""
    node = Configured({"reservedSystemCPUs": "4"}, tmp_path, cpuctl)
    entries = {**CPU_STATE.entries, WEB: {"app": cpus("12-13")}}
    write_states(
        tmp_path / "state", replace(CPU_STATE, default_cpu_set=cpus("0,3-8,11,14-15"), entries=entries)
    )
    reported = ("-m", MACHINE, "--kubelet-config", "kubelet.json", "--kubelet-version", "1.36")
    checked = node.call("config", "check", "--state", "state", *reported)
    assert checked["start"]["outcome"] == "Started"
    (fix,) = [each["fix"] for each in checked["findings"] if each["code"] == "reserved-splits-core"]
    steps = re.fullmatch(
        r"set reservedSystemCPUs: (\S+); then stop the kubelet, run sudo (cpuctl .*), and start .*",
        fix,
    )
    assert steps
    setting, repair = steps.groups()
    node.config["reservedSystemCPUs"] = setting
    assert node.verify()["start"]["outcome"] == "Rejected"
    _, *words = shlex.split(repair)
    assert cpuctl(*words, cwd=tmp_path).code == 0
    assert node.verify()["start"]["outcome"] == "Started"


def test_nothing_is_repaired_where_no_state_files_are(tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = Configured({"reservedSystemCPUs": "0"}, tmp_path, cpuctl)
    reported = ("-m", MACHINE, "--kubelet-config", "kubelet.json", "--kubelet-version", "1.36")
    found = node.call("config", "check", *reported)["findings"]
    assert "set reservedSystemCPUs: 0,8" in [each["fix"] for each in found]
