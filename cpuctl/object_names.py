"""Validation of Kubernetes names (labels, subdomains, qualified names), with the messages of Kubernetes.

Rule: ``k8s.io/apimachinery/pkg/util/validation`` in 1.36.
"""

from __future__ import annotations

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    f"'{_LABEL}')"
)
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN}')"
)
_NAME_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    f"for validation is '({_NAME})?')"
)
_PREFIX_WORDS = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"

# These match the same texts as the expressions above, in linear time even for hostile input.
_IS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
_IS_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_LONGEST_LABEL, _LONGEST_SUBDOMAIN, _LONGEST_NAME = 63, 253, 63


def label_problems(text: str) -> list[str]:
    """Return why a text is not a valid DNS label, such as the name of a container; empty if it is."""
    problems = _too_long(text, _LONGEST_LABEL)
    if not _IS_LABEL.fullmatch(text):
        problems.append("must not contain dots" if _is_subdomain(text) else _LABEL_WORDS)
    return problems


def subdomain_problems(text: str) -> list[str]:
    """Return why a text is not a valid DNS subdomain, such as the name of a pod; empty if it is."""
    problems = _too_long(text, _LONGEST_SUBDOMAIN)
    if not _is_subdomain(text):
        problems.append(_SUBDOMAIN_WORDS)
    return problems


def qualified_name_problems(text: str) -> list[str]:
    """Return why a text is not a valid qualified name, such as that of a resource; empty if it is."""
    *prefixes, name = text.split("/")
    if len(prefixes) > 1:
        return [f"a qualified name {_NAME_WORDS}{_PREFIX_WORDS}"]
    problems = [f"prefix part {problem}" for prefix in prefixes for problem in _prefix_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    problems += [f"name part {problem}" for problem in _too_long(name, _LONGEST_NAME)]
    if not _IS_NAME.fullmatch(name):
        problems.append(f"name part {_NAME_WORDS}")
    return problems


def label_value_problems(text: str) -> list[str]:
    """Return why a text is not a valid value of a label or taint; empty if it is."""
    problems = _too_long(text, _LONGEST_NAME)
    if text and not _IS_NAME.fullmatch(text):
        problems.append(_VALUE_WORDS)
    return problems


def _prefix_problems(prefix: str) -> list[str]:
    return subdomain_problems(prefix) if prefix else ["must be non-empty"]


def _is_subdomain(text: str) -> bool:
    return all(_IS_LABEL.fullmatch(part) for part in text.split("."))


def _too_long(text: str, longest: int) -> list[str]:
    return [f"must be no more than {longest} bytes"] if len(text.encode()) > longest else []


def as_object_name(text: str) -> str:
    """Turn the name of a recording or host into a valid object name, as a kubelet does with its host name."""
    return re.sub("[^a-z0-9.-]+", "-", text.lower()).strip("-.")
