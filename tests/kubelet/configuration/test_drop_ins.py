"""Drop-in files: which are read, in what order, how they merge, and the kubelet's errors for bad ones."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD, KubeletConfiguration
from cpuctl.kubelet.configuration.drop_ins import DropInDirectory
from cpuctl.kubelet.configuration.loading import ConfigSources, LoadedConfiguration, load_configuration
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.version import KubeletVersion

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def load(folder: Path, main: str | None = "", *, minor: int = 36, **files: str) -> LoadedConfiguration:
    """Load *main* with drop-ins named after *files*."""
    for name, text in files.items():
        (folder / f"{name}.conf").write_text(HEAD + text)
    return load_configuration(
        ConfigSources(
            main=None if main is None else (HEAD + main, "main.yaml"), drop_ins=DropInDirectory(str(folder))
        ),
        KubeletVersion(minor),
    )


def config(folder: Path, main: str | None = "", **files: str) -> KubeletConfiguration:
    return load(folder, main, minor=36, **files).config


def test_files_are_walked_by_the_bytes_of_their_names(tmp_path: Path) -> None:
    for name in (
        "a.conf",
        "B.conf",
        "9.conf",
        ".hidden.conf",
        ".conf",
        "10a/z.conf",
        "10.conf",
        "b.conf",
        "b/c.conf",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(HEAD)
    for name in ("a.yaml", "conf", "10a/x.conf.bak"):
        (tmp_path / name).write_text("not read: [")
    loaded = load(tmp_path)
    assert [os.path.relpath(path, tmp_path) for path in loaded.drop_ins] == [
        ".conf", ".hidden.conf", "10.conf", "10a/z.conf", "9.conf", "B.conf", "a.conf", "b/c.conf", "b.conf",
    ]  # fmt: skip


def test_links_to_files_are_read_and_links_to_directories_are_not(tmp_path: Path) -> None:
    folder, other = tmp_path / "d", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (other / "10.conf").write_text(HEAD + "maxPods: 5")
    (folder / "20.conf").symlink_to(other / "10.conf")
    (folder / "deep").symlink_to(other)
    loaded = load(folder)
    assert (loaded.config.max_pods, len(loaded.drop_ins)) == (5, 1)


def test_a_link_to_the_directory_itself_is_not_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    (real / "10.conf").write_text(HEAD + "maxPods: 5")
    link.symlink_to(real)
    loaded = load(link)
    assert loaded.drop_ins == ()
    assert list(map(str, loaded.warnings)) == [
        f"{link}: is not read: the kubelet does not follow links to directories"
    ]


def test_files_with_another_extension_are_reported(tmp_path: Path) -> None:
    for name in ("10.yaml", "20.json", "README.md", "30.conf.bak", "yaml"):
        (tmp_path / name).write_text(HEAD)
    why = "is not read: the kubelet reads only files in its drop-in directory whose names end in .conf"
    assert list(map(str, load(tmp_path).warnings)) == [
        f"{tmp_path}/10.yaml: {why}",
        f"{tmp_path}/20.json: {why}",
    ]


@pytest.fixture
def few_stack_frames() -> Iterator[None]:
    """Let calls nest only 250 deep: directories deeper than 1000 are possible, but could not be deleted."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 250)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("few_stack_frames")
def test_directories_may_be_nested_deeply(tmp_path: Path) -> None:
    deepest = tmp_path.joinpath(*["d"] * 400)
    for depth in range(100, 401, 100):
        tmp_path.joinpath(*["d"] * depth).mkdir(parents=True)
    (deepest / "a.conf").write_text(f"{HEAD}maxPods: 7")
    assert load(tmp_path).config.max_pods == 7
    (deepest / "a.conf").unlink()
    while deepest != tmp_path:  # pytest's clean-up is recursive
        deepest.rmdir()
        deepest = deepest.parent


