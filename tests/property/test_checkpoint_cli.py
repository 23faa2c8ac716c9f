"""No state file, however odd, makes a command fail; and a kubelet always starts on repaired files."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.memory_state import write_memory_state
from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile, MemoryTable
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cli.app import run
from cpuctl.cpuset import CPUSet
from cpuctl.records import replace
from tests.property.test_checkpoints import KUBELETS, cpu_states, memory_states, names
from tests.support.schemas import follow_schema
from tests.support.state_files import CPU_STATE, KUBELET, MACHINE, MEMORY_STATE, write_pods

OK, NO, INPUT = 0, 3, 4
FILES = ("cpu_manager_state", "memory_manager_state")
NODE = ("-m", MACHINE, "--kubelet-args", KUBELET, "-q")
small_sets = st.sets(st.integers(0, 18), max_size=6).map(CPUSet.of)
near = st.builds(
    CPUStateFile,
    policy_name=st.sampled_from(["static", "none"]),
    default_cpu_set=small_sets,
    entries=st.dictionaries(names, st.dictionaries(names, small_sets, max_size=3), max_size=3),
    pod_entries=st.dictionaries(names, small_sets, max_size=2),
    baselines=st.dictionaries(names, st.dictionaries(names, small_sets, max_size=2), max_size=2),
)
"""States of the machine's size, on which a kubelet may start."""
ODD = ["", "null", "{}", "[]", "1", '"', '"-1"', "\\u0000", "é", ":", "9" * 30]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A separate working directory, where defects raise their causes."""
    path = tmp_path_factory.mktemp("states")
    (path / "state").mkdir()
    (path / "new").mkdir()
    write_pods(path / "running.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.setenv("CPUCTL_DEBUG", "1")
        yield path


@dataclass(frozen=True)
class Done:
    code: int
    out: str


def checkpoint(*words: str) -> Done:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = run(["checkpoint", *words])
    return Done(code, out.getvalue())


def document(*words: str) -> Any:
    done = checkpoint(*words, "-o", "json")
    assert done.code in (OK, NO, INPUT)
    if not done.out:
        return None
    answer = json.loads(done.out)
    follow_schema(answer)
    return answer


def run_every_command(version: str) -> None:
    for words in (
        ("dump", "state", "--pods", "running.json", "--map", "-m", MACHINE),
        ("verify", "state", *NODE, "--kubelet-version", version, "--pods", "running.json"),
        ("migrate", "state", "--to", version, "-q"),
        ("repair", "state", *NODE, "--kubelet-version", version),
        ("repair", "state", *NODE, "--kubelet-version", version, "--pods", "running.json"),
        ("diff", "state", "new", "--pods", "running.json"),
    ):
        document(*words)
        assert checkpoint(*words, "-o", "wide").code in (OK, NO, INPUT)
    assert checkpoint("dump", "state", "-o", "prom").code in (OK, INPUT)


def put(folder: Path, cpu: str, memory: str, directory: str = "state") -> None:
    for name, text in zip(FILES, (cpu, memory), strict=True):
        (folder / directory / name).write_text(text, encoding="utf-8", errors="surrogatepass")


@settings(max_examples=15)
@given(near | cpu_states, memory_states, st.sampled_from(KUBELETS), st.sampled_from(["1.30", "1.36", "1.37"]))
def test_any_state_has_answers(
    folder: Path, cpu: CPUStateFile, memory: MemoryStateFile, writer: StateReader, version: str
) -> None:
    put(folder, write_cpu_state(CPU_STATE), write_memory_state(MEMORY_STATE), "new")
    put(folder, write_cpu_state(cpu, writer), write_memory_state(memory, writer))
    run_every_command(version)


@settings(max_examples=15)
@given(st.data())
def test_any_text_has_answers(folder: Path, data: st.DataObject) -> None:
    """Texts of files with something cut out, inserted or replaced."""
    writer = data.draw(st.sampled_from(KUBELETS))
    texts = []
    for text in (write_cpu_state(CPU_STATE, writer), write_memory_state(MEMORY_STATE, writer)):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 30)))
        put_in = data.draw(
            st.sampled_from(["", "null", "{}", "[]", "1", '"', '"-1"', "\\u0000", "é", ":", "9" * 30])
        )
        texts.append(text[:start] + put_in + text[end:])
    put(folder, write_cpu_state(CPU_STATE), write_memory_state(MEMORY_STATE), "new")
    put(folder, *texts)
    run_every_command(data.draw(st.sampled_from(["1.30", "1.36", "1.37"])))


@given(near, st.sampled_from(KUBELETS), st.sampled_from(["1.36", "1.37"]))
def test_a_kubelet_starts_on_repaired_files(
    folder: Path, cpu: CPUStateFile, writer: StateReader, version: str
) -> None:
    put(folder, write_cpu_state(cpu, writer), write_memory_state(MEMORY_STATE, writer))
    words = (*NODE, "--kubelet-version", version)
    repaired = checkpoint("repair", "state", *words, "--write-state", "new", "--force")
    assert repaired.code in (OK, NO)
    if repaired.code == OK:
        assert document("verify", "new", *words)["start"] == {"outcome": "Started"}
        assert document("repair", "new", *words)["outcome"] == "Unchanged"


@pytest.mark.parametrize(
    "name", ["hugepages-", "hugepages-x", "hugepages-0", "hugepages-3Ki", "hugepages-512Mi"]
)
def test_huge_pages_that_no_machine_has_are_no_reason_to_fail(folder: Path, name: str) -> None:
    pages = MemoryTable(total=1 << 21, system_reserved=0, allocatable=1 << 21, reserved=0, free=1 << 21)
    first = MEMORY_STATE.machine_state[0]
    listed = replace(first, memory_map={**first.memory_map, name: pages})
    memory = replace(MEMORY_STATE, machine_state={**MEMORY_STATE.machine_state, 0: listed})
    put(folder, write_cpu_state(CPU_STATE), write_memory_state(MEMORY_STATE), "new")
    put(folder, write_cpu_state(CPU_STATE), write_memory_state(memory))
    run_every_command("1.36")
