"""Replacing the code of live functions, for all references to them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import CodeType, FunctionType

_Place = tuple[str, int]


class LiveFunctions:
    """The functions of this process by their code; created once, before any mutant."""

    def __init__(self) -> None:
        self._by_code: dict[int, list[FunctionType]] = {}
        self._codes: dict[str, list[CodeType]] = {}
        for each in gc.get_objects():
            # Lambdas and inner functions have no unique names: existing objects are not changed.
            if isinstance(each, FunctionType) and "<" not in each.__code__.co_qualname:
                self._by_code.setdefault(id(each.__code__), []).append(each)
                self._codes.setdefault(each.__code__.co_filename, []).append(each.__code__)

    def is_of(self, filename: str, code: CodeType) -> bool:
        """Return whether the functions of a file were made from this code."""
        new = {_place(each): each for each in _all_codes(code)}
        return all(new.get(_place(old)) == old for old in self._codes.get(filename, ()))

    def swap(self, filename: str, mutated: CodeType) -> bool:
        """Give every function of a file its new code; return whether any has changed."""
        new = {_place(code): code for code in _all_codes(mutated)}
        changed = False
        for old in self._codes.get(filename, ()):
            code = new.get(_place(old))
            if code is None or code == old:
                continue
            for function in self._by_code[id(old)]:
                if len(code.co_freevars) == len(old.co_freevars):
                    function.__code__ = code
                    changed = True
        return changed


def _place(code: CodeType) -> _Place:
    return code.co_qualname, code.co_firstlineno


def _all_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _all_codes(each)
