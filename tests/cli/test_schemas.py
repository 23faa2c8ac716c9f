"""Every answer follows its published schema, in every format and for every outcome."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from cpuctl.schemas import schema_names, schema_text
from tests.cli.conftest import Cpuctl
from tests.support.schemas import follow_schema

MACHINE = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz")
STATIC = ("--kubelet-config", "fixtures/kubelet/static.yaml")


def check(document: Any) -> None:
    follow_schema(document)


ANSWERS = {
    "machine": ["topology", "show", *MACHINE],
    "columns": ["topology", "show", *MACHINE, "--columns", "cpu,core"],
    "some CPUs": ["topology", "map", *MACHINE, "--cpus", "node:1"],
    "distances": ["topology", "distances", *MACHINE],
    "shipped pods": ["plan", *MACHINE, *STATIC, "-f", "fixtures/pods"],
    "no policy": ["plan", *MACHINE, "-T", "web=4/4,1Gi"],
    "rejected": ["plan", *MACHINE, *STATIC, "-T", "odd=3/3,1Gi", "-T", "huge=64/64,1Gi"],
    "last CPUs": ["plan", *MACHINE, *STATIC, "-T", "most=28/28,1Gi"],
    "memory": [
        *("plan", "-m", "synthetic:2s2n4c2t,mem=64Gi", "-T", "near=2/2,20Gi", "-T", "odd=1/2,1Gi"),
        "--kubelet-args",
        "--memory-manager-policy=Static --kube-reserved=memory=1Gi --reserved-memory=0:memory=1Gi",
    ],
    "not started": ["plan", "-m", "synthetic:1s1n1c1t", *STATIC, "-T", "web=1/1,1Gi"],
}


@pytest.mark.parametrize("words", ANSWERS.values(), ids=ANSWERS.keys())
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(words: list[str], cpuctl: Cpuctl) -> None:
    as_json = json.loads(cpuctl(*words, "-o", "json").out)
    check(as_json)
    assert yaml.safe_load(cpuctl(*words, "-o", "yaml").out) == as_json


@pytest.mark.parametrize("words", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("form", ["table", "wide"])
def test_every_answer_has_a_table(words: list[str], form: str, cpuctl: Cpuctl) -> None:
    result = cpuctl(*words, "-o", form)
    assert result.out.endswith("\n")
    assert result.code in (0, 3)


@pytest.mark.parametrize("name", schema_names())
def test_schemas_are_valid(name: str) -> None:
    schema = json.loads(schema_text(name))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"cpuctl/v1alpha1/{name}"


def test_an_answer_that_violates_its_schema_is_detected() -> None:
    with pytest.raises(jsonschema.ValidationError):
        check({"apiVersion": "cpuctl/v1alpha1", "kind": "Plan", "pods": []})


def test_schema_command_prints_what_is_shipped(cpuctl: Cpuctl) -> None:
    assert cpuctl("schema").out.split() == schema_names()
    assert cpuctl("schema", "plan").out == schema_text("plan")


def test_unknown_schema_names_the_known_ones(cpuctl: Cpuctl) -> None:
    result = cpuctl("schema", "pan")
    assert result.code == 2
    assert "did you mean plan?" in result.err
    assert "plan, " in cpuctl("schema", "nothing").err.partition("choose from ")[2]
