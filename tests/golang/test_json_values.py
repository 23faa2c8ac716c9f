"""Go's error messages for invalid JSON."""

from __future__ import annotations

import json

import pytest

from cpuctl.errors import InputError
from cpuctl.golang.json_values import MAX_DEPTH, MAX_VALUES, GoJsonError, parsed_json, syntax_error_text
from cpuctl.golang.state_types import Field, GoType, Integer, ListOf, MapOf, Struct, Text

END = "unexpected end of JSON input"
COMPLAINTS = [
    ("", END),
    (" \n\t", END),
    ("{", END),
    ('{"a"', END),
    ('{"a":', END),
    ('{"a":1', END),
    ('{"a":1,', END),
    ("[1,", END),
    ('"abc', END),
    ('"ab\\', "invalid character ' ' in string escape code"),
    ('"\\u12', "invalid character ' ' in \\u hexadecimal character escape"),
    ("tru", "invalid character ' ' in literal true (expecting 'e')"),
    ('{"a":n', "invalid character ' ' in literal null (expecting 'u')"),
    ("-", "invalid character ' ' in numeric literal"),
    ("1.", "invalid character ' ' after decimal point in numeric literal"),
    ("1e", "invalid character ' ' in exponent of numeric literal"),
    ("1e+", "invalid character ' ' in exponent of numeric literal"),
    ("garbage", "invalid character 'g' looking for beginning of value"),
    ("[1,]", "invalid character ']' looking for beginning of value"),
    ('{"a":}', "invalid character '}' looking for beginning of value"),
    ("{1:2}", "invalid character '1' looking for beginning of object key string"),
    ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
    ('{"a" 1}', "invalid character '1' after object key"),
    ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
    ("[1 2]", "invalid character '2' after array element"),
    ("{} x", "invalid character 'x' after top-level value"),
    ("01", "invalid character '1' after top-level value"),
    ("+1", "invalid character '+' looking for beginning of value"),
    ("-x", "invalid character 'x' in numeric literal"),
    ("1.x", "invalid character 'x' after decimal point in numeric literal"),
    ("1ex", "invalid character 'x' in exponent of numeric literal"),
    ("nul!", "invalid character '!' in literal null (expecting 'l')"),
    ('"a\nb"', "invalid character '\\n' in string literal"),
    ('"\x01"', "invalid character '\\x01' in string literal"),
    ('"\\x"', "invalid character 'x' in string escape code"),
    ('"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
    ("'a'", "invalid character '\\'' looking for beginning of value"),
    ("\u2028", "invalid character 'â' looking for beginning of value"),
    ("é", "invalid character 'Ã' looking for beginning of value"),
    ("٣", "invalid character 'Ù' looking for beginning of value"),
    ("[" * (MAX_DEPTH + 1), "invalid character '[' exceeded max depth"),
    ('{"a":' * (MAX_DEPTH + 1), "invalid character '{' exceeded max depth"),
]


@pytest.mark.parametrize(("text", "complaint"), COMPLAINTS, ids=[repr(text[:12]) for text, _ in COMPLAINTS])
def test_invalid_json_gets_the_errors_of_go(text: str, complaint: str) -> None:
    assert syntax_error_text(text) == complaint
    with pytest.raises(GoJsonError) as refused:
        parsed_json(text)
    assert str(refused.value) == complaint


@pytest.mark.parametrize(
    "text",
    ["null", " [ ] ", '{"a":{"b":[1,-0,2.5e-3,true,false,null,"\\u00e9\\n/"]}}', "-0.0E+7", '""', "[[],{}]"],
)
def test_valid_json_has_no_error(text: str) -> None:
    json.loads(text)
    assert not syntax_error_text(text)


def test_json_nested_too_deeply_for_cpuctl_only_is_an_input_error() -> None:
    text = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert not syntax_error_text(text)
    with pytest.raises(InputError, match="nested too deeply"):
        parsed_json(text)


def test_the_number_of_values_is_limited() -> None:
    with pytest.raises(InputError, match="holds more than 250,000 values"):
        parsed_json("[" + "[]," * MAX_VALUES)


FIELDS = (Field("a", "A", Text()), Field("b", "B", Text(), omit_empty=True))


@pytest.mark.parametrize(
    ("type_", "shown", "written"),
    [
        (ListOf("[]string", Text()), "<nil>", "null"),
        (MapOf("map[string]string", Text()), "<nil>", "null"),
        (Integer("int"), "0", "0"),
        (Text(), "", '""'),
        (
            Struct("S", (Field("a", "A", Text()), Field("b", "B", Text(), omit_empty=True))),
            "{A:(string) B:(string)}",
            '{"a":""}',
        ),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_unset_values_print_as_in_go(type_: GoType, shown: str, written: str) -> None:
    assert (type_.shown(type_.zero()), type_.written(type_.zero())) == (shown, written)
