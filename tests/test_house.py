"""The house rules that no linter checks: short code, no import cycles or dead code, documented errors."""

from __future__ import annotations

import ast
import gc
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_FUNCTION, LONGEST_FILE = 60, 500

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Documented: TypeAlias = ast.Module | ast.ClassDef | Function

NOT_READ = {
    "CSS": "Textual reads it",
    "DEFAULT_CSS": "Textual reads it",
    "ENABLE_COMMAND_PALETTE": "Textual reads it",
    "collect_usage_pieces": "typer calls it",
    "context_class": "typer reads it",
    "compose": "Textual calls it",
    "fewest": "docs/generate reads it",
    "format_commands": "typer calls it",
    "format_options": "typer calls it",
    "formatter_class": "typer reads it",
    "greatest": "docs/generate reads it",
    "handle_parse_result": "typer calls it",
    "invoke": "typer calls it",
    "least": "docs/generate reads it",
    "list_commands": "typer calls it",
    "on_key": "Textual calls it",
    "on_mount": "Textual calls it",
    "on_resize": "Textual calls it",
    "persistent_id": "pickle calls it",
    "regex": "docs/generate reads it",
    "render_line": "Textual calls it",
    "shares_of_weight": "the kubelet's, with recorded answers",
    "summed_up_once": "the kubelet's, with recorded answers",
}
"""What nothing in cpuctl names, and why it is there."""
PUBLIC = {"cpuctl/api.py", "cpuctl/policies/model.py"}
"""What others call: ``tests/test_library.py`` has the list."""
CHOICES = {"Shell"}
"""Enumerations that typer reads: their members are words of the command line."""


@cache
def modules() -> dict[str, ast.Module]:
    """Parse each module once; garbage collection would find nothing and take longer than parsing."""
    files = sorted((ROOT / "cpuctl").rglob("*.py"))
    gc.disable()
    try:
        return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in files}
    finally:
        gc.enable()


@cache
def nodes() -> dict[str, list[ast.AST]]:
    return {path: [*ast.walk(module)] for path, module in modules().items()}


@pytest.fixture(scope="module", autouse=True)
def _forget() -> Iterator[None]:
    """Free millions of objects for the next tests."""
    yield
    for kept in (nodes, modules):
        kept.cache_clear()


def functions() -> Iterator[tuple[str, Function]]:
    for path, each in nodes().items():
        for node in each:
            if isinstance(node, Function):
                yield f"{path}:{node.lineno} {node.name}", node


def lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_are_short() -> None:
    found = {place: lines(function) for place, function in functions()}
    assert {place: length for place, length in found.items() if length > LONGEST_FUNCTION} == {}


@pytest.mark.parametrize("folder", ["cpuctl", "tests"])
def test_files_are_short(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    lengths = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in files}
    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


# Import cycles


def imported(module: list[ast.AST], known: set[str]) -> Iterator[str]:
    """Yield the modules that a module imports anywhere, even inside a function."""
    for node in module:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def test_there_are_no_import_cycles() -> None:
    by_name = {
        ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__"): module
        for path, module in nodes().items()
    }
    left = {name: set(imported(module, set(by_name))) & set(by_name) for name, module in by_name.items()}
    while standing := {name for name, needed in left.items() if not needed & left.keys()}:
        left = {name: needed for name, needed in left.items() if name not in standing}
    assert sorted(left) == []


# No dead code


def names_read(tree: Iterable[ast.AST]) -> Counter[str]:
    """Count names that are read, and strings that are names: tables and ``getattr`` use them."""
    found: Counter[str] = Counter()
    for node in tree:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
                found[name] += 1
            case ast.Constant(value=str(text)) if text.isidentifier():
                found[text] += 1
            case ast.MatchClass(kwd_attrs=attributes):
                found.update(attributes)
            case ast.alias(name=name, asname=str()):
                found[name] += 1
            case _:
                pass
    return found


@dataclass(frozen=True)
class Definition:
    name: str
    place: str
    mentions: int = 0
    """How often it refers to itself."""


