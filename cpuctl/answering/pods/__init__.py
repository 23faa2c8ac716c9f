"""Pods as plain data."""