def test_mappings_merge_and_lists_replace(tmp_path: Path) -> None:
    main = """
kubeReserved: {cpu: "1", memory: 1Gi}
enforceNodeAllocatable: [pods, kube-reserved]
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
"""
    drop_in = """
kubeReserved: {memory: 2Gi, cpu: null}
enforceNodeAllocatable: [none]
reservedMemory: [{numaNode: 1, limits: {memory: 2Gi}}]
"""
    found = config(tmp_path, main, a=drop_in)
    assert found.kube_reserved == {"memory": "2Gi"}
    assert found.enforce_node_allocatable == ("none",)
    assert [item.numa_node for item in found.reserved_memory] == [1]


def test_null_also_deletes_inside_lists(tmp_path: Path) -> None:
    """In the main file it means an amount of zero."""
    reserved = "reservedMemory: [{numaNode: 1, limits: {memory: 1Gi, hugepages-1Gi: null}}]"
    assert list(config(tmp_path, reserved).reserved_memory[0].limits) == ["memory", "hugepages-1Gi"]
    assert list(config(tmp_path, a=reserved).reserved_memory[0].limits) == ["memory"]


def test_later_files_win(tmp_path: Path) -> None:
    assert config(tmp_path, "maxPods: 1", a="maxPods: 2", b="maxPods: 3").max_pods == 3


def test_a_deleted_field_gets_its_default(tmp_path: Path) -> None:
    assert config(
        tmp_path, "maxPods: 1\ncgroupsPerQOS: false", a="maxPods: null\ncgroupsPerQOS: null"
    ) == config(tmp_path, "")


@pytest.mark.parametrize(
    ("main", "drop_in", "want"),
    [
        (
            "",
            "evictionHard: {memory.available: 500Mi}",
            {**DEFAULT_EVICTION_HARD, "memory.available": "500Mi"},
        ),
        ("evictionHard: {memory.available: 500Mi}", "", {"memory.available": "500Mi"}),
        ("", "evictionHard: {}", DEFAULT_EVICTION_HARD),
        ("", "evictionHard: null", {}),
        ("evictionHard: {}", "evictionHard: {pid.available: 10%}", {"pid.available": "10%"}),
    ],
)
def test_hard_eviction(tmp_path: Path, main: str, drop_in: str, want: dict[str, str]) -> None:
    """A drop-in adds to thresholds that already have defaults; deleted thresholds get none again."""
    assert config(tmp_path, main, a=drop_in).eviction_hard == want


def test_without_a_main_file_there_are_no_default_thresholds(tmp_path: Path) -> None:
    assert config(tmp_path, None, a="evictionHard: {memory.available: 1Gi}").eviction_hard == {
        "memory.available": "1Gi"
    }


def test_default_thresholds_are_merged_only_into_the_main_file(tmp_path: Path) -> None:
    loaded = load(tmp_path, "evictionHard: {pid.available: 1%}", a="mergeDefaultEvictionSettings: true")
    assert loaded.config.eviction_hard == {"pid.available": "1%"}
    assert [warning.code for warning in loaded.warnings] == ["no-effect"]


def test_quantities_of_the_main_file_become_canonical(tmp_path: Path) -> None:
    """To the Memory Manager 1.5Gi is not an exact number of bytes until it is written and read back."""
    reserved = "reservedMemory: [{limits: {memory: 1.5Gi}}]"
    round_trip = config(tmp_path, reserved).reserved_memory[0].limits["memory"]
    untouched = config(tmp_path, "", a=reserved).reserved_memory[0].limits["memory"]
    assert (round_trip.exact_int64, untouched.exact_int64) == (1610612736, None)


def test_an_empty_list_of_the_main_file_is_lost(tmp_path: Path) -> None:
    """It is omitted when the configuration is written, and then gets the default."""
    assert config(tmp_path, "enforceNodeAllocatable: []").enforce_node_allocatable == ("pods",)
    assert config(tmp_path, "", a="enforceNodeAllocatable: []").enforce_node_allocatable == ()


