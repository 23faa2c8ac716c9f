"""The units and scripts of ``contrib/bootstrap``; tests/guest runs them under systemd in a machine."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.audit.node_tree import NodeTree, with_kubelet_files
from tests.capture.node_texts import written
from tests.machine.sysfs_writer import small_machine

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
STATIC = f"{HEAD}cpuManagerPolicy: static\n"
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "contrib" / "bootstrap"
WATCH = ROOT / "contrib" / "monitoring" / "cpuctl-watch.service"
SCRIPTS = ["verify-node", "write-atomically"]
INSTALLED = re.compile(r"Command (/usr/local/\S+) is not executable: No such file or directory")
PROGRAMS = {
    "/usr/local/bin/cpuctl",
    "/usr/local/lib/cpuctl/verify-node",
    "/usr/local/lib/cpuctl/write-atomically",
}


def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, check=False, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **environment}
    )


@pytest.fixture
def fake_cpuctl(tmp_path: Path) -> Path:
    """Ends ``config check`` with exit code $CONFIG, ``checkpoint verify`` with $STATE; records its arguments.

    Its message about the kubelet is $SAID.
    """
    program = tmp_path / "cpuctl"
    program.write_text(
        '#!/bin/sh\necho "$@" >>"$0.words"\necho "$SAID"\n'
        "case $1 in config) exit $CONFIG ;; *) exit $STATE ;; esac\n"
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(("config", "state"), list(itertools.product((0, 1, 2, 3, 4, 5, 130), (0, 3, 4))))
def test_only_a_negative_answer_holds_the_kubelet_back(fake_cpuctl: Path, config: int, state: int) -> None:
    stated = "Kubelet 1.36 would not start: unknown flag"
    words = {"CONFIG": str(config), "STATE": str(state), "SAID": stated}
    done = run(FOLDER / "verify-node", CPUCTL=str(fake_cpuctl), **words)
    assert done.returncode == (3 if 3 in (config, state) else 0)
    silent = sum(code not in (0, 3) for code in (config, state))
    assert done.stderr.count(": failed (exit code") == silent


@pytest.mark.parametrize(
    ("stated", "held"),
    [
        ("Kubelet 1.36 would not start: why", True),
        ("Kubelet 1.36 would fail (crash while reading allocated_pods_state): why", True),
        ("Kubelet 1.36 would start.", False),
        ("Whether kubelet 1.36 would start is unknown: why; it would not start: why", False),
        ("", False),
    ],
)
def test_only_errors_that_stop_a_kubelet_hold_it_back(fake_cpuctl: Path, stated: str, held: bool) -> None:
    done = run(FOLDER / "verify-node", CPUCTL=str(fake_cpuctl), CONFIG="3", STATE="3", SAID=stated)
    assert done.returncode == (3 if held else 0)


@pytest.mark.parametrize("given", [("--kubelet-version", "1.36"), ()], ids=["", "no release"])
@pytest.mark.parametrize("case", ["no configuration", "a script starts it", "no unit"])
def test_settings_that_flags_could_change_hold_no_kubelet_back(
    case: str, given: tuple[str, ...], tmp_path: Path
) -> None:
    """On the state files of a kubelet that had the static policies, set by flags."""
    files = with_kubelet_files(NodeTree()).files
    files["var/lib/kubelet/config.yaml"] = HEAD
    if case == "no configuration":
        del files["var/lib/kubelet/config.yaml"]
    if case == "a script starts it":
        files["etc/systemd/system/kubelet.service"] = "[Service]\nExecStart=/opt/start-kubelet\n"
    cpuctl = tmp_path / "cpuctl"
    cpuctl.write_text(f'#!/bin/sh\nexec {sys.executable} -m cpuctl "$@"\n')
    cpuctl.chmod(0o755)
    inputs = " ".join(("-m", str(written(files, tmp_path / "node")), *given))
    done = run(FOLDER / "verify-node", CPUCTL=str(cpuctl), CPUCTL_INPUTS=inputs, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert "unknown whether the kubelet would start; starting it anyway" in done.stderr


def test_an_unknown_answer_holds_no_kubelet_back(tmp_path: Path) -> None:
    """With the real cpuctl: a node that has a configuration, but no files that contain flags."""
    node = written({**small_machine(), "var/lib/kubelet/config.yaml": STATIC}, tmp_path / "node")
    inputs = f"-m {node} --kubelet-version 1.36"
    cpuctl = tmp_path / "cpuctl"
    cpuctl.write_text(f'#!/bin/sh\nexec {sys.executable} -m cpuctl "$@"\n')
    cpuctl.chmod(0o755)
    done = run(FOLDER / "verify-node", CPUCTL=str(cpuctl), CPUCTL_INPUTS=inputs, PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stderr.count("config check: unknown whether")) == (0, 1), done.stderr
    (node / "etc/default").mkdir(parents=True)
    (node / "etc/systemd/system").mkdir(parents=True)
    (node / "etc/systemd/system/kubelet.service").write_text(
        "[Service]\nEnvironmentFile=-/etc/default/kubelet\n"
        "ExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml $ARGS\n"
    )
    done = run(FOLDER / "verify-node", CPUCTL=str(cpuctl), CPUCTL_INPUTS=inputs, PYTHONPATH=str(ROOT))
    assert done.returncode == 3, done.stderr
    (node / "etc/default/kubelet").write_text("ARGS=--reserved-cpus=0\n")
    done = run(FOLDER / "verify-node", CPUCTL=str(cpuctl), CPUCTL_INPUTS=inputs, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr


def test_inputs_are_passed_to_both_commands(fake_cpuctl: Path) -> None:
    words = {"CPUCTL_INPUTS": "--config-dir /etc/x --kubelet-version 1.36", "CONFIG": "3", "STATE": "0"}
    run(FOLDER / "verify-node", CPUCTL=str(fake_cpuctl), **words)
    inputs = "-q --config-dir /etc/x --kubelet-version 1.36"
    reported = fake_cpuctl.with_name("cpuctl.words").read_text()
    assert reported.splitlines() == [f"config check {inputs}", f"checkpoint verify {inputs}"]


def test_a_node_without_cpuctl_starts_its_kubelet(tmp_path: Path) -> None:
    assert run(FOLDER / "verify-node", CPUCTL=str(tmp_path / "absent")).returncode == 0


def test_a_failed_command_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.prom"
    file.write_text("old\n")
    done = run(FOLDER / "write-atomically", file, "sh", "-c", "echo half; exit 4")
    assert done.returncode == 4
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"a.prom": "old\n"}


def test_a_file_is_replaced_by_another_one(tmp_path: Path) -> None:
    file = tmp_path / "a.prom"
    file.write_text("old\n")
    with file.open() as reader:
        assert run(FOLDER / "write-atomically", file, "echo", "new").returncode == 0
        assert reader.read() == "old\n", "an open file keeps the old text"
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"a.prom": "new\n"}
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_half_written_file_has_no_metrics_suffix(tmp_path: Path) -> None:
    done = run(FOLDER / "write-atomically", tmp_path / "a.prom", "ls", "-A", tmp_path)
    assert done.returncode == 0
    (half,) = (tmp_path / "a.prom").read_text().split()
    assert not half.endswith(".prom")


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_run_in_any_posix_shell(script: str) -> None:
    assert run("sh", "-n", FOLDER / script).returncode == 0
    assert os.access(FOLDER / script, os.X_OK)
    assert (FOLDER / script).read_text().startswith("#!/bin/sh\n")


@pytest.mark.parametrize(
    "unit", sorted({*FOLDER.rglob("*.service"), *FOLDER.rglob("*.conf"), WATCH}), ids=str
)
def test_no_unit_assumes_a_flag_of_the_kubelet(unit: Path) -> None:
    """A healthy kubelet without a drop-in directory would be kept from starting."""
    assert not re.search(r"CPUCTL_INPUTS=|cpuctl .*--(?:config-dir|kubelet-)", unit.read_text())


def cloud_config() -> dict[str, Any]:
    text = (FOLDER / "cloud-config.yaml").read_text()
    assert text.startswith("#cloud-config\n")
    document: dict[str, Any] = yaml.safe_load(text)
    return document


def test_the_cloud_config_is_generated_from_the_files() -> None:
    printed = run(sys.executable, FOLDER / "make-cloud-config").stdout
    assert (FOLDER / "cloud-config.yaml").read_text() == printed


def test_the_cloud_config_contains_every_file() -> None:
    """Keys and types follow cloud-init's schema of write_files and runcmd."""
    document = cloud_config()
    assert document.keys() == {"write_files", "runcmd"}
    written = {Path(entry["path"]): entry for entry in document["write_files"]}
    left_out = {"cloud-config.yaml", "make-cloud-config"}
    files = {each for each in FOLDER.rglob("*") if each.is_file() and each.name not in left_out} | {WATCH}
    assert {path.name for path in written} == {file.name for file in files}
    for file in files:
        (entry,) = (entry for path, entry in written.items() if path.name == file.name)
        assert entry.keys() == {"path", "permissions", "content"}
        assert entry["content"] == file.read_text()
        assert entry["permissions"] == ("0755" if os.access(file, os.X_OK) else "0644")


