"""The kubelet's state files with pseudonyms for pods and containers.

Their checksums cover the names, so they become 0, which readers of the older formats take for "not checked".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from cpuctl.capture.anonymous.pseudonyms import Pseudonyms

_BY_CONTAINER = frozenset({"entries", "baselines", "originals"})
_BY_POD = frozenset({"podentries"})
_CONTAINERS = "ContainerResources"
_NESTED_TEXT = "data"
_CHECKSUM = "checksum"


def anonymous_state(text: str, pseudonyms: Pseudonyms) -> str:
    """Replace pod UIDs, container ids and container names.

    Raise ValueError where the text is no JSON: what its names are cannot be told then.
    """
    try:
        value = _replaced(json.loads(text), pseudonyms)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON, so its names cannot be replaced") from None
    return pseudonyms.within(_written(value))


def _written(value: Any) -> str:  # noqa: ANN401  # any JSON
    return json.dumps(value, separators=(",", ":"))


def _replaced(value: Any, pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    if not isinstance(value, dict):
        return value
    return {key: _member(key, member, pseudonyms) for key, member in value.items()}


def _member(key: str, value: Any, pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    # Go reads the names of members in any case.
    name = key.lower()
    if name == _CHECKSUM:
        return 0
    if name == _NESTED_TEXT and isinstance(value, str):
        return anonymous_state(value, pseudonyms) if value else value
    if isinstance(value, dict) and name in _BY_CONTAINER | _BY_POD:
        inner = _containers if name in _BY_CONTAINER else _unchanged
        return _renamed(value, pseudonyms.identifier, lambda pod: inner(pod, pseudonyms))
    return _replaced(value, pseudonyms)


def _containers(value: Any, pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    if not isinstance(value, dict):
        return value
    if _CONTAINERS in value:
        return {**value, _CONTAINERS: _containers(value[_CONTAINERS], pseudonyms)}
    return _renamed(value, lambda name: pseudonyms.name("container", name), lambda inside: inside)


def _unchanged(value: Any, _pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    return value


def _renamed(
    members: Mapping[str, Any], rename: Callable[[str], str], inner: Callable[[Any], Any]
) -> dict[str, Any]:
    """Rename members; they are sorted by name, as Go writes them."""
    return dict(sorted((rename(name), inner(value)) for name, value in sorted(members.items())))
