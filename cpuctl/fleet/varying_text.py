"""Texts about several nodes: what differs between the nodes is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuctl.answers.fleet import NodeFinding

VARIES = "..."
_NAMES = re.compile(r"""[^\s"'(),;:]*[0-9/][^\s"'(),;]*[^\s"'(),;:]|[0-9]""")
"""Text that may be specific to a node: numbers, and names, recognized by a digit or a slash."""
_LISTED = re.compile(r"\.\.\.(?:(?:, ?| )(?:and )?\.\.\.)+(?: more)?")
_PLURAL = re.compile(r"\b(CPU|cache|container|core|interrupt|node|page|pod|thread|process)(?:e?s)\b")
_VERBS = {"are": "is", "have": "has", "come": "comes", "share": "shares"}
_VERB = re.compile(rf"\b({'|'.join(_VERBS)})\b")


def kind_of(finding: NodeFinding) -> tuple[str, ...]:
    """Return what findings that are the same on several nodes have in common with what they are merged to."""
    texts = (skeleton(finding["subject"]), skeleton(finding["message"]))
    return finding["check"], finding["severity"], finding["code"], *texts


def skeleton(text: str) -> str:
    """Return a text that is equal for texts that only differ in names, numbers, and singular or plural."""
    one = _VERB.sub(lambda verb: _VERBS[verb[0]], _PLURAL.sub(r"\1", _NAMES.sub(VARIES, text)))
    return _LISTED.sub(VARIES, one)


def unnamed(text: str) -> str:
    """Return a text with ... for names and numbers."""
    return _LISTED.sub(VARIES, _NAMES.sub(VARIES, text))


def in_common(texts: Sequence[str]) -> str:
    """Return the text with ... for every word that is not the same in all of them."""
    if len(set(texts)) == 1:
        return texts[0]
    kinds = {skeleton(text) for text in texts}
    words = [text.split(" ") for text in dict.fromkeys(texts)]
    if len({len(each) for each in words}) > 1:
        return kinds.pop() if len(kinds) == 1 else VARIES
    shapes = [_shapes(each) for each in zip(*words, strict=True)]
    if len(kinds) == 1:
        return _LISTED.sub(VARIES, " ".join(map(_plural, shapes)))
    return _LISTED.sub(VARIES, " ".join(each.pop() if len(each) == 1 else VARIES for each in shapes))


def _plural(shapes: set[str]) -> str:
    """Return the form of a word for several things, if it is not always the same."""
    return next((word for word in shapes if word in _VERBS), max(shapes, key=len))


def _shapes(words: Sequence[str]) -> set[str]:
    """Return the word if it is always the same, else its forms with ... for names and numbers."""
    return {words[0]} if len(set(words)) == 1 else {_NAMES.sub(VARIES, word) for word in words}
