"""TAB in real shells."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shells.conftest import SHELLS, Seat

pytestmark = [pytest.mark.shells, pytest.mark.parametrize("shell", SHELLS)]

COMPLETED = {
    "cpuctl expl": ["cpuctl", "explain"],
    "cpuctl checkpoint mig": ["cpuctl", "checkpoint", "migrate"],
    "cpuctl plan --capac": ["cpuctl", "plan", "--capacity"],
    "cpuctl topology --col": ["cpuctl", "topology", "--columns"],
    "cpuctl plan -o js": ["cpuctl", "plan", "-o", "json"],
    "cpuctl plan --output=js": ["cpuctl", "plan", "--output=json"],
    "cpuctl plan --order larg": ["cpuctl", "plan", "--order", "largest-first"],
    "cpuctl schema topo": ["cpuctl", "schema", "topology"],
    "cpuctl plan -f datab": ["cpuctl", "plan", "-f", "database.yaml"],
    "cpuctl plan -m 2s-": ["cpuctl", "plan", "-m", "2s-2numa-32cpu.tar.xz"],
    "cpuctl plan -m synth": ["cpuctl", "plan", "-m", "synthetic:"],
    "cpuctl plan -m synthetic:4": ["cpuctl", "plan", "-m", "synthetic:4s4n28c2t"],
    "cpuctl explain -f database.yaml shop/d": ["cpuctl", "explain", "-f", "database.yaml", "shop/database"],
    "cpuctl explain -f 'database.yaml' data": ["cpuctl", "explain", "-f", "database.yaml", "database"],
    "cpuctl resize --pods running.json --set shop/database:c": [
        *("cpuctl", "resize", "--pods", "running.json", "--set", "shop/database:cpu=")
    ],
    "cpuctl cgroups apply --pods running.json shop/": [
        *("cpuctl", "cgroups", "apply", "--pods", "running.json", "shop/database/server=")
    ],
    "cpuctl topology show -m 2s-2numa-32cpu.tar.xz --cpus so": [
        *("cpuctl", "topology", "show", "-m", "2s-2numa-32cpu.tar.xz", "--cpus", "socket:")
    ],
    "cpuctl audit --check state,hot": ["cpuctl", "audit", "--check", "state,hotplug"],
    "cpuctl plan --feature-gates MemoryM": ["cpuctl", "plan", "--feature-gates", "MemoryManager="],
}


def test_a_word_is_completed(seat: Seat, shell: str) -> None:
    typist = seat(shell)
    assert {line: typist.completed(line, words[-1]) for line, words in COMPLETED.items()} == COMPLETED


def test_candidates_come_from_the_files(seat: Seat, shell: str) -> None:
    typist = seat(shell)
    names = {"shop/database", "shop/web-0", "shop/web-1"}
    shown = typist.offered("cpuctl explain -f database.yaml -f web.yaml shop/", *names)
    assert names <= set(shown.split())


def test_unreadable_input_causes_no_message(seat: Seat, shell: str, workplace: Path) -> None:
    (workplace / "broken.yaml").write_text("kind: Pod\nmetadata: [\n")
    typist = seat(shell)
    for line in (
        "cpuctl explain -f broken.yaml sh",
        "cpuctl explain -f missing.yaml sh",
        "cpuctl nonsense x",
    ):
        shown = typist.offered(line).lower()
        assert "error" not in shown
        assert "traceback" not in shown


HOSTILE = ("$(touch ran)", "`touch ran`", "a;touch ran", "x'$(touch ran)'", 'y"$(touch ran)"', "&touch ran")


def test_file_names_are_never_run(seat: Seat, shell: str, workplace: Path) -> None:
    for number, name in enumerate(HOSTILE):
        (workplace / f"evil{number}{name}").write_text("")
    typist = seat(shell)
    for number, name in enumerate(HOSTILE):
        words = typist.completed(f"cpuctl plan -f evil{number}")
        assert words == ["cpuctl", "plan", "-f", f"evil{number}{name}"]
    typist.offered("cpuctl plan -m ")
    typist.offered("cpuctl capture ")
    assert not (workplace / "ran").exists()


def test_pod_names_are_never_run(seat: Seat, shell: str, workplace: Path) -> None:
    lines = [
        f"- metadata: {{name: {_yaml(name)}}}\n  kind: Pod\n  spec: {{containers: [{{name: c}}]}}"
        for name in HOSTILE
    ]
    (workplace / "evil.yaml").write_text("\n".join(["kind: PodList", "items:", *lines]))
    typist = seat(shell)
    shown = typist.offered("cpuctl explain -f evil.yaml ")
    assert typist.completed("cpuctl explain -f evil.yaml default/")[-1] == "default/"
    assert "touch" not in shown
    assert not (workplace / "ran").exists()


def test_typed_words_are_never_run(seat: Seat, shell: str, workplace: Path) -> None:
    typist = seat(shell)
    # (In double quotes, zsh itself expands on TAB, with or without a completion.)
    for line in (
        "cpuctl explain -f '$(touch ran)' sh",
        "cpuctl resize --set '$(touch ran)",
        "cpuctl plan -m '`touch ran`",
    ):
        typist.offered(line)
    assert not (workplace / "ran").exists()


def _yaml(text: str) -> str:
    import json

    return json.dumps(text)
