"""Conversion of manifests and templates to pods."""