def definitions(body: list[ast.stmt], path: str) -> Iterator[Definition]:
    for node in body:
        place = f"{path}:{node.lineno}"
        match node:
            case ast.FunctionDef(name=name, decorator_list=decorators) if not is_command(decorators):
                yield Definition(name, place, names_read(ast.walk(node))[name])
            case ast.ClassDef(name=name, body=inner):
                yield Definition(name, place, names_read(ast.walk(node))[name])
                if name not in CHOICES:
                    yield from definitions(inner, path)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield Definition(name, place)
            case _:
                pass


def is_command(decorators: list[ast.expr]) -> bool:
    return any("command" in ast.unparse(each) or "callback" in ast.unparse(each) for each in decorators)


def test_there_is_no_dead_code() -> None:
    """By name only: of two definitions of the same name, one has to be read."""
    read: Counter[str] = Counter()
    for module in nodes().values():
        read.update(names_read(module))
    dead = [
        f"{each.place} {each.name}"
        for path, module in modules().items()
        if path not in PUBLIC
        for each in definitions(module.body, path)
        if read[each.name] <= each.mentions and each.name not in NOT_READ and not each.name.startswith("__")
    ]
    assert dead == []


# Documented errors


def raises(function: Function) -> bool:
    """Return whether a function itself raises; assertions, which state impossible cases, do not count."""
    unseen: list[ast.AST] = [*function.body]
    while unseen:
        node = unseen.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue
            case ast.Raise(exc=ast.expr() as error):
                if not re.match(r"AssertionError|NotImplementedError|typer\.Exit", ast.unparse(error)):
                    return True
            case _:
                pass
        unseen.extend(ast.iter_child_nodes(node))
    return False


def silent(node: Documented, path: str, *, reported: bool) -> Iterator[str]:
    """Yield public functions that raise without any docstring that mentions it."""
    reported = reported or recorded(node)
    for each in node.body:
        match each:
            case ast.FunctionDef(name=name, decorator_list=decorators) if not name.startswith("_"):
                if raises(each) and not (reported or recorded(each) or is_command(decorators)):
                    yield f"{path}:{each.lineno} {name}"
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield from silent(each, path, reported=reported)
            case _:
                pass


def recorded(node: Documented) -> bool:
    return bool(re.search(r"\b(raises?|refuses?|errors?)\b", ast.get_docstring(node) or "", re.IGNORECASE))


def test_public_functions_that_raise_document_it() -> None:
    """In their own docstring, or in that of their class or module, which then applies to all in it."""
    found = [place for path, module in modules().items() for place in silent(module, path, reported=False)]
    assert found == []


KUBELETS_WORDS = (
    "cpuctl/engine/",
    "cpuctl/kubelet/",
    "cpuctl/checkpoints/",
    "cpuctl/quantity.py",
    "cpuctl/cpuset.py",
)
OWN_WORDS = {
    "cpuctl/golang/json_values.py": "the decoder's error only says that there is one",
    "cpuctl/engine/reserve.py": "a request that cannot be met",
    "cpuctl/kubelet/configuration/setting_overrides.py": "a word of a command line",
    "cpuctl/kubelet/flags/command_line.py": "a command line that no shell splits",
    "cpuctl/kubelet/version.py": "a release that is none",
}
"""Modules that raise or quote a ValueError which no kubelet is said to have printed, and why."""


def test_only_the_kubelets_own_error_texts_are_quoted_as_such() -> None:
    """``GoError`` has them; the text of any other exception is cpuctl's or Python's."""
    quoting = {
        f"{path}:{node.lineno}"
        for path, module in nodes().items()
        if path.startswith(KUBELETS_WORDS) and path not in OWN_WORDS
        for node in module
        if (isinstance(node, ast.ExceptHandler) and node.name and {"ValueError", "Exception"} & _caught(node))
        or (isinstance(node, ast.Raise) and node.exc and ast.unparse(node.exc).startswith("ValueError("))
    }
    assert not quoting, "raise and catch GoError where the text is the kubelet's"


def _caught(handler: ast.ExceptHandler) -> set[str]:
    return {each.id for each in ast.walk(handler.type or handler) if isinstance(each, ast.Name)}


