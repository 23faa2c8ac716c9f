"""All fixes that the code can propose, read from its sources: texts with placeholders."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, cast

ROOT = Path(__file__).parents[2]
GAP = ".*"
_DEEPEST = 6
_FILLED = re.compile(r"\\\{\w*\\\}")
Scope = ast.FunctionDef | None


class Proposal(NamedTuple):
    """A fix with the code of its finding, both as patterns, and its place in the source."""

    code: str
    fix: str
    where: str

    def is_run_by(self, runs: Iterable[tuple[str, str]]) -> bool:
        """Whether a code and a fix among *runs* match."""
        return any(re.fullmatch(self.code, code) and re.fullmatch(self.fix, fix) for code, fix in runs)


def proposals(*places: str) -> Iterator[Proposal]:
    """Yield the values of ``fix=`` in modules of these folders or files of ``cpuctl``."""
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            yield from _Module(_name(file)).proposals()


def not_run(places: Iterable[str], runs: Iterable[tuple[str, str]]) -> list[Proposal]:
    """List the possible proposals without a run."""
    known = set(runs)
    return [each for each in proposals(*places) if not each.is_run_by(known)]


def texts_of(module: str, function: str) -> set[str]:
    """Return the possible return values of a function, as patterns."""
    found = _Module(module)
    return found.returned(found.functions[function])


def _name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


class _Module:
    """A module's syntax tree, and the values of its names."""

    def __init__(self, name: str) -> None:
        self.values: ModuleType = importlib.import_module(name)
        self.file = Path(cast("str", self.values.__file__))
        self.tree = ast.parse(self.file.read_text())

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        return {each.name: each for each in ast.walk(self.tree) if isinstance(each, ast.FunctionDef)}

    @cached_property
    def calls(self) -> list[tuple[Scope, ast.Call]]:
        """Return all calls with the functions that contain them."""
        inside = {
            id(node): function
            for function in self.functions.values()
            for node in ast.walk(function)
            if isinstance(node, ast.Call)
        }
        found = (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        return [(inside.get(id(node)), node) for node in found]

    def proposals(self) -> Iterator[Proposal]:
        for scope, call in self.calls:
            given = {each.arg: each.value for each in call.keywords}
            if "fix" not in given:
                continue
            code = given.get("code") or next(iter(call.args[1:]), None)
            where = f"{self.file.relative_to(ROOT)}:{given['fix'].lineno}"
            codes = self.texts(code, scope) if code else {GAP}
            # A text that ends with a space is incomplete, and never printed.
            fixes = {each for each in self.texts(given["fix"], scope) if each and not each.endswith(" ")}
            # Their pairing is not read here: each needs one of the others.
            yield from (Proposal("|".join(codes), fix, where) for fix in fixes)
            yield from (Proposal(each, "|".join(fixes), where) for each in codes if fixes)

    def returned(self, function: ast.FunctionDef, deep: int = 0) -> set[str]:
        found = (node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value)
        return {text for value in found for text in self.texts(value, function, deep + 1)}

    def texts(self, node: ast.expr, scope: Scope, deep: int = 0) -> set[str]:
        """Collect the possible values of an expression."""
        if deep > _DEEPEST:
            return {GAP}

        def of(part: ast.expr) -> set[str]:
            return self.texts(part, scope, deep + 1)

        match node:
            case ast.Constant(value=str(text)):
                return {re.escape(text)}
            case ast.JoinedStr(values=parts):
                return {"".join(each) for each in product(*map(of, parts))}
            case ast.FormattedValue(value=part):
                return of(part)
            case ast.IfExp(body=body, orelse=other):
                return of(body) | of(other)
            case ast.BoolOp(values=parts):
                return {text for part in parts for text in of(part)}
            case ast.Name(id=name):
                return self._of_name(name, scope, deep)
            case _:
                return self._of_call(node, scope, deep)

    def _of_call(self, node: ast.expr, scope: Scope, deep: int) -> set[str]:
        """Collect the possible values of a template, a cpuctl function, or a table."""
        match node:
            case ast.Call(func=ast.Attribute(value=form, attr="format")):
                return {
                    re.sub(r"\\\{\w*\\\}", lambda _: GAP, text) for text in self.texts(form, scope, deep + 1)
                }
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join"), args=[each]
            ):
                parts = each.elt if isinstance(each, ast.ListComp | ast.GeneratorExp) else each
                return {f"{text}(?:{re.escape(between)}.*)?" for text in self.texts(parts, scope, deep + 1)}
            case ast.Call(func=ast.Name(id=name)) if _own_function(getattr(self.values, name, None)):
                return self._of_function(name, deep)
            case ast.Subscript(value=ast.Name(id=name)):
                values = getattr(self.values, name, None)
                texts = values.values() if isinstance(values, dict) else ()
                return {re.escape(text) for text in texts if isinstance(text, str)} or {GAP}
            case _:
                return {GAP}

    def _of_function(self, name: str, deep: int) -> set[str]:
        function = getattr(self.values, name)
        module = self if function.__module__ == self.values.__name__ else _Module(function.__module__)
        return module.returned(module.functions[function.__name__], deep)

    def _of_name(self, name: str, scope: Scope, deep: int) -> set[str]:
        value = getattr(self.values, name, None)
        if isinstance(value, str):
            return {re.escape(value)}
        given = [*self._assigned(name, scope), *self._passed(name, scope)]
        return {text for each, at in given for text in self.texts(each, at, deep + 1)} or {GAP}

    def _assigned(self, name: str, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
        """Yield the values that are assigned to a function's own name."""
        for node in ast.walk(scope) if scope else ():
            pairs: list[tuple[ast.expr, ast.expr]] = []
            if isinstance(node, ast.Assign):
                pairs = [(target, node.value) for target in node.targets]
            elif isinstance(node, ast.NamedExpr):
                pairs = [(node.target, node.value)]
            elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple | ast.List):
                pairs = [(node.target, each) for each in node.iter.elts]
            for target, value in pairs:
                for each, place in self._given_back(value, scope):
                    yield from ((part, place) for part in _part(target, each, name))

    def _given_back(self, value: ast.expr, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
        """Yield the tuples or values that a called function of this module returns."""
        function = self.functions.get(_called(value))
        returns = [each for each in ast.walk(function) if isinstance(each, ast.Return)] if function else []
        tuples = [each.value for each in returns if isinstance(each.value, ast.Tuple)]
        yield from ((each, function) for each in tuples)
        if not tuples:
            yield value, scope

    def _passed(self, name: str, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
        """Yield the arguments of a function's parameter, and its default."""
        parameters = [each.arg for each in (*scope.args.args, *scope.args.kwonlyargs)] if scope else []
        if scope is None or name not in parameters:
            return
        place = parameters.index(name)
        defaults = dict(zip(reversed(scope.args.args), reversed(scope.args.defaults), strict=False)) | dict(
            zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True)
        )
        yield from ((value, None) for each, value in defaults.items() if each.arg == name and value)
        for outer, call in self.calls:
            if isinstance(call.func, ast.Name) and call.func.id == scope.name:
                named = [each.value for each in call.keywords if each.arg == name]
                yield from ((value, outer) for value in (*named, *call.args[place : place + 1]))


def _called(value: ast.expr) -> str:
    """Return the name of the function that an expression calls, if it does nothing else."""
    return value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""


def _own_function(value: object) -> bool:
    return (
        callable(value)
        and getattr(value, "__module__", "").startswith("cpuctl.")
        and not isinstance(value, type)
    )


def _part(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    """Yield the part of a value that goes to a name; nothing for a call with several results."""
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for each, part in zip(target.elts, value.elts, strict=False):
            yield from _part(each, part, name)
