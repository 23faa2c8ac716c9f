"""Mutation testing: is every piece of code tested? ``python -m tests.mutation MODULES ...``.

MODULES are patterns, such as ``'cpuctl/checkpoints/*'`` or ``cpuctl/engine/cpu/hints.py``; modules of the
same folder form a group. Every module is made wrong in one place at a time (see ``edits.py``), and tests that
run that place are run until one fails: then the mutant is killed. A survivor shows a missing test, needless
code, or a change that makes no difference. For every survivor

- write the test that kills it, preferably as a table row or a law, in its place in ``tests/``; or
- simplify the code, if it is needless; or
- explain in ``explained/GROUP.toml`` why no test can notice it (``explanations.py`` describes the file).

Exit 1 while there are survivors without an explanation, stale explanations, or mutants that were not tried.
Run it again after a change: killed mutants stay killed while their function is unchanged, and survivors are
tried again if their tests have changed. Results are kept in ``.mutation/``, one file per group, so a run can
be stopped at any time; ``--fresh`` discards them.

How it works: tests are collected once; each is run once under a tracer, to learn which functions it runs; for
every mutant a child is forked in which the module's functions get the mutated code. It runs the tests that
reach the function: first those that killed its other mutants, then the fastest. Code that runs on import
(constants, defaults, tables) needs a process that has not imported cpuctl yet: some seconds per mutant.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.mutation.explanations import as_toml, explanations, stale
from tests.mutation.importing import FreshProcess
from tests.mutation.mutants import Change, ModuleGroup, Mutant, module_groups
from tests.mutation.results import Result, Results
from tests.mutation.run import Run, RunOptions, mutants_of_interest
from tests.mutation.tracing import Recorder

FOLDER = Path(".mutation")
_STATE_FILES = ("tests/checkpoints", "tests/property/test_checkpoints.py")
TESTS = {
    "checkpoints": (*_STATE_FILES, "tests/engine/state_checks", "tests/engine/state_repair"),
    "": (*_STATE_FILES, "tests/engine", "tests/property", "tests/mutation/recorded_answers.py"),
}
"""For the group of that name, and for all others. Tests of commands would find more, but slowly."""
_PLUGINS_OFF = ("xdist", "cacheprovider", "randomly", "faulthandler")
_PROFILE = "mutation"


def main(words: Sequence[str]) -> int:
    """Try the requested mutants, and report."""
    requested = _parser().parse_args(words)
    root = Path.cwd()
    found = module_groups(root, requested.modules)
    if not found:
        sys.stderr.write("no module matches\n")
        return 2
    if requested.count:
        for group in found:
            _say(f"{sum(1 for _ in group.mutants()):6} {group.name}")
        return 0
    if requested.fresh:
        for group in found:
            (FOLDER / f"{group.name}.jsonl").unlink(missing_ok=True)
        (FOLDER / "traces.json").unlink(missing_ok=True)
    if not requested.report and _run(requested, found) != pytest.ExitCode.OK:
        return 2
    return max([_reported(group, requested) for group in found])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("modules", nargs="*", default=["cpuctl/checkpoints/*"], metavar="MODULES")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="test files and folders")
    parser.add_argument(
        "--budget", type=float, default=20, metavar="SECONDS", help="of tests, for one mutant"
    )
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="try a sample")
    parser.add_argument("--again", action="store_true", help="try all survivors again")
    parser.add_argument("--fresh", action="store_true", help="discard all results of these groups")
    parser.add_argument("--count", action="store_true", help="only count the mutants of each group")
    parser.add_argument("--report", action="store_true", help="only report known results")
    parser.add_argument("--toml", action="store_true", help="list survivors as entries for an explanation")
    return parser


def _run(requested: argparse.Namespace, found: Sequence[ModuleGroup]) -> int:
    settings.register_profile(
        _PROFILE,
        max_examples=15,
        stateful_step_count=20,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    os.environ["HYPOTHESIS_PROFILE"] = _PROFILE
    with tempfile.TemporaryDirectory(prefix="cpuctl-mutation-") as temporary:
        tempfile.tempdir = temporary
        options = [
            *(word for name in _PLUGINS_OFF for word in ("-p", f"no:{name}")),
            *("-qq", "--no-header", "--no-summary", "--capture=no"),
            "-Wignore::pytest.PytestAssertRewriteWarning",  # libraries are loaded before pytest starts
            "--continue-on-collection-errors",
        ]
        fresh = FreshProcess([*options, f"--basetemp={temporary}/fresh"])
        run_options = RunOptions(
            groups=found,
            folder=FOLDER.resolve(),
            budget=requested.budget,
            again=requested.again,
            one_in=requested.one_in,
        )
        run = Run(run_options, fresh, Recorder(Path.cwd()))
        return pytest.main(
            [
                *options,
                f"--basetemp={temporary}/swapped",
                *(requested.tests or TESTS.get(found[0].name, TESTS[""])),
            ],
            plugins=[run],
        )


def _reported(group: ModuleGroup, requested: argparse.Namespace) -> int:
    """Print the status of a group; return 1 if something is left to do."""
    results, explained = Results(FOLDER, group), explanations(group)
    mutants = list(mutants_of_interest(group, requested.one_in))
    known = [(mutant, result) for mutant in mutants if (result := results.of(mutant))]
    outcomes = Counter(result.outcome for _, result in known)
    survivors = [
        (mutant, result) for mutant, result in known if result.survived and mutant.change not in explained
    ]
    old = list(stale(explained, group.mutants(), results)) if requested.one_in == 1 else []
    accounted = outcomes["survived"] - len(survivors)
    _say(
        f"{group.name}: {len(mutants) - outcomes['same']} mutants, {outcomes['killed']} killed, "
        f"{outcomes['timeout']} timed out, {accounted} explained, {len(survivors)} unexplained, "
        f"{len(mutants) - len(known)} not tried, {len(old)} stale explanations"
    )
    if requested.toml:
        _say(as_toml(mutant.change for mutant, _ in survivors))
    else:
        _list(survivors)
    for change, why in old:
        _say(f"stale, {why}: {change.function}\n  - {change.was}\n  + {change.becomes}")
    return int(bool(survivors or old) or len(known) < len(mutants))


def _list(survivors: Iterable[tuple[Mutant, Result]]) -> None:
    for mutant, result in survivors:
        change: Change = mutant.change
        left = f" ({result.left} tests not run)" if result.left else ""
        _say(f"{mutant.path.relative_to(Path.cwd())}:{mutant.line} {change.function.partition(':')[2]}{left}")
        _say(f"  - {change.was}\n  + {change.becomes}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
