"""Exclusive CPUs that follow a resize (KEP-5554)."""
