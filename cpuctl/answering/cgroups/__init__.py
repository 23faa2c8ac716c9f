"""Control groups, and what is written to them, as plain data."""
