"""systemd's unit files, environment files and command lines, read as systemd reads them."""

from __future__ import annotations

import pytest

from cpuctl.capture.kubelet.systemd import (
    UnknownError,
    environment_file,
    environment_words,
    settings,
    split_words,
    with_specifiers,
    with_variables,
)
from tests.support.costs import seconds_below

WORDS = [
    ("a b  c", ["a", "b", "c"]),
    ("'a b' c", ["a b", "c"]),
    ('--x="a b"c', ["--x=a bc"]),
    (r"a\x20b \t", ["a b", "\t"]),
    (r"\q \101\u00e4", [r"\q", "A\xe4"]),
    (r"'it\'s' \"\"", ["it's", '""']),
    ("", []),
]


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_an_unclosed_quote_is_an_error() -> None:
    with pytest.raises(ValueError, match="unclosed"):
        split_words('a "b')


ENVIRONMENT = [
    ("A=1\nB = 2 \n# C=3\n;D=4\n\nE=\n", {"A": "1", "B": "2", "E": ""}),
    ('A="--x=1 --y=\\"2\\""\n', {"A": '--x=1 --y="2"'}),
    ("A=--x='1' --y\n", {"A": "--x='1' --y"}),
    ("A='--x' --y\n", {"A": "--x--y"}),
    ("A=--x \\\n  --y\n", {"A": "--x   --y"}),
    ('A="--x \\\n --y"\n', {"A": "--x  --y"}),
    ("A='a\nb' # c\n", {"A": "a\nb# c"}),
    ('A="a\\nb"\n', {"A": "a\\nb"}),
    ("A=a\\nb\n", {"A": "anb"}),
    ("export A=1\n2B=3\nno value\nC=$A\n", {"C": "$A"}),
    ("A=1\nA=2", {"A": "2"}),
    ("A=a b   \nB=c", {"A": "a b", "B": "c"}),
]


@pytest.mark.parametrize(("text", "variables"), ENVIRONMENT)
def test_environment_files(text: str, variables: dict[str, str]) -> None:
    assert environment_file(text) == variables


def test_an_assignment_of_variables() -> None:
    assert environment_words('A=1 "B=2 %n" C 1D=x', {"n": "kubelet.service"}) == {
        "A": "1",
        "B": "2 kubelet.service",
    }
    assert environment_words('"A=1', {}) == {}


VARIABLES = {"A": "x y", "Q": "--a='b c' \\d", "E": ""}
COMMANDS = [
    (["$A"], ["x", "y"]),
    (["${A}"], ["x y"]),
    (["--x=${A}", "--y=$A", "z$A"], ["--x=x y", "--y=$A", "z$A"]),
    (["$Q"], ["--a=b c", "\\d"]),
    (["$E", "$NONE", "${NONE}"], [""]),
    (["$$A", "a$$b", "$"], ["$A", "a$b", "$"]),
]


@pytest.mark.parametrize(("words", "found"), COMMANDS)
def test_variables(words: list[str], found: list[str]) -> None:
    assert with_variables(words, VARIABLES) == found


def test_specifiers() -> None:
    assert with_specifiers("%n 100%% %1", {"n": "k"}) == "k 100% %1"
    with pytest.raises(UnknownError, match="only systemd knows the value of %b"):
        with_specifiers("%b", {})


def test_lines_of_a_unit() -> None:
    text = """
# ExecStart=/a
[Unit]
Description = x
[Service]
ExecStart=/usr/bin/kubelet \\
  --a \\
# a comment between
; and another
  --b
  Restart=always
Path=C:\\\\
No assignment
"""
    assert list(settings(text)) == [
        ("Unit", "Description", "x"),
        ("Service", "ExecStart", "/usr/bin/kubelet  --a  --b"),
        ("Service", "Restart", "always"),
        ("Service", "Path", "C:\\\\"),
    ]


def test_long_words_and_open_braces_take_linear_time() -> None:
    with seconds_below(5):
        assert split_words("a" * 500_000 + " b")[1:] == ["b"]
        assert with_variables(["${a" * 100_000], VARIABLES) == ["${a" * 100_000]


def test_variables_never_expand_to_a_command_that_linux_would_not_start() -> None:
    with pytest.raises(UnknownError, match="the command has more than 6291456 characters"):
        with_variables(["${A}" * 1000], {"A": "x" * 10_000})


def test_an_invalid_character_stays_as_it_is() -> None:
    assert split_words("\\ud800") == ["\\ud800"]


def test_a_nul_byte_ends_a_line() -> None:
    assert list(settings("[Service]\nExecStart=/a\0Type=b")) == [
        ("Service", "ExecStart", "/a"),
        ("Service", "Type", "b"),
    ]