@pytest.mark.parametrize(("name", "want"), [("maxpods", 7), ("MAXPODS", 110), ("reservedsystemcpus", 110)])
def test_names_match_in_any_case(tmp_path: Path, name: str, want: int) -> None:
    """The last spelling in byte order wins; the base already contains all fields that have a default."""
    value = 7 if "pods" in name.lower() else "'3'"
    loaded = load(tmp_path, a=f"{name}: {value}")
    assert loaded.config.max_pods == want
    assert loaded.config.reserved_system_cpus == ("" if "pods" in name.lower() else "3")
    (warning,) = loaded.warnings
    assert warning.code == "field-case"
    assert warning.message.endswith("and is used instead") is (name == "MAXPODS")


def test_whole_floats_are_integers_also_in_json(tmp_path: Path) -> None:
    """A drop-in is decoded untyped and written again before it is merged."""
    head = '{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", '
    (tmp_path / "a.conf").write_text(head + '"maxPods": 5.0}')
    assert load(tmp_path).config.max_pods == 5


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    """A kubelet would wait for a writer to the pipe."""
    os.mkfifo(tmp_path / "a.conf")
    with pytest.raises(InputError, match=r"a\.conf: expected a regular file, found a pipe$"):
        load(tmp_path)


def test_mappings_in_different_case_are_merged(tmp_path: Path) -> None:
    found = config(tmp_path, "kubeReserved: {cpu: '1'}\nmemorySwap: {swapBehavior: NoSwap}",
                   a="kubereserved: {memory: 1Gi}\nmemoryswap: {SwapBehavior: LimitedSwap}")  # fmt: skip
    assert found.kube_reserved == {"cpu": "1", "memory": "1Gi"}
    assert found.swap_behavior == "LimitedSwap"


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    loaded = load(tmp_path, a="bogus: 1\nmaxPods: 5")
    assert loaded.config.max_pods == 5
    assert [str(warning) for warning in loaded.warnings] == [
        f'{tmp_path}/a.conf:3: bogus: unknown field "bogus" is ignored'
    ]


def test_relative_paths_in_drop_ins_stay_relative(tmp_path: Path) -> None:
    assert config(tmp_path, a="staticPodPath: manifests").static_pod_path == "manifests"


def test_origins_name_file_and_line(tmp_path: Path) -> None:
    loaded = load(tmp_path, "kubeReserved: {cpu: '1'}", a="\nkubeReserved: {memory: 1Gi}")
    assert loaded.origin("kubeReserved", "cpu").place == "main.yaml:3"
    assert loaded.origin("kubeReserved", "memory").place == f"{tmp_path}/a.conf:4"
    assert loaded.origin("kubeReserved", "pid").place == "main.yaml:3"
    assert loaded.origin("maxPods").place == ""
    assert loaded.origin("qosReserved").place == ""


@dataclass(frozen=True)
class Refusal:
    """A drop-in that a kubelet rejects: our message and its own, with {} for the directory."""

    name: str
    text: str
    want: str
    kubelet: str = ""
    files: dict[str, str] = field(default_factory=dict)


