"""Completion on the command line: scripts for shells, and candidates that depend on the given files."""
