"""Whatever a node's files contain, a capture is written and reads back."""

from __future__ import annotations

import io
import json
import re
import tarfile
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from cpuctl.capture.anonymous import Pseudonyms, anonymized, anonymous_state
from cpuctl.capture.archive import Compression, make_capture, write_members
from cpuctl.capture.collected import Collected, Content
from cpuctl.capture.kubelet.running import KEPT_FLAGS, kept_flags
from cpuctl.capture.recorded import recorded_kubelet
from cpuctl.errors import InputError
from cpuctl.machine.archive import read_archive
from cpuctl.machine.sysfs import read_machine_files
from cpuctl.machine.tree import MemoryTree
from tests.capture.node_texts import SYSTEMD_UID, UID, node_texts, recorded
from tests.machine.sysfs_writer import sysfs_files
from tests.property.test_machine_reading import descriptions, topology

TEXTS = node_texts()
UUID = re.compile(r"[0-9a-f]{8}([-_])[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}")

NAMES = """
cpu0 node0 cache index0 topology hugepages-2048kB kubepods cpuset cpuset.cpus 7 task status cmdline irq
"""
STARTS = """
sys proc proc/7 proc/irq sys/devices/system/cpu sys/devices/system/node sys/fs/cgroup sys/fs/cgroup/cpuset
var/lib/kubelet etc/kubernetes/kubelet.conf.d
"""
CONTENTS = (
    "0-3\n",
    "{}",
    "kind: KubeletConfiguration\n",
    f'{{"entries":{{"{UID}":{{}}}}}}',
    "kubelet\0--config\0",
)

names = st.one_of(
    st.text(min_size=1, max_size=6).map(lambda name: name.replace("/", "|")),
    st.sampled_from([*NAMES.split(), f"pod{UID}", f"kubepods-pod{SYSTEMD_UID}.slice"]),
)
paths = st.builds(
    lambda start, rest: "/".join([start, *rest]),
    st.sampled_from(STARTS.split()),
    st.lists(names, min_size=1, max_size=4),
)
contents = st.one_of(st.none(), st.text(max_size=40), st.sampled_from(CONTENTS))
trees = st.one_of(
    st.dictionaries(paths, contents, max_size=12),
    st.dictionaries(st.sampled_from(sorted(TEXTS)), contents, max_size=6).map(
        lambda changed: {**TEXTS, **changed}
    ),
)


def archived(collected: Collected) -> dict[str, Content]:
    """Write a capture, read it with tar, and return its files."""
    capture = make_capture(collected, cpuctl="test")
    file = io.BytesIO()
    write_members(capture.members, file, Compression.NONE)
    with tarfile.open(fileobj=io.BytesIO(file.getvalue())) as tar:
        found = {member.name: tar.extractfile(member) for member in tar.getmembers() if member.isreg()}
        return {name: data.read().decode() for name, data in found.items() if data is not None}


@given(tree=trees, anonymous=st.booleans())
def test_any_tree_is_recorded_and_reads_back(tree: dict[str, str | None], anonymous: bool) -> None:
    collected = recorded(tree)
    if anonymous:
        collected = anonymized(collected)
    files = archived(collected)
    assert {path: text for path, text in files.items() if path in collected.members} == {
        path: text for path, text in collected.members.items() if isinstance(text, str)
    }
    assert json.loads(str(files["MANIFEST.json"]))["members"] == len(collected.members) + 1
    for line in str(files["processes.jsonl"]).splitlines():
        assert json.loads(line)["pid"] >= 0


@given(tree=trees)
def test_our_own_reader_accepts_every_capture(tree: dict[str, str | None]) -> None:
    capture = make_capture(recorded({**tree, "sys/devices/system/cpu/online": "0\n"}), cpuctl="test")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "node.tar"
        with path.open("wb") as file:
            write_members(capture.members, file, Compression.NONE)
        read = read_archive(path)
    recorded_kubelet(read)
    for name, content in capture.members:
        if isinstance(content, str) and name != "SHA256SUMS" and ".." not in name.split("/"):
            assert read.read(name) == content.rstrip("\0")


@given(tree=trees)
def test_no_uid_survives_anonymizing(tree: dict[str, str | None]) -> None:
    """The contents of the kernel's files are not checked: they have no UIDs."""
    files = archived(anonymized(recorded(tree)))
    texts = [str(text) for path, text in files.items() if path.endswith(("_state", ".json", ".jsonl"))]
    for text in (*files, *texts):
        assert UID not in text
        assert SYSTEMD_UID not in text


@given(text=descriptions())
def test_every_machine_is_recorded_completely(text: str) -> None:
    from cpuctl.machine.synthetic import parse_synthetic

    machine = parse_synthetic(text)
    files = sysfs_files(machine)
    members = recorded(files).members
    again = MemoryTree({path: each if isinstance(each, str) else None for path, each in members.items()})
    assert topology(read_machine_files(again)) == topology(read_machine_files(MemoryTree(files)))


arguments = st.one_of(st.text(max_size=12), st.sampled_from(sorted(KEPT_FLAGS)).map("--{}".format))


@given(arguments=st.lists(arguments))
def test_any_command_line_gives_only_known_flags(arguments: list[str]) -> None:
    for flag in kept_flags(arguments):
        name, equals, _ = flag.partition("=")
        assert equals
        assert name.removeprefix("--") in KEPT_FLAGS


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(UID),
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(
            st.sampled_from(["entries", "podEntries", "data", "baselines", "ContainerResources", UID, "app"]),
            values,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=json_values)
@example(value=[10**31])  # as many digits as a static pod's UID
def test_any_json_as_a_state_file(value: object) -> None:
    try:
        after = anonymous_state(json.dumps(value), Pseudonyms())
    except ValueError:  # a "data" with other contents
        return
    assert UID not in after
    json.loads(after)


@given(uids=st.lists(st.from_regex(UUID, fullmatch=True).map(lambda uid: uid.replace("_", "-")), max_size=8))
def test_pseudonyms_are_one_to_one(uids: list[str]) -> None:
    pseudonyms = Pseudonyms()
    found = {uid: pseudonyms.pod_uid(uid) for uid in uids}
    assert len(set(found.values())) == len(set(uids))
    assert all(UUID.fullmatch(each) for each in found.values())


manifests = st.dictionaries(st.sampled_from(["cpuctl", "kubelet", "layoutVersion"]), json_values)


@given(manifest=st.one_of(json_values, manifests))
def test_any_manifest_is_read_or_rejected(manifest: object) -> None:
    try:
        recorded_kubelet(MemoryTree({"MANIFEST.json": json.dumps(manifest)}))
    except InputError as error:
        assert error.where.startswith("MANIFEST.json")  # noqa: PT017 - not every manifest is rejected
