"""Lines that say how to fix a finding."""

from __future__ import annotations

from cpuctl.cli.render.findings import fix_cells


def test_every_command_after_words_is_a_line_of_its_own() -> None:
    fix = "stop it, then cpuctl checkpoint repair a, or cpuctl checkpoint repair b"
    assert [cell.text for cell in fix_cells(fix)] == [
        "  fix: stop it, then",
        "    cpuctl checkpoint repair a",
        "  or",
        "    cpuctl checkpoint repair b",
    ]
    assert [cell.text for cell in fix_cells("do this, or cpuctl top", "Next", indent="")] == [
        "Next: do this, or",
        "  cpuctl top",
    ]
