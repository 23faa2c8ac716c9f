"""Pods as a node and an API server see them, before they come."""
