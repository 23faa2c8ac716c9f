from __future__ import annotations

import bz2
import gzip
import json
import lzma
from dataclasses import dataclass
from itertools import pairwise

import pytest
import yaml

from cpuctl.documents import json_text, loading, text_errors, tree, yaml_text
from cpuctl.documents.loading import load_documents, read_object
from cpuctl.errors import InputError
from tests.support.costs import bytes_below, seconds_below


def values(text: str | bytes) -> list[object]:
    return [document.value for document in load_documents(text, "input")]


@dataclass(frozen=True)
class Scalar:
    """A plain scalar, and its value for Kubernetes."""

    text: str
    want: object


SCALARS = [
    Scalar("text", "text"),
    Scalar("'12'", "12"),
    Scalar("~", None),
    Scalar("yes", True),
    Scalar("Off", False),
    Scalar("n", False),
    Scalar("12", 12),
    Scalar("-12", -12),
    Scalar("+5", 5),
    Scalar("0x1f", 31),
    Scalar("-0b11", -3),
    Scalar("0o17", 15),
    Scalar("017", 15),
    Scalar("08", 8.0),
    Scalar("1_000", 1000),
    Scalar("0.5", 0.5),
    Scalar(".5", 0.5),
    Scalar("1e3", 1000.0),
    Scalar("1.2.3", "1.2.3"),
    Scalar(".", "."),
    Scalar("10:30", "10:30"),
    Scalar("2024-01-01", "2024-01-01"),
    Scalar("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"),
    Scalar("18446744073709551615", 2**64 - 1),
    Scalar("18446744073709551616", 2.0**64),
    Scalar("0x" + "f" * 20, "0x" + "f" * 20),
    Scalar("0" + "7" * 30, float("7" * 30)),
    Scalar("0o" + "7" * 30, "0o" + "7" * 30),
    Scalar("!!str 12", "12"),
    Scalar("! 12", "12"),
    Scalar("!!int '12'", 12),
    Scalar("!!float 12", 12),
    Scalar("!!bool yes", True),
    Scalar("!!null ~", None),
]


@pytest.mark.parametrize("case", SCALARS, ids=lambda case: case.text)
def test_scalars_have_the_same_value_as_for_kubernetes(case: Scalar) -> None:
    assert values(f"a: {case.text}") == [{"a": case.want}]


@dataclass(frozen=True)
class Refusal:
    """A text that is rejected, and the whole message."""

    name: str
    text: str | bytes
    want: str


DEEP = "[" * 200 + "]" * 200
BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{inner}'] * 10)}]\n" for inner, name in pairwise("abcdefg")
)

