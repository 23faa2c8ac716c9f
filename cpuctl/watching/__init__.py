"""Watching a node: noticing cheaply that something has changed, and reporting each change once."""
