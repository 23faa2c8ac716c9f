"""Manifests and templates to pods."""
