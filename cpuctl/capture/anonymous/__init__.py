"""A capture without names."""
