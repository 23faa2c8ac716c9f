"""CPUs over time, drawn."""
