"""The edits: every way in which one place of a module is made wrong, as a text replacement.

Comparisons, arithmetic, ``and``, ``or``, ``not``, conditions, constants, arguments, returned or assigned
values, omitted statements, ``break`` and ``continue``. Not changed: docstrings, annotations and type aliases
(they are never run), decorators (``frozen`` and ``slots`` prevent mistakes and change no answer), and
assertions (they state facts for the type checker).
"""

from __future__ import annotations

import ast
import re
from collections import Counter

from tests.mutation.places import Edit, Places

_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
    ast.And: (r"\band\b", "or"),
    ast.Or: (r"\bor\b", "and"),
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: (r"\*\*", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"),
    ast.BitXor: (r"\^", "&"),
}
_OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_BOUNDS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_TYPE_MAKERS = {"TypeVar", "NewType", "ParamSpec"}
_QUOTE = re.compile(r"[rRbBuUfF]*(\"\"\"|'''|\"|')")


def edits(tree: ast.Module, places: Places) -> list[Edit]:
    """List every change of a module once, in order of lines."""
    finder = _Finder(places)
    finder.block(tree.body)
    return sorted(set(finder.found), key=lambda edit: (edit.start, edit.end, edit.text))


class _Finder(ast.NodeVisitor):
    def __init__(self, places: Places) -> None:
        self.places = places
        self.found: list[Edit] = []
        self.stored: Counter[str] | None = None

    def block(self, body: list[ast.stmt]) -> None:
        for number, statement in enumerate(body):
            if number == 0 and _is_text(statement):
                continue
            self.visit(statement)

    # Statements

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        outside = self.stored
        if outside is None:
            self.stored = Counter(
                each.id
                for each in ast.walk(node)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            )
        self.block(node.body)
        self.stored = outside

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.block(node.body)

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self._condition(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not _is_text(node):
            self._leave_out(node)
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._leave_out(node)
        if node.exc is not None:
            self.visit(node.exc)

    def visit_Delete(self, node: ast.Delete) -> None:
        self._leave_out(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self._leave_out(node)
        elif not isinstance(node.value, ast.Constant | ast.Compare | ast.BoolOp) and not _negated(node.value):
            self._replace(node.value, "None")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets):
            return
        self._assigned(node, node.targets[0], node.value)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None or "TypeAlias" in ast.dump(node.annotation):
            return
        self._assigned(node, node.target, node.value)
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._leave_out(node)
        self._operator(node.op, node.target, node.value)
        self.generic_visit(node)

    def _assigned(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        """A value becomes None, or the assignment is omitted if the name has a value without it."""
        if self.stored is None:
            return
        if not isinstance(target, ast.Name):
            self._leave_out(node)
            return
        if not isinstance(value, ast.Constant):
            self._replace(value, "None")
        if self.stored[target.id] > 1:
            self._leave_out(node)

    # Expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            self._operator(operator, left, right)
            left = right
        identity = all(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops)
        for operand in (node.left, *node.comparators):
            if not (identity and isinstance(operand, ast.Constant)):
                self.visit(operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._operator(node.op, left, right)
        for value in node.values:
            self._condition(value)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._operator(node.op, node.left, node.right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start, _ = self.places.span(node)
        operand, _ = self.places.span(node.operand)
        if not isinstance(node.op, ast.UAdd):
            sign = re.match(r"not\b\s*|[-~]\s*", self.places.text(start, operand))
            assert sign
            self.found.append(Edit(start, start + len(sign[0]), ""))
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._condition(test)
        self.generic_visit(node)

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None:
            self._condition(node.guard)
        self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        if not isinstance(node.body, ast.Constant | ast.Compare | ast.BoolOp):
            self._replace(node.body, "None")
        self.visit(node.body)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _TYPE_MAKERS:
            return
        if name in _OPPOSITES:
            self._replace(node.func, _OPPOSITES[name])
        if name == "cast":
            self.visit(node.args[1])
            return
        self._arguments(node)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool():
                self._replace(node, str(not node.value))
            case None:
                self._replace(node, '"XX"')
            case int() | float():
                self._replace(node, str(node.value + 1))
            case str() | bytes():
                self._text(node)
            case _:
                pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._text(node)
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and self.places.is_known(part.value):
                self.visit(part.value)

    # Changes

    def _replace(self, node: ast.expr | ast.stmt, text: str) -> None:
        self.found.append(Edit(*self.places.span(node), text))

    def _leave_out(self, node: ast.stmt) -> None:
        self._replace(node, "pass")

    def _operator(self, operator: ast.AST, left: ast.expr, right: ast.expr) -> None:
        _, start = self.places.span(left)
        end, _ = self.places.span(right)
        pattern, other = _OPERATORS[type(operator)]
        found = re.search(pattern, self.places.text(start, end))
        if found:
            self.found.append(Edit(start + found.start(), start + found.end(), other))

    def _condition(self, test: ast.expr) -> None:
        """Negate a condition, unless another change does so."""
        turned = isinstance(test, ast.Compare) and not isinstance(test.ops[0], _BOUNDS)
        if not (turned or _negated(test) or isinstance(test, ast.BoolOp | ast.Constant)):
            start, end = self.places.span(test)
            self._replace(test, f"not ({self.places.text(start, end)})")

    def _arguments(self, node: ast.Call) -> None:
        for argument in node.args:
            if not isinstance(argument, ast.Constant | ast.Starred | ast.GeneratorExp | ast.Lambda):
                self._replace(argument, "None")
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        starts = [self.places.span(part)[0] for part in node.args]
        for keyword in node.keywords:
            assert keyword.end_lineno is not None
            starts.append(self.places.span(keyword.value)[0] - len(keyword.arg or "*") - 1)
            if keyword.arg is not None and not isinstance(keyword.value, ast.Constant | ast.Lambda):
                self._replace(keyword.value, "None")
        for number in range(max(len(node.args) - 1, 0), len(parts)):
            _, end = self.places.span(parts[number])
            if number > 0:
                self.found.append(Edit(self.places.span(parts[number - 1])[1], end, ""))
            elif len(parts) > 1:
                self.found.append(Edit(starts[0], starts[1], ""))
            elif not isinstance(parts[0], ast.Constant):
                self.found.append(Edit(starts[0], end, ""))

    def _text(self, node: ast.Constant | ast.JoinedStr) -> None:
        """Add letters before and after a text."""
        start, end = self.places.span(node)
        text = self.places.text(start, end)
        first = _QUOTE.match(text)
        if first is None:
            return  # a part of an f-string
        last = len(text) - len(first[1]) if text.endswith(first[1]) else len(text) - 1
        inside = text[first.end() : last]
        around = f"XX{inside}XX" if inside else "XX"
        self._replace(node, f"{text[: first.end()]}{around}{text[last:]}")


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _negated(value: ast.expr) -> bool:
    return isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
