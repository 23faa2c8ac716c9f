"""cpuctl never runs, sends or writes anything unrequested, as docs/security.md states."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import pytest

from tests.security.watching import PROJECT, watched

NODE = "fixtures/nodes/v2-2-numa/node.tar.xz"
RUNNING = "fixtures/nodes/v2-2-numa/pods.json"
MACHINE = "fixtures/machines/2s-2numa-32cpu.tar.xz"
STATIC = "fixtures/kubelet/static.yaml"
READING = (
    f"plan -m {MACHINE} --kubelet-config {STATIC} -f fixtures/pods",
    f"plan -m {MACHINE} -f fixtures/pods --compare 1.36 1.37 -o json",
    f"explain shop/database -m {MACHINE} --kubelet-config {STATIC} -f fixtures/pods",
    f"pods show -f fixtures/pods -m {MACHINE}",
    "pods lint -f fixtures/pods",
    f"topology map -m {MACHINE}",
    f"config check -m {MACHINE} --kubelet-config {STATIC}",
    f"config reserve -m {MACHINE}",
    f"audit -m {NODE} --pods {RUNNING}",
    f"audit -m {NODE} -o plan",
    f"cgroups show -m {NODE}",
    f"checkpoint dump {NODE} --map",
    f"checkpoint verify {NODE} --kubelet-version 1.36",
    f"checkpoint repair {NODE} --kubelet-version 1.36 --pods {RUNNING}",
    f"checkpoint migrate {NODE} --to 1.37",
    "resize -T db=4/4,8Gi --set db:cpu=6 -m synthetic:2s2n8c2t --kubelet-version 1.38",
    "replay fixtures/timelines/case-a.yaml",
    "replay --new",
    "schema plan",
    "topology",
    "config show",
    "audit",
    "cgroups show",
    "checkpoint dump /nowhere",
)
SHORT = "synthetic:1s1n4c1t"


@pytest.mark.parametrize("line", READING)
def test_commands_that_only_read_start_send_and_write_nothing(line: str, tmp_path: Path) -> None:
    done = watched(shlex.split(line), tmp_path)
    assert done.code in {0, 3, 4, 5}, done.err
    assert done.events == []


def test_a_watch_queries_the_kernel_and_sends_nothing(tmp_path: Path) -> None:
    """It has its own pair of sockets, and uses ctypes for system calls that Python does not offer."""
    done = watched(["watch", "--for", "300ms"], tmp_path)
    assert done.code == 0, done.err
    assert done.written == set()
    called = {event[2] for event in done.events if event[0] == "ctypes.dlsym"}
    assert called <= {"sched_getaffinity", "inotify_init1", "inotify_add_watch", "inotify_rm_watch"}
    kinds = {"dlopen", "dlsym", "create_string_buffer", "get_errno"}
    assert done.others <= {f"ctypes.{kind}" for kind in kinds} | {"socket.__new__"}


WRITING = {
    "state": f"plan -m {MACHINE} --kubelet-config {STATIC} -f fixtures/pods --write-state {{}}",
    "repaired": f"checkpoint repair {NODE} --kubelet-version 1.36 --pods {RUNNING} --write-state {{}}",
    "new": f"checkpoint new -m {MACHINE} --kubelet-version 1.36 --kubelet-config {STATIC} --write-state {{}}",
    "node.tar.gz": "capture --root {root} {}",
}


@pytest.mark.parametrize("name", WRITING)
def test_commands_write_only_the_requested_files(name: str, tmp_path: Path) -> None:
    """Each file is written next to its target and then renamed; nothing else on the machine changes."""
    root = tmp_path / "root"
    (root / "sys").mkdir(parents=True)
    there, place = tmp_path / "there", tmp_path / "there" / name
    (there if "." in name else place).mkdir(parents=True)
    line = WRITING[name].format(place, root=root)
    done = watched(shlex.split(line), tmp_path)
    changed = {path for event in done.events for path in event[1:] if path.startswith("/")}
    assert done.written
    assert all(Path(path).is_relative_to(there) for path in changed), done.events
    assert done.others <= {"os.rename", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.remove"}
    made = {path.name for path in there.rglob("*") if path.is_file()}
    assert made in ({"node.tar.gz"}, {"cpu_manager_state"}, {"cpu_manager_state", "memory_manager_state"})


def test_a_python_file_next_to_the_inputs_is_not_run(tmp_path: Path) -> None:
    """A node's directory may contain anything: the installed program does not load code from it."""
    for name in ("yaml", "json", "cpuctl", "sitecustomize", "typer"):
        (tmp_path / f"{name}.py").write_text("open('run', 'w')\n")
    (tmp_path / "pods.yaml").write_text("kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a}]}\n")
    done = watched(["plan", "-m", SHORT, "-f", "pods.yaml"], tmp_path / "beside", cwd=tmp_path)
    assert done.code == 0, done.err
    assert not (tmp_path / "run").exists()


