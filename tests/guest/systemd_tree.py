"""The files that make systemd the first process of a PID namespace in a guest: copies of the host's."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.guest.harness.host_tools import installed

_UNITS = Path("/lib/systemd/system")
_KUBELET = """\
[Service]
ExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml
Restart=always
RestartSec=60
TimeoutStartSec=infinity
"""
_PROGRAM = """\
#!/bin/sh
echo started >>/out/kubelet-starts
test ! -e /run/kubelet-fails && exec sleep 1000
"""
_SCENARIO = """\
[Service]
Type=oneshot
ExecStart=/bin/sh /share/bootstrap.sh
"""
_MANAGER = "[Manager]\nShowStatus=no\n"
# The guest has no journal.
_OUTPUT = "[Service]\nStandardOutput=append:/out/%p.log\nStandardError=append:/out/%p.log\n"


def make_tree(root: Path, bootstrap: Path, zipapp: Path) -> None:
    """Lay out systemd, the units of *bootstrap* and cpuctl below *root*, as on a node."""
    programs = [Path("/lib/systemd/systemd"), installed("systemctl"), installed("timeout")]
    for program in (*programs, *_libraries(programs)):
        _copy(program, root / str(program).lstrip("/"))
    for unit in (*_UNITS.glob("*.target"), *_UNITS.glob("*.slice")):
        _copy(unit, root / "lib/systemd/system" / unit.name)
    units = root / "etc/systemd/system"
    shutil.copytree(bootstrap / "kubelet.service.d", units / "kubelet.service.d")
    watch = bootstrap.parent / "monitoring" / "cpuctl-watch.service"
    for unit in (watch, *bootstrap.glob("*.service"), *bootstrap.glob("*.timer")):
        _copy(unit, units / unit.name)
    for script in ("verify-node", "write-atomically"):
        _copy(bootstrap / script, root / "usr/local/lib/cpuctl" / script)
    _copy(zipapp, root / "usr/local/bin/cpuctl")
    kubelet = root / "usr/bin/kubelet"
    kubelet.parent.mkdir(parents=True, exist_ok=True)
    kubelet.write_text(_PROGRAM)
    kubelet.chmod(0o755)
    for name, text in {"kubelet.service": _KUBELET, "scenario.service": _SCENARIO}.items():
        (units / name).write_text(text)
    (units.parent / "system.conf").write_text(_MANAGER)
    (units / "service.d").mkdir()
    (units / "service.d" / "output.conf").write_text(_OUTPUT)


def _libraries(programs: Iterable[Path]) -> list[Path]:
    reported = subprocess.run(["ldd", *programs], check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in sorted(set(re.findall(r"(/\S+) \(0x", reported)))]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
