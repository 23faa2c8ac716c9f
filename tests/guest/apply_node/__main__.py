"""Plays scenarios by name and writes their facts to /out/apply.json for the tests on the host."""

from __future__ import annotations

import contextlib
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cpuctl.cli.app import run

from . import faults, kubelet, scenarios
from .node import KUBELET, WORK, go_wrong, make_node


def warm_up() -> None:
    """Import in this process what its children need: under emulation, imports take most of the time."""
    go_wrong()
    with (WORK / "warm-up").open("w") as file, contextlib.redirect_stdout(file):
        run(["cgroups", "apply", "-o", "json", "--exit-code", "--quota"])
        run(["audit", "-o", "plan"])
        run(["cgroups", "apply", "-o", "json", "-f", str(KUBELET / "cpu_manager_state")])
    gc.freeze()


def played(scenario: Callable[[], Any]) -> Any:
    """Return a scenario's facts, or the error that ended it."""
    began = time.monotonic()
    try:
        return scenario()
    except Exception as error:  # noqa: BLE001  # the other scenarios still have facts
        return f"{type(error).__name__}: {error}"
    finally:
        sys.stdout.write(f"{getattr(scenario, '__name__', scenario)}: {time.monotonic() - began:.1f} s\n")
        sys.stdout.flush()


def main(words: Sequence[str]) -> None:
    processes = make_node()
    warm_up()
    known = {**vars(scenarios), **vars(faults), **vars(kubelet)}
    facts = {name: played(known[name]) for name in words}
    Path("/out/apply.json").write_text(json.dumps(facts, indent=1))
    for process in processes:
        process.kill()


if __name__ == "__main__":
    main(sys.argv[1:])