def test_the_cloud_config_enables_exactly_the_installable_units() -> None:
    document = cloud_config()
    assert all(isinstance(word, str) for words in document["runcmd"] for word in words)
    enabled = {words[-1] for words in document["runcmd"] if words[:2] == ["systemctl", "enable"]}
    installable = {
        entry["path"].rpartition("/")[2]
        for entry in document["write_files"]
        if "[Install]" in entry["content"]
    }
    assert enabled == installable


@pytest.mark.parametrize(
    "unit", [WATCH, *sorted(FOLDER.rglob("*.service")), *sorted(FOLDER.rglob("*.conf"))], ids=str
)
def test_units_start_programs_by_their_paths(unit: Path) -> None:
    started = re.findall(r"^Exec\w+=[-+]*(\S+)", unit.read_text(), flags=re.MULTILINE)
    assert started
    assert all(program in PROGRAMS or program.startswith("/bin/") for program in started)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    """The only complaint is that cpuctl's own programs are not installed on this machine."""
    shutil.copytree(FOLDER, tmp_path / "units")
    units = tmp_path / "units"
    shutil.copy(WATCH, units)
    (units / "kubelet.service").write_text("[Service]\nExecStart=/bin/true\nRestart=always\n")
    (units / "cpuctl-capture@.service").rename(units / "cpuctl-capture@kubelet.service")
    names = [str(each) for each in (*units.glob("*.service"), *units.glob("*.timer"))]
    done = run("systemd-analyze", "verify", "--man=no", *names, SYSTEMD_UNIT_PATH=f"{units}:")
    complaints = [line for line in done.stderr.splitlines() if str(units) in line or ".service" in line]
    reported = {match[1] for line in complaints if (match := INSTALLED.search(line))}
    assert reported <= PROGRAMS
    assert all(INSTALLED.search(line) for line in complaints), done.stderr
    assert "/usr/local/lib/cpuctl/verify-node" in reported, "the kubelet's drop-in was read"


def test_the_reservation_is_a_drop_in(tmp_path: Path) -> None:
    """The unit's own command, on a machine with two NUMA nodes."""
    unit = (FOLDER / "cpuctl-reserve.service").read_text()
    (chosen,) = re.findall(r'"CPUCTL_RESERVE=(.*)"', unit)
    (command,) = re.findall(r"/usr/local/bin/cpuctl (config reserve .*) \$CPUCTL_RESERVE", unit)
    (tmp_path / "kubelet.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
    )
    given = ["-m", "synthetic:2s2n4c2t", "--kubelet-config", str(tmp_path / "kubelet.yaml")]
    done = run(sys.executable, "-m", "cpuctl", *command.split(), *chosen.split(), *given)
    assert (done.returncode, done.stderr) == (0, "")
    assert yaml.safe_load(done.stdout) == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "reservedSystemCPUs": "0,4,8,12",
    }
