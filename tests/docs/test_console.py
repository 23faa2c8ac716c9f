"""Every command in a page prints the output that the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.generate.console import outdated, refreshed, texts_with_commands

ROOT = Path(__file__).parents[2]
TEXTS = texts_with_commands(ROOT)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_shown_output_is_up_to_date(path: Path) -> None:
    wrong = outdated(path.read_text(), ROOT)
    reported = [f"$ {shown.command}\n" + "\n".join(output) for shown, output in wrong]
    assert not reported, "run `make docs`; where lines are left out (...), edit by hand:\n" + "\n".join(
        reported
    )


BLOCK = "```console\n$ cpuctl --version\ncpuctl 99\n$ cpuctl plam; echo $?\n...\n2\n```\n"


def test_outdated_output_is_found_and_updated() -> None:
    assert [shown.command for shown, _ in outdated(BLOCK, ROOT)] == ["cpuctl --version"]
    fresh = refreshed(BLOCK, ROOT)
    assert "cpuctl 99" not in fresh
    assert "...\n2\n" in fresh
    assert not outdated(fresh, ROOT)


def test_omitted_lines_do_not_hide_differences() -> None:
    assert outdated("```console\n$ cpuctl --version\n...\nwrong\n```\n", ROOT)


def test_output_can_be_saved_for_later_commands() -> None:
    text = (
        "```console\n$ cpuctl completion bash > script; echo $?\n0\n"
        "$ cpuctl topology -m script; echo $?\n...\n4\n```\n"
    )
    assert not outdated(text, ROOT)
