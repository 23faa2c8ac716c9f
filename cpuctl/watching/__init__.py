"""Watching a node: detecting changes cheaply, and reporting each change once."""