# Plain words

STILTED = {
    r"\bas things are\b": "now",
    r"\bsettings as they are\b": "current settings",
    r"\b[Nn]othing wrong was found\b": "no problems found",
    r"\bis no name that\b": "is an unknown value",
    r"\btakes? the place of\b": "overrides, replaces",
    r"\bnot requested by others\b": "free",
    r"\bwhen all is free\b": "when empty",
    r"\bnothing is recorded of\b": "is not recorded",
    r"\bnobody (?:told|says|has set)\b": "is unknown, is not set",
    r"\bfor want of\b": "for lack of",
    r"\bin vain\b": "without effect",
    r"\bas such\b": "nothing",
    r"\bmend(?:ed|s)?\b": "fix",
    r"\bcomes? to exclusive\b": "is delivered to",
    r"\bwould not answer within\b": "would take longer than",
    r"\bmore is kept from pods\b": "more is reserved",
    r"\bis not that of the content\b": "does not match the content",
    r"(?<!there )\bis no (?:directory|node|plan|list|number|multiple|file)\b": "is not a ...",
    r"\btakes only hints\b": "accepts only hints",
    r"\bpass(?:es|ed|ing)? over\b": "skip, ignore",
    r"\ba kubelet (?:counts|goes by|sees|takes)\b": "the kubelet counts, uses, sees, treats",
    r"\bjoined by commas\b": "separated by commas",
    r"\btaken for\b": "treated as, assumed to be",
    r"\bsomebody else\b": "someone else",
    r"\bwas probably meant\b": "did you mean ...?",
    r"\b(?:is|are) alike to\b": "does not distinguish",
    r"\bnothing is told\b": "is not reported",
    r"\btells of\b": "is about, reports",
    r"\b(?:go|goes) with --": "cannot be used with",
    r"\b[Nn]ame (?:one|another|two)\b": "specify, use",
    r"\bmade anew\b": "created again",
    r"\bonce more\b": "again",
    r"\bbelongs? to nobody\b": "is unassigned",
    r"\b(?:is|are) (?:not )?looked at\b": "is checked, is ignored",
    r"\b(?:is|are) not whole\b": "is incomplete",
    r"\ball is as before\b": "nothing has changed, everything was restored",
    r"\b[Ss]omebody\b": "someone, or the passive voice",
    r"\bmakes? of it\b": "does with it",
    r"\bthe driver dra\.cpu\b": "the dra.cpu driver",
    r"\bWithout a verb\b": "without a subcommand",
    r"\bnothing to remark\b": "no findings",
    r"\bof the engine\b": "simulated",
    r"^what to change$": "see, or to see what to change",
    r"\bfree for that\b": "free for exclusive use",
    r"\b[Ww](?:ho|hat)ever\b": "no matter what, regardless of",
    r"\bthings? (?:is|are) unknown\b": "items unknown",
    r"\b(?:seconds|times|pages|interrupts) a second\b": "per second",
    r"\b[Pp]oint at\b": "hover over",
}
"""Phrases that are unusual for users of kubectl, and what to say instead."""


def shown_texts() -> Iterator[tuple[str, str]]:
    """Yield all texts of the program except docstrings, each with its place."""
    for path, module in nodes().items():
        docstrings = {
            id(node.value)
            for parent in module
            if isinstance(parent, ast.Module | ast.ClassDef | Function)
            for node in parent.body
            if isinstance(node, ast.Expr)
        }
        for node in module:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield f"{path}:{node.lineno}", " ".join(node.value.split())


def test_messages_are_in_plain_words() -> None:
    found = [
        f"{place} {text!r}: say {better!r}"
        for place, text in shown_texts()
        for stilted, better in STILTED.items()
        if " " in text and re.search(stilted, text)
    ]
    assert found == []


def test_docstrings_begin_with_usual_verbs() -> None:
    found = [
        place
        for place, function in functions()
        if re.match(r"Tell (?:whether|what|how|which|where|why|of)\b", ast.get_docstring(function) or "")
    ]
    assert found == [], "return, report or check"
