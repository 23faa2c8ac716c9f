"""Recordings in one file, which nobody has to trust."""
