"""Machines as plain data."""
