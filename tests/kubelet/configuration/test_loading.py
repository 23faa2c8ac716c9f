"""From files and flags to the effective configuration: what wins, its origins, what fails first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD, KubeletConfiguration
from cpuctl.kubelet.configuration.drop_ins import DropInDirectory
from cpuctl.kubelet.configuration.loading import ConfigSources, LoadedConfiguration, load_configuration
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.settings import OriginKind
from cpuctl.kubelet.flags.command_line import read_flags, split_arguments
from cpuctl.kubelet.flags.kubelet_flags import KubeletFlags
from cpuctl.kubelet.version import KubeletVersion

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@dataclass(frozen=True, kw_only=True)
class Reported:
    """What a kubelet is given: main file (None for no file), one drop-in, flags."""

    main: str | None = None
    drop_in: str | None = None
    flags: str = ""
    minor: int = 36

    def load(self, folder: Path) -> LoadedConfiguration:
        drop_ins = None
        if self.drop_in is not None:
            (folder / "10.conf").write_text(HEAD + self.drop_in)
            drop_ins = DropInDirectory(str(folder))
        sources = ConfigSources(
            main=None if self.main is None else (HEAD + self.main, "main.yaml"),
            drop_ins=drop_ins,
            flags=read_flags(split_arguments(self.flags)),
        )
        return load_configuration(sources, KubeletVersion(self.minor))


def test_a_kubelet_without_files_and_flags_has_the_defaults(tmp_path: Path) -> None:
    loaded = Reported().load(tmp_path)
    nothing = KubeletConfiguration(
        others=loaded.config.others, read_only_port=10255, memory_throttling_factor=0.9, fail_cgroup_v1=True
    )
    assert loaded.config == nothing
    assert {setting.origin.kind for setting in loaded.settings.values()} == {OriginKind.DEFAULT}
    assert (loaded.warnings, loaded.drop_ins, loaded.gate_flags) == ((), (), {})


@dataclass(frozen=True)
class Case:
    """The value of a field, and where it was set."""

    name: str
    reported: Reported
    field: str
    want: Any
    place: str
    path: tuple[str, ...]


MAIN = Reported(
    main="maxPods: 50\nkubeReserved:\n  cpu: 500m\n  memory: 1Gi\nevictionHard: {pid.available: 5%}\n"
)
CASES = [
    Case("file", MAIN, "max_pods", 50, "main.yaml:3", ("maxPods",)),
    Case(
        "drop-in over file",
        Reported(main="maxPods: 50", drop_in="maxPods: 60"),
        *("max_pods", 60, "{}/10.conf:3", ("maxPods",)),
    ),
    Case(
        "flag over file",
        Reported(main="maxPods: 50", flags="--max-pods=70"),
        *("max_pods", 70, "--max-pods", ("maxPods",)),
    ),
    Case(
        "flag over drop-in",
        Reported(main="maxPods: 50", drop_in="maxPods: 60", flags="--max-pods=70"),
        *("max_pods", 70, "--max-pods", ("maxPods",)),
    ),
    Case("a flag may set zero", Reported(flags="--max-pods=0"), "max_pods", 0, "--max-pods", ("maxPods",)),
    Case("a file must not", Reported(main="maxPods: 0"), "max_pods", 110, "", ("maxPods",)),
    Case(
        "maps of flags replace those of files",
        Reported(main="kubeReserved: {cpu: 500m, memory: 1Gi}", flags="--kube-reserved=cpu=1"),
        *("kube_reserved", {"cpu": "1"}, "--kube-reserved", ("kubeReserved",)),
    ),
    Case(
        "maps of drop-ins merge",
        Reported(main="kubeReserved: {cpu: 500m, memory: 1Gi}", drop_in="kubeReserved: {cpu: '1'}"),
        *("kube_reserved", {"cpu": "1", "memory": "1Gi"}, "main.yaml:3", ("kubeReserved",)),
    ),
    Case(
        "and their members know their origin",
        Reported(main="kubeReserved: {cpu: 500m, memory: 1Gi}", drop_in="kubeReserved: {cpu: '1'}"),
        *("kube_reserved", {"cpu": "1", "memory": "1Gi"}, "{}/10.conf:3", ("kubeReserved", "cpu")),
    ),
    Case(
        "a missing member has the place of its mapping",
        Reported(main="kubeReserved:\n  memory: 1Gi"),
        *("kube_reserved", {"memory": "1Gi"}, "main.yaml:3", ("kubeReserved", "cpu")),
    ),
    Case(
        "thresholds of the main file replace the defaults",
        Reported(main="evictionHard: {pid.available: 5%}"),
        *("eviction_hard", {"pid.available": "5%"}, "main.yaml:3", ("evictionHard",)),
    ),
    Case(
        "thresholds of a drop-in are added to them",
        Reported(main="", drop_in="evictionHard: {memory.available: 500Mi}"),
        *("eviction_hard", {**DEFAULT_EVICTION_HARD, "memory.available": "500Mi"}),
        *("{}/10.conf:3", ("evictionHard", "memory.available")),
    ),
    Case(
        "without a file there are no defaults to add to",
        Reported(drop_in="evictionHard: {memory.available: 500Mi}"),
        *("eviction_hard", {"memory.available": "500Mi"}, "{}/10.conf:3", ("evictionHard",)),
    ),
    Case(
        "thresholds of a flag replace them all",
        Reported(main="", flags="--eviction-hard=memory.available<1Gi"),
        *("eviction_hard", {"memory.available": "1Gi"}, "--eviction-hard", ("evictionHard",)),
    ),
    Case("the read-only port of a file", Reported(main=""), "read_only_port", 0, "", ("readOnlyPort",)),
    Case("and of no file", Reported(drop_in=""), "read_only_port", 10255, "", ("readOnlyPort",)),
    Case(
        "root directory", Reported(main="", flags="--root-dir=/data"), "root_dir", "/data", "", ("rootDir",)
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_wins(case: Case, tmp_path: Path) -> None:
    loaded = case.reported.load(tmp_path)
    assert getattr(loaded.config, case.field) == case.want
    assert loaded.origin(*case.path).place == case.place.format(tmp_path)


def test_gates_merge_one_by_one(tmp_path: Path) -> None:
    loaded = Reported(
        main="featureGates: {MemoryQoS: true, NodeSwap: true}",
        drop_in="featureGates: {MemoryQoS: false, QOSReserved: true}",
        flags="--feature-gates=QOSReserved=false",
    ).load(tmp_path)
    assert loaded.gates_of_main_file == {"MemoryQoS": True, "NodeSwap": True}
    assert loaded.config.feature_gates == {"MemoryQoS": False, "NodeSwap": True, "QOSReserved": True}
    assert loaded.gate_flags == {"QOSReserved": False}
    assert {name: loaded.origin("featureGates", name).place for name in loaded.config.feature_gates} == {
        "MemoryQoS": f"{tmp_path}/10.conf:3",
        "NodeSwap": "main.yaml:3",
        "QOSReserved": "--feature-gates",
    }


def test_amounts_of_the_main_file_are_rewritten_if_there_is_a_drop_in_directory(tmp_path: Path) -> None:
    main = "reservedMemory: [{numaNode: 0, limits: {memory: 1.5Gi}}]"

    def bytes_of(reported: Reported) -> int | None:
        """Return what the Memory Manager reads: None if the amount is written with a fraction."""
        return reported.load(tmp_path).config.reserved_memory[0].limits["memory"].exact_int64

    assert bytes_of(Reported(main=main)) is None
    assert bytes_of(Reported(main=main, drop_in="")) == 1536 * 1024**2
    assert bytes_of(Reported(main="", drop_in=main)) is None


@dataclass(frozen=True)
class Failure:
    """What fails first if several things are wrong."""

    name: str
    reported: Reported
    stage: str
    error: str
    where: str
    crash: bool = False


PANIC = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
UNKNOWN = "unrecognized feature gate: "
NOT_AN_INTEGER = (
    "failed to unmarshal merged JSON into kubelet configuration: json: cannot unmarshal string into Go struct"
    " field KubeletConfiguration.maxPods of type int32"
)
DECODE = (
    "failed to decode: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of"
    " type int32"
)
FAILURES = [
    Failure(
        "gates of the main file before drop-ins",
        Reported(main="featureGates: {Bogus: true}", drop_in="maxPods: many"),
        *("featureGates", f"{PANIC}{UNKNOWN}Bogus", "main.yaml:3"),
        crash=True,
    ),
    Failure(
        "gates of flags before the main file",
        Reported(main="maxPods: many", flags="--feature-gates=Bogus=true"),
        *("featureGates", f"{UNKNOWN}Bogus", "--feature-gates"),
    ),
    Failure(
        "gates of flags before those of the main file",
        Reported(
            main="featureGates: {Worse: true}", drop_in="maxPods: many", flags="--feature-gates=Bogus=true"
        ),
        *("featureGates", f"{UNKNOWN}Bogus", "--feature-gates"),
    ),
    Failure(
        "types of the main file before its gates",
        Reported(main="featureGates: {Bogus: true}\nmaxPods: many"),
        *("configDecode", DECODE, "main.yaml:4: maxPods"),
    ),
    Failure(
        "drop-ins if nothing before them is wrong",
        Reported(main="featureGates: {MemoryQoS: true}", drop_in="maxPods: many"),
        *("configDecode", NOT_AN_INTEGER, "{}/10.conf:3: maxPods"),
    ),
    Failure(
        "a directory that the release does not know",
        Reported(main="maxPods: many", drop_in="", minor=27),
        *("flags", "unknown flag: --config-dir", "{}"),
    ),
]


@pytest.mark.parametrize("case", FAILURES, ids=lambda case: case.name)
def test_what_fails_first(case: Failure, tmp_path: Path) -> None:
    with pytest.raises(ConfigRefusedError) as caught:
        case.reported.load(tmp_path)
    refusal = caught.value.refusal
    assert (refusal.stage, refusal.error, refusal.crash) == (case.stage, case.error, case.crash)
    assert caught.value.where == case.where.format(tmp_path)


def test_ignored_settings_of_every_file_are_reported(tmp_path: Path) -> None:
    loaded = Reported(main="maxPosd: 5\nmaxPods: 1\nmaxPods: 2", drop_in="bogus: 1").load(tmp_path)
    assert [(warning.code, warning.place.where, warning.place.setting) for warning in loaded.warnings] == [
        ("repeated-key", "main.yaml:5", ""),
        ("unknown-field", "main.yaml:3", "maxPosd"),
        ("unknown-field", f"{tmp_path}/10.conf:3", "bogus"),
    ]
    assert loaded.config.max_pods == 2


def test_flags_outside_the_configuration_are_kept(tmp_path: Path) -> None:
    flags = KubeletFlags(ignores_eviction_thresholds=True)
    assert load_configuration(ConfigSources(flags=flags)).config.ignores_eviction_thresholds
    assert not Reported(main="").load(tmp_path).config.ignores_eviction_thresholds


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("memorySwa: 2Gi", ""),
        ("memorySwp: {swapBehavior: NoSwap}", "memorySwap"),
        ("maxPod: 9", "maxPods"),
    ],
)
def test_no_field_is_proposed_that_cannot_have_the_value(line: str, meant: str, tmp_path: Path) -> None:
    """Followed, such a proposal would turn an ignored field into a file that cannot be decoded."""
    (found,) = [each for each in Reported(main=line).load(tmp_path).warnings if each.code == "unknown-field"]
    assert found.message.endswith(f"did you mean {meant}?" if meant else "is ignored")
