"""The pods of one text."""

from __future__ import annotations

from cpuctl.pods.reading.manifests import Manifests, decode_manifests, finished, no_pods


def read_pods(text: str | bytes, source: str) -> Manifests:
    """Read the pods of one YAML or JSON text and give those without a UID one.

    Raise InputError with file, line and path for unusable content, and for a text without any pod.
    """
    found = finished([decode_manifests(text, source)], source)
    if not found.pods:
        raise no_pods(found, source)
    return found
