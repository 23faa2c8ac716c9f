"""Completion of words on the command line: scripts for shells, and what only the given files can tell."""
