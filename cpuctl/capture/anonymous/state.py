"""The kubelet's state files with pseudonyms for pods and containers.

Their checksums cover the names, so they become 0, which readers of the older formats take for "not checked".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from cpuctl.capture.anonymous.pseudonyms import Pseudonyms

_BY_CONTAINER = frozenset({"entries", "baselines", "originals", "allocationentries"})
_BY_POD = frozenset({"podentries", "resizestatusentries", "poduids"})
_IDENTIFIERS = frozenset({"poduid", "claimuid", "shareid"})
_NAMES = {
    "containername": "container",
    "claimname": "claim",
    "namespace": "namespace",
    "poolname": "pool",
    "devicename": "device",
    "deviceids": "device",
    "cdideviceids": "device",
    "cdidevices": "device",
    "registereddevices": "device",
    "requestnames": "request",
}
"""What a member names, alone, in a list, or in lists by something that may be known."""
_SECRETS = frozenset({"allocresp", "resourcehandles"})
"""What plugins and drivers have said: nobody knows what is in it, and no decision depends on it."""
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
    if isinstance(value, list):
        return [_replaced(each, pseudonyms) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _member(key, member, pseudonyms) for key, member in value.items()}


def _member(key: str, value: Any, pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    # Go reads the names of members in any case.
    name = key.lower()
    if name == _CHECKSUM:
        return 0
    if name in _SECRETS:
        return None
    if name in _IDENTIFIERS and isinstance(value, str):
        return pseudonyms.identifier(value)
    if name in _NAMES:
        return _named(value, _NAMES[name], pseudonyms)
    if name == _NESTED_TEXT and isinstance(value, str):
        return anonymous_state(value, pseudonyms) if value else value
    if isinstance(value, dict) and name in _BY_CONTAINER | _BY_POD:
        inner = _containers if name in _BY_CONTAINER else _unchanged
        return _renamed(value, pseudonyms.identifier, lambda pod: inner(pod, pseudonyms))
    return _replaced(value, pseudonyms)


def _named(value: Any, kind: str, pseudonyms: Pseudonyms) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _named(each, kind, pseudonyms) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each, kind, pseudonyms) for each in value]
    return pseudonyms.name(kind, value) if isinstance(value, str) else value


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