REFUSALS = [
    Refusal("empty", "", "input: empty: expected YAML or JSON"),
    Refusal("only a comment", "# later\n", "input: empty: expected YAML or JSON"),
    Refusal("only empty documents", "---\n---\n", "input: empty: expected YAML or JSON"),
    Refusal("tab", "a:\n\t- b\n", "input:2:1: a tab is used for indentation"),
    Refusal("tab after blanks", "a:\n  b:\n  \tc: 1\n", "input:3:3: a tab is used for indentation"),
    Refusal("two colons", "a: b: c", "input:1:5: not YAML: mapping values are not allowed in this context"),
    Refusal(
        "open list",
        "a: [1, 2",
        "input:2:1: not YAML: did not find expected ',' or ']' while parsing a flow sequence",
    ),
    Refusal("repeated key", "a: 1\nb: 2\na: 3\n", 'input:3:1: duplicate key "a"'),
    Refusal("repeated key in JSON", '{"a": 1,\n "a": 2}', 'input:2:2: duplicate key "a"'),
    Refusal("number as key", "8080: web", "input:1:1: expected a string as key, found the number 8080"),
    Refusal("yes as key", "yes: 1", "input:1:1: expected a string as key, found true"),
    Refusal("null as key", "~: 1", "input:1:1: expected a string as key, found null"),
    Refusal("list as key", "? [a]\n: b", "input:1:3: expected a string as key, found a list"),
    Refusal("mapping as key", "{{a: 1}: b}", "input:1:2: expected a string as key, found a mapping"),
    Refusal(
        "number as key by alias", "a: &x 1\n*x : 2", "input:2:1: expected a string as key, found the number 1"
    ),
    Refusal("Python tag", "a: !!python/none", "input:1:4: the YAML tag !!python/none is not supported"),
    Refusal("binary tag", "a: !!binary aGk=", "input:1:4: the YAML tag !!binary is not supported"),
    Refusal("tag on a mapping", "a: !!set {b}", "input:1:4: the YAML tag !!set is not supported"),
    Refusal("own tag", "a: !cpu 4", "input:1:4: the YAML tag !cpu is not supported"),
    Refusal(
        "tag that does not fit", "a: !!int four", 'input:1:4: "four" is not of type int, as its tag requires'
    ),
    Refusal("tag on a boolean", "a: !!int yes", 'input:1:4: "yes" is not of type int, as its tag requires'),
    Refusal("not a number", "a: .nan", "input:1:4: .nan is not a number that Kubernetes accepts"),
    Refusal("infinity", "a: -.inf", "input:1:4: -.inf is not a number that Kubernetes accepts"),
    Refusal("too large", "a: 1e999", "input:1:4: the number 1e999 is too large"),
    Refusal("NaN in JSON", '{"a": NaN}', "input:1:7: NaN is not valid JSON"),
    Refusal("too large in JSON", '{"a": 1e999}', "input:1:7: the number 1e999 is too large"),
    Refusal(
        "endless digits in JSON",
        '{"a": ' + "9" * 5000 + "}",
        f"input:1:7: the number {'9' * 37}... is too large",
    ),
    Refusal("a lone surrogate", '["\\ud800"]', "input:1:2: a string contains a lone surrogate"),
    Refusal("unknown alias", "a: *b", "input:1:4: the alias *b has no preceding anchor &b"),
    Refusal("endless alias", "a: &a [*a]", "input:1:8: the anchor &a contains an alias to itself"),
    Refusal("alias bomb", BOMB, "input:7:11: more than 2,000,000 values (aliases expanded)"),
    Refusal("deep YAML", "a: " + DEEP, "input:1:103: nesting is deeper than 100 levels"),
    Refusal("deep JSON", DEEP, "input:1:101: nesting is deeper than 100 levels"),
    Refusal("very deep JSON", "[" * 100_000, "input:1:101: nesting is deeper than 100 levels"),
    Refusal("very deep list", "- " * 100_000, "input:1:201: nesting is deeper than 100 levels"),
    Refusal(
        "deep by alias",
        f"a: &a {'[' * 60}{']' * 60}\nb: {'[' * 60}*a{']' * 60}",
        "input:2:64: nesting is deeper than 100 levels",
    ),
    Refusal("merge of a number", "<<: 3", "input:1:5: expected a mapping or a list of mappings after <<"),
    Refusal("control character", "a: \x07", "input:1:4: the character U+0007 is not allowed in YAML"),
    Refusal("bad UTF-8", b"a: 1\nb: \xff", "input:2:4: not UTF-8 text: byte 0xff is invalid"),
    Refusal("text behind JSON", '{"a": 1} x', "input:1:10: not JSON: unexpected 'x'"),
    Refusal("open JSON", '{"a": 1', "input:1:8: not JSON: unexpected end of JSON"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_errors_name_position_and_reason(case: Refusal) -> None:
    with pytest.raises(InputError) as caught:
        load_documents(case.text, "input")
    assert str(caught.value) == case.want


@pytest.mark.parametrize(("source", "name"), [("a b.yaml", "'a b.yaml'"), ("<stdin>", "FILE")])
def test_the_hint_for_binary_input_is_a_command_that_reads_it(source: str, name: str) -> None:
    """Standard input has no file name, and compressed data may be a manifest or a recording."""
    recording = f"or use -m {name} if it is a recording of a node"
    for data, hint in (
        (gzip.compress(b"a: 1"), f"decompress it (zcat {name}), {recording}"),
        (bz2.compress(b"a: 1"), f"decompress it (bzcat {name}), {recording}"),
        (lzma.compress(b"a: 1"), f"decompress it (xzcat {name}), {recording}"),
        ("a: 1".encode("utf-16"), f"iconv -f UTF-16 -t UTF-8 {name} writes it as UTF-8"),
    ):
        with pytest.raises(InputError) as caught:
            load_documents(data, source)
        assert caught.value.hint == hint


def test_yaml_nested_too_deeply_for_libyaml_gets_the_same_error() -> None:
    """Before libyaml 0.2.6 the position is that of the level; since then it is where libyaml stopped."""
    with pytest.raises(InputError, match=r"^input:1:\d+: nesting is deeper than 100 levels$"):
        load_documents("a: " + "[" * 5000, "input")


def test_documents_are_numbered_by_position_in_the_text() -> None:
    documents = load_documents("a: 1\n---\n---\nb: 2\n", "input")
    assert [(document.number, document.value) for document in documents] == [(0, {"a": 1}), (2, {"b": 2})]


def test_several_json_values_are_several_documents() -> None:
    assert values('{"a": 1}\n{"b": 2}{"c": 3}') == [{"a": 1}, {"b": 2}, {"c": 3}]


def limit(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    for module in (text_errors, tree, json_text, yaml_text, loading):
        monkeypatch.setattr(module, name, value, raising=False)


@pytest.mark.parametrize("text", ['{"a": 1}\n{"b": 2}{"c":\n3}{"d": 4}', "a: 1\n---\nb: 2\n---\nc: 3\n"])
def test_every_document_knows_its_line(text: str) -> None:
    """Without reading the text again, which would take hours for thousands of documents."""
    documents = load_documents(text, "input")
    lines = [text.count("\n", 0, text.index(f"{name}")) + 1 for name in "abcd"[: len(documents)]]
    assert [document.line for document in documents] == lines
    assert [document.line_of(()) for document in documents] == lines


MANY = {
    "YAML": "".join(f"---\na: &a [1, 1, 1, 1]\nb: [*a, *a, *a, *a, *a, *a, *a, {n}]\n" for n in range(20)),
    "JSON": '{"a": [1, "2,3", {"b": 4}]}\n' * 200,
    "one list in JSON": "[" + "[]," * 1000 + "[]]",
}


@pytest.mark.parametrize("text", MANY.values(), ids=MANY)
def test_the_limit_of_values_applies_to_all_documents_together(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "MAX_NODES", 800)
    with pytest.raises(InputError, match=r"^input:\d+:\d+: more than 800 values \(aliases expanded\)$"):
        load_documents(text, "input")


@pytest.mark.parametrize(("begin", "value"), [("[", "1,"), ("{", "k{}: 1,")], ids=["list", "mapping"])
def test_endless_yaml_is_rejected_early(begin: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are counted during reading; the limit is lower than for JSON, which is read ten times as fast.

    The whole text would take a hundred times as long as the part before the limit.
    """
    assert text_errors.MAX_YAML_NODES == 2_000_000
    limit(monkeypatch, "MAX_YAML_NODES", 20_000)
    text = begin + "".join(map(value.format, range(2_000_000)))
    with seconds_below(2), pytest.raises(InputError, match="more than 20,000 values") as raised:
        load_documents(text, "input")
    assert "JSON" in raised.value.hint


@pytest.mark.parametrize("text", ["--- a\n" * 6, "{}\n" * 6, '{"a": 1, "a": 2}\n' * 6])
def test_the_number_of_documents_is_limited(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, "MAX_DOCUMENTS", 5)
    with pytest.raises(InputError, match=r"^input:6:1: more than 5 documents$"):
        load_documents(text, "input")


def test_long_json_strings_need_little_additional_memory() -> None:
    text = json.dumps({"a": "x" * 2_000_000})[:-1] + ', "a": 1}'
    with bytes_below(20_000_000):
        document = read_object(text, "input").document
    assert document.value == {"a": 1}


def test_commas_in_strings_are_not_counted_as_values(monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, "MAX_NODES", 800)
    text = json.dumps({"a": '[{"x": 1, "y": [,]},' * 1000})
    assert values(text) == [json.loads(text)]


def test_merging_many_mappings_takes_no_longer_than_reading_them() -> None:
    text = "<<: [" + ", ".join(f"{{k{number}: 1}}" for number in range(30_000)) + "]"
    with seconds_below(10):
        (value,) = values(text)
    assert isinstance(value, dict)
    assert len(value) == 30_000


def test_the_number_of_tag_handles_is_limited() -> None:
    """The parser compares every handle with all previous ones."""
    text = "".join(f"%TAG !t{number}! tag:example.org,2000:\n" for number in range(100_000)) + "--- a\n"
    with seconds_below(5), pytest.raises(InputError, match="more than 1000 %TAG directives"):
        load_documents(text, "input")


def test_text_that_begins_like_json_may_be_yaml() -> None:
    assert values('{"a": 1, b: 2}') == [{"a": 1, "b": 2}]
    assert values('{"a": 1}\n---\n{"b": 2}') == [{"a": 1}, {"b": 2}]


def test_byte_order_mark_is_dropped() -> None:
    assert values(b"\xef\xbb\xbfa: 1") == [{"a": 1}]


def test_large_json_numbers_are_exact_up_to_64_bits() -> None:
    assert values('{"a": 18446744073709551615, "b": 18446744073709551616}') == [
        {"a": 2**64 - 1, "b": 2.0**64}
    ]


def test_keys_of_a_mapping_override_merged_ones() -> None:
    text = "base: &base {a: 1, b: 1}\nmore: &more {b: 2, c: 2}\nall: {<<: [*more, *base], c: 3}"
    assert values(text)[0]["all"] == {"a": 1, "b": 2, "c": 3}  # type: ignore[index]


def test_quoted_merge_key_is_an_ordinary_key() -> None:
    assert values('"<<": 3') == [{"<<": 3}]


@pytest.mark.parametrize(
    "text", ["a: 1\nb: {c: 1, c: 2}\na: 3", '{"a": 1,\n"b": {"c": 1, "c": 2},\n"a": 3}'], ids=["YAML", "JSON"]
)
def test_the_last_of_repeated_keys_wins_if_requested(text: str) -> None:
    document = read_object(text, "input").document
    assert document.value == {"a": 3, "b": {"c": 2}}
    assert [(repeat.path, repeat.position.line) for repeat in document.repeats] == [
        (("b", "c"), 2),
        (("a",), 3),
    ]


YAML_TEXT = """\
# a comment
spec:
  containers:
    - name: one
      resources: {limits: {nvidia.com/gpu: 1}}
    -
      name: two
---
<<: {late: 1}
key:
  below
"""


@pytest.mark.parametrize(
    ("index", "path", "line"),
    [
        (0, (), 2),
        (0, ("spec",), 2),
        (0, ("spec", "containers", 0), 4),
        (0, ("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu"), 5),
        (0, ("spec", "containers", 1), 7),
        (0, ("spec", "containers", 2), None),
        (0, ("spec", "nothing"), None),
        (0, ("spec", "containers", "name"), None),
        (1, ("late",), 9),
        (1, ("key",), 10),
    ],
)
def test_lines_are_those_of_keys_and_items(index: int, path: tuple[str | int, ...], line: int | None) -> None:
    assert load_documents(YAML_TEXT, "input")[index].line_of(path) == line


def test_lines_in_json() -> None:
    text = json.dumps({"a": [1, {"b": "}\n{"}]}, indent=1)
    (document,) = load_documents(text, "input")
    assert document.line_of(("a", 1, "b")) == 5
    assert document.where(("a", 1, "b")) == "input:5: a[1].b"


def test_pure_python_parser_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML is often packaged without libyaml."""
    with_libyaml = values(YAML_TEXT)
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert values(YAML_TEXT) == with_libyaml
    with pytest.raises(InputError, match="a lone surrogate"):
        values('a: "\\ud800"')
    with pytest.raises(InputError, match="not YAML"):
        values('a: "\\Uffffffff"')
    with pytest.raises(InputError, match="input:2:1: a tab is used"):
        values("a:\n\t- b")
