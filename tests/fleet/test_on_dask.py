"""Fleets on Dask: byte for byte the answer of one process, whatever files workers see, and if workers die."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.machine.support.archives import must_gather_files, snapshot, write_tree

pytestmark = pytest.mark.dask

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def cpuctl(directory: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "cpuctl", "fleet", *words],
        cwd=directory,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


class Cluster(NamedTuple):
    """A scheduler and its workers; none sees relative paths as we do, or is restarted."""

    address: str
    workers: list[subprocess.Popen[bytes]]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def started(directory: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        cwd=directory,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    elsewhere, address = tmp_path_factory.mktemp("elsewhere"), f"tcp://127.0.0.1:{free_port()}"
    host, port = address.removeprefix("tcp://").split(":")
    scheduler = started(elsewhere, "scheduler", "--host", host, "--port", port, "--no-dashboard")
    words = ("worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
    workers = [started(elsewhere, *words) for _ in range(2)]
    try:
        yield Cluster(address, workers)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Make a directory with recordings of every kind, and the kubelets' configuration."""
    machines = ROOT / "fixtures" / "machines"
    (tmp_path / "fleet").mkdir()
    for number in range(12):
        path = machines / ("2s-2numa-32cpu.tar.xz", "2s-8numa-64cpu.tar.xz")[number % 2]
        shutil.copy(path, tmp_path / f"fleet/node{number}.tar.xz")
        with (tmp_path / f"fleet/node{number}.tar.xz").open("ab") as file:
            file.write(bytes(4 * number))  # xz allows this: different bytes with the same content
    (tmp_path / "fleet/broken.tar").write_bytes(b"\x1f\x8bnothing")
    write_tree(
        must_gather_files(dict.fromkeys(["worker-1", "worker-2"], snapshot())), tmp_path / "fleet/must"
    )
    (tmp_path / "list").write_text("fleet\nsynthetic:2s4n4c2t,mem=64Gi\n")
    shutil.copy(ROOT / "fixtures/kubelet/static.yaml", tmp_path / "kubelet.yaml")
    return tmp_path


LIST = ("list", "@list", "--kubelet-config", "kubelet.yaml", "-o", "jsonl")
CHECK = ("check", "@list", "--kubelet-config", "kubelet.yaml", "-o", "json")
PLAN = ("plan", "@list", "--kubelet-config", "kubelet.yaml", "-T", "web=4/4,1Gi x20", "-o", "json")

DIFF = ("diff", "fleet", "@list", "--check", "config", "--kubelet-config", "kubelet.yaml", "-o", "json")


@pytest.mark.parametrize("words", [LIST, CHECK, PLAN, DIFF], ids=lambda words: words[0])
def test_workers_here_and_elsewhere_give_the_bytes_of_one_process(
    words: tuple[str, ...], fleet: Path, cluster: Cluster
) -> None:
    alone = cpuctl(fleet, *words, "--jobs", "1")
    assert alone[0] == 4
    assert len(alone[1].splitlines()) > 15
    assert cpuctl(fleet, *words, "--dask-scheduler", "local", "--jobs", "2") == alone
    assert cpuctl(fleet, *words, "--dask-scheduler", cluster.address) == alone


def test_the_kubelets_configuration_is_sent_and_named_as_here(fleet: Path, cluster: Cluster) -> None:
    (fleet / "kubelet.yaml").write_text("kind: KubeletConfiguration\nnoSuchField: 1\n")
    alone = cpuctl(fleet, *LIST, "--jobs", "1")
    assert "kubelet.yaml" in alone[1]
    assert cpuctl(fleet, *LIST, "--dask-scheduler", cluster.address) == alone


def test_a_worker_that_dies_loses_nothing(tmp_path: Path, cluster: Cluster) -> None:
    lines = (f"synthetic:2s8n16c2t,mem={number + 1}Gi\n" for number in range(600))
    (tmp_path / "list").write_text("".join(lines))
    words = ("list", "@list", "--kubelet-args=--cpu-manager-policy=static --reserved-cpus=0", "-o", "jsonl")
    alone = cpuctl(tmp_path, *words, "--jobs", "1")
    answers = tmp_path / "answers"
    with answers.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "cpuctl", "fleet", *words, "--dask-scheduler", cluster.address],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not answers.stat().st_size and process.poll() is None:
            time.sleep(0.01)
        cluster.workers[0].kill()
        assert answers.read_bytes().count(b"\n") < 600
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, answers.read_text(), errors) == alone


def test_ctrl_c_keeps_the_results_of_local_workers(tmp_path: Path) -> None:
    lines = (f"synthetic:2s8n16c2t,mem={number + 1}Gi\n" for number in range(2000))
    (tmp_path / "list").write_text("".join(lines))
    answers = tmp_path / "answers"
    with answers.open("wb") as out:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "cpuctl",
                "fleet",
                "list",
                "@list",
                "--dask-scheduler",
                "local",
                "-o",
                "jsonl",
            ],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        while not answers.stat().st_size and process.poll() is None:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    count = answers.read_text().count("\n")
    assert (process.returncode, errors) == (130, f"note: interrupted, {count} nodes answered\n")
    assert '"Unreadable"' not in answers.read_text()


def test_logs_of_dask_are_not_printed_as_errors(tmp_path: Path, cluster: Cluster) -> None:
    # The client logs answers that it requests a second time if a machine is busy.
    text = f"""
import logging
from cpuctl.fleet.on_dask import _connected
with _connected({cluster.address!r}, 1):
    for name in ("distributed", "distributed.client", "distributed.core", "distributed.gc"):
        logging.getLogger(name).warning("rescheduling")
"""
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_missing_scheduler_or_worker_is_an_error(fleet: Path, cluster: Cluster) -> None:
    for worker in cluster.workers:
        worker.kill()
        worker.wait()
    code, out, errors = cpuctl(fleet, *LIST, "--dask-scheduler", cluster.address)
    assert (code, out) == (5, "")
    assert errors == "error: --dask-scheduler: the scheduler has no workers\n"
    code, out, errors = cpuctl(fleet, *LIST, "--dask-scheduler", "tcp://127.0.0.1:1")
    assert (code, out) == (5, "")
    assert errors.startswith("error: --dask-scheduler tcp://127.0.0.1:1: the scheduler cannot be reached")
