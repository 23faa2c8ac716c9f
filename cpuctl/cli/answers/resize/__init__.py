"""Resizes as plain data."""
