"""The JSON Schemas of everything cpuctl prints, one file per answer, and of the manifests it lints."""

from __future__ import annotations

from importlib.resources import files


def schema_names() -> list[str]:
    """Name the answers that have a schema."""
    entries = (entry.name for entry in files(__name__).iterdir())
    return sorted(name.removesuffix(".json") for name in entries if name.endswith(".json"))


def schema_text(name: str) -> str:
    """Return the text of one schema; raise FileNotFoundError for an unknown name."""
    return files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
