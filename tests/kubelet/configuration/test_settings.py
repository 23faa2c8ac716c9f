from __future__ import annotations

from typing import Any

import pytest

from cpuctl.documents.document import Document
from cpuctl.documents.loading import load_documents
from cpuctl.kubelet.configuration.settings import (
    OriginKind,
    Setting,
    ValueOrigin,
    merge_patch,
    path_name,
    plain,
    settings_of,
    uniform,
    walk,
)

BASE, PATCH = ValueOrigin(OriginKind.FILE, "base"), ValueOrigin(OriginKind.DROP_IN, "patch")


def merged(base: Any, patch: Any) -> Setting:
    return merge_patch(uniform(base, BASE), uniform(patch, PATCH))


# The table of RFC 7386, appendix A.
RFC = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("base", "patch", "want"), RFC, ids=str)
def test_patches_apply_as_the_standard_says(base: Any, patch: Any, want: Any) -> None:
    assert plain(merged(base, patch)) == want


def test_every_member_keeps_its_own_origin() -> None:
    found = merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": 4}, "e": {}})
    assert {path_name(path): setting.origin.text for path, setting in walk(found.members or {})} == {
        "a": "base",
        "a.b": "base",
        "a.c": "patch",
        "d": "base",
        "e": "patch",
    }


@pytest.mark.parametrize(
    ("base", "patch", "want"), [({}, {}, "base"), ({}, {"b": 1}, "patch"), (1, {}, "patch")]
)
def test_a_mapping_has_the_origin_that_filled_it_first(base: Any, patch: Any, want: str) -> None:
    members = merged({"a": base}, {"a": patch}).members
    assert members is not None
    assert members["a"].origin.text == want


def document(text: str) -> Document:
    return load_documents(text, "k.yaml")[0]


def test_settings_know_their_lines() -> None:
    root = settings_of(document("a: 1\nb:\n  c: [2, 3]\n"), OriginKind.FILE)
    places = {path_name(path): setting.origin.place for path, setting in walk(root.members or {})}
    assert places == {"a": "k.yaml:1", "b": "k.yaml:2", "b.c": "k.yaml:3"}
    assert plain(root) == {"a": 1, "b": {"c": [2, 3]}}


def test_a_place_that_no_longer_exists_is_named_by_its_file() -> None:
    assert ValueOrigin(OriginKind.FILE, document=document("a: 1"), path=("b",)).place == "k.yaml"
