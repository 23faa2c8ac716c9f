"""Searches for a single change that would help; each change is tried."""