WALK = (
    'failed to walk through kubelet dropin directory "{}": failed to load kubelet dropin file,'
    " path: {}/a.conf,"
)
UNMARSHAL = "failed to unmarshal merged JSON into kubelet configuration: json: cannot unmarshal"
REFUSALS = [
    Refusal(
        "empty",
        "",
        "{}/a.conf: empty: expected YAML or JSON",
        WALK + ' error: kubelet config file "{}/a.conf" was empty',
    ),
    Refusal(
        "comments only",
        "# later",
        "{}/a.conf: empty: expected YAML or JSON",
        WALK + " error: Object 'Kind' is missing in '# later'",
    ),
    Refusal(
        "no kind",
        "maxPods: 1",
        "{}/a.conf:1: kind is missing: expected KubeletConfiguration",
        WALK + " error: Object 'Kind' is missing in 'maxPods: 1'",
    ),
    Refusal(
        "other version",
        "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration",
        "{}/a.conf:1: expected a KubeletConfiguration of kubelet.config.k8s.io/v1beta1, found"
        " KubeletConfiguration of kubelet.config.k8s.io/v1",
        WALK + " unknown apiVersion/kind: kubelet.config.k8s.io/v1, Kind=KubeletConfiguration",
    ),
    Refusal(
        "no version",
        "kind: KubeletConfiguration",
        "{}/a.conf:1: expected a KubeletConfiguration of kubelet.config.k8s.io/v1beta1, found"
        " KubeletConfiguration of no version",
        WALK + " unknown apiVersion/kind: /, Kind=KubeletConfiguration",
    ),
    Refusal(
        "repeated keys",
        HEAD + "maxPods: 1\nmaxPods: 2\nport: 3\nport: 4",
        '{}/a.conf:4: duplicate key "maxPods"',
        WALK + " error: strict decoding error: yaml: unmarshal errors:\n"
        '  line 4: key "maxPods" already set in map\n  line 6: key "port" already set in map',
    ),
    Refusal(
        "repeated keys: inner ones first, in the lines where the values begin",
        HEAD + "a: 1\na:\n  b: 1\n  b:\n    c: 1\n",
        '{}/a.conf:4: duplicate key "a"',
        WALK + " error: strict decoding error: yaml: unmarshal errors:\n"
        '  line 7: key "b" already set in map\n  line 5: key "a" already set in map',
    ),
    Refusal(
        "repeated keys in JSON: outer ones first, each path once",
        '{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1",\n'
        ' "port": 1, "port": 2, "port": 3,\n'
        ' "a": {}, "a": {"b": [0, {"c": 1, "c": 2}]}}',
        '{}/a.conf:2: duplicate key "port"',
        WALK + ' error: strict decoding error: duplicate field "port", duplicate field "a", duplicate field'
        ' "a.b[1].c"',
    ),
    Refusal(
        "repeated keys come before another version",
        "kind: KubeletConfiguration\nport: 1\nport: 2",
        '{}/a.conf:3: duplicate key "port"',
        WALK + " error: strict decoding error: yaml: unmarshal errors:\n"
        '  line 3: key "port" already set in map',
    ),
    Refusal(
        "kind of a wrong type",
        "kind: 5",
        "{}/a.conf:1: kind: expected KubeletConfiguration, found the number 5",
        WALK + " error: couldn't get version/kind; json parse error: json: cannot unmarshal number into Go"
        " struct field .kind of type string",
    ),
    Refusal(
        "wrong type",
        HEAD + "maxPods: many",
        '{}/a.conf:3: maxPods: expected a whole number, found the string "many"',
        f"{UNMARSHAL} string into Go struct field KubeletConfiguration.maxPods of type int32",
    ),
    Refusal(
        "wrong type under another spelling",
        HEAD + "KubeReserved: {cpu: 1}",
        "{}/a.conf:3: KubeReserved.cpu: expected a string, found the number 1",
        f"{UNMARSHAL} number into Go struct field KubeletConfiguration.kubeReserved of type string",
    ),
    Refusal(
        "wrong type inside a list",
        HEAD + "reservedMemory: [{numaNode: 0}, {numaNode: one}]",
        '{}/a.conf:3: reservedMemory[1].numaNode: expected a whole number, found the string "one"',
        f"{UNMARSHAL} string into Go struct field MemoryReservation.reservedMemory.numaNode of type int32",
    ),
    Refusal(
        "not YAML",
        "a: [",
        "{}/a.conf:2:1: not YAML: expected a value in {...} or [...]",
        WALK + " error: yaml: line 1: did not find expected node content",
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_bad_files(case: Refusal, tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text(case.text)
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    assert str(caught.value) == case.want.replace("{}", str(tmp_path))
    refusal = caught.value.refusal if isinstance(caught.value, ConfigRefusedError) else None
    assert (refusal.error if refusal else "") == case.kubelet.replace("{}", str(tmp_path))
    if refusal:
        assert refusal.logged == f"failed to merge kubelet configs: {refusal.error}"


def test_a_missing_directory() -> None:
    with pytest.raises(ConfigRefusedError) as caught:
        load(Path("/no/such/directory"))
    assert caught.value.refusal.error == (
        'failed to walk through kubelet dropin directory "/no/such/directory":'
        " lstat /no/such/directory: no such file or directory"
    )


def test_a_file_in_place_of_the_directory_is_a_drop_in(tmp_path: Path) -> None:
    only = tmp_path / "only.conf"
    only.write_text(HEAD + "maxPods: 9")
    loaded = load_configuration(ConfigSources(main=(HEAD, "main.yaml"), drop_ins=DropInDirectory(str(only))))
    assert loaded.config.max_pods == 9


def test_releases_before_drop_ins_do_not_know_the_flag(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefusedError) as caught:
        load(tmp_path, minor=27)
    assert caught.value.refusal.logged == "failed to parse kubelet flag: unknown flag: --config-dir"


def test_the_first_releases_with_drop_ins_need_an_environment_variable(tmp_path: Path) -> None:
    assert [warning.code for warning in load(tmp_path, minor=29).warnings] == ["drop-in-variable"]
    assert load(tmp_path, minor=30).warnings == ()


# Releases


def test_in_1_28_a_drop_in_resets_other_fields_to_their_defaults(tmp_path: Path) -> None:
    loaded = load(tmp_path, "maxPods: 50\ncpuManagerPolicy: static\n", minor=28, a="maxPods: 60\n")
    assert (loaded.config.max_pods, loaded.config.cpu_manager_policy) == (60, "none")
    reported = [warning for warning in loaded.warnings if warning.code == "drop-in-default"]
    assert [warning.place.setting for warning in reported] == ["cpuManagerPolicy"]


def test_in_1_28_zero_and_false_in_a_drop_in_have_no_effect(tmp_path: Path) -> None:
    main = "failSwapOn: true\npodsPerCore: 5\nkubeReserved: {cpu: '1'}\n"
    drop_in = "failSwapOn: false\npodsPerCore: 0\nkubeReserved: {memory: 1Gi}\n"
    loaded = load(tmp_path, main, minor=28, a=drop_in).config
    assert (loaded.fail_swap_on, loaded.pods_per_core) == (True, 5)
    assert loaded.kube_reserved == {"cpu": "1", "memory": "1Gi"}


def test_in_1_28_a_drop_in_is_read_as_a_complete_file(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text("kind: KubeletConfiguration\nmaxPods: 5\n")
    with pytest.raises(ConfigRefusedError) as caught:
        load(tmp_path, minor=28)
    assert "failed to decode: Object 'apiVersion' is missing" in caught.value.refusal.logged


@pytest.mark.parametrize("minor", [29, 31])
def test_up_to_1_31_drop_ins_are_decoded_over_the_main_file(tmp_path: Path, minor: int) -> None:
    main = (
        "maxPods: 50\nreservedMemory:\n- numaNode: 0\n  limits: {memory: 1Gi, hugepages-1Gi: 2Gi}\n"
        "enforceNodeAllocatable: [pods, kube-reserved]\n"
    )
    drop_in = (
        "maxPods: null\nreservedMemory:\n- limits: {memory: 3Gi}\nenforceNodeAllocatable: [none]\n"
        "cpuManagerPolicy: ''\n"
    )
    reported = load(tmp_path, main, minor=minor, a=drop_in).config
    assert (reported.max_pods, reported.enforce_node_allocatable, reported.cpu_manager_policy) == (
        50,
        ("none",),
        "",
    )
    assert {name: str(amount) for name, amount in reported.reserved_memory[0].limits.items()} == {
        "memory": "3Gi",
        "hugepages-1Gi": "2Gi",
    }


def test_from_1_32_on_null_in_a_drop_in_restores_the_default(tmp_path: Path) -> None:
    assert load(tmp_path, "maxPods: 50\n", minor=32, a="maxPods: null\n").config.max_pods == 110


@pytest.mark.parametrize(("minor", "taken"), [(31, True), (32, False)])
def test_from_1_32_on_kind_and_version_of_a_drop_in_are_checked(
    tmp_path: Path, minor: int, taken: bool
) -> None:
    (tmp_path / "a.conf").write_text("kind: Anything\nmaxPods: 5\n")
    if taken:
        assert load(tmp_path, minor=minor).config.max_pods == 5
    else:
        with pytest.raises(ConfigRefusedError, match="expected a KubeletConfiguration"):
            load(tmp_path, minor=minor)
