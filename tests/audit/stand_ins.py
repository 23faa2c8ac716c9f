"""Stand-ins for programs that an audit proposes: they do to a copy what the real ones do to a live node.

Called by the name of one of them, with the copy's place in NODE.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("crictl", "taskset", "migratepages", "systemctl")


def groups_of(root: Path, part: str) -> Iterator[Path]:
    """Find the control groups whose path holds a text."""
    for file in (root / "sys/fs/cgroup").rglob("cpuset.cpus"):
        if part in str(file.parent):
            yield file.parent


def crictl(root: Path, words: list[str]) -> None:
    """``update --cpuset-cpus LIST ID``: the runtime writes the container's group."""
    verb, option, value, container = words
    assert verb == "update"
    name = {"--cpuset-cpus": "cpuset.cpus", "--cpuset-mems": "cpuset.mems"}[option]
    for group in groups_of(root, container):
        if group.name.find(container) >= 0:
            (group / name).write_text(f"{value}\n")


def taskset(root: Path, words: list[str]) -> None:
    """``-cp LIST PID``, with ``-a`` for all threads of the process."""
    options, cpus, pid = words
    pattern = f"proc/{pid}/**/status" if "a" in options else f"proc/*/task/{pid}/status"
    found = [*root.glob(pattern), *root.glob(f"proc/{pid}/status")]
    assert found, words
    for file in found:
        text = re.sub(r"(Cpus_allowed_list:\t).*", rf"\g<1>{cpus}", file.read_text())
        file.write_text(text)


def migratepages(root: Path, words: list[str]) -> None:
    """``PID FROM TO``."""
    pid, before, after = words
    file = root / f"proc/{pid}/numa_maps"
    file.write_text(re.sub(rf"\bN{before}=", f"N{after}=", file.read_text()))


def systemctl(root: Path, words: list[str]) -> None:
    """``set-property --runtime UNIT AllowedCPUs=LIST`` moves its processes; restarts read what is there."""
    if words[0] == "restart":
        return
    assert words[:2] == ["set-property", "--runtime"], words
    unit, cpus = words[-2], words[-1].removeprefix("AllowedCPUs=")
    for file in root.glob("proc/*/cgroup"):
        if f"/{unit}" in file.read_text():
            taskset(root, ["-acp", cpus, file.parent.name])


def settle(root: Path) -> None:
    """Do what the kernel does when a list is written: it counts below, and for who runs there."""
    top, form = root / "sys/fs/cgroup", "cpuset.{}.effective"
    if (top / "cpuset").is_dir():
        top, form = top / "cpuset", "cpuset.effective_{}"
    names = {f"cpuset.{what}": (form.format(what), what.capitalize()) for what in ("cpus", "mems")}
    for file in sorted(top.rglob("cpuset.cpus"), key=lambda each: len(each.parts)):
        for name, (effective, who) in names.items():
            own = (file.parent / name).read_text().strip()
            above = file.parent.parent / effective
            value = own or (above.read_text().strip() if above.exists() else "")
            if not value:
                continue
            (file.parent / effective).write_text(f"{value}\n")
            if own:
                _move(root, f"/{file.parent.relative_to(top)}", value, who)
    for file in root.glob("proc/irq/*/smp_affinity_list"):
        file.with_name("effective_affinity_list").write_text(file.read_text())


def _move(root: Path, group: str, value: str, who: str) -> None:
    for told in root.glob("proc/*/cgroup"):
        if any(line.endswith(f":{group}") for line in told.read_text().splitlines()):
            for status in told.parent.rglob("status"):
                text = re.sub(rf"({who}_allowed_list:\t).*", rf"\g<1>{value}", status.read_text())
                status.write_text(text)


if __name__ == "__main__":
    program = Path(sys.argv[0]).name
    {"crictl": crictl, "taskset": taskset, "migratepages": migratepages, "systemctl": systemctl}[program](
        Path(os.environ["NODE"]), sys.argv[1:]
    )
