"""A machine's CPUs and who has them, drawn."""
