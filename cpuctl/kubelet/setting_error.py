"""A kubelet's error about its configuration that knows which setting it is about."""

from __future__ import annotations

from cpuctl.golang.text import GoError


class SettingError(GoError):
    """The kubelet's text, and the path of the setting to mend, as in ``("kubeReserved", "cpu")``."""

    def __init__(self, text: str, *path: str) -> None:
        super().__init__(text)
        self.path = path