HOSTILE = "a\x1b]0;owned\x07\u202e$(touch run)`touch run`;touch run\n"


@pytest.mark.parametrize("form", ["table", "wide", "json", "yaml"])
def test_names_are_neither_run_nor_sent_raw_to_the_terminal(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "$(touch run)\x1b[2J"
    folder.mkdir()
    words = ["pods", "lint", "-f", str(folder), "-o", form]
    text = HOSTILE.encode("unicode_escape").decode().replace('"', "")
    pod = f'{{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "{text}"}}, "spec": {{}}}}'
    (folder / "pod.json").write_text(pod.replace("\\x", "\\u00"))
    done = watched(words, tmp_path)
    assert done.events == []
    controls = "\x1b\x07" if form in {"json", "yaml"} else "\x1b\x07\u202e"
    assert not any(control in done.out + done.err for control in controls)
    assert "owned" in done.out


ALIASES = "a: &a [x]\n" + "".join(
    f"{after}: &{after} [{','.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)
BOMBS = {
    "aliases.yaml": ALIASES.encode(),
    "depth.json": b"[" * 1_000_000,
    "values.json": b'{"kind": [' + b",".join([b"{}"] * 600_000) + b"]}",
    "number.json": b'{"kind": ' + b"9" * 3_000_000 + b"}",
    "documents.yaml": b"---\n" * 1_000_000,
}
FEEDING = {
    "plan": ["plan", "-m", SHORT, "-f"],
    "lint": ["pods", "lint", "-f"],
    "kubelet": ["config", "check", "-m", SHORT, "--kubelet-config"],
    "timeline": ["replay"],
    "devices": ["plan", "-m", SHORT, "-T", "a=1/1", "--devices"],
}


@pytest.mark.parametrize(
    ("command", "bomb"),
    [*(("plan", bomb) for bomb in BOMBS), *((command, "aliases.yaml") for command in FEEDING)],
)
def test_document_bombs_are_rejected(command: str, bomb: str, tmp_path: Path) -> None:
    path = tmp_path / bomb
    path.write_bytes(BOMBS[bomb])
    done = watched([*FEEDING[command], str(path)], tmp_path, megabytes=700, seconds=60)
    assert (done.code, done.out) in {(4, ""), (3, done.out)}
    assert done.events == []


def test_archive_bombs_are_rejected(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.tar.gz"
    zeros = gzip.compress(bytes(64 << 20), compresslevel=1)
    bomb.write_bytes(zeros * 40)
    done = watched(["topology", "-m", str(bomb)], tmp_path, megabytes=300, seconds=60)
    assert (done.code, done.events) == (4, [])
    assert "bomb.tar.gz" in done.err


@pytest.mark.parametrize(
    "text", ["99999999s4n4c2t", "1s1n1c99999999t", "1s1n4c,mem=1e999999999", "1s1n4c,offline=0-9999999"]
)
def test_described_machines_have_a_size_limit(text: str, tmp_path: Path) -> None:
    done = watched(["topology", "-m", f"synthetic:{text}"], tmp_path, megabytes=300, seconds=20)
    assert (done.code, done.events) == (4, [])


def test_these_tests_run_in_the_project() -> None:
    assert (PROJECT / "cpuctl" / "__main__.py").is_file()
