from __future__ import annotations

import pytest

from cpuctl.kubelet.version import DEFAULT_VERSION, KubeletVersion


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("1.36", 36),
        ("v1.36.2", 36),
        ("1.36.2+k3s1", 36),
        ("1.38-alpha", 38),
        ("v1.38.0-alpha.1", 38),
        ("v1.27.16-gke.1234000", 27),
        (" 1.30 ", 30),
    ],
)
def test_versions_are_known_by_their_minor(text: str, minor: int) -> None:
    assert KubeletVersion.parse(text) == KubeletVersion(minor)


@pytest.mark.parametrize("text", ["", "36", "2.0", "1.x", "1.36.", "one", "1.36 beta"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no kubelet version: expected one such as 1\.36 or v1\.36\.2$"):
        KubeletVersion.parse(text)


@pytest.mark.parametrize("text", ["1.26", "1.39"])
def test_unsupported_minors_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^kubelet {text} is not supported: expected 1\.27 to 1\.38$"):
        KubeletVersion.parse(text)


def test_versions_compare_and_print() -> None:
    assert KubeletVersion(27) < DEFAULT_VERSION
    assert str(DEFAULT_VERSION) == "1.36"
