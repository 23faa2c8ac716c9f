"""Machines described in one line."""
