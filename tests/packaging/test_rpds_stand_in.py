"""The substitute for rpds that ``cpuctl.pyz`` bundles behaves like rpds in all used functions."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import rpds
from hypothesis import given
from hypothesis import strategies as st

FOLDER = Path(__file__).parents[2] / "contrib" / "zipapp"

KEYS = st.integers(0, 5)
MAP_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), KEYS, st.text(max_size=2)),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.just("update"), st.dictionaries(KEYS, st.text(max_size=2))),
    )
)
SET_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("insert", "discard")), KEYS), st.tuples(st.just("update"), st.sets(KEYS))
    )
)
WRONG = """
apiVersion: v1
kind: Pod
metadata: {name: wrong, namespace: shop}
spec:
  resource: {}
  restartPolicy: [Always]
  containers:
  - name: a
    image: 7
    resources: {limits: {cpu: [1], memory: true}}
  - {name: b, image: i, resources: [], resizePolicy: {resourceName: cpu}}
"""
MISTAKES = 5
PROBE = """
import json, sys
if sys.argv[1:2] == ["stand-in"]:
    sys.path.insert(0, sys.argv[2])
import rpds
from cpuctl.__main__ import main
sys.argv = ["cpuctl", *sys.argv[3:]]
print(rpds.__file__, file=sys.stderr)
main()
"""


def load() -> ModuleType:
    spec = spec_from_file_location("stand_in", FOLDER / "rpds.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STAND_IN = load()


def steps_taken(collection: Any, steps: list[tuple[Any, ...]]) -> Any:
    """Change a collection step by step; removing a missing key is a step, too."""
    seen = [collection]
    for name, *arguments in steps:
        try:
            collection = getattr(collection, name)(*arguments)
        except KeyError:
            seen.append("no such key")
        seen.append(collection)
    return seen


def plain(seen: list[Any]) -> list[Any]:
    return [each if isinstance(each, str) else sorted(dict(each).items()) for each in seen]


@given(MAP_STEPS)
def test_a_map_changes_in_the_same_way(steps: list[tuple[Any, ...]]) -> None:
    theirs, ours = (plain(steps_taken(each.HashTrieMap(), steps)) for each in (rpds, STAND_IN))
    assert ours == theirs, "earlier versions are unchanged, too"


@given(SET_STEPS)
def test_a_set_changes_in_the_same_way(steps: list[tuple[Any, ...]]) -> None:
    theirs, ours = (steps_taken(each.HashTrieSet(), steps) for each in (rpds, STAND_IN))
    assert [sorted(each) for each in ours] == [sorted(each) for each in theirs]


@given(st.lists(st.integers()), st.lists(st.integers()))
def test_a_list_grows_at_the_same_end(begun: list[int], added: list[int]) -> None:
    theirs, ours = rpds.List(begun), STAND_IN.List(begun)
    for number in added:
        theirs, ours = theirs.push_front(number), ours.push_front(number)
    assert list(ours) == list(theirs)
    assert len(ours) == len(theirs)


def test_a_map_is_converted_once() -> None:
    made = STAND_IN.HashTrieMap.convert({"a": 1})
    assert STAND_IN.HashTrieMap.convert(made) is made
    assert made == STAND_IN.HashTrieMap([("a", 1)])


def test_lint_finds_the_same_with_the_stand_in(tmp_path: Path) -> None:
    """The only command that validates against a schema, with every kind of schema error."""
    pods = tmp_path / "pods.yaml"
    pods.write_text(WRONG)
    theirs, ours = (lint(which, pods) for which in ("rpds", "stand-in"))
    assert len(theirs) >= MISTAKES
    assert ours == theirs


def lint(which: str, pods: Path) -> list[Any]:
    words = [sys.executable, "-c", PROBE, which, str(FOLDER), "pods", "lint", "-f", str(pods), "-o", "json"]
    done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=FOLDER.parents[1])
    module, *_ = done.stderr.splitlines()
    assert (module == str(FOLDER / "rpds.py")) == (which == "stand-in")
    findings: list[Any] = json.loads(done.stdout)["findings"]
    return findings
