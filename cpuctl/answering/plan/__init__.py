"""Plans as plain data."""
