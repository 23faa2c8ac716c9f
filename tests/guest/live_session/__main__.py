"""Use ``cpuctl top``, ``watch`` and ``report`` on a node under load, and compare them with its kernel.

python -m tests.guest.live_session OUT                  # 16 minutes, and some for the boot
python -m tests.guest.live_session OUT --compare-only   # what lies there already
python -m tests.guest.live_session OUT --pictures       # and draws the pictures of the texts from it
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.guest.live_session import events, pictures, rates, reports, screens
from tests.guest.live_session.guest import play
from tests.guest.live_session.kernel import read_rounds

_MOST_SHOWN = 30
_GAP = 0.2
"""Seconds by which a moment of top may begin before or after the end of the previous one."""


def _table(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    rows = [tuple(heading), *(tuple(line) for line in lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
    yield ""


class Compared(NamedTuple):
    """The result of the comparison: lines to print, and what is wrong."""

    lines: list[str]
    wrong: list[str]


def compare(out: Path) -> Compared:
    """Determine the differences between cpuctl and the kernel in a session."""
    session = json.loads((out / "session.json").read_text(encoding="utf-8"))
    moments = events.by_name(session["moments"])
    rounds = read_rounds(out / "kernel.jsonl.gz")
    spells = rates.read_spells(out / "top.jsonl.gz")
    wrong = [f"{each['name']}: {each['error']}" for each in moments.values() if each["error"]]
    wrong += [f"{name} has ended with {code}" for name, code in session["codes"].items() if code]
    ended = {each["name"]: each["code"] for each in session["reports"]}
    wrong += [f"report {name} has ended with {code}" for name, code in ended.items() if code not in (0, 3)]

    seconds = spells[-1].end - spells[0].begin
    lines = [f"top: {len(spells)} moments of {seconds:.0f} s, {len(rounds)} rounds of the kernel's files", ""]
    wrong += [f"top: {gap:.1f} s between two moments" for gap in rates.gaps(spells) if abs(gap) > _GAP]
    disturbed = rates.quantities(moments["stray"]["result"]["tid"], moments["stray"]["result"]["group"])
    rows = [rates.compare(each, spells, rounds) for each in disturbed]
    lines += _table(rates.HEADING, (row.cells() for row in rows))
    wrong += [text for row in rows for text in row.wrong]
    wrong += rates.wrong_cpus(spells, rounds)

    # A report is an audit and more: no audit takes much longer than the fastest of these.
    audit = min(each["until"] - each["from"] for each in session["reports"])
    watched = events.Watched(events.read_events(out / "watch.jsonl"), moments, rounds, audit)
    came = list(watched.wanted())
    lines += _table(events.HEADING, (each.cells() for each in came))
    if short := sum(each.short for each in came):
        lines.append(f"{short} were over before they had to be reported: audits take {audit:.0f} s here")
    lines += [f"others: {event['time']} {event['event']} {event['message']}" for event in watched.others()]
    wrong += watched.wrong()

    made = reports.read_reports(out, session, rounds)
    lines += ["", *_table(reports.HEADING, (each.cells() for each in made))]
    return Compared(lines, wrong + [text for each in made for text in each.wrong()])


def main() -> None:
    """Play a session, and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.guest.live_session", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="directory for what was seen")
    parser.add_argument("--minutes", type=float, default=16, help="how long it takes in the guest (16)")
    parser.add_argument("--compare-only", action="store_true", help="compare what lies in OUT")
    parser.add_argument("--pictures", action="store_true", help="draw the pictures of the texts from OUT")
    options = parser.parse_args()
    if not (options.compare_only or options.pictures):
        result = play(options.out, options.minutes)
        if result.code:
            raise SystemExit(f"the session has failed:\n{result.stdout}\n{result.stderr}")
    lines, wrong = compare(options.out)
    screens.draw(options.out)
    if options.pictures:
        pictures.draw(options.out)
    lines += [f"wrong: {text}" for text in wrong[:_MOST_SHOWN]]
    lines.append(f"{len(wrong)} wrong" if wrong else "all as the kernel's files have it")
    sys.stdout.write("\n".join(lines) + "\n")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
