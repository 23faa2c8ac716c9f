"""The edits of a module, the names of mutants, swapping code, and explanations."""

from __future__ import annotations

import ast
from pathlib import Path
from types import FunctionType

import pytest

from tests.mutation.edits import edits
from tests.mutation.explanations import FOLDER, as_toml, explanations, stale
from tests.mutation.mutants import Change, ModuleGroup, mutants_of
from tests.mutation.places import Places
from tests.mutation.results import Result, Results
from tests.mutation.swapping import LiveFunctions


def changed(text: str) -> set[str]:
    """Return all changed versions of a text."""
    source = text.encode()
    return {each.applied(source).decode() for each in edits(ast.parse(source), Places(source))}


CHANGES = [
    ("a < b", {"a <= b"}),
    ("a is not b", {"a is b"}),
    ("a is None", {"a is not None"}),
    ("a + b", {"a - b"}),
    ("a and b", {"a or b", "not (a) and b", "a and not (b)"}),
    ("not a", {"a"}),
    ("[a for a in b if a]", {"[a for a in b if not (a)]"}),
    ("a if b else 0", {"a if not (b) else 0", "a if b else 1"}),
    ("'é', 1, True, None", {"'XXéXX', 1, True, None", "'é', 2, True, None", "'é', 1, False, None"}),
    ('f"{a + 1} b"', {'f"XX{a + 1} bXX"', 'f"{a - 1} b"', 'f"{a + 2} b"'}),
    ("f(a, b=c)", {"f(None, b=c)", "f(a, b=None)", "f(a)", "f(b=c)"}),
    ("min(a)", {"max(a)", "min(None)", "min()"}),
]


@pytest.mark.parametrize(("text", "becomes"), CHANGES, ids=[text for text, _ in CHANGES])
def test_an_expression_is_changed(text: str, becomes: set[str]) -> None:
    assert becomes <= {each.removeprefix("x[").removesuffix("]") for each in changed(f"x[{text}]")}


STATEMENTS = [
    ("a = 1\n    a = b", {"a = 2\n    a = b", "a = 1\n    a = None", "a = 1\n    pass", "pass\n    a = b"}),
    ("a += b", {"a -= b", "pass"}),
    ("return a", {"return None"}),
    ("if a:\n        return", {"if not (a):\n        return", "if a:\n        pass"}),
    ("for a in b:\n        continue", {"for a in b:\n        break"}),
    ("a()", {"pass"}),
    ("assert a == 1", set()),
    ("a: 'b'", set()),
]


@pytest.mark.parametrize(("text", "becomes"), STATEMENTS, ids=[text for text, _ in STATEMENTS])
def test_a_statement_is_changed(text: str, becomes: set[str]) -> None:
    head = 'def f(x: "int") -> "int":\n    """Say."""\n    '
    assert {each.removeprefix(head) for each in changed(f"{head}{text}")} == becomes


MODULE = """
def half(number: int, by: int = 2) -> int:
    '''Divide, downwards.'''
    return number // by


class Sum:
    def of(self, *numbers: int) -> int:
        return sum(numbers) + 0
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "sums.py"
    path.write_text(MODULE)
    return path


def test_a_mutant_is_named_by_its_function_and_lines(module: Path) -> None:
    assert [mutant.change for mutant in mutants_of(module)][:2] == [
        Change(
            "sums:(module)",
            "def half(number: int, by: int = 2) -> int:",
            "def half(number: int, by: int = 3) -> int:",
        ),
        Change("sums:half", "return number // by", "return None"),
    ]
    assert {mutant.change.function for mutant in mutants_of(module)} == {
        "sums:(module)",
        "sums:half",
        "sums:Sum.of",
    }


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("+ 0", "+ 00", {"sums:(module)", "sums:half"}),
        ("by: int = 2", "by: int = 4 // 2", {"sums:half", "sums:Sum.of"}),
        ("// by", "// by # down", {"sums:(module)", "sums:Sum.of"}),
        ("Divide, downwards.", "Halve.", {"sums:(module)", "sums:half", "sums:Sum.of"}),
    ],
)
def test_a_result_is_valid_while_the_surrounding_code_is_unchanged(
    old: str, new: str, kept: set[str], module: Path
) -> None:
    before = {mutant.key for mutant in mutants_of(module)}
    assert old in MODULE
    module.write_text(f"\nNEW: int\n{MODULE.replace(old, new)}")
    now = {mutant.change.function: mutant.key in before for mutant in mutants_of(module)}
    assert {name for name, known in now.items() if known} == kept


def test_code_is_swapped_in_live_functions(module: Path) -> None:
    found: dict[str, object] = {}
    code = compile(MODULE, str(module), "exec")
    exec(code, found)  # noqa: S102
    live = LiveFunctions()
    mutated = compile(MODULE.replace("//", "*"), str(module), "exec")
    assert live.is_of(str(module), code)
    assert not live.is_of(str(module), mutated)
    half = found["half"]
    assert isinstance(half, FunctionType)
    assert live.swap(str(module), mutated)
    assert half(8) == 16
    assert not live.swap(str(module), compile(MODULE.replace("= 2", "= 3"), str(module), "exec"))


def test_explanations_go_stale(module: Path, tmp_path: Path) -> None:
    """If the mutant no longer exists, or a test kills it."""
    group = ModuleGroup("sums", (module,))
    results = Results(tmp_path, group)
    first, second, *_ = group.mutants()
    results.add(Result(key=first.key, outcome="killed"))
    results.add(Result(key=second.key, outcome="survived"))
    gone = Change("sums:half", "return number", "return None")
    found = dict(stale([first.change, second.change, gone], group.mutants(), Results(tmp_path, group)))
    assert found == {first.change: "is killed", gone: "there is no such mutant"}


def test_entries_for_survivors_are_read_back(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = list(dict.fromkeys(mutant.change for mutant in mutants_of(module)))
    text = as_toml(changes).replace('why = ""', 'why = "So."')
    (tmp_path / "sums.toml").write_text(text)
    monkeypatch.setattr("tests.mutation.explanations.FOLDER", tmp_path)
    assert explanations(ModuleGroup("sums", ())) == dict.fromkeys(changes, "So.")


def test_every_file_of_explanations_can_be_read() -> None:
    for path in FOLDER.glob("*.toml"):
        assert explanations(ModuleGroup(path.stem, ())), path
