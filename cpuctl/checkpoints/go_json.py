"""JSON the way Go's ``encoding/json`` reads it into a struct and writes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_HTML_ESCAPES = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"}
)


class Members(dict[str, Any]):
    """A JSON object as a struct's decoder sees it: names match without regard to case, the last one wins."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._folded = {name.casefold(): value for name, value in self.items()}

    def field(self, name: str) -> Any:  # noqa: ANN401  # any JSON value
        """Return the value for a struct field, None where the object has none."""
        return self._folded.get(name.casefold())


def go_string(text: str) -> str:
    """Write a string as Go does: UTF-8 as it is, ``<``, ``>`` and ``&`` escaped."""
    return json.dumps(text, ensure_ascii=False).translate(_HTML_ESCAPES)
