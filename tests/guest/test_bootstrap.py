"""The bootstrap recipes under a real systemd, with cpuctl.pyz and a substitute for the kubelet."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.guest.conftest import ROOT
from tests.guest.harness.guest import run_in_guest
from tests.guest.harness.machine import GuestMachine, even_nodes
from tests.guest.systemd_tree import make_tree

pytestmark = pytest.mark.guest

MACHINE = GuestMachine(sockets=2, cores=2, threads=2, nodes=even_nodes(2, cpus=4, mib=512))
# systemd is the first process of a namespace: the guest's own first process does not change.
START = """\
cp -a /share/tree/. / && ln -sf /bin/env /usr/bin/env && mkdir -p /run /var && mount -t tmpfs tmpfs /run
export container=guest
unset PYTHONPATH
unshare -p -f -m --mount-proc /lib/systemd/systemd --system --unit=scenario.service --log-target=console \
    --log-level=warning >/out/systemd.log 2>&1 &
tries=0
until [ -e /out/done ] || [ $((tries += 1)) -gt 800 ]; do sleep 1; done
test -e /out/done
"""


@dataclass(frozen=True, slots=True)
class Steps:
    """The results of every step of ``bootstrap.sh``."""

    folder: Path

    def code(self, name: str) -> int:
        return int((self.folder / f"{name}.code").read_text())

    def text(self, name: str) -> str:
        return (self.folder / f"{name}.txt").read_text()

    def kubelet_log(self) -> str:
        return (self.folder / "kubelet.log").read_text()


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    work = tmp_path_factory.mktemp("bootstrap")
    zipapp, tree = work / "cpuctl.pyz", work / "tree"
    build: list[str | Path] = [
        sys.executable,
        ROOT / "contrib/zipapp/build.py",
        zipapp,
        "--python",
        "/usr/bin/python3",
    ]
    subprocess.run(build, check=True, capture_output=True)
    make_tree(tree, ROOT / "contrib/bootstrap", zipapp)
    share = [tree, Path(__file__).with_name("bootstrap.sh")]
    result = run_in_guest(START, MACHINE, work / "out", share=share)
    assert result.code == 0, result
    return Steps(result.out_dir)


def test_reserved_cpus_are_chosen_before_the_first_start(steps: Steps) -> None:
    assert steps.code("enable") == 0
    assert steps.code("first-start") == 0
    assert yaml.safe_load(steps.text("reserved"))["reservedSystemCPUs"] == "0-1,4-5"


def test_reserved_cpus_are_chosen_once(steps: Steps) -> None:
    assert steps.code("reserve-again") == 0
    assert steps.text("reserve-condition") == "ConditionResult=no\n"


def test_metrics_are_written_to_the_directory_of_the_collector(steps: Steps) -> None:
    assert steps.code("metrics") == 0, (steps.folder / "cpuctl-metrics.log").read_text()
    written = {file.name: file for file in steps.folder.glob("*.prom")}
    assert written.keys() == {"cpuctl_verify.prom", "cpuctl_state.prom", "cpuctl_audit.prom"}
    assert "cpuctl_checkpoint_starts 1\n" in written["cpuctl_verify.prom"].read_text()
    assert (
        'cpuctl_checkpoint_checksums_ok{file="cpu_manager_state"} 1'
        in written["cpuctl_state.prom"].read_text()
    )


def test_the_watch_notifies_systemd_and_can_read_all_its_files(steps: Steps) -> None:
    """Within the sandbox of its unit, everything is readable, including threads and interrupts."""
    log = (steps.folder / "cpuctl-watch.log").read_text()
    assert steps.code("watch") == 0, log
    assert steps.text("watch-state") == "active\n"
    assert (steps.code("watch-stop"), steps.text("watch-result")) == (0, "success\n")
    assert " watch      watching 0 containers of 0 pods" in log
    metrics = (steps.folder / "cpuctl_audit.prom").read_text()
    assert "cpuctl_audit_unreadable 0\n" in metrics
    assert 'cpuctl_audit_checked{what="threads"}' in metrics


def test_the_timer_is_scheduled_again(steps: Steps) -> None:
    assert steps.code("timer") == 0
    assert "cpuctl-metrics.timer" in steps.text("timers")


def test_a_kubelet_that_would_not_start_is_held_back(steps: Steps) -> None:
    """State files of the static policy under a configuration with none."""
    assert steps.code("refused-start") != 0
    assert "would not start" in steps.kubelet_log()
    assert steps.code("refused-recording") == 0


def test_the_recording_of_a_refusal_gives_the_same_answer_as_the_node(steps: Steps) -> None:
    recording = steps.folder / "refused.tar.gz"
    words: list[str | Path] = ["checkpoint", "verify", "-q", "--kubelet-version", "1.36", recording]
    done = subprocess.run(
        [sys.executable, "-m", "cpuctl", *words], check=False, capture_output=True, cwd=ROOT
    )
    assert done.returncode == 3
    with tarfile.open(recording) as archive:
        assert "MANIFEST.json" in archive.getnames()


def test_without_an_answer_the_kubelet_starts(steps: Steps) -> None:
    assert steps.code("start-without-answer") == 0
    assert "config check: failed (exit code 2)" in steps.kubelet_log()


def test_a_kubelet_in_a_restart_loop_is_recorded_once(steps: Steps) -> None:
    """``OnFailure=`` alone is not enough: a unit that is restarted has not failed."""
    assert steps.code("failure-recording") == 0
    assert steps.code("recorded-again") == 1
