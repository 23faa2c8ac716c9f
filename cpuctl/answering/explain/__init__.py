"""Decisions and their reasons as plain data."""
