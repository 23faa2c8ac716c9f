"""A node in a directory that proposed fixes change."""

from __future__ import annotations

import copy
import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from tests.audit.node_tree import PODS, clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.support import kubelet_stand_in as kubelet
from tests.support import stand_ins

CPU, MEMORY = (f"{kubelet.DIRECTORY}/{name}" for name in kubelet.STATES)
V36, V37 = ("--kubelet-version", "1.36"), ("--kubelet-version", "1.37")


class Node:
    """A node below a directory, and its pod file."""

    def __init__(self, directory: Path, cpuctl: Cpuctl) -> None:
        self.directory, self.cpuctl = directory, cpuctl
        self.tree = with_kubelet_files(clean_node())
        self.root, self.file = directory / "the node", directory / "its pods.json"
        self.pods: dict[str, Any] = copy.deepcopy(PODS)
        self.reported: tuple[str, ...] = V36
        # The emulated kubelet writes its own.
        for name in (CPU, MEMORY):
            del self.tree.files[name]

    def write(self) -> None:
        written(self.tree.files, self.root)
        self.file.write_text(json.dumps(self.pods))
        self.environment = stand_ins.written(
            self.directory / "bin", self.root, PODS=str(self.file), KUBELET=" ".join(self.reported)
        )

    def path(self, name: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def audit(self) -> list[Any]:
        words = ("--root", str(self.root), "--pods", str(self.file), *self.reported, "-o", "json")
        result = self.cpuctl("audit", *words)
        assert result.out, result
        found: list[Any] = json.loads(result.out)["findings"]
        return found

    def without_options(self, fix: str) -> str:
        """Remove the options given to the audit, all of which every cpuctl command in the fix must repeat.

        Commands that need services of the node name no files from here.
        """
        pods, gates = ["--pods", str(self.file)], [word for word in self.reported if word not in (*V36, *V37)]
        for given in (
            ["-m", str(self.root), *self.reported, *pods],
            ["--root", str(self.root), *self.reported, *pods],
            [*self.reported, "--pods", "FILE"],
            [*gates, "--pods", "FILE"],
        ):
            fix = fix.replace(f" {shlex.join(given)}", "")
        assert str(self.directory) not in fix, fix
        return fix

    def restart_as(self, *words: str) -> None:
        """Start the kubelet with another release or other gates."""
        self.reported = words
        self.environment["KUBELET"] = os.environ["KUBELET"] = " ".join(words)
        kubelet.start(self.root)

    def configure(self, line: str) -> None:
        file = self.path(f"{kubelet.DIRECTORY}/config.yaml")
        file.write_text(file.read_text() + line)

    def read_nothing(self) -> None:
        pods = copy.deepcopy(self.pods)
        del pods["items"][0]["spec"]["volumes"]
        self.file.write_text(json.dumps(pods))

    def request_cpus(self, cpus: str) -> None:
        pods = json.loads(self.file.read_text())
        pods["items"][0]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = cpus
        self.file.write_text(json.dumps(pods))

    def limit(self, pod: int, **amounts: str) -> None:
        """Limit a pod's container, which then requests the same amounts."""
        pods = json.loads(self.file.read_text())
        resources = pods["items"][pod]["spec"]["containers"][0]["resources"]
        resources.pop("requests", None)
        resources["limits"] |= amounts
        self.file.write_text(json.dumps(pods))

    def drain(self, *files: str) -> None:
        """Empty the node, delete files, and bring the pods back."""
        self.file.write_text(json.dumps(PODS | {"items": []}))
        for name in files:
            self.path(name).unlink()
        kubelet.start(self.root)
        self.file.write_text(json.dumps(self.pods))
        kubelet.start(self.root)
        stand_ins.settle(self.root)

    def run(self, fix: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["sh", "-uc", stand_ins.at(self.root, fix)],
            check=False,
            capture_output=True,
            text=True,
            env=self.environment,
        )
        stand_ins.settle(self.root)
        return done
